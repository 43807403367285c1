//! Pushing scopes, and what is refused.

use crate::world::{Run, World};

#[test]
fn a_push_sends_every_scope() {
    let world = World::new();
    let (a, b) = (world.record("a", "one"), world.record("b", "two"));
    world.git(["push", "handoff"]).ok().says("[new reference]");
    assert_eq!(world.server_ref("refs/handoff/a"), a);
    assert_eq!(world.server_ref("refs/handoff/b"), b);
    world
        .git(["push", "handoff"])
        .ok()
        .says("Everything up-to-date");
}

#[test]
fn a_push_over_a_file_url_advances_a_scope() {
    let world = World::new();
    let url = format!("file://{}", world.path("server.git").display());
    world.set_remote(&url);
    world.record("a", "one");
    world.git(["push", "handoff"]).ok();
    let tip = world.record("a", "two");
    world.git(["push", "handoff"]).ok();
    assert_eq!(world.server_ref("refs/handoff/a"), tip);
}

#[test]
fn a_ref_outside_the_namespace_holds_the_others_back_and_nothing_leaves() {
    let world = World::new();
    let tip = world.record("a", "secret of a");
    world
        .git([
            "push",
            "handoff",
            "refs/handoff/a",
            &format!("{tip}:refs/heads/x"),
        ])
        .failed()
        .says("(REF_OUTSIDE_NAMESPACE: ")
        .says("refs/handoff/a -> refs/handoff/a (HELD: refused together with refs/heads/x)")
        .says("hint: the other refs can be sent by `git push handoff refs/handoff/a`");
    assert_eq!(world.server_ref("refs/handoff/a"), "");
    assert_eq!(world.server_ref("refs/heads/x"), "");
    assert!(!world.server_has(&world.blob("secret of a")));
    assert!(!world.server_has(&tip));
}

#[test]
fn refs_that_fold_onto_the_namespace_are_refused() {
    let world = World::new();
    let tip = world.record("a", "one");
    for name in [
        "refs/Handoff/a",
        "refs/handoff-local/a",
        "refs/handoff-remote/o/a",
    ] {
        world
            .git(["push", "handoff", &format!("{tip}:{name}")])
            .failed()
            .says("(REF_OUTSIDE_NAMESPACE: ");
    }
}

#[test]
fn a_scope_is_not_deleted() {
    let world = World::new();
    let tip = world.record("a", "one");
    world.git(["push", "handoff"]).ok();
    let run = world
        .git(["push", "--porcelain", "handoff", ":refs/handoff/a"])
        .failed();
    assert!(
        run.out
            .contains("!\t:refs/handoff/a\t[remote rejected] (DELETE_REFUSED: "),
        "{run:#?}"
    );
    assert_eq!(world.server_ref("refs/handoff/a"), tip);
}

