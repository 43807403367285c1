//! Runs commands and keeps their receipts.

use std::{
    ffi::{OsStr, OsString},
    io::{self, Write},
    os::unix::{ffi::OsStrExt, process::ExitStatusExt},
    process::{Command, Stdio},
    time::Duration,
};

use gix::bstr::BString;
use hooks::rejection::Rejection;
use store::{
    changed_paths,
    contract::{Environment, Receipt, ReceiptSchema, Tool},
    digest::Digest,
    entry_id::EntryId,
    evidence::{self, Ended, Kept, KeptReceipt, Outputs},
    record::Record,
    repository::Repository,
    scope::ScopeName,
    snapshot::{self, CaptureOptions},
};

use crate::{authoring, context::Context, error::CommandError, scopes::Scopes, state::State};

/// A command that is to be run for its receipt.
pub(crate) struct Evidenced<'a> {
    pub(crate) context: &'a Context,
    pub(crate) repository: &'a Repository,
    pub(crate) options: &'a CaptureOptions,
    pub(crate) argv: &'a [OsString],
    /// The id of the receipt; without one, the next of `R1`, `R2`, … that is free.
    pub(crate) id: Option<&'a EntryId>,
    pub(crate) claim: Option<&'a EntryId>,
    /// The scope whose receipts have ids too.
    pub(crate) scope: Option<&'a ScopeName>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) tools: &'a [Tool],
}

/// What came of it.
pub(crate) struct Outcome {
    pub(crate) kept: KeptReceipt,
    pub(crate) ended: Ended,
    /// Captured paths that the command changed.
    pub(crate) changed: Vec<BString>,
}

/// Says why there is no receipt.
pub(crate) enum Failure {
    /// The command could not be started.
    Command(evidence::CommandError),
    /// Something else failed.
    Other(CommandError),
}

impl<E: Into<CommandError>> From<E> for Failure {
    fn from(error: E) -> Self {
        Failure::Other(error.into())
    }
}

impl Evidenced<'_> {
    /// Captures, runs the command, captures again, and keeps the receipt.
    pub(crate) fn run(&self, stdin: Stdio, outputs: Outputs<'_>) -> Result<Outcome, Failure> {
        let repository = self.repository;
        let before = snapshot::capture_and_keep(repository, self.options)?;
        let started_at = self.context.now()?;
        let (program, args) = self
            .argv
            .split_first()
            .expect("the command line has a command");
        let mut command = Command::new(program);
        command
            .args(args)
            .current_dir(&self.context.dir)
            .stdin(stdin);
        let ended = evidence::run(command, outputs, self.timeout).map_err(Failure::Command)?;
        let after = snapshot::capture(repository, self.options)?;
        let taken = self.taken();
        let make = |kept: &Kept| Receipt {
            schema: ReceiptSchema::V1,
            id: self.id.cloned().unwrap_or_else(|| free_id(kept, &taken)),
            argv: self
                .argv
                .iter()
                .map(|word| word.as_bytes().into())
                .collect(),
            exit_code: ended.status.code().and_then(|code| u8::try_from(code).ok()),
            signal: ended
                .status
                .signal()
                .and_then(|signal| u8::try_from(signal).ok()),
            started_at,
            duration_ms: ended
                .duration
                .as_millis()
                .try_into()
                .unwrap_or(i64::MAX as u64),
            tree_before: before.worktree_tree,
            tree_after: after.worktree_tree,
            stdout: ended.stdout,
            stderr: ended.stderr,
            environment: environment(self.tools),
        };
        let kept = evidence::keep_receipt(repository, &after, self.claim, make)?;
        let digest = Digest::of(&kept.bytes);
        State::update(self.context, repository, |state| state.note_run(digest));
        let (older, newer) = (before.worktree_tree.id(), after.worktree_tree.id());
        let changed = changed_paths::between(repository.gix(), Some(older), Some(newer))
            .map_err(Rejection::from)?;
        Ok(Outcome {
            kept,
            ended,
            changed,
        })
    }

    /// Returns the ids of the receipts that the tip of the scope has: citations of these stay what they are.
    fn taken(&self) -> Vec<EntryId> {
        let scopes = Scopes::new(self.context, self.repository);
        let find = || {
            let tip = scopes.newest_unjudged(self.scope?).ok()?;
            let record = Record::read(self.repository.gix(), tip).ok()?;
            let receipts = record.manifest.value.content.receipts;
            Some(
                receipts
                    .inline()
                    .iter()
                    .map(|receipt| receipt.id.clone())
                    .collect(),
            )
        };
        find().unwrap_or_default()
    }
}

