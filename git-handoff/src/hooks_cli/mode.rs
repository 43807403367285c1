//! `mode`: shows and sets how strictly the rules are taken.

use hooks::{mode::Mode, pre_receive::Settings};
use serde_json::{Map, Value, json};
use store::{error_code::ErrorCode, repository::Repository};

use super::{Printer, shown, target::Target};
use crate::{error::CommandError, exit, ui::terminal_safe};

/// Setting of the mode.
pub(super) const KEY: &str = "handoff.mode";

#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// off, shadow, enforce or freeze; without it, say what is set
    mode: Option<Mode>,
    /// Share of the scopes, in a hundred, that enforce is for; the others are in shadow
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u8).range(0..=100))]
    percent: Option<u8>,
    /// Set the mode of records of this version of the contract alone, e.g. handoff.v1
    #[arg(long, value_name = "SCHEMA", requires = "mode", value_parser = schema)]
    schema: Option<String>,
    #[command(flatten)]
    target: Target,
}

/// Takes the name of a schema, which becomes part of a key of Git's configuration.
fn schema(text: &str) -> Result<String, String> {
    let sound = |b: u8| b.is_ascii_alphanumeric() || b"._-".contains(&b);
    match !text.is_empty() && text.bytes().all(sound) {
        true => Ok(text.into()),
        false => Err("a schema is a name such as handoff.v1".into()),
    }
}

pub(super) fn run(args: &Args, printer: &Printer) -> Result<u8, CommandError> {
    let repository = args.target.repository()?;
    if let Some(mode) = args.mode {
        set(&repository, args.schema.as_deref(), mode)?;
    }
    if let Some(percent) = args.percent {
        let args = ["config", "handoff.enforcePercent", &percent.to_string()];
        repository.git().output(args)?;
    }
    // Opened again: what was set stands in its files now.
    let repository = args.target.repository()?;
    let settings = Settings::read(repository.gix());
    let settings = settings.map_err(|error| CommandError::from_error(ErrorCode::Io, &error))?;
    let modes = settings.modes;
    let mut text = format!("{}: {}", shown(repository.git_dir()), modes.general);
    if modes.percent < 100 {
        text.push_str(&format!(", for {} % of the scopes", modes.percent));
    }
    text.push('\n');
    for (schema, mode) in &modes.by_schema {
        text.push_str(&format!("  {}: {mode}\n", terminal_safe(schema)));
    }
    let by_schema = modes.by_schema.iter();
    let schemas: Map<String, Value> = by_schema
        .map(|(schema, mode)| (schema.clone(), mode.as_str().into()))
        .collect();
    let body = json!({
        "mode": modes.general.as_str(),
        "schemas": schemas,
        "enforcePercent": modes.percent,
    });
    printer.print("mode", body, &text)?;
    Ok(exit::SUCCESS)
}

/// Writes a mode into the configuration of the repository.
fn set(repository: &Repository, schema: Option<&str>, mode: Mode) -> Result<(), CommandError> {
    let key = match schema {
        Some(schema) => format!("handoff.{schema}.mode"),
        None => KEY.into(),
    };
    repository.git().output(["config", &key, mode.as_str()])?;
    Ok(())
}
