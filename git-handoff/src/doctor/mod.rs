//! Looks at what the commands need, here and at the remote; changes nothing.

mod leftovers;
mod programs;
mod remote;
mod settings;

use store::error_code::ErrorCode;

use crate::{actor::Actor, context::Context, error::CommandError, remote::Remote};

/// One thing that was looked at.
pub(crate) struct Finding {
    /// What it is.
    pub(crate) name: &'static str,
    pub(crate) state: State,
    /// What was found.
    pub(crate) detail: String,
    /// The commands that mend it.
    pub(crate) mend: Vec<Vec<String>>,
}

/// How a thing stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    /// All is well.
    Good,
    /// Commands work, and there is something to know.
    Warned,
    /// Something does not work.
    Failed(ErrorCode),
}

impl Finding {
    fn good(name: &'static str, detail: impl Into<String>) -> Self {
        Self::new(name, State::Good, detail)
    }

    fn warned(name: &'static str, detail: impl Into<String>) -> Self {
        Self::new(name, State::Warned, detail)
    }

    fn failed(name: &'static str, code: ErrorCode, detail: impl Into<String>) -> Self {
        Self::new(name, State::Failed(code), detail)
    }

    fn new(name: &'static str, state: State, detail: impl Into<String>) -> Self {
        Finding {
            name,
            state,
            detail: detail.into(),
            mend: Vec::new(),
        }
    }

    /// Takes over what an error says, and what it advises.
    fn of_error(name: &'static str, error: CommandError) -> Self {
        let mut detail = error.message;
        for hint in &error.hints {
            detail.push_str("; ");
            detail.push_str(hint);
        }
        Finding {
            mend: error.next_commands,
            ..Self::failed(name, error.code, detail)
        }
    }

    /// Adds a command that mends it.
    fn mend<S: AsRef<str>>(mut self, command: impl IntoIterator<Item = S>) -> Self {
        let words = command.into_iter().map(|word| word.as_ref().to_owned());
        self.mend.push(words.collect());
        self
    }
}

/// Looks at everything, the nearest first.
pub(crate) fn look(context: &Context) -> Result<Vec<Finding>, CommandError> {
    let mut findings = programs::look(context);
    if findings
        .iter()
        .any(|one| one.name == programs::GIT && one.state != State::Good)
    {
        return Ok(findings);
    }
    let repository = match context.repository() {
        Ok(repository) => repository,
        Err(error) if error.code == ErrorCode::NotFound => {
            findings.push(Finding::warned(
                "repository",
                "there is none here: its settings and its remote were not looked at",
            ));
            return Ok(findings);
        }
        Err(error) => {
            findings.push(Finding::of_error("repository", error));
            return Ok(findings);
        }
    };
    findings.push(settings::repository(&repository));
    findings.extend(settings::values(&repository)?);
    findings.push(match Actor::find(context, &repository, None) {
        Ok(actor) => Finding::good("identity", format!("{} ({})", actor.id, actor.kind)),
        Err(error) => Finding::of_error("identity", error),
    });
    let handoff = Remote::find(&repository, None);
    findings.extend(remote::configuration(&repository, handoff.as_ref()));
    findings.extend(remote::other_refspecs(&repository));
    if let Some(handoff) = &handoff {
        findings.extend(remote::reach(&repository, handoff)?);
    }
    findings.extend(leftovers::clock(&repository)?);
    findings.extend(leftovers::look(&repository)?);
    Ok(findings)
}