#[test]
fn push_options_reach_the_hook() {
    let world = World::new();
    world.hook(r#"echo "option $GIT_PUSH_OPTION_0 of $GIT_PUSH_OPTION_COUNT""#);
    world.record("a", "one");
    world
        .git(["push", "-o", "ci.skip", "handoff"])
        .ok()
        .says("remote: option ci.skip of 1");
    let tip = world.record("a", "two");
    world
        .git(["push", "-o", "x", "handoff", &format!("{tip}:refs/heads/x")])
        .failed()
        .says("REF_OUTSIDE_NAMESPACE");
}

#[test]
fn an_atomic_push_is_refused_as_a_whole() {
    let world = World::new();
    world.record("a", "one");
    world.git(["push", "--atomic", "handoff"]).ok();
    world.record("a", "two");
    world
        .git([
            "push",
            "--atomic",
            "handoff",
            "refs/handoff/a",
            "main:refs/heads/x",
        ])
        .failed()
        .says("REF_OUTSIDE_NAMESPACE")
        .says("HELD");
}

#[test]
fn a_dry_run_sends_nothing() {
    let world = World::new();
    let tip = world.record("a", "one");
    world
        .git(["push", "--dry-run", "handoff"])
        .ok()
        .says("[new reference]");
    assert!(!world.server_has(&tip));
}

#[test]
fn porcelain_output_names_each_ref() {
    let world = World::new();
    world.record("a", "one");
    let run = world.git(["push", "--porcelain", "handoff"]).ok();
    assert!(
        run.out
            .contains("*\trefs/handoff/a:refs/handoff/a\t[new reference]\nDone\n"),
        "{run:#?}"
    );
}

#[test]
fn sha256_repositories_are_pushed_and_refused_alike() {
    let world = World::with_format("sha256");
    let tip = world.record("a", "one");
    world.git(["push", "handoff"]).ok();
    assert_eq!(world.server_ref("refs/handoff/a"), tip);
    world
        .git(["push", "handoff", "main:refs/heads/x"])
        .failed()
        .says("REF_OUTSIDE_NAMESPACE");
    world
        .git(["push", "handoff", ":refs/handoff/a"])
        .failed()
        .says("DELETE_REFUSED");
    assert_eq!(
        world.git(["ls-remote", "handoff"]).listed(),
        ["refs/handoff/a"]
    );
}

#[test]
fn the_reason_of_a_hook_is_shown_ref_by_ref() {
    let world = World::new();
    world.hook(
        r"printf '\033[1mhandoff\033[m: NOT_OWNER refs/handoff/a: owned by agent:x\nhandoff:   hint: accept it\n' >&2
exit 1",
    );
    world.record("a", "one");
    world.record("b", "two");
    world
        .git(["push", "handoff"])
        .failed()
        .says("refs/handoff/a -> refs/handoff/a (NOT_OWNER: owned by agent:x)")
        .says("refs/handoff/b -> refs/handoff/b (HELD: refused together with refs/handoff/a)")
        .says("hint: accept it");
}

#[test]
fn a_hook_that_says_nothing_is_reported_as_git_does() {
    let world = World::new();
    world.hook("exit 1");
    world.record("a", "one");
    world
        .git(["push", "handoff"])
        .failed()
        .says("(pre-receive hook declined)");
}

#[test]
fn a_lost_race_is_a_conflict() {
    let world = World::new();
    world.record("a", "one");
    world.git(["push", "handoff"]).ok();
    let other = world.server_ref("refs/heads/main");
    // The other writer is faster: it moves the ref while this push is being judged.
    world.hook(&format!(
        "unset GIT_QUARANTINE_PATH\ngit update-ref refs/handoff/a {other}"
    ));
    world.record("a", "two");
    world
        .git(["push", "handoff"])
        .failed()
        .says("[remote rejected] refs/handoff/a -> refs/handoff/a (CAS_CONFLICT: ");
    assert_eq!(world.server_ref("refs/handoff/a"), other);
}

#[test]
fn of_writers_at_once_one_wins_and_the_others_are_told() {
    let world = World::new();
    let first = world.record("a", "first");
    world.git(["push", "handoff"]).ok();
    for round in 0..4 {
        let tip = world.server_ref("refs/handoff/a");
        let pushes: Vec<String> = (0..6)
            .map(|writer| {
                world.forget_since("a", &tip);
                let id = world.record("a", &format!("round {round} writer {writer}"));
                format!("{id}:refs/handoff/a")
            })
            .collect();
        let push = |refspec: &String| world.git(["push", "handoff", refspec]);
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
    let line = world.git_in(
        "server.git",
        ["rev-list", "--count", &format!("{first}..refs/handoff/a")],
    );
    assert_eq!(line.line(), "4");
}

#[test]
fn a_mirror_push_is_refused() {
    let world = World::new();
    let tip = world.record("a", "one");
    world
        .git(["update-ref", "refs/handoff-local/keep/main", &tip])
        .ok();
    let url = format!("handoff::{}", world.path("server.git").display());
    world
        .git(["push", "--mirror", &url])
        .failed()
        .says("refs/handoff-local/keep/main (REF_OUTSIDE_NAMESPACE: ")
        .says("refs/handoff/a (HELD: ");
    assert!(!world.server_has(&tip));
}

#[test]
fn after_a_refusal_the_same_push_succeeds() {
    let world = World::new();
    world.hook("exit 1");
    let tip = world.record("a", "one");
    world.git(["push", "handoff"]).failed();
    world.hook("exit 0");
    world.git(["push", "handoff"]).ok();
    assert_eq!(world.server_ref("refs/handoff/a"), tip);
}

#[test]
fn a_signed_push_is_refused_with_the_way_out() {
    let world = World::new();
    world
        .git_in("server.git", ["config", "receive.certNonceSeed", "seed"])
        .ok();
    crate::world::write_program(
        &world.path("gpg"),
        "cat >/dev/null; printf '\\n[GNUPG:] SIG_CREATED x\\n' >&2; printf -- '-----BEGIN PGP SIGNATURE-----\\nx\\n-----END PGP SIGNATURE-----\\n'",
    );
    let gpg = world.path("gpg").display().to_string();
    world.git(["config", "gpg.program", &gpg]).ok();
    let tip = world.record("a", "one");
    world
        .git(["push", "--signed", "handoff"])
        .failed()
        .says("push certificates are not relayed, use --no-signed");
    assert!(!world.server_has(&tip));
    world.git(["push", "--no-signed", "handoff"]).ok();
}

#[test]
fn a_remote_without_refspecs_is_told_about_init() {
    let world = World::new();
    let url = format!("handoff::{}", world.path("server.git").display());
    world.git(["remote", "add", "plain", &url]).ok();
    world
        .git(["push", "plain", "main:refs/heads/x"])
        .failed()
        .says("REF_OUTSIDE_NAMESPACE")
        .says("run `git handoff init --remote plain`");
}

#[test]
fn a_large_push_streams_through() {
    let world = World::new();
    let noise: String = (0..400_000u64)
        .map(|i| format!("{:x} ", i.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
        .collect();
    let tip = world.record("a", &noise);
    world.git(["push", "handoff"]).ok();
    assert_eq!(world.server_ref("refs/handoff/a"), tip);
    // The pack of a refused push is read to its end, so that Git goes on to the report.
    let tip = world.record("b", &format!("{noise}!"));
    world
        .git(["push", "handoff", &format!("{tip}:refs/heads/x")])
        .failed()
        .says("REF_OUTSIDE_NAMESPACE")
        .says_not("fatal");
}

#[test]
fn a_server_that_dies_is_an_error_and_not_a_hang() {
    let world = World::new();
    world.hook("kill -9 $(ps -o ppid= -p $$)");
    world.record("a", "one");
    world.git(["push", "handoff"]).failed();
}

#[test]
fn a_shallow_repository_pushes() {
    let world = World::new();
    world.record("a", "one");
    world.git(["push", "handoff"]).ok();
    let url = format!("file://{}", world.path("server.git").display());
    world
        .git_in(".", ["clone", "-q", "--depth", "1", &url, "shallow"])
        .ok();
    let url = format!("handoff::{url}");
    world
        .git_in("shallow", ["remote", "add", "handoff", &url])
        .ok();
    world
        .run("shallow", "git-handoff", &["save", "s"], b"")
        .ok();
    let tip = world
        .git_in("shallow", ["rev-parse", "refs/handoff/s"])
        .line();
    world
        .git_in("shallow", ["push", "handoff", "refs/handoff/s"])
        .ok();
    assert_eq!(world.server_ref("refs/handoff/s"), tip);
}

#[test]
fn a_scope_that_the_remote_moved_on_is_named_with_the_way_out() {
    let world = World::new();
    world.record("a", "one");
    world.record("b", "one");
    world.git(["push", "handoff"]).ok();
    let moved = world.record("a", "two");
    world.git(["push", "handoff"]).ok();
    // As if somebody else had pushed it: nothing here knows of it.
    let before = world.git(["rev-parse", &format!("{moved}~1")]).line();
    world.forget_since("a", &before);
    world.record("a", "another two");
    let advice = "warning: CAS_CONFLICT refs/handoff/a: the remote has moved on";
    world
        .git(["push", "handoff"])
        .failed()
        .says("[rejected]")
        .says(advice)
        .says("hint: `git handoff sync` brings both together");
    world.record("b", "two");
    world
        .git(["push", "--dry-run", "handoff", "refs/handoff/b"])
        .ok()
        .says_not("CAS_CONFLICT");
    world
        .git(["push", "handoff"])
        .failed()
        .says(advice)
        .says("refs/handoff/b -> refs/handoff/b");
    world.record("b", "three");
    world.record("c", "one");
    // Who asks for one scope is told nothing of another.
    world
        .git(["push", "handoff", "refs/handoff/b"])
        .ok()
        .says_not("CAS_CONFLICT");
}
