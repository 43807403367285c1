//! What replaces index entries in the trees of a snapshot, and the trees that result.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::{
    Snapshot, SnapshotError,
    content::{Bytes, Content},
    index::PrivateIndex,
    keep::Chain,
    names,
    omit::Omit,
    repo_path,
    scan::LeftOut,
    tree::{Replacement, TreeBuilder, TreeItem},
};
use crate::{
    contract::{Omission, OmissionReason, Untracked},
    new_objects::{NewObjects, NewObjectsError},
    ref_store::Head,
    repo_path::RepoPath,
    repository::Repository,
};
use gix::{
    ObjectId,
    bstr::{BStr, BString, ByteSlice},
    index::{
        Entry,
        entry::{Flags as EntryFlags, Mode, Stage},
    },
};

/// Paths and what stands there; `None` for nothing.
type Replacements = BTreeMap<BString, Option<TreeItem>>;

/// The trees of a snapshot in the making, as differences to the index.
pub(super) struct Assembly<'a> {
    repository: &'a Repository,
    index: &'a PrivateIndex,
    head_tree: Option<ObjectId>,
    worktree: Replacements,
    staged: Replacements,
    raw: Replacements,
    /// Paths that keep what head has.
    kept: BTreeSet<BString>,
    untracked: BTreeMap<BString, (TreeItem, u64)>,
    omissions: Vec<Omission>,
}

/// The trees of a snapshot.
#[derive(Clone, Debug)]
pub(super) struct Trees {
    pub(super) worktree: ObjectId,
    pub(super) index: ObjectId,
    pub(super) conflicts: Vec<ObjectId>,
    pub(super) raw: Option<ObjectId>,
}

impl From<&Snapshot> for Trees {
    fn from(snapshot: &Snapshot) -> Self {
        Trees {
            worktree: snapshot.worktree_tree.id(),
            index: snapshot.index_tree.id(),
            conflicts: snapshot
                .conflict_trees
                .iter()
                .map(|tree| tree.id())
                .collect(),
            raw: snapshot.raw_tree.map(|tree| tree.id()),
        }
    }
}

impl<'a> Assembly<'a> {
    pub(super) fn new(
        repository: &'a Repository,
        index: &'a PrivateIndex,
        head: &Head,
    ) -> Result<Self, SnapshotError> {
        let tree_of = |id: ObjectId| {
            let commit = repository.gix().find_commit(id);
            let tree = commit.and_then(|commit| Ok(commit.tree_id()?.detach()));
            tree.map_err(|source| SnapshotError::Object {
                id,
                source: source.into(),
            })
        };
        Ok(Assembly {
            repository,
            index,
            head_tree: head.commit.map(tree_of).transpose()?,
            worktree: Replacements::new(),
            staged: Replacements::new(),
            raw: Replacements::new(),
            kept: BTreeSet::new(),
            untracked: BTreeMap::new(),
            omissions: Vec::new(),
        })
    }

    /// Leaves out the entries that are to be left out on request.
    pub(super) fn leave_out_entries(&mut self, omit: &mut Omit) -> Result<(), SnapshotError> {
        if omit.is_empty() {
            return Ok(());
        }
        let mut last: Option<&BStr> = None;
        for (position, entry) in self.index.entries().iter().enumerate() {
            let path = self.index.path(position);
            if last == Some(path) || !omit.matches(path, entry.mode == Mode::COMMIT) {
                continue;
            }
            last = Some(path);
            self.keep_head(path)?;
            let kept = self.worktree.get(path).copied().flatten();
            self.staged.insert(path.into(), kept);
            self.omit(LeftOut {
                path: path.into(),
                reason: OmissionReason::ByRequest,
                detail: None,
            });
        }
        Ok(())
    }

    /// Tells whether a path is left out on request, in the index as well.
    pub(super) fn is_left_out(&self, path: &BStr) -> bool {
        self.staged.contains_key(path)
    }

    /// Returns head's tree, if there is a head.
    pub(super) fn head_tree(&self) -> Option<ObjectId> {
        self.head_tree
    }

    /// Returns path and id of what stands in the worktree tree, as far as it is known, where the path is wanted.
    pub(super) fn in_worktree_where(
        &self,
        is_wanted: impl Fn(&BStr) -> bool,
    ) -> Vec<(BString, ObjectId)> {
        let state = self.index.state();
        let known = self.index.entries().iter().filter(|e| stands_in_tree(e));
        let known = known.map(|e| (e.path(state), e.id));
        let known = known.filter(|(path, _)| is_wanted(path) && !self.worktree.contains_key(*path));
        let replaced = self
            .worktree
            .iter()
            .filter(|(path, _)| is_wanted(path.as_ref()));
        let replaced = replaced.filter_map(|(path, item)| Some((path.clone(), item.as_ref()?.id)));
        known
            .map(|(path, id)| (path.to_owned(), id))
            .chain(replaced)
            .collect()
    }

    /// Puts something, or nothing, in place of what the index has.
    pub(super) fn replace(&mut self, path: &BStr, item: Option<TreeItem>) {
        if !self.is_left_out(path) {
            self.worktree.insert(path.into(), item);
        }
    }

