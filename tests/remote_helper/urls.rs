//! Which URLs are connected to, and how.

use crate::pair::{Pair, write_program};

#[test]
fn urls_that_would_start_other_things_are_refused() {
    let pair = Pair::new();
    let marker = pair.path("ran");
    let touch = format!("touch {}", marker.display());
    for url in [
        format!("ext::{touch}"),
        "fd::0".into(),
        format!("handoff::ext::{touch}"),
        format!("ssh://-oProxyCommand={touch}/x"),
        format!("-oProxyCommand={touch}:x"),
        format!("--upload-pack={touch}"),
        format!("ssh://%2doProxyCommand={touch}/x"),
        "foo://host/x".into(),
        "ftp://host/x".into(),
        String::new(),
    ] {
        let url = format!("handoff::{url}");
        let run = pair.git(["fetch", &url, "refs/handoff/a"]).failed();
        assert!(run.err.contains("error: "), "{url}: {run:#?}");
        assert!(!marker.exists(), "{url}");
    }
}

#[test]
fn credentials_do_not_show_in_our_messages() {
    let pair = Pair::new();
    let run = pair
        .helper("ftp://me:secret@host/x", b"capabilities\n")
        .failed();
    assert!(run.err.contains("`ftp://` is not supported"), "{run:#?}");
    let run = pair
        .helper("ssh://me:secret@host", b"capabilities\n")
        .failed();
    assert!(!run.err.contains("secret"), "{run:#?}");
}

#[test]
fn transports_are_allowed_as_git_allows_them() {
    let pair = Pair::new();
    pair.record("a", "one");
    let forbidden = |args: [&str; 4]| {
        pair.git(args)
            .failed()
            .says("transport `file` is not allowed");
    };
    forbidden(["-c", "protocol.file.allow=never", "push", "handoff"]);
    forbidden(["-c", "protocol.file.allow=never", "ls-remote", "handoff"]);
    pair.set("GIT_ALLOW_PROTOCOL", "handoff");
    pair.git(["push", "handoff"])
        .failed()
        .says("transport `file` is not allowed");
    pair.set("GIT_ALLOW_PROTOCOL", "handoff:file");
    pair.git(["push", "handoff"]).ok();
}

#[test]
fn a_url_that_no_user_gave_is_refused_where_git_refuses_it() {
    let pair = Pair::new();
    let unset = ["config", "--global", "--unset", "protocol.file.allow"];
    pair.git(unset).ok();
    pair.set("GIT_PROTOCOL_FROM_USER", "0");
    pair.git(["config", "protocol.handoff.allow", "always"])
        .ok();
    pair.git(["ls-remote", "handoff"])
        .failed()
        .says("transport `file` is not allowed");
    pair.git(["config", "protocol.file.allow", "always"]).ok();
    pair.git(["ls-remote", "handoff"]).ok();
}

#[test]
fn urls_are_rewritten_for_fetch_and_push() {
    let pair = Pair::new();
    let server = pair.path("server.git").display().to_string();
    pair.set_remote("short:server");
    let tip = pair.record("a", "one");
    pair.git(["config", &format!("url.{server}.insteadOf"), "short:server"])
        .ok();
    pair.git(["push", "handoff"]).ok();
    assert_eq!(pair.server_ref("refs/handoff/a"), tip);
    pair.git_in(".", ["init", "-q", "--bare", "second.git"])
        .ok();
    let second = pair.path("second.git").display().to_string();
    pair.git([
        "config",
        &format!("url.{second}.pushInsteadOf"),
        "short:server",
    ])
    .ok();
    pair.git(["push", "handoff"]).ok().says("[new reference]");
    assert_eq!(
        pair.git_in("second.git", ["rev-parse", "refs/handoff/a"])
            .line(),
        tip
    );
    assert_eq!(
        pair.git(["ls-remote", "handoff"]).listed(),
        ["refs/handoff/a"]
    );
}

#[test]
fn rewriting_cannot_lead_around_the_checks() {
    let pair = Pair::new();
    pair.git(["config", "url.ext::.insteadOf", "safe:"]).ok();
    pair.set_remote("safe:touch x");
    pair.git(["-c", "protocol.ext.allow=always", "ls-remote", "handoff"])
        .failed()
        .says("`ext::` cannot be used");
}

