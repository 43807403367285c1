//! What a capture writes into the manifest by itself.

use std::{fmt, marker::PhantomData};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::{Citation, FileMode, required};
use crate::{
    byte_text::ByteText, digest::Digest, entry_id::EntryId, oid::Oid, repo_path::RepoPath,
};

/// A list that stands in the manifest, or beside it in the blob `lists/<section>.<field>.cbor`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CapturedList<T> {
    /// The entries themselves.
    Inline(Vec<T>),
    /// The entries are in a blob of the checkpoint.
    Elsewhere(ListDigest),
}

/// How many entries a list blob holds, and the SHA-256 of its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListDigest {
    /// Number of entries.
    pub count: u64,
    /// Digest of the blob's bytes.
    pub sha256: Digest,
}

impl<T> CapturedList<T> {
    /// Longest list that may stand in the manifest, in entries.
    pub const MAX_INLINE: usize = 1_000;

    /// Returns the number of entries.
    pub fn count(&self) -> u64 {
        match self {
            CapturedList::Inline(entries) => entries.len() as u64,
            CapturedList::Elsewhere(list) => list.count,
        }
    }

    /// Returns the entries that stand in the manifest; none where they are in a blob.
    pub fn inline(&self) -> &[T] {
        match self {
            CapturedList::Inline(entries) => entries,
            CapturedList::Elsewhere(_) => &[],
        }
    }
}

impl<T> Default for CapturedList<T> {
    fn default() -> Self {
        CapturedList::Inline(Vec::new())
    }
}

impl<T> From<Vec<T>> for CapturedList<T> {
    fn from(entries: Vec<T>) -> Self {
        CapturedList::Inline(entries)
    }
}

impl<T: Serialize> Serialize for CapturedList<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            CapturedList::Inline(entries) => entries.serialize(serializer),
            CapturedList::Elsewhere(list) => list.serialize(serializer),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for CapturedList<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> de::Visitor<'de> for Visitor<T> {
            type Value = CapturedList<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list, or {count, sha256} of one")
            }

            fn visit_seq<A: de::SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
                Vec::deserialize(de::value::SeqAccessDeserializer::new(seq))
                    .map(CapturedList::Inline)
            }

            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                ListDigest::deserialize(de::value::MapAccessDeserializer::new(map))
                    .map(CapturedList::Elsewhere)
            }
        }
        deserializer.deserialize_any(Visitor(PhantomData))
    }
}

/// An index entry that says a file will be added, without its content: `git add --intent-to-add`.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IntentToAdd {
    /// Path of the entry.
    pub path: RepoPath,
    /// Mode of the entry.
    pub mode: FileMode,
}

/// The index flags of a path that has any.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Flags {
    /// Path of the entry.
    pub path: RepoPath,
    /// Set by `git update-index --assume-unchanged`.
    pub assume_unchanged: bool,
    /// Set by `git update-index --skip-worktree` or a sparse checkout.
    pub skip_worktree: bool,
}

/// A submodule whose commit differs from the one in head's tree, or that holds changes.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Submodule {
    /// Path of the gitlink.
    pub path: RepoPath,
    /// Commit that is checked out, or null where none is.
    #[serde(deserialize_with = "required")]
    pub commit: Option<Oid>,
    /// URL as `.gitmodules` gives it, without credentials.
    #[serde(deserialize_with = "required")]
    pub url: Option<ByteText>,
    /// Whether the submodule's own worktree or index holds changes.
    pub dirty: bool,
}

/// A Git LFS pointer file that differs from head's.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LfsPointer {
    /// Path of the pointer.
    pub path: RepoPath,
    /// Digest of the content that the pointer stands for.
    pub oid: Digest,
    /// Size of that content in bytes.
    pub size: u64,
}

/// A path or fact that is left out, with the reason.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Omission {
    /// The path, or null for a fact.
    #[serde(deserialize_with = "required")]
    pub path: Option<RepoPath>,
    /// The fact, or null for a path.
    #[serde(deserialize_with = "required")]
    pub text: Option<String>,
    /// Why it is left out.
    pub reason: OmissionReason,
    /// More on the reason: the filter driver, the size.
    #[serde(deserialize_with = "required")]
    pub detail: Option<String>,
    /// Where to read more.
    #[serde(deserialize_with = "required")]
    pub citation: Option<Citation>,
}

