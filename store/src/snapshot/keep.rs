//! The ref that keeps the objects of captures, and receipts, alive until a record holds them.
//!
//! `refs/handoff-local/keep/<worktree>` is a chain of commits; each says nothing but the trees of one capture, and the
//! receipts since the chain began.

use gix::{
    ObjectId,
    bstr::BString,
    objs::{
        Kind,
        tree::{EntryKind, EntryMode},
    },
    refs::FullName,
};

use super::{Snapshot, SnapshotError, assembly::Trees};
use crate::{
    new_objects::NewObjects,
    record::SubTree,
    ref_store::{RefChange, RefError, RefUpdate},
    repository::Repository,
    timestamp::Timestamp,
};

/// How often a chain that another process lengthens is tried.
const ATTEMPTS: usize = 20;

const RECEIPTS: &str = "receipts";
const CLAIMS: &str = "claims";

/// The chain of a worktree, as it was read.
pub(crate) struct Chain {
    name: FullName,
    last: Option<Link>,
}

/// A commit of a chain.
#[derive(Clone, Copy)]
struct Link {
    commit: ObjectId,
    tree: ObjectId,
    receipts: Receipts,
}

/// The receipts that a link keeps: those of the links before, and its own.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Receipts {
    /// Tree `receipts/`, as a record has it.
    pub(crate) files: Option<ObjectId>,
    /// Blob `claims`: which receipt was made for which claim.
    pub(crate) claims: Option<ObjectId>,
}

/// Keeps the objects of a snapshot from being collected as garbage.
///
/// Nothing is written where the last commit of the chain keeps the same trees.
///
/// # Errors
///
/// Where the commit or the ref cannot be written.
pub fn keep(repository: &Repository, snapshot: &Snapshot) -> Result<(), SnapshotError> {
    let trees = Trees::from(snapshot);
    for attempt in 1.. {
        let chain = Chain::read(repository)?;
        let objects = NewObjects::new(repository);
        let Some(commit) = chain.lengthen(repository.gix(), &objects, &trees)? else {
            return Ok(());
        };
        objects.write(repository).map_err(SnapshotError::from)?;
        match chain.advance(repository, commit) {
            Err(RefError::Moved { .. }) if attempt < ATTEMPTS => {}
            result => return Ok(result?),
        }
    }
    unreachable!("the loop ends by returning")
}

impl Chain {
    pub(crate) fn read(repository: &Repository) -> Result<Self, SnapshotError> {
        let worktree = repository.worktree_name();
        let name = format!("refs/handoff-local/keep/{}", worktree.as_str());
        let name = FullName::try_from(name.as_str())
            .map_err(|_| RefError::Answer(name.as_str().into()))?;
        let last = repository.find_ref(&name)?;
        let last = last.map(|commit| Link::read(repository.gix(), commit));
        Ok(Chain {
            name,
            last: last.transpose()?,
        })
    }

    /// Returns the last commit.
    pub(crate) fn last(&self) -> Option<ObjectId> {
        self.last.map(|last| last.commit)
    }

    /// Returns the receipts that the last commit keeps.
    pub(crate) fn receipts(&self) -> Receipts {
        self.last.map(|last| last.receipts).unwrap_or_default()
    }

    /// Makes the commit that keeps trees; `None` where the last one of the chain keeps them already.
    pub(super) fn lengthen(
        &self,
        repo: &gix::Repository,
        objects: &NewObjects,
        trees: &Trees,
    ) -> Result<Option<ObjectId>, SnapshotError> {
        self.lengthen_with(repo, objects, trees, self.receipts())
    }

    fn lengthen_with(
        &self,
        repo: &gix::Repository,
        objects: &NewObjects,
        trees: &Trees,
        receipts: Receipts,
    ) -> Result<Option<ObjectId>, SnapshotError> {
        let tree = kept_tree(repo, objects, trees, receipts)?;
        if self.last.is_some_and(|last| last.tree == tree) {
            return Ok(None);
        }
        let commit = commit(tree, self.last());
        Ok(Some(objects.add(repo, Kind::Commit, &commit)?))
    }

    /// Makes the commit that keeps a snapshot and receipts, and moves the ref to it.
    ///
    /// # Errors
    ///
    /// [`RefError::Moved`] where another process was faster.
    pub(crate) fn keep(
        &self,
        repository: &Repository,
        objects: &NewObjects,
        snapshot: &Snapshot,
        receipts: Receipts,
    ) -> Result<(), SnapshotError> {
        let trees = Trees::from(snapshot);
        let made = self.lengthen_with(repository.gix(), objects, &trees, receipts)?;
        objects.write(repository).map_err(SnapshotError::from)?;
        match made {
            Some(commit) => Ok(self.advance(repository, commit)?),
            None => Ok(()),
        }
    }

    /// Moves the ref to a commit that lengthens the chain.
    pub(super) fn advance(
        &self,
        repository: &Repository,
        commit: ObjectId,
    ) -> Result<(), RefError> {
        self.change(repository, RefChange::from_seen(self.last(), commit))
    }

