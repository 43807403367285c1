//! What the operator sets, who pushes, and what is refused when the hook cannot do its work.

use std::{fs, io::Write, process::Stdio};

use super::served::Served;
use crate::{records::parse, world::Output};

#[test]
fn a_setting_that_makes_no_sense_refuses() {
    let served = Served::new();
    let first = served.records().first("x");
    for (key, value) in [
        ("handoff.mode", "strict"),
        ("handoff.mode", "Enforce"),
        ("handoff.handoff.v1.mode", "on"),
        ("handoff.enforcePercent", "101"),
        ("handoff.enforcePercent", "-1"),
        ("handoff.requireSigned", "maybe"),
        ("handoff.maxRefs", "many"),
        ("handoff.maxFileBytes", "1 MB"),
        ("handoff.maxTotalBytes", "-1"),
        ("handoff.identityScope", "some"),
        ("handoff.deadline", "soon"),
        ("handoff.requireAccept", "perhaps"),
        ("handoff.maxAcceptFor", "30"),
        ("handoff.identityEnv", "REMOTE USER"),
    ] {
        served.set(key, value);
        let said = served.refuses(&first, "x", "IO");
        assert!(
            said.contains(&format!("the setting {key} has the value `{value}`")),
            "{said}"
        );
        served
            .world
            .git(&served.bare, ["config", "--unset", key])
            .ok();
    }
    served.set("handoff.mode", "enforce");
    served.takes(&first, "x");
}

#[test]
fn refs_elsewhere_pass_whatever_the_settings_are() {
    let served = Served::new();
    served.set("handoff.mode", "broken");
    served.push(&["HEAD:refs/heads/main"]).ok();
}

#[test]
fn settings_come_from_files_alone() {
    let served = Served::new();
    let records = served.records();
    let first = records.first("x");
    served.takes(&first, "x");
    served.set("handoff.requireAccept", "true");
    let other = records.checkpoint("x", Some(&first), |manifest| {
        manifest.producer.id = parse("eve");
    });
    for (name, value) in [
        ("GIT_CONFIG_COUNT", "1"),
        ("GIT_CONFIG_KEY_0", "handoff.requireAccept"),
        ("GIT_CONFIG_VALUE_0", "false"),
        ("GIT_CONFIG_PARAMETERS", "'handoff.requireaccept'='false'"),
    ] {
        served.world.set(name, value);
    }
    served.refuses(&other, "x", "NOT_OWNER");
}

#[test]
fn past_the_deadline_nothing_more_is_judged() {
    let served = Served::new();
    let first = served.records().first("x");
    served.set("handoff.deadline", "0");
    let said = served.refuses(&first, "x", "LIMIT_EXCEEDED");
    assert!(
        said.contains("refs/handoff/x: it was not judged within the 0 s"),
        "{said}"
    );
    served.set("handoff.deadline", "4");
    served.takes(&first, "x");
}

#[test]
fn records_are_by_whoever_pushes_them() {
    let served = Served::new();
    let records = served.records();
    served.set("handoff.identityEnv", "TEST_USER");
    let by =
        |who: &str| records.checkpoint("x", None, |manifest| manifest.producer.id = parse(who));
    let ann = by("agent:ann/codex-1");
    let said = served.refuses(&ann, "x", "IDENTITY_MISMATCH");
    assert!(said.contains("TEST_USER holds nothing"), "{said}");
    served.world.set("TEST_USER", "");
    served.refuses(&ann, "x", "IDENTITY_MISMATCH");
    served.world.set("TEST_USER", "bob");
    let said = served.refuses(&ann, "x", "IDENTITY_MISMATCH");
    assert!(
        said.contains("is by agent:ann/codex-1, it was pushed by bob"),
        "{said}"
    );
    served.world.set("TEST_USER", "ann");
    served.takes(&ann, "x");
    // What ann has pushed stays hers when bob goes on.
    served.world.set("TEST_USER", "bob");
    fs::remove_file(served.bare.join("handoff/verified/x")).unwrap();
    let accepted = records.accept(&ann, "bob", |_| {});
    let by_ann = records.release(&accepted, "bob", |_| {});
    served.takes(&accepted, "x");
    let identity: Vec<_> = served
        .audit()
        .iter()
        .map(|line| line["identity"].clone())
        .collect();
    assert_eq!(identity.last().unwrap(), "bob");
    served.world.set("TEST_USER", "eve");
    served.refuses(&by_ann, "x", "IDENTITY_MISMATCH");
}