    /// Puts what head has in place of what the index has: the place of something that is left out.
    pub(super) fn keep_head(&mut self, path: &BStr) -> Result<(), SnapshotError> {
        let item = self.in_head(path)?;
        self.replace(path, item);
        self.kept.insert(path.into());
        Ok(())
    }

    /// Gives up what head has where something else lies above or below it.
    fn settle(&mut self) {
        for path in std::mem::take(&mut self.kept) {
            let taken = |replaced: &Replacements| {
                let mut above = path.find_iter(b"/").map(|end| &path[..end]);
                above.any(|folder| self.stands(replaced, folder.as_bstr()))
                    || self.stands_below(replaced, path.as_ref())
            };
            let (on_disk, in_index) = (taken(&self.worktree), taken(&self.staged));
            if on_disk && let Some(item) = self.worktree.get_mut(&path) {
                *item = None;
            }
            if in_index && let Some(item) = self.staged.get_mut(&path) {
                *item = None;
            }
        }
    }

    fn stands(&self, replaced: &Replacements, path: &BStr) -> bool {
        match replaced.get(path) {
            Some(item) => item.is_some(),
            None => {
                let entry = self.index.state().entry_by_path(path);
                entry.is_some_and(stands_in_tree)
            }
        }
    }

    fn stands_below(&self, replaced: &Replacements, path: &BStr) -> bool {
        let mut folder = BString::from(path);
        folder.push(b'/');
        let own = replaced.range(folder.clone()..);
        let mut own = own.take_while(|(path, _)| path.starts_with(&folder));
        let state = self.index.state();
        let entries = state.prefixed_entries(folder.as_ref()).unwrap_or_default();
        own.any(|(_, item)| item.is_some())
            || entries
                .iter()
                .any(|e| stands_in_tree(e) && !replaced.contains_key(e.path(state)))
    }

    pub(super) fn omit(&mut self, left_out: LeftOut) {
        self.omissions.push(Omission {
            path: Some(repo_path(left_out.path.as_ref())),
            text: None,
            reason: left_out.reason,
            detail: left_out.detail,
            citation: None,
        });
    }

    pub(super) fn add_omission(&mut self, omission: Omission) {
        self.omissions.push(omission);
    }

    /// Takes over what a path holds.
    pub(super) fn content(&mut self, content: Content) {
        let known = content.entry.map(|entry| &self.index.entries()[entry]);
        let same = known.is_some_and(|known| {
            stands_in_tree(known) && known.mode == content.item.mode && known.id == content.item.id
        });
        let path = content.path.as_bstr();
        if known.is_none() {
            let untracked = (content.item, content.stat.size);
            self.untracked.insert(path.into(), untracked);
        }
        self.bytes(path, content.item.mode, content.bytes);
        if !same {
            self.replace(path, Some(content.item));
        }
    }

    /// Takes over what becomes of bytes on disk that the stored version does not bring back.
    pub(super) fn bytes(&mut self, path: &BStr, mode: Mode, bytes: Bytes) {
        if let Some(id) = bytes.raw {
            self.raw.insert(path.into(), Some(TreeItem { mode, id }));
        }
        if let Some(driver) = bytes.filtered {
            self.omit(LeftOut {
                path: path.into(),
                reason: OmissionReason::Filtered,
                detail: Some(driver.to_str_lossy().into_owned()),
            });
        }
    }

    /// Returns path and id of the bytes on disk that conversion does not bring back.
    pub(super) fn raw(&self) -> impl Iterator<Item = (BString, ObjectId)> {
        let raw = self.raw.iter();
        raw.filter_map(|(path, item)| Some((path.clone(), item.as_ref()?.id)))
    }

    /// Builds all trees and writes what is new into the repository.
    ///
    /// What Git finds in error is left out, and the trees are built again. Where a chain is to keep them, the
    /// commit for it goes with them.
    pub(super) fn write(
        &mut self,
        objects: &NewObjects,
        chain: Option<&Chain>,
    ) -> Result<(Trees, Option<ObjectId>), SnapshotError> {
        loop {
            self.settle();
            let trees = self.build(objects)?;
            let link = match chain.filter(|_| !self.is_all_in_head(&trees)) {
                Some(chain) => chain.lengthen(self.repository.gix(), objects, &trees)?,
                None => None,
            };
            match objects.write(self.repository) {
                Ok(()) => return Ok((trees, link)),
                Err(error @ (NewObjectsError::Write(_) | NewObjectsError::Git(_))) => {
                    return Err(error.into());
                }
                Err(NewObjectsError::Refused(ids, error)) => {
                    if !self.refuse(&ids)? {
                        return Err(error.into());
                    }
                    objects.forget(&ids);
                }
            }
        }
    }

    /// Tells whether head keeps all that there is.
    fn is_all_in_head(&self, trees: &Trees) -> bool {
        let in_head = |tree| self.head_tree == Some(tree);
        let is_plain = trees.conflicts.is_empty() && trees.raw.is_none();
        is_plain && in_head(trees.worktree) && in_head(trees.index)
    }

