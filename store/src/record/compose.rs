//! Puts a record together: its blobs and trees, what its commit says.

use gix::{ObjectId, bstr::BString, objs::Kind, objs::tree::EntryKind};

use super::{NewRecord, Record, RootTree, SubTree};
use crate::{
    contract::{Accept, Manifest, Release, codec, lists, message},
    digest::Digest,
    new_objects::{NewObjects, NewObjectsError},
    repository::Repository,
};

/// A checkpoint that is to be written; its trees are in the repository.
pub struct NewCheckpoint<'a> {
    /// The manifest; lists that are too long for it are moved out.
    pub manifest: Manifest,
    /// The record before, if any.
    pub before: Option<ObjectId>,
    /// Receipts by id, as their canonical bytes.
    pub receipts: &'a [(String, Vec<u8>)],
    /// Attachments by name.
    pub attachments: &'a [(String, Vec<u8>)],
}

impl NewCheckpoint<'_> {
    /// Writes documents and trees, and returns what the commit must say.
    ///
    /// # Errors
    ///
    /// Where the objects cannot be written.
    pub fn compose(mut self, repository: &Repository) -> Result<NewRecord, NewObjectsError> {
        let objects = Objects::new(repository);
        let lists = lists::move_out_of_manifest(&mut self.manifest);
        let lists: Vec<(String, Vec<u8>)> = lists
            .iter()
            .map(|(name, bytes)| (name.to_owned(), bytes.to_vec()))
            .collect();
        let bytes = codec::encode(&self.manifest);
        let content = &self.manifest.content;
        let conflicts: Vec<ObjectId> = content
            .artifacts
            .conflicts
            .iter()
            .map(|tree| tree.id())
            .collect();
        let root = RootTree {
            manifest: objects.add(Kind::Blob, &bytes)?,
            accept: None,
            release: None,
            worktree: content.repository.worktree_tree.id(),
            index: content.repository.index_tree.id(),
            raw: content.artifacts.raw.map(|tree| tree.id()),
            conflicts: objects.stages(&conflicts)?,
            receipts: objects.blobs(self.receipts, ".cbor")?,
            lists: objects.blobs(&lists, "")?,
            attachments: objects.blobs(self.attachments, "")?,
            unknown: Vec::new(),
        };
        let tree = objects.add(Kind::Tree, &root.to_bytes())?;
        objects.new.write_pack(repository)?;
        let operation = content
            .repository
            .operation
            .iter()
            .flat_map(|operation| operation.heads.iter());
        let code = content
            .repository
            .head
            .iter()
            .chain(operation)
            .map(|id| id.id());
        let mut parents: Vec<ObjectId> = self.before.into_iter().collect();
        for parent in code {
            if !parents.contains(&parent) {
                parents.push(parent);
            }
        }
        let message = message::checkpoint_message(&self.manifest, Digest::of(&bytes));
        Ok(NewRecord {
            tree,
            parents,
            message,
            at: self.manifest.created_at,
            sign: false,
        })
    }
}

/// Writes the tree of an accept that follows a record, and returns what its commit must say.
///
/// # Errors
///
/// Where the objects cannot be written.
pub fn compose_accept(
    repository: &Repository,
    before: &Record,
    accept: &Accept,
) -> Result<NewRecord, NewObjectsError> {
    let bytes = codec::encode(accept);
    let message = message::accept_message(accept, Digest::of(&bytes));
    let objects = Objects::new(repository);
    let document = objects.add(Kind::Blob, &bytes)?;
    let root = before
        .root
        .with_documents(before.root.manifest, Some(document), None);
    objects.follow(repository, before, &root, message, accept.accepted_at)
}

/// Writes the tree of a release that follows a record, and returns what its commit must say.
///
/// # Errors
///
/// Where the objects cannot be written.
pub fn compose_release(
    repository: &Repository,
    before: &Record,
    release: &Release,
) -> Result<NewRecord, NewObjectsError> {
    let bytes = codec::encode(release);
    let message = message::release_message(release, Digest::of(&bytes));
    let objects = Objects::new(repository);
    let document = objects.add(Kind::Blob, &bytes)?;
    let root = before
        .root
        .with_documents(before.root.manifest, before.root.accept, Some(document));
    objects.follow(repository, before, &root, message, release.at)
}

/// The new objects of one record.
struct Objects<'a> {
    new: NewObjects,
    repo: &'a gix::Repository,
}

impl<'a> Objects<'a> {
    fn new(repository: &'a Repository) -> Self {
        Objects {
            new: NewObjects::new(repository),
            repo: repository.gix(),
        }
    }

    fn add(&self, kind: Kind, bytes: &[u8]) -> Result<ObjectId, NewObjectsError> {
        self.new.add(self.repo, kind, bytes)
    }

    /// Adds a tree of files; none: no tree.
    fn blobs(
        &self,
        files: &[(String, Vec<u8>)],
        suffix: &str,
    ) -> Result<Option<ObjectId>, NewObjectsError> {
        if files.is_empty() {
            return Ok(None);
        }
        let mut entries = Vec::new();
        for (name, bytes) in files {
            entries.push((
                BString::from(format!("{name}{suffix}")),
                self.add(Kind::Blob, bytes)?,
            ));
        }
        self.add(Kind::Tree, &SubTree::of_blobs(entries).to_bytes())
            .map(Some)
    }

    /// Adds the tree of the conflict stages; none: no tree.
    fn stages(&self, trees: &[ObjectId]) -> Result<Option<ObjectId>, NewObjectsError> {
        if trees.is_empty() {
            return Ok(None);
        }
        let stage = |(at, id): (usize, &ObjectId)| {
            (
                BString::from((at + 1).to_string()),
                EntryKind::Tree.into(),
                *id,
            )
        };
        let tree = SubTree(trees.iter().enumerate().map(stage).collect());
        self.add(Kind::Tree, &tree.to_bytes()).map(Some)
    }

    fn follow(
        self,
        repository: &Repository,
        before: &Record,
        root: &RootTree,
        message: String,
        at: crate::timestamp::Timestamp,
    ) -> Result<NewRecord, NewObjectsError> {
        let tree = self.add(Kind::Tree, &root.to_bytes())?;
        self.new.write_pack(repository)?;
        Ok(NewRecord {
            tree,
            parents: vec![before.id],
            message,
            at,
            sign: false,
        })
    }
}
