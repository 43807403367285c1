//! What goes wrong is said: by a code that agents read, and in words that lead on.

use std::{
    fs, io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    process::Stdio,
};

use crate::{
    people::{error_code, pushed, server_and_clone},
    world::World,
};

/// Takes a server away, and returns where it is.
fn gone(world: &World, server: &Path) -> PathBuf {
    let away = world.root().join("away.git");
    fs::rename(server, &away).unwrap();
    away
}

#[test]
fn a_checkpoint_stays_while_the_remote_cannot_be_reached() {
    let world = World::new();
    let (server, dir) = pushed(&world);
    let away = gone(&world, &server);
    world.write(&dir, "notes.txt", "more\n");
    let saved = world
        .handoff(&dir, ["save", "work", "--push", "--json"])
        .code(7);
    let (document, said) = (saved.json(), saved.stderr());
    assert_eq!(
        (
            &document["created"],
            &document["pushed"],
            &document["generation"]
        ),
        (&true.into(), &"unknown".into(), &2.into())
    );
    assert_eq!(document["warnings"][0]["code"], "UNREACHABLE");
    assert!(said.starts_with("warning: UNREACHABLE: "), "{said}");
    let again = world.handoff(&dir, ["save", "work", "--push"]).code(7);
    insta::assert_snapshot!(world.normal(&again.stdout()), @"
    work@2 holds this state already  [digest1]
      untracked 1 file, 5 bytes
      saved here; nobody knows whether the remote has it
    next:
      git handoff push work
    ");
    // The next command settles it.
    fs::rename(&away, &server).unwrap();
    let settled = world
        .handoff(&dir, ["save", "work", "--push", "--json"])
        .ok()
        .json();
    assert_eq!(
        (
            &settled["created"],
            &settled["pushed"],
            &settled["generation"]
        ),
        (&false.into(), &true.into(), &2.into())
    );
}

#[test]
fn a_push_whose_answer_is_lost_is_asked_about() {
    let world = World::new();
    let (server, dir) = pushed(&world);
    world.write(&dir, "notes.txt", "more\n");
    // The server takes the push and dies before it says so.
    let hook = "#!/bin/sh\ncat >/dev/null\nkill -9 $PPID\n";
    world.write(&server, "hooks/post-receive", hook);
    world
        .run("chmod", &server, ["+x", "hooks/post-receive"])
        .ok();
    let saved = world
        .handoff(&dir, ["save", "work", "--push", "--json"])
        .ok()
        .json();
    assert_eq!(
        (&saved["pushed"], &saved["generation"]),
        (&true.into(), &2.into())
    );
    world.handoff(&dir, ["show", "work"]).ok();
    let accepted = world
        .handoff(&dir, ["accept", "work", "--json"])
        .ok()
        .json();
    assert_eq!(accepted["written"], true);
    world.handoff(&dir, ["release", "work"]).ok();
    let tip = world.git(&server, ["rev-parse", "refs/handoff/work"]).ok();
    let local = world.git(&dir, ["rev-parse", "refs/handoff/work"]).ok();
    assert_eq!(tip.line(), local.line());
}

#[test]
fn what_needs_the_remote_says_that_it_cannot_be_reached() {
    let world = World::new();
    let (server, dir) = pushed(&world);
    world.handoff(&dir, ["show", "work"]).ok();
    let url = server.display().to_string();
    gone(&world, &server);
    let refs = world.git(&dir, ["for-each-ref"]).ok().stdout();
    let commands: [&[&str]; 4] = [
        &["sync"],
        &["accept", "work"],
        &["restore", "work", "new", "--from", &url],
        &["restore", "new", "--from", "ssh://nobody@localhost:1/x.git"],
    ];
    for command in commands {
        let failed = world.handoff(&dir, [command, &["--json"]].concat()).code(7);
        assert_eq!(error_code(&failed), "UNREACHABLE", "{command:?}");
    }
    assert!(!dir.join("new").exists());
    assert_eq!(world.git(&dir, ["for-each-ref"]).ok().stdout(), refs);
    // What is here can be read, and restored.
    let restored = world.handoff(&dir, ["restore", "work", "../there"]).ok();
    let said = restored.stderr();
    assert!(said.starts_with("warning: UNREACHABLE: "), "{said}");
    let text = world.handoff(&dir, ["sync"]).code(7);
    let text = text.stderr();
    assert!(
        text.contains("error: the remote `handoff` could not be read"),
        "{text}"
    );
}

#[test]
fn what_is_not_there_is_not_found() {
    let world = World::new();
    let (server, dir) = pushed(&world);
    let url = server.display().to_string();
    let missing = world.handoff(&dir, ["show", "nothing"]).code(6);
    insta::assert_snapshot!(missing.stderr(), @"
    error: there is no scope `nothing` here [NOT_FOUND]
    hint: if it is at the remote, fetch it: git fetch handoff
      git handoff list
    ");
    let missing = world.handoff(&dir, ["show", "work@7"]).code(6);
    insta::assert_snapshot!(missing.stderr(), @"
    error: scope `work` has no generation 7; its newest is 1 [NOT_FOUND]
      git handoff log work
    ");
    let missing = world
        .handoff(&dir, ["restore", "nothing", "x", "--from", &url])
        .code(6);
    insta::assert_snapshot!(world.normal(&missing.stderr()), @"
    error: the remote shows no scope `nothing` [NOT_FOUND]
    hint: a server can hide refs/handoff/: `uploadpack.hideRefs`, `transfer.hideRefs` in git-config(1)
    ");
    for command in [
        "verify", "log", "accept", "release", "uncommit", "restore", "push",
    ] {
        let args = [command, "nothing", "--json"];
        let missing = world.handoff(&dir, args);
        assert_eq!(
            missing.exit_code(),
            Some(6),
            "{command}: {}",
            missing.stdout()
        );
    }
    let args = ["restore", "--safety", "3", "--in-place"];
    let missing = world.handoff(&dir, args).code(6);
    insta::assert_snapshot!(missing.stderr(), @"
    error: there is no safety record 3 [NOT_FOUND]
      git handoff list --safety
    ");
    assert!(!dir.join("x").exists() && !dir.join("nothing").exists());
}

#[test]
fn a_directory_that_is_not_empty_is_left_alone() {
    let world = World::new();
    let (server, dir) = pushed(&world);
    let url = server.display().to_string();
    let full = world.directory("full");
    world.write(&full, "file", "mine\n");
    let commands: [&[&str]; 3] = [
        &["restore", "work", "../full", "--from", &url],
        &["restore", "work", "../full"],
        &["restore", "work", "../full", "--worktree"],
    ];
    for command in commands {
        let refused = world.handoff(&dir, command).code(5);
        insta::allow_duplicates! {
            insta::assert_snapshot!(world.normal(&refused.stderr()), @"
            error: ../full is not empty: it holds `file` [DIRECTORY_NOT_EMPTY]
            hint: give a new or empty directory
            ");
        }
    }
    assert_eq!(fs::read_dir(&full).unwrap().count(), 1);
    assert_eq!(world.read(&full, "file"), b"mine\n");
}

#[test]
fn a_bad_name_or_option_is_a_matter_of_usage() {
    let world = World::new();
    let (_, dir) = pushed(&world);
    let long = "x".repeat(101);
    for name in [
        "a/b", ".hidden", "x..y", "-x", "x.lock", "x y", "", "ü", &long,
    ] {
        let refused = world.handoff(&dir, ["save", "--json", "--", name]).code(2);
        assert_eq!(error_code(&refused), "USAGE", "{name}");
    }
    let refused = world.handoff(&dir, ["save", "a/b"]).code(2);
    insta::assert_snapshot!(refused.stderr(), @"
    error: invalid value 'a/b' for '[SCOPE]': `a/b` is not a scope name: a letter or digit, then at most 99 letters, digits, `.`, `_` or `-` [USAGE]
      git handoff save -h
    ");
    let refused = world.handoff(&dir, ["save", "work", "-m", " "]).code(2);
    insta::assert_snapshot!(refused.stderr(), @"
    error: invalid value ' ' for '--message <OBJECTIVE>': it says nothing [USAGE]
      git handoff save -h
    ");
    let refused = world.handoff(&dir, ["show", "work@0"]).code(2);
    insta::assert_snapshot!(refused.stderr(), @"
    error: invalid value 'work@0' for '[SCOPE[@N|@prepared]|FILE]': `0` is not a generation: a whole number from 1; a file is named with a `/` in it, as in `./work@0` [USAGE]
      git handoff show -h
    ");
    let refused = world.handoff(&dir, ["sav"]).code(2);
    insta::assert_snapshot!(refused.stderr(), @"
    error: unrecognized subcommand 'sav' [USAGE]
    hint: some similar subcommands exist: 'scan', 'save'
      git handoff -h
    ");
    let fingerprint = format!("hs1:{}", "0".repeat(32));
    let refused = world.handoff(&dir, ["allow", &fingerprint]).code(2);
    insta::assert_snapshot!(refused.stderr(), @"
    error: the following required arguments were not provided: --reason <TEXT> [USAGE]
    hint: git handoff allow --reason <TEXT> <FINGERPRINT>
      git handoff allow -h
    ");
    let refused = world.handoff(&dir, ["save", "WORK"]).code(5);
    insta::assert_snapshot!(refused.stderr(), @"
    error: scope `WORK` differs from `work` in upper and lower case only [SCOPE_COLLISION]
    hint: choose another scope name
    ");
}

#[test]
fn what_has_no_end_and_is_no_file_of_scopes_is_not_read_to_it() {
    let world = World::new();
    let dir = world.repo("work");
    let refused = world.handoff(&dir, ["import", "/dev/zero", "--json"]);
    assert_ne!(refused.exit_code(), Some(0));
    assert_eq!(refused.json()["format"], "handoff-cli.error.v1");
}

#[test]
fn an_error_is_one_document() {
    let world = World::new();
    let (_, dir) = pushed(&world);
    let failed = world.handoff(&dir, ["show", "nothing", "--json"]).code(6);
    insta::assert_snapshot!(failed.stdout(), @r#"{"code":"NOT_FOUND","errors":[],"format":"handoff-cli.error.v1","hint":"if it is at the remote, fetch it: git fetch handoff","message":"there is no scope `nothing` here","nextCommands":[["git","handoff","list"]],"subject":"nothing"}"#);
    assert_eq!(failed.stderr(), "");
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let world = World::new();
    let (_, dir) = pushed(&world);
    let commands: [&[&str]; 9] = [
        &["list"],
        &["log", "work"],
        &["show", "work", "--json"],
        &["verify", "work"],
        &["snapshot", "--json"],
        &["save", "work"],
        &["help", "codes"],
        &["--help"],
        &["show", "nothing", "--json"],
    ];
    for command in commands {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let mut run = world.command("git-handoff", &dir);
        let child = run.args(command).stdout(writer).stderr(Stdio::piped());
        let output = child.spawn().unwrap().wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!said.contains("panicked"), "{command:?}: {said}");
        assert!(
            output.status.code().is_some(),
            "{command:?}: {:?}",
            output.status
        );
    }
}

#[test]
fn odd_paths_are_named_so_that_nobody_is_misled() {
    let world = World::new();
    let (_, dir) = server_and_clone(&world, "here");
    let name = std::ffi::OsStr::from_bytes(b"evil\x1b[2Jname\xff\n");
    world.run("mkfifo", &dir, [name]).ok();
    let saved = world
        .handoff(&dir, ["save", "work", "-m", "a\x1b[31mred\u{202e}"])
        .ok();
    insta::assert_snapshot!(world.normal(&saved.stdout()), @r"
    saved work@1  [digest1]
      untracked 0 files, 0 bytes
    omitted   special-file evil\u{1b}[2Jname�\u{a} (fifo)
      here only: no remote has it yet
    next:
      git handoff push work
    ");
    let shown = world.handoff(&dir, ["show", "work"]).ok();
    assert!(!shown.stdout().contains('\x1b'), "{}", shown.stdout());
    let log = world.handoff(&dir, ["log", "work"]).ok();
    assert!(!log.stdout().contains('\x1b'), "{}", log.stdout());
    let document = world.handoff(&dir, ["save", "work", "--json"]).ok().json();
    let omission = &document["omissions"][0];
    assert_eq!(omission["reason"], "special-file");
    assert_eq!(omission["pathBytes"], "ZXZpbBtbMkpuYW1l/wo=", "{omission}");
}
