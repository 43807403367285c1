//! Builds every worktree of the shared corpus with plain Git and lets the real executables work on it.
//!
//! The facts beside each script say what must happen; the corpus' README explains them. Without the corpus beside
//! the repository there is nothing to do.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests stop them, and say what is skipped"
)]

#[path = "corpus/case.rs"]
mod case;
#[path = "corpus/failures.rs"]
mod failures;
#[path = "corpus/receivers.rs"]
mod receivers;
#[path = "corpus/round_trip.rs"]
mod round_trip;
#[path = "corpus/share.rs"]
mod share;
#[path = "corpus/snapshot.rs"]
mod snapshot;
#[path = "corpus/untouched.rs"]
mod untouched;

use std::{
    path::{Path, PathBuf},
    sync::Mutex,
};

use case::Case;

/// Returns the corpus, or says that it is not there.
fn corpus() -> Option<PathBuf> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent()?;
    let corpus = workspace.parent()?.join("shared/corpora/worktrees");
    let found = [
        corpus,
        PathBuf::from(workspace).join("../../shared/corpora/worktrees"),
    ]
    .into_iter()
    .find(|corpus| corpus.join("facts.py").is_file());
    if found.is_none() {
        println!("skipped: there is no corpus at ../shared/corpora/worktrees");
    }
    found
}

/// Runs `check` on a fresh build of every case that has the fact that a JSON pointer names, and reports all failures
/// at once.
fn for_each_case(part: &str, check: impl Fn(&Case) -> Vec<String> + Sync) {
    let Some(corpus) = corpus() else { return };
    let names = case::names(&corpus);
    let next = Mutex::new(names.into_iter());
    let failures = Mutex::new(Vec::new());
    let checked = Mutex::new(0);
    let work = || {
        loop {
            let Some(name) = next.lock().unwrap().next() else {
                return;
            };
            let wanted = std::env::var("CORPUS_CASE").ok();
            if wanted.is_some_and(|wanted| wanted != name) {
                continue;
            }
            let facts = case::facts(&corpus, &name);
            if facts.pointer(part).is_none() {
                continue;
            }
            let Some(case) = Case::build(&corpus, &name, facts) else {
                println!("skipped: {name} needs what this machine does not have");
                continue;
            };
            *checked.lock().unwrap() += 1;
            let found = check(&case);
            failures.lock().unwrap().extend(
                found
                    .into_iter()
                    .map(|failure| format!("{name}: {failure}")),
            );
        }
    };
    std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    let failures = failures.into_inner().unwrap();
    println!("{} cases with `{part}`", checked.into_inner().unwrap());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn a_snapshot_of_every_worktree_is_what_its_facts_say() {
    for_each_case("/snapshot", snapshot::check);
}

#[test]
fn a_saved_worktree_comes_back_as_its_facts_say() {
    for_each_case("/snapshot", round_trip::check);
}

#[test]
fn receivers_lose_nothing_and_take_no_harm() {
    for_each_case("/restore/target", receivers::check);
}

#[test]
fn only_names_that_git_takes_are_scopes() {
    for_each_case("/scopes", receivers::names);
}

#[test]
fn pushes_end_as_the_facts_say() {
    for_each_case("/share", share::check);
}
