//! The same over ssh, `git daemon` and http, against servers that scripts beside the workspace start.

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::Command,
};

use crate::world::World;

/// A server that a script started, stopped when this is dropped.
struct Server {
    script: PathBuf,
    dir: PathBuf,
    variables: Vec<(String, String)>,
}

impl Server {
    /// Starts the server of a script; `None`, with one line that says so, where that cannot be done here.
    fn start(world: &World, name: &str) -> Option<Self> {
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let scripts = ["../shared/servers", "../../shared/servers"];
        let script = scripts
            .iter()
            .map(|dir| workspace.join(dir).join(name))
            .find(|script| script.exists());
        let Some(script) = script else {
            skip(&format!("there is no script {name} in ../shared/servers"));
            return None;
        };
        let dir = world.path("real-server");
        let output = Command::new(&script)
            .arg("start")
            .arg(&dir)
            .output()
            .unwrap();
        if !output.status.success() {
            skip(&String::from_utf8_lossy(&output.stderr));
            return None;
        }
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let variables = text.lines().filter_map(|line| {
            let (name, value) = line.strip_prefix("export ")?.split_once('=')?;
            Some((name.to_owned(), value.trim_matches('\'').to_owned()))
        });
        Some(Server {
            script,
            dir,
            variables: variables.collect(),
        })
    }

    fn variable(&self, name: &str) -> &str {
        let variable = self.variables.iter().find(|variable| variable.0 == name);
        &variable.unwrap_or_else(|| panic!("no {name}")).1
    }
}

/// Says in one line, past the capture of the test harness, that a test cannot run here.
fn skip(why: &str) {
    let line = why.lines().last().unwrap_or_default();
    let _ = writeln!(std::io::stderr(), "skipped: {line}");
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = Command::new(&self.script)
            .arg("stop")
            .arg(&self.dir)
            .output();
    }
}

/// A whole exchange: push, refusals, a hook's reason, a race, listing and fetching.
fn exchange(name: &str) {
    let mut world = World::new();
    let Some(server) = Server::start(&world, name) else {
        return;
    };
    for (name, value) in &server.variables {
        if name.starts_with("GIT_SSH") {
            world.set(name, value);
        }
    }
    let url = server.variable("HANDOFF_TEST_URL").to_owned();
    let bare = format!("{}/test.git", server.variable("HANDOFF_TEST_REPOS"));
    let at_server = |name: &str| {
        world
            .git(["--git-dir", &bare, "rev-parse", "-q", "--verify", name])
            .out
    };
    world.set_remote(&url);

    let first = world.record("a", "one");
    world
        .git(["-c", "protocol.version=1", "push", "-o", "x=y", "handoff"])
        .ok()
        .says("[new reference]");
    assert_eq!(at_server("refs/handoff/a").trim(), first);

    world
        .git(["--git-dir", &bare, "update-ref", "refs/heads/other", &first])
        .ok();
    for version in [
        "protocol.version=0",
        "protocol.version=1",
        "protocol.version=2",
    ] {
        let listed = world.git(["-c", version, "ls-remote", "handoff"]).listed();
        assert_eq!(listed, ["refs/handoff/a"], "{version}");
        world.git(["-c", version, "fetch", "handoff"]).ok();
        assert_eq!(
            world
                .git(["rev-parse", "refs/handoff-remote/handoff/a"])
                .line(),
            first
        );
        world
            .git(["update-ref", "-d", "refs/handoff-remote/handoff/a"])
            .ok();
    }

    let second = world.record("a", "two");
    let run = world.git([
        "push",
        "--atomic",
        "handoff",
        "refs/handoff/a",
        "main:refs/heads/x",
    ]);
    run.failed()
        .says("REF_OUTSIDE_NAMESPACE")
        .says("HELD: refused together with refs/heads/x");
    assert_ne!(
        world
            .git(["--git-dir", &bare, "cat-file", "-e", &second])
            .code,
        0
    );

    let hook = Path::new(&bare).join("hooks/pre-receive");
    crate::world::write_program(
        &hook,
        "echo 'handoff: FROZEN refs/handoff/a: closed for today' >&2; exit 1",
    );
    world
        .git(["push", "handoff"])
        .failed()
        .says("refs/handoff/a (FROZEN: closed for today)");

    let other = at_server("refs/handoff/a");
    let moved = world
        .git([
            "--git-dir",
            &bare,
            "commit-tree",
            "-m",
            "x",
            "-p",
            other.trim(),
            &format!("{}^{{tree}}", other.trim()),
        ])
        .line();
    crate::world::write_program(
        &hook,
        &format!("unset GIT_QUARANTINE_PATH\ngit update-ref refs/handoff/a {moved}"),
    );
    world
        .git(["push", "handoff"])
        .failed()
        .says("refs/handoff/a (CAS_CONFLICT: ");
    assert_eq!(at_server("refs/handoff/a").trim(), moved);

    std::fs::remove_file(&hook).unwrap();
    world
        .git(["--git-dir", &bare, "update-ref", "refs/handoff/a", &first])
        .ok();
    world.git(["push", "handoff"]).ok();
    assert_eq!(at_server("refs/handoff/a").trim(), second);
}

