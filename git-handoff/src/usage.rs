//! What is wrong with a command line, said as every other error is.

use std::{env, io, process::ExitCode};

use clap::error::ErrorKind;
use store::error_code::ErrorCode;

use crate::{
    error::CommandError,
    exit,
    ui::{Ui, unwritten},
};

/// Shows help where it was asked for, or says what is wrong; `program` is what a user types.
pub(crate) fn end(
    error: &clap::Error,
    program: &[&str],
    command: &clap::Command,
    json: bool,
) -> ExitCode {
    let json = json || env::args_os().any(|arg| arg == "--json");
    let ui = Ui::new(json, false);
    let asked = matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
    );
    // A command line without a command is answered with the help of all.
    let is_bare = error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    if asked || is_bare && !json {
        return match error.print() {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                let error = CommandError::from(unwritten(&error));
                ui.error(&error);
                ExitCode::from(exit::of(error.code))
            }
            _ if asked => ExitCode::from(exit::SUCCESS),
            _ => ExitCode::from(exit::USAGE),
        };
    }
    let text = error.render().to_string();
    let message = match is_bare {
        true => "a command is missing".to_owned(),
        false => message(&text),
    };
    let mut said = CommandError::new(ErrorCode::Usage, message);
    for tip in text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("tip: "))
    {
        said = said.hint(tip);
    }
    let named = env::args_os().skip(1).find_map(|arg| {
        let name = arg.into_string().ok()?;
        command.find_subcommand(&name).map(|_| name)
    });
    let usage = text.lines().find_map(|line| line.strip_prefix("Usage: "));
    if let Some(usage) = usage.filter(|_| named.is_some()) {
        said = said.hint(usage);
    }
    let help = [
        program,
        &named.as_deref().into_iter().collect::<Vec<_>>(),
        &["-h"],
    ]
    .concat();
    ui.error(&said.next(&help));
    ExitCode::from(exit::USAGE)
}

/// Takes what is wrong out of clap's text: all up to the first empty line, as one line.
fn message(text: &str) -> String {
    let first = text.split("\n\n").next().unwrap_or_default();
    let words: Vec<&str> = first.split_whitespace().collect();
    words.join(" ").trim_start_matches("error: ").to_owned()
}
