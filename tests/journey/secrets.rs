//! Credentials that would be handed over by mistake. Their values are made at run time and never printed.

use std::{fs, io::Write as _, path::Path, process::Stdio};

use serde_json::Value;

use crate::world::{Output, World};

/// Makes a token in the form of a provider's: its parts stand in no file.
fn token() -> String {
    let digits = "4eC39HqLyjWDarjtT1zdp7dc9fKx2Qbv";
    ["sk", "live", &digits[..24]].join("_")
}

fn shows(output: &Output, secret: &str) -> bool {
    [output.stdout(), output.stderr()]
        .iter()
        .any(|text| text.contains(secret))
}

/// Finds the files below a directory that hold a text.
fn holders(dir: &Path, text: &str, found: &mut Vec<String>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            holders(&path, text, found);
        } else if fs::read(&path)
            .unwrap_or_default()
            .windows(text.len())
            .any(|window| window == text.as_bytes())
        {
            found.push(path.display().to_string());
        }
    }
}

#[test]
fn a_secret_is_refused_by_name_and_goes_nowhere() {
    let world = World::new();
    let dir = world.repo("work");
    let refs = || {
        world
            .git(&dir, ["for-each-ref", "refs/handoff"])
            .ok()
            .stdout()
    };
    let before = refs();
    world.write(
        &dir,
        "deploy.sh",
        format!("#!/bin/sh\nexport KEY={}\n", token()),
    );
    for command in [
        &["save", "x"][..],
        &["save", "x", "--json"],
        &["prepare", "x"],
        &["prepare", "x", "--json"],
    ] {
        let refused = world.handoff(&dir, command).code(5);
        let said = [refused.stdout(), refused.stderr()].concat();
        assert!(said.contains("SECRET_DETECTED") || !command.contains(&"--json"));
        assert!(said.contains("deploy.sh:2"), "{command:?} names no place");
        assert!(said.contains("--omit"), "{command:?} names no way out");
        assert!(!shows(&refused, &token()), "{command:?} shows it");
        assert_eq!(refs(), before);
    }
    let mut found = Vec::new();
    holders(world.root(), &token(), &mut found);
    let place = dir.join("deploy.sh").display().to_string();
    assert!(
        found.iter().all(|path| *path == place),
        "it is in {found:?}"
    );
    assert_eq!(found.len(), 1);
}

#[test]
fn what_a_scan_has_named_is_left_out_for_that_reason() {
    let world = World::new();
    let dir = world.repo("work");
    world.write(&dir, "deploy.sh", format!("KEY={}\n", token()));
    world.write(&dir, "notes.txt", "left out as well\n");
    world.handoff(&dir, ["save", "x"]).code(5);
    let args = [
        "save",
        "x",
        "--omit",
        "deploy.sh",
        "--omit",
        "notes.txt",
        "--json",
    ];
    let saved = world.handoff(&dir, args).ok().json();
    let reason = |path: &str| {
        let omissions = saved["omissions"].as_array().unwrap();
        let omission = omissions.iter().find(|omission| omission["path"] == path);
        omission.map(|omission| omission["reason"].clone())
    };
    assert_eq!(reason("deploy.sh"), Some(Value::from("secret")));
    assert_eq!(reason("notes.txt"), Some(Value::from("by-request")));
    let again = world.handoff(&dir, ["save", "x", "--json"]).ok().json();
    assert_eq!(again["created"], false);
}

