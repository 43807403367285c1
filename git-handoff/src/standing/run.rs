//! Runs the verification commands of a contract here, each after asking.

use std::{
    io::{self, IsTerminal},
    process::{Command, Stdio},
    time::Duration,
};

use hooks::rejection::Rejection;
use store::{
    changed_paths,
    contract::Verification,
    digest::Digest,
    error_code::ErrorCode,
    evidence::{self, Ended, Outputs},
    repository::Repository,
    scope::ScopeName,
    snapshot,
    verify::Violation,
};

use super::{Here, Standing};
use crate::{
    authoring, checkpoint,
    context::Context,
    error::CommandError,
    receipts,
    state::{Passed, State},
    untrusted::Fence,
};

/// What came of a verification command: its id, and what is wrong.
pub(crate) type Outcome = (String, Option<Violation>);

/// Refuses where nobody can be asked.
///
/// # Errors
///
/// Where standard input is no terminal.
pub(crate) fn need_somebody_to_ask(scope: Option<&ScopeName>) -> Result<(), CommandError> {
    if io::stdin().is_terminal() {
        return Ok(());
    }
    let message =
        "commands that a contract names run only after asking, and standard input is no terminal";
    let mut error = CommandError::new(ErrorCode::Usage, message).hint(
        "read them, then run what you trust: git handoff run --claim <claim> -- sh -c '<command>'; a command that passed \
         on the worktree as it is counts as passed here",
    );
    let words = ["git", "handoff", "continue"].into_iter();
    let words: Vec<&str> = words.chain(scope.map(ScopeName::as_str)).collect();
    error = error.next(&words);
    Err(error)
}

impl Standing<'_> {
    /// Runs the commands that somebody at the terminal says yes to, and remembers which passed.
    ///
    /// # Errors
    ///
    /// Where there is no worktree of what was handed over, or it cannot be captured.
    pub(crate) fn run_commands(&self, context: &Context) -> Result<Vec<Outcome>, CommandError> {
        let scope = self.handed_over.scope;
        need_somebody_to_ask(Some(scope))?;
        if !matches!(self.here, Here::Worktree(_)) {
            let why = self.unseen().detail.unwrap_or_default();
            let message = format!("no command of scope `{scope}` was run: {why}");
            return Err(CommandError::new(ErrorCode::Usage, message)
                .subject(scope.as_str())
                .hint("commands run where the checkpoint was restored")
                .next(&["git", "handoff", "restore", scope.as_str()]));
        }
        let commands = &self.handed_over.content.verification;
        if commands.is_empty() {
            context
                .ui
                .note("the contract names no verification command");
        }
        let mut outcomes = Vec::new();
        for command in commands {
            let mut fence = Fence::default();
            fence.add(command.id.as_str(), &command.command);
            match context.ui.ask(&fence, "run this here?")? {
                true => {
                    outcomes.push((command.id.to_string(), self.run_command(context, command)?))
                }
                false => context.ui.note(&format!("{} was not run", command.id)),
            }
        }
        Ok(outcomes)
    }

    fn run_command(
        &self,
        context: &Context,
        command: &Verification,
    ) -> Result<Option<Violation>, CommandError> {
        let repository = context.repository()?;
        let options = checkpoint::remembered_options(context, &repository, &[]);
        let before = snapshot::capture(&repository, &options)?.worktree_tree;
        let ended = start(&repository, command)?;
        let after = snapshot::capture(&repository, &options)?.worktree_tree;
        let wrong =
            |code, detail: String| Ok(Some(Violation::new(code, command.id.as_str(), detail)));
        if !ended.status.success() {
            let how = match ended.timed_out {
                true => "was ended because its time was over".to_owned(),
                false => format!("failed with exit code {}", ended.exit_code()),
            };
            return wrong(
                ErrorCode::ReceiptMismatch,
                format!("the command {how} here"),
            );
        }
        if before != after {
            let (older, newer) = (Some(before.id()), Some(after.id()));
            let paths = changed_paths::between(repository.gix(), older, newer);
            let paths = authoring::names(&paths.map_err(Rejection::from)?);
            let detail = format!("the command passed and changed what it is to show: {paths}");
            return wrong(ErrorCode::WorktreeChanged, detail);
        }
        let passed = Passed {
            command: Digest::of(command.command.as_bytes()),
            tree: before,
            receipt: self.receipt_of(command),
        };
        State::update(context, &repository, |state| state.note_passed(passed));
        Ok(None)
    }
}

/// Runs a command at the top of the worktree; what it writes goes to standard error.
fn start(repository: &Repository, command: &Verification) -> Result<Ended, CommandError> {
    let mut shell = Command::new("sh");
    shell.args(["-c", &command.command]).stdin(Stdio::null());
    if let Some(worktree) = repository.worktree() {
        shell.current_dir(worktree);
    }
    let outputs = Outputs {
        stdout: &mut io::stderr(),
        stderr: &mut io::stderr(),
    };
    let timeout = command.timeout_seconds.map(Duration::from_secs);
    evidence::run(shell, outputs, timeout).map_err(|error| receipts::not_run(&error))
}
