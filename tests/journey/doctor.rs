//! The environment check: what it finds, that it mends nothing, and that what it advises does.

use std::{fs, os::unix::fs::symlink, path::Path};

use serde_json::Value;

use crate::{
    people::{pushed, server_and_clone},
    state::Untouched,
    world::{Output, World},
};

/// Runs the check, and asserts its exit code.
#[track_caller]
fn doctor(world: &World, dir: &Path, code: i32) -> Value {
    world.handoff(dir, ["doctor", "--json"]).code(code).json()
}

/// Returns the checks of a name.
fn checks<'a>(document: &'a Value, name: &str) -> Vec<&'a Value> {
    let checks = document["checks"].as_array().unwrap().iter();
    checks.filter(|check| check["name"] == name).collect()
}

/// Returns the only check of a name.
#[track_caller]
fn check<'a>(document: &'a Value, name: &str) -> &'a Value {
    match checks(document, name).as_slice() {
        [only] => only,
        others => panic!("{name}: {others:#?}\n{document:#}"),
    }
}

/// Runs the last command that a check advises.
#[track_caller]
fn mend(world: &World, dir: &Path, check: &Value) -> Output {
    let command = check["commands"].as_array().unwrap().last().unwrap();
    let words: Vec<&str> = command
        .as_array()
        .unwrap()
        .iter()
        .map(|word| word.as_str().unwrap())
        .collect();
    world.run(words[0], dir, &words[1..]).ok()
}

#[test]
fn where_all_is_well_nothing_fails_and_nothing_changes() {
    let world = World::new();
    let (server, dir) = pushed(&world);
    world
        .run("handoff-hooks", &server, ["install", "--git-dir", "."])
        .ok();
    let before = (
        Untouched::of(&world, &dir),
        snapshot(&dir.join(".git")),
        snapshot(&server),
    );
    let document = doctor(&world, &dir, 0);
    let after = (
        Untouched::of(&world, &dir),
        snapshot(&dir.join(".git")),
        snapshot(&server),
    );
    before.0.assert_same(&after.0);
    assert_eq!((before.1, before.2), (after.1, after.2));
    assert_eq!(document["ok"], true);
    let checks = document["checks"].as_array().unwrap();
    let not_ok: Vec<_> = checks
        .iter()
        .filter(|check| check["state"] != "ok")
        .collect();
    assert!(not_ok.is_empty(), "{not_ok:#?}");
    for name in [
        "git",
        "git-handoff",
        "git-remote-handoff",
        "repository",
        "settings",
        "identity",
        "remote",
        "refspecs",
        "reached",
        "hook",
        "clock",
        "locks",
    ] {
        check(&document, name);
    }
    let shown = check(&document, "reached")["detail"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(shown.contains("1 scope"), "{shown}");
}

/// Returns every file below a directory with its bytes.
fn snapshot(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut open = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => open.push(path),
                false => found.push((path.display().to_string(), fs::read(&path).unwrap())),
            }
        }
    }
    found.sort();
    found
}

#[test]
fn without_a_repository_the_programs_alone_are_looked_at() {
    let world = World::new();
    let document = doctor(&world, world.root(), 0);
    assert_eq!(check(&document, "repository")["state"], "warning");
    assert!(checks(&document, "remote").is_empty());
}

#[test]
fn each_setting_of_the_remote_that_differs_is_named_with_the_command_that_mends_it() {
    let world = World::new();
    let (_, dir) = pushed(&world);
    let config = |args: &[&str]| world.git(&dir, ["config"].iter().chain(args)).ok();
    config(&[
        "--add",
        "remote.handoff.fetch",
        "+refs/heads/*:refs/remotes/handoff/*",
    ]);
    config(&["remote.handoff.push", "+refs/handoff/*:refs/handoff/*"]);
    config(&["--unset", "remote.handoff.tagOpt"]);
    let document = doctor(&world, &dir, 5);
    let wrong = checks(&document, "remote");
    assert_eq!(wrong.len(), 3, "{wrong:#?}");
    assert_eq!(check(&document, "refspecs")["state"], "failed");
    for wrong in wrong {
        assert_eq!(wrong["code"], "USAGE");
        mend(&world, &dir, wrong);
    }
    let document = doctor(&world, &dir, 0);
    assert_eq!(check(&document, "remote")["state"], "ok");
    assert_eq!(check(&document, "refspecs")["state"], "ok");
}

