//! What people give `git fetch` along, and how else they fetch, over each kind of transport.

use crate::pair::{Pair, Run};

const VERSIONS: [&str; 2] = ["protocol.version=0", "protocol.version=2"];

/// Pushes three records of `a`, one of `b`, a branch and a tag.
fn fill(pair: &Pair) {
    for text in ["one", "two", "three"] {
        pair.record("a", text);
    }
    pair.record("b", "four");
    pair.git(["push", "handoff"]).ok();
    for name in ["refs/heads/other", "refs/tags/v1"] {
        pair.at_server(["update-ref", name, "refs/heads/main"]).ok();
    }
}

fn commits(pair: &Pair, dir: &str) -> String {
    pair.git_in(dir, ["rev-list", "--count", "FETCH_HEAD"])
        .line()
}

fn refs(pair: &Pair, dir: &str) -> String {
    pair.git_in(dir, ["for-each-ref", "--format=%(refname)"])
        .line()
}

#[test]
fn history_comes_as_deep_as_it_is_asked_for() {
    Pair::on_each_transport(|pair| {
        fill(pair);
        for version in VERSIONS {
            let name = version.replace('.', "-");
            pair.fresh(&name);
            let fetch = |how: &[&str]| -> Run {
                let args = [
                    &["-c", version, "fetch"],
                    how,
                    &["handoff", "refs/handoff/a"],
                ];
                pair.run(&name, "git", &args.concat(), b"")
            };
            fetch(&["--depth", "1"]).ok().says_not("warning");
            assert_eq!(commits(pair, &name), "1", "{version}");
            // The record before, and the head commit.
            fetch(&["--deepen", "1"]).ok().says_not("warning");
            assert_eq!(commits(pair, &name), "3", "{version}");
            fetch(&["--unshallow"]).ok().says_not("warning");
            assert_eq!(commits(pair, &name), "4", "{version}");
            pair.git_in(&name, ["fsck", "--strict"]).ok();
            let shallow = pair.git_in(&name, ["rev-parse", "--is-shallow-repository"]);
            assert_eq!(shallow.line(), "false", "{version}");
        }
    });
}

#[test]
fn a_filter_leaves_blobs_for_later() {
    Pair::on_each_transport(|pair| {
        fill(pair);
        pair.at_server(["config", "uploadpack.allowFilter", "true"])
            .ok();
        for version in VERSIONS {
            let name = version.replace('.', "-");
            pair.fresh(&name);
            let fetch = ["-c", version, "fetch", "--filter=blob:none", "handoff"];
            pair.git_in(&name, fetch).ok().says_not("warning");
            let tip = "refs/handoff-remote/handoff/a";
            let missing = ["rev-list", "--objects", "--missing=print", tip];
            assert!(
                pair.git_in(&name, missing).line().contains("\n?"),
                "{version}"
            );
            // What is missing comes when it is asked for.
            let file = format!("{tip}:worktree/file");
            assert_eq!(
                pair.git_in(&name, ["cat-file", "-p", &file]).line(),
                "three"
            );
        }
    });
}

#[test]
fn pruning_never_touches_unpublished_work() {
    Pair::on_each_transport(|pair| {
        fill(pair);
        pair.git(["fetch", "handoff"]).ok();
        let unpublished = pair.record("mine", "not pushed");
        let ahead = pair.record("b", "not pushed either");
        pair.at_server(["update-ref", "-d", "refs/handoff/b"]).ok();
        for prune in [
            &["fetch", "--prune", "handoff"][..],
            &["remote", "prune", "handoff"],
            &["remote", "update", "--prune", "handoff"],
            &["fetch", "--all", "--prune"],
        ] {
            pair.run("work", "git", prune, b"").ok();
            for (name, tip) in [("mine", &unpublished), ("b", &ahead)] {
                let name = format!("refs/handoff/{name}");
                assert_eq!(pair.git(["rev-parse", &name]).line(), *tip, "{prune:?}");
            }
        }
        let tracked = pair.git(["for-each-ref", "--format=%(refname)", "refs/handoff-remote"]);
        assert_eq!(tracked.line(), "refs/handoff-remote/handoff/a");
    });
}

