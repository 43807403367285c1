//! A scope stays with its task and its repository.

use store::{contract::Content, error_code::ErrorCode, record::RecordKind, scope::ScopeName};

use super::Step;
use crate::rejection::Rejection;

pub(super) fn rule(step: &Step<'_>) -> Result<(), Rejection> {
    let (RecordKind::Checkpoint, Some(before)) = (&step.after.kind, step.before) else {
        return Ok(());
    };
    between(
        step.scope,
        &before.manifest.value.content,
        &step.after.manifest.value.content,
    )
}

/// Judges a content by the one that it is to follow.
pub(super) fn between(scope: &ScopeName, old: &Content, new: &Content) -> Result<(), Rejection> {
    if old.repository.id.is_some() && old.repository.id != new.repository.id {
        let detail = format!("scope `{scope}` holds the work of another repository");
        return Err(mismatch(detail));
    }
    match (&old.task_id, &new.task_id) {
        (Some(old), Some(new)) if old != new => Err(mismatch(format!(
            "scope `{scope}` holds task `{old}`, not `{new}`"
        ))),
        _ => Ok(()),
    }
}

fn mismatch(detail: String) -> Rejection {
    Rejection::new(ErrorCode::ScopeMismatch, detail)
        .hint("write it into a scope of its own: git handoff save <scope>")
}
