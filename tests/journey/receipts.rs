//! `git handoff run`: the command runs as if by itself, and its receipt says what happened.

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Child, Stdio},
};

use serde_json::Value;
use store::digest::Digest;

use crate::{
    people::{error_code, server_and_clone},
    world::{Output, World},
};

fn run(world: &World, dir: &Path, args: &[&str]) -> Output {
    world.handoff(dir, [&["run"], args].concat())
}

/// Returns the document of a run, which is the last line of standard output.
#[track_caller]
fn document(output: &Output) -> Value {
    let stdout = output.stdout();
    let last = stdout.lines().last().unwrap_or_default().to_owned();
    serde_json::from_str(&last).unwrap_or_else(|error| panic!("{error}: {stdout}"))
}

#[test]
fn the_exit_status_is_that_of_the_command_as_a_shell_has_it() {
    let world = World::new();
    let (_, dir) = server_and_clone(&world, "here");
    world.write(&dir, "plain.txt", "not a program\n");
    for (code, args) in [
        (0, &["--", "true"][..]),
        (7, &["--", "sh", "-c", "exit 7"]),
        (128 + 9, &["--", "sh", "-c", "kill -KILL $$"]),
        (128 + 15, &["--", "sh", "-c", "kill -TERM $$"]),
        (126, &["--", "./plain.txt"]),
        (127, &["--", "no-such-command"]),
        (125, &["-C", "/", "--", "true"]),
        (2, &["true"]),
    ] {
        let output = run(&world, &dir, args);
        assert_eq!(
            output.exit_code(),
            Some(code),
            "{args:?}: {}",
            output.stderr()
        );
    }
    let missing = run(&world, &dir, &["--json", "--", "no-such-command"]);
    assert_eq!(error_code(&missing), "NOT_FOUND");
    // What did not run left no receipt.
    let ran = run(&world, &dir, &["--json", "--", "true"]).ok();
    assert_eq!(document(&ran)["id"], "R5");
}

#[test]
fn output_of_any_size_and_bytes_passes_through_and_is_digested() {
    let world = World::new();
    let (_, dir) = server_and_clone(&world, "here");
    let bytes: Vec<u8> = (0..3_000_000_u32)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    fs::write(world.root().join("bytes"), &bytes).unwrap();
    let script = "cat ../bytes; echo problem >&2";
    let ran = run(
        &world,
        &dir,
        &[
            "--receipt-file",
            "../receipt.json",
            "--",
            "sh",
            "-c",
            script,
        ],
    )
    .ok();
    assert!(ran.bytes() == bytes.as_slice());
    assert!(ran.stderr().starts_with("problem\n"));
    let receipt: Value = serde_json::from_slice(&world.read(world.root(), "receipt.json")).unwrap();
    let receipt = &receipt["receipt"];
    assert_eq!(receipt["stdout"]["size"], bytes.len());
    assert_eq!(receipt["stdout"]["sha256"], Digest::of(&bytes).to_string());
    assert_eq!(
        receipt["stderr"]["sha256"],
        Digest::of(b"problem\n").to_string()
    );
    assert_eq!(receipt["argv"], serde_json::json!(["sh", "-c", script]));
    assert_eq!(
        (&receipt["exitCode"], &receipt["signal"]),
        (&0.into(), &Value::Null)
    );
}

#[test]
fn memory_does_not_grow_with_output() {
    let world = World::new();
    let (_, dir) = server_and_clone(&world, "here");
    // 64 MiB of address space for data would not hold 200 MB.
    let script = "ulimit -d 65536 && exec git handoff run -- head -c 200000000 /dev/zero";
    let mut command = world.command("sh", &dir);
    let mut child = command
        .args(["-c", script])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut passed = 0;
    let mut stdout = child.stdout.take().unwrap();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match stdout.read(&mut buffer).unwrap() {
            0 => break,
            read => passed += read,
        }
    }
    assert!(child.wait().unwrap().success());
    assert_eq!(passed, 200_000_000);
}

#[test]
fn a_document_has_a_line_of_its_own_behind_the_output() {
    let world = World::new();
    let (_, dir) = server_and_clone(&world, "here");
    let ran = run(
        &world,
        &dir,
        &[
            "--json", "--claim", "AC-1", "--tool", "make=4.4", "--", "printf", "no end",
        ],
    )
    .ok();
    assert!(ran.stdout().starts_with("no end\n{"), "{}", ran.stdout());
    let document = document(&ran);
    assert_eq!(
        (
            &document["id"],
            &document["claim"],
            &document["conclusion"],
            &document["covers"]
        ),
        (&"R1".into(), &"AC-1".into(), &"pass".into(), &true.into())
    );
    let tools = &document["receipt"]["environment"]["tools"];
    assert_eq!(
        tools[1],
        serde_json::json!({"name": "make", "version": "4.4"})
    );
}

#[test]
fn a_reader_that_goes_away_ends_the_command_as_it_would_without_us() {
    let world = World::new();
    let (_, dir) = server_and_clone(&world, "here");
    let script = "git handoff run --receipt-file ../receipt.json -- yes | head -n 1";
    let output = world.run("sh", &dir, ["-c", script]).ok();
    assert_eq!(output.stdout(), "y\n");
    let receipt: Value = serde_json::from_slice(&world.read(world.root(), "receipt.json")).unwrap();
    // SIGPIPE
    assert_eq!(receipt["receipt"]["signal"], 13);
}