#[test]
fn a_secret_in_a_commit_is_named_with_it_and_no_omission_lets_it_through() {
    let world = World::new();
    let dir = world.repo("work");
    let bare = world.bare("code");
    world
        .git(&dir, ["remote", "add", "origin", bare.to_str().unwrap()])
        .ok();
    world.git(&dir, ["push", "-q", "-u", "origin", "HEAD"]).ok();
    world.write(&dir, "deploy.sh", format!("KEY={}\n", token()));
    let with = world.commit(&dir, "add it");
    world.write(&dir, "deploy.sh", "KEY=${KEY}\n");
    world.commit(&dir, "take it out");
    for omit in [&[][..], &["--omit", "deploy.sh"]] {
        let refused = world.handoff(&dir, [&["save", "x"], omit].concat()).code(5);
        assert!(
            refused
                .stderr()
                .contains(&format!("deploy.sh:1 of commit {with}"))
        );
        assert!(refused.stderr().contains("git rebase"));
        assert!(!shows(&refused, &token()));
    }
}

#[test]
fn what_was_there_before_the_work_began_is_nobodys_fault() {
    let world = World::new();
    let dir = world.repo("work");
    world.write(&dir, "old.sh", format!("KEY={}\n", token()));
    world.commit(&dir, "long ago");
    let bare = world.bare("code");
    world
        .git(&dir, ["remote", "add", "origin", bare.to_str().unwrap()])
        .ok();
    world.git(&dir, ["push", "-q", "-u", "origin", "HEAD"]).ok();
    world.write(&dir, "new.txt", "harmless\n");
    world.handoff(&dir, ["save", "x"]).ok();
}

#[test]
fn the_hook_refuses_what_a_client_without_a_scan_pushes() {
    let world = World::new();
    let dir = world.repo("work");
    let bare = world.bare("server");
    world
        .run("handoff-hooks", &bare, ["install", "--git-dir", "."])
        .ok();
    world.write(
        &dir,
        ".gitleaks.toml",
        "[extend]\ndisabledRules = [\"stripe-live-key\"]\n",
    );
    world.write(
        &dir,
        "deploy.sh",
        format!("KEY={} # gitleaks:allow\n", token()),
    );
    world.commit(&dir, "add it");
    let url = bare.to_str().unwrap();
    // A secret that a branch has brought first is no less of one.
    world
        .git(&dir, ["push", "-q", url, "HEAD:refs/heads/feature"])
        .ok();
    world.write(
        &dir,
        "more.sh",
        format!("KEY={} # gitleaks:allow\n", token()),
    );
    world.handoff(&dir, ["save", "x"]).ok();
    let refused = world.git(&dir, ["push", url, "refs/handoff/x:refs/handoff/x"]);
    assert_ne!(refused.exit_code(), Some(0));
    assert!(
        refused.stderr().contains("SECRET_DETECTED"),
        "it is not refused for it"
    );
    assert!(refused.stderr().contains("more.sh:1"));
    assert!(!shows(&refused, &token()));
    assert_eq!(
        world
            .git(&bare, ["for-each-ref", "refs/handoff"])
            .ok()
            .stdout(),
        ""
    );
}

#[test]
fn the_helper_sends_no_byte_of_a_record_with_a_secret() {
    let world = World::new();
    let dir = world.repo("work");
    let bare = world.bare("server");
    world.handoff(&dir, ["init", bare.to_str().unwrap()]).ok();
    world.write(&dir, "second.sh", "MY KEY=1\n");
    world.handoff(&dir, ["save", "x"]).ok();
    // Known for one only after it was saved.
    world.write(
        &dir,
        ".gitleaks.toml",
        "[[rules]]\nid = \"own\"\nregex = \"MY KEY=\"\nkeywords = [\"key=\"]\n",
    );
    for pushed in [
        world.git(&dir, ["push", "handoff"]),
        world.handoff(&dir, ["push", "x"]),
    ] {
        assert_ne!(pushed.exit_code(), Some(0));
        let said = [pushed.stdout(), pushed.stderr()].concat();
        assert!(said.contains("SECRET_DETECTED"), "{said}");
        assert!(said.contains("second.sh:1"), "{said}");
    }
    let objects = world.git(&bare, ["count-objects"]).ok().stdout();
    assert!(objects.starts_with("0 objects"), "{objects}");
}

