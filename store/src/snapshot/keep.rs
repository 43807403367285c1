//! The ref that keeps the objects of captures alive until a record holds them.
//!
//! `refs/handoff-local/keep/<worktree>` is a chain of commits; each says nothing but the trees of one capture.

use gix::{ObjectId, objs::Kind, refs::FullName};

use super::{Snapshot, SnapshotError, assembly::Trees};
use crate::{
    new_objects::NewObjects,
    ref_store::{RefChange, RefError, RefUpdate},
    repository::Repository,
    timestamp::Timestamp,
};

/// How often a chain that another process lengthens is tried.
const ATTEMPTS: usize = 20;

/// The chain of a worktree, as it was read.
pub(super) struct Chain {
    name: FullName,
    last: Option<ObjectId>,
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
        objects
            .write_pack(repository)
            .map_err(SnapshotError::from)?;
        match chain.advance(repository, commit) {
            Err(RefError::Moved { .. }) if attempt < ATTEMPTS => {}
            result => return Ok(result?),
        }
    }
    unreachable!("the loop ends by returning")
}

impl Chain {
    pub(super) fn read(repository: &Repository) -> Result<Self, SnapshotError> {
        let worktree = repository.worktree_name();
        let name = format!("refs/handoff-local/keep/{}", worktree.as_str());
        let name = FullName::try_from(name.as_str())
            .map_err(|_| RefError::Answer(name.as_str().into()))?;
        let last = repository.find_ref(&name)?;
        Ok(Chain { name, last })
    }

    /// Makes the commit that keeps trees; `None` where the last one of the chain keeps them already.
    pub(super) fn lengthen(
        &self,
        repo: &gix::Repository,
        objects: &NewObjects,
        trees: &Trees,
    ) -> Result<Option<ObjectId>, SnapshotError> {
        let tree = kept_tree(repo, objects, trees)?;
        if let Some(last) = self.last
            && tree_of(repo, last)? == tree
        {
            return Ok(None);
        }
        let commit = commit(tree, self.last);
        Ok(Some(objects.add(repo, Kind::Commit, &commit)?))
    }

    /// Moves the ref to a commit that lengthens the chain.
    pub(super) fn advance(
        &self,
        repository: &Repository,
        commit: ObjectId,
    ) -> Result<(), RefError> {
        repository.update_refs(&[RefUpdate {
            name: self.name.clone(),
            change: RefChange::from_seen(self.last, commit),
        }])
    }
}

/// Makes the tree that holds all trees of a snapshot.
fn kept_tree(
    repo: &gix::Repository,
    objects: &NewObjects,
    trees: &Trees,
) -> Result<ObjectId, SnapshotError> {
    let stages: Vec<(&str, Option<ObjectId>)> = ["1", "2", "3"]
        .into_iter()
        .zip(trees.conflicts.iter().copied().map(Some))
        .collect();
    let conflicts = match stages.as_slice() {
        [] => None,
        stages => Some(objects.add(repo, Kind::Tree, &folders(stages))?),
    };
    // Trees sort folders as if their names ended in a slash.
    let parts = [
        ("index-conflicts", conflicts),
        ("index", Some(trees.index)),
        ("raw", trees.raw),
        ("worktree", Some(trees.worktree)),
    ];
    Ok(objects.add(repo, Kind::Tree, &folders(&parts))?)
}

/// Encodes a tree of trees, given by name.
fn folders(parts: &[(&str, Option<ObjectId>)]) -> Vec<u8> {
    let mut tree = Vec::new();
    for (name, id) in parts {
        if let Some(id) = id {
            tree.extend_from_slice(format!("40000 {name}\0").as_bytes());
            tree.extend_from_slice(id.as_bytes());
        }
    }
    tree
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
