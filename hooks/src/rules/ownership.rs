//! Who may write which record next; decided by the tip's tree alone.

use store::{
    actor::ActorId,
    contract::Accept,
    error_code::ErrorCode,
    record::{RecordKind, Stored},
};

use super::Step;
use crate::rejection::Rejection;

pub(super) fn rule(step: &Step<'_>) -> Result<(), Rejection> {
    let Some(before) = step.before else {
        return Ok(());
    };
    let by = step.after.by();
    match (&step.after.kind, &before.accept, &before.release) {
        (RecordKind::Unknown(_), _, _) => Ok(()),
        (RecordKind::Checkpoint, _, Some(_)) => {
            Err(not_owner(step, by, "it was released: accept it first"))
        }
        (RecordKind::Checkpoint, Some(held), None) => next_checkpoint_by_owner(step, by, held),
        (RecordKind::Checkpoint, None, None) => {
            let producer = &before.manifest.value.producer.id;
            if step.policy.require_accept && by != producer {
                return Err(not_owner(
                    step,
                    by,
                    &format!("it was written by {producer}: accept it first"),
                ));
            }
            Ok(())
        }
        (RecordKind::Accept, Some(held), None) => accept_of_held(step, by, held),
        (RecordKind::Accept, _, _) => Ok(()),
        (RecordKind::Release, Some(held), None) if held.value.acceptor.id == *by => Ok(()),
        (RecordKind::Release, Some(held), None) => Err(not_owner(
            step,
            by,
            &format!("{} has accepted it", held.value.acceptor.id),
        )),
        (RecordKind::Release, _, _) => Err(not_owner(step, by, "nobody has accepted it")),
    }
}

fn next_checkpoint_by_owner(
    step: &Step<'_>,
    by: &ActorId,
    held: &Stored<Accept>,
) -> Result<(), Rejection> {
    let accept = &held.value;
    if accept.acceptor.id == *by || accept.delegates.iter().any(|glob| glob.matches(by)) {
        return Ok(());
    }
    Err(not_owner(
        step,
        by,
        &format!("{} has accepted it", accept.acceptor.id),
    ))
}

/// The owner renews; others wait until the accept is over.
fn accept_of_held(step: &Step<'_>, by: &ActorId, held: &Stored<Accept>) -> Result<(), Rejection> {
    let accept = &held.value;
    if accept.acceptor.id == *by || step.after.at() >= accept.until {
        return Ok(());
    }
    let detail = format!(
        "scope `{}` is accepted by {} until {}",
        step.scope, accept.acceptor.id, accept.until
    );
    Err(
        Rejection::new(ErrorCode::AlreadyAccepted, detail).hint(format!(
            "ask {} to run: git handoff release {}",
            accept.acceptor.id, step.scope
        )),
    )
}

fn not_owner(step: &Step<'_>, by: &ActorId, why: &str) -> Rejection {
    let detail = format!(
        "{by} may not write the next record of scope `{}`: {why}",
        step.scope
    );
    Rejection::new(ErrorCode::NotOwner, detail).hint(format!(
        "take it over first: git handoff accept {}",
        step.scope
    ))
}
