//! Fetching and listing: only scopes are shown.

use crate::pair::{Pair, Run};

/// A pair whose server has scopes, branches and tags.
fn pair() -> Pair {
    let pair = Pair::new();
    pair.record("a", "one");
    pair.record("a", "two");
    pair.record("b", "three");
    pair.git(["push", "handoff"]).ok();
    for name in ["refs/heads/other", "refs/tags/v1", "refs/handoff-local/x"] {
        pair.git_in("server.git", ["update-ref", name, "refs/heads/main"])
            .ok();
    }
    pair.git_in(".", ["init", "-q", "-b", "main", "fresh"]).ok();
    for (key, value) in [
        (
            "url",
            format!("handoff::{}", pair.path("server.git").display()).as_str(),
        ),
        ("fetch", "+refs/handoff/*:refs/handoff-remote/handoff/*"),
        ("tagOpt", "--no-tags"),
    ] {
        let key = format!("remote.handoff.{key}");
        pair.git_in("fresh", ["config", &key, value]).ok();
    }
    pair
}

fn version(version: u8, pair: &Pair, args: [&str; 2]) -> Run {
    let version = format!("protocol.version={version}");
    pair.git_in("fresh", ["-c", &version, args[0], args[1]])
}

#[test]
fn a_fetch_brings_every_scope_in_every_version_of_the_protocol() {
    for number in 0..=2 {
        let pair = pair();
        version(number, &pair, ["fetch", "handoff"]).ok();
        let refs = pair
            .git_in("fresh", ["for-each-ref", "--format=%(refname)"])
            .line();
        assert_eq!(
            refs, "refs/handoff-remote/handoff/a\nrefs/handoff-remote/handoff/b",
            "version {number}"
        );
        pair.git_in("fresh", ["fsck", "--strict"]).ok();
    }
}

#[test]
fn ls_remote_shows_scopes_alone() {
    let pair = pair();
    for number in 0..=2 {
        let listed = version(number, &pair, ["ls-remote", "handoff"]).listed();
        assert_eq!(
            listed,
            ["refs/handoff/a", "refs/handoff/b"],
            "version {number}"
        );
    }
    let url = format!("handoff::{}", pair.path("server.git").display());
    assert_eq!(pair.git_in(".", ["ls-remote", &url]).listed().len(), 2);
}

#[test]
fn a_server_without_scopes_looks_empty() {
    let pair = Pair::new();
    for number in [
        "protocol.version=0",
        "protocol.version=1",
        "protocol.version=2",
    ] {
        let run = pair.git(["-c", number, "ls-remote", "handoff"]).ok();
        assert_eq!(run.out, "", "{number}");
        pair.git(["-c", number, "fetch", "handoff"]).ok();
    }
}

#[test]
fn an_answer_without_capabilities_would_break_git_and_is_not_given() {
    let pair = Pair::with_format("sha256");
    let run = pair
        .git(["-c", "protocol.version=0", "ls-remote", "handoff"])
        .ok();
    assert_eq!(run.out, "");
}

#[test]
fn the_program_that_the_user_names_is_run() {
    let pair = pair();
    crate::pair::write_program(
        &pair.path("my pack"),
        &format!(
            "echo \"$@\" >{}; exec git-upload-pack \"$@\"",
            pair.path("called").display()
        ),
    );
    let program = format!("'{}'", pair.path("my pack").display());
    let run = pair.git_in("fresh", ["fetch", "--upload-pack", &program, "handoff"]);
    run.ok().says_not("warning");
    assert!(pair.path("called").exists());
}

#[test]
fn a_plain_remote_and_a_clone_are_told_about_init() {
    let pair = pair();
    let url = format!("handoff::{}", pair.path("server.git").display());
    pair.git_in("fresh", ["remote", "add", "plain", &url]).ok();
    let advice = |name: &str| {
        format!(
            "remote `{name}` has no fetch refspec for refs/handoff/: run `git handoff init --remote {name}`"
        )
    };
    for number in 0..=2 {
        version(number, &pair, ["fetch", "plain"])
            .ok()
            .says(&advice("plain"));
        version(number, &pair, ["fetch", "handoff"])
            .ok()
            .says_not("init");
    }
    pair.git_in(".", ["clone", &url, "clone"])
        .ok()
        .says(&advice("origin"));
    pair.git_in("fresh", ["fetch", &url, "refs/handoff/a"])
        .ok()
        .says_not("init");
    pair.git_in("fresh", ["fetch", "plain", "refs/handoff/a"])
        .ok()
        .says_not("init");
}

#[test]
fn an_archive_is_not_served() {
    let pair = pair();
    let url = format!("handoff::{}", pair.path("server.git").display());
    pair.git(["archive", "--remote", &url, "refs/handoff/a"])
        .failed();
}

#[test]
fn a_server_that_breaks_off_is_an_error_and_not_a_hang() {
    let pair = pair();
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
        pair.git_in("fresh", args).failed().says(message);
    }
}
