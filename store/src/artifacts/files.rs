//! The untracked files of a checkpoint, and their bytes on disk.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use gix::{
    ObjectId,
    bstr::{BString, ByteSlice},
    objs::tree::{EntryKind, EntryMode},
};

use super::ArtifactsError;
use crate::{
    contract::{Content, Untracked},
    conversion::WorktreeConversion,
    digest::Digest,
    repository::Repository,
};

/// A file or link that the index does not have.
pub(super) struct UntrackedFile {
    pub(super) path: BString,
    pub(super) kind: EntryKind,
    /// The blob.
    pub(super) id: ObjectId,
    mode: u16,
    /// The blob of its bytes on disk, where conversion does not bring them back.
    raw: Option<ObjectId>,
}

/// The untracked files of a checkpoint.
pub(super) struct UntrackedFiles {
    /// Sorted by path.
    pub(super) files: Vec<UntrackedFile>,
    objects: gix::Repository,
    conversion: WorktreeConversion,
}

impl UntrackedFiles {
    /// Finds the files whose trees a repository has; `content` has all captured lists in it.
    pub(super) fn find(repository: &Repository, content: &Content) -> Result<Self, ArtifactsError> {
        let origin = &content.repository;
        let mut tracked = BTreeSet::new();
        let stages = content.artifacts.conflicts.iter();
        for tree in stages.chain([&origin.index_tree]) {
            tracked.extend(list(repository, tree.id())?.into_keys());
        }
        let added = content.worktree.intent_to_add.inline().iter();
        tracked.extend(added.map(|entry| BString::from(entry.path.as_bstr())));
        let mut raw = match content.artifacts.raw {
            Some(tree) => list(repository, tree.id())?,
            None => BTreeMap::new(),
        };
        let worktree = list(repository, origin.worktree_tree.id())?;
        let attributes = worktree.iter().filter(|(path, (mode, _))| {
            let named = *path == ".gitattributes" || path.ends_with_str("/.gitattributes");
            named && mode.is_blob()
        });
        let attributes: Vec<_> = attributes
            .map(|(path, (_, id))| (path.clone(), *id))
            .collect();
        let settings = &content.worktree.conversions;
        let conversion = WorktreeConversion::new(attributes, settings, repository.hash_kind());
        let untracked = worktree
            .into_iter()
            .filter(|(path, (mode, _))| !mode.is_commit() && !tracked.contains(path));
        let files = untracked.map(|(path, (mode, id))| UntrackedFile {
            raw: raw.remove(&path).map(|(_, id)| id),
            path,
            kind: mode.kind(),
            mode: mode.value(),
            id,
        });
        Ok(UntrackedFiles {
            files: files.collect(),
            objects: repository.gix().clone(),
            conversion,
        })
    }

    /// Returns the digest and count of the files, as the manifest has them.
    pub(super) fn summary(&self) -> (u64, Digest) {
        let mut lines: Vec<Vec<u8>> = self
            .files
            .iter()
            .map(|file| {
                let mut line = format!("{:o} {} ", file.mode, file.id).into_bytes();
                line.extend_from_slice(&file.path);
                line.push(0);
                line
            })
            .collect();
        lines.sort_unstable();
        (lines.len() as u64, Digest::of(&lines.concat()))
    }

    /// Tells whether the files are those that the manifest counts.
    pub(super) fn are(&self, untracked: &Untracked) -> bool {
        self.summary() == (untracked.count, untracked.digest)
    }

    /// Returns the bytes of a file on disk, or the target of a link.
    pub(super) fn bytes(&mut self, at: usize) -> Result<Vec<u8>, ArtifactsError> {
        let file = &self.files[at];
        let id = file.raw.unwrap_or(file.id);
        let found = self.objects.find_object(id);
        let found = found.map_err(|source| ArtifactsError::Object {
            id,
            source: source.into(),
        })?;
        let stored = found.detach().data;
        if file.raw.is_some() || file.kind == EntryKind::Link || self.conversion.is_identity() {
            return Ok(stored);
        }
        let objects = &self.objects.objects;
        let converted = self
            .conversion
            .to_worktree(file.path.as_bstr(), &stored, objects)?;
        Ok(match converted {
            Cow::Owned(bytes) => bytes,
            Cow::Borrowed(_) => stored,
        })
    }
}

/// Lists everything below a tree.
fn list(
    repository: &Repository,
    tree: ObjectId,
) -> Result<BTreeMap<BString, (EntryMode, ObjectId)>, ArtifactsError> {
    let args = ["ls-tree", "-r", "-z", "--full-tree", &tree.to_string()];
    let listed = repository.git().output(args)?;
    let mut found = BTreeMap::new();
    for entry in listed.split(|b| *b == 0).filter(|entry| !entry.is_empty()) {
        let parsed = entry.split_once_str("\t").and_then(|(what, path)| {
            let mut words = what.split(|b| *b == b' ');
            let mode = EntryMode::from_bytes(words.next()?)?;
            let id = ObjectId::from_hex(words.nth(1)?).ok()?;
            Some((BString::from(path), (mode, id)))
        });
        let (path, entry) = parsed.ok_or(ArtifactsError::Answer)?;
        found.insert(path, entry);
    }
    Ok(found)
}
