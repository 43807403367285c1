//! What earlier commands left: locks, an interrupted restore, and what is kept on purpose.

use std::{
    fs,
    path::{Path, PathBuf},
};

use gix::bstr::ByteSlice as _;
use store::{repository::Repository, restore, timestamp::Timestamp};

use super::Finding;
use crate::{error::CommandError, safety, ui::count};

/// How far ahead of the clock a time may be, as every judge has it, in seconds.
const TOLERATED: i64 = 5 * 60;

/// Compares the clock with the newest record here.
pub(super) fn clock(repository: &Repository) -> Result<Option<Finding>, CommandError> {
    let name = "clock";
    let newest = repository.git().output([
        "for-each-ref",
        "--count=1",
        "--sort=-committerdate",
        "--format=%(committerdate:unix) %(refname)",
        "refs/handoff/",
        "refs/handoff-remote/",
    ])?;
    let newest = newest.to_str_lossy();
    let Some((seconds, record)) = newest.trim().split_once(' ') else {
        return Ok(None);
    };
    let ahead = seconds.parse::<i64>().ok();
    let ahead = ahead.map(|seconds| seconds - Timestamp::now().unix_seconds());
    Ok(Some(match ahead {
        Some(ahead) if ahead > TOLERATED => Finding::warned(
            name,
            format!(
                "the newest record, of {record}, was written {} from now: this clock is behind, or its writer's was ahead",
                count(ahead.unsigned_abs(), "second")
            ),
        )
        .mend(["date"]),
        _ => Finding::good(name, "no record here is ahead of it"),
    }))
}

pub(super) fn look(repository: &Repository) -> Result<Vec<Finding>, CommandError> {
    let mut findings = Vec::new();
    for lock in locks(repository) {
        let path = lock.display().to_string();
        let detail = format!(
            "{path} is there: another Git runs here, or one was killed; once none does, it can go"
        );
        findings.push(Finding::warned("locks", detail).mend(["rm", &path]));
    }
    if findings.is_empty() {
        findings.push(Finding::good("locks", "none was left behind"));
    }
    if restore::is_interrupted(repository.git_dir()) {
        findings.push(
            Finding::warned(
                "restore",
                "a restore into this worktree was interrupted; the same command completes it",
            )
            .mend(["git", "handoff", "list"]),
        );
    }
    let prepared = repository.list_refs("refs/handoff-local/prepared/")?;
    if let Some((first, _)) = prepared.first() {
        let scope = first.as_bstr().rsplit_str("/").next().unwrap_or_default();
        let scope = scope.to_str_lossy();
        let number = count(prepared.len() as u64, "prepared handoff");
        let show = format!("{scope}@prepared");
        findings.push(
            Finding::good("prepared", format!("{number}, the first of `{scope}`"))
                .mend(["git", "handoff", "show", &show]),
        );
    }
    let safety = safety::list(repository)?.len() as u64;
    if safety > 0 {
        let detail = format!(
            "{}: states that commands set aside here",
            count(safety, "safety record")
        );
        findings.push(Finding::good("safety", detail).mend(["git", "handoff", "list", "--safety"]));
    }
    Ok(findings)
}

/// Finds the lock files that stop a command: those of the index, of `HEAD`, of the configuration, and of refs.
fn locks(repository: &Repository) -> Vec<PathBuf> {
    let (own, shared) = (repository.git_dir(), repository.common_dir());
    let mut found = Vec::new();
    in_directory(own, &mut found);
    if shared != own {
        in_directory(shared, &mut found);
    }
    for namespace in ["refs/handoff", "refs/handoff-local", "refs/handoff-remote"] {
        below(&shared.join(namespace), &mut found);
    }
    in_directory(&own.join("handoff"), &mut found);
    found.sort();
    found
}

fn in_directory(dir: &Path, found: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let is_lock = |path: &PathBuf| path.extension().is_some_and(|end| end == "lock");
    found.extend(entries.map(|entry| entry.path()).filter(is_lock));
}

fn below(dir: &Path, found: &mut Vec<PathBuf>) {
    in_directory(dir, found);
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let dirs = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    for dir in dirs {
        below(&dir.path(), found);
    }
}
