//! Captures a worktree and appends it to a scope as a checkpoint.

use std::{collections::BTreeSet, ffi::OsString};

use gix::ObjectId;
use hooks::reader::ScopeView;
use store::{
    digest::Digest,
    draft::Draft,
    error_code::ErrorCode,
    evidence, line,
    lineage::Lineage,
    oid::Oid,
    record::{self, NewCheckpoint},
    ref_store::Head,
    repo_path::RepoPath,
    repository::Repository,
    restore::{CaptureError, Captured},
    scope::ScopeName,
    snapshot::{self, CaptureOptions, Snapshot},
    verify::VerifiedRecord,
};

use crate::{
    actor::Actor,
    authoring::{self, Author, Handoff, Warning},
    content::Parts,
    context::Context,
    draft_file,
    error::CommandError,
    omitted, safety,
    scopes::Scopes,
    writer::Writer,
};

/// A checkpoint that holds the worktree as it was.
pub(crate) struct Saved {
    pub(crate) record: VerifiedRecord,
    /// Whether it was written now; otherwise the current generation says the same already.
    pub(crate) created: bool,
    pub(crate) content_digest: Digest,
    /// What is to be said of what it holds.
    pub(crate) warnings: Vec<Warning>,
    /// What the local ref named before.
    pub(crate) local_before: Option<ObjectId>,
    /// The record before.
    pub(crate) before: Option<ObjectId>,
}

impl Saved {
    /// Returns the current generation where it says the same as a content already.
    pub(crate) fn already(view: Option<&ScopeView>, content_digest: Digest) -> Option<Self> {
        let view = view?;
        let current = authoring::content_digest(&view.tip.whole().content);
        (current == content_digest).then(|| Saved {
            before: Some(view.tip.id),
            record: view.tip.clone(),
            created: false,
            content_digest,
            warnings: Vec::new(),
            local_before: view.local,
        })
    }

    /// Appends a checkpoint to a scope, judged first.
    ///
    /// # Errors
    ///
    /// The first rejection; `CAS_CONFLICT` where another writer was faster.
    pub(crate) fn append(
        context: &Context,
        repository: &Repository,
        view: Option<&ScopeView>,
        checkpoint: NewCheckpoint<'_>,
    ) -> Result<Self, CommandError> {
        let scope = checkpoint.manifest.scope.clone();
        let content_digest = authoring::content_digest(&checkpoint.manifest.content);
        let composed = checkpoint.compose(repository)?;
        let writer = Writer {
            context,
            repository,
            scope: &scope,
        };
        let (record, warnings) = writer.append(view, composed)?;
        Ok(Saved {
            record,
            created: true,
            content_digest,
            warnings,
            local_before: view.and_then(|view| view.local),
            before: view.map(|view| view.tip.id),
        })
    }
}

/// Captures the worktree and appends it to the scope, unless the current generation says the same.
///
/// # Errors
///
/// All that is wrong with what would be handed over, at once.
pub(crate) fn save(
    author: &Author<'_>,
    scopes: &Scopes<'_>,
) -> Result<(Saved, Handoff), CommandError> {
    let mut handoff = author.capture(scopes)?;
    if handoff.is_read() {
        let digest = authoring::content_digest(&handoff.content);
        if let Some(saved) = Saved::already(handoff.view.as_ref(), digest) {
            return Ok((saved, handoff));
        }
    }
    author.judge(&mut handoff)?;
    let view = handoff.view.as_ref();
    let before = view.map(|view| &*view.tip);
    let content = handoff.content.clone();
    let checkpoint = NewCheckpoint {
        manifest: author.manifest(content, &handoff.snapshot, &handoff.lineage, before)?,
        before: before.map(|before| before.id),
        receipts: &handoff.receipts,
        attachments: &handoff.attachments,
    };
    let saved = Saved::append(author.context, author.repository, view, checkpoint)?;
    let draft = handoff.draft().map(|(_, digest)| *digest);
    let at = At {
        draft,
        kept: handoff.kept.tip,
    };
    at.settle(author.repository, author.scope);
    Ok((saved, handoff))
}

