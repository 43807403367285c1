//! The code commits that a checkpoint brings along.

use gix::ObjectId;
use store::{error_code::ErrorCode, line, record::RecordKind, verify::VerifiedRecord};

use crate::rejection::Rejection;

/// No code commit of a checkpoint is a record, and its base is behind its head.
///
/// Unlike the other rules this one reads commits: those from the head of the record before, else from the base, to
/// the head. What lies behind was judged with an earlier record, or was there before the work began.
///
/// # Errors
///
/// `HEAD_IS_RECORD`, `MALFORMED_MANIFEST` or `MISSING_OBJECT`.
pub(crate) fn rule(
    objects: &gix::Repository,
    before: Option<&VerifiedRecord>,
    after: &VerifiedRecord,
) -> Result<(), Rejection> {
    if after.kind != RecordKind::Checkpoint {
        return Ok(());
    }
    let repository = &after.manifest.value.content.repository;
    let before = before.map(|before| &before.manifest.value.content.repository);
    // A shallow history may not have the head before, but always the base.
    let head_before = before.and_then(|before| before.head).map(|id| id.id());
    let known = head_before
        .filter(|id| objects.has_object(id))
        .or(repository.base.map(|id| id.id()));
    let operation = repository
        .operation
        .iter()
        .flat_map(|operation| operation.heads.iter());
    let heads: Vec<ObjectId> = repository
        .head
        .iter()
        .chain(operation)
        .map(|head| head.id())
        .collect();
    for commit in heads
        .iter()
        .copied()
        .chain(repository.base.map(|base| base.id()))
    {
        not_a_record(objects, commit)?;
    }
    let mut continues = repository.head.map(|head| head.id()) == known;
    let walk = objects
        .rev_walk(heads)
        .with_hidden(known)
        .all()
        .map_err(unreadable)?;
    for commit in walk {
        let commit = commit.map_err(unreadable)?;
        continues |= known.is_some_and(|known| commit.parent_ids.contains(&known));
        not_a_record(objects, commit.id)?;
    }
    let same_base = before.is_some_and(|before| before.base == repository.base);
    match (repository.base, repository.head) {
        // The base was found behind the head before, which is behind this head.
        (Some(_), Some(_)) if same_base && continues => Ok(()),
        (Some(base), Some(head)) => base_is_behind(objects, base.id(), head.id()),
        _ => Ok(()),
    }
}

fn base_is_behind(
    objects: &gix::Repository,
    base: ObjectId,
    head: ObjectId,
) -> Result<(), Rejection> {
    if base == head {
        return Ok(());
    }
    let found = objects.merge_base(base, head).map_err(unreadable)?;
    if found.is_some_and(|found| found == base) {
        return Ok(());
    }
    let detail = format!("the base {base} is no ancestor of the head {head}");
    Err(Rejection::new(ErrorCode::MalformedManifest, detail))
}

fn unreadable(error: gix::Error) -> Rejection {
    let detail = format!("the commits that the checkpoint brings along cannot be read: {error}");
    Rejection::new(ErrorCode::MissingObject, detail)
}

fn not_a_record(objects: &gix::Repository, commit: ObjectId) -> Result<(), Rejection> {
    if !line::is_record(objects, commit)? {
        return Ok(());
    }
    let detail = format!("commit {commit} among the code commits is a record of a scope");
    Err(Rejection::new(ErrorCode::HeadIsRecord, detail)
        .hint("check out a branch of the code; records are never built upon"))
}
