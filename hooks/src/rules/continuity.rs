//! A scope stays with its task and its repository.

use store::{error_code::ErrorCode, record::RecordKind};

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
    if old.repository.id.is_some() && old.repository.id != new.repository.id {
        let detail = format!(
            "scope `{}` holds the work of another repository",
            step.scope
        );
        return Err(mismatch(detail));
    }
    match (&old.task_id, &new.task_id) {
        (Some(old), Some(new)) if old != new => Err(mismatch(format!(
            "scope `{}` holds task `{old}`, not `{new}`",
            step.scope
        ))),
        _ => Ok(()),
    }
}

fn mismatch(detail: String) -> Rejection {
    Rejection::new(ErrorCode::ScopeMismatch, detail)
        .hint("write it into a scope of its own: git handoff save <scope>")
}
