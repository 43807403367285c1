//! Why a worktree cannot be captured.

use std::{fmt, path::PathBuf};

use gix::{ObjectId, bstr::BString};

use crate::{
    git::GitError, new_objects::NewObjectsError, ref_store::RefError, repo_path::RepoPath,
};

/// Cause of an error, boxed at the edge to gix and the system.
pub(super) type Cause = Box<dyn std::error::Error + Send + Sync>;

/// Says why a worktree could not be captured; nothing was written then.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// There is no worktree.
    #[error("there is no worktree to capture: {0} is a bare repository, or the inside of one")]
    Bare(PathBuf),
    /// The index is damaged, or cannot be read.
    #[error("the index at {path} cannot be read")]
    Index {
        /// The index file.
        path: PathBuf,
        /// What went wrong.
        #[source]
        source: Cause,
    },
    /// The worktree or one of Git's own files cannot be read.
    #[error("{path} cannot be read")]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What went wrong.
        #[source]
        source: std::io::Error,
    },
    /// Objects could not be written.
    #[error(transparent)]
    Write(#[from] NewObjectsError),
    /// An object is missing or damaged.
    #[error("object {id} is missing or damaged")]
    Object {
        /// Its id.
        id: ObjectId,
        /// What went wrong.
        #[source]
        source: Cause,
    },
    /// Configuration that cannot be used.
    #[error("{what} cannot be used")]
    Config {
        /// The setting.
        what: String,
        /// What is wrong with it.
        #[source]
        source: Cause,
    },
    /// A filter, or another conversion that attributes ask for, failed.
    #[error("the content of `{path}` could not be converted for the repository")]
    Filter {
        /// The path.
        path: RepoPath,
        /// What went wrong.
        #[source]
        source: Cause,
    },
    /// Files over the limits.
    #[error("{}", over_limit(.files, *.total))]
    LimitExceeded {
        /// Each file over `handoff.maxFileBytes`, with its size; where `total` is set, the biggest ones.
        files: Vec<(RepoPath, u64)>,
        /// Bytes of all new and modified files, where they are over `handoff.maxTotalBytes`.
        total: Option<u64>,
    },
    /// Paths that kept changing while they were read.
    #[error("the worktree changed while it was read: {}", listed(.0))]
    Changed(Vec<RepoPath>),
    /// The index holds what Git servers refuse.
    #[error("the index holds what git refuses to receive: {}", listed(.0))]
    UnsafePath(Vec<RepoPath>),
    /// A pathspec that cannot be used.
    #[error("`{pathspec}` is not a pathspec")]
    Pathspec {
        /// The pathspec.
        pathspec: BString,
        /// What is wrong with it.
        #[source]
        source: Cause,
    },
    /// Refs or `HEAD` cannot be read.
    #[error(transparent)]
    Ref(#[from] RefError),
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
}

fn listed(paths: &[RepoPath]) -> impl fmt::Display {
    let shown: Vec<String> = paths
        .iter()
        .take(10)
        .map(|path| format!("`{path}`"))
        .collect();
    match paths.len() - shown.len() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

fn over_limit(files: &[(RepoPath, u64)], total: Option<u64>) -> String {
    let names: Vec<String> = files
        .iter()
        .map(|(path, size)| format!("`{path}` ({size} bytes)"))
        .collect();
    match total {
        Some(total) => format!(
            "new and modified files are over the limit with {total} bytes together, the biggest {}",
            names.join(", ")
        ),
        None => format!("over the size limit of one file: {}", names.join(", ")),
    }
}