/// Why a path or fact is left out.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum OmissionReason {
    /// Over a size limit.
    TooLarge,
    /// A FIFO, socket or device.
    SpecialFile,
    /// The system did not let us read it.
    Unreadable,
    /// A repository of its own that is no submodule.
    NestedRepository,
    /// Changes inside a submodule.
    SubmoduleDirty,
    /// Outside the paths of this work.
    OutOfScope,
    /// Holds a secret.
    Secret,
    /// A filter driver keeps its bytes out of the repository.
    Filtered,
    /// The author asked for it.
    ByRequest,
    /// State of a rebase, `am`, sequence or bisect in progress.
    OperationState,
    /// The patterns of a sparse checkout.
    SparsePatterns,
    /// Longer than the system allows.
    PathTooLong,
    /// Git servers refuse it.
    RefusedByGit,
}

/// What makes taking over impossible until it is dealt with.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Blocker {
    /// What kind of thing is missing.
    pub kind: BlockerKind,
    /// The path it concerns, if one.
    #[serde(deserialize_with = "required")]
    pub path: Option<RepoPath>,
    /// More on it.
    #[serde(deserialize_with = "required")]
    pub detail: Option<String>,
}

/// Kind of a blocker; the first three are the author's, the others a capture's.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum BlockerKind {
    /// Generated files are missing.
    Generated,
    /// Something of the environment is missing.
    Environment,
    /// An access right is missing.
    Access,
    /// The content of an LFS pointer is not here.
    LfsMissing,
    /// The commit of a submodule is on no remote.
    SubmoduleUnreachable,
    /// A submodule holds changes that do not travel.
    SubmoduleDirty,
    /// An operation is in progress that does not travel.
    Operation,
}

/// What the manifest says of a receipt; nothing of its command or output.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReceiptReference {
    /// Id of the receipt, `receipts/<id>.cbor`.
    pub id: EntryId,
    /// Digest of the receipt's bytes.
    pub digest: Digest,
    /// Worktree tree that it covers.
    pub tree: Oid,
    /// How the command ended.
    pub conclusion: Conclusion,
    /// Whether it shows the state before or after the change.
    #[serde(deserialize_with = "required")]
    pub role: Option<ReceiptRole>,
}

/// How a command ended.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Conclusion {
    /// Exit status 0.
    Pass,
    /// Anything else.
    Fail,
}

/// Which state a receipt shows.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum ReceiptRole {
    /// Before the change.
    Before,
    /// After the change.
    After,
}

/// A file that travels beside the worktree, in `attachments/<name>`.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attachment {
    /// File name.
    pub name: EntryId,
    /// Digest of its bytes.
    pub sha256: Digest,
    /// Size in bytes.
    pub size: u64,
}

/// An ignore rule that kept something out, and how much.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exclusion {
    /// File of the rule: relative to the worktree, or `info/exclude`, or `core.excludesFile`.
    pub source: ByteText,
    /// Line of the rule, from 1.
    pub line: u64,
    /// The pattern; null for `core.excludesFile` unless `handoff.carryExcludes` is set.
    #[serde(deserialize_with = "required")]
    pub pattern: Option<ByteText>,
    /// Always `ignored`.
    pub reason: ExcludedReason,
    /// How many directory entries matched; a directory counts once.
    pub entries: u64,
}

/// Why an exclusion is one.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum ExcludedReason {
    /// An ignore rule matched.
    Ignored,
}

/// Whether the commit of a submodule can be had.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SubmoduleReach {
    /// Path of the gitlink.
    pub path: RepoPath,
    /// Whether a remote-tracking branch of the submodule reaches it.
    pub reachable: Reachable,
}

/// Answer that may be unknown.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Reachable {
    /// It can be had.
    Yes,
    /// It cannot.
    No,
    /// It was not possible to find out.
    Unknown,
}

/// Whether the content of an LFS pointer was here at capture.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LfsPresence {
    /// Path of the pointer.
    pub path: RepoPath,
    /// Whether the content was in the local LFS store.
    pub present: bool,
}
