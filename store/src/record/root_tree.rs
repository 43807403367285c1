//! The tree of a record: which entries there are, and of which kind.

use gix::{
    ObjectId,
    bstr::BString,
    objs::tree::{EntryKind, EntryMode},
};

/// Names of the entries, as DESIGN's contract fixes them.
pub(crate) mod name {
    pub(crate) const MANIFEST: &str = "manifest.cbor";
    pub(crate) const PREPARED: &str = "prepared.cbor";
    pub(crate) const ACCEPT: &str = "accept.cbor";
    pub(crate) const RELEASE: &str = "release.cbor";
    pub(crate) const WORKTREE: &str = "worktree";
    pub(crate) const RAW: &str = "raw";
    pub(crate) const INDEX: &str = "index";
    pub(crate) const CONFLICTS: &str = "index-conflicts";
    pub(crate) const RECEIPTS: &str = "receipts";
    pub(crate) const LISTS: &str = "lists";
    pub(crate) const ATTACHMENTS: &str = "attachments";
}

/// The ids of a record's root entries; all that the tree holds, so that equal values are equal trees.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RootTree {
    /// Blob `manifest.cbor`; of a prepared handoff `prepared.cbor`.
    pub manifest: ObjectId,
    /// Blob `accept.cbor`.
    pub accept: Option<ObjectId>,
    /// Blob `release.cbor`.
    pub release: Option<ObjectId>,
    /// Tree `worktree/`.
    pub worktree: ObjectId,
    /// Tree `index/`.
    pub index: ObjectId,
    /// Tree `raw/`.
    pub raw: Option<ObjectId>,
    /// Tree `index-conflicts/`.
    pub conflicts: Option<ObjectId>,
    /// Tree `receipts/`.
    pub receipts: Option<ObjectId>,
    /// Tree `lists/`.
    pub lists: Option<ObjectId>,
    /// Tree `attachments/`.
    pub attachments: Option<ObjectId>,
    /// Entries of a later version: name, mode and id.
    pub unknown: Vec<(BString, EntryMode, ObjectId)>,
}

/// The entries of a small tree of blobs, such as `receipts/`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SubTree(pub Vec<(BString, EntryMode, ObjectId)>);