#[test]
fn every_judgement_is_a_line_of_the_log() {
    let served = Served::new();
    let records = served.records();
    let first = records.first("x");
    served.takes(&first, "x");
    served.refuses(&records.first("x"), "x", "NON_LINEAR");
    let lines = served.audit();
    assert_eq!(lines.len(), 2);
    let null = "0".repeat(40);
    assert_eq!(lines[0]["ref"], "refs/handoff/x");
    assert_eq!(
        (&lines[0]["old"], &lines[0]["new"]),
        (&null.into(), &first.clone().into())
    );
    assert_eq!(lines[0]["outcome"], "good");
    assert_eq!(
        (&lines[1]["outcome"], &lines[1]["code"]),
        (&"refused".into(), &"NON_LINEAR".into())
    );
    assert_eq!(lines[1]["old"], first);
    for line in lines {
        assert!(
            line["durationMs"].is_number() && line["time"].is_string(),
            "{line}"
        );
        assert_eq!(
            (&line["mode"], &line["identity"]),
            (&"enforce".into(), &().into())
        );
    }
}

#[test]
fn a_log_that_cannot_be_written_refuses() {
    let served = Served::new();
    let first = served.records().first("x");
    fs::create_dir_all(served.bare.join("handoff/audit.jsonl")).unwrap();
    let said = served.refuses(&first, "x", "IO");
    assert!(said.contains("the audit log cannot be written"), "{said}");
    fs::remove_dir(served.bare.join("handoff/audit.jsonl")).unwrap();
    served.takes(&first, "x");
}

/// Runs the hook by itself, with an input that Git does not give.
fn fed(served: &Served, input: &str) -> Output {
    let file = served.world.root().join("input");
    fs::File::create(&file)
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    let mut command = served.world.command("handoff-hooks", &served.bare);
    let stdin: Stdio = fs::File::open(&file).unwrap().into();
    Output::of(command.arg("pre-receive").stdin(stdin))
}

#[test]
fn an_input_that_is_no_list_of_refs_is_refused() {
    let served = Served::new();
    let (one, null) = ("1".repeat(40), "0".repeat(40));
    for input in [
        "x\n".to_owned(),
        format!("{null} {one}\n"),
        format!("{null} 12 refs/heads/a\n"),
    ] {
        let said = fed(&served, &input).code(1).stderr();
        assert!(
            said.starts_with("handoff: IO -: a line on standard input"),
            "{said}"
        );
    }
    fed(&served, "").ok();
    fed(&served, &format!("\n{null} {one} refs/heads/a\n\n")).ok();
    let said = fed(&served, &format!("{null} {one} refs/handoff/a\n"))
        .code(1)
        .stderr();
    assert!(
        said.starts_with("handoff: MISSING_OBJECT refs/handoff/a: "),
        "{said}"
    );
}

#[test]
fn the_ref_is_what_the_server_has_not_what_the_pusher_says() {
    let served = Served::new();
    let records = served.records();
    let first = records.first("x");
    let second = records.next("x", &first);
    served.takes(&first, "x");
    served.push(&[&format!("{second}:refs/heads/objects")]).ok();
    let null = "0".repeat(40);
    for (old, new) in [(&null, &second), (&second, &first)] {
        let said = fed(&served, &format!("{old} {new} refs/handoff/x\n"))
            .code(1)
            .stderr();
        assert!(
            said.starts_with("handoff: CAS_CONFLICT refs/handoff/x: the ref is at "),
            "{said}"
        );
    }
    fed(&served, &format!("{first} {second} refs/handoff/x\n")).ok();
}

#[test]
fn text_of_a_pusher_is_one_line() {
    let served = Served::new();
    let records = served.records();
    let name = "a\u{1b}[31m\nhandoff: OK refs\u{202e}\\.git";
    let tree = records.unchecked_tree(&[("120000", name, &records.blob(b"a"))]);
    let mut manifest = records.manifest("x", None);
    let repository = &mut manifest.content.repository;
    (repository.worktree_tree, repository.index_tree) = (parse(&tree), parse(&tree));
    let draft = records.draft(&manifest, None);
    let said = served.refuses(&records.write(&draft), "x", "UNSAFE_PATH");
    assert!(!said.contains('\u{1b}'), "{said}");
    assert!(!said.contains("remote: handoff: OK"), "{said}");
}
