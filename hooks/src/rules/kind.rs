//! Which kinds of records there are, and what each may change in the tree.

use store::{
    error_code::ErrorCode,
    record::{RecordKind, RootTree},
};

use super::Step;
use crate::{policy::UnknownKinds, rejection::Rejection};

/// An accept or a release changes its own document and nothing else; a record of an unknown kind leaves every
/// known entry as it was.
pub(super) fn rule(step: &Step<'_>) -> Result<(), Rejection> {
    let after = step.after;
    if let (RecordKind::Unknown(kind), UnknownKinds::Listed(listed)) =
        (&after.kind, &step.policy.unknown_kinds)
        && !listed.contains(kind)
    {
        let detail = format!(
            "record {} is of a kind, `{kind}`, or has an entry that is not known here",
            after.id
        );
        return Err(Rejection::new(ErrorCode::UnsupportedVersion, detail)
            .hint("the server takes such records once its operator has listed the kind: handoff.recordKind"));
    }
    let Some(before) = step.before else {
        return match after.kind {
            RecordKind::Checkpoint => Ok(()),
            _ => Err(malformed(
                step,
                "the first record of a scope is a checkpoint",
            )),
        };
    };
    let kept = match after.kind {
        RecordKind::Checkpoint => return Ok(()),
        RecordKind::Accept => RootTree {
            accept: after.root.accept,
            release: None,
            ..before.root.clone()
        },
        RecordKind::Release => RootTree {
            release: after.root.release,
            ..before.root.clone()
        },
        RecordKind::Unknown(_) => RootTree {
            unknown: after.root.unknown.clone(),
            ..before.root.clone()
        },
    };
    if after.kind == RecordKind::Accept && after.root.manifest != before.root.manifest {
        let (named, current) = (&after.manifest, &before.manifest);
        let detail = format!(
            "it accepts generation {} ({}), the scope is at generation {} ({})",
            named.value.generation, named.digest, current.value.generation, current.digest
        );
        return Err(
            Rejection::new(ErrorCode::StaleCheckpoint, detail).hint(format!(
                "read the newer generation first: git handoff show {}",
                step.scope
            )),
        );
    }
    if kept == after.root {
        Ok(())
    } else {
        Err(malformed(step, "it changes more than its own document"))
    }
}

fn malformed(step: &Step<'_>, detail: &str) -> Rejection {
    Rejection::new(
        ErrorCode::MalformedManifest,
        format!("record {}: {detail}", step.after.id),
    )
}