fn free_id(kept: &Kept, taken: &[EntryId]) -> EntryId {
    let is_free = |id: &EntryId| {
        !taken.contains(id) && kept.receipts.iter().all(|kept| kept.receipt.id != *id)
    };
    let ids = (1_u64..).map(|n| {
        format!("R{n}")
            .parse()
            .expect("a letter and digits are an id")
    });
    ids.into_iter().find(is_free).expect("numbers do not end")
}

fn environment(tools: &[Tool]) -> Environment {
    let own = Tool {
        name: "git-handoff".into(),
        version: env!("CARGO_PKG_VERSION").into(),
    };
    Environment {
        os: std::env::consts::OS.into(),
        arch: std::env::consts::ARCH.into(),
        tools: std::iter::once(own).chain(tools.iter().cloned()).collect(),
    }
}

/// Runs the command of a receipt of ours again; what it writes goes to standard error.
pub(crate) fn run_again(
    context: &Context,
    repository: &Repository,
    options: &CaptureOptions,
    receipt: &Receipt,
) -> Result<(), CommandError> {
    let argv: Vec<OsString> = receipt
        .argv
        .iter()
        .map(|word| OsStr::from_bytes(word.as_bstr()).to_owned())
        .collect();
    context.ui.note(&format!(
        "runs again for receipt {}: {}",
        receipt.id,
        authoring::command_line(receipt)
    ));
    let evidenced = Evidenced {
        context,
        repository,
        options,
        argv: &argv,
        id: Some(&receipt.id),
        claim: None,
        scope: None,
        timeout: None,
        tools: &receipt.environment.tools[receipt.environment.tools.len().min(1)..],
    };
    let outputs = Outputs {
        stdout: &mut io::stderr(),
        stderr: &mut io::stderr(),
    };
    match evidenced.run(Stdio::null(), outputs) {
        Ok(outcome) => {
            tell(context, &outcome);
            Ok(())
        }
        Err(Failure::Command(error)) => Err(not_run(&error)),
        Err(Failure::Other(error)) => Err(error),
    }
}

/// Says that a command could not be run.
pub(crate) fn not_run(error: &evidence::CommandError) -> CommandError {
    use store::error_code::ErrorCode;
    let code = match error {
        evidence::CommandError::NotFound(_) => ErrorCode::NotFound,
        _ => ErrorCode::Io,
    };
    CommandError::from_error(code, error).hint("nothing ran, so there is no receipt")
}

/// Tells on standard error what came of a command.
pub(crate) fn tell(context: &Context, outcome: &Outcome) {
    let (receipt, ended) = (&outcome.kept.receipt, &outcome.ended);
    for warning in warnings(outcome) {
        context.ui.warn(warning.0, &warning.1);
    }
    if let Some(error) = &ended.lost {
        context.ui.warn(
            "OUTPUT_LOST",
            &format!("output could not be passed on: {error}"),
        );
    }
    context.ui.note(&format!(
        "receipt {} {} tree {}",
        receipt.id,
        evidence::conclusion(receipt),
        receipt.tree_before
    ));
}

/// Finds what the author of a claim should know.
pub(crate) fn warnings(outcome: &Outcome) -> Vec<(&'static str, String)> {
    let mut found = Vec::new();
    if !outcome.changed.is_empty() {
        let paths = authoring::names(&outcome.changed);
        found.push((
            "TREE_CHANGED",
            format!("the command changed captured paths, so its receipt covers no tree: {paths}"),
        ));
    }
    if outcome.ended.left_behind {
        found.push((
            "PROCESSES_LEFT",
            "the command ended, and processes that it started still hold its output: what they write is not seen"
                .into(),
        ));
    }
    if outcome.ended.timed_out {
        found.push((
            "TIMED_OUT",
            "the command was ended because its time was over".into(),
        ));
    }
    found
}

/// Passes output on, and knows whether it ends in the middle of a line.
pub(crate) struct Output<W> {
    pub(crate) to: W,
    pub(crate) in_line: bool,
}

impl<W: Write> Write for Output<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        if let Some(last) = bytes[..written].last() {
            self.in_line = *last != b'\n';
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}
