//! `purge`: takes a scope, or its newest records, off the server.

use gix::refs::FullName;
use hooks::purge::{Purge, PurgeError};
use serde_json::json;
use store::{error_code::ErrorCode, timestamp::Timestamp};

use super::{Printer, object_id, shown, target::Target};
use crate::{error::CommandError, exit, ui::terminal_safe};

#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Full name of the ref
    #[arg(value_name = "REF")]
    name: String,
    /// Go back to this record of the scope, in place of deleting the ref
    #[arg(long, value_name = "COMMIT")]
    to: Option<String>,
    /// Why; it stands in the log
    #[arg(long, value_name = "TEXT", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    reason: String,
    #[command(flatten)]
    target: Target,
}

pub(super) fn run(args: &Args, printer: &Printer) -> Result<u8, CommandError> {
    let repository = args.target.repository()?;
    let name = FullName::try_from(args.name.as_str()).map_err(|_| {
        let message = format!("`{}` is no full name of a ref", terminal_safe(&args.name));
        CommandError::new(ErrorCode::Usage, message).hint("for example: refs/handoff/<scope>")
    })?;
    let to = args.to.as_deref();
    let to = to.map(|text| object_id(text, repository.hash_kind()));
    let to = to.transpose()?.filter(|id| !id.is_null());
    let purge = Purge {
        repository: &repository,
        name,
        to,
        reason: &args.reason,
        now: Timestamp::now(),
    };
    let old = purge.run()?;
    let shown_name = terminal_safe(&args.name);
    let mut text = match to {
        Some(to) => format!("{shown_name} names {to} again\n"),
        None => format!("{shown_name} is deleted\n"),
    };
    let git_dir = shown(repository.git_dir());
    let prune = ["git", "-C", &git_dir, "gc", "--prune=now"];
    text.push_str(&format!(
        "the objects stay until Git prunes them, and with whoever has fetched them\nnext:\n  {}\n",
        prune.join(" ")
    ));
    let body = json!({
        "ref": args.name,
        "old": old.map(|id| id.to_string()),
        "new": to.map(|id| id.to_string()),
        "reason": args.reason,
        "nextCommands": [prune],
    });
    printer.print("purge", body, &text)?;
    Ok(exit::SUCCESS)
}

impl From<PurgeError> for CommandError {
    fn from(error: PurgeError) -> Self {
        match error {
            PurgeError::NotOurs(_) => Self::from_error(ErrorCode::Usage, &error),
            PurgeError::NotFound(_) => Self::from_error(ErrorCode::NotFound, &error),
            PurgeError::Rejected(rejection) => rejection.into(),
            PurgeError::Settings(_) | PurgeError::Log(_) => Self::from_error(ErrorCode::Io, &error),
            PurgeError::Ref(error) => error.into(),
            PurgeError::Git(error) => error.into(),
        }
    }
}