#[test]
fn a_command_that_changes_captured_paths_covers_nothing_and_names_them() {
    let world = World::new();
    let (_, dir) = server_and_clone(&world, "here");
    world.write(&dir, ".gitignore", "*.log\n");
    let script = "echo more >> README.md; echo new > new.txt; echo log > x.log";
    let ran = run(&world, &dir, &["--json", "--", "sh", "-c", script]).ok();
    let told = document(&ran);
    assert_eq!(told["changed"], serde_json::json!(["README.md", "new.txt"]));
    assert_eq!(
        (&told["covers"], &told["conclusion"]),
        (&false.into(), &"pass".into())
    );
    assert_eq!(told["warnings"][0]["code"], "TREE_CHANGED");
    // What only writes ignored files covers.
    let ran = run(
        &world,
        &dir,
        &["--json", "--", "sh", "-c", "echo log > x.log"],
    )
    .ok();
    assert_eq!(document(&ran)["covers"], true);
    let draft =
        "objective: x\nuntested: []\nclaims: [{id: A, text: a, state: evidenced, receipt: R1}]\n";
    let refused = world
        .handoff_with_input(&dir, ["prepare", "w", "-f", "-", "--json"], draft)
        .code(4);
    assert_eq!(error_code(&refused), "UNEVIDENCED_CLAIM");
}

#[test]
fn processes_that_a_command_leaves_behind_do_not_hold_the_run() {
    let world = World::new();
    let (_, dir) = server_and_clone(&world, "here");
    fs::write(
        world.root().join("fifo.sh"),
        "mkfifo ../gate\n(read line < ../gate; echo late) &\necho early\n",
    )
    .unwrap();
    let ran = run(&world, &dir, &["--json", "--", "sh", "../fifo.sh"]).ok();
    assert!(ran.stdout().starts_with("early\n{"), "{}", ran.stdout());
    assert_eq!(document(&ran)["warnings"][0]["code"], "PROCESSES_LEFT");
    // Lets the one that waits go on and end.
    fs::write(world.root().join("gate"), "go\n").unwrap();
}

#[test]
fn a_command_is_ended_when_its_time_is_over() {
    let world = World::new();
    let (_, dir) = server_and_clone(&world, "here");
    let ran = run(
        &world,
        &dir,
        &["--json", "--timeout", "1", "--", "sleep", "600"],
    )
    .code(128 + 15);
    let told = document(&ran);
    assert_eq!(
        (&told["conclusion"], &told["receipt"]["signal"]),
        (&"fail".into(), &15.into())
    );
    assert_eq!(told["warnings"][0]["code"], "TIMED_OUT");
}

/// Starts a run whose command says `ready` and then waits.
fn start(world: &World, dir: &Path) -> (Child, BufReader<std::process::ChildStdout>) {
    // Without Git between, the signal reaches the run itself; without a terminal, nothing else does.
    let mut command = world.command("setsid", dir);
    command.args([
        "git-handoff",
        "run",
        "--",
        "sh",
        "-c",
        "trap 'exit 9' INT; echo ready; while :; do read x; done",
    ]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    (child, stdout)
}

#[test]
fn a_signal_ends_the_command_and_its_receipt_is_kept() {
    let world = World::new();
    let (_, dir) = server_and_clone(&world, "here");
    for (signal, code) in [("TERM", 128 + 15), ("HUP", 128 + 1), ("INT", 9)] {
        let (mut child, _stdout) = start(&world, &dir);
        let pid = child.id().to_string();
        world.run("kill", &dir, ["-s", signal, &pid]).ok();
        // A shell that reads a pipe sees its trap when the read is over.
        let input = child.stdin.take();
        if signal == "INT" {
            drop(input);
        }
        let ended = child.wait_with_output().unwrap();
        let said = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(code), "{signal}: {said}");
        assert!(
            said.starts_with("receipt R") && said.contains(" fail tree "),
            "{said}"
        );
    }
    let saved = world.handoff(&dir, ["save", "work", "--json"]).ok();
    assert_eq!(saved.exit_code(), Some(0));
    let shown = world.handoff(&dir, ["show", "work", "--json"]).ok().json();
    assert_eq!(
        shown["manifest"]["content"]["attempts"]
            .as_array()
            .unwrap()
            .len(),
        3
    );
}

#[test]
fn receipts_of_two_runs_at_once_are_both_kept() {
    let world = World::new();
    let (_, dir) = server_and_clone(&world, "here");
    let start = || {
        let mut command = world.command("git", &dir);
        command.args(["handoff", "run", "--", "false"]);
        command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    };
    let mut runs: Vec<Child> = (0..6).map(|_| start()).collect();
    for run in &mut runs {
        assert_eq!(run.wait().unwrap().code(), Some(1));
    }
    world.handoff(&dir, ["save", "work"]).ok();
    let receipts = world
        .git(
            &dir,
            ["ls-tree", "--name-only", "refs/handoff/work:receipts"],
        )
        .ok();
    assert_eq!(receipts.stdout().lines().count(), 6);
}

#[test]
fn where_nothing_can_be_kept_the_command_is_not_run() {
    let world = World::new();
    if world.run("id", world.root(), ["-u"]).ok().line() == "0" {
        return World::skip("receipts where nothing can be written: root writes everywhere");
    }
    let (_, dir) = server_and_clone(&world, "here");
    world.write(&dir, "new.txt", "not in the repository yet\n");
    let objects = dir.join(".git/objects");
    fs::set_permissions(&objects, fs::Permissions::from_mode(0o555)).unwrap();
    let ran = run(&world, &dir, &["--", "touch", "../it-ran"]).code(125);
    fs::set_permissions(&objects, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(ran.stderr().contains("error: "), "{}", ran.stderr());
    assert!(!world.root().join("it-ran").exists());
}
