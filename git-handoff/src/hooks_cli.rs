//! The command line of `handoff-hooks`: the server hook, and what an operator types.

mod check;
mod doctor;
mod install;
mod mode;
mod purge;
mod report;
mod target;

use std::{
    env,
    ffi::{OsStr, OsString},
    io::{self, Read, Write},
    os::unix::ffi::OsStrExt,
    panic,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{CommandFactory as _, Parser, Subcommand};
use gix::ObjectId;
use hooks::{
    post_receive,
    pre_receive::{Answer, Surroundings},
    quarantine::ObjectDirectories,
};
use serde_json::{Map, Value};
use store::{error_code::ErrorCode, timestamp::Timestamp};

use crate::{error::CommandError, exit, ui::Ui, usage};

/// Enforce the rules of handoff refs in a repository that is pushed to
#[derive(Parser, Debug)]
#[command(
    name = "handoff-hooks",
    version,
    max_term_width = 100,
    disable_help_subcommand = true
)]
struct Cli {
    /// Print one JSON document instead of text
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Judge a push; Git runs this as its hook of that name
    PreReceive,
    /// Note in the log which refs have moved; Git runs this as its hook of that name
    PostReceive {
        /// A line of standard input that was read before
        line: Option<OsString>,
    },
    /// Install the hook, beside one that is there already
    Install(install::InstallArgs),
    /// Take the hook out, and bring back one that was there before
    Uninstall(install::UninstallArgs),
    /// Say what is installed
    Status(install::StatusArgs),
    /// Judge the change of one ref without a push
    Check(check::Args),
    /// See whether the hook does its work
    Doctor(doctor::Args),
    /// Show or set how strictly the rules are taken
    Mode(mode::Args),
    /// Sum up the log: what was refused, or would have been, and how long it took
    Report(report::Args),
    /// Delete a handoff ref, or take it back to an earlier record; the log says so
    Purge(purge::Args),
}

/// Returns the command line's own description.
pub(crate) fn command() -> clap::Command {
    Cli::command()
}

/// Runs `handoff-hooks` with the arguments and environment of this process.
///
/// Under the name of a hook it is that hook: some servers take one executable and nothing else.
pub fn main() -> ExitCode {
    crate::signals::outlive_file_size_limit();
    let called = env::args_os().next().map(PathBuf::from);
    let name = called.as_deref().and_then(Path::file_name);
    match name.and_then(OsStr::to_str) {
        Some("pre-receive") => return pre_receive(),
        Some("post-receive") => return post_receive(None),
        _ => {}
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage::end(&error, &["handoff-hooks"], &command(), false),
    };
    let printer = Printer {
        ui: Ui::new(cli.json, false),
    };
    let done = match cli.command {
        Command::PreReceive => return pre_receive(),
        Command::PostReceive { line } => return post_receive(line),
        Command::Install(args) => install::install(&args, &printer),
        Command::Uninstall(args) => install::uninstall(&args, &printer),
        Command::Status(args) => install::status(&args, &printer),
        Command::Check(args) => check::run(&args, &printer),
        Command::Doctor(args) => doctor::run(&args, &printer),
        Command::Mode(args) => mode::run(&args, &printer),
        Command::Report(args) => report::run(&args, &printer),
        Command::Purge(args) => purge::run(&args, &printer),
    };
    ExitCode::from(done.unwrap_or_else(|error| {
        printer.ui.error(&error);
        exit::of(error.code)
    }))
}

/// Judges the push on standard input: exit status 0 lets it in.
fn pre_receive() -> ExitCode {
    let (input, surroundings) = match hook_input() {
        Ok(found) => found,
        Err(error) => {
            say(&[format!(
                "handoff: IO -: the hook's input cannot be read: {error}"
            )]);
            return ExitCode::from(exit::FAILURE);
        }
    };
    match hooks::pre_receive::run(&input, &surroundings) {
        Answer::Pass(lines) => {
            say(&lines);
            ExitCode::from(exit::SUCCESS)
        }
        Answer::Refuse(lines) => {
            say(&lines);
            ExitCode::from(exit::FAILURE)
        }
    }
}

/// Notes what has moved; of standard input a line may have been read before.
fn post_receive(line: Option<OsString>) -> ExitCode {
    let noted = hook_input().and_then(|(rest, surroundings)| {
        let first = line.map(|line| [line.as_bytes(), b"\n"].concat());
        let input = [first.unwrap_or_default(), rest].concat();
        post_receive::run(&input, &surroundings)
    });
    match noted {
        Ok(()) => ExitCode::from(exit::SUCCESS),
        Err(error) => {
            say(&[format!(
                "handoff: the push is in; the audit log does not say so: {error}"
            )]);
            ExitCode::from(exit::FAILURE)
        }
    }
}

/// Reads what Git gives to a hook: standard input, and the environment.
fn hook_input() -> io::Result<(Vec<u8>, Surroundings)> {
    // Where a fault is, and nothing of what was pushed.
    panic::set_hook(Box::new(|fault| {
        let place = fault.location().map(ToString::to_string);
        say(&[format!("handoff: fault at {}", place.unwrap_or_default())]);
    }));
    let mut input = Vec::new();
    io::stdin().lock().read_to_end(&mut input)?;
    let git_dir = env::var_os("GIT_DIR").map_or_else(|| PathBuf::from("."), PathBuf::from);
    let surroundings = Surroundings {
        git_dir,
        objects: object_directories(),
        variable: |name| env::var_os(name),
        now: Timestamp::now(),
    };
    Ok((input, surroundings))
}

fn object_directories() -> ObjectDirectories {
    ObjectDirectories {
        own: env::var_os("GIT_OBJECT_DIRECTORY"),
        alternates: env::var_os("GIT_ALTERNATE_OBJECT_DIRECTORIES"),
    }
}

/// Writes lines to standard error, which Git sends to the pusher.
fn say(lines: &[String]) {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    // Whoever pushed may have gone; what counts is the exit status.
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Prints results: a document with `--json`, else text.
struct Printer {
    ui: Ui,
}

impl Printer {
    /// Prints the result of a command; `body` holds the fields after `format`.
    fn print(&self, command: &str, body: Value, text: &str) -> io::Result<()> {
        if !self.ui.is_json() {
            return self.ui.raw(text.as_bytes());
        }
        let mut document = Map::new();
        document.insert(
            "format".into(),
            format!("handoff-hooks.{command}.v1").into(),
        );
        if let Value::Object(fields) = body {
            document.extend(fields);
        }
        self.ui
            .raw(format!("{}\n", Value::Object(document)).as_bytes())
    }
}

/// Shows a path in text and JSON; one that is no UTF-8 has U+FFFD there.
fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Reads a full object id; zeros of any number stand for the null id.
fn object_id(text: &str, kind: gix::hash::Kind) -> Result<ObjectId, CommandError> {
    if !text.is_empty() && text.bytes().all(|b| b == b'0') {
        return Ok(ObjectId::null(kind));
    }
    let id = ObjectId::from_hex(text.as_bytes()).ok();
    id.filter(|id| id.kind() == kind).ok_or_else(|| {
        let message = format!("`{text}` is no full object id of this repository");
        CommandError::new(ErrorCode::Usage, message).hint("git rev-parse <name> gives it")
    })
}
