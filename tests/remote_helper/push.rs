//! Pushing scopes, and what is refused.

use crate::pair::{Pair, Run};

#[test]
fn a_push_sends_every_scope() {
    let pair = Pair::new();
    let (a, b) = (pair.record("a", "one"), pair.record("b", "two"));
    pair.git(["push", "handoff"]).ok().says("[new reference]");
    assert_eq!(pair.server_ref("refs/handoff/a"), a);
    assert_eq!(pair.server_ref("refs/handoff/b"), b);
    pair.git(["push", "handoff"])
        .ok()
        .says("Everything up-to-date");
}

#[test]
fn a_push_over_a_file_url_advances_a_scope() {
    let pair = Pair::new();
    let url = format!("file://{}", pair.path("server.git").display());
    pair.set_remote(&url);
    pair.record("a", "one");
    pair.git(["push", "handoff"]).ok();
    let tip = pair.record("a", "two");
    pair.git(["push", "handoff"]).ok();
    assert_eq!(pair.server_ref("refs/handoff/a"), tip);
}

#[test]
fn a_ref_outside_the_namespace_holds_the_others_back_and_nothing_leaves() {
    let pair = Pair::new();
    let tip = pair.record("a", "secret of a");
    pair.git([
        "push",
        "handoff",
        "refs/handoff/a",
        &format!("{tip}:refs/heads/x"),
    ])
    .failed()
    .says("(REF_OUTSIDE_NAMESPACE: ")
    .says("refs/handoff/a -> refs/handoff/a (HELD: refused together with refs/heads/x)")
    .says("hint: the other refs can be sent by `git push handoff refs/handoff/a`");
    assert_eq!(pair.server_ref("refs/handoff/a"), "");
    assert_eq!(pair.server_ref("refs/heads/x"), "");
    assert!(!pair.server_has(&pair.blob("secret of a")));
    assert!(!pair.server_has(&tip));
}

#[test]
fn refs_that_fold_onto_the_namespace_are_refused() {
    let pair = Pair::new();
    let tip = pair.record("a", "one");
    for name in [
        "refs/Handoff/a",
        "refs/handoff-local/a",
        "refs/handoff-remote/o/a",
    ] {
        pair.git(["push", "handoff", &format!("{tip}:{name}")])
            .failed()
            .says("(REF_OUTSIDE_NAMESPACE: ");
    }
}

#[test]
fn a_scope_is_not_deleted() {
    let pair = Pair::new();
    let tip = pair.record("a", "one");
    pair.git(["push", "handoff"]).ok();
    let run = pair
        .git(["push", "--porcelain", "handoff", ":refs/handoff/a"])
        .failed();
    assert!(
        run.out
            .contains("!\t:refs/handoff/a\t[remote rejected] (DELETE_REFUSED: "),
        "{run:#?}"
    );
    assert_eq!(pair.server_ref("refs/handoff/a"), tip);
}

#[test]
fn sha256_repositories_are_pushed_and_refused_alike() {
    let pair = Pair::with_format("sha256");
    let tip = pair.record("a", "one");
    pair.git(["push", "handoff"]).ok();
    assert_eq!(pair.server_ref("refs/handoff/a"), tip);
    pair.git(["push", "handoff", "main:refs/heads/x"])
        .failed()
        .says("REF_OUTSIDE_NAMESPACE");
    pair.git(["push", "handoff", ":refs/handoff/a"])
        .failed()
        .says("DELETE_REFUSED");
    assert_eq!(
        pair.git(["ls-remote", "handoff"]).listed(),
        ["refs/handoff/a"]
    );
}

#[test]
fn the_reason_of_a_hook_is_shown_ref_by_ref() {
    let pair = Pair::new();
    pair.hook(
        r"printf '\033[1mhandoff\033[m: NOT_OWNER refs/handoff/a: owned by agent:x\nhandoff:   hint: accept it\n' >&2
exit 1",
    );
    pair.record("a", "one");
    pair.record("b", "two");
    pair.git(["push", "handoff"])
        .failed()
        .says("refs/handoff/a -> refs/handoff/a (NOT_OWNER: owned by agent:x)")
        .says("refs/handoff/b -> refs/handoff/b (HELD: refused together with refs/handoff/a)")
        .says("hint: accept it");
}

#[test]
fn a_hook_that_says_nothing_is_reported_as_git_does() {
    let pair = Pair::new();
    pair.hook("exit 1");
    pair.record("a", "one");
    pair.git(["push", "handoff"])
        .failed()
        .says("(pre-receive hook declined)");
}

#[test]
fn a_lost_race_is_a_conflict() {
    let pair = Pair::new();
    pair.record("a", "one");
    pair.git(["push", "handoff"]).ok();
    let other = pair.server_ref("refs/heads/main");
    // The other writer is faster: it moves the ref while this push is being judged.
    pair.hook(&format!(
        "unset GIT_QUARANTINE_PATH\ngit update-ref refs/handoff/a {other}"
    ));
    pair.record("a", "two");
    pair.git(["push", "handoff"])
        .failed()
        .says("[remote rejected] refs/handoff/a -> refs/handoff/a (CAS_CONFLICT: ");
    assert_eq!(pair.server_ref("refs/handoff/a"), other);
}