/// What a checkpoint was made of, and what is done with it once it is written.
#[derive(PartialEq, Eq)]
pub(crate) struct At {
    /// Digest of the draft.
    pub(crate) draft: Option<Digest>,
    /// Where the chain stood that keeps receipts.
    pub(crate) kept: Option<ObjectId>,
}

impl At {
    /// Lets go of what the checkpoint says now: the draft, and the receipts that were kept for it.
    pub(crate) fn settle(&self, repository: &Repository, scope: &ScopeName) {
        if let Some(digest) = self.draft {
            draft_file::put_aside(repository, scope, digest);
        }
        if let Some(kept) = self.kept {
            // What stays is told of once more; the checkpoint is written.
            let _ = evidence::cut(repository, kept);
        }
    }
}

/// Records are never built upon: the code history of a checkpoint would be a line of records.
pub(crate) fn refuse_records(repository: &Repository, head: &Head) -> Result<(), CommandError> {
    let Some(commit) = head.commit else {
        return Ok(());
    };
    if !line::is_record(repository.gix(), commit).map_err(hooks::rejection::Rejection::from)? {
        return Ok(());
    }
    Err(CommandError::new(
        ErrorCode::HeadIsRecord,
        format!("HEAD is the record {commit} of a scope, not code"),
    )
    .hint("check out a branch of the code; a checkpoint is continued with `git handoff restore`"))
}

/// Adds pathspecs, relative to where the command runs, to what every capture of the worktree leaves out.
pub(crate) fn remembered_options(
    context: &Context,
    repository: &Repository,
    omit: &[OsString],
) -> CaptureOptions {
    omitted::options(context, repository, omit)
}

/// Captures what a restore in place replaces; keeps it as a safety record unless Git, or one of `records`, has all
/// of it.
pub(crate) fn keep_what_is_here(
    context: &Context,
    repository: &Repository,
    records: &[VerifiedRecord],
    kept: &mut Option<u64>,
) -> Result<Captured, CaptureError> {
    let failed = |error: CommandError| CaptureError {
        code: error.code,
        source: error.message.into(),
    };
    let options = remembered_options(context, repository, &[]);
    let snapshot = snapshot::capture(repository, &options)
        .map_err(|error| failed(CommandError::from(error)))?;
    let has_all = records.iter().any(|record| holds(record, &snapshot))
        || is_clean(repository, &snapshot)
            && is_reachable(repository, &snapshot.head).map_err(failed)?;
    if !has_all {
        let number = write_safety(context, repository, &snapshot).map_err(failed)?;
        *kept = Some(number);
    }
    Ok(Captured {
        worktree_tree: snapshot.worktree_tree.id(),
        omitted: snapshot
            .omissions
            .iter()
            .filter_map(|omission| omission.path.clone())
            .collect(),
        kept: not_put_here(repository, records, &snapshot).map_err(failed)?,
        empty_directories: snapshot.empty_directories,
    })
}

/// Returns the untracked files that none of `records` has: what no restore put here, no restore removes.
fn not_put_here(
    repository: &Repository,
    records: &[VerifiedRecord],
    snapshot: &Snapshot,
) -> Result<Vec<RepoPath>, CommandError> {
    let tree = snapshot.worktree_tree;
    let mut kept = only_in(repository, snapshot.index_tree, tree, "A")?;
    kept.retain(|path| snapshot.conflicts.binary_search(path).is_err());
    for record in records {
        if kept.is_empty() {
            break;
        }
        let recorded = record.manifest.value.content.repository.worktree_tree;
        let unknown = only_in(repository, recorded, tree, "AMT")?;
        kept.retain(|path| unknown.contains(path));
    }
    Ok(kept.into_iter().collect())
}

