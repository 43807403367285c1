//! What grows with what: generations, scopes, history, file sizes.

use std::{cell::Cell, fs, path::Path};

use crate::{
    checkpoints, generate,
    report::Group,
    rows::{Row, alone},
    stage::Stage,
};

pub(crate) fn run(quick: bool) -> Group {
    let stage = Stage::new();
    let mut rows = Vec::new();
    for count in [1, 100, 10_000] {
        let count = if quick { count.min(20) } else { count };
        let dir = generate::project(&stage, &format!("generations-{count}"), 1_000);
        checkpoints::generations(&stage, &dir, "bench", count);
        commands(&stage, &dir, &format!("{count} generations"), &mut rows);
        if quick {
            break;
        }
    }
    for count in [1, 1_000, 50_000] {
        let count = if quick { count.min(20) } else { count };
        let dir = generate::project(&stage, &format!("scopes-{count}"), 1_000);
        checkpoints::scopes(&stage, &dir, count);
        commands(&stage, &dir, &format!("{count} scopes"), &mut rows);
        if quick {
            break;
        }
    }
    for commits in [1_000, 500_000] {
        let commits = if quick { 100 } else { commits };
        let dir = generate::history(&stage, &format!("history-{commits}"), commits);
        commands(
            &stage,
            &dir,
            &format!("a history of {commits} commits"),
            &mut rows,
        );
        if quick {
            break;
        }
    }
    let dir = generate::project(&stage, "large", 1_000);
    let size = if quick { 1 << 20 } else { 1 << 30 };
    let large = fs::File::create(dir.join("large.bin")).and_then(|file| file.set_len(size));
    large.expect("a sparse file takes no room");
    stage.git(&dir, ["-c", "core.bigFileThreshold=1m", "add", "large.bin"]);
    stage.git(&dir, ["commit", "-q", "-m", "Large"]);
    commands(&stage, &dir, "an unchanged file of 1 GiB", &mut rows);
    Group {
        title: "Growth",
        about: "A repository of 1,000 files with five edited, where one thing is large.",
        rows,
        notes: Vec::new(),
    }
}

fn commands(stage: &Stage, dir: &Path, with: &str, rows: &mut Vec<Row>) {
    let round = Cell::new(0);
    let edited = |words: &[&str]| {
        round.set(round.get() + 1);
        generate::edit(dir, 5, round.get());
        stage.measured(dir, words)
    };
    let mut row = |work: &str, words: &[&str]| {
        rows.push(alone(
            &format!("`{work}`, {with}"),
            5,
            Box::new(|_| edited(words)),
        ));
    };
    row("snapshot", &["git", "handoff", "snapshot", "--json"]);
    row(
        "save",
        &["git", "handoff", "save", "bench", "-q", "-m", "Measure"],
    );
    row("show", &["git", "handoff", "show", "bench"]);
    row("log", &["git", "handoff", "log", "bench"]);
    row("verify", &["git", "handoff", "verify", "bench"]);
    row("list", &["git", "handoff", "list"]);
}
