//! The content of a checkpoint: what was captured, and what its author says.

use store::{
    contract::{
        Allow, Artifacts, Attachment, Blocker, Citation, Content, Disposition, Observed, Omission,
        ReceiptReference, Repository as Origin, Statement, Worktree, lists::CapturedEntry as _,
    },
    draft::Draft,
    lineage::Lineage,
    record::Record,
    snapshot::Snapshot,
};

use crate::ui::count;

/// What a content is put together from.
pub(crate) struct Parts<'a> {
    /// What the author says; empty where nothing is said.
    pub(crate) draft: Draft,
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) lineage: &'a Lineage,
    /// The record that it follows: limits that only become narrower are those of the generation before.
    pub(crate) before: Option<&'a Record>,
    pub(crate) receipts: Vec<ReceiptReference>,
    /// Attempts that nobody wrote down: receipts that failed.
    pub(crate) attempts: Vec<Statement>,
    pub(crate) attachments: Vec<Attachment>,
    /// Findings of the secret scan that somebody answers for.
    pub(crate) allow: Vec<Allow>,
}

impl Parts<'_> {
    /// Puts the content together; where nothing is said, it says as little as can be.
    pub(crate) fn content(self) -> Content {
        let Parts {
            draft,
            snapshot,
            lineage,
            before,
            ..
        } = self;
        let old = before.map(|before| &before.manifest.value.content);
        let leases = before.and_then(|before| match &before.accept {
            Some(accept) => accept.value.leases.clone(),
            None => before.manifest.value.content.leases.clone(),
        });
        let omissions: Vec<Omission> = [&snapshot.omissions[..], &draft.omissions].concat();
        let blockers: Vec<Blocker> = [&snapshot.blockers[..], &draft.blockers].concat();
        let disposition = draft.disposition.unwrap_or(match blockers.as_slice() {
            [] => Disposition::Continuable,
            _ => Disposition::Blocked,
        });
        let state = match draft.state.as_slice() {
            [] => vec![captured(snapshot)],
            _ => draft.state,
        };
        let task_id = draft.task_id.flatten();
        Content {
            // A scope keeps its task, whether it is said again or not.
            task_id: task_id.or_else(|| old.and_then(|old| old.task_id.clone())),
            objective: draft.objective.unwrap_or_default(),
            disposition,
            state,
            next: draft.next,
            forbidden: draft
                .forbidden
                .or_else(|| old.map(|old| old.forbidden.clone()))
                .unwrap_or_default(),
            claims: draft.claims,
            decisions: draft.decisions,
            assumptions: draft.assumptions,
            effects: draft.effects,
            attempts: [draft.attempts, self.attempts].concat(),
            unexecuted: draft.unexecuted,
            known_failures: draft.known_failures,
            untested: draft.untested,
            verification: draft.verification,
            changes: draft.changes,
            task: draft
                .task
                .unwrap_or_else(|| old.and_then(|old| old.task.clone())),
            leases: draft.leases.unwrap_or(leases),
            evidence: draft.evidence,
            allow: self.allow,
            omissions: omissions.into(),
            blockers: blockers.into(),
            receipts: self.receipts.into(),
            repository: origin(snapshot, lineage),
            worktree: worktree(snapshot),
            artifacts: Artifacts {
                raw: snapshot.raw_tree,
                conflicts: snapshot.conflict_trees.clone(),
                attachments: self.attachments,
            },
            lifted: draft.lifted,
            extensions: draft.extensions,
        }
    }
}

/// States the one fact that a capture knows.
fn captured(snapshot: &Snapshot) -> Statement {
    let text = format!(
        "The worktree was captured as it was, with {}.",
        count(snapshot.untracked.count, "untracked file")
    );
    Statement {
        text,
        citations: vec![Citation::Worktree],
    }
}

fn origin(snapshot: &Snapshot, lineage: &Lineage) -> Origin {
    Origin {
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
    }
}

fn worktree(snapshot: &Snapshot) -> Worktree {
    Worktree {
        conversions: snapshot.conversions.clone(),
        intent_to_add: snapshot.intent_to_add.clone().into(),
        flags: snapshot.flags.clone().into(),
        empty_directories: snapshot.empty_directories.clone().into(),
        untracked: snapshot.untracked,
        submodules: snapshot.submodules.clone().into(),
        lfs: snapshot.lfs.clone().into(),
    }
}

/// Puts what a capture finds now into a content; what is known of history stays as it is.
pub(crate) fn recaptured(content: &Content, snapshot: &Snapshot) -> Content {
    let omissions = content.omissions.inline().iter();
    let omissions = omissions.filter(|omission| !omission.is_captured());
    let omissions: Vec<Omission> = snapshot
        .omissions
        .iter()
        .chain(omissions)
        .cloned()
        .collect();
    let blockers = content.blockers.inline().iter();
    let blockers = blockers.filter(|blocker| !blocker.is_captured());
    let blockers: Vec<Blocker> = snapshot.blockers.iter().chain(blockers).cloned().collect();
    let lineage = Lineage {
        id: content.repository.id,
        base: content.repository.base,
        depth: content.repository.depth,
        base_from: None,
        upstream: None,
    };
    Content {
        omissions: omissions.into(),
        blockers: blockers.into(),
        repository: origin(snapshot, &lineage),
        worktree: worktree(snapshot),
        artifacts: Artifacts {
            raw: snapshot.raw_tree,
            conflicts: snapshot.conflict_trees.clone(),
            attachments: content.artifacts.attachments.clone(),
        },
        ..content.clone()
    }
}

/// Takes from a content what no restore brings back, where a capture of the restored state finds nothing more: the branch,
/// conversions, index flags that would hide an edit, and what was left out or in the way at the place it comes from.
pub(crate) fn as_restored(mut new: Content, old: &Content) -> Content {
    fn is_part<T: PartialEq>(new: &[T], old: &[T]) -> bool {
        new.iter().all(|entry| old.contains(entry))
    }
    if is_part(new.omissions.inline(), old.omissions.inline()) {
        new.omissions = old.omissions.clone();
    }
    if is_part(new.blockers.inline(), old.blockers.inline()) {
        new.blockers = old.blockers.clone();
    }
    if is_part(new.worktree.flags.inline(), old.worktree.flags.inline()) {
        new.worktree.flags = old.worktree.flags.clone();
    }
    new.repository.branch = old.repository.branch.clone();
    new.worktree.conversions = old.worktree.conversions.clone();
    new
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
