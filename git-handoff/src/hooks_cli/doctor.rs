//! `doctor`: sees whether the hook does its work.

use std::ffi::OsString;

use hooks::install::{
    Forge,
    doctor::{self, Check, State},
};
use serde_json::{Value, json};
use store::timestamp::Timestamp;

use super::{
    Printer, shown,
    target::{Said, Targets},
};
use crate::{error::CommandError, ui::terminal_safe};

#[derive(clap::Args, Debug)]
pub(super) struct Args {
    #[command(flatten)]
    targets: Targets,
    /// Also push something that the hook must refuse
    #[arg(long)]
    live: bool,
    /// Push it to this URL of the repository, through the server, in place of its directory
    #[arg(long, requires = "live", conflicts_with = "all")]
    url: Option<OsString>,
}

pub(super) fn run(args: &Args, printer: &Printer) -> Result<u8, CommandError> {
    args.targets.each("doctor", printer, |repository| {
        let forge = Forge::of(repository)?;
        let mut checks = doctor::look(repository, forge, Timestamp::now())?;
        if args.live {
            checks.push(doctor::live(repository, forge, args.url.as_deref()));
        }
        let ok = checks.iter().all(|check| check.state != State::Failed);
        Ok(Said {
            body: json!({
                "directory": shown(repository.git_dir()),
                "forge": forge.as_str(),
                "ok": ok,
                "checks": checks.iter().map(value).collect::<Vec<Value>>(),
            }),
            text: checks.iter().map(line).collect(),
            ok,
        })
    })
}

fn value(check: &Check) -> Value {
    json!({
        "name": check.name,
        "ok": check.state != State::Failed,
        "warning": check.state == State::Warned,
        "detail": check.detail,
    })
}

fn line(check: &Check) -> String {
    let state = match check.state {
        State::Good => "ok  ",
        State::Warned => "warn",
        State::Failed => "FAIL",
    };
    format!("{state} {}: {}\n", check.name, terminal_safe(&check.detail))
}
