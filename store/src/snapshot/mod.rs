//! Captures a worktree: reads it without touching it, and writes its objects into the repository.
//!
//! The worktree tree is what `git add -A` would give into a private copy of the index, corrected where Git loses
//! something. Every path ends in exactly one of: captured, excluded by an ignore rule, omitted. The index file,
//! `HEAD`, refs and the worktree are never written; nothing here knows records.

mod assembly;
mod attributes;
mod capture;
pub(crate) mod changes;
mod content;
mod conversion;
mod disk;
mod encoding;
mod error;
mod ignore;
mod index;
pub(crate) mod keep;
pub(crate) mod lfs;
mod limits;
mod names;
mod nested;
mod omit;
mod operation;
mod queue;
mod rounds;
mod scan;
mod submodules;
mod tree;
mod visit;

use std::{os::unix::ffi::OsStrExt, path::PathBuf};

use gix::{
    ObjectId,
    bstr::{BStr, BString},
};

pub use capture::{capture, capture_and_keep};
pub use error::SnapshotError;
pub use keep::keep;
pub use omit::check_pathspec;

use crate::{
    contract::{
        Blocker, Conversions, Exclusion, Flags, IntentToAdd, LfsPointer, LfsPresence, Omission,
        Operation, Submodule, SubmoduleReach, Untracked,
    },
    oid::Oid,
    ref_store::Head,
    repo_path::RepoPath,
    timestamp::Timestamp,
};

/// What a capture is asked for.
#[derive(Clone, Debug, Default)]
pub struct CaptureOptions {
    /// Pathspecs (gitglossary(7)) of what is to be left out.
    pub omit: Vec<BString>,
    /// Files of which a scan has said that they hold a secret, from the top of the worktree: they are left out for that
    /// reason, where they are.
    pub secret: Vec<BString>,
    /// Directory below the top of the worktree that the pathspecs are relative to.
    pub prefix: PathBuf,
    /// Submodules that a restore left unfilled.
    pub unfilled: Vec<Unfilled>,
}

/// A submodule that a restore left unfilled, and whose commit only the restored record knows.
///
/// It counts as long as the submodule is not filled and the index says what it said then.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unfilled {
    /// Its path.
    pub path: BString,
    /// The commit that was restored.
    pub commit: ObjectId,
    /// The commit in the index; none where it has no entry for the path.
    pub staged: Option<ObjectId>,
}

/// The state of a worktree at one moment: trees that are in the repository, and what trees cannot say.
///
/// Invariant: all lists are sorted, by path bytes where they have paths.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Tree of the worktree.
    pub worktree_tree: Oid,
    /// Tree of the stage-0 entries of the index without intent-to-add.
    pub index_tree: Oid,
    /// Where `HEAD` was.
    pub head: Head,
    /// Trees of the conflict stages 1, 2 and 3; empty where the index is merged.
    pub conflict_trees: Vec<Oid>,
    /// Unmerged paths.
    pub conflicts: Vec<RepoPath>,
    /// Tree of the bytes on disk that conversion does not bring back.
    pub raw_tree: Option<Oid>,
    /// Merge, cherry-pick or revert in progress.
    pub operation: Option<Operation>,
    /// Conversions in force.
    pub conversions: Conversions,
    /// Entries of `git add --intent-to-add`.
    pub intent_to_add: Vec<IntentToAdd>,
    /// Index flags.
    pub flags: Vec<Flags>,
    /// Directories with nothing in them.
    pub empty_directories: Vec<RepoPath>,
    /// Summary of the untracked files.
    pub untracked: Untracked,
    /// Submodules that differ from head's tree or hold changes.
    pub submodules: Vec<Submodule>,
    /// Whether their commits can be had.
    pub submodule_reach: Vec<SubmoduleReach>,
    /// LFS pointers that differ from head's tree.
    pub lfs: Vec<LfsPointer>,
    /// Whether their contents are here.
    pub lfs_presence: Vec<LfsPresence>,
    /// What is left out, and why.
    pub omissions: Vec<Omission>,
    /// What must be dealt with before taking over.
    pub blockers: Vec<Blocker>,
    /// Ignore rules that kept something out.
    pub excluded: Vec<Exclusion>,
    /// Newest modification time of a file that differs from head's.
    pub last_edit_at: Option<Timestamp>,
    /// Whether the index has no checksum (`index.skipHash`), so that damage to it cannot be seen.
    pub index_unchecked: bool,
}

/// Makes the path of something that the walk or a valid index has.
fn repo_path(path: &BStr) -> RepoPath {
    RepoPath::from_bytes(path).expect("walks and valid indexes have whole paths without dots")
}

/// Makes a path on disk of one that the walk or a valid index has.
fn disk_path(path: &BStr) -> PathBuf {
    std::ffi::OsStr::from_bytes(path).into()
}
