//! Who acts in the journeys, and where their work lies.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

use crate::world::{Output, World};

/// The agent that stops in the middle.
pub(crate) const AGENT: &str = "agent:codex-3";
/// The developer who goes on.
pub(crate) const DEVELOPER: &str = "dev@example.invalid";
/// Somebody else.
pub(crate) const OTHER: &str = "other@example.invalid";

/// Runs a journey with each Git of the machine.
pub(crate) fn with_each_git(journey: fn(&World)) {
    insta::allow_duplicates! {
        for git in World::gits() {
            eprintln!("with git {}", git.version());
            journey(&World::with_git(&git));
        }
    }
}

/// Runs `git handoff` as the agent.
pub(crate) fn agent<S: AsRef<OsStr>>(
    world: &World,
    dir: &Path,
    args: impl IntoIterator<Item = S>,
) -> Output {
    let mut command = world.command("git", dir);
    command
        .env("HANDOFF_ID", AGENT)
        .env("HANDOFF_KIND", "agent")
        .env("HANDOFF_RUN_ID", "run-81");
    Output::of(command.arg("handoff").args(args))
}

/// Runs `git handoff` as the developer.
pub(crate) fn developer<S: AsRef<OsStr>>(
    world: &World,
    dir: &Path,
    args: impl IntoIterator<Item = S>,
) -> Output {
    world.handoff_as(DEVELOPER, dir, args)
}

/// Runs, as the agent, what proves the claim `AC-3` about `parser.py`; its receipt is kept.
pub(crate) fn prove(world: &World, dir: &Path) {
    let check = ["run", "--claim", "AC-3", "--"];
    let command = ["grep", "-q", "def", "parser.py"];
    agent(world, dir, [check, command].concat()).ok();
}

/// Makes a server that holds one commit on `main`, and a clone of it named `name`.
pub(crate) fn server_and_clone(world: &World, name: &str) -> (PathBuf, PathBuf) {
    let server = world.bare("server");
    let repo = world.repo("seed");
    let url = server.display().to_string();
    world.git(&repo, ["push", "-q", &url, "main"]).ok();
    (server, clone(world, &url, name))
}

/// Makes a clone that holds the pushed scope `work`, with one untracked file.
pub(crate) fn pushed(world: &World) -> (PathBuf, PathBuf) {
    let (server, dir) = server_and_clone(world, "here");
    world.write(&dir, "notes.txt", "to be lost and found\n");
    world.handoff(&dir, ["save", "work", "--push"]).ok();
    world.tick();
    (server, dir)
}

/// Clones a repository.
pub(crate) fn clone(world: &World, url: &str, name: &str) -> PathBuf {
    world.git(world.root(), ["clone", "-q", url, name]).ok();
    world.root().join(name)
}

/// Returns the error document of a failed run.
#[track_caller]
pub(crate) fn error_code(output: &Output) -> String {
    let document = output.json();
    assert_eq!(document["format"], "handoff-cli.error.v1", "{document}");
    document["code"].as_str().unwrap().to_owned()
}
