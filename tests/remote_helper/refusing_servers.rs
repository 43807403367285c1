//! Servers that hide scopes, take branches and tags alone, or have made refs of their own under `refs/handoff/`.

use crate::pair::Pair;

const VERSIONS: [&str; 2] = ["protocol.version=0", "protocol.version=2"];
/// What is said of a server that takes no scopes.
const CLOSED: &str = "(FORBIDDEN_ACTION: the server takes no refs under refs/handoff/: ";
const ELSEWHERE: &str =
    "hint: keep the scopes in a repository that takes them: `git handoff init <url>`";

#[test]
fn a_server_that_takes_no_hidden_refs_is_known_by_that() {
    Pair::on_each_transport(|pair| {
        pair.at_server(["config", "receive.hideRefs", "refs/handoff"])
            .ok();
        let tip = pair.record("a", "one");
        pair.git(["push", "handoff"])
            .failed()
            .says(CLOSED)
            .says("deny updating a hidden ref")
            .says(ELSEWHERE);
        let run = pair.run("work", "git-handoff", &["push"], b"").failed();
        assert_eq!(run.code, 5, "{run:#?}");
        assert!(run.out.contains("[FORBIDDEN_ACTION]"), "{run:#?}");
        run.says(ELSEWHERE);
        let run = pair.run("work", "git-handoff", &["save", "b", "--push"], b"");
        run.failed().says("[FORBIDDEN_ACTION]").says(ELSEWHERE);
        assert!(!pair.server_has(&tip));
    });
}

#[test]
fn a_server_that_takes_branches_and_tags_alone_is_known_by_that() {
    Pair::on_each_transport(|pair| {
        let tip = pair.record("a", "one");
        let branches_alone = "test ${1#refs/heads/} = $1 && { echo 'only branches and tags are taken here' >&2; exit 1; }; exit 0";
        pair.hook_named("update", branches_alone);
        pair.git(["push", "handoff"])
            .failed()
            .says(CLOSED)
            .says("only branches and tags are taken here")
            .says(ELSEWHERE);
        pair.hook_named("update", "exit 0");
        pair.hook("echo 'error: branch:refs/handoff/a is illegal' >&2; exit 1");
        pair.git(["push", "handoff"])
            .failed()
            .says(CLOSED)
            .says(ELSEWHERE);
        // Who gives no reason may have another one.
        pair.hook("exit 1");
        pair.git(["push", "handoff"])
            .failed()
            .says("(pre-receive hook declined)")
            .says("hint: a rule of the server's own refused it");
        pair.hook("exit 0");
        pair.git(["push", "handoff"]).ok().says_not("hint");
        assert_eq!(pair.server_ref("refs/handoff/a"), tip);
    });
}

#[test]
fn scopes_that_are_hidden_are_not_said_to_be_missing() {
    Pair::on_each_transport(|pair| {
        pair.record("a", "one");
        pair.git(["push", "handoff"]).ok();
        pair.git(["fetch", "handoff"]).ok();
        pair.at_server(["config", "uploadpack.hideRefs", "refs/handoff"])
            .ok();
        let said = "warning: remote `handoff` shows no scope, and has shown some before: it hides refs/handoff/";
        for version in VERSIONS {
            for args in [["fetch", "handoff"], ["ls-remote", "handoff"]] {
                let run = pair.git(["-c", version, args[0], args[1]]);
                run.ok().says(said);
            }
        }
        let run = pair.run("work", "git-handoff", &["sync"], b"").ok();
        run.says(said);
        pair.fresh("fresh");
        for version in VERSIONS {
            // Whoever has seen none has nothing to compare with.
            pair.git_in("fresh", ["-c", version, "fetch", "handoff"])
                .ok()
                .says_not("warning");
        }
        let from = ["restore", "a", "there", "--from", &pair.url()];
        pair.run(".", "git-handoff", &from, b"")
            .failed()
            .says("error: the remote shows no scope `a` [NOT_FOUND]")
            .says("hint: a server can hide refs/handoff/");
        let from = ["restore", "--from", &pair.url()];
        pair.run(".", "git-handoff", &from, b"")
            .failed()
            .says("error: the remote shows no scope [NOT_FOUND]")
            .says("hint: a server can hide refs/handoff/");
    });
}

#[test]
fn a_symbolic_ref_among_the_scopes_is_no_scope() {
    Pair::on_each_transport(|pair| {
        let tip = pair.record("a", "one");
        pair.git(["push", "handoff"]).ok();
        for (name, target) in [
            ("refs/handoff/branch", "refs/heads/main"),
            ("refs/handoff/alias", "refs/handoff/a"),
        ] {
            pair.at_server(["symbolic-ref", name, target]).ok();
        }
        let main = pair.server_ref("refs/heads/main");
        for version in VERSIONS {
            pair.git(["-c", version, "fetch", "handoff"]).ok();
        }
        let run = pair.run("work", "git-handoff", &["sync"], b"").failed();
        run.says("SCOPE_MISMATCH: scope `alias`")
            .says("MALFORMED_MANIFEST: scope `branch`");
        for name in ["branch", "alias"] {
            // What is pushed there would move what it points at.
            pair.fresh(name);
            pair.git_in(name, ["commit", "-q", "--allow-empty", "-m", "root"])
                .ok();
            pair.run(name, "git-handoff", &["save", name], b"").ok();
            pair.git_in(name, ["push", "--force", "handoff"])
                .failed()
                .says(&format!("refs/handoff/{name} -> refs/handoff/{name} ("));
        }
        assert_eq!(pair.server_ref("refs/heads/main"), main);
        assert_eq!(pair.server_ref("refs/handoff/a"), tip);
    });
}

#[test]
fn the_reason_of_a_hook_is_read_however_it_is_written() {
    Pair::on_each_transport(|pair| {
        pair.record("a", "one");
        let reason = "refs/handoff/a -> refs/handoff/a (NOT_OWNER: owned by agent:x)";
        let plain = "handoff: NOT_OWNER refs/handoff/a: owned by agent:x";
        for script in [
            format!("echo '{plain}' >&2; exit 1"),
            format!("echo '{plain}'; exit 1"),
            format!("printf '\\033[31m{plain}\\033[m\\033[K\\r\\n' >&2; exit 1"),
            // Without an end, in two halves, after progress.
            "printf 'checking 99%%\\rhandoff: NOT_OWNER refs/han' >&2; printf 'doff/a: owned by agent:x' >&2; exit 1".to_owned(),
        ] {
            pair.hook(&script);
            for setting in ["color.ui=false", "color.ui=always", "color.remote=always"] {
                pair.git(["-c", setting, "push", "handoff"])
                    .failed()
                    .says(reason);
            }
            for option in ["--progress", "--no-progress", "-q", "-v"] {
                pair.git(["push", option, "handoff"]).failed().says(reason);
            }
        }
    });
}