#[test]
fn scopes_travel_over_ssh() {
    exchange("ssh.sh");
}

#[test]
fn scopes_travel_through_git_daemon() {
    exchange("daemon.sh");
}

#[test]
fn the_error_of_a_git_daemon_is_shown_alone() {
    let world = World::new();
    let Some(server) = Server::start(&world, "daemon.sh") else {
        return;
    };
    world.record("a", "one");
    world.set_remote(&format!(
        "{}/none.git",
        server.variable("HANDOFF_TEST_BASE")
    ));
    for args in [
        ["ls-remote", "handoff"],
        ["fetch", "handoff"],
        ["push", "handoff"],
    ] {
        let run = world.git(args).failed().says("remote error: access denied");
        run.says_not("closed the connection");
    }
}

#[test]
fn scopes_travel_over_http() {
    exchange("http.sh");
}

/// An http server, and a user whose remote it is.
fn http() -> Option<(World, Server, String)> {
    let world = World::new();
    let server = Server::start(&world, "http.sh")?;
    let url = server.variable("HANDOFF_TEST_URL").to_owned();
    world.set_remote(&url);
    let bare = format!("{}/test.git", server.variable("HANDOFF_TEST_REPOS"));
    Some((world, server, bare))
}

#[test]
fn over_http_a_refused_ref_holds_nobody_back() {
    let Some((world, _server, bare)) = http() else {
        return;
    };
    let tip = world.record("a", "one");
    world
        .git([
            "push",
            "handoff",
            "refs/handoff/a",
            "main:refs/heads/x",
            ":refs/handoff/b",
        ])
        .failed()
        .says("[new reference]   refs/handoff/a -> refs/handoff/a")
        .says("main -> x (REF_OUTSIDE_NAMESPACE: ");
    let at_server = |name: &str| {
        let run = world.git(["--git-dir", &bare, "rev-parse", "-q", "--verify", name]);
        run.out.trim().to_owned()
    };
    assert_eq!(at_server("refs/handoff/a"), tip);
    assert_eq!(at_server("refs/heads/x"), "");
    world
        .git(["push", "--porcelain", "handoff", ":refs/handoff/a"])
        .failed();
    assert_eq!(at_server("refs/handoff/a"), tip);
    // A dry run is judged here, since it can be seen.
    world
        .git(["push", "--dry-run", "handoff", "main:refs/heads/x"])
        .failed()
        .says("REF_OUTSIDE_NAMESPACE");
    let other = world.record("b", "two");
    world
        .git(["push", "--dry-run", "handoff"])
        .ok()
        .says("[new reference]");
    assert_eq!(at_server("refs/handoff/b"), "");
    world
        .git(["push", "--force-with-lease=refs/handoff/b:", "handoff"])
        .ok();
    assert_eq!(at_server("refs/handoff/b"), other);
    world.record("b", "three");
    world
        .git(["push", "--signed", "handoff"])
        .failed()
        .says("push again with `--no-signed`");
}