/// Returns the paths of a tree that are not in another one, or not the same, by a filter of git-diff-tree(1).
fn only_in(
    repository: &Repository,
    other: Oid,
    tree: Oid,
    filter: &str,
) -> Result<BTreeSet<RepoPath>, CommandError> {
    let filter = format!("--diff-filter={filter}");
    let (other, tree) = (other.to_string(), tree.to_string());
    let args = [
        "diff-tree",
        "-r",
        "-z",
        "--name-only",
        "--no-renames",
        &filter,
        &other,
        &tree,
    ];
    let listed = repository.git().output(args)?;
    let paths = listed.split(|b| *b == 0).filter(|path| !path.is_empty());
    Ok(paths
        .filter_map(|path| RepoPath::from_bytes(path).ok())
        .collect())
}

/// Tells whether a record has everything that was captured.
fn holds(record: &VerifiedRecord, snapshot: &Snapshot) -> bool {
    let content = &record.whole().content;
    let (origin, worktree) = (&content.repository, &content.worktree);
    origin.head.map(ObjectId::from) == snapshot.head.commit
        && origin.worktree_tree == snapshot.worktree_tree
        && origin.index_tree == snapshot.index_tree
        && origin.operation == snapshot.operation
        && content.artifacts.conflicts == snapshot.conflict_trees
        && content.artifacts.raw == snapshot.raw_tree
        && worktree.intent_to_add.inline() == snapshot.intent_to_add
        && worktree.empty_directories.inline() == snapshot.empty_directories
        && worktree.flags.inline() == snapshot.flags
}

/// Tells whether head's tree says all that there is.
fn is_clean(repository: &Repository, snapshot: &Snapshot) -> bool {
    let tree = snapshot.head.commit.and_then(|commit| {
        let commit = repository.gix().find_commit(commit).ok()?;
        commit.tree_id().ok().map(|tree| tree.detach())
    });
    tree == Some(snapshot.worktree_tree.id())
        && tree == Some(snapshot.index_tree.id())
        && snapshot.conflict_trees.is_empty()
        && snapshot.operation.is_none()
        && snapshot.intent_to_add.is_empty()
        && snapshot.empty_directories.is_empty()
        && snapshot.flags.is_empty()
        && snapshot.raw_tree.is_none()
}

/// Tells whether a ref reaches what `HEAD` names: a detached `HEAD` may be all that keeps its commits.
fn is_reachable(repository: &Repository, head: &Head) -> Result<bool, CommandError> {
    let (None, Some(commit)) = (&head.branch, head.commit) else {
        return Ok(true);
    };
    let commit = commit.to_string();
    let args = ["for-each-ref", "--count=1", "--contains", &commit];
    Ok(!repository.git().output(args)?.is_empty())
}

/// Writes a state as a checkpoint that stands on no scope.
fn write_safety(
    context: &Context,
    repository: &Repository,
    snapshot: &Snapshot,
) -> Result<u64, CommandError> {
    let scope = ScopeName::from_task_id("safety");
    let actor = Actor::find(context, repository, None)?;
    let lineage = Lineage::find(repository, &snapshot.head, None)?;
    let author = Author {
        context,
        repository,
        scope: &scope,
        producer: actor.producer(),
        options: CaptureOptions::default(),
        draft: None,
        objective: None,
        fallback: String::new(),
        attach: Vec::new(),
    };
    let content = Parts {
        draft: Draft {
            objective: Some("what a restore in place replaced".into()),
            ..Draft::default()
        },
        snapshot,
        lineage: &lineage,
        before: None,
        receipts: Vec::new(),
        attempts: Vec::new(),
        attachments: Vec::new(),
        allow: Vec::new(),
    }
    .content();
    let manifest = author.manifest(content, snapshot, &lineage, None)?;
    let checkpoint = NewCheckpoint {
        manifest,
        before: None,
        receipts: &[],
        attachments: &[],
    };
    let record = checkpoint.compose(repository)?;
    safety::keep(repository, record::write(repository, &record)?)
}
