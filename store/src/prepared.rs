//! Prepared handoffs: snapshot and finished content, kept by a ref of this repository and in no history.
//!
//! `refs/handoff-local/prepared/<worktree>/<scope>` names a commit with a checkpoint's tree, `prepared.cbor` in place of
//! the manifest, whose parents are head and the heads of an operation.

use gix::{
    ObjectId,
    bstr::{BStr, BString, ByteSlice},
    objs::Kind,
    refs::FullName,
};

use crate::{
    contract::{Prepared, codec},
    digest::Digest,
    record::{RecordError, RootTree, Stored, read_object},
    ref_store::RefError,
    repository::Repository,
    scope::ScopeName,
};

/// Below it stand the prepared handoffs, by worktree and scope.
pub const PREPARED: &str = "refs/handoff-local/prepared/";

/// Largest commit and root tree that a prepared handoff may have, in bytes.
const MAX_COMMIT_BYTES: u64 = 1 << 20;

/// A commit that holds a prepared handoff, taken apart.
#[derive(Clone, Debug)]
pub struct PreparedHandoff {
    /// Id of the commit.
    pub id: ObjectId,
    /// Its parents: head and the heads of an operation.
    pub parents: Vec<ObjectId>,
    /// The message.
    pub message: BString,
    /// The entries of its tree, the document in the place of the manifest.
    pub root: RootTree,
    /// The document.
    pub document: Stored<Prepared>,
}

impl PreparedHandoff {
    /// Reads the prepared handoff at a commit.
    ///
    /// # Errors
    ///
    /// Where an object is missing, the commit has not the shape of a prepared handoff, or the document is not
    /// canonical.
    pub fn read(objects: &gix::Repository, id: ObjectId) -> Result<Self, RecordError> {
        let kind = objects.object_hash();
        let data = read_object(objects, id, Kind::Commit, MAX_COMMIT_BYTES)?;
        let commit = gix::objs::CommitRef::from_bytes(&data, kind)
            .map_err(|_| RecordError::Commit { id })?;
        let tree = read_object(objects, commit.tree(), Kind::Tree, MAX_COMMIT_BYTES)?;
        let root = RootTree::parse_prepared(&tree, kind)
            .map_err(|source| RecordError::Tree { id, source })?;
        let bytes = read_object(objects, root.manifest, Kind::Blob, codec::MAX_BYTES as u64)?;
        let value = codec::decode(&bytes).map_err(|source| RecordError::Document {
            id,
            name: "prepared.cbor",
            source,
        })?;
        Ok(PreparedHandoff {
            id,
            parents: commit.parents().collect(),
            message: commit.message.into(),
            root,
            document: Stored {
                value,
                digest: Digest::of(&bytes),
            },
        })
    }

    /// Returns the value of a note at the end of the message.
    pub fn note(&self, key: &str) -> Option<&str> {
        let mut lines = self.message.lines();
        lines.find_map(|line| {
            let value = line.strip_prefix(key.as_bytes())?.strip_prefix(b": ")?;
            value.to_str().ok()
        })
    }
}

/// Returns the ref of the handoff that was prepared for a scope in the worktree at hand.
///
/// # Errors
///
/// Where the name of the worktree makes no valid ref.
pub fn name(repository: &Repository, scope: &ScopeName) -> Result<FullName, RefError> {
    let name = format!("{PREPARED}{}/{scope}", repository.worktree_name().as_str());
    FullName::try_from(name.as_str()).map_err(|_| RefError::Answer(name.into()))
}

/// Returns the scope of a prepared handoff in the main worktree, by its ref.
pub fn scope_of_main(name: &BStr) -> Option<ScopeName> {
    let scope = name
        .strip_prefix(PREPARED.as_bytes())?
        .strip_prefix(b"main/")?;
    std::str::from_utf8(scope).ok()?.parse().ok()
}

/// Returns the ref of the handoff that was prepared for a scope in the main worktree of a repository.
pub fn name_of_main(scope: &ScopeName) -> FullName {
    let name = format!("{PREPARED}main/{scope}");
    FullName::try_from(name.as_str()).expect("a scope name makes a valid ref")
}
