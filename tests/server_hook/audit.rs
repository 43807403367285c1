//! The log of judgements, what is read from it, and what the operator does on the server.

use std::{fs, os::unix::fs::PermissionsExt};

use serde_json::Value;

use super::served::Served;
use crate::{
    records::parse,
    world::{Output, World},
};

impl Served {
    /// Runs `handoff-hooks` with `--json`, which must succeed.
    #[track_caller]
    fn asks(&self, args: &[&str]) -> Value {
        let args = [args, &["--json"]].concat();
        self.world
            .run("handoff-hooks", &self.bare, args)
            .ok()
            .json()
    }
}

#[test]
fn a_report_says_what_was_refused_and_what_would_have_been() {
    let served = Served::new();
    let records = served.records();
    served.set("handoff.mode", "shadow");
    for scope in ["a", "b"] {
        let gap = records.checkpoint(scope, None, |manifest| manifest.generation = parse("2"));
        served.push(&[&format!("{gap}:refs/handoff/{scope}")]).ok();
    }
    served.set("handoff.mode", "enforce");
    served.takes(&records.first("c"), "c");
    served.refuses(&records.first("c"), "c", "NON_LINEAR");
    let report = served.asks(&["report"]);
    assert_eq!(report["format"], "handoff-hooks.report.v1");
    let counts = &report["counts"];
    assert_eq!(
        (&counts["good"], &counts["wouldRefuse"], &counts["refused"]),
        (&1.into(), &2.into(), &1.into())
    );
    // The hook of that name tells which refs have moved.
    assert_eq!(counts["taken"], 3);
    assert_eq!(report["scopes"], 3);
    let codes = report["codes"].as_array().unwrap();
    let wanted = codes
        .iter()
        .find(|code| code["code"] != "NON_LINEAR")
        .unwrap();
    assert_eq!(
        wanted["refs"],
        serde_json::json!(["refs/handoff/a", "refs/handoff/b"])
    );
    assert!(report["latency"]["medianMs"].as_f64().unwrap() > 0.0);
    let later = served.asks(&["report", "--since", "2100-01-01T00:00:00Z"]);
    assert_eq!(later["counts"]["good"], 0);
    served.hooks(["report", "--since", "soon"]).code(2);
    let text = served.hooks(["report", "--since", "1d"]).ok().stdout();
    assert!(
        text.contains("NON_LINEAR: would be refused 0, refused 1, in 1 ref"),
        "{text}"
    );
}

#[test]
fn a_report_of_a_server_that_judged_nothing_is_empty() {
    let served = Served::new();
    let report = served.asks(&["report"]);
    assert_eq!(report["counts"]["good"], 0);
    assert!(!served.bare.join("handoff").exists());
}

#[test]
fn a_log_that_is_full_is_turned_and_the_report_reads_all() {
    let served = Served::new();
    served.set("handoff.auditBytes", "1");
    let records = served.records();
    let first = records.first("x");
    served.takes(&first, "x");
    served.takes(&records.next("x", &first), "x");
    assert!(served.bare.join("handoff/audit.jsonl.2").is_file());
    assert!(!served.bare.join("handoff/audit.jsonl").exists());
    assert_eq!(served.asks(&["report"])["counts"]["good"], 2);
    served.set("handoff.auditBytes", "much");
    served.refuses(&records.first("y"), "y", "IO");
}

#[test]
fn what_moved_is_noted_and_what_did_not_is_not() {
    let served = Served::new();
    served.set("handoff.identityEnv", "TEST_USER");
    served.world.set("TEST_USER", "ann");
    let first = served.records().first("x");
    served.refuses(&first, "y", "SCOPE_MISMATCH");
    served.takes(&first, "x");
    served.push(&["HEAD:refs/heads/main"]).ok();
    let lines: Vec<Value> = served.log();
    let taken: Vec<&Value> = lines
        .iter()
        .filter(|line| line["outcome"] == "taken")
        .collect();
    assert_eq!(taken.len(), 1);
    assert_eq!(
        (&taken[0]["ref"], &taken[0]["new"], &taken[0]["identity"]),
        (&"refs/handoff/x".into(), &first.into(), &"ann".into())
    );
}

#[test]
fn what_moved_beside_code_is_noted_also_where_another_hook_follows() {
    for chains in [false, true] {
        let served = Served::new();
        if chains {
            served.hooks(["uninstall"]).ok();
            let hook = served.bare.join("hooks/post-receive");
            fs::write(&hook, "#!/bin/sh\ncat > seen\n").unwrap();
            fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
            served.hooks(["install"]).ok();
        }
        let records = served.records();
        let (a, b) = (records.first("a"), records.first("b"));
        let (a, b) = (format!("{a}:refs/handoff/a"), format!("{b}:refs/handoff/b"));
        let code = ["HEAD:refs/heads/early", &a, "HEAD:refs/heads/late", &b];
        served.push(&code).ok();
        let lines = served.log().into_iter();
        let taken = lines.filter(|line| line["outcome"] == "taken");
        let taken: Vec<Value> = taken.map(|line| line["ref"].clone()).collect();
        assert_eq!(taken, ["refs/handoff/a", "refs/handoff/b"]);
        assert_eq!(served.bare.join("seen").exists(), chains);
    }
}

