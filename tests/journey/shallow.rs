//! A restore with no more history than the checkpoint needs, and how the work goes on from there.

use std::path::{Path, PathBuf};

use crate::{
    guarded::{
        Guarded,
        Writer::{Agent, Developer},
    },
    world::{Output, ServerKind, World},
};

/// Commits that everybody has.
const PUBLISHED: usize = 12;
/// Commits of the work, which travel with the checkpoint.
const OWN: usize = 2;
const GENERATIONS: usize = 7;

/// Makes a history and a scope with several generations; `handoff` saves and pushes.
fn work(world: &World, dir: &Path, handoff: impl Fn(&[&str]) -> Output) {
    for n in 1..PUBLISHED {
        world.write(dir, "code", format!("{n}\n"));
        world.commit(dir, "published");
    }
    let push = ["push", "-q", "origin", "HEAD:refs/heads/main"];
    world.git(dir, push).ok();
    world.git(dir, ["fetch", "-q", "origin"]).ok();
    world
        .git(dir, ["branch", "-q", "--set-upstream-to=origin/main"])
        .ok();
    for n in 0..OWN {
        world.write(dir, "code", format!("own {n}\n"));
        world.commit(dir, "own");
    }
    for n in 1..=GENERATIONS {
        world.write(dir, "notes", format!("generation {n}\n"));
        world.tick();
        handoff(&["save", "demo", "--push"]).ok();
    }
}

fn at_path(world: &World) -> (PathBuf, PathBuf) {
    let (dir, bare) = (world.repo("here"), world.bare("server"));
    let add = ["remote", "add", "origin", bare.to_str().unwrap()];
    world.git(&dir, add).ok();
    work(world, &dir, |args| world.handoff(&dir, args));
    (dir, bare)
}

fn count(world: &World, dir: &Path, revision: &str) -> usize {
    let counted = world.git(dir, ["rev-list", "--count", revision]).ok();
    counted.line().parse().unwrap()
}

/// Asserts that a shallow restore has what it must, and no more.
fn is_shallow(world: &World, dir: &Path) {
    assert_eq!(count(world, dir, "HEAD"), OWN + 1);
    let line = "refs/handoff-remote/handoff/demo";
    assert!(count(world, dir, line) < GENERATIONS + OWN + 1);
    assert_eq!(
        world.read(dir, "notes"),
        format!("generation {GENERATIONS}\n").as_bytes()
    );
    world.git(dir, ["fsck", "--strict"]).ok();
}

#[test]
fn a_shallow_restore_brings_the_commits_from_base_to_head_and_says_what_was_not_judged() {
    let world = World::new();
    let (_, bare) = at_path(&world);
    let urls = [
        bare.to_str().unwrap().to_owned(),
        format!("file://{}", bare.display()),
        format!("handoff::file://{}", bare.display()),
    ];
    for (n, url) in urls.iter().enumerate() {
        let name = format!("there{n}");
        let args = ["restore", "demo", &name, "--from", url, "--shallow"];
        let restored = world.handoff(world.root(), args).ok();
        let dir = world.root().join(&name);
        is_shallow(&world, &dir);
        assert!(
            restored.stderr().contains("warning: SHALLOW"),
            "{restored:?}"
        );
        world.handoff(&dir, ["verify", "demo", "--worktree"]).ok();
        let branch = world.git(&dir, ["symbolic-ref", "HEAD"]).ok();
        assert_eq!(branch.line(), "refs/heads/main");
    }
}

#[test]
fn work_goes_on_from_a_shallow_restore() {
    let world = World::new();
    let (here, bare) = at_path(&world);
    let args = ["restore", "--from", bare.to_str().unwrap(), "--shallow"];
    world.handoff(world.root(), args).ok();
    let there = world.root().join("demo");
    world.handoff(&there, ["accept"]).ok();
    world.write(&there, "code", "further\n");
    world.commit(&there, "further");
    world.write(&there, "notes", "further\n");
    world.handoff(&there, ["save", "demo", "--push"]).ok();
    is_full_line(&world, &here);
    // Everything that is asked for later comes as it does into any repository.
    world.git(&there, ["fetch", "-q", "handoff"]).ok();
    let unshallow = ["fetch", "-q", "--unshallow", "origin", "refs/handoff/demo"];
    world.git(&there, unshallow).ok();
    assert_eq!(count(&world, &there, "HEAD"), PUBLISHED + OWN + 1);
    let verified = world.handoff(&there, ["verify", "demo"]).ok();
    assert!(!verified.stderr().contains("SHALLOW"), "{verified:?}");
}

