//! What the helper does with the answers of a judge, against a real `git receive-pack`.

#![cfg(test)]

use std::{
    io::{self, Cursor, Read, Write},
    path::PathBuf,
    process::{Command, Stdio},
    sync::{Arc, Mutex},
};

use remote_helper::{
    Environment, HelperError, Invocation, Messages, ProposedUpdate, PushError, Refusal, Streams,
    command_list::MAX_BYTES,
    pkt_line::{FLUSH, Kind, PacketReader, write_packet},
};
use store::error_code::ErrorCode;
use tempfile::TempDir;

const CAPABILITIES: &str = "report-status side-band-64k";

/// A server, and a pack with one commit for it.
struct World {
    dir: TempDir,
    commit: String,
    pack: Vec<u8>,
}

/// What the helper came to.
struct Run {
    code: Result<u8, HelperError>,
    /// What Git was told after the advertisement, taken out of its band.
    report: Vec<String>,
    messages: String,
}

#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Shared {
    fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap().clone()
    }
}

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl World {
    fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let mut world = World {
            dir,
            commit: String::new(),
            pack: Vec::new(),
        };
        world.git(&["init", "-q", "--bare", "."], b"");
        world.git(&["init", "-q", "--bare", "elsewhere"], b"");
        let tree = world.git(&["--git-dir=elsewhere", "mktree"], b"");
        let commit = ["--git-dir=elsewhere", "commit-tree", "-m", "x", tree.trim()];
        world.commit = world.git(&commit, b"").trim().into();
        let list = format!("{}\n{tree}", world.commit);
        let output = world.run(
            &["--git-dir=elsewhere", "pack-objects", "--stdout", "-q"],
            list.as_bytes(),
        );
        world.pack = output;
        world
    }

    fn path(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap()
    }

    fn run(&self, args: &[&str], input: &[u8]) -> Vec<u8> {
        let mut command = Command::new("git");
        command.args(args).current_dir(self.path());
        for (name, value) in [
            ("HOME", "."),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_AUTHOR_NAME", "A"),
            ("GIT_AUTHOR_EMAIL", "a@example.com"),
            ("GIT_AUTHOR_DATE", "2026-11-30T10:00:00Z"),
            ("GIT_COMMITTER_NAME", "A"),
            ("GIT_COMMITTER_EMAIL", "a@example.com"),
            ("GIT_COMMITTER_DATE", "2026-11-30T10:00:00Z"),
        ] {
            command.env(name, value);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "git {args:?}");
        output.stdout
    }

    fn git(&self, args: &[&str], input: &[u8]) -> String {
        String::from_utf8(self.run(args, input)).unwrap()
    }

    /// Returns the refs of the server.
    fn refs(&self) -> Vec<String> {
        let refs = self.git(&["for-each-ref", "--format=%(refname)"], b"");
        refs.lines().map(String::from).collect()
    }

    /// Tells whether the server has any object.
    fn has_objects(&self) -> bool {
        !self
            .git(&["count-objects", "-v"], b"")
            .starts_with("count: 0\n")
    }

    /// Returns a command list that creates refs, with the pack behind it.
    fn push_of(&self, names: &[&str], capabilities: &str) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (at, name) in names.iter().enumerate() {
            let line = format!("{} {} {name}", "0".repeat(40), self.commit);
            let line = if at == 0 {
                format!("{line}\0{capabilities}")
            } else {
                line
            };
            write_packet(&mut bytes, line.as_bytes()).unwrap();
        }
        bytes.extend_from_slice(FLUSH);
        bytes.extend_from_slice(&self.pack);
        bytes
    }

    fn push(
        &self,
        input: Vec<u8>,
        judge: impl FnMut(&[ProposedUpdate]) -> Vec<Result<(), Refusal>>,
    ) -> Run {
        self.push_with("", Cursor::new(input), judge)
    }

    fn push_with(
        &self,
        options: &str,
        input: impl Read + Send + 'static,
        mut judge: impl FnMut(&[ProposedUpdate]) -> Vec<Result<(), Refusal>>,
    ) -> Run {
        let (output, messages) = (Shared::default(), Shared::default());
        let head = format!("capabilities\n{options}connect git-receive-pack\n");
        let streams = Streams {
            input: Box::new(Cursor::new(head.into_bytes()).chain(input)),
            output: Box::new(output.clone()),
            messages: Messages::new(messages.clone()),
        };
        let invocation = Invocation {
            remote: "handoff".into(),
            url: self.path().display().to_string().into(),
        };
        let code = remote_helper::run(&invocation, &Environment::default(), streams, &mut judge);
        Run {
            code,
            report: report(&output.bytes()),
            messages: String::from_utf8(messages.bytes()).unwrap(),
        }
    }
}

