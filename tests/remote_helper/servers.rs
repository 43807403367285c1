//! The same over ssh, `git daemon` and http, against servers that scripts beside the workspace start.

use crate::{pair::Pair, world::ServerKind};

/// A whole exchange: push, refusals, a hook's reason, a race, listing and fetching.
fn exchange(kind: ServerKind) {
    let Some(pair) = Pair::at(kind) else {
        return;
    };
    let first = pair.record("a", "one");
    pair.git(["-c", "protocol.version=1", "push", "-o", "x=y", "handoff"])
        .ok()
        .says("[new reference]");
    assert_eq!(pair.server_ref("refs/handoff/a"), first);

    pair.at_server(["update-ref", "refs/heads/other", &first])
        .ok();
    for version in [
        "protocol.version=0",
        "protocol.version=1",
        "protocol.version=2",
    ] {
        let listed = pair.git(["-c", version, "ls-remote", "handoff"]).listed();
        assert_eq!(listed, ["refs/handoff/a"], "{version}");
        pair.git(["-c", version, "fetch", "handoff"]).ok();
        let tracking = "refs/handoff-remote/handoff/a";
        assert_eq!(pair.git(["rev-parse", tracking]).line(), first);
        pair.git(["update-ref", "-d", tracking]).ok();
    }

    let second = pair.record("a", "two");
    let (good, bad) = ("refs/handoff/a", "main:refs/heads/x");
    pair.git(["push", "--atomic", "handoff", good, bad])
        .failed()
        .says("REF_OUTSIDE_NAMESPACE")
        .says("HELD: refused together with refs/heads/x");
    assert!(!pair.server_has(&second));

    pair.hook("echo 'handoff: FROZEN refs/handoff/a: closed for today' >&2; exit 1");
    pair.git(["push", "handoff"])
        .failed()
        .says("refs/handoff/a (FROZEN: closed for today)");

    let tree = format!("{first}^{{tree}}");
    let moved = pair
        .at_server(["commit-tree", "-m", "x", "-p", &first, &tree])
        .line();
    pair.hook(&format!(
        "unset GIT_QUARANTINE_PATH\ngit update-ref refs/handoff/a {moved}"
    ));
    pair.git(["push", "handoff"])
        .failed()
        .says("refs/handoff/a (CAS_CONFLICT: ");
    assert_eq!(pair.server_ref("refs/handoff/a"), moved);

    pair.hook("exit 0");
    pair.at_server(["update-ref", "refs/handoff/a", &first])
        .ok();
    pair.git(["push", "handoff"]).ok();
    assert_eq!(pair.server_ref("refs/handoff/a"), second);
}

#[test]
fn scopes_travel_over_ssh() {
    exchange(ServerKind::Ssh);
}

#[test]
fn scopes_travel_through_git_daemon() {
    exchange(ServerKind::Daemon);
}

#[test]
fn the_error_of_a_git_daemon_is_shown_alone() {
    let Some(pair) = Pair::at(ServerKind::Daemon) else {
        return;
    };
    pair.record("a", "one");
    pair.set_remote(&pair.server().url_of("none"));
    for args in [
        ["ls-remote", "handoff"],
        ["fetch", "handoff"],
        ["push", "handoff"],
    ] {
        let run = pair.git(args).failed().says("remote error: access denied");
        run.says_not("closed the connection");
    }
}

#[test]
fn scopes_travel_over_http() {
    exchange(ServerKind::Nginx);
}