#[test]
fn refspecs_of_other_remotes_that_reach_into_the_scopes_fail() {
    let world = World::new();
    let (_, dir) = pushed(&world);
    for (field, value) in [
        ("fetch", "+refs/*:refs/*"),
        ("fetch", "+refs/handoff/*:refs/HANDOFF/*"),
        ("push", "+refs/*:refs/*"),
        ("mirror", "true"),
    ] {
        let key = format!("remote.origin.{field}");
        world.git(&dir, ["config", "--add", &key, value]).ok();
        let document = doctor(&world, &dir, 5);
        let found = check(&document, "refspecs");
        assert_eq!(found["code"], "REF_OUTSIDE_NAMESPACE", "{value}");
        assert!(found["detail"].as_str().unwrap().contains("`origin`"));
        world
            .git(&dir, ["config", "--fixed-value", "--unset", &key, value])
            .ok();
    }
    doctor(&world, &dir, 0);
}

#[test]
fn a_repository_without_a_remote_is_told_how_to_get_one() {
    let world = World::new();
    let alone = world.repo("alone");
    let document = doctor(&world, &alone, 0);
    let remote = check(&document, "remote");
    assert_eq!(
        remote["commands"],
        serde_json::json!([["git", "handoff", "init", "<url>"]])
    );
    let (_, cloned) = server_and_clone(&world, "cloned");
    let document = doctor(&world, &cloned, 0);
    mend(&world, &cloned, check(&document, "remote"));
    assert_eq!(check(&doctor(&world, &cloned, 0), "remote")["state"], "ok");
}

#[test]
fn a_remote_that_does_not_answer_is_unreachable_and_one_that_hides_is_told_apart() {
    let world = World::new();
    let (server, dir) = pushed(&world);
    world
        .git(&server, ["config", "transfer.hideRefs", "refs/handoff"])
        .ok();
    let document = doctor(&world, &dir, 0);
    let reached = check(&document, "reached");
    assert_eq!(reached["state"], "warning");
    let detail = reached["detail"].as_str().unwrap();
    assert!(
        detail.contains("`work`") && detail.contains("hideRefs"),
        "{detail}"
    );
    fs::rename(&server, world.root().join("moved.git")).unwrap();
    let document = doctor(&world, &dir, 7);
    assert_eq!(check(&document, "reached")["code"], "UNREACHABLE");
}

#[test]
fn a_remote_of_this_machine_without_the_hook_gets_a_warning_that_mends_it() {
    let world = World::new();
    let (_, dir) = pushed(&world);
    let document = doctor(&world, &dir, 0);
    let hook = check(&document, "hook");
    assert_eq!(hook["state"], "warning", "{hook}");
    mend(&world, &dir, hook);
    assert_eq!(check(&doctor(&world, &dir, 0), "hook")["state"], "ok");
}

#[test]
fn a_password_in_a_url_is_warned_of_and_never_shown() {
    let world = World::new();
    let (_, dir) = pushed(&world);
    let url = "handoff::https://ann:hunter2@127.0.0.1:1/project.git";
    world.git(&dir, ["config", "remote.handoff.url", url]).ok();
    world
        .git(
            &dir,
            [
                "config",
                "handoff.remote",
                "-https://ann:hunter2@127.0.0.1:1/x.git",
            ],
        )
        .ok();
    let output = world.handoff(&dir, ["doctor"]).code(7);
    let said = format!("{}{}", output.stdout(), output.stderr());
    assert!(!said.contains("hunter2"), "{said}");
    assert!(said.contains("credential helper"), "{said}");
}

#[test]
fn settings_that_cannot_be_read_are_named_with_where_they_stand() {
    let world = World::new();
    let (_, dir) = pushed(&world);
    for (key, value) in [
        ("handoff.id", "two words"),
        ("handoff.acceptFor", "soon"),
        ("handoff.maxFileBytes", "many"),
        ("handoff.carryExcludes", "perhaps"),
        ("handoff.remote", "ext::sh"),
    ] {
        world.git(&dir, ["config", key, value]).ok();
        let document = doctor(&world, &dir, 2);
        let settings = check(&document, "settings");
        let detail = settings["detail"].as_str().unwrap();
        let named = detail.to_lowercase();
        assert!(
            named.contains(&key.to_lowercase()) && detail.contains(value),
            "{detail}"
        );
        mend(&world, &dir, settings);
        doctor(&world, &dir, 0);
    }
    world.git(&dir, ["config", "handoff.acceptfro", "2d"]).ok();
    let document = doctor(&world, &dir, 0);
    assert_eq!(check(&document, "settings")["state"], "warning");
    for (key, value) in [
        ("handoff.maxFileBytes", "50m"),
        ("handoff.acceptFor", "12h"),
        ("handoff.carryExcludes", "yes"),
    ] {
        world.git(&dir, ["config", key, value]).ok();
    }
    world
        .git(&dir, ["config", "--unset", "handoff.acceptfro"])
        .ok();
    assert_eq!(check(&doctor(&world, &dir, 0), "settings")["state"], "ok");
}

