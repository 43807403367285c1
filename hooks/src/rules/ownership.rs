//! Who may write which record next; decided by the tip's tree alone.

use store::{
    actor::ActorId,
    contract::Accept,
    error_code::ErrorCode,
    record::{Record, RecordKind, Stored},
    scope::ScopeName,
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
        (RecordKind::Checkpoint, _, _) => {
            next_checkpoint(step.scope, before, by, step.policy.require_accept)
        }
        (RecordKind::Accept, Some(held), None) => accept_of_held(step, by, held),
        (RecordKind::Accept, _, _) => Ok(()),
        (RecordKind::Release, Some(held), None) if held.value.acceptor.id == *by => Ok(()),
        (RecordKind::Release, Some(held), None) => Err(not_owner(
            step.scope,
            by,
            &format!("{} has accepted it", held.value.acceptor.id),
        )),
        (RecordKind::Release, _, _) => Err(not_owner(step.scope, by, "nobody has accepted it")),
    }
}

/// Judges who writes the checkpoint that follows a record.
pub(super) fn next_checkpoint(
    scope: &ScopeName,
    before: &Record,
    by: &ActorId,
    require_accept: bool,
) -> Result<(), Rejection> {
    let why = match (&before.accept, &before.release) {
        (_, Some(_)) => "it was released: accept it first".to_owned(),
        (Some(held), None) => {
            let accept = &held.value;
            if accept.acceptor.id == *by || accept.delegates.iter().any(|glob| glob.matches(by)) {
                return Ok(());
            }
            format!("{} has accepted it", accept.acceptor.id)
        }
        (None, None) => {
            let producer = &before.manifest.value.producer.id;
            if !require_accept || by == producer {
                return Ok(());
            }
            format!("it was written by {producer}: accept it first")
        }
    };
    Err(not_owner(scope, by, &why))
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

fn not_owner(scope: &ScopeName, by: &ActorId, why: &str) -> Rejection {
    let detail = format!("{by} may not write the next record of scope `{scope}`: {why}");
    Rejection::new(ErrorCode::NotOwner, detail)
        .hint(format!("take it over first: git handoff accept {scope}"))
}
