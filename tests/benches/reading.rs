//! Restoring, and listing many scopes.

use std::fs;

use crate::{
    checkpoints, generate,
    report::Group,
    rows::{Goal, alone, pair},
    stage::Stage,
};

pub(crate) fn run(quick: bool) -> Group {
    let stage = Stage::new();
    let rounds = if quick { 3 } else { 11 };
    let files = if quick { 100 } else { 10_000 };
    let writer = generate::project(&stage, "writer", files);
    generate::lengthen(&stage, &writer, files, if quick { 10 } else { 1_000 });
    let server = stage.path("server.git").display().to_string();
    stage.git(&writer, ["clone", "-q", "--bare", ".", &server]);
    stage.git(&writer, ["remote", "add", "origin", &server]);
    generate::edit(&writer, 5, 1);
    stage.git(
        &writer,
        ["handoff", "save", "bench", "-q", "-m", "Measure", "--push"],
    );
    let url = format!("file://{server}");
    let target = stage.path("target");
    let fresh = |words: &[&str]| {
        // The first run has none.
        let _ = fs::remove_dir_all(&target);
        stage.measured(&stage.path(""), words)
    };
    let mut rows = vec![pair(
        &format!("`restore --from`, {files} files"),
        Goal::Times(1.0),
        rounds,
        Box::new(|_| {
            fresh(&[
                "git", "handoff", "restore", "-q", "bench", "target", "--from", &url,
            ])
        }),
        (
            "`git clone`",
            Box::new(|_| fresh(&["git", "clone", "-q", &url, "target"])),
        ),
    )];
    rows.push(pair(
        &format!("`restore --from --shallow`, {files} files"),
        Goal::Times(1.1),
        rounds,
        Box::new(|_| {
            fresh(&[
                "git",
                "handoff",
                "restore",
                "-q",
                "bench",
                "target",
                "--from",
                &url,
                "--shallow",
            ])
        }),
        (
            "`git clone --depth 1`",
            Box::new(|_| fresh(&["git", "clone", "-q", "--depth", "1", &url, "target"])),
        ),
    ));
    let count = if quick { 100 } else { 50_000 };
    let many = generate::project(&stage, "many", 100);
    checkpoints::scopes(&stage, &many, count);
    rows.push(alone(
        &format!("the first `list` of {count} scopes: each record is judged"),
        1,
        Box::new(|_| {
            for tip in ["verified", "seen"] {
                let _ = fs::remove_dir_all(many.join(".git/refs/handoff-local").join(tip));
            }
            stage.measured(&many, ["git", "handoff", "list"])
        }),
    ));
    let fields = "--format=%(refname) %(objectname) %(tree) %(committerdate:iso-strict) %(authoremail) \
                  %(contents:subject) %(trailers:key=Handoff-Generation)";
    rows.push(pair(
        &format!("`list` of {count} scopes"),
        Goal::Times(1.5),
        if quick { 3 } else { 5 },
        Box::new(|_| stage.measured(&many, ["git", "handoff", "list"])),
        (
            "`git for-each-ref` with the same fields",
            Box::new(|_| stage.measured(&many, ["git", "for-each-ref", fields, "refs/handoff/"])),
        ),
    ));
    Group {
        title: "Restore and list",
        about: "Restoring writes every file and then reads all of them back to prove what is on disk.",
        rows,
        notes: Vec::new(),
    }
}
