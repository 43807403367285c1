//! Credentials that would be handed over by mistake. Their values are made at run time and never printed.

use std::{fs, path::Path};

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
