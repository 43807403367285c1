//! Sending and fetching one new checkpoint, over each transport that runs here.

use std::{
    cell::Cell,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    generate,
    report::Group,
    rows::{Goal, Row, pair},
    servers::Served,
    stage::Stage,
};

pub(crate) fn run(quick: bool) -> Group {
    let stage = Stage::new();
    let rounds = if quick { 3 } else { 41 };
    let mut rows = Vec::new();
    for served in Served::all(&stage) {
        let transport = served.transport;
        let writer = generate::project(&stage, &format!("writer-{transport}"), 1_000);
        let [ours, theirs] = ["ours", "theirs"].map(|side| {
            let name = format!("{side}-{transport}.git");
            let bare = ["clone", "-q", "--bare"].map(String::from);
            let from = writer.display().to_string();
            stage.git(&served.root, bare.into_iter().chain([from, name.clone()]));
            served.url(&name)
        });
        stage.git(&writer, ["remote", "add", "origin", &ours]);
        stage.git(&writer, ["handoff", "init", "-q"]);
        let next = |round: usize| {
            generate::edit(&writer, 5, round);
            stage.git(&writer, ["handoff", "save", "bench", "-q", "-m", "Measure"]);
        };
        let name = "refs/handoff/bench:refs/handoff/bench";
        rows.push(push(
            &stage,
            &writer,
            transport,
            rounds,
            next,
            &["git", "push", "-q", &theirs, name],
        ));
        rows.extend(fetch(
            &stage,
            &writer,
            transport,
            rounds,
            [&ours, &theirs],
            next,
            name,
        ));
    }
    Group {
        title: "Transfer",
        about: "One new checkpoint with five edited files, in a repository of 1,000 files. Each side has a server \
                repository of its own.",
        rows,
        notes: Vec::new(),
    }
}

fn push(
    stage: &Stage,
    writer: &Path,
    transport: &str,
    rounds: usize,
    next: impl Fn(usize),
    plain: &[&str],
) -> Row {
    let saved = Cell::new(None);
    let side = |words: &[&str], round: usize| -> Command {
        if saved.replace(Some(round)) != Some(round) {
            next(round);
        }
        stage.measured(writer, words)
    };
    pair(
        &format!("`git push handoff`, {transport}"),
        Goal::Times(1.10),
        rounds,
        Box::new(|round| side(&["git", "push", "-q", "handoff"], round)),
        (
            "`git push` of the same ref",
            Box::new(|round| side(plain, round)),
        ),
    )
}

fn fetch(
    stage: &Stage,
    writer: &Path,
    transport: &str,
    rounds: usize,
    urls: [&str; 2],
    next: impl Fn(usize),
    name: &str,
) -> Vec<Row> {
    let reader = |side: &str, url: &str| -> PathBuf {
        let dir = stage.path(&format!("{side}-reader-{transport}"));
        let to = dir.display().to_string();
        stage.git(&stage.path(""), ["clone", "-q", url, &to]);
        dir
    };
    let ours = reader("our", urls[0]);
    stage.git(&ours, ["handoff", "init", "-q"]);
    let plain = |side: &str, url: &str| {
        let dir = reader(side, urls[1]);
        let refspec = "+refs/handoff/*:refs/handoff-remote/handoff/*";
        for (key, value) in [
            ("remote.plain.url", url),
            ("remote.plain.fetch", refspec),
            ("remote.plain.tagOpt", "--no-tags"),
            ("protocol.ext.allow", "always"),
        ] {
            stage.git(&dir, ["config", key, value]);
        }
        dir
    };
    let theirs = plain("their", urls[1]);
    let sent = Cell::new(None);
    let side = |dir: &Path, remote: &str, round: usize| -> Command {
        if sent.replace(Some(round)) != Some(round) {
            next(1_000 + round);
            for url in urls {
                stage.git(writer, ["push", "-q", url, name]);
            }
        }
        stage.measured(dir, ["git", "fetch", "-q", remote])
    };
    let peer = "`git fetch` of the same refs";
    let mut rows = vec![pair(
        &format!("`git fetch handoff`, {transport}"),
        Goal::Times(1.05),
        rounds,
        Box::new(|round| side(&ours, "handoff", round)),
        (peer, Box::new(|round| side(&theirs, "plain", round))),
    )];
    if transport == "path" {
        let relayed = plain("relayed", &format!("ext::git-upload-pack {}", urls[1]));
        // Rounds of its own: what the last row has fetched is old.
        let later = |round: usize| round + 10_000;
        rows.push(pair(
            "`git fetch` through `git-remote-ext`: what any helper costs",
            Goal::Shown,
            rounds,
            Box::new(|round| side(&relayed, "plain", later(round))),
            (peer, Box::new(|round| side(&theirs, "plain", later(round)))),
        ));
    }
    rows
}