    fn build(&self, objects: &NewObjects) -> Result<Trees, SnapshotError> {
        let builder = TreeBuilder {
            index: self.index.state(),
            objects,
            repo: self.repository.gix(),
        };
        let entries = self.index.entries();
        let base: Vec<&Entry> = entries.iter().filter(|e| stands_in_tree(e)).collect();
        let cached = self.index.state().tree();
        let index = builder.build(&base, &listed(&self.staged), cached)?;
        let worktree = builder.build(&base, &listed(&self.worktree), cached)?;
        let mut conflicts = Vec::new();
        if entries.iter().any(|e| e.stage() != Stage::Unconflicted) {
            for stage in [Stage::Base, Stage::Ours, Stage::Theirs] {
                let left_out = |e: &Entry| self.is_left_out(e.path(self.index.state()));
                let staged = |e: &&Entry| e.stage() == stage && !left_out(e);
                let base: Vec<&Entry> = entries.iter().filter(staged).collect();
                conflicts.push(builder.build(&base, &[], None)?);
            }
        }
        let raw = match listed(&self.raw) {
            raw if raw.is_empty() => None,
            raw => Some(builder.build(&[], &raw, None)?),
        };
        Ok(Trees {
            worktree,
            index,
            conflicts,
            raw,
        })
    }

    /// Leaves out the paths whose content Git refuses; tells whether there are any.
    fn refuse(&mut self, ids: &[ObjectId]) -> Result<bool, SnapshotError> {
        let refused: HashSet<&ObjectId> = ids.iter().collect();
        let state = self.index.state();
        let bad = |e: &&Entry| {
            let path = e.path(state);
            refused.contains(&e.id) || has_refused_name(path, e.mode == Mode::SYMLINK)
        };
        let mut staged: Vec<RepoPath> = self
            .index
            .entries()
            .iter()
            .filter(bad)
            .map(|e| repo_path(e.path(state)))
            .collect();
        staged.dedup();
        if !staged.is_empty() {
            return Err(SnapshotError::UnsafePath(staged));
        }
        let holds = |item: &Option<TreeItem>| item.is_some_and(|item| refused.contains(&item.id));
        let paths: Vec<BString> = self
            .worktree
            .iter()
            .chain(&self.raw)
            .filter(|(_, item)| holds(item))
            .map(|(path, _)| path.clone())
            .collect();
        for path in &paths {
            self.worktree.remove(path);
            self.raw.remove(path);
            self.untracked.remove(path);
            self.keep_head(path.as_ref())?;
            self.omit(LeftOut {
                path: path.clone(),
                reason: OmissionReason::RefusedByGit,
                detail: None,
            });
        }
        Ok(!paths.is_empty())
    }

    /// Returns the summary of the untracked files.
    pub(super) fn untracked(&self) -> Untracked {
        let bytes = self.untracked.values().map(|(_, size)| size).sum();
        let files = self.untracked.iter();
        let files =
            files.map(|(path, (item, _))| (item.mode.bits() as u16, item.id, path.as_ref()));
        Untracked::of(files, bytes)
    }

    /// Returns the omissions, sorted; what is left out on request is so because of a secret where `secret` names it.
    pub(super) fn into_omissions(mut self, secret: &[BString]) -> Vec<Omission> {
        for omission in &mut self.omissions {
            let path = omission.path.as_ref().map(RepoPath::as_bstr);
            let is_secret = path.is_some_and(|path| secret.iter().any(|known| known == path));
            if is_secret && omission.reason == OmissionReason::ByRequest {
                omission.reason = OmissionReason::Secret;
            }
        }
        self.omissions.sort_unstable();
        self.omissions.dedup();
        self.omissions
    }

    /// Returns what head's tree has at a path.
    fn in_head(&self, path: &BStr) -> Result<Option<TreeItem>, SnapshotError> {
        let Some(tree) = self.head_tree else {
            return Ok(None);
        };
        let damaged = |source: gix::Error| SnapshotError::Object {
            id: tree,
            source: source.into(),
        };
        let tree = self.repository.gix().find_tree(tree).map_err(damaged)?;
        let names = path.split(|b| *b == b'/').map(BString::from);
        let found = tree.lookup_entry(names).map_err(damaged)?;
        Ok(found
            .filter(|entry| !entry.mode().is_tree())
            .map(|entry| TreeItem {
                mode: Mode::from(entry.mode()),
                id: entry.object_id(),
            }))
    }
}

/// Tells whether an entry stands in the tree of the index: merged, and with content.
pub(super) fn stands_in_tree(entry: &Entry) -> bool {
    entry.stage() == Stage::Unconflicted && !entry.flags.contains(EntryFlags::INTENT_TO_ADD)
}

fn listed(replacements: &Replacements) -> Vec<Replacement> {
    replacements
        .iter()
        .map(|(path, item)| (path.clone(), *item))
        .collect()
}

fn has_refused_name(path: &BStr, is_link: bool) -> bool {
    let ends = path.iter().enumerate().filter(|(_, b)| **b == b'/');
    ends.map(|(end, _)| &path[..end])
        .any(|folder| names::is_refused(folder, false))
        || names::is_refused(path, is_link)
}
