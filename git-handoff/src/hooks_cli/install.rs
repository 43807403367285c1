//! `install`, `uninstall` and `status`.

use std::env;

use hooks::install::{Change, Found, InstallError, Site};
use serde_json::json;
use store::error_code::ErrorCode;

use super::{Printer, Target, shown};
use crate::{error::CommandError, exit};

#[derive(clap::Args, Debug)]
pub(super) struct InstallArgs {
    #[command(flatten)]
    target: Target,
    /// Say what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
}

#[derive(clap::Args, Debug)]
pub(super) struct UninstallArgs {
    #[command(flatten)]
    target: Target,
    /// Say what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
}

pub(super) fn install(args: &InstallArgs, printer: &Printer) -> Result<u8, CommandError> {
    let site = Site::of(&args.target.repository()?)?;
    let executable = env::current_exe()?;
    let plan = site.plan_install(&executable)?;
    carry_out("install", &site, &plan, args.dry_run, printer)
}

pub(super) fn uninstall(args: &UninstallArgs, printer: &Printer) -> Result<u8, CommandError> {
    let site = Site::of(&args.target.repository()?)?;
    let plan = site.plan_uninstall()?;
    carry_out("uninstall", &site, &plan, args.dry_run, printer)
}

fn carry_out(
    command: &str,
    site: &Site,
    plan: &[Change],
    dry_run: bool,
    printer: &Printer,
) -> Result<u8, CommandError> {
    if !dry_run {
        site.apply(plan)?;
    }
    let (hook, previous) = (shown(&site.hook), shown(&site.previous));
    let mut text = String::new();
    let mut changes = Vec::new();
    for change in plan {
        let (name, words) = match change {
            Change::Keep => ("keep", format!("keep {hook} as {previous}")),
            Change::Write(wrapper) => (
                "write",
                format!("write {hook}, which runs {}", shown(wrapper.executable())),
            ),
            Change::BringBack => ("bring-back", format!("bring back {previous} as {hook}")),
            Change::Remove => ("remove", format!("remove {hook}")),
        };
        text.push_str(&format!("{words}\n"));
        changes.push(name);
    }
    if plan.is_empty() {
        text = format!("nothing to do at {hook}\n");
    }
    let body = json!({
        "hook": hook,
        "previous": previous,
        "changes": changes,
        "dryRun": dry_run,
    });
    printer.print(command, body, &text)?;
    Ok(exit::SUCCESS)
}

pub(super) fn status(target: &Target, printer: &Printer) -> Result<u8, CommandError> {
    let site = Site::of(&target.repository()?)?;
    let hook = shown(&site.hook);
    let (state, executable, chained, text) = match site.found()? {
        Found::Nothing => ("absent", None, false, format!("there is no {hook}\n")),
        Found::Foreign { .. } => ("foreign", None, false, format!("{hook} is not ours\n")),
        Found::Ours(wrapper) | Found::Linked(wrapper) => {
            let executable = shown(wrapper.executable());
            let mut text = format!("{hook} runs {executable}\n");
            if wrapper.chains() {
                text.push_str(&format!("then {}\n", shown(&site.previous)));
            }
            ("installed", Some(executable), wrapper.chains(), text)
        }
    };
    let body = json!({
        "hook": hook,
        "state": state,
        "executable": executable,
        "previous": chained.then(|| shown(&site.previous)),
    });
    printer.print("status", body, &text)?;
    Ok(exit::SUCCESS)
}

impl From<InstallError> for CommandError {
    fn from(error: InstallError) -> Self {
        match error {
            InstallError::Git(error) => error.into(),
            InstallError::File { .. } | InstallError::Executable(_) => {
                Self::from_error(ErrorCode::Io, &error)
            }
            InstallError::Replaced { .. } => Self::from_error(ErrorCode::DirectoryNotEmpty, &error)
                .hint("take one of the two away, and install again"),
            InstallError::PreviousMissing(_) => Self::from_error(ErrorCode::NotFound, &error)
                .hint("put it back, or remove our hook by hand"),
            InstallError::Linked { .. } => Self::from_error(ErrorCode::DirectoryNotEmpty, &error)
                .hint("change that script, or take the link away first"),
            InstallError::NotOurs(_) => Self::from_error(ErrorCode::NotFound, &error)
                .hint("`handoff-hooks status` says what is there"),
        }
    }
}