#[test]
fn of_writers_at_once_one_wins_and_the_others_are_told() {
    let pair = Pair::new();
    let first = pair.record("a", "first");
    pair.git(["push", "handoff"]).ok();
    for round in 0..4 {
        let tip = pair.server_ref("refs/handoff/a");
        let pushes: Vec<String> = (0..6)
            .map(|writer| {
                pair.forget_since("a", &tip);
                let id = pair.record("a", &format!("round {round} writer {writer}"));
                format!("{id}:refs/handoff/a")
            })
            .collect();
        let push = |refspec: &String| pair.git(["push", "handoff", refspec]);
        let runs: Vec<Run> = std::thread::scope(|scope| {
            let writers: Vec<_> = pushes
                .iter()
                .map(|refspec| scope.spawn(|| push(refspec)))
                .collect();
            writers
                .into_iter()
                .map(|writer| writer.join().unwrap())
                .collect()
        });
        assert_eq!(
            runs.iter().filter(|run| run.code == 0).count(),
            1,
            "{runs:#?}"
        );
        for run in runs.into_iter().filter(|run| run.code != 0) {
            // Who came too late to be told by the server is told by Git.
            let is_told = run.err.contains("(CAS_CONFLICT: ") || run.err.contains("[rejected]");
            assert!(is_told, "{run:#?}");
        }
    }
    let line = pair.git_in(
        "server.git",
        ["rev-list", "--count", &format!("{first}..refs/handoff/a")],
    );
    assert_eq!(line.line(), "4");
}

#[test]
fn a_mirror_push_is_refused() {
    let pair = Pair::new();
    let tip = pair.record("a", "one");
    pair.git(["update-ref", "refs/handoff-local/keep/main", &tip])
        .ok();
    let url = format!("handoff::{}", pair.path("server.git").display());
    pair.git(["push", "--mirror", &url])
        .failed()
        .says("refs/handoff-local/keep/main (REF_OUTSIDE_NAMESPACE: ")
        .says("refs/handoff/a (HELD: ");
    assert!(!pair.server_has(&tip));
}

#[test]
fn after_a_refusal_the_same_push_succeeds() {
    let pair = Pair::new();
    pair.hook("exit 1");
    let tip = pair.record("a", "one");
    pair.git(["push", "handoff"]).failed();
    pair.hook("exit 0");
    pair.git(["push", "handoff"]).ok();
    assert_eq!(pair.server_ref("refs/handoff/a"), tip);
}

#[test]
fn a_remote_without_refspecs_is_told_about_init() {
    let pair = Pair::new();
    let url = format!("handoff::{}", pair.path("server.git").display());
    pair.git(["remote", "add", "plain", &url]).ok();
    pair.git(["push", "plain", "main:refs/heads/x"])
        .failed()
        .says("REF_OUTSIDE_NAMESPACE")
        .says("run `git handoff init --remote plain`");
}

#[test]
fn a_large_push_streams_through() {
    let pair = Pair::new();
    let noise: String = (0..400_000u64)
        .map(|i| format!("{:x} ", i.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
        .collect();
    let tip = pair.record("a", &noise);
    pair.git(["push", "handoff"]).ok();
    assert_eq!(pair.server_ref("refs/handoff/a"), tip);
    // The pack of a refused push is read to its end, so that Git goes on to the report.
    let tip = pair.record("b", &format!("{noise}!"));
    pair.git(["push", "handoff", &format!("{tip}:refs/heads/x")])
        .failed()
        .says("REF_OUTSIDE_NAMESPACE")
        .says_not("fatal");
}

#[test]
fn a_server_that_dies_is_an_error_and_not_a_hang() {
    let pair = Pair::new();
    pair.hook("kill -9 $(ps -o ppid= -p $$)");
    pair.record("a", "one");
    pair.git(["push", "handoff"]).failed();
}

#[test]
fn a_shallow_repository_pushes() {
    let pair = Pair::new();
    pair.record("a", "one");
    pair.git(["push", "handoff"]).ok();
    let url = format!("file://{}", pair.path("server.git").display());
    pair.git_in(".", ["clone", "-q", "--depth", "1", &url, "shallow"])
        .ok();
    let url = format!("handoff::{url}");
    pair.git_in("shallow", ["remote", "add", "handoff", &url])
        .ok();
    pair.run("shallow", "git-handoff", &["save", "s"], b"").ok();
    let tip = pair
        .git_in("shallow", ["rev-parse", "refs/handoff/s"])
        .line();
    pair.git_in("shallow", ["push", "handoff", "refs/handoff/s"])
        .ok();
    assert_eq!(pair.server_ref("refs/handoff/s"), tip);
}

#[test]
fn a_scope_that_the_remote_moved_on_is_named_with_the_way_out() {
    let pair = Pair::new();
    pair.record("a", "one");
    pair.record("b", "one");
    pair.git(["push", "handoff"]).ok();
    let moved = pair.record("a", "two");
    pair.git(["push", "handoff"]).ok();
    // As if somebody else had pushed it: nothing here knows of it.
    let before = pair.git(["rev-parse", &format!("{moved}~1")]).line();
    pair.forget_since("a", &before);
    pair.record("a", "another two");
    let advice = "warning: CAS_CONFLICT refs/handoff/a: the remote has moved on";
    pair.git(["push", "handoff"])
        .failed()
        .says("[rejected]")
        .says(advice)
        .says("hint: what was written here follows a STALE_CHECKPOINT; `git handoff sync` brings both together");
    pair.record("b", "two");
    pair.git(["push", "--dry-run", "handoff", "refs/handoff/b"])
        .ok()
        .says_not("CAS_CONFLICT");
    pair.git(["push", "handoff"])
        .failed()
        .says(advice)
        .says("refs/handoff/b -> refs/handoff/b");
    pair.record("b", "three");
    pair.record("c", "one");
    // Who asks for one scope is told nothing of another.
    pair.git(["push", "handoff", "refs/handoff/b"])
        .ok()
        .says_not("CAS_CONFLICT");
}
