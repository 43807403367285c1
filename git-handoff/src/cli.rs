//! The command line.

use std::{path::PathBuf, process::ExitCode};

use clap::{ColorChoice, CommandFactory, Parser, Subcommand};

use crate::{
    commands,
    context::{Context, Environment},
    error::CommandError,
    exit, signals,
    ui::Ui,
    usage,
};

const FIRST_STEPS: &str = "\
To hand over:  save --push; with claims and evidence: run, draft, prepare, commit, push
To take over:  restore, continue, accept; then save --push, or release
`git handoff help <command>` explains one, `help codes` the errors, `help json` the documents of --json";

/// Hand over unfinished changes as verifiable checkpoints
#[derive(Parser, Debug)]
#[command(
    name = "git-handoff",
    bin_name = "git handoff",
    version,
    max_term_width = 100,
    disable_help_subcommand = true,
    after_help = FIRST_STEPS
)]
struct Cli {
    /// Work in <DIR> instead of the current directory
    #[arg(short = 'C', value_name = "DIR", global = true)]
    work_in: Option<PathBuf>,
    /// Print one JSON document instead of text
    #[arg(long, global = true)]
    json: bool,
    /// When to use colour
    #[arg(long, value_name = "WHEN", global = true, default_value_t = ColorChoice::Auto)]
    color: ColorChoice,
    /// Print results and errors alone
    #[arg(short, long, global = true)]
    quiet: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    Accept(Box<commands::accept::Args>),
    Allow(commands::allow::Args),
    Commit(commands::commit::Args),
    Completions(commands::completions::Args),
    Continue(commands::r#continue::Args),
    Demo(commands::demo::Args),
    Diff(commands::diff::Args),
    Doctor(commands::doctor::Args),
    Draft(commands::draft::Args),
    Export(commands::export::Args),
    Gate(commands::gate::Args),
    Help(commands::help::Args),
    Import(commands::import::Args),
    Init(commands::init::Args),
    List(commands::list::Args),
    Log(commands::log::Args),
    Man(commands::man::Args),
    Prepare(Box<commands::prepare::Args>),
    Push(commands::push::Args),
    Release(commands::release::Args),
    Restore(commands::restore::Args),
    Run(Box<commands::run::Args>),
    Save(commands::save::Args),
    Scan(commands::scan::Args),
    Schema(commands::schema::Args),
    Show(commands::show::Args),
    Snapshot(commands::snapshot::Args),
    Sync(commands::sync::Args),
    Uncommit(commands::uncommit::Args),
    Verify(commands::verify::Args),
}

impl Command {
    /// Runs the command and returns its exit code.
    fn run(self, context: &Context) -> Result<u8, CommandError> {
        match self {
            Command::Accept(args) => commands::accept::run(*args, context),
            Command::Allow(args) => commands::allow::run(&args, context),
            Command::Commit(args) => commands::commit::run(&args, context),
            Command::Completions(args) => commands::completions::run(&args, context),
            Command::Continue(args) => commands::r#continue::run(&args, context),
            Command::Demo(args) => commands::demo::run(&args, context),
            Command::Diff(args) => commands::diff::run(&args, context),
            Command::Doctor(args) => commands::doctor::run(&args, context),
            Command::Draft(args) => commands::draft::run(&args, context),
            Command::Export(args) => commands::export::run(&args, context),
            Command::Gate(args) => commands::gate::run(&args, context),
            Command::Help(args) => commands::help::run(&args, context),
            Command::Import(args) => commands::import::run(&args, context),
            Command::Init(args) => commands::init::run(&args, context),
            Command::List(args) => commands::list::run(&args, context),
            Command::Log(args) => commands::log::run(&args, context),
            Command::Man(args) => commands::man::run(&args, context),
            Command::Prepare(args) => commands::prepare::run(&args, context),
            Command::Push(args) => commands::push::run(&args, context),
            Command::Release(args) => commands::release::run(&args, context),
            Command::Restore(args) => commands::restore::run(&args, context),
            Command::Run(args) => commands::run::run(&args, context),
            Command::Save(args) => commands::save::run(args, context),
            Command::Scan(args) => commands::scan::run(&args, context),
            Command::Schema(args) => commands::schema::run(&args, context),
            Command::Show(args) => commands::show::run(&args, context),
            Command::Snapshot(args) => commands::snapshot::run(&args, context),
            Command::Sync(args) => commands::sync::run(&args, context),
            Command::Uncommit(args) => commands::uncommit::run(&args, context),
            Command::Verify(args) => commands::verify::run(&args, context),
        }
    }
}

/// Returns the command line's own description.
pub(crate) fn command() -> clap::Command {
    Cli::command()
}

/// Runs `git handoff` with the arguments and environment of this process.
pub fn main() -> ExitCode {
    signals::outlive_file_size_limit();
    let environment = Environment::read();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            return usage::end(&error, &["git", "handoff"], &command(), environment.json);
        }
    };
    match cli.color {
        ColorChoice::Always => anstream::ColorChoice::Always.write_global(),
        ColorChoice::Never => anstream::ColorChoice::Never.write_global(),
        ColorChoice::Auto => {}
    }
    let ui = Ui::new(cli.json || environment.json, cli.quiet);
    let context = Context {
        ui,
        // Git runs in it, and paths of the command line are taken from it: both must mean the same.
        dir: cli.work_in.map_or_else(
            || ".".into(),
            |dir| std::path::absolute(&dir).unwrap_or(dir),
        ),
        environment,
    };
    let ended = context
        .see_directory()
        .and_then(|()| cli.command.run(&context));
    let code = ended.unwrap_or_else(|error| {
        // A reader that went away has seen what it wanted.
        if error.is_closed_pipe() {
            return exit::SUCCESS;
        }
        context.ui.error(&error);
        exit::of(error.code)
    });
    ExitCode::from(code)
}
