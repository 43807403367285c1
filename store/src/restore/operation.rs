//! A merge, cherry-pick or revert in progress, as Git keeps it in its directory.

use std::{
    io,
    path::{Path, PathBuf},
};

use super::{Restorable, RestoreError, head::is_ancestor};
use crate::{
    contract::{Operation, OperationKind},
    repository::Repository,
};

/// Files of an operation whose state does not travel, and what they are a sign of; names as Git gives them.
const FOREIGN: [(&str, &str); 5] = [
    ("rebase-merge", "a rebase"),
    ("rebase-apply", "a rebase or git am"),
    ("sequencer", "a sequence of picks or reverts"),
    ("BISECT_LOG", "a bisect"),
    ("MERGE_AUTOSTASH", "a merge with an autostash"),
];
/// Files that belong to an operation; what Git removes when one ends.
const FILES: [&str; 5] = [
    "MERGE_HEAD",
    "MERGE_MODE",
    "MERGE_MSG",
    "MERGE_RR",
    "AUTO_MERGE",
];
/// Operations that are refs.
const REFS: [&str; 2] = ["CHERRY_PICK_HEAD", "REVERT_HEAD"];

/// Refuses where an operation is in progress here that a restore could not put back.
pub(super) fn refuse_foreign(repository: &Repository) -> Result<(), RestoreError> {
    let found = FOREIGN
        .iter()
        .find(|(name, _)| repository.git_dir().join(name).symlink_metadata().is_ok());
    match found {
        Some((_, what)) => Err(RestoreError::Operation(what)),
        None => Ok(()),
    }
}

/// Ends the operation that is in progress here, and begins the recorded one.
pub(super) fn restore(repository: &Repository, state: &Restorable<'_>) -> Result<(), RestoreError> {
    let recorded = &state.content.repository;
    end(repository)?;
    let Some(operation) = &recorded.operation else {
        return Ok(());
    };
    let dir = repository.git_dir();
    if let Some(message) = &operation.message {
        write(&dir.join("MERGE_MSG"), message.as_bstr())?;
    }
    match operation.kind {
        OperationKind::Merge => {
            let head = recorded.head.map(|oid| oid.id());
            // Only `--no-ff` leaves a merge of a descendant in progress, and only this file remembers it:
            // without, git-commit(1) would drop head from the parents.
            let ahead = |theirs| head.is_some_and(|head| is_ancestor(repository, head, theirs));
            let no_ff = operation.heads.iter().any(|oid| ahead(oid.id()));
            write(&dir.join("MERGE_MODE"), if no_ff { b"no-ff" } else { b"" })?;
            let heads: String = operation
                .heads
                .iter()
                .map(|oid| format!("{oid}\n"))
                .collect();
            write(&dir.join("MERGE_HEAD"), heads.as_bytes())
        }
        OperationKind::CherryPick => write_ref(repository, "CHERRY_PICK_HEAD", operation),
        OperationKind::Revert => write_ref(repository, "REVERT_HEAD", operation),
    }
}

fn end(repository: &Repository) -> Result<(), RestoreError> {
    for name in REFS {
        let exists = ["rev-parse", "--verify", "--quiet", name];
        let here = repository.git_dir().join(name).symlink_metadata().is_ok()
            || (!repository.has_ref_files() && repository.git().output(exists).is_ok());
        if here {
            update_ref(repository, &["-d", name])?;
            remove(&repository.git_dir().join("MERGE_MSG"))?;
        }
    }
    if repository
        .git_dir()
        .join("MERGE_HEAD")
        .symlink_metadata()
        .is_ok()
    {
        FILES
            .iter()
            .try_for_each(|name| remove(&repository.git_dir().join(name)))?;
    }
    Ok(())
}

fn write_ref(
    repository: &Repository,
    name: &str,
    operation: &Operation,
) -> Result<(), RestoreError> {
    match operation.heads.first() {
        Some(head) => update_ref(repository, &[name, &head.to_string()]),
        None => Ok(()),
    }
}

fn update_ref(repository: &Repository, args: &[&str]) -> Result<(), RestoreError> {
    let command = ["-c", "core.hooksPath=/dev/null", "update-ref", "--no-deref"];
    repository.git().output(command.iter().chain(args))?;
    Ok(())
}

fn write(path: &Path, content: &[u8]) -> Result<(), RestoreError> {
    std::fs::write(path, content).map_err(|source| RestoreError::Io {
        path: path.into(),
        source,
    })
}

fn remove(path: &PathBuf) -> Result<(), RestoreError> {
    match std::fs::remove_file(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => Err(RestoreError::Io {
            path: path.clone(),
            source,
        }),
        _ => Ok(()),
    }
}