/// Asserts that who has the whole line judges what was written on it.
fn is_full_line(world: &World, here: &Path) {
    world.git(here, ["fetch", "-q", "handoff"]).ok();
    let logged = world.handoff(here, ["log", "demo"]).ok().stdout();
    assert_eq!(logged.lines().count(), GENERATIONS + 2, "{logged}");
    world.handoff(here, ["verify", "demo"]).ok();
}

#[test]
fn an_old_generation_is_deepened_until_it_is_there() {
    let world = World::new();
    let (_, bare) = at_path(&world);
    let url = bare.to_str().unwrap();
    let args = ["restore", "demo@2", "old", "--from", url, "--shallow"];
    let restored = world.handoff(world.root(), args).ok();
    let first = "an old generation: scope `demo` is at generation 7";
    assert_eq!(restored.stdout().lines().next(), Some(first));
    let dir = world.root().join("old");
    assert_eq!(world.read(&dir, "notes"), b"generation 2\n");
    assert!(count(&world, &dir, "HEAD") < PUBLISHED + OWN);
    let args = ["restore", "demo@9", "none", "--from", url, "--shallow"];
    let refused = world.handoff(world.root(), args).code(6);
    assert!(refused.stderr().contains("no generation 9"), "{refused:?}");
    assert!(!world.root().join("none").exists());
}

#[test]
fn a_server_that_lacks_what_is_behind_the_boundary_gets_all_of_it() {
    let world = World::new();
    let (_, bare) = at_path(&world);
    let args = ["restore", "--from", bare.to_str().unwrap(), "--shallow"];
    world.handoff(world.root(), args).ok();
    let (there, other) = (world.root().join("demo"), world.bare("other"));
    world
        .handoff(&there, ["init", other.to_str().unwrap()])
        .ok();
    world.write(&there, "notes", "further\n");
    let saved = world.handoff(&there, ["save", "demo", "--push", "--json"]);
    assert_eq!(saved.ok().json()["pushed"], true);
    world.git(&other, ["fsck", "--strict"]).ok();
    assert!(!other.join("shallow").exists());
    assert!(!there.join(".git/shallow").exists());
}

#[test]
fn a_server_takes_no_line_whose_beginning_it_is_not_given() {
    let world = World::new();
    let (_, bare) = at_path(&world);
    let args = ["restore", "--from", bare.to_str().unwrap(), "--shallow"];
    world.handoff(world.root(), args).ok();
    let (there, other) = (world.root().join("demo"), world.bare("other"));
    world
        .git(&other, ["config", "receive.shallowUpdate", "true"])
        .ok();
    world.run("handoff-hooks", &other, ["install"]).ok();
    let push = [
        "push",
        other.to_str().unwrap(),
        "refs/handoff-remote/handoff/demo:refs/handoff/demo",
    ];
    let refused = world.git(&there, push).code(1);
    assert!(refused.stderr().contains("MISSING_OBJECT"), "{refused:?}");
    let refs = world.git(&other, ["for-each-ref"]).ok();
    assert_eq!(refs.stdout(), "");
}

#[test]
fn a_sha_256_repository_is_restored_shallow() {
    let world = World::new();
    world.set("GIT_DEFAULT_HASH", "sha256");
    let (_, bare) = at_path(&world);
    world.unset("GIT_DEFAULT_HASH");
    let args = ["restore", "--from", bare.to_str().unwrap(), "--shallow"];
    world.handoff(world.root(), args).ok();
    is_shallow(&world, &world.root().join("demo"));
}

#[test]
fn a_shallow_restore_works_through_ssh_and_http() {
    for kind in [ServerKind::Ssh, ServerKind::Nginx] {
        let world = World::new();
        let Some(server) = Guarded::start(&world, kind) else {
            continue;
        };
        let dir = server.seeded_clone(Agent, "here");
        // The first commits and the branch are there already.
        for n in 1..PUBLISHED {
            world.write(&dir, "code", format!("{n}\n"));
            world.commit(&dir, "published");
        }
        server
            .git(Agent, &dir, ["push", "-q", "origin", "main"])
            .ok();
        for n in 0..OWN {
            world.write(&dir, "code", format!("own {n}\n"));
            world.commit(&dir, "own");
        }
        for n in 1..=GENERATIONS {
            world.write(&dir, "notes", format!("generation {n}\n"));
            world.tick();
            let save = ["save", "demo", "--push"];
            server.handoff(Agent, &dir, save).ok();
        }
        let args = ["restore", "--from", server.url(), "--shallow"];
        server.handoff(Developer, world.root(), args).ok();
        is_shallow(&world, &world.root().join("demo"));
    }
}
