//! Recomputes what a manifest says of trees and commits: untracked files, LFS pointers, submodules, depth.
//!
//! What only the disk of the producer could tell is not judged: how many bytes untracked files had there, flags,
//! whether `raw/` is what lay on disk. The bytes of `raw/` cannot be held against the blobs of `worktree/` either:
//! attributes and filters that made the one of the other need not travel.

use std::collections::{HashMap, HashSet};

use gix::{
    ObjectId,
    bstr::{BStr, BString, ByteSlice},
    diff::tree::{Recorder, recorder::Change},
    objs::{FindExt, TreeRefIter},
};

use super::Violation;
use crate::{
    contract::{Content, LfsPointer, Untracked},
    error_code::ErrorCode,
    snapshot::{changes::Changes, lfs},
};

/// Cause of what could not be read, which other checks name.
type Cause = Box<dyn std::error::Error + Send + Sync>;

/// Recomputes what can be recomputed; the trees are sound and their objects there.
pub(super) fn judge(objects: &gix::Repository, whole: &Content) -> Vec<Violation> {
    let facts = Facts { objects, whole };
    let results = [
        facts.untracked(),
        facts.pointers(),
        facts.submodules(),
        facts.depth(),
    ];
    let unread = |error: Cause| {
        let (code, what) = (ErrorCode::MissingObject, "content");
        Some(Violation::new(code, what, error.to_string()))
    };
    let violations = results.into_iter();
    violations
        .filter_map(|result| result.unwrap_or_else(unread))
        .collect()
}

struct Facts<'a> {
    objects: &'a gix::Repository,
    whole: &'a Content,
}

impl Facts<'_> {
    /// The untracked files are those of the worktree that the index has no entry for.
    fn untracked(&self) -> Result<Option<Violation>, Cause> {
        let content = &self.whole;
        let origin = &content.repository;
        let mut known: HashSet<BString> = HashSet::new();
        for stage in &content.artifacts.conflicts {
            known.extend(
                added(self.objects, None, stage.id())?
                    .into_iter()
                    .map(|file| file.2),
            );
        }
        let intents = content.worktree.intent_to_add.inline().iter();
        known.extend(intents.map(|entry| entry.path.as_bstr().to_owned()));
        let files = added(
            self.objects,
            Some(origin.index_tree.id()),
            origin.worktree_tree.id(),
        )?;
        let files = files.iter().filter(|(_, _, path)| !known.contains(path));
        let files = files.map(|(mode, id, path)| (*mode, *id, path.as_bstr()));
        let said = content.worktree.untracked;
        let found = Untracked::of(files, said.bytes);
        Ok((found != said).then(|| {
            let detail = format!(
                "the trees have {} untracked files with digest {}, the manifest says {} with {}",
                found.count, found.digest, said.count, said.digest
            );
            Violation::new(
                ErrorCode::TreeMismatch,
                "content.worktree.untracked",
                detail,
            )
        }))
    }

    /// The LFS pointers are those that are new in the worktree.
    fn pointers(&self) -> Result<Option<Violation>, Cause> {
        let origin = &self.whole.repository;
        let head = match &origin.head {
            Some(head) => Some(self.objects.find_commit(head.id())?.tree_id()?.detach()),
            None => None,
        };
        let changes = Changes::between(self.objects, head, origin.worktree_tree.id())?;
        let found = lfs::pointers(self.objects, &changes)?;
        let said = self.whole.worktree.lfs.inline();
        let unlisted = lacking(&found, said).map(|pointer| {
            let detail = "the manifest does not list it as the LFS pointer that the worktree has";
            (pointer, detail)
        });
        let untrue = || {
            let detail =
                "the manifest lists it as an LFS pointer, which the worktree does not have";
            lacking(said, &found).map(|pointer| (pointer, detail))
        };
        Ok(unlisted.or_else(untrue).map(|(pointer, detail)| {
            Violation::new(ErrorCode::TreeMismatch, pointer.path.to_string(), detail)
        }))
    }

    /// The commits of submodules are those of the worktree.
    fn submodules(&self) -> Result<Option<Violation>, Cause> {
        let tree = self.whole.repository.worktree_tree.id();
        let tree = self.objects.find_tree(tree)?;
        for submodule in self.whole.worktree.submodules.inline() {
            let Some(commit) = submodule.commit else {
                continue;
            };
            let names = submodule.path.as_bstr().split(|byte| *byte == b'/');
            let entry = tree.lookup_entry(names.map(BString::from))?;
            let stands = entry
                .is_some_and(|entry| entry.mode().is_commit() && entry.object_id() == commit.id());
            if !stands {
                let path = submodule.path.to_string();
                let detail = format!("the worktree does not have commit {commit} there");
                return Ok(Some(Violation::new(ErrorCode::TreeMismatch, path, detail)));
            }
        }
        Ok(None)
    }

    /// The depth is that of the history between base and head, where all of it is here.
    fn depth(&self) -> Result<Option<Violation>, Cause> {
        let origin = &self.whole.repository;
        let (Some(base), Some(head)) = (origin.base, origin.head) else {
            return Ok(None);
        };
        if self.objects.is_shallow()? {
            return Ok(None);
        }
        let found = longest_path(self.objects, base.id(), head.id())?;
        Ok((origin.depth != Some(found)).then(|| {
            let detail = format!("head is {found} commits away from base");
            let field = "content.repository.depth";
            Violation::new(ErrorCode::MalformedManifest, field, detail)
        }))
    }
}