/// Returns the contents of all objects of a repository, whether anything names them or not.
fn all_objects(world: &World, dir: &Path) -> String {
    let args = ["cat-file", "--batch-all-objects", "--batch"];
    world.git(dir, args).ok().stdout()
}

#[test]
fn a_secret_in_a_draft_is_told_with_its_other_faults_and_written_nowhere() {
    let world = World::new();
    let dir = world.repo("work");
    let draft = format!(
        "objective: use {} for now\nclaims:\n- {{id: A, text: x, state: evidenced, receipt: R9}}\n",
        token()
    );
    world.write(world.root(), "draft.yaml", draft);
    for command in ["save", "prepare"] {
        let args = [command, "x", "-f", "../draft.yaml", "--json"];
        let refused = world.handoff(&dir, args).code(4);
        let said = refused.json();
        let errors = said["errors"].as_array().unwrap();
        let codes: Vec<&str> = errors
            .iter()
            .map(|error| error["code"].as_str().unwrap())
            .collect();
        assert!(codes.contains(&"SECRET_DETECTED"), "{said}");
        assert!(codes.len() > 1, "{said}");
        let secret = errors
            .iter()
            .find(|error| error["code"] == "SECRET_DETECTED");
        assert_eq!(secret.unwrap()["subject"], "objective");
        assert!(!shows(&refused, &token()));
    }
    let message = format!("try {}", token());
    let refused = world.handoff(&dir, ["save", "x", "-m", &message]).code(5);
    assert!(!shows(&refused, &token()));
    assert!(!all_objects(&world, &dir).contains(&token()));
}

