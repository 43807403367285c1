//! How long an accept may hold; what else it may say is judged in the record itself.

use store::{contract::check, record::RecordKind, verify::Violation};

use super::Step;
use crate::rejection::Rejection;

pub(super) fn rule(step: &Step<'_>) -> Result<(), Rejection> {
    let (RecordKind::Accept, Some(accept)) = (&step.after.kind, &step.after.accept) else {
        return Ok(());
    };
    let found = check::accept(&accept.value, step.policy.max_accept_seconds);
    match found.into_iter().next() {
        None => Ok(()),
        Some(violation) => Err(Violation::from(violation).into()),
    }
}
