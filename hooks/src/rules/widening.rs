//! Limits of the work only become narrower along the line.

use store::{
    contract::{Content, PathLease, TaskScope},
    error_code::ErrorCode,
    record::RecordKind,
};

use super::Step;
use crate::rejection::Rejection;

pub(super) fn rule(step: &Step<'_>) -> Result<(), Rejection> {
    let (RecordKind::Checkpoint, Some(before)) = (&step.after.kind, step.before) else {
        return Ok(());
    };
    let (old, new) = (
        &before.manifest.value.content,
        &step.after.manifest.value.content,
    );
    let held = match &before.accept {
        Some(accept) => &accept.value.leases,
        None => &old.leases,
    };
    leases(step, held.as_deref(), new.leases.as_deref())?;
    task_scope(step, old, new)?;
    forbidden(step, old, new)
}

/// Entries are only kept or dropped, never added or changed.
fn leases(
    step: &Step<'_>,
    held: Option<&[PathLease]>,
    new: Option<&[PathLease]>,
) -> Result<(), Rejection> {
    let within = match (held, new) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(held), Some(new)) => new.iter().all(|lease| {
            held.iter()
                .any(|other| other.id == lease.id && other.paths == lease.paths)
        }),
    };
    if within {
        Ok(())
    } else {
        Err(expanded(step, "path leases"))
    }
}

fn task_scope(step: &Step<'_>, old: &Content, new: &Content) -> Result<(), Rejection> {
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
    if !within {
        return Err(expanded(step, "task.scope.allowed"));
    }
    if !kept.iter().all(|glob| excluded.contains(glob)) {
        return Err(expanded(step, "task.scope.excluded"));
    }
    Ok(())
}

fn expanded(step: &Step<'_>, what: &str) -> Rejection {
    let detail = format!(
        "generation {} widens {what} of scope `{}`",
        step.after.generation(),
        step.scope
    );
    Rejection::new(ErrorCode::LeaseExpanded, detail).hint("wider work takes a scope of its own")
}

/// An action leaves `forbidden` only through `lifted`, written by an owner.
fn forbidden(step: &Step<'_>, old: &Content, new: &Content) -> Result<(), Rejection> {
    let dropped = old
        .forbidden
        .iter()
        .filter(|action| !new.forbidden.contains(action));
    for action in dropped {
        let lifted = new.lifted.iter().any(|lifted| lifted.action == *action);
        let owned = step.before.and_then(|before| before.owner()) == Some(step.after.by());
        if !(lifted && owned) {
            let detail = format!(
                "the action `{action}` leaves `forbidden` of scope `{}`",
                step.scope
            );
            return Err(Rejection::new(ErrorCode::ForbiddenAction, detail).hint(
                "only the owner lifts it, by an entry in `lifted` with reason and citations",
            ));
        }
    }
    Ok(())
}