/// Runs a program with `input` as its standard input, and returns what it says.
fn fed(world: &World, dir: &Path, argv: &[&str], input: &str) -> String {
    let mut command = world.command(argv[0], dir);
    command.args(&argv[1..]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{argv:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Every way by which a secret could travel, each alone.
#[test]
fn every_part_of_a_handoff_is_looked_through() {
    type Make = fn(&World, &Path);
    let ways: [(&str, &[&str], Make); 9] = [
        ("name", &[], |world, dir| {
            world.write(dir, format!("notes-{}.txt", token()), "harmless\n");
        }),
        ("link", &[], |_, dir| {
            let target = format!("/srv/{}", token());
            std::os::unix::fs::symlink(target, dir.join("link")).unwrap();
        }),
        ("index", &[], |world, dir| {
            world.write(dir, "staged.txt", token());
            world.git(dir, ["add", "staged.txt"]).ok();
            world.write(dir, "staged.txt", "taken out again\n");
        }),
        ("message", &[], |world, dir| {
            world.write(dir, "a.txt", "a\n");
            world.commit(dir, &format!("Call it with {}", token()));
        }),
        ("author", &[], |world, dir| {
            world.write(dir, "a.txt", "a\n");
            world.git(dir, ["add", "a.txt"]).ok();
            let author = format!("{} <a@example.invalid>", token());
            let args = ["commit", "-q", "-m", "a", "--author", &author];
            world.git(dir, args).ok();
        }),
        ("branch", &[], |world, dir| {
            world.git(dir, ["switch", "-q", "-c", &token()]).ok();
        }),
        ("conflict", &[], |world, dir| {
            let id = fed(
                world,
                dir,
                &["git", "hash-object", "-w", "--stdin"],
                &token(),
            );
            let entry = format!("100644 {} 2\tboth.txt\n", id.trim());
            fed(world, dir, &["git", "update-index", "--index-info"], &entry);
        }),
        (
            "attachment",
            &["--attach", "../attached.log"],
            |world, _| {
                world.write(world.root(), "attached.log", token());
            },
        ),
        ("packed", &[], |world, dir| {
            fed(world, dir, &["sh", "-c", "gzip -n > packed.gz"], &token());
        }),
    ];
    for (way, args, make) in ways {
        let world = World::new();
        let dir = world.repo("work");
        let bare = world.bare("code");
        let add = ["remote", "add", "origin", bare.to_str().unwrap()];
        world.git(&dir, add).ok();
        world.git(&dir, ["push", "-q", "-u", "origin", "HEAD"]).ok();
        make(&world, &dir);
        let refused = world.handoff(&dir, [&["prepare", "x", "--json"], args].concat());
        assert_eq!(refused.exit_code(), Some(5), "{way}");
        assert!(!shows(&refused, &token()), "{way}");
        assert_eq!(refused.json()["code"], "SECRET_DETECTED", "{way}");
    }
}

#[test]
fn no_command_is_run_with_a_secret_on_its_command_line() {
    let world = World::new();
    let dir = world.repo("work");
    for args in [
        &["--", "touch", "ran", &token()][..],
        &["--", "sh", "-c", &format!("touch ran; : {}", token())],
        &["--json", "--", "touch", "ran", &token()],
        &[
            "--",
            "touch",
            "ran",
            &format!("https://ann:{}@example.com/x", &token()[8..]),
        ],
    ] {
        let refused = world.handoff(&dir, [&["run"], args].concat()).code(125);
        assert!(!shows(&refused, &token()[8..]), "{args:?}");
        assert!(!dir.join("ran").exists());
    }
    world.handoff(&dir, ["run", "--", "touch", "ran"]).ok();
    assert!(dir.join("ran").exists());
    assert!(!all_objects(&world, &dir).contains(&token()[8..]));
}

/// Returns what stands for the value that stops a command.
fn fingerprint(refused: &Output) -> String {
    let said = refused.stderr();
    let at = said.find("hs1:").expect("no fingerprint");
    said[at..at + 36].to_owned()
}

#[test]
fn whoever_answers_for_a_value_lets_it_through_in_its_scope_alone() {
    let world = World::new();
    let dir = world.repo("work");
    world.write(&dir, "fixture.txt", format!("KEY={}\n", token()));
    let refused = world.handoff(&dir, ["save", "x"]).code(5);
    let stands_for = fingerprint(&refused);
    let unknown = "hs1:00000000000000000000000000000000";
    for args in [
        &["allow", unknown, "--reason", "why"][..],
        &["allow", &stands_for, "--reason", " "],
        &["allow", &token(), "--reason", "why"],
        &["allow", &stands_for],
    ] {
        let refused = world.handoff(&dir, args);
        assert_ne!(refused.exit_code(), Some(0), "{args:?}");
    }
    world.handoff(&dir, ["save", "x"]).code(5);
    let allow = ["allow", &stands_for, "--reason", "made up for a test"];
    let answered = world
        .handoff(&dir, [&allow[..], &["--json"]].concat())
        .ok()
        .json();
    assert_eq!(answered["scope"], "x");
    assert_eq!(answered["rule"], "stripe-live-key");
    let saved = world.handoff(&dir, ["save", "x", "--json"]).ok().json();
    assert_eq!(saved["warnings"][0]["code"], "SECRET_ALLOWED");
    let shown = |scope: &str| world.handoff(&dir, ["show", scope, "--json"]).ok().json();
    let entry = shown("x")["manifest"]["content"]["allow"][0].clone();
    assert_eq!(entry["fingerprint"], Value::from(stands_for.as_str()));
    assert_eq!(entry["reason"], "made up for a test");
    assert_eq!(entry["by"], "ann@example.invalid");
    // The next generation carries it on; another scope has never heard of it.
    world.write(&dir, "again.txt", format!("KEY={}\n", token()));
    world.tick();
    world.handoff(&dir, ["save", "x"]).ok();
    assert_eq!(shown("x")["manifest"]["content"]["allow"][0], entry);
    let refused = world.handoff(&dir, ["save", "y"]).code(5);
    assert_ne!(fingerprint(&refused), stands_for);
    // It stands for this value alone.
    world.write(
        &dir,
        "other.txt",
        format!("KEY={}x\n", token().replace('4', "5")),
    );
    let refused = world.handoff(&dir, ["save", "x"]).code(5);
    assert!(
        refused.stderr().contains("other.txt:1"),
        "{}",
        refused.stderr()
    );
    assert!(
        !refused.stderr().contains("again.txt"),
        "{}",
        refused.stderr()
    );
}

#[test]
fn a_rule_of_a_path_sees_the_same_directory_under_each_of_its_names() {
    let world = World::new();
    let dir = world.repo("work");
    let text = format!("[registry]\ntoken = \"{}\"\n", &token()[8..]);
    for name in ["aaa", "cargo", "zzz"] {
        world.write(&dir, format!("{name}/credentials.toml"), &text);
    }
    let refused = world.handoff(&dir, ["save", "x"]).code(5);
    let named = "cargo-credentials in cargo/credentials.toml:2";
    assert!(refused.stderr().contains(named), "{}", refused.stderr());
}

#[test]
fn the_records_of_a_scope_can_be_looked_through_again() {
    let world = World::new();
    let dir = world.repo("work");
    world.write(&dir, "a.txt", "MY KEY=1\n");
    world.handoff(&dir, ["save", "x"]).ok();
    world.write(&dir, "b.txt", "MY KEY=2\n");
    world.tick();
    world.handoff(&dir, ["save", "x"]).ok();
    world.handoff(&dir, ["scan", "--records", "x"]).ok();
    world.write(
        &dir,
        ".gitleaks.toml",
        "[[rules]]\nid = \"own\"\nregex = \"MY KEY=\"\nkeywords = [\"key=\"]\n",
    );
    let found = world.handoff(&dir, ["scan", "--records", "x"]).code(5);
    let lines = "block own a.txt:1 in the worktree\nblock own b.txt:1 in the worktree\n";
    assert_eq!(found.stdout(), lines);
    let found = world
        .handoff(&dir, ["scan", "--records", "x@2", "--json"])
        .code(5);
    let found: Value = serde_json::from_str(&found.stdout()).unwrap();
    assert_eq!(
        (&found["path"], &found["in"]),
        (&"b.txt".into(), &"the worktree".into())
    );
    world.handoff(&dir, ["scan", "--records", "none"]).code(6);
}

#[test]
fn what_a_partial_clone_lacks_is_fetched_and_looked_through() {
    let world = World::new();
    let dir = world.repo("work");
    let bare = world.bare("code");
    let url = format!("file://{}", bare.display());
    world
        .git(&bare, ["config", "uploadpack.allowFilter", "true"])
        .ok();
    world.git(&dir, ["push", "-q", &url, "main"]).ok();
    world.write(&dir, "deploy.sh", format!("KEY={}\n", token()));
    let with = world.commit(&dir, "add it");
    world.write(&dir, "deploy.sh", "KEY=${KEY}\n");
    world.commit(&dir, "take it out");
    world.git(&dir, ["push", "-q", &url, "main:topic"]).ok();
    let args = [
        "clone",
        "-q",
        "--filter=blob:none",
        "-b",
        "topic",
        &url,
        "partial",
    ];
    world.git(world.root(), args).ok();
    let partial = world.root().join("partial");
    let upstream = ["branch", "-q", "--set-upstream-to=origin/main"];
    world.git(&partial, upstream).ok();
    let missing = ["rev-list", "--objects", "--missing=print", "HEAD"];
    let missing = world.git(&partial, missing).ok().stdout();
    assert!(
        missing.lines().any(|line| line.starts_with('?')),
        "{missing}"
    );
    let refused = world.handoff(&partial, ["save", "x"]).code(5);
    let place = format!("deploy.sh:1 of commit {with}");
    assert!(refused.stderr().contains(&place), "{}", refused.stderr());
}