#[test]
fn who_has_no_identity_is_told_how_to_get_one() {
    let world = World::new();
    let dir = world.repo("here");
    fs::write(
        world.home().join(".gitconfig"),
        "[user]\n\tuseConfigOnly = true\n",
    )
    .unwrap();
    let document = doctor(&world, &dir, 2);
    assert_eq!(check(&document, "identity")["code"], "IDENTITY_MISSING");
}

#[test]
fn executables_that_git_does_not_find_or_that_are_of_another_version_fail() {
    let world = World::new();
    let bin = world.directory("bin");
    let git = world.git_version().directory().join("git");
    symlink(git, bin.join("git")).unwrap();
    let real = world
        .run("sh", world.root(), ["-c", "command -v git-handoff"])
        .ok()
        .line();
    let system = "/usr/bin:/bin";
    world.set("PATH", &format!("{}:{system}", bin.display()));
    let run = |code: i32| {
        let mut command = world.command(&real, world.root());
        Output::of(command.args(["doctor", "--json"]))
            .code(code)
            .json()
    };
    let document = run(6);
    assert_eq!(check(&document, "git-remote-handoff")["code"], "NOT_FOUND");
    assert_eq!(check(&document, "git-handoff")["state"], "warning");
    let script = "#!/bin/sh\necho git-remote-handoff 9.9.9\n";
    world.write(&bin, "git-remote-handoff", script);
    world.run("chmod", &bin, ["755", "git-remote-handoff"]).ok();
    let document = run(4);
    let helper = check(&document, "git-remote-handoff");
    assert!(
        helper["detail"].as_str().unwrap().contains("9.9.9"),
        "{helper}"
    );
    let script = "#!/bin/sh\necho git version 2.30.1\n";
    fs::remove_file(bin.join("git")).unwrap();
    world.write(&bin, "git", script);
    world.run("chmod", &bin, ["755", "git"]).ok();
    let document = run(4);
    assert_eq!(check(&document, "git")["code"], "GIT_FAILED");
}

#[test]
fn what_was_left_behind_is_named() {
    let world = World::new();
    let (_, dir) = pushed(&world);
    world.write(&dir, "notes.txt", "more\n");
    world.handoff(&dir, ["prepare", "work", "-f", "/dev/null"]);
    world.write(&dir, ".git/index.lock", "");
    world.write(&dir, ".git/refs/handoff/work.lock", "");
    world.write(&dir, ".git/handoff/restoring", "");
    let document = doctor(&world, &dir, 0);
    let locks = checks(&document, "locks");
    assert_eq!(locks.len(), 2, "{locks:#?}");
    for lock in locks {
        assert_eq!(lock["state"], "warning");
        mend(&world, &dir, lock);
    }
    assert_eq!(check(&document, "restore")["state"], "warning");
    fs::remove_file(dir.join(".git/handoff/restoring")).unwrap();
    // What an in-place restore replaces is kept.
    world.handoff(&dir, ["restore", "work", "--in-place"]).ok();
    let document = doctor(&world, &dir, 0);
    assert_eq!(check(&document, "locks")["state"], "ok");
    let safety = check(&document, "safety")["detail"].as_str().unwrap();
    assert!(safety.starts_with("1 safety record"), "{safety}");
}

#[test]
fn a_clock_that_is_behind_the_records_is_seen() {
    let world = World::new();
    let (_, dir) = pushed(&world);
    assert_eq!(check(&doctor(&world, &dir, 0), "clock")["state"], "ok");
    // A commit of the far future in the place of a record, as a clock that went back would find it.
    let mut command = world.command("git", &dir);
    command
        .env("GIT_COMMITTER_DATE", "@4102444800 +0000")
        .args(["commit-tree", "HEAD^{tree}", "-m", "late"]);
    let late = Output::of(&mut command).ok().line();
    world
        .git(&dir, ["update-ref", "refs/handoff/late", &late])
        .ok();
    let document = doctor(&world, &dir, 0);
    assert_eq!(check(&document, "clock")["state"], "warning");
}
