//! The server hook beside one that does nothing.

use std::{
    cell::Cell,
    fs,
    io::Write,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    time::Duration,
};

use crate::{
    generate,
    report::Group,
    rows::{Goal, Row, pair},
    stage::Stage,
};

/// How many push at once, and how often.
const PUSHERS: usize = 8;
const PUSHES: u64 = 5;

pub(crate) fn run(quick: bool) -> Group {
    let stage = Stage::new();
    let rounds = if quick { 3 } else { 41 };
    let writer = generate::project(&stage, "writer", 1_000);
    let servers = servers(&stage, &writer, "small");
    let mut rows = vec![
        checkpoint(
            &stage,
            &writer,
            &servers,
            "one small checkpoint",
            rounds,
            10,
        ),
        branch(&stage, &writer, &servers, rounds),
    ];
    let refs = if quick { 1_000 } else { 100_000 };
    let crowded = crowded_servers(&stage, &writer, refs);
    let work = format!("one small checkpoint beside {refs} other refs");
    rows.push(checkpoint(&stage, &writer, &crowded, &work, rounds, 15));
    rows.push(crowd(&stage, &writer, if quick { 1 } else { 5 }));
    Group {
        title: "Server hook",
        about: "`git push` into a bare repository over a path; the peer's `pre-receive` is `#!/bin/sh` and `exit 0`.",
        rows,
        notes: Vec::new(),
    }
}

/// Makes two copies of a repository: one that is guarded, one with a hook that does nothing.
fn servers(stage: &Stage, from: &Path, name: &str) -> [PathBuf; 2] {
    let guarded = bare(stage, from, &format!("{name}-guarded.git"));
    let git_dir = guarded.display().to_string();
    stage.run(
        "handoff-hooks",
        &guarded,
        ["install", "--git-dir", &git_dir],
    );
    let plain = bare(stage, from, &format!("{name}-plain.git"));
    let hook = plain.join("hooks/pre-receive");
    fs::create_dir_all(plain.join("hooks")).expect("it is a repository of ours");
    fs::write(&hook, "#!/bin/sh\nexit 0\n").expect("it is a repository of ours");
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).expect("it was written");
    [guarded, plain]
}

fn bare(stage: &Stage, from: &Path, name: &str) -> PathBuf {
    let dir = stage.path(name);
    let words = ["clone", "-q", "--bare"].map(String::from);
    let ends = [from, &dir].map(|path| path.display().to_string());
    stage.git(&stage.path(""), words.into_iter().chain(ends));
    dir
}

fn crowded_servers(stage: &Stage, writer: &Path, refs: usize) -> [PathBuf; 2] {
    let head = stage.git(writer, ["rev-parse", "HEAD"]);
    let servers = servers(stage, writer, "crowded");
    for server in &servers {
        let mut packed = fs::OpenOptions::new()
            .append(true)
            .create(true)
            .open(server.join("packed-refs"))
            .expect("it is a repository of ours");
        let lines: String = (0..refs)
            .map(|number| format!("{head} refs/tags/t{number:06}\n"))
            .collect();
        packed.write_all(lines.as_bytes()).expect("there is room");
        stage.git(server, ["pack-refs", "--all"]);
    }
    servers
}

fn checkpoint(
    stage: &Stage,
    writer: &Path,
    servers: &[PathBuf; 2],
    work: &str,
    rounds: usize,
    limit: u64,
) -> Row {
    let saved = Cell::new(None);
    let side = |server: &Path, round: usize| {
        if saved.replace(Some(round)) != Some(round) {
            generate::edit(writer, 5, round);
            stage.git(writer, ["handoff", "save", "hook", "-q", "-m", work]);
        }
        let server = server.display().to_string();
        stage.measured(
            writer,
            [
                "git",
                "push",
                "-q",
                &server,
                "refs/handoff/hook:refs/handoff/hook",
            ],
        )
    };
    pair(
        &format!("push of {work}"),
        Goal::Over(Duration::from_millis(limit)),
        rounds,
        Box::new(|round| side(&servers[0], round)),
        (
            "a hook that does nothing",
            Box::new(|round| side(&servers[1], round)),
        ),
    )
}

fn branch(stage: &Stage, writer: &Path, servers: &[PathBuf; 2], rounds: usize) -> Row {
    let side = |server: &Path, round: usize| {
        let server = server.display().to_string();
        stage.measured(
            writer,
            [
                "git",
                "push",
                "-q",
                &server,
                &format!("HEAD:refs/heads/b{round}"),
            ],
        )
    };
    pair(
        "push of a branch",
        Goal::Over(Duration::from_millis(3)),
        rounds,
        Box::new(|round| side(&servers[0], round)),
        (
            "a hook that does nothing",
            Box::new(|round| side(&servers[1], round)),
        ),
    )
}

/// Many writers, each on a scope of its own.
fn crowd(stage: &Stage, writer: &Path, rounds: usize) -> Row {
    let servers = servers(stage, writer, "crowd");
    let mut script = String::new();
    for number in 0..PUSHERS {
        let clone = stage.path(&format!("pusher-{number}"));
        let to = clone.display().to_string();
        stage.git(writer, ["clone", "-q", ".", &to]);
        let mut pushes = Vec::new();
        for round in 0..PUSHES {
            generate::edit(
                &clone,
                5,
                10 * number + usize::try_from(round).expect("it is small"),
            );
            stage.git(
                &clone,
                [
                    "handoff",
                    "save",
                    &format!("c{number}"),
                    "-q",
                    "-m",
                    "Measure",
                ],
            );
            let tip = stage.git(&clone, ["rev-parse", &format!("refs/handoff/c{number}")]);
            pushes.push(format!(
                "git -C {to} push -q \"$1\" {tip}:refs/handoff/c{number}"
            ));
        }
        script.push_str(&format!(
            "( {} ) || touch \"$1/failed\" &\n",
            pushes.join(" && ")
        ));
    }
    script.push_str("wait\n[ ! -e \"$1/failed\" ]\n");
    let side = |server: &Path, round: usize| {
        // A copy for each round: its hook is the installed one, and it has none of the scopes.
        let copy = stage.path(&format!(
            "{round}-{}",
            server.file_name().expect("it has one").display()
        ));
        let ends = [server, &copy].map(|path| path.display().to_string());
        stage.run(
            "cp",
            &stage.path(""),
            ["-a".to_owned()].into_iter().chain(ends),
        );
        let copy = copy.display().to_string();
        stage.measured(writer, ["sh", "-c", &script, "sh", &copy])
    };
    pair(
        &format!("{PUSHERS} writers, {PUSHES} pushes each, at once"),
        Goal::Times(1.0 / 0.9),
        rounds,
        Box::new(|round| side(&servers[0], round)),
        (
            "a hook that does nothing",
            Box::new(|round| side(&servers[1], round)),
        ),
    )
}
