//! `git handoff doctor`.

use schemars::JsonSchema;
use serde::Serialize;
use store::error_code::ErrorCode;

use crate::{
    context::Context,
    doctor::{self, Finding, State},
    error::CommandError,
    exit,
    ui::{Report, shell_line, terminal_safe},
};

/// See whether all is set up here, and what the remote does
///
/// Looks at Git, the executables, the settings, the identity, the remote and what earlier commands left behind, and says
/// of each what is wrong and which command mends it. Changes nothing, here or at the remote. Exits with 0 where nothing
/// has failed; warnings are no failure.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {}

pub(crate) struct Looked {
    findings: Vec<Finding>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Document<'a> {
    /// Whether nothing has failed.
    ok: bool,
    checks: Vec<CheckDocument<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct CheckDocument<'a> {
    name: &'static str,
    state: StateDocument,
    /// Code of a failure.
    code: Option<ErrorCode>,
    detail: &'a str,
    /// Commands that mend it, or show more.
    commands: &'a [Vec<String>],
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum StateDocument {
    Ok,
    Warning,
    Failed,
}

impl Looked {
    fn codes(&self) -> impl Iterator<Item = ErrorCode> {
        self.findings
            .iter()
            .filter_map(|finding| match finding.state {
                State::Failed(code) => Some(code),
                State::Good | State::Warned => None,
            })
    }
}

impl Report for Looked {
    const NAME: &'static str = "doctor";

    type Document<'a> = Document<'a>;

    fn document(&self) -> Document<'_> {
        let checks = self.findings.iter().map(|finding| {
            let (state, code) = match finding.state {
                State::Good => (StateDocument::Ok, None),
                State::Warned => (StateDocument::Warning, None),
                State::Failed(code) => (StateDocument::Failed, Some(code)),
            };
            CheckDocument {
                name: finding.name,
                state,
                code,
                detail: &finding.detail,
                commands: &finding.mend,
            }
        });
        Document {
            ok: self.codes().next().is_none(),
            checks: checks.collect(),
        }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for finding in &self.findings {
            let (state, code) = match finding.state {
                State::Good => ("ok   ", String::new()),
                State::Warned => ("warn ", String::new()),
                State::Failed(code) => ("FAIL ", format!(" [{code}]")),
            };
            let detail = terminal_safe(&finding.detail);
            text.push_str(&format!("{state} {}: {detail}{code}\n", finding.name));
            for command in &finding.mend {
                text.push_str(&format!("        {}\n", shell_line(command)));
            }
        }
        text
    }

    fn next_commands(&self) -> Vec<Vec<String>> {
        let failed = self
            .findings
            .iter()
            .filter(|finding| finding.state != State::Good);
        match failed.count() {
            0 => vec![["git", "handoff", "list"].map(String::from).into()],
            _ => Vec::new(),
        }
    }
}

pub(crate) fn run(_: &Args, context: &Context) -> Result<u8, CommandError> {
    let looked = Looked {
        findings: doctor::look(context)?,
    };
    context.ui.report(&looked)?;
    Ok(exit::of_all(looked.codes()))
}
