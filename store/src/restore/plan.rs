//! What a worktree and its index will hold.

use std::collections::{HashMap, HashSet};

use gix::{
    ObjectId,
    bstr::{BStr, BString, ByteSlice},
    objs::tree::EntryKind,
};

use super::{
    RestoreError,
    state::Restorable,
    trees::{TreeItem, flatten},
};
use crate::{
    contract::{Content, Conversions, OmissionReason},
    conversion::WorktreeConversion,
};

/// A path of the worktree.
#[derive(Clone, Debug)]
pub(super) struct PlannedFile {
    pub(super) path: BString,
    pub(super) kind: EntryKind,
    /// The blob, or the commit of a submodule.
    pub(super) id: ObjectId,
    /// The blob of the bytes on disk, where conversion does not bring them back.
    pub(super) raw: Option<ObjectId>,
    /// Whether it stays absent, as a sparse checkout left it: the index holds the same.
    pub(super) sparse: bool,
}

/// Everything that a restore brings about, read from the record's trees.
pub(super) struct Plan {
    /// Sorted by path.
    pub(super) files: Vec<PlannedFile>,
    pub(super) empty_directories: Vec<BString>,
    /// Sorted by path.
    pub(super) index: Vec<TreeItem>,
    /// The stages 1, 2 and 3 of an unmerged index.
    pub(super) conflicts: Vec<Vec<TreeItem>>,
}

impl PlannedFile {
    pub(super) fn is_regular(&self) -> bool {
        matches!(self.kind, EntryKind::Blob | EntryKind::BlobExecutable)
    }

    pub(super) fn is_executable(&self) -> bool {
        self.kind == EntryKind::BlobExecutable
    }
}

impl Plan {
    pub(super) fn read(
        objects: &gix::Repository,
        state: &Restorable<'_>,
    ) -> Result<Self, RestoreError> {
        let mut raw: HashMap<BString, ObjectId> = match state.raw {
            Some(tree) => flatten(objects, tree)?
                .into_iter()
                .map(|item| (item.path, item.id))
                .collect(),
            None => HashMap::new(),
        };
        let index = flatten(objects, state.index)?;
        let left_out = left_out(state, &index);
        let files = flatten(objects, state.worktree)?.into_iter().map(|item| {
            let raw = raw.remove(&item.path);
            PlannedFile {
                sparse: raw.is_none() && left_out.contains(&item),
                raw,
                path: item.path,
                kind: item.kind,
                id: item.id,
            }
        });
        let artifacts = &state.content.artifacts;
        let stages = artifacts
            .conflicts
            .iter()
            .map(|tree| flatten(objects, tree.id()));
        let directories = state.content.worktree.empty_directories.inline().iter();
        let files = files.collect();
        Ok(Plan {
            files,
            empty_directories: directories.map(|path| path.as_bstr().into()).collect(),
            index,
            conflicts: stages.collect::<Result<_, _>>()?,
        })
    }

    /// Tells whether there will be a file, link or submodule at a path.
    pub(super) fn has(&self, path: &BStr) -> bool {
        self.files
            .binary_search_by(|file| file.path.as_bstr().cmp(path))
            .is_ok()
    }

    /// Tells whether a file, link or submodule is to be on disk at a path.
    pub(super) fn is_filled(&self, path: &BStr) -> bool {
        let found = self
            .files
            .binary_search_by(|file| file.path.as_bstr().cmp(path));
        found.is_ok_and(|at| !self.files[at].sparse)
    }

    /// Tells whether a file at a path would be in the way of a planned one, as its folder or below it.
    pub(super) fn has_around(&self, path: &BStr) -> bool {
        let mut folders = path.find_iter("/").map(|slash| path[..slash].as_bstr());
        if folders.any(|folder| self.has(folder)) {
            return true;
        }
        let mut folder = BString::from(path);
        folder.push(b'/');
        let at = self.files.partition_point(|file| file.path < folder);
        let below = self.files.get(at);
        below.is_some_and(|file| file.path.starts_with(&folder))
            || self
                .empty_directories
                .iter()
                .any(|directory| directory == path)
    }

    /// Returns what the index will hold at a path, where it is merged.
    pub(super) fn staged(&self, path: &BStr) -> Option<ObjectId> {
        let found = self
            .index
            .binary_search_by(|item| item.path.as_bstr().cmp(path));
        found.ok().map(|at| self.index[at].id)
    }

    /// Makes the conversions of these files under some settings.
    pub(super) fn conversion(
        &self,
        settings: &Conversions,
        hash: gix::hash::Kind,
    ) -> WorktreeConversion {
        let attributes = self.files.iter().filter(|file| {
            file.is_regular()
                && (file.path == ".gitattributes" || file.path.ends_with_str("/.gitattributes"))
        });
        WorktreeConversion::new(
            attributes.map(|file| (file.path.clone(), file.id)),
            settings,
            hash,
        )
    }
}

/// Returns the staged entries that the record leaves absent: a sparse checkout did, and set skip-worktree.
fn left_out<'a>(state: &Restorable<'_>, index: &'a [TreeItem]) -> HashSet<&'a TreeItem> {
    if !is_sparse(state.content) {
        return HashSet::new();
    }
    let flags = state.content.worktree.flags.inline().iter();
    let absent: HashSet<&BStr> = flags
        .filter(|entry| entry.skip_worktree)
        .map(|entry| entry.path.as_bstr())
        .collect();
    let staged = index.iter();
    staged
        .filter(|item| absent.contains(item.path.as_bstr()))
        .collect()
}

/// Tells whether a worktree was a sparse checkout, so that skip-worktree says that a file is absent.
pub(super) fn is_sparse(content: &Content) -> bool {
    let mut omissions = content.omissions.inline().iter();
    omissions.any(|omission| omission.reason == OmissionReason::SparsePatterns)
}
