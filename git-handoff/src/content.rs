//! The content of a checkpoint that is saved without a draft.

use store::{
    contract::{
        Artifacts, Citation, Content, Disposition, Observed, Repository as Origin, Statement,
        Worktree,
    },
    lineage::Lineage,
    record::Record,
    snapshot::Snapshot,
};

use crate::ui::count;

/// Puts together what a save says: what was captured, and as little of the author's as can be.
///
/// Limits that only become narrower are carried over from the generation before.
pub(crate) fn of_save(
    objective: String,
    snapshot: &Snapshot,
    lineage: &Lineage,
    before: Option<&Record>,
) -> Content {
    let old = before.map(|before| &before.manifest.value.content);
    let leases = before.map(|before| match &before.accept {
        Some(accept) => accept.value.leases.clone(),
        None => before.manifest.value.content.leases.clone(),
    });
    let text = format!(
        "The worktree was captured as it was, with {}.",
        count(snapshot.untracked.count, "untracked file")
    );
    Content {
        task_id: old.and_then(|old| old.task_id.clone()),
        objective,
        disposition: if snapshot.blockers.is_empty() {
            Disposition::Continuable
        } else {
            Disposition::Blocked
        },
        state: vec![Statement {
            text,
            citations: vec![Citation::Worktree],
        }],
        next: None,
        forbidden: old.map(|old| old.forbidden.clone()).unwrap_or_default(),
        claims: Vec::new(),
        decisions: Vec::new(),
        assumptions: Vec::new(),
        effects: Vec::new(),
        attempts: Vec::new(),
        unexecuted: Vec::new(),
        known_failures: Vec::new(),
        untested: None,
        verification: Vec::new(),
        changes: Vec::new(),
        task: old.and_then(|old| old.task.clone()),
        leases: leases.flatten(),
        evidence: Vec::new(),
        allow: Vec::new(),
        omissions: snapshot.omissions.clone().into(),
        blockers: snapshot.blockers.clone().into(),
        receipts: Vec::new().into(),
        repository: Origin {
            id: lineage.id,
            object_format: snapshot.worktree_tree.kind().into(),
            base: lineage.base,
            depth: lineage.depth,
            head: snapshot.head.commit.map(Into::into),
            branch: snapshot
                .head
                .branch
                .as_ref()
                .map(|branch| branch.as_bstr().to_owned().into()),
            worktree_tree: snapshot.worktree_tree,
            index_tree: snapshot.index_tree,
            operation: snapshot.operation.clone(),
        },
        worktree: Worktree {
            conversions: snapshot.conversions.clone(),
            intent_to_add: snapshot.intent_to_add.clone().into(),
            flags: snapshot.flags.clone().into(),
            empty_directories: snapshot.empty_directories.clone().into(),
            untracked: snapshot.untracked,
            submodules: snapshot.submodules.clone().into(),
            lfs: snapshot.lfs.clone().into(),
        },
        artifacts: Artifacts {
            raw: snapshot.raw_tree,
            conflicts: snapshot.conflict_trees.clone(),
            attachments: Vec::new(),
        },
        lifted: Vec::new(),
        extensions: Default::default(),
    }
}

/// Puts together the facts that change by themselves.
pub(crate) fn observed(snapshot: &Snapshot, lineage: &Lineage) -> Observed {
    Observed {
        last_edit_at: snapshot.last_edit_at,
        base_from: lineage.base_from,
        upstream: lineage.upstream.clone(),
        excluded: snapshot.excluded.clone().into(),
        submodules: snapshot.submodule_reach.clone().into(),
        lfs: snapshot.lfs_presence.clone().into(),
    }
}
