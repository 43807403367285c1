//! `doctor`: sees whether the hook does its work.

use hooks::install::doctor::{self, Check};
use serde_json::{Value, json};
use store::timestamp::Timestamp;

use super::{Printer, Target};
use crate::{error::CommandError, exit, ui::terminal_safe};

#[derive(clap::Args, Debug)]
pub(super) struct Args {
    #[command(flatten)]
    target: Target,
    /// Also push something that the hook must refuse
    #[arg(long)]
    live: bool,
}

pub(super) fn run(args: &Args, printer: &Printer) -> Result<u8, CommandError> {
    let repository = args.target.repository()?;
    let mut checks = doctor::look(&repository, Timestamp::now());
    if args.live {
        checks.push(doctor::live(&repository));
    }
    let ok = checks.iter().all(|check| check.ok);
    let text: String = checks.iter().map(line).collect();
    let value = |check: &Check| json!({"name": check.name, "ok": check.ok, "detail": check.detail});
    let body = json!({
        "ok": ok,
        "checks": checks.iter().map(value).collect::<Vec<Value>>(),
    });
    printer.print("doctor", body, &text)?;
    Ok(if ok { exit::SUCCESS } else { exit::FAILURE })
}

fn line(check: &Check) -> String {
    let state = if check.ok { "ok  " } else { "FAIL" };
    format!("{state} {}: {}\n", check.name, terminal_safe(&check.detail))
}
