//! The helper without Git: broken input, and partners that go away.

use std::{
    io::{Read, Write},
    process::{Child, Stdio},
};

use crate::{pair::Pair, world::ServerKind};

#[test]
fn broken_input_gives_one_clear_error() {
    let pair = Pair::new();
    let server = pair.path("server.git").display().to_string();
    for (input, message) in [
        ("frobnicate\n", "git sent the unknown command `frobnicate`"),
        (
            "capabilities\r\n",
            "git sent the unknown command `capabilities\\r`",
        ),
        ("\0\n", "git sent the unknown command `\\x00`"),
        (
            "option progress true\n\u{1b}[31m\n",
            "git sent the unknown command `\\x1b[31m`",
        ),
        ("option\n", "git sent the broken command `option`"),
        ("option \n", "git sent the broken command `option `"),
        (
            "option servpath \"x\n",
            "git sent the broken command `option servpath \\\"x`",
        ),
        ("connect\n", "git sent the broken command `connect`"),
        ("fetch \n", "git sent the broken command `fetch `"),
        ("push main\n\n", "git sent the broken command `push main`"),
        ("list all\n", "git sent the broken command `list all`"),
        ("list\n", "git sent `list`, which this remote cannot do"),
        (
            "push a:b\n\n",
            "git sent `push a:b`, which this remote cannot do",
        ),
        ("capabilities", "git went away in the middle of a command"),
        (
            "connect git-receive-pack\nzzzz",
            "git sent a broken command list: `zzzz` is not the length of a pkt-line",
        ),
        (
            "connect git-receive-pack\n000ahello\n",
            "git sent `hello\\n`, which is no command of a push",
        ),
        (
            "connect git-receive-pack\n0050",
            "git sent a broken command list: the connection ended in the middle of a pkt-line",
        ),
    ] {
        let run = pair.helper(&server, input.as_bytes()).failed();
        let errors: Vec<&str> = run
            .err
            .lines()
            .filter(|line| !line.starts_with("fatal: the remote end hung up"))
            .collect();
        assert_eq!(errors.len(), 1, "{input:?}: {run:#?}");
        assert!(
            errors[0].starts_with(&format!("error: {message}")),
            "{input:?}: {run:#?}"
        );
    }
}

#[test]
fn the_helper_says_what_it_is_when_it_is_started_by_hand() {
    let pair = Pair::new();
    let output = pair
        .command("work", "git-remote-handoff", &[])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        said.contains("usage: git-remote-handoff <remote> <url>"),
        "{said}"
    );
}

#[test]
fn a_polite_end_is_a_success() {
    let pair = Pair::new();
    let server = pair.path("server.git").display().to_string();
    assert_eq!(pair.helper(&server, b"").ok().out, "");
    assert_eq!(
        pair.helper(&server, b"capabilities\n\n").ok().out,
        "connect\noption\n\n"
    );
    let run = pair
        .helper(&server, b"option progress true\noption servpath \"x\"\n\n")
        .ok();
    assert_eq!(run.out, "unsupported\nok\n");
    assert_eq!(
        pair.helper(&server, b"connect git-upload-archive\n\n")
            .ok()
            .out,
        "fallback\n"
    );
}

#[test]
fn when_git_goes_away_the_server_ends_and_nothing_is_said() {
    let pair = Pair::new();
    let server = pair.path("server.git").display().to_string();
    for service in ["git-upload-pack", "git-receive-pack"] {
        let mut helper = connect(&pair, &server, service);
        // Git dies: both pipes close.
        drop(helper.stdin.take());
        drop(helper.stdout.take());
        let mut said = String::new();
        // The server holds standard error too, so that its end is the end of both.
        helper
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut said)
            .unwrap();
        helper.wait().unwrap();
        assert!(
            !said.contains("panicked") && !said.contains("error: git"),
            "{service}: {said}"
        );
    }
}

#[test]
fn a_helper_that_is_killed_takes_the_server_with_it() {
    let pair = Pair::new();
    let server = pair.path("server.git").display().to_string();
    let mut helper = connect(&pair, &server, "git-receive-pack");
    helper.kill().unwrap();
    helper.wait().unwrap();
    let mut said = String::new();
    helper
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut said)
        .unwrap();
}

/// Starts the helper and waits until the service has begun to speak.
fn connect(pair: &Pair, server: &str, service: &str) -> Child {
    let mut helper = pair
        .command("work", "git-remote-handoff", &["handoff", server])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let line = format!("connect {service}\n");
    helper
        .stdin
        .as_mut()
        .unwrap()
        .write_all(line.as_bytes())
        .unwrap();
    let mut begin = [0; 5];
    helper
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut begin)
        .unwrap();
    helper
}

#[test]
fn a_line_without_end_is_not_kept_for_ever() {
    let pair = Pair::new();
    let server = pair.path("server.git").display().to_string();
    let line = vec![b'a'; 3 * 1024 * 1024];
    let said = "error: git sent a line over 1048576 bytes";
    pair.helper(&server, &line).failed().says(said);
}

