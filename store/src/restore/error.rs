//! Why a record could not be restored.

use std::{fmt, path::PathBuf};

use gix::{ObjectId, bstr::BString};

use crate::{
    conversion::ConversionError, error_code::ErrorCode, git::GitError, ref_store::RefError,
    repo_path::RepoPath, repository::OpenError,
};

/// Cause of an error, boxed at the edge to gix and to the caller.
pub type Cause = Box<dyn std::error::Error + Send + Sync>;

/// Says why a record could not be restored.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// The directory for a new repository or worktree holds something.
    #[error("{dir} is not empty: it holds {}", listed(.entries))]
    NotEmpty {
        /// The directory.
        dir: PathBuf,
        /// Names of what it holds.
        entries: Vec<BString>,
    },
    /// Something that was not captured, or that is ignored, is in the way.
    #[error("what is not part of the captured state would be overwritten or removed: {}", listed(.0))]
    InTheWay(Vec<RepoPath>),
    /// Something is where a file of a new directory belongs.
    #[error("`{0}` is there already, and not from this restore: remove it")]
    Exists(BString),
    /// An interrupted restore of another record left the directory half made.
    #[error("{dir} holds an interrupted restore of {found}: remove it")]
    Interrupted {
        /// The directory.
        dir: PathBuf,
        /// The record that was being restored.
        found: ObjectId,
    },
    /// A tree holds more paths than any worktree does.
    #[error("tree {tree} holds more than {limit} paths")]
    TooManyPaths {
        /// The tree.
        tree: ObjectId,
        /// Most paths that are restored.
        limit: u64,
    },
    /// There is no worktree to restore into.
    #[error("the repository at {0} is bare: there is no worktree to restore into")]
    Bare(PathBuf),
    /// An operation whose state does not travel is in progress here.
    #[error("{0} is in progress here: finish or abort it first")]
    Operation(&'static str),
    /// The record is of an unborn branch, and the branch is born here.
    #[error("the record is of a branch without a commit, and {0} has one here")]
    Born(BString),
    /// The record's index cannot be one.
    #[error("the record's index holds `{0}` twice")]
    IndexTwice(BString),
    /// The record's branch is no branch name.
    #[error("`{0}` is no name of a branch")]
    Branch(BString),
    /// Files changed between their capture and their replacement.
    #[error("files changed while they were being replaced: {}", listed(.0))]
    Changed(Vec<RepoPath>),
    /// The index changed while the files were being replaced.
    #[error("the index at {0} changed while the files were being replaced")]
    IndexChanged(PathBuf),
    /// Another process holds the index, or left its lock behind.
    #[error("the index is locked: {0} exists")]
    Locked(PathBuf),
    /// What is on disk afterwards is not what the record holds.
    #[error("the {part} on disk is {found}, the record holds {expected}: {}", listed(.paths))]
    Mismatch {
        /// `worktree` or `index`.
        part: &'static str,
        /// The tree of the record.
        expected: ObjectId,
        /// The tree recomputed from disk.
        found: ObjectId,
        /// Where they differ, as far as is known.
        paths: Vec<RepoPath>,
    },
    /// A directory that was filled holds something else too.
    #[error("the directory holds what is not part of the record, remove it: {}", listed(.0))]
    Strays(Vec<RepoPath>),
    /// An object is missing or damaged.
    #[error("object {id} is missing or damaged")]
    Object {
        /// Its id.
        id: ObjectId,
        /// What went wrong.
        #[source]
        source: Cause,
    },
    /// A file of the worktree could not be read or written.
    #[error("`{path}` could not be {action}")]
    File {
        /// Its path in the worktree.
        path: BString,
        /// What was tried: `written`, `read`, `removed`.
        action: &'static str,
        /// What went wrong.
        #[source]
        source: std::io::Error,
    },
    /// A file of Git's own, or a directory, could not be read or written.
    #[error("{path} could not be read or written")]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What went wrong.
        #[source]
        source: std::io::Error,
    },
    /// The index could not be read or written.
    #[error("the index at {path} could not be read or written")]
    Index {
        /// The index file.
        path: PathBuf,
        /// What went wrong.
        #[source]
        source: Cause,
    },
    /// What is here could not be captured before it is replaced.
    #[error("what is here could not be captured")]
    Capture {
        /// Code of the cause.
        code: ErrorCode,
        /// What went wrong.
        #[source]
        source: Cause,
    },
    /// Content could not be converted.
    #[error(transparent)]
    Conversion(#[from] ConversionError),
    /// A ref could not be read or moved.
    #[error(transparent)]
    Ref(#[from] RefError),
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The new repository or worktree could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
}

impl RestoreError {
    /// Returns the code that the error carries.
    pub fn code(&self) -> ErrorCode {
        match self {
            RestoreError::NotEmpty { .. }
            | RestoreError::InTheWay(_)
            | RestoreError::Exists(_)
            | RestoreError::Interrupted { .. }
            | RestoreError::Born(_) => ErrorCode::DirectoryNotEmpty,
            RestoreError::Operation(_) => ErrorCode::Blocked,
            RestoreError::IndexTwice(_) | RestoreError::Branch(_) => ErrorCode::MalformedManifest,
            RestoreError::Changed(_) | RestoreError::IndexChanged(_) => ErrorCode::WorktreeChanged,
            RestoreError::Mismatch { .. } | RestoreError::Strays(_) => ErrorCode::TreeMismatch,
            RestoreError::Object { .. } | RestoreError::Conversion(_) => ErrorCode::MissingObject,
            RestoreError::Capture { code, .. } => *code,
            RestoreError::Ref(RefError::Moved { .. }) => ErrorCode::CasConflict,
            RestoreError::Ref(_) | RestoreError::Git(_) | RestoreError::Open(_) => {
                ErrorCode::GitFailed
            }
            RestoreError::TooManyPaths { .. } => ErrorCode::LimitExceeded,
            RestoreError::Bare(_) => ErrorCode::Usage,
            RestoreError::Locked(_)
            | RestoreError::File { .. }
            | RestoreError::Io { .. }
            | RestoreError::Index { .. } => ErrorCode::Io,
        }
    }
}

/// Shows the first ten of many names.
fn listed<T: fmt::Display>(names: &[T]) -> String {
    let shown: Vec<String> = names
        .iter()
        .take(10)
        .map(|name| format!("`{name}`"))
        .collect();
    match names.len() - shown.len() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