    /// Takes the chain away, or begins it anew with nothing but some receipts.
    ///
    /// # Errors
    ///
    /// [`RefError::Moved`] where another process was faster.
    pub(crate) fn cut(
        &self,
        repository: &Repository,
        objects: &NewObjects,
        left: Receipts,
    ) -> Result<(), SnapshotError> {
        let Some(last) = self.last else { return Ok(()) };
        if left == Receipts::default() {
            let change = RefChange::Delete { old: last.commit };
            return Ok(self.change(repository, change)?);
        }
        let repo = repository.gix();
        let mut entries = entries_of(repo, last.tree)?;
        entries.retain(|(name, _, _)| name != RECEIPTS && name != CLAIMS);
        entries.extend(left.entries());
        let tree = objects.add(repo, Kind::Tree, &SubTree(entries).to_bytes())?;
        let commit = objects.add(repo, Kind::Commit, &commit(tree, None))?;
        objects.write(repository).map_err(SnapshotError::from)?;
        Ok(self.advance(repository, commit)?)
    }

    fn change(&self, repository: &Repository, change: RefChange) -> Result<(), RefError> {
        repository.update_refs(&[RefUpdate {
            name: self.name.clone(),
            change,
        }])
    }
}

impl Link {
    fn read(repo: &gix::Repository, commit: ObjectId) -> Result<Self, SnapshotError> {
        let tree = tree_of(repo, commit)?;
        let entries = entries_of(repo, tree)?;
        let find = |wanted: &str| {
            let mut entries = entries.iter();
            entries.find_map(|(name, _, id)| (name == wanted).then_some(*id))
        };
        Ok(Link {
            commit,
            tree,
            receipts: Receipts {
                files: find(RECEIPTS),
                claims: find(CLAIMS),
            },
        })
    }
}

impl Receipts {
    fn entries(self) -> impl Iterator<Item = (BString, EntryMode, ObjectId)> {
        let files = self
            .files
            .map(|id| (RECEIPTS.into(), EntryKind::Tree.into(), id));
        let claims = self
            .claims
            .map(|id| (CLAIMS.into(), EntryKind::Blob.into(), id));
        files.into_iter().chain(claims)
    }

    /// Returns the receipts that a commit of a chain keeps.
    pub(crate) fn of(repo: &gix::Repository, commit: ObjectId) -> Result<Self, SnapshotError> {
        Ok(Link::read(repo, commit)?.receipts)
    }
}

/// Makes the tree that holds all trees of a snapshot, and receipts.
fn kept_tree(
    repo: &gix::Repository,
    objects: &NewObjects,
    trees: &Trees,
    receipts: Receipts,
) -> Result<ObjectId, SnapshotError> {
    let folder = |name: &str, id: ObjectId| (name.into(), EntryKind::Tree.into(), id);
    let stages: Vec<_> = ["1", "2", "3"]
        .into_iter()
        .zip(&trees.conflicts)
        .map(|(name, id)| folder(name, *id))
        .collect();
    let mut parts = vec![
        folder("index", trees.index),
        folder("worktree", trees.worktree),
    ];
    parts.extend(trees.raw.map(|raw| folder("raw", raw)));
    if !stages.is_empty() {
        let conflicts = objects.add(repo, Kind::Tree, &SubTree(stages).to_bytes())?;
        parts.push(folder("index-conflicts", conflicts));
    }
    parts.extend(receipts.entries());
    Ok(objects.add(repo, Kind::Tree, &SubTree(parts).to_bytes())?)
}

fn entries_of(
    repo: &gix::Repository,
    tree: ObjectId,
) -> Result<Vec<(BString, EntryMode, ObjectId)>, SnapshotError> {
    let object = |source: super::error::Cause| SnapshotError::Object { id: tree, source };
    let data = repo
        .find_tree(tree)
        .map_err(|error| object(error.into()))?
        .detach()
        .data;
    let found = SubTree::parse(&data, repo.object_hash());
    Ok(found.map_err(|error| object(error.into()))?.0)
}

fn commit(tree: ObjectId, parent: Option<ObjectId>) -> Vec<u8> {
    let parent = parent.map_or_else(String::new, |parent| format!("parent {parent}\n"));
    let by = format!(
        "git-handoff <git-handoff> {} +0000",
        Timestamp::now().unix_seconds()
    );
    format!("tree {tree}\n{parent}author {by}\ncommitter {by}\n\nsnapshot\n").into_bytes()
}

fn tree_of(repo: &gix::Repository, commit: ObjectId) -> Result<ObjectId, SnapshotError> {
    let object = |source: gix::Error| SnapshotError::Object {
        id: commit,
        source: source.into(),
    };
    let found = repo.find_commit(commit).map_err(object)?;
    found.tree_id().map(|id| id.detach()).map_err(object)
}
