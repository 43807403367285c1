//! Captures a worktree and appends it to a scope as a checkpoint.

use std::{collections::BTreeSet, ffi::OsString};

use gix::ObjectId;
use store::{
    contract::{Manifest, ManifestSchema, Previous, Producer, codec, lists},
    digest::Digest,
    error_code::ErrorCode,
    generation::Generation,
    line,
    lineage::Lineage,
    oid::Oid,
    record::{self, NewCheckpoint, Record},
    ref_store::Head,
    repo_path::RepoPath,
    repository::Repository,
    restore::{CaptureError, Captured},
    scope::ScopeName,
    snapshot::{self, CaptureOptions, Snapshot},
    timestamp::Timestamp,
    verify::VerifiedRecord,
};

use crate::{
    actor::Actor, content, context::Context, error::CommandError, omitted, safety, scopes::Scopes,
    writer::Writer,
};

/// What to freeze, and where.
pub(crate) struct Save<'a> {
    pub(crate) context: &'a Context,
    pub(crate) repository: &'a Repository,
    pub(crate) scope: &'a ScopeName,
    pub(crate) objective: String,
    pub(crate) producer: Producer,
    pub(crate) options: CaptureOptions,
}

/// A checkpoint that holds the worktree as it was.
pub(crate) struct Saved {
    pub(crate) record: VerifiedRecord,
    /// Whether it was written now; otherwise the current generation says the same already.
    pub(crate) created: bool,
    pub(crate) content_digest: Digest,
    /// What the local ref named before.
    pub(crate) local_before: Option<ObjectId>,
    /// The record before.
    pub(crate) before: Option<ObjectId>,
}

impl Save<'_> {
    /// Captures the worktree and appends it, unless the current generation says the same.
    pub(crate) fn run(self, scopes: &Scopes<'_>) -> Result<Saved, CommandError> {
        let head = self.repository.head()?;
        refuse_records(self.repository, &head)?;
        let snapshot = snapshot::capture(self.repository, &self.options)?;
        let view = scopes.view_if_any(self.scope)?;
        let before = view.as_ref().map(|view| &*view.tip);
        let manifest = self.manifest(&snapshot, before)?;
        let content_digest = content_digest(&manifest);
        if let Some(view) = &view
            && content_digest == self::content_digest(&view.tip.manifest.value)
        {
            let (record, local) = (view.tip.clone(), view.local);
            return Ok(Saved {
                before: Some(record.id),
                record,
                created: false,
                content_digest,
                local_before: local,
            });
        }
        let checkpoint = NewCheckpoint {
            manifest,
            before: before.map(|before| before.id),
            receipts: &[],
            attachments: &[],
        };
        let composed = checkpoint.compose(self.repository)?;
        let writer = Writer {
            repository: self.repository,
            scope: self.scope,
        };
        let record = writer.append(view.as_ref(), composed)?;
        Ok(Saved {
            record,
            created: true,
            content_digest,
            local_before: view.as_ref().and_then(|view| view.local),
            before: view.map(|view| view.tip.id),
        })
    }

    fn manifest(
        &self,
        snapshot: &Snapshot,
        before: Option<&Record>,
    ) -> Result<Manifest, CommandError> {
        let origin = before.map(|before| &before.manifest.value.content.repository);
        let lineage = Lineage::find(self.repository, &snapshot.head, origin)?;
        let generation = match before {
            None => Generation::FIRST,
            Some(before) => before.generation().next().ok_or_else(|| {
                CommandError::new(
                    ErrorCode::GenerationGap,
                    format!("scope `{}` is full", self.scope),
                )
            })?,
        };
        let previous = before.map(|before| Previous {
            checkpoint: before.manifest.digest,
            accept: before.accept.as_ref().map(|accept| accept.digest),
            release: before.release.as_ref().map(|release| release.digest),
        });
        let now = self.context.now()?;
        Ok(Manifest {
            schema: ManifestSchema::V1,
            scope: self.scope.clone(),
            generation,
            previous,
            created_at: before.map_or(now, |before| Timestamp::max(now, before.at())),
            producer: self.producer.clone(),
            content: content::of_save(self.objective.clone(), snapshot, &lineage, before),
            observed: content::observed(snapshot, &lineage),
        })
    }
}

/// Returns the digest of the content alone, as it stands in the manifest.
pub(crate) fn content_digest(manifest: &Manifest) -> Digest {
    let mut content = manifest.content.clone();
    lists::move_out_of_content(&mut content);
    Digest::of(&codec::encode(&content))
}

/// Records are never built upon: the code history of a checkpoint would be a line of records.
fn refuse_records(repository: &Repository, head: &Head) -> Result<(), CommandError> {
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
    let save = Save {
        context,
        repository,
        scope: &scope,
        objective: "what a restore in place replaced".into(),
        producer: actor.producer(),
        options: CaptureOptions::default(),
    };
    let manifest = save.manifest(snapshot, None)?;
    let checkpoint = NewCheckpoint {
        manifest,
        before: None,
        receipts: &[],
        attachments: &[],
    };
    let record = checkpoint.compose(repository)?;
    safety::keep(repository, record::write(repository, &record)?)
}