/// Returns the first pointer that another list does not have.
fn lacking<'a>(list: &'a [LfsPointer], other: &[LfsPointer]) -> Option<&'a LfsPointer> {
    let known: HashMap<&BStr, &LfsPointer> = other
        .iter()
        .map(|pointer| (pointer.path.as_bstr(), pointer))
        .collect();
    let mut list = list.iter();
    list.find(|pointer| known.get(pointer.path.as_bstr()) != Some(pointer))
}

/// Returns mode, id and path of the files that a tree has and another one has not.
fn added(
    objects: &gix::Repository,
    other: Option<ObjectId>,
    tree: ObjectId,
) -> Result<Vec<(u16, ObjectId, BString)>, Cause> {
    let read = |id: ObjectId| -> Result<Vec<u8>, Cause> {
        let mut buffer = Vec::new();
        objects.objects.find_tree_iter(&id, &mut buffer)?;
        Ok(buffer)
    };
    let other = other.map(read).transpose()?.unwrap_or_default();
    let bytes = read(tree)?;
    let mut recorder = Recorder::default();
    gix::diff::tree(
        TreeRefIter::from_bytes(&other, tree.kind()),
        TreeRefIter::from_bytes(&bytes, tree.kind()),
        gix::diff::tree::State::default(),
        &objects.objects,
        &mut recorder,
    )?;
    let files = recorder
        .records
        .into_iter()
        .filter_map(|change| match change {
            Change::Addition {
                entry_mode,
                oid,
                path,
                ..
            } if entry_mode.is_blob_or_symlink() => Some((entry_mode.value(), oid, path)),
            _ => None,
        });
    Ok(files.collect())
}

/// Counts the commits on the longest path from base to head, base not counted.
fn longest_path(objects: &gix::Repository, base: ObjectId, head: ObjectId) -> Result<u64, Cause> {
    let walk = objects.rev_walk([head]).with_hidden([base]).all()?;
    let mut parents: HashMap<ObjectId, Vec<ObjectId>> = HashMap::new();
    for commit in walk {
        let commit = commit?;
        parents.insert(commit.id, commit.parent_ids.to_vec());
    }
    let mut depths: HashMap<ObjectId, u64> = HashMap::new();
    let mut stack = vec![head];
    while let Some(commit) = stack.pop() {
        let Some(above) = parents.get(&commit) else {
            continue;
        };
        let above = above.iter().filter(|parent| parents.contains_key(*parent));
        let unknown: Vec<ObjectId> = above
            .clone()
            .filter(|parent| !depths.contains_key(*parent))
            .copied()
            .collect();
        if unknown.is_empty() {
            let longest = above.filter_map(|parent| depths.get(parent)).max();
            depths.insert(commit, 1 + longest.copied().unwrap_or_default());
        } else {
            stack.push(commit);
            stack.extend(unknown);
        }
    }
    Ok(depths.get(&head).copied().unwrap_or_default())
}