/// Takes the lines of the report out of all that Git was told.
fn report(output: &[u8]) -> Vec<String> {
    let start = output
        .windows(2)
        .position(|two| two == b"\n\n")
        .map_or(output.len(), |at| at + 2);
    let mut rest = &output[start..];
    if rest.starts_with(b"ok\n") {
        rest = &rest[3..];
    }
    let mut packets = PacketReader::new(rest.strip_prefix(b"\n").unwrap_or(rest));
    let mut data = Vec::new();
    let mut flushes = 0;
    while let Ok(Some(packet)) = packets.read() {
        match (packet.kind, packet.payload()) {
            (Kind::Flush, _) => flushes += 1,
            (_, [1, band @ ..]) if flushes > 0 => data.extend_from_slice(band),
            (_, _) if flushes > 0 => data.extend_from_slice(packet.raw),
            _ => {}
        }
    }
    let mut packets = PacketReader::new(data.as_slice());
    let mut lines = Vec::new();
    while let Ok(Some(packet)) = packets.read() {
        if packet.kind == Kind::Data {
            lines.push(String::from_utf8_lossy(packet.line()).into_owned());
        }
    }
    lines
}

fn refusal(code: ErrorCode, message: &str) -> Refusal {
    Refusal {
        code,
        message: message.into(),
        hints: vec!["read the manual".into()],
    }
}

fn all_good(updates: &[ProposedUpdate]) -> Vec<Result<(), Refusal>> {
    updates.iter().map(|_| Ok(())).collect()
}

#[test]
fn what_the_judge_allows_reaches_the_server() {
    let world = World::new();
    let mut judged = Vec::new();
    let run = world.push(
        world.push_of(&["refs/handoff/a"], CAPABILITIES),
        |updates| {
            judged.extend_from_slice(updates);
            all_good(updates)
        },
    );
    assert_eq!(run.code.unwrap(), 0);
    assert_eq!(run.report, ["unpack ok", "ok refs/handoff/a"]);
    assert_eq!(world.refs(), ["refs/handoff/a"]);
    assert_eq!(judged.len(), 1);
    assert!(judged[0].old.is_null());
    assert_eq!(judged[0].new.to_string(), world.commit);
}

#[test]
fn one_refusal_holds_all_and_nothing_is_sent() {
    for capabilities in [
        CAPABILITIES,
        "report-status",
        "report-status-v2 side-band-64k atomic",
    ] {
        let world = World::new();
        let push = world.push_of(&["refs/handoff/a", "refs/handoff/b"], capabilities);
        let run = world.push(push, |_| {
            vec![
                Ok(()),
                Err(refusal(ErrorCode::SecretDetected, "aws-key in\na.txt:3")),
            ]
        });
        assert_eq!(run.code.unwrap(), 0);
        assert_eq!(
            run.report,
            [
                "unpack ok",
                "ng refs/handoff/a HELD: refused together with refs/handoff/b",
                "ng refs/handoff/b SECRET_DETECTED: aws-key in a.txt:3",
            ],
            "{capabilities}"
        );
        let command = format!("`git push handoff {}:refs/handoff/a`", world.commit);
        assert!(
            run.messages.contains("hint: read the manual\n"),
            "{}",
            run.messages
        );
        assert!(run.messages.contains(&command), "{}", run.messages);
        assert!(!world.has_objects() && world.refs().is_empty());
    }
}