/// Asks Git and the helper for the same URL with a program in ssh's place that prints how it was called.
#[test]
fn ssh_is_called_as_git_calls_it() {
    let pair = Pair::new();
    write_program(
        &pair.path("bin/ssh"),
        r#"for word in "$@"; do printf '[%s]' "$word" >&2; done
echo " protocol=$GIT_PROTOCOL dir=$GIT_DIR" >&2
exit 1"#,
    );
    write_program(
        &pair.path("bin/openssh-like"),
        r#"test "$1" = -G && exit 0
exec ssh "$@""#,
    );
    let program = |name: &str| pair.path(&format!("bin/{name}")).display().to_string();
    let asked = |set: &[(&str, &str)], config: &str, url: &str| {
        let run = |url: &str| {
            let output = pair
                .command("work", "git", &["-c", config, "ls-remote", url])
                .env(
                    "PATH",
                    format!("{}:{}", pair.path("bin").display(), pair.search_path()),
                )
                .envs(set.iter().copied())
                .output()
                .unwrap();
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            let line = text.lines().next().unwrap_or_default().to_owned();
            line.replace("fatal: ", "")
                .replace("error: ", "")
                .replace(" [UNREACHABLE]", "")
                .replace('`', "'")
        };
        let (git, helper) = (run(url), run(&format!("handoff::{url}")));
        (git, helper)
    };
    let urls = [
        "ssh://u@h.example:22/a%20b",
        "h.example:it's",
        "[h.example:2222]:p",
        "[::1]:p",
        "ssh://[::1]:33/~u/x",
        "u@[h:22]:p",
        "ssh://h:/p",
        "ssh://h:abc/p",
        "ssh://[u@h]:44/p",
    ];
    let command = format!("'{}' -v", program("ssh"));
    let other = program("openssh-like");
    let settings: Vec<(Vec<(&str, &str)>, &str)> = vec![
        (vec![], "a.b=c"),
        (vec![], "protocol.version=0"),
        (vec![], "protocol.version=1"),
        (vec![], "ssh.variant=simple"),
        (vec![("GIT_SSH_COMMAND", &command)], "a.b=c"),
        (
            vec![("GIT_SSH_COMMAND", "ssh -x"), ("GIT_SSH_VARIANT", "plink")],
            "a.b=c",
        ),
        (vec![("GIT_SSH", &other)], "a.b=c"),
        (
            vec![("GIT_SSH", &other), ("GIT_SSH_VARIANT", "putty")],
            "ssh.variant=simple",
        ),
        (vec![("GIT_SSH_VARIANT", "tortoiseplink")], "a.b=c"),
        (vec![("GIT_SSH", "/none")], "core.sshCommand=ssh -y"),
    ];
    for (set, config) in &settings {
        for url in urls {
            let (git, helper) = asked(set, config, url);
            let helper = helper.replace("does not support a port", "does not support setting port");
            assert_eq!(helper, git, "{url} with {set:?} and {config}");
        }
    }
}

#[test]
fn a_git_server_can_be_reached_through_a_program() {
    let pair = Pair::new();
    pair.record("a", "one");
    let root = pair.path(".").display().to_string();
    write_program(
        &pair.path("proxy"),
        &format!(
            "echo \"$@\" >>{root}/asked; exec git daemon --inetd --export-all --enable=receive-pack --base-path={root} {root}"
        ),
    );
    let program = pair.path("proxy").display().to_string();
    pair.set_remote("git://host.example.org/server.git");
    let setting = format!("{program} for example.org");
    pair.git(["config", "core.gitProxy", &setting]).ok();
    pair.git(["push", "handoff"]).ok();
    pair.git(["config", "core.gitProxy", "none"]).ok();
    pair.set("GIT_PROXY_COMMAND", &program);
    assert_eq!(
        pair.git(["ls-remote", "handoff"]).listed(),
        ["refs/handoff/a"]
    );
    let asked = std::fs::read_to_string(pair.path("asked")).unwrap();
    assert_eq!(asked, "host.example.org 9418\nhost.example.org 9418\n");
}

#[test]
fn a_host_that_cannot_be_reached_is_named() {
    let pair = Pair::new();
    // Port 1 of this machine: nobody listens.
    pair.set_remote("git://127.0.0.1:1/x");
    pair.git(["ls-remote", "handoff"])
        .failed()
        .says("error: cannot connect to 127.0.0.1:1");
    pair.set_remote("ssh://host/x");
    pair.git(["-c", "core.sshCommand=/none/ssh", "ls-remote", "handoff"])
        .failed()
        .says("/none/ssh");
}
