//! Who is acting.

use store::{
    actor::{ActorId, ActorKind},
    contract::{Acceptor, Producer},
    error_code::ErrorCode,
    repository::Repository,
};

use crate::{context::Context, error::CommandError};

/// Name and version of this program, as documents hold it.
const TOOL: &str = concat!("git-handoff ", env!("CARGO_PKG_VERSION"));

/// Who is acting: `--as`, else `HANDOFF_ID`, else `handoff.id`, else `user.email`.
#[derive(Clone, Debug)]
pub(crate) struct Actor {
    pub(crate) id: ActorId,
    pub(crate) kind: ActorKind,
    pub(crate) run_id: Option<String>,
}

impl Actor {
    pub(crate) fn find(
        context: &Context,
        repository: &Repository,
        named: Option<&ActorId>,
    ) -> Result<Self, CommandError> {
        let environment = &context.environment;
        let id = match named {
            Some(id) => id.clone(),
            None => {
                let candidates = [
                    ("HANDOFF_ID", environment.id.clone()),
                    ("handoff.id", repository.config("handoff.id")),
                    ("user.email", repository.config("user.email")),
                ];
                let found = candidates
                    .into_iter()
                    .find_map(|(from, id)| Some((from, id.filter(|id| !id.is_empty())?)));
                let (from, id) = found.ok_or_else(nobody)?;
                id.parse()
                    .map_err(|error| missing(&format!("{from}: {error}")))?
            }
        };
        let kind = environment.kind.as_deref().unwrap_or("person");
        let kind = kind.parse().map_err(|error| {
            CommandError::new(ErrorCode::Usage, format!("HANDOFF_KIND: {error}"))
        })?;
        Ok(Actor {
            id,
            kind,
            run_id: environment.run_id.clone(),
        })
    }

    pub(crate) fn producer(&self) -> Producer {
        Producer {
            id: self.id.clone(),
            kind: self.kind,
            run_id: self.run_id.clone(),
            tool: TOOL.into(),
        }
    }

    pub(crate) fn acceptor(&self) -> Acceptor {
        Acceptor {
            id: self.id.clone(),
            kind: self.kind,
        }
    }
}

fn nobody() -> CommandError {
    CommandError::new(ErrorCode::IdentityMissing, "nothing says who you are")
        .hint("set it for this repository, or with --global for all; `handoff.id` is for an id that is no e-mail address")
        .next(&["git", "config", "user.name", "<name>"])
        .next(&["git", "config", "user.email", "<address>"])
}

fn missing(message: &str) -> CommandError {
    CommandError::new(ErrorCode::IdentityMissing, message)
        .hint("set it for this repository, or with --global for all")
        .next(&["git", "config", "handoff.id", "<id>"])
}
