//! Measures git-handoff beside Git and writes one report.
//!
//! `cargo bench -p git-handoff --bench report -- [--quick] [--only <group>] [--write <file>]`

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::panic,
    reason = "a bench says what it does, and stops where its stage breaks"
)]

mod capture;
mod checkpoints;
mod generate;
mod growth;
mod hook;
mod measure;
mod reading;
mod report;
mod rows;
mod servers;
mod stage;
mod storage;
mod transfer;

use std::{fs, process::ExitCode};

use report::Group;

/// Measures one group, with small numbers where that is all that is wanted.
type Measure = fn(quick: bool) -> Group;

const GROUPS: [(&str, Measure); 6] = [
    ("capture", capture::run),
    ("transfer", transfer::run),
    ("hook", hook::run),
    ("reading", reading::run),
    ("storage", storage::run),
    ("growth", growth::run),
];

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1).peekable();
    if args.next_if(|first| first == measure::WRAPPER).is_some() {
        return measure::wrap(&args.collect::<Vec<_>>());
    }
    let (mut quick, mut only, mut write) = (false, None, None);
    while let Some(argument) = args.next() {
        match argument.as_str() {
            // Cargo says this to every bench.
            "--bench" => {}
            "--quick" => quick = true,
            "--only" => only = args.next(),
            "--write" => write = args.next(),
            other => {
                eprintln!(
                    "unknown argument `{other}`: [--quick] [--only <group>] [--write <file>]"
                );
                return ExitCode::from(2);
            }
        }
    }
    let mut groups = Vec::new();
    for (name, measure) in GROUPS {
        if only.as_ref().is_none_or(|only| only == name) {
            eprintln!("{name}");
            groups.push(measure(quick));
        }
    }
    match write {
        Some(file) => {
            let before = only.and_then(|_| fs::read_to_string(&file).ok());
            let text = report::markdown(&groups, &before.unwrap_or_default());
            fs::write(&file, text).expect("the report can be written");
        }
        None => print!("{}", report::markdown(&groups, "")),
    }
    let missed = groups
        .iter()
        .flat_map(|group| &group.rows)
        .any(|row| row.holds() == Some(false));
    match missed && !quick {
        true => ExitCode::FAILURE,
        false => ExitCode::SUCCESS,
    }
}
