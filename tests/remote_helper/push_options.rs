//! What people give `git push` along, over each kind of transport.

use crate::pair::Pair;

#[test]
fn a_dry_run_sends_nothing() {
    Pair::on_each_transport(|pair| {
        let tip = pair.record("a", "one");
        pair.git(["push", "--dry-run", "handoff"])
            .ok()
            .says("[new reference]   refs/handoff/a -> refs/handoff/a");
        assert_eq!(pair.server_ref("refs/handoff/a"), "");
        assert!(!pair.server_has(&tip));
        // Git asks nobody about a dry run that it can answer itself, so only http lets it be judged.
        let run = pair.git(["push", "--dry-run", "handoff", "main:refs/heads/x"]);
        if pair.is_http() {
            run.failed().says("REF_OUTSIDE_NAMESPACE");
        }
        assert_eq!(pair.server_ref("refs/heads/x"), "");
    });
}

#[test]
fn push_options_reach_the_hook() {
    Pair::on_each_transport(|pair| {
        pair.hook(r#"echo "[$GIT_PUSH_OPTION_0][$GIT_PUSH_OPTION_1] of $GIT_PUSH_OPTION_COUNT""#);
        pair.record("a", "one");
        pair.git(["push", "-o", "ci.skip", "-o", "a \"b\" ü", "handoff"])
            .ok()
            .says("remote: [ci.skip][a \"b\" ü] of 2");
        let tip = pair.record("a", "two");
        let outside = format!("{tip}:refs/heads/x");
        pair.git(["push", "-o", "x", "handoff", &outside])
            .failed()
            .says("REF_OUTSIDE_NAMESPACE");
        pair.at_server(["config", "receive.advertisePushOptions", "false"])
            .ok();
        pair.git(["push", "-o", "x", "handoff"])
            .failed()
            .says("the receiving end does not support push options");
        pair.git(["push", "handoff"]).ok();
        assert_eq!(pair.server_ref("refs/handoff/a"), tip);
    });
}

#[test]
fn an_atomic_push_lands_as_a_whole_or_not_at_all() {
    Pair::on_each_transport(|pair| {
        let first = pair.record("a", "one");
        pair.git(["push", "--atomic", "handoff"]).ok();
        assert_eq!(pair.server_ref("refs/handoff/a"), first);

        let second = pair.record("a", "two of a");
        let (good, bad) = ("refs/handoff/a", "main:refs/heads/x");
        pair.git(["push", "--atomic", "handoff", good, bad])
            .failed()
            .says("main -> x (REF_OUTSIDE_NAMESPACE: ")
            .says("refs/handoff/a -> refs/handoff/a (HELD: refused together with refs/heads/x)");
        assert_eq!(pair.server_ref("refs/handoff/a"), first);
        assert!(!pair.server_has(&second));

        // The server itself refuses one.
        pair.record("b", "one of b");
        pair.hook_named("update", "test $1 != refs/handoff/b");
        pair.git(["push", "--atomic", "handoff"]).failed();
        assert_eq!(pair.server_ref("refs/handoff/a"), first);
        pair.git(["push", "handoff"])
            .failed()
            .says("refs/handoff/b -> refs/handoff/b (hook declined)");
        assert_eq!(pair.server_ref("refs/handoff/a"), second);
    });
}

#[test]
fn a_server_that_is_not_atomic_is_told_of_and_pushed_to_all_the_same() {
    Pair::on_each_transport(|pair| {
        pair.at_server(["config", "receive.advertiseAtomic", "false"])
            .ok();
        let tip = pair.record("a", "one");
        pair.git(["push", "--atomic", "handoff"])
            .failed()
            .says("the receiving end does not support --atomic push");
        assert!(!pair.server_has(&tip));
        pair.git(["push", "handoff"]).ok();
        assert_eq!(pair.server_ref("refs/handoff/a"), tip);
    });
}

#[test]
fn a_lease_holds_or_breaks_as_for_branches() {
    Pair::on_each_transport(|pair| {
        let none = "--force-with-lease=refs/handoff/a:";
        let first = pair.record("a", "one");
        pair.git(["push", none, "handoff"]).ok();
        let second = pair.record("a", "two");
        let wrong = format!("--force-with-lease=refs/handoff/a:{second}");
        for lease in [none, &wrong] {
            pair.git(["push", lease, "handoff"])
                .failed()
                .says("refs/handoff/a -> refs/handoff/a (stale info)");
            assert_eq!(pair.server_ref("refs/handoff/a"), first);
        }
        let right = format!("--force-with-lease=refs/handoff/a:{first}");
        pair.git(["push", &right, "handoff"]).ok();
        assert_eq!(pair.server_ref("refs/handoff/a"), second);
        // Without a value, what was last fetched is expected.
        let third = pair.record("a", "three");
        pair.git(["push", "--force-with-lease", "handoff"]).ok();
        assert_eq!(pair.server_ref("refs/handoff/a"), third);
    });
}

#[test]
fn force_changes_nothing_about_what_is_an_advance() {
    Pair::on_each_transport(|pair| {
        let first = pair.record("a", "one");
        let tip = pair.record("a", "two");
        pair.git(["push", "handoff"]).ok();
        let back = format!("{first}:refs/handoff/a");
        let forced = format!("+{back}");

        for args in [
            ["push", "--force", "handoff", &back],
            ["push", "--quiet", "handoff", &forced],
        ] {
            pair.git(args).failed().says("(NON_LINEAR: ");
        }
        pair.git(["push", "--force", "handoff", "main:refs/handoff/a"])
            .failed()
            .says("[remote rejected]");
        let lease = format!("--force-with-lease=refs/handoff/a:{tip}");
        pair.git(["push", &lease, "handoff", &back])
            .failed()
            .says("(NON_LINEAR: ");
        assert_eq!(pair.server_ref("refs/handoff/a"), tip);
    });
}

#[test]
fn a_signed_push_is_refused_with_the_way_out() {
    Pair::on_each_transport(|pair| {
        pair.at_server(["config", "receive.certNonceSeed", "seed"])
            .ok();
        crate::pair::write_program(
            &pair.path("gpg"),
            "cat >/dev/null; printf '\\n[GNUPG:] SIG_CREATED x\\n' >&2; printf -- '-----BEGIN PGP SIGNATURE-----\\nx\\n-----END PGP SIGNATURE-----\\n'",
        );
        let gpg = pair.path("gpg").display().to_string();
        pair.git(["config", "gpg.program", &gpg]).ok();
        let tip = pair.record("a", "one");
        for signed in ["--signed", "--signed=if-asked"] {
            pair.git(["push", signed, "handoff"])
                .failed()
                .says("push again with `--no-signed`");
            assert!(!pair.server_has(&tip));
        }
        pair.git(["config", "push.gpgSign", "if-asked"]).ok();
        pair.git(["push", "handoff"])
            .failed()
            .says("push again with `--no-signed`");
        pair.git(["push", "--no-signed", "handoff"]).ok();
        assert_eq!(pair.server_ref("refs/handoff/a"), tip);
        // Our own commands never sign a push.
        pair.record("a", "two");
        pair.run("work", "git-handoff", &["push"], b"").ok();
    });
}

#[test]
fn quiet_is_quiet_and_verbose_says_more() {
    Pair::on_each_transport(|pair| {
        pair.record("a", "one");
        let quiet = pair.git(["push", "-q", "handoff"]).ok();
        assert_eq!((quiet.out.as_str(), quiet.err.as_str()), ("", ""));
        let up_to_date = pair.git(["push", "-v", "handoff"]).ok();
        up_to_date.says("Pushing to handoff::").says("[up to date]");
        pair.record("a", "two");
        pair.hook("echo hello; exit 1");
        pair.git(["push", "-q", "handoff"])
            .failed()
            .says("[remote rejected]");
    });
}

#[test]
fn porcelain_output_names_each_ref_and_what_became_of_it() {
    Pair::on_each_transport(|pair| {
        pair.record("a", "one");
        let run = pair.git(["push", "--porcelain", "handoff"]).ok();
        let taken = "*\trefs/handoff/a:refs/handoff/a\t[new reference]\nDone\n";
        assert!(run.out.contains(taken), "{run:#?}");
        let (good, bad) = ("refs/handoff/b", "main:refs/heads/x");
        pair.record("b", "one");
        let run = pair
            .git(["push", "--porcelain", "handoff", good, bad])
            .failed();
        let refused = "!\trefs/heads/main:refs/heads/x\t[remote rejected] (REF_OUTSIDE_NAMESPACE: ";
        let other = match pair.is_http() {
            true => "*\trefs/handoff/b:refs/handoff/b\t[new reference]\n",
            false => {
                "!\trefs/handoff/b:refs/handoff/b\t[remote rejected] (HELD: refused together with refs/heads/x)\n"
            }
        };
        for line in [refused, other] {
            assert!(run.out.contains(line), "no {line} in {run:#?}");
        }
    });
}

#[test]
fn nothing_of_a_refused_record_reaches_the_server() {
    Pair::on_each_transport(|pair| {
        let text = "only in the refused record";
        let first = pair.record("a", "one");
        pair.git(["push", "handoff"]).ok();
        // A record of another scope, and one that leaves its line.
        let other = pair.record("b", text);
        let tree = format!("{other}^{{tree}}");
        let aside = ["commit-tree", "-m", "no record", "-p", &first, &tree];
        let aside = pair.git(aside).line();
        for refspec in [
            format!("{other}:refs/handoff/c"),
            format!("{aside}:refs/handoff/a"),
            format!("{other}:refs/heads/x"),
        ] {
            pair.git(["push", "handoff", &refspec]).failed();
            for id in [&pair.blob(text), &other, &aside] {
                assert!(!pair.server_has(id), "{refspec}");
            }
        }
        assert_eq!(pair.server_ref("refs/handoff/a"), first);
    });
}

#[test]
fn a_push_that_prunes_deletes_no_scope() {
    Pair::on_each_transport(|pair| {
        let tip = pair.record("a", "one");
        pair.git(["push", "handoff"]).ok();
        pair.git(["update-ref", "-d", "refs/handoff/a"]).ok();
        pair.git(["push", "--prune", "handoff"])
            .failed()
            .says("refs/handoff/a (DELETE_REFUSED: ");
        assert_eq!(pair.server_ref("refs/handoff/a"), tip);
    });
}

#[test]
fn traces_show_what_is_done_and_change_nothing() {
    Pair::on_each_transport(|pair| {
        let tip = pair.record("a", "one");
        pair.hook("echo 'handoff: FROZEN refs/handoff/a: closed' >&2; exit 1");
        for variable in ["GIT_TRACE", "GIT_TRACE_PACKET", "GIT_TRACE_CURL"] {
            pair.set(variable, "1");
        }
        pair.git(["push", "handoff"])
            .failed()
            .says("run_command: ")
            .says("packet: ")
            .says("refs/handoff/a -> refs/handoff/a (FROZEN: closed)");
        pair.hook("exit 0");
        pair.git(["push", "handoff"]).ok();
        assert_eq!(pair.server_ref("refs/handoff/a"), tip);
        pair.git(["update-ref", "-d", "refs/handoff-remote/handoff/a"])
            .ok();
        pair.git(["fetch", "handoff"])
            .ok()
            .says("packet: ")
            .says("[new ref]");
        let tracked = pair.git(["rev-parse", "refs/handoff-remote/handoff/a"]);
        assert_eq!(tracked.line(), tip);
    });
}
