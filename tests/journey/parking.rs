//! Parking work here and picking it up there: two commands, nothing configured but `origin`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{
    people::{self, server_and_clone},
    state::Worktree,
    world::World,
};

/// Makes two clones of one server; the first holds unfinished work.
fn two_clones(world: &World) -> (PathBuf, PathBuf) {
    let (server, here) = server_and_clone(world, "here");
    let there = people::clone(world, &server.display().to_string(), "there");
    world.write(&here, "README.md", "# Example, half rewritten\n");
    world.write(&here, "notes/todo.txt", "the other half\n");
    world.write(&here, "staged.txt", "staged\n");
    world.git(&here, ["add", "staged.txt"]).ok();
    (here, there)
}

fn park_and_pick_up(world: &World) {
    let (here, there) = two_clones(world);
    let parked = world.handoff(&here, ["save", "--push"]).ok();
    insta::assert_snapshot!(world.normal(&parked.stdout()), @"
    saved ann.main@1  [digest1]
      untracked 1 file, 15 bytes
      the remote `handoff` has it
    next:
      git handoff restore ann.main --from [world]/server.git
    ");
    insta::assert_snapshot!(world.normal(&parked.stderr()), @"set up remote `handoff` at handoff::[world]/server.git");

    // Work of its own lies there: one file is in the way, and one is of no concern to the checkpoint.
    world.write(&there, "README.md", "# Mine\n");
    world.write(&there, "notes/mine.txt", "mine\n");
    let mine = Worktree::of(world, &there);
    let picked_up = world.handoff(&there, ["restore", "--in-place"]).ok();
    insta::assert_snapshot!(world.normal(&picked_up.stdout()), @"
    restored ann.main@1 in [world]/there
      HEAD       [id1] on main
      worktree   [id2], recomputed from disk
      index      [id3], recomputed from disk
      before     what was here is safety record 1
      kept       notes/mine.txt: not part of the checkpoint
    next:
      git -C [world]/there status
      git -C [world]/there handoff continue ann.main
      git -C [world]/there handoff accept ann.main
    ");
    insta::assert_snapshot!(world.normal(&picked_up.stderr()), @"set up remote `handoff` at handoff::[world]/server.git");
    let kept = there.join("notes/mine.txt");
    assert_eq!(fs::read_to_string(&kept).unwrap(), "mine\n");
    fs::remove_file(kept).unwrap();
    Worktree::of(world, &here).assert_same(&Worktree::of(world, &there));

    let back = world
        .handoff(&there, ["restore", "--safety", "1", "--in-place"])
        .ok();
    insta::assert_snapshot!(world.normal(&back.stdout()), @"
    restored the safety record in [world]/there
      HEAD       [id1] on main
      worktree   [id2], recomputed from disk
      index      [id3], recomputed from disk
    ");
    mine.assert_same(&Worktree::of(world, &there));
}

#[test]
fn two_commands_park_work_and_pick_it_up_elsewhere() {
    people::with_each_git(park_and_pick_up);
}

/// Saves in one clone and restores in place in the other.
fn carry(world: &World, from: &Path, to: &Path) {
    world.handoff(from, ["save", "--push"]).ok();
    world.handoff(to, ["restore", "--in-place"]).ok();
    Worktree::of(world, from).assert_same(&Worktree::of(world, to));
}

#[test]
fn work_goes_back_and_forth_between_two_places_with_the_same_two_commands() {
    let world = World::new();
    let (here, there) = two_clones(&world);
    carry(&world, &here, &there);
    for round in ["one", "two"] {
        world.tick();
        world.write(&there, "notes/todo.txt", format!("there, round {round}\n"));
        carry(&world, &there, &here);
        world.tick();
        world.write(&here, format!("src/{round}.rs"), "// here\n");
        world.commit(&here, "Go on");
        world.write(&here, "notes/todo.txt", format!("here, round {round}\n"));
        carry(&world, &here, &there);
    }
    // What is here was saved before it was replaced; nothing had to be set aside again.
    for dir in [&here, &there] {
        let aside = world.handoff(dir, ["list", "--safety"]).ok();
        assert_eq!(aside.stdout(), "");
    }
    let list = world.handoff(&there, ["list"]).ok();
    insta::assert_snapshot!(list.stdout(), @"ann.main@5	open	-	continuable	2025-01-06T09:07:00Z	same");
}

#[test]
fn a_safety_record_is_listed_with_its_time_and_what_it_is() {
    let world = World::new();
    let (here, there) = two_clones(&world);
    insta::assert_snapshot!(world.handoff(&there, ["list", "--safety"]).ok().stdout(), @"");
    world.handoff(&here, ["save", "--push"]).ok();
    world.write(&there, "README.md", "# Mine\n");
    world.handoff(&there, ["restore", "--in-place"]).ok();
    insta::assert_snapshot!(world.handoff(&there, ["list", "--safety"]).ok().stdout(), @"1	2025-01-06T09:01:00Z	what a restore in place replaced");
    let rows = world
        .handoff(&there, ["list", "--safety", "--json"])
        .ok()
        .json_lines();
    let [row] = rows.as_slice() else {
        panic!("{rows:?}")
    };
    let commit = world
        .git(&there, ["rev-parse", "refs/handoff-local/safety/1"])
        .ok();
    assert_eq!(row["format"], "handoff-cli.list.v1");
    assert_eq!(
        (&row["safety"], &row["commit"]),
        (&1.into(), &commit.line().into())
    );
    assert_eq!(row["at"], "2025-01-06T09:01:00Z");
    assert_eq!(row["untrusted"], true);
}

#[test]
fn what_only_a_detached_head_reaches_is_kept() {
    let world = World::new();
    let (here, there) = two_clones(&world);
    world.handoff(&here, ["save", "--push"]).ok();
    world.git(&there, ["switch", "-q", "--detach"]).ok();
    world.write(&there, "mine.txt", "mine\n");
    let commit = world.commit(&there, "On no branch");
    let mine = Worktree::of(&world, &there);
    let restored = world
        .handoff(&there, ["restore", "ann.main", "--in-place", "--json"])
        .ok()
        .json();
    assert_eq!(restored["safety"], 1);
    let reached = ["for-each-ref", "--contains", &commit, "--format=%(refname)"];
    let reached = world.git(&there, reached).ok();
    assert_eq!(reached.line(), "refs/handoff-local/safety/1");
    let args = ["restore", "--safety", "1", "--in-place"];
    world.handoff(&there, args).ok();
    mine.assert_same(&Worktree::of(&world, &there));
}

#[test]
fn nothing_is_set_aside_where_nothing_would_be_lost() {
    let world = World::new();
    let (here, there) = two_clones(&world);
    world.handoff(&here, ["save", "--push"]).ok();
    for _ in 0..2 {
        let args = ["restore", "ann.main", "--in-place", "--json"];
        let restored = world.handoff(&there, args).ok().json();
        assert_eq!(restored["safety"], serde_json::Value::Null);
    }
    Worktree::of(&world, &here).assert_same(&Worktree::of(&world, &there));
    // An empty directory is something.
    world.directory("there/empty");
    let args = ["restore", "ann.main", "--in-place", "--json"];
    assert_eq!(world.handoff(&there, args).ok().json()["safety"], 1);
}

#[test]
fn what_is_ignored_here_is_never_overwritten() {
    let world = World::new();
    let (here, there) = two_clones(&world);
    world.handoff(&here, ["save", "--push"]).ok();
    world.write(&there, ".git/info/exclude", "/notes/\n");
    world.write(&there, "notes/todo.txt", "ignored, and mine\n");
    let before = Worktree::of(&world, &there);
    let refused = world
        .handoff(&there, ["restore", "ann.main", "--in-place"])
        .code(5);
    insta::assert_snapshot!(world.normal(&refused.stderr()), @"
    set up remote `handoff` at handoff::[world]/server.git
    error: what is not part of the captured state would be overwritten or removed: `notes/todo.txt` [DIRECTORY_NOT_EMPTY]
    hint: move these paths away, or restore into a new directory
    ");
    before.assert_same(&Worktree::of(&world, &there));
    assert_eq!(world.read(&there, "notes/todo.txt"), b"ignored, and mine\n");
}

#[test]
fn a_restore_from_a_url_works_in_the_directory_that_is_named() {
    let world = World::new();
    let (here, _) = two_clones(&world);
    world.handoff(&here, ["save", "work", "--push"]).ok();
    let box_of = world.directory("box");
    let url = world.root().join("server.git");
    let args = [
        "-C",
        "box",
        "restore",
        "work",
        "new",
        "--from",
        url.to_str().unwrap(),
    ];
    world.handoff(world.root(), args).ok();
    Worktree::of(&world, &here).assert_same(&Worktree::of(&world, &box_of.join("new")));
    assert_eq!(std::fs::read_dir(box_of).unwrap().count(), 1);
}

#[test]
fn a_restore_minds_no_repository_that_the_environment_names() {
    let world = World::new();
    let (here, there) = two_clones(&world);
    world.handoff(&here, ["save", "work", "--push"]).ok();
    let before = Worktree::of(&world, &there);
    let url = world.root().join("server.git").display().to_string();
    // As it is in a hook of Git's, githooks(5).
    world.set("GIT_DIR", there.join(".git").to_str().unwrap());
    world.set("GIT_WORK_TREE", there.to_str().unwrap());
    world.set("GIT_INDEX_FILE", there.join(".git/index").to_str().unwrap());
    world
        .handoff(&there, ["restore", "work", "../cloned", "--from", &url])
        .ok();
    world.handoff(&there, ["restore", "work", "../copied"]).ok();
    let leading = ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"];
    leading.iter().for_each(|name| world.unset(name));
    before.assert_same(&Worktree::of(&world, &there));
    for dir in ["cloned", "copied"] {
        let dir = world.root().join(dir);
        Worktree::of(&world, &here).assert_same(&Worktree::of(&world, &dir));
    }
}
