//! `git handoff allow`.

use schemars::JsonSchema;
use serde::Serialize;
use store::{
    actor::ActorId, contract::Allow, error_code::ErrorCode, scope::ScopeName, secrets::Fingerprint,
};

use crate::{
    actor::Actor,
    context::Context,
    error::CommandError,
    exit,
    state::{AllowedSecret, State},
    ui::{Report, terminal_safe},
};

/// Answer for a value that the secret scan has stopped, in one scope
///
/// The next checkpoint of the scope says so, with the reason and with who says it, and so do those that follow. What
/// stands for the value gives nothing of it away. A server takes no such word unless its operator has named the reason
/// (handoff.allowReason) and who may give it (handoff.allowBy), and logs each use.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// What stands for the value, as the refusal names it
    #[arg(value_name = "FINGERPRINT")]
    fingerprint: Fingerprint,
    /// Why it is no secret
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// Who says so
    #[arg(long = "as", value_name = "ID")]
    id: Option<ActorId>,
}

pub(crate) struct Answered {
    scope: ScopeName,
    entry: Allow,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Document<'a> {
    scope: &'a ScopeName,
    rule: &'a str,
    fingerprint: &'a str,
    reason: &'a str,
    by: &'a ActorId,
}

impl Report for Answered {
    const NAME: &'static str = "allow";

    type Document<'a> = Document<'a>;

    fn document(&self) -> Document<'_> {
        Document {
            scope: &self.scope,
            rule: &self.entry.rule,
            fingerprint: &self.entry.fingerprint,
            reason: &self.entry.reason,
            by: &self.entry.by,
        }
    }

    fn text(&self) -> String {
        let Allow {
            rule, reason, by, ..
        } = &self.entry;
        format!(
            "{by} answers for one value of {rule} in scope {}: {}\n",
            self.scope,
            terminal_safe(reason)
        )
    }

    fn next_commands(&self) -> Vec<Vec<String>> {
        vec![
            ["git", "handoff", "save", self.scope.as_str()]
                .map(String::from)
                .into(),
        ]
    }
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<u8, CommandError> {
    let repository = context.repository()?;
    let actor = Actor::find(context, &repository, args.id.as_ref())?;
    let reason = args.reason.trim();
    if reason.is_empty() || reason.contains('\n') {
        let message = "the reason is one line that says why the value is no secret";
        return Err(CommandError::new(ErrorCode::Usage, message));
    }
    let fingerprint = args.fingerprint.as_str();
    let state = State::load(&repository);
    let mut found = state.found.iter().rev();
    let found = found
        .find(|found| found.fingerprint == fingerprint)
        .ok_or_else(|| unknown(fingerprint))?;
    let allowed = AllowedSecret {
        scope: found.scope.clone(),
        entry: Allow {
            rule: found.rule.clone(),
            fingerprint: fingerprint.into(),
            reason: reason.into(),
            by: actor.id,
        },
    };
    let made = allowed.clone();
    State::update(context, &repository, |state| state.allow_value(made));
    if !State::load(&repository).allow.contains(&allowed) {
        let message = "what is answered for could not be written down";
        return Err(CommandError::new(ErrorCode::Io, message));
    }
    context.ui.report(&Answered {
        scope: allowed.scope,
        entry: allowed.entry,
    })?;
    Ok(exit::SUCCESS)
}

fn unknown(fingerprint: &str) -> CommandError {
    let message = format!("nothing here was stopped by {fingerprint}");
    CommandError::new(ErrorCode::NotFound, message)
        .subject(fingerprint)
        .hint("a value is answered for in the worktree and the scope in which `save` or `prepare` has named it")
        .next(&["git", "handoff", "prepare"])
}