#[test]
fn options_that_are_not_known_are_unsupported_and_harm_nothing() {
    Pair::on_each_transport(|pair| {
        let input = "capabilities\noption no-such-option true\noption pushcert true\n\n";
        let run = pair.helper(&pair.url(), input.as_bytes()).ok();
        let answers = run.out.split_once("\n\n").unwrap().1;
        assert_eq!(answers, "unsupported\nunsupported\n");
        run.says("hint: push certificates are not relayed");
    });
}

#[test]
fn refs_are_asked_for_and_answered_packet_by_packet() {
    let pair = Pair::new();
    let tip = pair.record("a", "one");
    pair.git(["push", "handoff"]).ok();
    let server = pair.path("server.git").display().to_string();
    // gitprotocol-v2(5): a command, a delimiter, arguments, a flush; and one more flush to end.
    let request = "0014command=ls-refs\n0001001bref-prefix refs/heads/\n00000000";
    let input = format!("connect git-upload-pack\n{request}");
    let run = pair.helper(&server, input.as_bytes()).ok();
    assert!(run.out.starts_with("\n000eversion 2\n"), "{run:#?}");
    // Whoever asks for branches is shown scopes.
    assert!(
        run.out.ends_with(&format!("{tip} refs/handoff/a\n0000")),
        "{run:#?}"
    );
    assert!(!run.out.contains("refs/heads/"), "{run:#?}");
}

#[test]
fn a_report_is_written_with_and_without_a_sideband() {
    let pair = Pair::new();
    let server = pair.path("server.git").display().to_string();
    let main = pair.git(["rev-parse", "main"]).line();
    let null = "0".repeat(40);
    for (capabilities, band) in [
        ("report-status", ""),
        ("report-status side-band-64k", "\u{1}"),
    ] {
        let command = format!("{null} {main} refs/heads/x\0 {capabilities}");
        let length = command.len() + 4;
        let input = format!("connect git-receive-pack\n{length:04x}{command}0000PACK");
        let run = pair.helper(&server, input.as_bytes()).ok();
        let report = run.out.split_once("0000").unwrap().1;
        assert!(
            report.contains(&format!("{band}000eunpack ok\n")),
            "{run:#?}"
        );
        assert!(
            report.contains("ng refs/heads/x REF_OUTSIDE_NAMESPACE: "),
            "{run:#?}"
        );
    }
    assert_eq!(pair.server_ref("refs/heads/x"), "");
}

#[test]
fn over_http_what_is_announced_is_what_can_be_done() {
    let Some(pair) = Pair::at(ServerKind::Nginx) else {
        return;
    };
    let url = pair.url();
    let input = b"capabilities\nconnect git-upload-pack\nstateless-connect git-receive-pack\n\n";
    let run = pair.helper(&url, input).ok();
    assert_eq!(
        run.out,
        "check-connectivity\nfetch\nobject-format\noption\npush\nstateless-connect\n\nfallback\nfallback\n"
    );
    for (input, message) in [
        (
            &b"frobnicate\n"[..],
            "git sent the unknown command `frobnicate`",
        ),
        (
            b"push refs/handoff/a:refs/handoff/a\n",
            "git went away in the middle of a command",
        ),
        (
            b"push refs/handoff/a:refs/handoff/a\nlist\n\n",
            "git sent `list`, which this remote cannot do",
        ),
        (
            b"list for-push\npush x\n\n",
            "git sent the broken command `push x`",
        ),
    ] {
        pair.record("a", "one");
        pair.helper(&url, input).failed().says(message);
        assert_eq!(pair.server_ref("refs/handoff/a"), "");
    }
}

#[test]
fn over_http_a_batch_of_pushes_is_answered_ref_by_ref() {
    let Some(pair) = Pair::at(ServerKind::Nginx) else {
        return;
    };
    let url = pair.url();
    let first = pair.record("a", "one");
    pair.git(["push", "handoff"]).ok();
    let tip = pair.record("a", "two");
    let batch = format!(
        "push +{first}:refs/handoff/a\npush main:refs/heads/x\npush :refs/handoff/a\npush refs/none:refs/handoff/b\n\n\n"
    );
    // With a list before it and without: what is replaced is known in both cases.
    for before in ["capabilities\noption verbosity 0\nlist for-push\n", ""] {
        let input = format!("{before}{batch}");
        let run = pair.helper(&url, input.as_bytes()).ok();
        for answer in [
            "error refs/heads/x REF_OUTSIDE_NAMESPACE: ",
            "error refs/handoff/a DELETE_REFUSED: ",
            "error refs/handoff/b NOT_FOUND: there is no `refs/none` here\n",
        ] {
            assert!(run.out.contains(answer), "no {answer} in {run:#?}");
        }
        assert_eq!(pair.server_ref("refs/handoff/a"), first);
    }
    let input = "push refs/handoff/a:refs/handoff/a\n\n\n";
    let run = pair.helper(&url, input.as_bytes()).ok();
    assert!(run.out.starts_with("ok refs/handoff/a\n"), "{run:#?}");
    assert_eq!(pair.server_ref("refs/handoff/a"), tip);
    let back = format!("push +{first}:refs/handoff/a\n\n\n");
    let run = pair.helper(&url, back.as_bytes()).ok();
    assert!(
        run.out.starts_with("error refs/handoff/a NON_LINEAR: "),
        "{run:#?}"
    );
}
