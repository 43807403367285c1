//! The helper without Git: broken input, and partners that go away.

use std::{
    io::{Read, Write},
    process::{Child, Stdio},
};

use crate::pair::Pair;

#[test]
fn broken_input_gives_one_clear_error() {
    let pair = Pair::new();
    let server = pair.path("server.git").display().to_string();
    for (input, message) in [
        ("frobnicate\n", "git sent the unknown command `frobnicate`"),
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
