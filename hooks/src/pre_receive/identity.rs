//! Whether a record names whoever pushes it.

use store::{
    actor::{ActorId, ActorKind},
    error_code::ErrorCode,
    record::RecordKind,
    verify::VerifiedRecord,
};

use crate::rejection::Rejection;

/// Who pushes, as the server has authenticated them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Pusher {
    /// Nobody has said: the operator named no variable.
    Unknown,
    /// This user of the server.
    User(String),
}

impl Pusher {
    /// Takes the user from the value of the variable `name`.
    ///
    /// # Errors
    ///
    /// `IDENTITY_MISMATCH` where it holds nothing: the server was to authenticate, and did not.
    pub fn authenticated(name: &str, value: Option<std::ffi::OsString>) -> Result<Self, Rejection> {
        match value.and_then(|value| value.into_string().ok()) {
            Some(user) if !user.is_empty() => Ok(Pusher::User(user)),
            _ => {
                let detail =
                    format!("the server names no authenticated user: {name} holds nothing");
                Err(Rejection::new(ErrorCode::IdentityMismatch, detail)
                    .hint("the operator sees to it that the server sets the variable of handoff.identityEnv"))
            }
        }
    }

    /// Returns the user, where one is known.
    pub fn user(&self) -> Option<&str> {
        match self {
            Pusher::Unknown => None,
            Pusher::User(user) => Some(user),
        }
    }

    /// Sees that a new record is by whoever pushes it; one of an unknown kind names nobody that can be read.
    ///
    /// # Errors
    ///
    /// `IDENTITY_MISMATCH` where it names somebody else.
    pub fn judge(&self, record: &VerifiedRecord) -> Result<(), Rejection> {
        match self {
            Pusher::Unknown => Ok(()),
            Pusher::User(_) if matches!(record.kind, RecordKind::Unknown(_)) => Ok(()),
            Pusher::User(user) if may_write_as(user, record.by()) => Ok(()),
            Pusher::User(user) => {
                let detail = format!(
                    "record {} is by {}, it was pushed by {user}",
                    record.id,
                    record.by()
                );
                Err(
                    Rejection::new(ErrorCode::IdentityMismatch, detail).hint(format!(
                        "write it as {user}, or as agent:{user}/<name>: git config handoff.id <id>"
                    )),
                )
            }
        }
    }
}

/// Tells whether an id is the user's: `<user>`, `<kind>:<user>`, or anything below `<kind>:<user>/`.
fn may_write_as(user: &str, id: &ActorId) -> bool {
    // Such a name could be read as another user's id.
    if user.contains([':', '/']) {
        return false;
    }
    let name = match id.as_str().split_once(':') {
        None => return id.as_str() == user,
        Some((kind, name)) if kind.parse::<ActorKind>().is_ok() => name,
        Some(_) => return false,
    };
    let rest = name.strip_prefix(user);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_writes_as_themselves_and_as_what_they_run() {
        let may = |user, id: &str| may_write_as(user, &id.parse().unwrap());
        for id in ["ann", "person:ann", "agent:ann/codex-3", "service:ann/ci/7"] {
            assert!(may("ann", id), "{id}");
        }
        for id in [
            "bob",
            "annabel",
            "agent:bob",
            "agent:annabel",
            "ann/x",
            "team:ann",
            "agent:x/ann",
        ] {
            assert!(!may("ann", id), "{id}");
        }
        assert!(!may("agent:bob", "agent:bob"));
        assert!(!may("ann/bob", "agent:ann/bob"));
    }

    #[test]
    fn an_empty_variable_names_nobody() {
        for value in [None, Some("".into())] {
            let rejection = Pusher::authenticated("REMOTE_USER", value).unwrap_err();
            assert_eq!(rejection.code, ErrorCode::IdentityMismatch);
        }
    }
}
