//! The trees of a state – of a record or a prepared handoff – against the content that names them.

use gix::ObjectId;

use super::{
    Depth, Violation, captured, evidence,
    lookup::{self, Lookup},
    parts, paths,
    trees::TreeWalk,
};
use crate::{
    contract::Content,
    error_code::ErrorCode,
    oid::Oid,
    record::{RootTree, SubTree, read_object},
};

/// Largest tree of conflict stages, in bytes.
const MAX_STAGES_BYTES: u64 = 4096;

/// A state and what is said of it.
pub(super) struct State<'a> {
    pub(super) objects: &'a gix::Repository,
    pub(super) root: &'a RootTree,
    /// As it is written.
    pub(super) content: &'a Content,
    /// Trees of the record before, which were judged.
    pub(super) before: Option<&'a RootTree>,
    pub(super) depth: Depth,
}

impl State<'_> {
    /// Makes all checks of the state; `whole` is the content with all of its lists, where they could be read.
    pub(super) fn check(
        &self,
        whole: Option<&Content>,
        mut add: impl FnMut(&'static str, Vec<Violation>),
    ) {
        let one = |result: Result<(), Violation>| result.err().into_iter().collect::<Vec<_>>();
        let (objects, root) = (self.objects, self.root);
        if let Some(whole) = whole {
            add("receipts", parts::receipts(objects, whole, root.receipts));
        }
        let attachments = parts::attachments(objects, self.content, root.attachments);
        add("attachments", one(attachments));
        let stages = self.stages();
        let trees = stages.as_ref().map_err(Clone::clone);
        let trees = one(trees.and_then(|_| self.trees()));
        let named = trees.is_empty();
        add("trees", trees);
        let (Ok(stages), Some(whole)) = (stages, whole) else {
            return;
        };
        let paths = one(self.paths(&stages, whole));
        let are_sound = named && paths.is_empty();
        add("paths", paths);
        if self.depth == Depth::Objects && are_sound {
            add("captured", captured::judge(objects, whole));
        }
        // Judged by the trees, once these are known to be sound and the ones that are named.
        if self.depth != Depth::Documents && are_sound {
            add("citations", evidence::citations(objects, whole));
            add("changes", evidence::changes(objects, whole));
        }
    }

    /// The trees of the conflict stages, 1 to 3.
    fn stages(&self) -> Result<Vec<ObjectId>, Violation> {
        let Some(tree) = self.root.conflicts else {
            return Ok(Vec::new());
        };
        let data = read_object(self.objects, tree, gix::objs::Kind::Tree, MAX_STAGES_BYTES)
            .map_err(|error| Violation::from_record_error(&error, "index-conflicts"))?;
        let found = SubTree::parse(&data, self.objects.object_hash()).ok();
        let stages = found.filter(|found| {
            found.0.len() == 3
                && found
                    .0
                    .iter()
                    .zip(1..)
                    .all(|((name, mode, _), n)| *name == n.to_string() && mode.is_tree())
        });
        let detail = "it must hold the trees 1, 2 and 3";
        let stages = stages.ok_or_else(|| {
            Violation::new(ErrorCode::MalformedManifest, "index-conflicts", detail)
        })?;
        Ok(stages.0.into_iter().map(|(_, _, id)| id).collect())
    }

    /// The trees are those that the manifest names.
    fn trees(&self) -> Result<(), Violation> {
        let (root, content) = (self.root, self.content);
        let same = |name: &str, found: Option<ObjectId>, named: Option<Oid>| {
            let named = named.map(|oid| oid.id());
            if found == named {
                return Ok(());
            }
            let shown =
                |id: Option<ObjectId>| id.map_or_else(|| "none".to_owned(), |id| id.to_string());
            let detail = format!(
                "the tree is {}, the manifest names {}",
                shown(found),
                shown(named)
            );
            Err(Violation::new(ErrorCode::TreeMismatch, name, detail))
        };
        same(
            "worktree",
            Some(root.worktree),
            Some(content.repository.worktree_tree),
        )?;
        same(
            "index",
            Some(root.index),
            Some(content.repository.index_tree),
        )?;
        same("raw", root.raw, content.artifacts.raw)?;
        let named: Vec<ObjectId> = content.artifacts.conflicts.iter().map(Oid::id).collect();
        if self.stages()? != named {
            let detail = "the trees of the conflict stages are not those that the manifest names";
            return Err(Violation::new(
                ErrorCode::TreeMismatch,
                "index-conflicts",
                detail,
            ));
        }
        Ok(())
    }

    /// Every path of the trees and of the manifest may be written to disk.
    fn paths(&self, stages: &[ObjectId], whole: &Content) -> Result<(), Violation> {
        if self.depth == Depth::Documents {
            return Ok(());
        }
        let (root, before) = (self.root, self.before);
        let mut walk = TreeWalk::new(self.objects, self.depth);
        walk.judge_worktree(root.worktree, before.map(|root| root.worktree))?;
        walk.judge(root.index, before.map(|root| root.index))?;
        let mut index = Lookup::new(self.objects, root.index);
        for stage in stages {
            walk.judge(*stage, None)?;
            walk.judge_stage(*stage, &mut index)?;
        }
        if let Some(raw) = root.raw {
            walk.judge(raw, before.and_then(|root| root.raw))?;
            walk.judge_raw(raw, root.worktree)?;
        }
        let worktree = &whole.worktree;
        let directories = worktree.empty_directories.inline();
        let listed = directories
            .iter()
            .chain(
                worktree
                    .intent_to_add
                    .inline()
                    .iter()
                    .map(|entry| &entry.path),
            )
            .chain(worktree.flags.inline().iter().map(|entry| &entry.path))
            .chain(worktree.submodules.inline().iter().map(|entry| &entry.path))
            .chain(worktree.lfs.inline().iter().map(|entry| &entry.path));
        for path in listed {
            paths::path(path, false).map_err(|error| {
                Violation::new(ErrorCode::UnsafePath, path.to_string(), error.to_string())
            })?;
        }
        lookup::judge_intents(&mut index, worktree.intent_to_add.inline())?;
        lookup::judge_directories(&mut Lookup::new(self.objects, root.worktree), directories)
    }
}
