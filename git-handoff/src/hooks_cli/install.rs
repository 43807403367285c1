//! `install`, `uninstall` and `status`.

use std::{env, path::PathBuf};

use hooks::{
    install::{Change, Forge, Found, InstallError, Site},
    mode::Mode,
    pre_receive::Settings,
};
use serde_json::{Value, json};
use store::{error_code::ErrorCode, repository::Repository};

use super::{
    Printer, mode, shown,
    target::{Said, Targets},
};
use crate::{error::CommandError, exit};

/// Setting that names the variable of the authenticated user.
const IDENTITY: &str = "handoff.identityEnv";

#[derive(clap::Args, Debug)]
pub(super) struct InstallArgs {
    #[command(flatten)]
    targets: Targets,
    /// A directory of hooks that a server runs for all its repositories
    #[arg(long, value_name = "DIR", conflicts_with_all = ["git_dir", "all", "mode"])]
    into: Option<PathBuf>,
    /// How the server runs hooks: plain, gitolite, gitea, forgejo or gitlab; else what is found
    #[arg(long, value_name = "SERVER")]
    forge: Option<Forge>,
    /// Set how strictly the rules are taken: off, shadow, enforce or freeze
    #[arg(long)]
    mode: Option<Mode>,
    /// Say what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
}

#[derive(clap::Args, Debug)]
pub(super) struct UninstallArgs {
    #[command(flatten)]
    targets: Targets,
    /// A directory of hooks that a server runs for all its repositories
    #[arg(long, value_name = "DIR", conflicts_with_all = ["git_dir", "all"])]
    into: Option<PathBuf>,
    /// How the server runs hooks: plain, gitolite, gitea, forgejo or gitlab; else what is found
    #[arg(long, value_name = "SERVER")]
    forge: Option<Forge>,
    /// Say what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
}

#[derive(clap::Args, Debug)]
pub(super) struct StatusArgs {
    #[command(flatten)]
    targets: Targets,
}

pub(super) fn install(args: &InstallArgs, printer: &Printer) -> Result<u8, CommandError> {
    let executable = env::current_exe()?;
    let plan = |site: &Site| site.plan_install(&executable);
    if let Some(directory) = &args.into {
        let forge = args.forge.unwrap_or(Forge::Plain);
        return into("install", directory, forge, &plan, args.dry_run, printer);
    }
    args.targets.each("install", printer, |repository| {
        let forge = of(repository, args.forge)?;
        let sites = Site::of(repository, forge)?;
        let settings = wanted_settings(repository, forge, args.mode)?;
        let mut said = carry_out(&sites, &plan, args.dry_run)?;
        for (key, value) in &settings {
            said.text.push_str(&format!("set {key} to {value}\n"));
            if !args.dry_run {
                repository.git().output(["config", key, value])?;
            }
        }
        let settings = settings.iter().map(|(key, value)| json!([key, value]));
        said.body["settings"] = settings.collect();
        Ok(about(said, repository, forge))
    })
}

pub(super) fn uninstall(args: &UninstallArgs, printer: &Printer) -> Result<u8, CommandError> {
    let plan = |site: &Site| site.plan_uninstall();
    if let Some(directory) = &args.into {
        let forge = args.forge.unwrap_or(Forge::Plain);
        return into("uninstall", directory, forge, &plan, args.dry_run, printer);
    }
    args.targets.each("uninstall", printer, |repository| {
        let forge = of(repository, args.forge)?;
        let said = carry_out(&Site::of(repository, forge)?, &plan, args.dry_run)?;
        Ok(about(said, repository, forge))
    })
}

fn of(repository: &Repository, forge: Option<Forge>) -> Result<Forge, CommandError> {
    Ok(match forge {
        Some(forge) => forge,
        None => Forge::of(repository)?,
    })
}

/// Returns the settings that an installation writes: the mode that was asked for, and who is asked for the pusher
/// where the operator has not said.
fn wanted_settings(
    repository: &Repository,
    forge: Forge,
    mode: Option<Mode>,
) -> Result<Vec<(String, String)>, CommandError> {
    let settings = Settings::read(repository.gix());
    let settings = settings.map_err(|error| CommandError::from_error(ErrorCode::Io, &error))?;
    let mode = mode.filter(|mode| *mode != settings.modes.general);
    let mode = mode.map(|mode| (mode::KEY.to_owned(), mode.as_str().to_owned()));
    let variable = forge.identity_variable();
    let variable = variable.filter(|_| settings.identity.variable.is_none());
    let variable = variable.map(|variable| (IDENTITY.to_owned(), variable.to_owned()));
    Ok(mode.into_iter().chain(variable).collect())
}

