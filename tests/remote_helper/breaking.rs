//! Connections that break or stand still at any point: what was here before is here afterwards, and the same command
//! succeeds when the server is there again.

use std::{
    fs,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::Stdio,
};

use crate::{
    pair::{Pair, Run},
    wire::{Conduct, Wire},
    world::ServerKind,
};

const PUSH: [&str; 2] = ["push", "handoff"];
const TRACKED: &str = "refs/handoff-remote/handoff/a";
const FORMAT: &str = "--format=%(objectname)";
const FETCH: [&str; 2] = ["fetch", "handoff"];

/// A server, and the ways to it.
struct Ways {
    pair: Pair,
    url: String,
    host: String,
}

impl Ways {
    fn to(kind: ServerKind) -> Option<Self> {
        let pair = Pair::at(kind)?;
        let url = pair.url();
        let host = format!("127.0.0.1:{}", pair.server().variable("HANDOFF_TEST_PORT"));
        Some(Ways { pair, url, host })
    }

    /// Takes the way over a wire.
    fn over(&self, conduct: Conduct) -> Wire {
        let wire = Wire::to(&self.host, conduct);
        self.pair
            .set_remote(&self.url.replace(&self.host, &wire.address()));
        wire
    }

    /// Takes the straight way.
    fn straight(&self) {
        self.pair.set_remote(&self.url);
    }

    fn git(&self, args: [&str; 2]) -> Run {
        self.pair.git(args)
    }

    /// Returns how many bytes go each way when nothing is in the way.
    fn measured(&self, args: [&str; 2]) -> (usize, usize) {
        let wire = self.over(Conduct::Pass);
        self.git(args).ok();
        wire.settle();
        self.straight();
        wire.passed()
    }

    /// Starts a command, ends it when its server has stood still after so many bytes, and runs it again.
    fn leave(&self, args: [&str; 2], point: usize) {
        let refs = self.refs();
        let wire = self.over(Conduct::Stall(point));
        let mut child = self
            .pair
            .command("work", "git", &args)
            .process_group(0)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        wire.wait_until_stalled();
        // Ctrl-C reaches the whole group; jobs in the background ignore SIGINT, so another signal stands in for it.
        let group = format!("-{}", child.id());
        self.pair
            .run(
                "work",
                "sh",
                &["-c", &format!("kill -s TERM -- {group}")],
                b"",
            )
            .ok();
        assert!(!child.wait().unwrap().success());
        self.assert_clean(&refs, &(args, point));
        wire.settle();
        self.straight();
        self.git(args).ok();
    }

    /// Makes the server and the user forget what was pushed and fetched.
    fn forget(&self) {
        let scope = ["update-ref", "-d", "refs/handoff/a"];
        self.pair.at_server(scope).ok();
        self.pair.git(["update-ref", "-d", TRACKED]).ok();
    }

    /// Asserts that nothing was left behind by what failed.
    #[track_caller]
    fn assert_clean(&self, refs: &str, what: &dyn std::fmt::Debug) {
        assert_eq!(self.refs(), refs, "{what:?}");
        let tracked = self.pair.git(["for-each-ref", FORMAT, TRACKED]).ok().out;
        let at_server = self.pair.server_ref("refs/handoff/a");
        assert!(
            tracked.is_empty() || tracked.trim() == at_server,
            "{what:?}"
        );
        let locks = locks(&self.pair.path("work/.git"));
        assert_eq!(locks, Vec::<PathBuf>::new(), "{what:?}");
    }

    /// Returns all refs but the one that tracks the server's, which Git moves when it has heard from the server.
    fn refs(&self) -> String {
        let refs = self.pair.git(["for-each-ref"]).ok().out;
        let others = refs.lines().filter(|line| !line.ends_with(TRACKED));
        others.collect::<Vec<_>>().join("\n")
    }
}

/// Returns the locks below a directory.
fn locks(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            found.extend(locks(&path));
        } else if path.extension().is_some_and(|end| end == "lock") {
            found.push(path);
        }
    }
    found
}

/// Returns points of a stream of so many bytes: both ends, and some between.
fn points(bytes: usize) -> Vec<usize> {
    let between = (1..4).map(|quarter| bytes * quarter / 4);
    [0, 3]
        .into_iter()
        .chain(between)
        .chain([bytes - 1])
        .collect()
}

fn with_each_server(test: fn(&Ways)) {
    for kind in [ServerKind::Daemon, ServerKind::Nginx] {
        if let Some(ways) = Ways::to(kind) {
            eprintln!("over {kind}");
            test(&ways);
        }
    }
}

#[test]
fn a_push_that_breaks_anywhere_succeeds_the_next_time() {
    with_each_server(|ways| {
        let tip = ways.pair.record("a", "one");
        let (sent, answered) = ways.measured(PUSH);
        ways.forget();
        let requests = points(sent).into_iter().map(Conduct::CutRequest);
        let answers = points(answered).into_iter().map(Conduct::CutAnswer);
        for conduct in requests.chain(answers) {
            let refs = ways.refs();
            let wire = ways.over(conduct.clone());
            let run = ways.git(PUSH);
            wire.settle();
            // What is cut off at the very end may say no more than good-bye.
            let is_lost = run.code != 0;
            if is_lost {
                ways.assert_clean(&refs, &conduct);
            }
            run.says_not("panicked").says_not("[new branch]");
            ways.straight();
            ways.git(PUSH).ok();
            assert_eq!(ways.pair.server_ref("refs/handoff/a"), tip, "{conduct:?}");
            let at_server = locks(ways.pair.bare());
            assert_eq!(at_server, Vec::<PathBuf>::new(), "{conduct:?}");
            ways.forget();
        }
    });
}

#[test]
fn a_fetch_that_breaks_anywhere_succeeds_the_next_time() {
    with_each_server(|ways| {
        let tip = ways.pair.record("a", "one");
        ways.git(PUSH).ok();
        let forget = || ways.pair.git(["update-ref", "-d", TRACKED]).ok();
        forget();
        let (sent, answered) = ways.measured(FETCH);
        let requests = points(sent).into_iter().map(Conduct::CutRequest);
        let answers = points(answered).into_iter().map(Conduct::CutAnswer);
        for conduct in requests.chain(answers) {
            forget();
            let refs = ways.refs();
            let wire = ways.over(conduct.clone());
            let run = ways.git(FETCH);
            wire.settle();
            if run.code != 0 {
                ways.assert_clean(&refs, &conduct);
            }
            run.says_not("panicked");
            ways.straight();
            ways.git(FETCH).ok();
            let now = ways.pair.git(["rev-parse", TRACKED]).line();
            assert_eq!(now, tip, "{conduct:?}");
        }
    });
}

#[test]
fn whoever_leaves_a_server_that_stands_still_can_come_back() {
    with_each_server(|ways| {
        let tip = ways.pair.record("a", "one");
        let (_, answered) = ways.measured(PUSH);
        // With its last bytes Git has the whole report, and moves refs of its own.
        for point in points(answered * 7 / 8) {
            ways.forget();
            ways.leave(PUSH, point);
            assert_eq!(ways.pair.server_ref("refs/handoff/a"), tip);
        }
        let forget = || ways.pair.git(["update-ref", "-d", TRACKED]).ok();
        forget();
        let (_, answered) = ways.measured(FETCH);
        for point in points(answered * 7 / 8) {
            forget();
            ways.leave(FETCH, point);
            assert_eq!(ways.pair.git(["rev-parse", TRACKED]).line(), tip);
        }
    });
}