#[test]
fn over_http_a_fetch_can_be_shallow() {
    let Some((world, _server, _)) = http() else {
        return;
    };
    world.record("a", "one");
    world.record("a", "two");
    world.git(["push", "handoff"]).ok();
    let url = world.git(["config", "remote.handoff.url"]).line();
    world.git_in(".", ["init", "-q", "fresh"]).ok();
    for version in ["protocol.version=0", "protocol.version=2"] {
        let fetch = [
            "-c",
            version,
            "fetch",
            "--depth",
            "1",
            &url,
            "refs/handoff/a",
        ];
        world.git_in("fresh", fetch).ok().says_not("warning");
        let count = world
            .git_in("fresh", ["rev-list", "--count", "FETCH_HEAD"])
            .line();
        assert_eq!(count, "1", "{version}");
    }
    world.git(["remote", "add", "plain", &url]).ok();
    for version in ["protocol.version=0", "protocol.version=2"] {
        let advice = "run `git handoff init --remote plain`";
        world
            .git(["-c", version, "fetch", "plain"])
            .ok()
            .says(advice);
    }
}

#[test]
fn an_http_server_that_says_no_is_reported_once() {
    let Some((world, server, _)) = http() else {
        return;
    };
    world.set_remote(server.variable("HANDOFF_TEST_URL_READER1"));
    world.record("a", "one");
    let run = world.git(["push", "handoff"]).failed().says("403");
    assert_eq!(run.err.matches("403").count(), 1, "{run:#?}");
    world.set_remote(server.variable("HANDOFF_TEST_URL_PLAIN"));
    world
        .git(["ls-remote", "handoff"])
        .failed()
        .says("could not read Username");
}

#[test]
fn fetch_and_push_may_take_different_transports() {
    let Some((world, _server, bare)) = http() else {
        return;
    };
    let url = world.git(["config", "remote.handoff.url"]).line();
    let http = url.trim_start_matches("handoff::");
    let tip = world.record("a", "one");
    let key = format!("url.{bare}.pushInsteadOf");
    world.git(["config", &key, http]).ok();
    world.git(["push", "handoff"]).ok().says("[new reference]");
    world.git(["fetch", "handoff"]).ok();
    assert_eq!(
        world
            .git(["rev-parse", "refs/handoff-remote/handoff/a"])
            .line(),
        tip
    );
    world.git(["config", "--unset", &key]).ok();

    world.set_remote(&bare);
    let tip = world.record("a", "two");
    world
        .git(["config", &format!("url.{http}.pushInsteadOf"), &bare])
        .ok();
    world
        .git(["push", "handoff", "refs/handoff/a", "main:refs/heads/x"])
        .failed()
        .says("refs/handoff/a -> refs/handoff/a")
        .says("REF_OUTSIDE_NAMESPACE");
    world.git(["fetch", "handoff"]).ok();
    assert_eq!(
        world
            .git(["rev-parse", "refs/handoff-remote/handoff/a"])
            .line(),
        tip
    );
}

#[test]
fn sha256_repositories_are_pushed_and_refused_over_http() {
    let world = World::with_format("sha256");
    let Some(server) = Server::start(&world, "http.sh") else {
        return;
    };
    let bare = format!("{}/sha256.git", server.variable("HANDOFF_TEST_REPOS"));
    world
        .git(["init", "-q", "--bare", "--object-format=sha256", &bare])
        .ok();
    world
        .git(["--git-dir", &bare, "config", "http.receivepack", "true"])
        .ok();
    world.set_remote(&format!(
        "{}/sha256.git",
        server.variable("HANDOFF_TEST_BASE")
    ));
    let tip = world.record("a", "one");
    world
        .git(["push", "handoff", "refs/handoff/a", "main:refs/heads/x"])
        .failed();
    let listed = world.git(["ls-remote", "handoff"]).ok();
    assert_eq!(listed.out, format!("{tip}\trefs/handoff/a\n"));
    world
        .git(["push", "handoff", ":refs/handoff/a"])
        .failed()
        .says("DELETE_REFUSED");
}