/// Says why a tree is no tree of a record.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum RootTreeError {
    /// The bytes are no tree, or its entries are not in order.
    #[error("the tree is malformed")]
    Malformed,
    /// An entry has the wrong mode.
    #[error("the entry `{0}` has the wrong mode")]
    Mode(&'static str),
    /// A required entry is missing.
    #[error("the entry `{0}` is missing")]
    Missing(&'static str),
}

/// Reads the entries of a tree, in order and none twice.
pub(crate) fn entries(
    data: &[u8],
    kind: gix::hash::Kind,
) -> Result<Vec<(BString, EntryMode, ObjectId)>, RootTreeError> {
    let mut found: Vec<(BString, EntryMode, ObjectId)> = Vec::new();
    for entry in gix::objs::TreeRefIter::from_bytes(data, kind) {
        let entry = entry.map_err(|_| RootTreeError::Malformed)?;
        found.push((entry.filename.into(), entry.mode, entry.oid.into()));
    }
    let key = |(name, mode, _): &(BString, EntryMode, ObjectId)| {
        let mut key = name.to_vec();
        key.extend(mode.is_tree().then_some(b'/'));
        key
    };
    let mut names: Vec<&BString> = found.iter().map(|(name, _, _)| name).collect();
    names.sort();
    let twice = names.windows(2).any(|pair| pair[0] == pair[1]);
    // Git compares a directory's name as if it ended in a slash: gitformat of trees, `base_name_compare`.
    let ordered = found.windows(2).all(|pair| key(&pair[0]) < key(&pair[1]));
    if twice || !ordered {
        Err(RootTreeError::Malformed)
    } else {
        Ok(found)
    }
}

impl RootTree {
    /// Reads the entries of a record's tree from the bytes of the object.
    ///
    /// # Errors
    ///
    /// Where a required entry is missing, or a known one has another mode than it must.
    pub fn parse(data: &[u8], kind: gix::hash::Kind) -> Result<Self, RootTreeError> {
        Self::of_entries(entries(data, kind)?, name::MANIFEST)
    }

    /// Reads the entries of a prepared handoff's tree, which has `prepared.cbor` in place of the manifest.
    ///
    /// # Errors
    ///
    /// As [`RootTree::parse`].
    pub fn parse_prepared(data: &[u8], kind: gix::hash::Kind) -> Result<Self, RootTreeError> {
        Self::of_entries(entries(data, kind)?, name::PREPARED)
    }

    fn of_entries(
        mut left: Vec<(BString, EntryMode, ObjectId)>,
        document: &'static str,
    ) -> Result<Self, RootTreeError> {
        let mut take = |name: &'static str, mode: EntryKind| {
            let Some(at) = left.iter().position(|(found, _, _)| found == name) else {
                return Ok(None);
            };
            let (_, found, id) = left.remove(at);
            if found == mode.into() {
                Ok(Some(id))
            } else {
                Err(RootTreeError::Mode(name))
            }
        };
        let root = RootTree {
            manifest: take(document, EntryKind::Blob)?.ok_or(RootTreeError::Missing(document))?,
            accept: take(name::ACCEPT, EntryKind::Blob)?,
            release: take(name::RELEASE, EntryKind::Blob)?,
            worktree: take(name::WORKTREE, EntryKind::Tree)?
                .ok_or(RootTreeError::Missing(name::WORKTREE))?,
            index: take(name::INDEX, EntryKind::Tree)?
                .ok_or(RootTreeError::Missing(name::INDEX))?,
            raw: take(name::RAW, EntryKind::Tree)?,
            conflicts: take(name::CONFLICTS, EntryKind::Tree)?,
            receipts: take(name::RECEIPTS, EntryKind::Tree)?,
            lists: take(name::LISTS, EntryKind::Tree)?,
            attachments: take(name::ATTACHMENTS, EntryKind::Tree)?,
            unknown: Vec::new(),
        };
        Ok(RootTree {
            unknown: left,
            ..root
        })
    }

    /// Writes the bytes of the tree object.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.bytes(name::MANIFEST)
    }

    /// Writes the bytes of the tree object of a prepared handoff.
    pub fn to_prepared_bytes(&self) -> Vec<u8> {
        self.bytes(name::PREPARED)
    }

    fn bytes(&self, document: &str) -> Vec<u8> {
        let blob = |name: &str, id| (BString::from(name), EntryMode::from(EntryKind::Blob), id);
        let tree = |name: &str, id| (BString::from(name), EntryMode::from(EntryKind::Tree), id);
        let mut entries = vec![
            blob(document, self.manifest),
            tree(name::WORKTREE, self.worktree),
            tree(name::INDEX, self.index),
        ];
        entries.extend(self.accept.map(|id| blob(name::ACCEPT, id)));
        entries.extend(self.release.map(|id| blob(name::RELEASE, id)));
        entries.extend(self.raw.map(|id| tree(name::RAW, id)));
        entries.extend(self.conflicts.map(|id| tree(name::CONFLICTS, id)));
        entries.extend(self.receipts.map(|id| tree(name::RECEIPTS, id)));
        entries.extend(self.lists.map(|id| tree(name::LISTS, id)));
        entries.extend(self.attachments.map(|id| tree(name::ATTACHMENTS, id)));
        entries.extend(self.unknown.iter().cloned());
        SubTree(entries).to_bytes()
    }

    /// Returns the tree with another manifest, accept or release, everything else as it is.
    pub fn with_documents(
        &self,
        manifest: ObjectId,
        accept: Option<ObjectId>,
        release: Option<ObjectId>,
    ) -> Self {
        RootTree {
            manifest,
            accept,
            release,
            ..self.clone()
        }
    }
}

impl SubTree {
    /// Reads a tree from the bytes of the object.
    ///
    /// # Errors
    ///
    /// Where the bytes are no well-formed tree.
    pub fn parse(data: &[u8], kind: gix::hash::Kind) -> Result<Self, RootTreeError> {
        entries(data, kind).map(SubTree)
    }

    /// Makes a tree of blobs.
    pub fn of_blobs(blobs: impl IntoIterator<Item = (BString, ObjectId)>) -> Self {
        SubTree(
            blobs
                .into_iter()
                .map(|(name, id)| (name, EntryKind::Blob.into(), id))
                .collect(),
        )
    }

    /// Writes the bytes of the tree object, entries in Git's order.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut entries: Vec<gix::objs::tree::Entry> = self
            .0
            .iter()
            .map(|(filename, mode, oid)| gix::objs::tree::Entry {
                mode: *mode,
                filename: filename.clone(),
                oid: *oid,
            })
            .collect();
        entries.sort();
        let mut bytes = Vec::new();
        let tree = gix::objs::Tree { entries };
        gix::objs::WriteTo::write_to(&tree, &mut bytes)
            .expect("names have no NUL, and memory does not fail to write");
        bytes
    }
}