#[test]
fn a_quiet_fetch_is_quiet_and_a_dry_one_brings_nothing() {
    Pair::on_each_transport(|pair| {
        fill(pair);
        pair.fresh("fresh");
        pair.git_in("fresh", ["fetch", "--dry-run", "handoff"])
            .ok()
            .says("[new ref]");
        assert_eq!(refs(pair, "fresh"), "");
        let quiet = pair.git_in("fresh", ["fetch", "-q", "handoff"]).ok();
        assert_eq!((quiet.out.as_str(), quiet.err.as_str()), ("", ""));
        pair.git_in("fresh", ["fetch", "-v", "handoff"])
            .ok()
            .says("[up to date]");
        pair.git_in("fresh", ["fetch", "--refetch", "--atomic", "handoff"])
            .ok();
        assert_eq!(
            refs(pair, "fresh"),
            "refs/handoff-remote/handoff/a\nrefs/handoff-remote/handoff/b"
        );
    });
}

#[test]
fn remote_update_brings_scopes_where_they_are_asked_for() {
    Pair::on_each_transport(|pair| {
        fill(pair);
        pair.fresh("fresh");
        // `skipFetchAll` leaves the remote out of what is meant for all.
        pair.git_in("fresh", ["remote", "update"]).ok();
        pair.git_in("fresh", ["fetch", "--all"]).ok();
        assert_eq!(refs(pair, "fresh"), "");
        pair.git_in("fresh", ["remote", "update", "handoff"]).ok();
        assert_eq!(
            refs(pair, "fresh"),
            "refs/handoff-remote/handoff/a\nrefs/handoff-remote/handoff/b"
        );
        let shown = pair.git_in("fresh", ["remote", "show", "handoff"]).ok();
        assert!(shown.out.contains("refs/handoff/a tracked"), "{shown:#?}");
    });
}

#[test]
fn a_pull_without_a_scope_changes_nothing_and_one_with_a_scope_is_found_out() {
    Pair::on_each_transport(|pair| {
        fill(pair);
        let head = pair.git(["rev-parse", "HEAD"]).line();
        pair.git(["pull", "handoff"])
            .failed()
            .says("did not specify");
        assert_eq!(pair.git(["rev-parse", "HEAD"]).line(), head);
        // Git merges what it is told to; the branch is now made of records, and that is said.
        pair.git(["pull", "-q", "--ff-only", "handoff", "refs/handoff/a"])
            .ok();
        let run = pair.run("work", "git-handoff", &["save", "c"], b"");
        run.failed().says("[HEAD_IS_RECORD]");
    });
}

#[test]
fn a_clone_has_no_scopes_and_says_how_to_get_them() {
    Pair::on_each_transport(|pair| {
        fill(pair);
        let url = format!("handoff::{}", pair.url());
        let advice = "remote `origin` has no fetch refspec for refs/handoff/: run `git handoff init --remote origin`";
        for version in VERSIONS {
            let name = version.replace('.', "-");
            pair.git_in(".", ["-c", version, "clone", &url, &name])
                .ok()
                .says(advice);
            pair.run(&name, "git-handoff", &["init", "--remote", "origin"], b"")
                .ok();
            pair.know_password();
            pair.git_in(&name, ["fetch"]).ok().says_not("warning");
            assert!(refs(pair, &name).contains("refs/handoff-remote/origin/a"));
        }
    });
}

#[test]
fn a_remote_without_a_name_is_fetched_from_and_pushed_to() {
    Pair::on_each_transport(|pair| {
        let tip = pair.record("a", "one");
        let url = format!("handoff::{}", pair.url());
        pair.git(["push", &url, "refs/handoff/a"]).ok();
        assert_eq!(pair.server_ref("refs/handoff/a"), tip);
        pair.git_in(".", ["init", "-q", "fresh"]).ok();
        pair.git_in("fresh", ["fetch", &url, "refs/handoff/*:refs/seen/*"])
            .ok()
            .says_not("warning");
        assert_eq!(refs(pair, "fresh"), "refs/seen/a");
        assert_eq!(
            pair.git_in("fresh", ["ls-remote", &url]).listed(),
            ["refs/handoff/a"]
        );
        let first = pair.git(["rev-parse", "main"]).line();
        pair.git(["push", &url, &format!("{first}:refs/heads/x")])
            .failed()
            .says("REF_OUTSIDE_NAMESPACE")
            .says_not("run `git handoff init");
    });
}
