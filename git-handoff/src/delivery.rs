//! Sends the newest record of a scope and finds out what came of it.

use gix::ObjectId;
use store::{
    error_code::ErrorCode,
    line::{self, Relation},
    record::Record,
    scope::ScopeName,
    verify::{self, Depth},
};

use crate::{
    error::CommandError,
    remote::{Pushed, Remote},
    scopes::Scopes,
};

/// What came of sending a record.
pub(crate) enum Delivery {
    /// The remote has it.
    Taken,
    /// The remote does not have it, and this is why.
    Refused(CommandError),
    /// There was no answer, and the remote could not be asked.
    Unknown(CommandError),
}

/// Sends one scope; where the answer gets lost, the remote is asked what it has.
///
/// # Errors
///
/// Where Git cannot be run.
pub(crate) fn send(
    scopes: &Scopes<'_>,
    remote: &Remote,
    scope: &ScopeName,
    record: ObjectId,
) -> Result<Delivery, CommandError> {
    let answer = match remote.push(scopes.repository, std::slice::from_ref(scope)) {
        Ok(answer) => answer,
        Err(error) if error.code == ErrorCode::Unreachable => {
            return Ok(match asked(scopes, remote, scope, record) {
                true => Delivery::Taken,
                false => Delivery::Unknown(error),
            });
        }
        // Nothing left this machine.
        Err(error) if error.code == ErrorCode::GitFailed => return Ok(Delivery::Refused(error)),
        Err(error) => return Err(error),
    };
    let (code, message) = match answer.scopes.get(scope) {
        Some(Pushed::Sent | Pushed::UpToDate) => {
            // What the remote has taken it is seen to hold from now on; the next reader would note it too.
            let _ = scopes.reader().look(scope);
            return Ok(Delivery::Taken);
        }
        Some(refused) if has_since(scopes, remote, scope, record, refused) => {
            return Ok(Delivery::Taken);
        }
        Some(Pushed::Refused { code, message }) => (*code, message.clone()),
        None => (
            ErrorCode::GitFailed,
            format!("git reported nothing of scope `{scope}`"),
        ),
    };
    let mut error = CommandError::new(code, message).subject(scope.as_str());
    error.hints = answer.hints;
    Ok(Delivery::Refused(match code {
        ErrorCode::IdentityMismatch => {
            error.hint("say who you are at this server: git config handoff.id <id>")
        }
        _ => error,
    }))
}

/// Tells whether the remote refused a record because it has it meanwhile: by an earlier push that was interrupted,
/// say, and that the server went on with.
///
/// The remote is asked only where another update was faster; what it was last seen to hold is of now then.
pub(crate) fn has_since(
    scopes: &Scopes<'_>,
    remote: &Remote,
    scope: &ScopeName,
    record: ObjectId,
    pushed: &Pushed,
) -> bool {
    let code = ErrorCode::CasConflict;
    matches!(pushed, Pushed::Refused { code: found, .. } if *found == code)
        && asked(scopes, remote, scope, record)
}

/// Asks the remote whether it has a record, or one that follows it.
fn asked(scopes: &Scopes<'_>, remote: &Remote, scope: &ScopeName, record: ObjectId) -> bool {
    if remote.fetch(scopes.repository, Some(scope)).is_err() {
        return false;
    }
    let Some(tip) = tracked(scopes, remote, scope) else {
        return false;
    };
    let relation = line::compare(scopes.repository.gix(), record, tip);
    matches!(relation, Ok(Relation::Same | Relation::Behind))
}

/// Returns what the remote was last seen to hold.
fn tracked(scopes: &Scopes<'_>, remote: &Remote, scope: &ScopeName) -> Option<ObjectId> {
    let name = scope.to_remote_ref(&remote.name)?;
    scopes.repository.find_ref(&name).ok().flatten()
}

/// Says what the remote was last seen to hold, where another writer was faster; returns every other error as it is.
pub(crate) fn with_holder(
    scopes: &Scopes<'_>,
    remote: &Remote,
    scope: &ScopeName,
    mut error: CommandError,
) -> CommandError {
    if error.code != ErrorCode::CasConflict {
        return error;
    }
    let record = tracked(scopes, remote, scope).and_then(|tip| {
        let objects = scopes.repository.gix();
        let found = verify::record(objects, tip, Some(scope), None, Depth::Documents);
        found.into_result().ok()
    });
    let Some(record) = record else {
        return error;
    };
    error.message = format!(
        "scope `{scope}` has moved on: the remote `{}` is at generation {}, {}",
        remote.name,
        record.generation(),
        holder(&record)
    );
    error
}

/// Says who has a scope, by its tip.
fn holder(tip: &Record) -> String {
    match (&tip.accept, &tip.release) {
        (_, Some(release)) => format!("released by {}", release.value.by),
        (Some(accept), None) => {
            let accept = &accept.value;
            format!("accepted by {} until {}", accept.acceptor.id, accept.until)
        }
        (None, None) => format!("written by {}", tip.manifest.value.producer.id),
    }
}
