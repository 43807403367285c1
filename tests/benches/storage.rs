//! What a checkpoint takes on the disk, beside a stash and a plain commit of the same edits.

use std::{fmt::Write, fs, path::Path};

use crate::{generate, report::Group, stage::Stage};

/// Files and bytes below a directory.
#[derive(Clone, Copy)]
struct Size {
    files: u64,
    bytes: u64,
}

impl Size {
    fn of(dir: &Path) -> Self {
        let mut size = Size { files: 0, bytes: 0 };
        for entry in fs::read_dir(dir).expect("it is a repository of ours") {
            let entry = entry.expect("nobody removes it");
            let found = entry.metadata().expect("nobody removes it");
            let inner = match found.is_dir() {
                true => Size::of(&entry.path()),
                false => Size {
                    files: 1,
                    bytes: found.len(),
                },
            };
            size.files += inner.files;
            size.bytes += inner.bytes;
        }
        size
    }

    fn since(self, before: Size) -> String {
        let (files, bytes) = (self.files - before.files, self.bytes - before.bytes);
        format!("{bytes} bytes in {files} files")
    }
}

/// Ways to keep what was edited.
const WAYS: [(&str, &[&str]); 3] = [
    ("save", &["handoff", "save", "bench", "-q", "-m", "Measure"]),
    ("stash", &["stash", "create"]),
    ("commit", &["commit", "-q", "-a", "-m", "Measure"]),
];

pub(crate) fn run(quick: bool) -> Group {
    let stage = Stage::new();
    let files = if quick { 100 } else { 10_000 };
    let edits = [1, 5, 50, files / 10];
    let mut table = String::from(
        "| edited | `save` | `git stash create` | `git commit -a` |\n| --- | --- | --- | --- |\n",
    );
    let origin = generate::project(&stage, "origin", files);
    let mut grown = Vec::new();
    for (round, count) in edits.into_iter().enumerate() {
        let mut line = format!("| {count} of {files} files |");
        for (name, words) in WAYS {
            let dir = stage.path(&format!("{name}-{count}-{round}"));
            stage.git(&origin, ["clone", "-q", ".", &dir.display().to_string()]);
            generate::edit(&dir, count, round);
            let before = Size::of(&dir.join(".git/objects"));
            stage.git(&dir, words);
            let _ = write!(
                line,
                " {} |",
                Size::of(&dir.join(".git/objects")).since(before)
            );
            if count == 5 {
                grown.push((name, dir));
            }
        }
        table.push_str(&line);
        table.push('\n');
    }
    let saves = if quick { 3 } else { 100 };
    let mut notes = vec![table];
    for (name, dir) in grown {
        let words = WAYS
            .iter()
            .find(|(way, _)| *way == name)
            .map_or(&[][..], |(_, words)| words);
        let before = Size::of(&dir.join(".git/objects"));
        for round in 0..saves {
            generate::edit(&dir, 5, 1_000 + round);
            stage.git(&dir, words);
        }
        let after = Size::of(&dir.join(".git/objects"));
        notes.push(format!(
            "{saves} times `{name}` with five files edited each: {}.",
            after.since(before)
        ));
    }
    Group {
        title: "Storage",
        about: "What a checkpoint adds to the objects of a repository, before any `git gc`. It holds the trees of worktree \
                and index, a manifest and a commit.",
        rows: Vec::new(),
        notes,
    }
}
