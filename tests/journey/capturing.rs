//! Capture reads; it never writes what is not its own.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
};

use crate::{people::server_and_clone, state::Untouched, world::World};

/// Makes a repository with work of every kind, and a stash.
fn busy(world: &World) -> std::path::PathBuf {
    let (_, dir) = server_and_clone(world, "here");
    world.write(&dir, ".gitignore", "*.log\n");
    world.write(&dir, "stashed.txt", "stashed\n");
    world.write(&dir, "edited.txt", "one\n");
    world.write(&dir, "gone.txt", "gone\n");
    world.commit(&dir, "Begin");
    world.write(&dir, "stashed.txt", "put away\n");
    world.git(&dir, ["stash", "-q"]).ok();
    world.git(&dir, ["tag", "v1"]).ok();
    world.git(&dir, ["branch", "other"]).ok();
    world.write(&dir, "edited.txt", "two\n");
    world.git(&dir, ["add", "edited.txt"]).ok();
    world.write(&dir, "edited.txt", "three\n");
    world.write(&dir, "intended.txt", "intended\n");
    world.git(&dir, ["add", "-N", "intended.txt"]).ok();
    fs::remove_file(dir.join("gone.txt")).unwrap();
    world.write(&dir, "untracked/deep.txt", "untracked\n");
    world.write(&dir, "ignored.log", "ignored\n");
    fs::set_permissions(dir.join("README.md"), fs::Permissions::from_mode(0o755)).unwrap();
    symlink("edited.txt", dir.join("link")).unwrap();
    fs::create_dir(dir.join("empty")).unwrap();
    // Git refreshes the stat data of an index once it may; from then on nothing has a reason to.
    world.git(&dir, ["status"]).ok();
    dir
}

#[test]
fn a_snapshot_changes_nothing() {
    let world = World::new();
    let dir = busy(&world);
    let before = Untouched::of(&world, &dir);
    world.handoff(&dir, ["snapshot"]).ok();
    world.handoff(&dir, ["snapshot", "--json"]).ok();
    before.assert_same(&Untouched::of(&world, &dir));
}

#[test]
fn a_save_changes_nothing_but_the_id_that_it_notes() {
    let world = World::new();
    let dir = busy(&world);
    let before = Untouched::of(&world, &dir);
    world.handoff(&dir, ["save", "work"]).ok();
    world.handoff(&dir, ["verify", "work", "--worktree"]).ok();
    for command in ["show", "log"] {
        world.handoff(&dir, [command, "work"]).ok();
    }
    world.handoff(&dir, ["list"]).ok();
    before.assert_same_but_configuration(&Untouched::of(&world, &dir));
    // The id of the repository is computed once.
    let id = world
        .git(&dir, ["config", "--local", "handoff.repositoryId"])
        .ok();
    assert!(id.line().starts_with("sha256:"));
    let before = Untouched::of(&world, &dir);
    world.tick();
    world
        .handoff(&dir, ["save", "work", "-m", "the same, said anew"])
        .ok();
    before.assert_same(&Untouched::of(&world, &dir));
}

#[test]
fn a_push_changes_nothing_but_the_remote_that_it_sets_up() {
    let world = World::new();
    let dir = busy(&world);
    let before = Untouched::of(&world, &dir);
    world.handoff(&dir, ["save", "work", "--push"]).ok();
    before.assert_same_but_configuration(&Untouched::of(&world, &dir));
    let before = Untouched::of(&world, &dir);
    world.tick();
    let args = ["save", "work", "-m", "the same, said anew", "--push"];
    world.handoff(&dir, args).ok();
    before.assert_same(&Untouched::of(&world, &dir));
}

#[test]
fn what_was_not_captured_is_said() {
    let world = World::new();
    let dir = busy(&world);
    world.run("mkfifo", &dir, ["pipe"]).ok();
    world.git(&dir, ["init", "-q", "nested"]).ok();
    world.write(&dir, "secret.txt", "left out\n");
    let snapshot = world
        .handoff(&dir, ["snapshot", "--omit", "secret.txt"])
        .ok();
    insta::assert_snapshot!(world.normal(&snapshot.stdout()), @"
    worktree  [id1]
    index     [id2]
    untracked 2 files, 20 bytes
    omitted   nested-repository nested (a repository of its own that is no submodule)
    omitted   special-file pipe (fifo)
    omitted   by-request secret.txt
    omit      :(top)secret.txt (--forget ':(top)secret.txt' captures it again)
    ignored   1 entry by 1 rule
    ");
    // What was left out once is left out from then on.
    let saved = world.handoff(&dir, ["save", "work", "--json"]).ok().json();
    let omissions: Vec<String> = saved["omissions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|omission| format!("{} {}", omission["path"], omission["reason"]))
        .collect();
    assert_eq!(
        omissions,
        [
            r#""nested" "nested-repository""#,
            r#""pipe" "special-file""#,
            r#""secret.txt" "by-request""#
        ]
    );
}

#[test]
fn what_is_too_large_is_named_with_the_option_that_goes_on() {
    let world = World::new();
    let (_, dir) = server_and_clone(&world, "here");
    world
        .git(&dir, ["config", "handoff.maxFileBytes", "100"])
        .ok();
    world.write(&dir, "it's large.bin", [7; 101]);
    world.write(&dir, "small.txt", "small\n");
    let refused = world.handoff(&dir, ["save", "work"]).code(5);
    insta::assert_snapshot!(refused.stderr(), @r"
    error: over the size limit of one file: `it's large.bin` (101 bytes) [LIMIT_EXCEEDED]
    hint: go on without them: --omit ':(top,literal)it'\''s large.bin'
    hint: `handoff.maxFileBytes` and `handoff.maxTotalBytes` set the limits
    ");
    let refused = world
        .handoff(&dir, ["save", "work", "--json"])
        .code(5)
        .json();
    assert_eq!(refused["code"], "LIMIT_EXCEEDED");
    assert_eq!(refused["errors"][0]["subject"], "it's large.bin");
    let args = ["save", "work", "--omit", ":(top,literal)it's large.bin"];
    world.handoff(&dir, args).ok();
}