/// Plans for every hook before the first is touched, so that a plan that fails leaves all as it was.
fn carry_out(
    sites: &[Site],
    plan: &dyn Fn(&Site) -> Result<Vec<Change>, InstallError>,
    dry_run: bool,
) -> Result<Said, CommandError> {
    let plans = sites.iter().map(plan).collect::<Result<Vec<_>, _>>()?;
    let (mut text, mut hooks) = (String::new(), Vec::new());
    for (site, plan) in sites.iter().zip(&plans) {
        if !dry_run {
            site.apply(plan)?;
        }
        let hook = shown(&site.hook);
        let previous = site.previous.as_deref().map(shown);
        let mut changes = Vec::new();
        for change in plan {
            let (name, words) = words(change, &hook, previous.as_deref().unwrap_or_default());
            text.push_str(&format!("{words}\n"));
            changes.push(name);
        }
        if plan.is_empty() {
            text.push_str(&format!("nothing to do at {hook}\n"));
        }
        hooks.push(json!({"hook": hook, "previous": previous, "changes": changes}));
    }
    Ok(Said {
        body: json!({"hooks": hooks, "dryRun": dry_run}),
        text,
        ok: true,
    })
}

fn words(change: &Change, hook: &str, previous: &str) -> (&'static str, String) {
    match change {
        Change::Keep => ("keep", format!("keep {hook} as {previous}")),
        Change::Write(wrapper) => (
            "write",
            format!("write {hook}, which runs {}", shown(wrapper.executable())),
        ),
        Change::BringBack => ("bring-back", format!("bring back {previous} as {hook}")),
        Change::Remove => ("remove", format!("remove {hook}")),
    }
}

fn about(mut said: Said, repository: &Repository, forge: Forge) -> Said {
    said.body["directory"] = shown(repository.git_dir()).into();
    said.body["forge"] = forge.as_str().into();
    said
}

fn into(
    command: &str,
    directory: &std::path::Path,
    forge: Forge,
    plan: &dyn Fn(&Site) -> Result<Vec<Change>, InstallError>,
    dry_run: bool,
    printer: &Printer,
) -> Result<u8, CommandError> {
    if forge == Forge::Gitea {
        let message = "Gitea and Forgejo have no directory of hooks for all repositories";
        return Err(CommandError::new(ErrorCode::Usage, message)
            .hint("install into each of them: handoff-hooks install --all <directory>"));
    }
    let directory = std::path::absolute(directory)?;
    let said = carry_out(&Site::in_directory(&directory, forge), plan, dry_run)?;
    printer.print(command, said.body, &said.text)?;
    Ok(exit::SUCCESS)
}

pub(super) fn status(args: &StatusArgs, printer: &Printer) -> Result<u8, CommandError> {
    args.targets.each("status", printer, |repository| {
        let forge = Forge::of(repository)?;
        let (mut text, mut hooks) = (String::new(), Vec::new());
        for site in Site::of(repository, forge)? {
            let (words, body) = standing(&site)?;
            text.push_str(&words);
            hooks.push(body);
        }
        let mode = Settings::read(repository.gix()).map(|settings| settings.modes.general);
        let mode = mode.ok().map(Mode::as_str);
        text.push_str(&format!("mode {}\n", mode.unwrap_or("unreadable")));
        let said = Said {
            body: json!({"mode": mode, "hooks": hooks}),
            text,
            ok: true,
        };
        Ok(about(said, repository, forge))
    })
}

fn standing(site: &Site) -> Result<(String, Value), CommandError> {
    let hook = shown(&site.hook);
    let (state, executable, chained, text) = match site.found()? {
        Found::Nothing => ("absent", None, false, format!("there is no {hook}\n")),
        Found::Foreign { .. } => ("foreign", None, false, format!("{hook} is not ours\n")),
        Found::Ours(wrapper) | Found::Linked(wrapper) => {
            let executable = shown(wrapper.executable());
            let mut text = format!("{hook} runs {executable}\n");
            if let Some(previous) = site.previous.as_ref().filter(|_| wrapper.chains()) {
                text.push_str(&format!("and {}\n", shown(previous)));
            }
            ("installed", Some(executable), wrapper.chains(), text)
        }
    };
    let previous = site.previous.as_deref().filter(|_| chained).map(shown);
    let body = json!({
        "hook": hook,
        "state": state,
        "executable": executable,
        "previous": previous,
    });
    Ok((text, body))
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
