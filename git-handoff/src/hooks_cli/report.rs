//! `report`: sums up the log of judgements.

use hooks::{
    audit::{ByCode, ByScope, DEFAULT_BYTES, Log, Report},
    policy::duration_seconds,
    server_dir::ServerDir,
};
use serde_json::Value;
use store::{error_code::ErrorCode, timestamp::Timestamp};

use super::{Printer, target::Target};
use crate::{error::CommandError, exit, ui::terminal_safe};

/// How many scopes are named in text.
const NAMED: usize = 20;

#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// How far to look back: a duration such as 14d or 12h, or a time such as 2026-11-30T10:00:00Z
    #[arg(long, value_name = "TIME", default_value = "14d")]
    since: String,
    #[command(flatten)]
    target: Target,
}

pub(super) fn run(args: &Args, printer: &Printer) -> Result<u8, CommandError> {
    let repository = args.target.repository()?;
    let since = since(&args.since)?;
    let server_dir = ServerDir::of(repository.git_dir());
    let report = Log::of(&server_dir, DEFAULT_BYTES).report(since)?;
    let body = serde_json::to_value(&report).unwrap_or(Value::Null);
    printer.print("report", body, &text(&report))?;
    Ok(exit::SUCCESS)
}

fn since(text: &str) -> Result<Timestamp, CommandError> {
    if let Some(seconds) = duration_seconds(text) {
        return Ok(Timestamp::now().saturating_add_seconds(-seconds));
    }
    text.parse().map_err(|_| {
        let message = format!("`{text}` is neither a duration nor a time");
        CommandError::new(ErrorCode::Usage, message).hint("for example: --since 14d")
    })
}

fn text(report: &Report) -> String {
    let counts = &report.counts;
    let judged = counts.good + counts.would_refuse + counts.refused + counts.held;
    let mut text = format!(
        "since {}: {judged} judgements of {} refs\n  good {}, would be refused {}, refused {}, held {}\n",
        report.since, report.scopes, counts.good, counts.would_refuse, counts.refused, counts.held
    );
    text.push_str(&format!(
        "  moved {}, relayed {}, purged {}\n",
        counts.taken, counts.relayed, counts.purged
    ));
    let latency = &report.latency;
    text.push_str(&format!(
        "  half took no longer than {:.1} ms, 95 % no longer than {:.1} ms, the longest {:.1} ms\n",
        latency.median_ms, latency.p95_ms, latency.max_ms
    ));
    if !report.codes.is_empty() {
        text.push_str("by code\n");
        text.extend(report.codes.iter().map(by_code));
    }
    if !report.refusals.is_empty() {
        text.push_str("by ref\n");
        text.extend(report.refusals.iter().take(NAMED).map(by_ref));
        if report.refusals.len() > NAMED {
            text.push_str(&format!("  and {} more\n", report.refusals.len() - NAMED));
        }
    }
    if report.unreadable > 0 {
        text.push_str(&format!("{} lines cannot be read\n", report.unreadable));
    }
    text
}

fn by_code(found: &ByCode) -> String {
    let refs = match found.refs.len() {
        1 => "1 ref".into(),
        more => format!("{more} refs"),
    };
    format!(
        "  {}: would be refused {}, refused {}, in {refs}\n",
        terminal_safe(&found.code),
        found.would_refuse,
        found.refused
    )
}

fn by_ref(found: &ByScope) -> String {
    format!(
        "  {}: would be refused {}, refused {} ({})\n",
        terminal_safe(&found.name),
        found.would_refuse,
        found.refused,
        terminal_safe(&found.codes.join(", "))
    )
}
