//! The drill: late readers and late writers, against a scratch remote and two scratch clones.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use store::{error_code::ErrorCode, git};

use super::{Fault, Gate, Limit};
use crate::{context::Context, error::CommandError, temporary::Temporary};

/// How often the drill is played.
const ROUNDS: u32 = 3;

/// The scope of the drill.
const SCOPE: &str = "drill";

struct Drill<'a> {
    context: &'a Context,
    root: PathBuf,
    gate: Gate,
}

/// Plays it, and counts what was stopped.
pub(super) fn run(context: &Context) -> Result<Gate, CommandError> {
    let scratch = Temporary::directory()?;
    let mut drill = Drill {
        context,
        root: scratch.path().to_owned(),
        gate: Gate::new("late", "stale accepts and late writes stopped", Limit::All),
    };
    drill.set_up()?;
    for round in 1..=ROUNDS {
        drill.round(round)?;
    }
    Ok(drill.gate)
}

impl Drill<'_> {
    fn set_up(&self) -> Result<(), CommandError> {
        let root = self.root.clone();
        self.must(&root, "drill", &["init", "-q", "--bare", "server.git"])?;
        self.must(&root, "drill", &["clone", "-q", "server.git", "first"])?;
        let first = root.join("first");
        fs::write(first.join("file"), "begun\n")?;
        self.must(&first, "first", &["add", "file"])?;
        self.must(&first, "first", &["commit", "-q", "-m", "Begin"])?;
        self.must(&first, "first", &["push", "-q", "origin", "HEAD"])?;
        self.must(&root, "drill", &["clone", "-q", "server.git", "second"])?;
        self.must(&root.join("second"), "second", &["handoff", "init"])?;
        Ok(())
    }

    /// The second reads a generation, the first writes the next one; what the second then does is late.
    fn round(&mut self, round: u32) -> Result<(), CommandError> {
        let (first, second) = (self.root.join("first"), self.root.join("second"));
        let save = ["handoff", "save", SCOPE, "--push"];
        fs::write(first.join("file"), format!("round {round}\n"))?;
        self.must(&first, "first", &save)?;
        self.must(&second, "second", &["fetch", "-q", "handoff"])?;
        self.must(&second, "second", &["handoff", "show", SCOPE])?;
        let at = format!("refs/handoff-remote/handoff/{SCOPE}");
        let read = self.must(&second, "second", &["rev-parse", &at])?;
        fs::write(first.join("file"), format!("round {round}, later\n"))?;
        self.must(&first, "first", &save)?;
        let tip = self.tip()?;
        let accept = ["handoff", "accept", SCOPE];
        self.stopped(
            (round, "accept"),
            &tip,
            &accept,
            &[ErrorCode::StaleCheckpoint],
        )?;
        // Its view is what it was when it read.
        let refs = [&at, &format!("refs/handoff/{SCOPE}")];
        for name in refs {
            self.must(&second, "second", &["update-ref", name, read.trim()])?;
        }
        let seen = format!("refs/handoff-local/seen/handoff/{SCOPE}");
        self.must(&second, "second", &["update-ref", "-d", &seen])?;
        fs::write(second.join("file"), format!("round {round}, too late\n"))?;
        let lost = [ErrorCode::CasConflict, ErrorCode::NonLinear];
        self.stopped((round, "write"), &tip, &save, &lost)?;
        let over = format!("+{}:refs/handoff/{SCOPE}", read.trim());
        let rewind = ["push", "-q", "handoff", &over];
        self.stopped((round, "rewind"), &tip, &rewind, &lost)?;
        self.must(&second, "second", &["checkout", "-q", "--", "file"])?;
        Ok(())
    }

    fn tip(&self) -> Result<String, CommandError> {
        let name = format!("refs/handoff/{SCOPE}");
        self.must(
            &self.root.join("server.git"),
            "drill",
            &["rev-parse", &name],
        )
    }

    /// Does what is late, and sees that it fails for being late, and that the remote is as it was.
    fn stopped(
        &mut self,
        (round, what): (u32, &str),
        tip: &str,
        args: &[&str],
        expected: &[ErrorCode],
    ) -> Result<(), CommandError> {
        let second = self.root.join("second");
        let output = git::run(self.command(&second, "second", args), &[])?;
        self.gate.counted += 1;
        let (now, said) = (self.tip()?, String::from_utf8_lossy(&output.stderr));
        let is_told = expected.iter().any(|code| said.contains(code.as_str()));
        let detail = if output.status.success() || now != tip {
            format!(
                "it was not stopped: the remote went from {} to {}",
                tip.trim(),
                now.trim()
            )
        } else if !is_told {
            let line = said.lines().next().unwrap_or_default();
            format!("it failed, and not for being late: {line}")
        } else {
            return Ok(());
        };
        self.gate.faults.push(Fault {
            scope: None,
            artifact: format!("{what} of round {round}"),
            detail,
        });
        Ok(())
    }

    fn must(&self, dir: &Path, who: &str, args: &[&str]) -> Result<String, CommandError> {
        let output = git::run(self.command(dir, who, args), &[])?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let error = git::failure(args.join(" "), &output);
        let error = CommandError::from_error(ErrorCode::Internal, &error);
        Err(CommandError::new(
            ErrorCode::Internal,
            format!("the drill could not be played: {}", error.message),
        ))
    }

    /// Returns Git with no configuration but the drill's own.
    fn command(&self, dir: &Path, who: &str, args: &[&str]) -> Command {
        let mut command = self.context.git(dir).apart().command(args);
        let address = format!("{who}@drill.invalid");
        command
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_AUTHOR_NAME", who)
            .env("GIT_AUTHOR_EMAIL", &address)
            .env("GIT_COMMITTER_NAME", who)
            .env("GIT_COMMITTER_EMAIL", &address)
            .env("HANDOFF_ID", &address);
        for variable in ["HANDOFF_KIND", "HANDOFF_RUN_ID", "HANDOFF_JSON"] {
            command.env_remove(variable);
        }
        command
    }
}
