//! Generations count up, and every document names what it follows by digest.

use store::{
    contract::Previous,
    digest::Digest,
    error_code::ErrorCode,
    generation::Generation,
    record::{RecordKind, Stored},
};

use super::Step;
use crate::rejection::Rejection;

pub(super) fn rule(step: &Step<'_>) -> Result<(), Rejection> {
    match step.after.kind {
        RecordKind::Checkpoint => checkpoint(step),
        RecordKind::Accept => accept(step),
        RecordKind::Release | RecordKind::Unknown(_) => Ok(()),
    }
}

fn checkpoint(step: &Step<'_>) -> Result<(), Rejection> {
    let found = step.after.generation();
    let expected = match step.before {
        None => Some(Generation::FIRST),
        Some(before) => before.generation().next(),
    };
    if Some(found) != expected {
        let expected = expected.map_or_else(|| "none".into(), |generation| generation.to_string());
        let detail =
            format!("generation {found} is written where generation {expected} must follow");
        return Err(Rejection::new(ErrorCode::GenerationGap, detail));
    }
    let held = step.before.map(|before| Previous {
        checkpoint: before.manifest.digest,
        accept: digest(&before.accept),
        release: digest(&before.release),
    });
    if step.after.manifest.value.previous == held {
        return Ok(());
    }
    let detail =
        format!("`previous` of generation {found} does not name what the record before holds");
    Err(Rejection::new(ErrorCode::DigestMismatch, detail))
}

fn accept(step: &Step<'_>) -> Result<(), Rejection> {
    let (Some(before), Some(accept)) = (step.before, &step.after.accept) else {
        return Ok(());
    };
    let named = (accept.value.previous_accept, accept.value.previous_release);
    if named == (digest(&before.accept), digest(&before.release)) {
        return Ok(());
    }
    let detail = "the accept does not name the accept and release that the record before holds";
    Err(Rejection::new(ErrorCode::DigestMismatch, detail))
}

fn digest<T>(document: &Option<Stored<T>>) -> Option<Digest> {
    document.as_ref().map(|stored| stored.digest)
}
