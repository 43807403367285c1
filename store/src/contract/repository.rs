//! What a content says of the repository, of what trees cannot say, and of further trees and files.

use gix::{ObjectId, bstr::BStr};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::Digest as _;

use super::{Attachment, CapturedList, Flags, IntentToAdd, LfsPointer, Submodule, required};
use crate::{byte_text::ByteText, digest::Digest, oid::Oid, repo_path::RepoPath};

/// Where the worktree comes from.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Repository {
    /// Digest over the sorted root commit ids of head, each followed by a line feed; null where unknown.
    #[serde(deserialize_with = "required")]
    pub id: Option<Digest>,
    /// Hash function of the repository.
    pub object_format: ObjectFormat,
    /// Commit that the work started from.
    #[serde(deserialize_with = "required")]
    pub base: Option<Oid>,
    /// Number of commits on the longest path from base to head, base not counted.
    #[serde(deserialize_with = "required")]
    pub depth: Option<u64>,
    /// Commit that `HEAD` names; null on an unborn branch.
    #[serde(deserialize_with = "required")]
    pub head: Option<Oid>,
    /// Full name of the branch that `HEAD` is on; null where detached.
    #[serde(deserialize_with = "required")]
    pub branch: Option<ByteText>,
    /// Tree of the worktree.
    pub worktree_tree: Oid,
    /// Tree of the stage-0 entries of the index without intent-to-add.
    pub index_tree: Oid,
    /// Merge, cherry-pick or revert in progress.
    #[serde(deserialize_with = "required")]
    pub operation: Option<Operation>,
}

/// Hash function of a repository.
#[derive(Clone, Copy, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ObjectFormat {
    /// SHA-1, ids of 40 digits.
    Sha1,
    /// SHA-256, ids of 64 digits.
    Sha256,
}

impl ObjectFormat {
    /// Tells whether an object id is of this format.
    pub fn fits(self, id: &Oid) -> bool {
        ObjectFormat::from(id.kind()) == self
    }
}

impl From<gix::hash::Kind> for ObjectFormat {
    fn from(kind: gix::hash::Kind) -> Self {
        if kind.len_in_bytes() == 32 {
            ObjectFormat::Sha256
        } else {
            ObjectFormat::Sha1
        }
    }
}

/// A merge, cherry-pick or revert in progress, with what Git keeps of it.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Operation {
    /// Which operation.
    pub kind: OperationKind,
    /// Commits in `MERGE_HEAD`, `CHERRY_PICK_HEAD` or `REVERT_HEAD`, in order.
    pub heads: Vec<Oid>,
    /// Content of `MERGE_MSG`.
    #[serde(deserialize_with = "required")]
    pub message: Option<ByteText>,
}

/// Kind of an operation that travels.
#[derive(Clone, Copy, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OperationKind {
    /// `git merge`.
    Merge,
    /// `git cherry-pick`.
    CherryPick,
    /// `git revert`.
    Revert,
}

/// What trees cannot say of the worktree.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Worktree {
    /// Conversions in force when it was captured.
    pub conversions: Conversions,
    /// Entries of `git add --intent-to-add`.
    pub intent_to_add: CapturedList<IntentToAdd>,
    /// Index flags.
    pub flags: CapturedList<Flags>,
    /// Directories without a file below them.
    pub empty_directories: CapturedList<RepoPath>,
    /// Summary of the untracked files.
    pub untracked: Untracked,
    /// Submodules that differ from head's tree or hold changes.
    pub submodules: CapturedList<Submodule>,
    /// LFS pointers that differ from head's tree.
    pub lfs: CapturedList<LfsPointer>,
}

/// Git's built-in conversions in force, as configuration would spell them.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Conversions {
    /// `core.autocrlf`.
    pub autocrlf: AutoCrlf,
    /// `core.eol`.
    pub eol: Eol,
}

/// Values of `core.autocrlf`, git-config(1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AutoCrlf {
    /// Converts both ways.
    True,
    /// Converts nothing.
    False,
    /// Converts on the way in.
    Input,
}

/// Values of `core.eol`, git-config(1).
#[derive(Clone, Copy, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Eol {
    /// Line feed.
    Lf,
    /// Carriage return and line feed.
    Crlf,
    /// What the system uses.
    Native,
}

/// Summary of the untracked files.
#[derive(Clone, Copy, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Untracked {
    /// Number of files.
    pub count: u64,
    /// Bytes on disk.
    pub bytes: u64,
    /// SHA-256 over `<mode> <oid> <path>\0`, sorted by these bytes.
    pub digest: Digest,
}

impl Untracked {
    /// Sums files up, each given by mode, id and path.
    pub fn of<'a>(files: impl IntoIterator<Item = (u16, ObjectId, &'a BStr)>, bytes: u64) -> Self {
        let line = |(mode, id, path): (u16, ObjectId, &BStr)| {
            let mut line = format!("{mode:o} {id} ").into_bytes();
            line.extend_from_slice(path);
            line.push(0);
            line
        };
        let mut lines: Vec<Vec<u8>> = files.into_iter().map(line).collect();
        lines.sort_unstable();
        let mut digest = sha2::Sha256::new();
        for line in &lines {
            digest.update(line);
        }
        Untracked {
            count: lines.len() as u64,
            bytes,
            digest: Digest::from_sha256(digest.finalize().into()),
        }
    }
}

/// Mode of a file in an index or tree.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, JsonSchema, Serialize, Deserialize,
)]
pub enum FileMode {
    /// A file.
    #[serde(rename = "100644")]
    Regular,
    /// A file that may be run.
    #[serde(rename = "100755")]
    Executable,
    /// A symbolic link.
    #[serde(rename = "120000")]
    Link,
    /// A submodule.
    #[serde(rename = "160000")]
    Gitlink,
}

/// Further trees and files of the checkpoint.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Artifacts {
    /// Tree of the paths that conversion does not bring back.
    #[serde(deserialize_with = "required")]
    pub raw: Option<Oid>,
    /// Trees of the conflict stages 1, 2 and 3; empty where the index is merged.
    pub conflicts: Vec<Oid>,
    /// Files added on request.
    pub attachments: Vec<Attachment>,
}
