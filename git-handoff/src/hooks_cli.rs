//! The command line of `handoff-hooks`: the server hook, and what an operator types.

mod check;
mod doctor;
mod install;

use std::{
    env,
    io::{self, Read, Write},
    panic,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{Parser, Subcommand};
use hooks::{
    pre_receive::{self, Answer, Surroundings},
    quarantine::ObjectDirectories,
};
use serde_json::{Map, Value};
use store::{git::Git, repository::Repository, timestamp::Timestamp};

use crate::{error::CommandError, exit, ui::Ui};

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
    /// Install the hook, beside one that is there already
    Install(install::InstallArgs),
    /// Take the hook out, and bring back one that was there before
    Uninstall(install::UninstallArgs),
    /// Say what is installed
    Status(Target),
    /// Judge the change of one ref without a push
    Check(check::Args),
    /// See whether the hook does its work
    Doctor(doctor::Args),
}

/// The repository that a command works on.
#[derive(clap::Args, Debug)]
struct Target {
    /// Git directory of the repository; else that of the current directory
    #[arg(long, value_name = "DIR")]
    git_dir: Option<PathBuf>,
}

impl Target {
    fn repository(&self) -> Result<Repository, CommandError> {
        let git = match &self.git_dir {
            Some(dir) => Git::in_dir(dir).apart(),
            None => Git::in_dir("."),
        };
        Ok(Repository::discover(&git)?)
    }
}

/// Runs `handoff-hooks` with the arguments and environment of this process.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let printer = Printer {
        ui: Ui::new(cli.json, false),
    };
    let done = match cli.command {
        Command::PreReceive => return pre_receive(),
        Command::Install(args) => install::install(&args, &printer),
        Command::Uninstall(args) => install::uninstall(&args, &printer),
        Command::Status(target) => install::status(&target, &printer),
        Command::Check(args) => check::run(&args, &printer),
        Command::Doctor(args) => doctor::run(&args, &printer),
    };
    ExitCode::from(done.unwrap_or_else(|error| {
        printer.ui.error(&error);
        exit::of(error.code)
    }))
}

/// Judges the push on standard input: exit status 0 lets it in.
fn pre_receive() -> ExitCode {
    // Where a fault is, and nothing of what was pushed.
    panic::set_hook(Box::new(|fault| {
        let place = fault.location().map(ToString::to_string);
        say(&[format!("handoff: fault at {}", place.unwrap_or_default())]);
    }));
    let mut input = Vec::new();
    if let Err(error) = io::stdin().lock().read_to_end(&mut input) {
        say(&[format!(
            "handoff: IO -: the hook's input cannot be read: {error}"
        )]);
        return ExitCode::from(exit::FAILURE);
    }
    let git_dir = env::var_os("GIT_DIR").map_or_else(|| PathBuf::from("."), PathBuf::from);
    let surroundings = Surroundings {
        git_dir,
        objects: object_directories(),
        variable: |name| env::var_os(name),
        now: Timestamp::now(),
    };
    match pre_receive::run(&input, &surroundings) {
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
