//! Capturing and saving a worktree.

use std::{cell::Cell, path::Path, process::Command, time::Duration};

use crate::{
    generate,
    report::Group,
    rows::{Goal, Prepare, pair},
    stage::Stage,
};

/// Commands that look at a worktree, after edits that nobody has seen yet.
struct Edited<'a> {
    stage: &'a Stage,
    dir: &'a Path,
    files: usize,
    round: Cell<usize>,
}

impl<'a> Edited<'a> {
    fn new(stage: &'a Stage, dir: &'a Path, files: usize) -> Self {
        let round = Cell::default();
        Edited {
            stage,
            dir,
            files,
            round,
        }
    }

    fn then(&self, words: &'static [&'static str]) -> Prepare<'_> {
        Box::new(move |_| self.command(words))
    }

    fn command(&self, words: &[&str]) -> Command {
        self.round.set(self.round.get() + 1);
        generate::edit(self.dir, self.files, self.round.get());
        self.stage.measured(self.dir, words)
    }
}

const SNAPSHOT: &[&str] = &["git", "handoff", "snapshot", "--json"];
const STATUS: &[&str] = &["git", "status", "--porcelain=v2", "-uall"];
const STASH: &[&str] = &["git", "stash", "create"];
/// What a person would do by hand to get the tree of a worktree without touching its index.
const ADD: &[&str] = &[
    "sh",
    "-c",
    "cp .git/index .git/copied && GIT_INDEX_FILE=.git/copied git add -A && GIT_INDEX_FILE=.git/copied git write-tree",
];

/// The second one sees what the first one saw, as that of a `run` does.
const TWO_SNAPSHOTS: &[&str] = &[
    "sh",
    "-c",
    "git handoff snapshot --json && git handoff snapshot --json",
];

pub(crate) fn run(quick: bool) -> Group {
    let stage = Stage::new();
    let mut rows = Vec::new();
    for files in [1_000, 10_000, 100_000] {
        let files = if quick { files / 100 } else { files };
        let dir = generate::project(&stage, &format!("few-{files}"), files);
        let edited = Edited::new(&stage, &dir, 5);
        let (status, stash) = match files {
            100_000 => (Goal::Times(1.3), Goal::Times(0.7)),
            _ => (Goal::Shown, Goal::Shown),
        };
        let work = format!("`snapshot`, {files} files, 5 edited");
        let rounds = if quick { 3 } else { 11 };
        let peer = ("`git status -uall`", edited.then(STATUS));
        rows.push(pair(&work, status, rounds, edited.then(SNAPSHOT), peer));
        let peer = ("`git stash create`", edited.then(STASH));
        rows.push(pair(&work, stash, rounds, edited.then(SNAPSHOT), peer));
    }
    let (files, edits) = if quick { (100, 80) } else { (10_000, 8_000) };
    let dir = generate::project(&stage, "many", files);
    let edited = Edited::new(&stage, &dir, edits);
    rows.push(pair(
        &format!("`snapshot`, {files} files, {edits} edited"),
        Goal::Times(0.15),
        if quick { 3 } else { 7 },
        edited.then(SNAPSHOT),
        (
            "`git add -A && git write-tree` on a copied index",
            edited.then(ADD),
        ),
    ));
    let few = Edited::new(&stage, &dir, 5);
    few.round.set(1000);
    stage.git(&dir, ["checkout", "-q", "--", "."]);
    rows.push(pair(
        &format!("`save`, {files} files, 5 edited"),
        Goal::Over(Duration::from_millis(30)),
        if quick { 3 } else { 21 },
        few.then(&["git", "handoff", "save", "bench", "-q", "-m", "Measure"]),
        ("`snapshot`", few.then(SNAPSHOT)),
    ));
    rows.push(pair(
        &format!("`run` around `true`, {files} files, 5 edited"),
        Goal::Over(Duration::from_millis(20)),
        if quick { 3 } else { 21 },
        few.then(&["git", "handoff", "run", "-q", "--", "true"]),
        ("two `snapshot`s", few.then(TWO_SNAPSHOTS)),
    ));
    Group {
        title: "Capture",
        about: "Every run sees edits that no run before has seen; both sides write the new objects.",
        rows,
        notes: Vec::new(),
    }
}
