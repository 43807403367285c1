//! Puts a record together: its blobs and trees, what its commit says.

use gix::{ObjectId, bstr::BString, objs::Kind, objs::tree::EntryKind};

use super::{NewRecord, Record, RootTree, SubTree};
use crate::{
    contract::{Accept, Content, Manifest, Prepared, Release, codec, lists, message},
    digest::Digest,
    new_objects::{NewObjects, NewObjectsError},
    oid::Oid,
    repository::Repository,
    timestamp::Timestamp,
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

/// A prepared handoff that is to be written; its trees are in the repository.
pub struct NewPrepared<'a> {
    /// The document; lists that are too long for it are moved out.
    pub prepared: Prepared,
    /// When it was prepared.
    pub at: Timestamp,
    /// Receipts by id, as their canonical bytes.
    pub receipts: &'a [(String, Vec<u8>)],
    /// Attachments by name.
    pub attachments: &'a [(String, Vec<u8>)],
    /// Lines at the end of the message, `<key>: <value>` each.
    pub notes: &'a [String],
}

impl NewCheckpoint<'_> {
    /// Writes documents and trees, and returns what the commit must say.
    ///
    /// # Errors
    ///
    /// Where the objects cannot be written.
    pub fn compose(mut self, repository: &Repository) -> Result<NewRecord, NewObjectsError> {
        let objects = Objects::new(repository);
        let lists = named(&lists::move_out_of_manifest(&mut self.manifest));
        let bytes = codec::encode(&self.manifest);
        let content = &self.manifest.content;
        let root = objects.root(content, &bytes, self.receipts, &lists, self.attachments)?;
        let tree = objects.add(Kind::Tree, &root.to_bytes())?;
        objects.new.write(repository)?;
        let mut parents: Vec<ObjectId> = self.before.into_iter().collect();
        add_code(content, &mut parents);
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

impl NewPrepared<'_> {
    /// Writes document and trees, and returns what the commit must say.
    ///
    /// # Errors
    ///
    /// Where the objects cannot be written.
    pub fn compose(mut self, repository: &Repository) -> Result<NewRecord, NewObjectsError> {
        let objects = Objects::new(repository);
        let lists = named(&lists::move_out_of_content(&mut self.prepared.content));
        let bytes = codec::encode(&self.prepared);
        let content = &self.prepared.content;
        let root = objects.root(content, &bytes, self.receipts, &lists, self.attachments)?;
        let tree = objects.add(Kind::Tree, &root.to_prepared_bytes())?;
        objects.new.write(repository)?;
        let mut parents = Vec::new();
        add_code(content, &mut parents);
        let mut message = message::prepared_message(&self.prepared);
        for note in self.notes {
            message.push_str(note);
            message.push('\n');
        }
        Ok(NewRecord {
            tree,
            parents,
            message,
            at: self.at,
            sign: false,
        })
    }
}

fn named(lists: &lists::ListBlobs) -> Vec<(String, Vec<u8>)> {
    lists
        .iter()
        .map(|(name, bytes)| (name.to_owned(), bytes.to_vec()))
        .collect()
}

/// Adds head and the heads of an operation to the parents, in order and none twice.
fn add_code(content: &Content, parents: &mut Vec<ObjectId>) {
    let repository = &content.repository;
    let operation = repository.operation.iter();
    let operation = operation.flat_map(|operation| operation.heads.iter());
    for parent in repository.head.iter().chain(operation).map(Oid::id) {
        if !parents.contains(&parent) {
            parents.push(parent);
        }
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

    /// Adds the document and the small trees of a content, whose large ones are there.
    fn root(
        &self,
        content: &Content,
        document: &[u8],
        receipts: &[(String, Vec<u8>)],
        lists: &[(String, Vec<u8>)],
        attachments: &[(String, Vec<u8>)],
    ) -> Result<RootTree, NewObjectsError> {
        let conflicts = content.artifacts.conflicts.iter();
        let conflicts: Vec<ObjectId> = conflicts.map(Oid::id).collect();
        Ok(RootTree {
            manifest: self.add(Kind::Blob, document)?,
            accept: None,
            release: None,
            worktree: content.repository.worktree_tree.id(),
            index: content.repository.index_tree.id(),
            raw: content.artifacts.raw.map(|tree| tree.id()),
            conflicts: self.stages(&conflicts)?,
            receipts: self.blobs(receipts, ".cbor")?,
            lists: self.blobs(lists, "")?,
            attachments: self.blobs(attachments, "")?,
            unknown: Vec::new(),
        })
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
        at: Timestamp,
    ) -> Result<NewRecord, NewObjectsError> {
        let tree = self.add(Kind::Tree, &root.to_bytes())?;
        self.new.write(repository)?;
        Ok(NewRecord {
            tree,
            parents: vec![before.id],
            message,
            at,
            sign: false,
        })
    }
}
