//! What surrounds a command counts as it does for Git: variables, settings of one run, places that cannot be used.

use std::{
    fs::{self, File},
    os::unix::fs::PermissionsExt,
    path::Path,
    process::Stdio,
};

use crate::{
    people::{clone, error_code, pushed, server_and_clone},
    world::World,
};

/// Runs `git <options> handoff <args>` and returns its document.
fn with_options(world: &World, dir: &Path, options: &[&str], args: &[&str]) -> serde_json::Value {
    let words = [options, &["handoff"], args, &["--json"]].concat();
    world.git(dir, words).ok().json()
}

#[test]
fn settings_of_one_run_of_git_count() {
    let world = World::new();
    let (_, dir) = server_and_clone(&world, "here");
    with_options(
        &world,
        &dir,
        &["-c", "handoff.id=agent:zed"],
        &["save", "work"],
    );
    let shown = world.handoff(&dir, ["show", "work", "--json"]).ok().json();
    assert_eq!(shown["manifest"]["producer"]["id"], "agent:zed");
    // What Git ignores with such a setting is excluded with it.
    let ignored = world.root().join("ig=nored with 'quotes'");
    world.write(world.root(), &ignored, "*.tmp\n");
    world.write(&dir, "a.tmp", "a\n");
    let setting = format!("core.excludesFile={}", ignored.display());
    let status = world.git(&dir, ["-c", &setting, "status", "--porcelain"]);
    assert_eq!(status.ok().stdout(), "");
    let count = |options: &[&str]| {
        with_options(&world, &dir, options, &["snapshot"])["untracked"]["count"].clone()
    };
    assert_eq!(count(&["-c", &setting]), 0);
    assert_eq!(count(&[]), 1);
    // The later one wins, and a flag may go without a value.
    let options = [
        "-c",
        "handoff.id=one",
        "-c",
        "core.ignoreCase",
        "-c",
        "handoff.id=two",
    ];
    with_options(&world, &dir, &options, &["save", "other"]);
    let shown = world.handoff(&dir, ["show", "other", "--json"]).ok().json();
    assert_eq!(shown["manifest"]["producer"]["id"], "two");
}

#[test]
fn a_setting_of_one_run_does_not_make_another_repository() {
    let world = World::new();
    let (_, dir) = server_and_clone(&world, "here");
    let elsewhere = world.directory("elsewhere");
    world.write(&elsewhere, "stray.txt", "stray\n");
    let plain = with_options(&world, &dir, &[], &["snapshot"]);
    let worktree = format!("core.worktree={}", elsewhere.display());
    for setting in [
        worktree.as_str(),
        "core.bare=true",
        "extensions.refStorage=reftable",
    ] {
        let odd = with_options(&world, &dir, &["-c", setting], &["snapshot"]);
        assert_eq!(odd["worktreeTree"], plain["worktreeTree"], "{setting}");
    }
}

#[test]
fn a_linked_worktree_is_not_the_one_that_the_environment_names() {
    let world = World::new();
    let (_, dir) = pushed(&world);
    let saved = world.handoff(&dir, ["show", "work", "--json"]).ok().json();
    // A change that is in no record: a restore into the wrong place would find or replace it.
    world.write(&dir, "README.md", "since then\n");
    world.write(&dir, "later.txt", "since then\n");
    let before = world.git(&dir, ["status", "--porcelain=v2"]).ok().stdout();
    let top = dir.display().to_string();
    let git_dir = dir.join(".git").display().to_string();
    let surroundings: [&[(&str, &str)]; 2] = [
        &[("GIT_WORK_TREE", &top)],
        &[("GIT_DIR", &git_dir), ("GIT_WORK_TREE", &top)],
    ];
    for (number, variables) in surroundings.into_iter().enumerate() {
        let there: std::path::PathBuf = world.root().join(format!("linked-{number}"));
        let path = there.display().to_string();
        variables
            .iter()
            .for_each(|(name, value)| world.set(name, value));
        let args = ["restore", "work", &path, "--worktree", "--json"];
        let restored = world.handoff(&dir, args).ok().json();
        variables.iter().for_each(|(name, _)| world.unset(name));
        // The branch is checked out already, and no branch is checked out twice.
        assert_eq!(restored["branch"], serde_json::Value::Null);
        assert_eq!(
            world.git(&dir, ["status", "--porcelain=v2"]).ok().stdout(),
            before
        );
        let found = world.handoff(&there, ["snapshot", "--json"]).ok().json();
        let recorded = &saved["manifest"]["content"]["repository"]["worktreeTree"];
        assert_eq!(&found["worktreeTree"], recorded);
    }
}

#[test]
fn a_directory_that_cannot_be_made_is_no_fault_of_the_server() {
    let world = World::new();
    let (server, _) = pushed(&world);
    let url = server.display().to_string();
    world.write(world.root(), "file", "");
    let refused = world
        .handoff(
            world.root(),
            ["restore", "work", "file/new", "--from", &url],
        )
        .code(1);
    insta::assert_snapshot!(refused.stderr(), @"error: file/new could not be read or written: Not a directory (os error 20) [IO]");
}

