//! Fetching and listing: only scopes are shown.

use crate::world::{Run, World};

/// A world whose server has scopes, branches and tags.
fn world() -> World {
    let world = World::new();
    world.record("a", "one");
    world.record("a", "two");
    world.record("b", "three");
    world.git(["push", "handoff"]).ok();
    for name in ["refs/heads/other", "refs/tags/v1", "refs/handoff-local/x"] {
        world
            .git_in("server.git", ["update-ref", name, "refs/heads/main"])
            .ok();
    }
    world
        .git_in(".", ["init", "-q", "-b", "main", "fresh"])
        .ok();
    for (key, value) in [
        (
            "url",
            format!("handoff::{}", world.path("server.git").display()).as_str(),
        ),
        ("fetch", "+refs/handoff/*:refs/handoff-remote/handoff/*"),
        ("tagOpt", "--no-tags"),
    ] {
        let key = format!("remote.handoff.{key}");
        world.git_in("fresh", ["config", &key, value]).ok();
    }
    world
}

fn version(version: u8, world: &World, args: [&str; 2]) -> Run {
    let version = format!("protocol.version={version}");
    world.git_in("fresh", ["-c", &version, args[0], args[1]])
}

#[test]
fn a_fetch_brings_every_scope_in_every_version_of_the_protocol() {
    for number in 0..=2 {
        let world = world();
        version(number, &world, ["fetch", "handoff"]).ok();
        let refs = world
            .git_in("fresh", ["for-each-ref", "--format=%(refname)"])
            .line();
        assert_eq!(
            refs, "refs/handoff-remote/handoff/a\nrefs/handoff-remote/handoff/b",
            "version {number}"
        );
        world.git_in("fresh", ["fsck", "--strict"]).ok();
    }
}

#[test]
fn ls_remote_shows_scopes_alone() {
    let world = world();
    for number in 0..=2 {
        let listed = version(number, &world, ["ls-remote", "handoff"]).listed();
        assert_eq!(
            listed,
            ["refs/handoff/a", "refs/handoff/b"],
            "version {number}"
        );
    }
    let url = format!("handoff::{}", world.path("server.git").display());
    assert_eq!(world.git_in(".", ["ls-remote", &url]).listed().len(), 2);
}

#[test]
fn a_server_without_scopes_looks_empty() {
    let world = World::new();
    for number in [
        "protocol.version=0",
        "protocol.version=1",
        "protocol.version=2",
    ] {
        let run = world.git(["-c", number, "ls-remote", "handoff"]).ok();
        assert_eq!(run.out, "", "{number}");
        world.git(["-c", number, "fetch", "handoff"]).ok();
    }
}

#[test]
fn an_answer_without_capabilities_would_break_git_and_is_not_given() {
    let world = World::with_format("sha256");
    let run = world
        .git(["-c", "protocol.version=0", "ls-remote", "handoff"])
        .ok();
    assert_eq!(run.out, "");
}

#[test]
fn a_fetch_can_be_shallow_and_partial() {
    for number in ["protocol.version=0", "protocol.version=2"] {
        let world = world();
        world
            .git_in(
                "fresh",
                [
                    "-c",
                    number,
                    "fetch",
                    "--depth",
                    "1",
                    "handoff",
                    "refs/handoff/a",
                ],
            )
            .ok();
        let count = world
            .git_in("fresh", ["rev-list", "--count", "FETCH_HEAD"])
            .line();
        assert_eq!(count, "1", "{number}");
        world
            .git_in(
                "fresh",
                [
                    "-c",
                    number,
                    "fetch",
                    "--unshallow",
                    "handoff",
                    "refs/handoff/a",
                ],
            )
            .ok();
        let count = world
            .git_in("fresh", ["rev-list", "--count", "FETCH_HEAD"])
            .line();
        assert_eq!(count, "3", "{number}");
    }
    let world = world();
    world
        .git_in("server.git", ["config", "uploadpack.allowFilter", "true"])
        .ok();
    world
        .git_in("fresh", ["fetch", "--filter=blob:none", "handoff"])
        .ok()
        .says_not("warning");
    let missing = world.git_in(
        "fresh",
        [
            "rev-list",
            "--objects",
            "--all",
            "--missing=print",
            "--no-object-names",
        ],
    );
    assert!(missing.line().contains('?'));
}

#[test]
fn the_program_that_the_user_names_is_run() {
    let world = world();
    crate::world::write_program(
        &world.path("my pack"),
        &format!(
            "echo \"$@\" >{}; exec git-upload-pack \"$@\"",
            world.path("called").display()
        ),
    );
    let program = format!("'{}'", world.path("my pack").display());
    let run = world.git_in("fresh", ["fetch", "--upload-pack", &program, "handoff"]);
    run.ok().says_not("warning");
    assert!(world.path("called").exists());
}

#[test]
fn a_plain_remote_and_a_clone_are_told_about_init() {
    let world = world();
    let url = format!("handoff::{}", world.path("server.git").display());
    world.git_in("fresh", ["remote", "add", "plain", &url]).ok();
    let advice = |name: &str| {
        format!(
            "remote `{name}` has no fetch refspec for refs/handoff/: run `git handoff init --remote {name}`"
        )
    };
    for number in 0..=2 {
        version(number, &world, ["fetch", "plain"])
            .ok()
            .says(&advice("plain"));
        version(number, &world, ["fetch", "handoff"])
            .ok()
            .says_not("init");
    }
    world
        .git_in(".", ["clone", &url, "clone"])
        .ok()
        .says(&advice("origin"));
    world
        .git_in("fresh", ["fetch", &url, "refs/handoff/a"])
        .ok()
        .says_not("init");
    world
        .git_in("fresh", ["fetch", "plain", "refs/handoff/a"])
        .ok()
        .says_not("init");
}

#[test]
fn an_archive_is_not_served() {
    let world = world();
    let url = format!("handoff::{}", world.path("server.git").display());
    world
        .git(["archive", "--remote", &url, "refs/handoff/a"])
        .failed();
}

#[test]
fn a_server_that_breaks_off_is_an_error_and_not_a_hang() {
    let world = world();
    for (program, message) in [
        (
            "true",
            "error: the server closed the connection without an answer",
        ),
        (
            "printf 000",
            "error: the server closed the connection without an answer",
        ),
        (
            "printf 0006ab; :",
            "error: the server closed the connection without an answer",
        ),
        (
            "printf zzzz; :",
            "error: the answer of the server broke off",
        ),
        ("sh -c 'kill -9 $$'", "fatal: "),
    ] {
        let program = format!("{program} #");
        let args = ["fetch", "--upload-pack", &program, "handoff"];
        world.git_in("fresh", args).failed().says(message);
    }
}
