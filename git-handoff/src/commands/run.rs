//! `git handoff run`.

use std::{
    ffi::OsString,
    fs,
    io::{self, Write as _},
    path::PathBuf,
    process::Stdio,
    str::FromStr,
    time::Duration,
};

use schemars::JsonSchema;
use serde::Serialize;
use store::{
    byte_text::ByteText,
    contract::{Conclusion, Receipt, Tool, codec},
    digest::Digest,
    entry_id::EntryId,
    error_code::ErrorCode,
    evidence::{self, Outputs},
};

use crate::{
    context::Context,
    error::CommandError,
    omitted::Omit,
    receipts::{self, Evidenced, Failure, Output},
    scopes::Scopes,
    secrets,
    ui::Report,
};

/// Our own failure; as env(1) and timeout(1) have it.
const OWN_FAILURE: u8 = 125;
/// The command is there and cannot be started.
const NOT_EXECUTABLE: u8 = 126;
/// There is no such command.
const MISSING: u8 = 127;

/// Run a command and keep a receipt of it: what ran, on which tree, and how it ended
///
/// The command runs as if it had been started by itself, and its exit status is ours: 128 and the signal where one ended it,
/// 127 where there is no such command, 126 where it cannot be started, 125 where the receipt could not be made. The
/// receipt is evidence for a claim as long as the worktree stays as it was.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The claim that it is evidence for; the draft need not name the receipt then
    #[arg(long, value_name = "ID")]
    claim: Option<EntryId>,
    /// The id of the receipt, in place of the one that has it; without it, the next of R1, R2, … that is free
    #[arg(long, value_name = "ID")]
    id: Option<EntryId>,
    /// Also write the JSON document of the run into a file
    #[arg(long, value_name = "FILE")]
    receipt_file: Option<PathBuf>,
    /// End the command after so many seconds
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<u64>,
    /// The version of a tool that takes part, for the receipt
    #[arg(long = "tool", value_name = "NAME=VERSION")]
    tools: Vec<NamedTool>,
    #[command(flatten)]
    omit: Omit,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// `<name>=<version>` on the command line.
#[derive(Clone, Debug)]
struct NamedTool(Tool);

impl FromStr for NamedTool {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once('=') {
            Some((name, version)) if !name.is_empty() && !version.is_empty() => {
                Ok(NamedTool(Tool {
                    name: name.into(),
                    version: version.into(),
                }))
            }
            _ => Err("it is not of the form <name>=<version>"),
        }
    }
}

pub(crate) struct Ran<'a> {
    outcome: &'a receipts::Outcome,
    claim: Option<&'a EntryId>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Document<'a> {
    id: &'a EntryId,
    claim: Option<&'a EntryId>,
    conclusion: Conclusion,
    /// Whether it is evidence for the tree that it ran on.
    covers: bool,
    /// Captured paths that the command changed.
    changed: Vec<ByteText>,
    receipt: &'a Receipt,
    /// Digest of the receipt.
    digest: Digest,
    warnings: Vec<WarningDocument>,
}

#[derive(Serialize, JsonSchema)]
struct WarningDocument {
    code: &'static str,
    message: String,
}

impl Report for Ran<'_> {
    const NAME: &'static str = "run";

    type Document<'a>
        = Document<'a>
    where
        Self: 'a;

    fn document(&self) -> Document<'_> {
        let receipt = &self.outcome.kept.receipt;
        let changed = self.outcome.changed.iter();
        let warnings = receipts::warnings(self.outcome).into_iter();
        Document {
            id: &receipt.id,
            claim: self.claim,
            conclusion: evidence::conclusion(receipt),
            covers: evidence::covers(receipt, receipt.tree_before),
            changed: changed.cloned().map(ByteText::from).collect(),
            receipt,
            digest: Digest::of(&self.outcome.kept.bytes),
            warnings: warnings
                .map(|(code, message)| WarningDocument { code, message })
                .collect(),
        }
    }

    fn text(&self) -> String {
        String::new()
    }

    fn next_commands(&self) -> Vec<Vec<String>> {
        let of = |command: &str| ["git", "handoff", command].map(String::from).into();
        vec![of("draft"), of("prepare")]
    }
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<u8, CommandError> {
    Ok(match attempt(args, context) {
        Ok(code) => code,
        Err(Failure::Command(error)) => {
            context.ui.error(&receipts::not_run(&error));
            match error {
                evidence::CommandError::NotFound(_) => MISSING,
                evidence::CommandError::NotStarted { .. } => NOT_EXECUTABLE,
                evidence::CommandError::Lost(_) => OWN_FAILURE,
            }
        }
        Err(Failure::Other(error)) => {
            context.ui.error(&error);
            OWN_FAILURE
        }
    })
}

fn attempt(args: &Args, context: &Context) -> Result<u8, Failure> {
    let repository = context.repository()?;
    let scopes = Scopes::new(context, &repository);
    let scope = scopes.to_save(&repository.head()?);
    secrets::refuse_in_command(&repository, &scope, &args.command)?;
    let options = args.omit.apply(context, &repository)?;
    let tools: Vec<Tool> = args.tools.iter().map(|tool| tool.0.clone()).collect();
    let evidenced = Evidenced {
        context,
        repository: &repository,
        options: &options,
        argv: &args.command,
        id: args.id.as_ref(),
        claim: args.claim.as_ref(),
        scope: Some(&scope),
        timeout: args.timeout.map(Duration::from_secs),
        tools: &tools,
    };
    let mut stdout = Output {
        to: io::stdout().lock(),
        in_line: false,
    };
    let outputs = Outputs {
        stdout: &mut stdout,
        stderr: &mut io::stderr(),
    };
    let outcome = evidenced.run(Stdio::inherit(), outputs)?;
    let in_line = stdout.in_line;
    drop(stdout);
    let ran = Ran {
        outcome: &outcome,
        claim: args.claim.as_ref(),
    };
    if let Some(path) = &args.receipt_file {
        let path = context.path(path);
        let mut text = codec::to_json(&ran.document()).to_string();
        text.push('\n');
        fs::write(&path, text).map_err(|error| {
            let message = format!("{} cannot be written: {error}", path.display());
            CommandError::new(ErrorCode::Io, message)
        })?;
    }
    if context.ui.is_json() {
        // The document has a line of its own, whatever the command wrote; a reader that went away has seen enough.
        if in_line {
            let _ = io::stdout().write_all(b"\n");
        }
        let _ = context.ui.report(&ran);
    }
    receipts::tell(context, &outcome);
    Ok(outcome.ended.exit_code())
}