#[test]
fn a_hook_that_refuses_a_push_is_not_taken_for_a_server_that_is_away() {
    let world = World::new();
    let (_, dir) = server_and_clone(&world, "here");
    let hook = dir.join(".git/hooks/pre-push");
    world.write(
        &dir,
        ".git/hooks/pre-push",
        "#!/bin/sh\necho not on Fridays >&2\nexit 1\n",
    );
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    let refused = world.handoff(&dir, ["save", "work", "--push"]).code(1);
    insta::assert_snapshot!(world.normal(&refused.stderr()), @"
    set up remote `handoff` at handoff::[world]/server.git
    error: git sent nothing: a pre-push hook of this repository refused it; not on Fridays [GIT_FAILED]
    hint: githooks(5) says where the hook is: `git config core.hooksPath`, else .git/hooks
    hint: the checkpoint was taken back and is prepared again as `work@prepared`; the worktree is as it was
      git handoff sync
    ");
    // Nothing is half accepted: what no remote took is not here either.
    world.handoff(&dir, ["show", "work"]).code(6);
    fs::remove_file(hook).unwrap();
    world.handoff(&dir, ["save", "work", "--push"]).ok();
}

#[test]
fn a_remote_is_set_up_only_where_it_can_be_used() {
    let world = World::new();
    let (_, dir) = server_and_clone(&world, "here");
    for url in [
        "ssh://-oProxyCommand=x/y",
        "host\u{1b}[31m:x",
        "ext::sh",
        "-x",
        "ssh://",
    ] {
        let refused = world.handoff(&dir, ["init", "--json", "--", url]);
        assert_eq!(error_code(&refused.code(2)), "USAGE", "{url:?}");
    }
    world
        .git(&dir, ["config", "--get", "remote.handoff.url"])
        .code(1);
    // What does not lead on is not proposed.
    for name in ["origin", "a/b"] {
        let refused = world.handoff(&dir, ["sync", name, "--json"]).code(6).json();
        assert_eq!(
            refused["nextCommands"],
            serde_json::json!([["git", "remote", "-v"]])
        );
    }
}

#[test]
fn output_that_cannot_be_written_is_a_failure_that_says_so() {
    let world = World::new();
    let (_, dir) = pushed(&world);
    let commands: [(&[&str], i32, &str); 4] = [
        (&["show", "work"], 1, "standard output could not be written"),
        (&["--version"], 1, "standard output could not be written"),
        (&["save", "-h"], 1, "standard output could not be written"),
        (
            &["show", "nothing", "--json"],
            6,
            "there is no scope `nothing`",
        ),
    ];
    for (command, code, words) in commands {
        let full = File::create("/dev/full").unwrap();
        let mut run = world.command("git-handoff", &dir);
        let child = run.args(command).stdout(full).stderr(Stdio::piped());
        let output = child.spawn().unwrap().wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{command:?}: {said}");
        assert!(said.contains(words), "{command:?}: {said}");
    }
}

#[test]
fn help_is_a_document_where_one_is_asked_for() {
    let world = World::new();
    for topic in ["codes", "json", "save"] {
        let help = world
            .handoff(world.root(), ["help", topic, "--json"])
            .ok()
            .json();
        assert_eq!(help["format"], "handoff-cli.help.v1");
        assert_eq!(help["topic"], topic);
        let text = world.handoff(world.root(), ["help", topic]).ok().stdout();
        assert_eq!(help["text"], text);
    }
}

#[test]
fn the_one_scope_of_somebody_else_is_named() {
    let world = World::new();
    let (server, dir) = server_and_clone(&world, "here");
    world.write(&dir, "notes.txt", "not pushed\n");
    world.git(&dir, ["add", "notes.txt"]).ok();
    world.commit(&dir, "Not pushed");
    world.handoff(&dir, ["save", "work", "--push"]).ok();
    let other = clone(&world, &server.display().to_string(), "other");
    let refused = world.handoff_as(
        "somebody@example.invalid",
        &other,
        ["restore", "--in-place"],
    );
    insta::assert_snapshot!(world.normal(&refused.code(2).stderr()), @"
    set up remote `handoff` at handoff::[world]/server.git
    error: nothing says which scope is meant; there is `work` [AMBIGUOUS_SCOPE]
    hint: name one
      git handoff list
    ");
}

#[test]
fn a_repository_that_is_not_there_is_absent_and_git_is_not() {
    let world = World::new();
    let args = ["status", "--git-dir", "nowhere/x.git"];
    let refused = world.run("handoff-hooks", world.root(), args).code(6);
    insta::assert_snapshot!(refused.stderr(), @"error: cannot work in `nowhere/x.git`: No such file or directory (os error 2) [NOT_FOUND]");
}
