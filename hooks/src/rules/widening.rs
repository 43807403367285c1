//! Limits of the work only become narrower along the line.

use store::{
    contract::{Content, PathLease, TaskScope},
    error_code::ErrorCode,
    record::{Record, RecordKind},
};

use super::{NextCheckpoint, Step};
use crate::rejection::Rejection;

pub(super) fn rule(step: &Step<'_>) -> Result<(), Rejection> {
    let (RecordKind::Checkpoint, Some(before)) = (&step.after.kind, step.before) else {
        return Ok(());
    };
    let next = NextCheckpoint {
        scope: step.scope,
        before: Some(before),
        content: &step.after.manifest.value.content,
        producer: step.after.by(),
    };
    find(&next, before)
        .into_iter()
        .next()
        .map_or(Ok(()), |(_, rejection)| Err(rejection))
}

/// Finds everything that a content widens, with the field paths.
pub(super) fn find(next: &NextCheckpoint<'_>, before: &Record) -> Vec<(String, Rejection)> {
    let (old, new) = (&before.manifest.value.content, next.content);
    let held = match &before.accept {
        Some(accept) => &accept.value.leases,
        None => &old.leases,
    };
    let mut found = Vec::new();
    if !leases_are_within(held.as_deref(), new.leases.as_deref()) {
        found.push(("content.leases".into(), expanded(next, "path leases")));
    }
    found.extend(task_scope(next, old));
    found.extend(forbidden(next, before));
    found
}

/// Entries are only kept or dropped, never added or changed.
fn leases_are_within(held: Option<&[PathLease]>, new: Option<&[PathLease]>) -> bool {
    match (held, new) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(held), Some(new)) => new.iter().all(|lease| {
            held.iter()
                .any(|other| other.id == lease.id && other.paths == lease.paths)
        }),
    }
}

fn task_scope(next: &NextCheckpoint<'_>, old: &Content) -> Vec<(String, Rejection)> {
    let new = next.content;
    let of = |content: &Content| {
        content
            .task
            .as_ref()
            .map(|task| task.scope.clone())
            .unwrap_or_default()
    };
    let (
        TaskScope {
            allowed: old,
            excluded: kept,
        },
        TaskScope {
            allowed: new,
            excluded,
        },
    ) = (of(old), of(new));
    let within = match (&old, &new) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(old), Some(new)) => new.iter().all(|glob| old.contains(glob)),
    };
    let mut found = Vec::new();
    let mut add = |field: &str| found.push((format!("content.{field}"), expanded(next, field)));
    if !within {
        add("task.scope.allowed");
    }
    if !kept.iter().all(|glob| excluded.contains(glob)) {
        add("task.scope.excluded");
    }
    found
}

fn expanded(next: &NextCheckpoint<'_>, what: &str) -> Rejection {
    let detail = format!(
        "{what} of scope `{}` would be wider than before",
        next.scope
    );
    Rejection::new(ErrorCode::LeaseExpanded, detail).hint("wider work takes a scope of its own")
}

/// An action leaves `forbidden` only through `lifted`, written by an owner.
fn forbidden(next: &NextCheckpoint<'_>, before: &Record) -> Vec<(String, Rejection)> {
    let new = next.content;
    let old = &before.manifest.value.content;
    let dropped = old
        .forbidden
        .iter()
        .filter(|action| !new.forbidden.contains(action));
    let owned = before.owner() == Some(next.producer);
    let unlifted = dropped
        .filter(|action| !(owned && new.lifted.iter().any(|lifted| lifted.action == **action)));
    let rejection = |action| {
        let detail = format!(
            "the action `{action}` leaves `forbidden` of scope `{}`",
            next.scope
        );
        let rejection = Rejection::new(ErrorCode::ForbiddenAction, detail)
            .hint("only the owner lifts it, by an entry in `lifted` with reason and citations");
        ("content.forbidden".into(), rejection)
    };
    unlifted.map(rejection).collect()
}
