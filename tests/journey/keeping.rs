//! What Git tidies up by itself, git-gc(1) and git-maintenance(1), takes nothing from a scope.

use std::path::Path;

use crate::{
    people::{agent, developer, server_and_clone, with_each_git},
    world::World,
};

/// Tidies up as thoroughly as Git can.
fn tidy(world: &World, dir: &Path) {
    let everything = ["reflog", "expire", "--expire=now", "--all"];
    world.git(dir, everything).ok();
    // The second one takes what the tasks between have left.
    world.git(dir, ["gc", "-q", "--prune=now"]).ok();
    let tasks = [
        "loose-objects",
        "incremental-repack",
        "pack-refs",
        "commit-graph",
    ];
    let tasks = tasks.map(|task| format!("--task={task}"));
    let run = ["maintenance", "run", "--quiet"].map(String::from);
    world.git(dir, run.into_iter().chain(tasks)).ok();
    world.git(dir, ["gc", "-q", "--prune=now"]).ok();
    world.git(dir, ["fsck", "--strict"]).ok();
}

fn tidied(world: &World) {
    let (server, here) = server_and_clone(world, "here");
    for round in ["# Half\n", "# Three quarters\n"] {
        world.write(&here, "README.md", round);
        world.write(&here, "notes/new.txt", round);
        agent(world, &here, ["save", "work"]).ok();
        world.tick();
    }
    // A commit that no branch has any more, an index unlike the worktree, a receipt, a prepared handoff.
    world.write(&here, "staged.txt", "staged\n");
    world.commit(&here, "Unpushed");
    world.write(&here, "staged.txt", "staged anew\n");
    world.git(&here, ["add", "staged.txt"]).ok();
    world.write(&here, "staged.txt", "and edited\n");
    agent(world, &here, ["run", "--id", "R1", "--", "true"]).ok();
    agent(world, &here, ["save", "work", "--push"]).ok();
    world.git(&here, ["reset", "-q", "--hard", "HEAD~1"]).ok();
    world.write(&here, "README.md", "# Nearly\n");
    agent(world, &here, ["run", "--id", "R2", "--", "true"]).ok();
    agent(world, &here, ["prepare", "other"]).ok();
    for dir in [&here, &server] {
        tidy(world, dir);
    }
    for address in ["work@1", "work@2", "work@3"] {
        agent(world, &here, ["verify", address]).ok();
    }
    agent(world, &here, ["verify", "other@prepared"]).ok();
    agent(world, &here, ["commit", "other"]).ok();
    let url = server.display().to_string();
    developer(
        world,
        &here,
        ["restore", "work", "../there", "--from", &url],
    )
    .ok();
    let there = world.root().join("there");
    assert_eq!(world.read(&there, "staged.txt"), b"and edited\n");
    let staged = world.git(&there, ["show", ":staged.txt"]).ok();
    assert_eq!(staged.bytes(), b"staged anew\n");
    tidy(world, &there);
    developer(world, &there, ["verify", "work", "--worktree"]).ok();
}

#[test]
fn tidying_up_takes_nothing_from_a_scope_here_or_on_the_server() {
    with_each_git(tidied);
}