#[test]
fn an_update_that_the_judge_forgets_is_refused() {
    let world = World::new();
    let push = world.push_of(&["refs/handoff/a"], CAPABILITIES);
    let run = world.push(push, |_| Vec::new());
    assert_eq!(
        run.report[1],
        "ng refs/handoff/a INTERNAL: the update was not judged"
    );
    assert!(!world.has_objects());
}

#[test]
fn a_push_that_nobody_can_be_told_about_fails() {
    let world = World::new();
    let push = world.push_of(&["refs/handoff/a"], "");
    let run = world.push(push, |_| vec![Err(refusal(ErrorCode::Frozen, "closed"))]);
    match run.code.unwrap_err() {
        HelperError::Push(PushError::Unreported(text)) => {
            assert_eq!(text, "refs/handoff/a: FROZEN: closed");
        }
        other => panic!("{other}"),
    }
    assert!(!world.has_objects());
}

#[test]
fn a_command_list_over_the_limit_is_not_judged() {
    let world = World::new();
    let name = format!("refs/handoff/{}", "x".repeat(60_000));
    let names = vec![name.as_str(); MAX_BYTES / 60_000 + 1];
    let push = world.push_of(&names, CAPABILITIES);
    let run = world.push(push, |_| panic!("judged"));
    assert!(
        run.report[0].starts_with("unpack LIMIT_EXCEEDED: "),
        "{}",
        run.report[0]
    );
    assert!(!world.has_objects());
}

#[test]
fn the_refusal_of_a_deletion_does_not_wait_for_a_pack() {
    let world = World::new();
    let (reader, mut writer) = io::pipe().unwrap();
    let line = format!(
        "{} {} refs/handoff/a\0{CAPABILITIES}",
        world.commit,
        "0".repeat(40)
    );
    write_packet(&mut writer, line.as_bytes()).unwrap();
    writer.write_all(FLUSH).unwrap();
    // The writer stays open, as Git's does.
    let run = world.push_with("", reader, |_| {
        vec![Err(refusal(ErrorCode::DeleteRefused, "never"))]
    });
    assert_eq!(run.report[1], "ng refs/handoff/a DELETE_REFUSED: never");
    drop(writer);
}

#[test]
fn a_server_that_goes_away_is_an_error() {
    let world = World::new();
    let push = world.push_of(&["refs/handoff/a"], CAPABILITIES);
    let run = world.push_with(
        "option servpath true\n",
        Cursor::new(push.clone()),
        all_good,
    );
    assert!(matches!(
        run.code,
        Err(HelperError::Push(PushError::NoAnswer))
    ));
    let run = world.push_with("option servpath false\n", Cursor::new(push), all_good);
    assert_eq!(run.code.unwrap(), 1);
}

#[test]
fn a_server_that_stops_reading_is_heard_to_its_end() {
    let world = World::new();
    let mut push = world.push_of(&["refs/handoff/a"], "report-status");
    push.resize(8 * 1024 * 1024, 0);
    // Answers at once and leaves, with the pack unread.
    let report = "000eunpack ok\n001dng refs/handoff/a broken\n0000";
    let script = format!(
        "printf 0000; printf '{}'; exit 3; :",
        report.replace('\n', "\\n")
    );
    let option = format!("option servpath \"{}\"\n", script.replace('\\', "\\\\"));
    let run = world.push_with(&option, Cursor::new(push), all_good);
    assert_eq!(run.report, ["unpack ok", "ng refs/handoff/a broken"]);
    assert_eq!(run.code.unwrap(), 3);
}