#[test]
fn the_mode_is_shown_and_set() {
    let served = Served::new();
    assert_eq!(served.asks(&["mode"])["mode"], "enforce");
    let set = served.asks(&["mode", "shadow"]);
    assert_eq!(
        (&set["mode"], &set["enforcePercent"]),
        (&"shadow".into(), &100.into())
    );
    let set = served.asks(&["mode", "enforce", "--percent", "25"]);
    assert_eq!(
        (&set["mode"], &set["enforcePercent"]),
        (&"enforce".into(), &25.into())
    );
    let set = served.asks(&["mode", "off", "--schema", "handoff.v2"]);
    assert_eq!(set["mode"], "enforce");
    assert_eq!(set["schemas"], serde_json::json!({"handoff.v2": "off"}));
    let configured = served
        .world
        .git(&served.bare, ["config", "handoff.handoff.v2.mode"]);
    assert_eq!(configured.ok().line(), "off");
    for wrong in [
        &["mode", "strict"][..],
        &["mode", "enforce", "--percent", "101"],
        &["mode", "off", "--schema", "a\nb"],
    ] {
        served
            .world
            .run("handoff-hooks", &served.bare, wrong)
            .code(2);
    }
}

/// Purges with a reason.
fn purge(served: &Served, args: &[&str]) -> Output {
    let args = [&["purge"], args, &["--reason", "a secret got in", "--json"]].concat();
    served.world.run("handoff-hooks", &served.bare, args)
}

#[test]
fn a_scope_that_broke_goes_on_after_a_purge() {
    let served = Served::new();
    let records = served.records();
    let first = records.first("x");
    served.takes(&first, "x");
    served.set("handoff.mode", "shadow");
    let bad = records.checkpoint("x", Some(&first), |manifest| {
        manifest.generation = parse("9")
    });
    served.push(&[&format!("{bad}:refs/handoff/x")]).ok();
    served.set("handoff.mode", "enforce");
    served.refuses(&records.next("x", &first), "x", "NON_LINEAR");
    // To a record that breaks the rules, or another scope's, it does not go back.
    assert_eq!(
        purge(&served, &["refs/handoff/x", "--to", &bad])
            .code(3)
            .json()["code"],
        "GENERATION_GAP"
    );
    let other = records.first("y");
    served.takes(&other, "y");
    assert_eq!(
        purge(&served, &["refs/handoff/x", "--to", &other])
            .code(4)
            .json()["code"],
        "SCOPE_MISMATCH"
    );
    let done = purge(&served, &["refs/handoff/x", "--to", &first])
        .ok()
        .json();
    assert_eq!(
        (&done["old"], &done["new"]),
        (&bad.clone().into(), &first.clone().into())
    );
    assert_eq!(served.tip("x").as_ref(), Some(&first));
    let line = served.log().pop().unwrap();
    assert_eq!(
        (
            &line["outcome"],
            &line["reason"],
            &line["old"],
            &line["new"]
        ),
        (
            &"purged".into(),
            &"a secret got in".into(),
            &bad.into(),
            &first.clone().into()
        )
    );
    served.takes(&records.next("x", &first), "x");
}

#[test]
fn a_scope_is_deleted_on_the_server_alone() {
    let served = Served::new();
    let records = served.records();
    let accepted = records.accept(&records.first("x"), "bob", |_| {});
    served.takes(&accepted, "x");
    purge(&served, &["refs/handoff/x"]).ok();
    assert_eq!(served.tip("x"), None);
    assert!(!served.bare.join("handoff/verified/x").exists());
    assert_eq!(
        purge(&served, &["refs/handoff/x"]).code(6).json()["code"],
        "NOT_FOUND"
    );
    served.takes(&records.first("x"), "x");
    // Refs of the code are not ours.
    served.push(&["HEAD:refs/heads/main"]).ok();
    purge(&served, &["refs/heads/main"]).code(2);
    purge(&served, &["x"]).code(2);
    served.hooks(["purge", "refs/handoff/x"]).code(2);
    served
        .hooks(["purge", "refs/handoff/x", "--reason", ""])
        .code(2);
}

#[test]
fn what_stands_under_a_name_that_folds_onto_ours_is_purged_too() {
    let served = Served::new();
    let first = served.records().first("x");
    served.takes(&first, "x");
    let link = ["symbolic-ref", "refs/handoff/y", "refs/handoff/x"];
    served.world.git(&served.bare, link).ok();
    purge(&served, &["refs/handoff/y"]).ok();
    // What it pointed to is still there.
    assert_eq!(served.tip("x").as_ref(), Some(&first));
    served
        .world
        .git(&served.bare, ["update-ref", "refs/Handoff/x", &first])
        .ok();
    purge(&served, &["refs/Handoff/x"]).ok();
    assert_eq!(served.refs().lines().count(), 1);
}

#[test]
fn without_a_log_nothing_is_purged() {
    let served = Served::with(World::new(), &[]);
    let first = served.records().first("x");
    served.takes(&first, "x");
    let log = served.bare.join("handoff/audit.jsonl");
    fs::remove_file(&log).unwrap();
    fs::create_dir(&log).unwrap();
    assert_eq!(
        purge(&served, &["refs/handoff/x"]).code(1).json()["code"],
        "IO"
    );
    assert_eq!(served.tip("x"), Some(first));
}
