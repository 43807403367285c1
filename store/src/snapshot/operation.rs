//! What Git keeps of an operation that waits for the user.

use std::{fs, io, path::Path};

use gix::{ObjectId, bstr::ByteSlice};

use super::SnapshotError;
use crate::{
    contract::{Blocker, BlockerKind, Omission, OmissionReason, Operation, OperationKind},
    oid::Oid,
};

/// An operation in progress.
pub(super) enum InProgress {
    /// One that travels.
    Carried(Operation),
    /// One that does not, by its name.
    LeftOut(&'static str),
    /// What `git merge --autostash` has set aside.
    Autostash,
    /// The message that `git merge --squash` has prepared.
    SquashMessage,
}

/// Finds the operations in progress in the worktree of a git directory.
pub(super) fn find(git_dir: &Path) -> Result<Vec<InProgress>, SnapshotError> {
    let is_there = |name: &str| git_dir.join(name).exists();
    let mut found = Vec::new();
    // Each of these may have a CHERRY_PICK_HEAD or REVERT_HEAD of its own, which is a step of it.
    if is_there("rebase-apply/applying") {
        found.push(InProgress::LeftOut("am"));
    } else if is_there("rebase-merge") || is_there("rebase-apply") {
        found.push(InProgress::LeftOut("rebase"));
    } else if is_there("sequencer") {
        found.push(InProgress::LeftOut("sequence of cherry-picks or reverts"));
    } else if let Some(operation) = carried(git_dir)? {
        found.push(InProgress::Carried(operation));
    }
    if is_there("BISECT_LOG") {
        found.push(InProgress::LeftOut("bisect"));
    }
    if is_there("MERGE_AUTOSTASH") {
        found.push(InProgress::Autostash);
    }
    if is_there("SQUASH_MSG") {
        found.push(InProgress::SquashMessage);
    }
    Ok(found)
}

/// Names what does not travel, and what of it blocks whoever takes over.
pub(super) fn left_out(name: &str, text: String) -> (Omission, Blocker) {
    let omission = Omission {
        path: None,
        text: Some(text.clone()),
        reason: OmissionReason::OperationState,
        detail: Some(name.into()),
        citation: None,
    };
    let blocker = Blocker {
        kind: BlockerKind::Operation,
        path: None,
        detail: Some(text),
    };
    (omission, blocker)
}

fn carried(git_dir: &Path) -> Result<Option<Operation>, SnapshotError> {
    let kinds = [
        ("MERGE_HEAD", OperationKind::Merge),
        ("CHERRY_PICK_HEAD", OperationKind::CherryPick),
        ("REVERT_HEAD", OperationKind::Revert),
    ];
    for (name, kind) in kinds {
        let Some(text) = read(&git_dir.join(name))? else {
            continue;
        };
        let heads = text
            .lines()
            .map(|line| ObjectId::from_hex(line.trim()).map(Oid::from))
            .collect::<Result<Vec<Oid>, _>>();
        let heads = heads.map_err(|error| SnapshotError::Io {
            path: git_dir.join(name),
            source: io::Error::other(error),
        })?;
        let message = read(&git_dir.join("MERGE_MSG"))?.map(Into::into);
        return Ok(Some(Operation {
            kind,
            heads,
            message,
        }));
    }
    Ok(None)
}

fn read(path: &Path) -> Result<Option<Vec<u8>>, SnapshotError> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(SnapshotError::Io {
            path: path.into(),
            source,
        }),
    }
}
