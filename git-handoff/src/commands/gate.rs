//! `git handoff gate`.

use std::time::{SystemTime, UNIX_EPOCH};

use schemars::JsonSchema;
use serde::Serialize;
use store::{digest::Digest, error_code::ErrorCode, scope::ScopeName};

use crate::{
    context::Context,
    error::CommandError,
    exit,
    gate::{self, Gate, Limit},
    scopes::Scopes,
    ui::{Report, count, terminal_safe},
};

/// Measure the hard gates, and pass or fail
///
/// Looks at one scope, or at a sample of all: whether every changed path is captured, all that is named is there, every
/// digest and rule holds, nothing blocks as a secret, claims have their evidence, open ones an owner and a default, and a
/// clean clone restores all of it in time by two routes without a difference. Then it plays a drill in repositories of
/// its own: stale accepts and late writes must be stopped. Changes nothing. Exits with 5 where a gate fails.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The scope; without one, a sample of all
    #[arg(value_name = "SCOPE", conflicts_with_all = ["sample", "seed"])]
    scope: Option<ScopeName>,
    /// How many scopes are looked at
    #[arg(long, value_name = "N", default_value_t = 20)]
    sample: usize,
    /// Which ones: the same seed takes the same scopes again
    #[arg(long, value_name = "SEED")]
    seed: Option<u64>,
}

pub(crate) struct Measured {
    gates: Vec<Gate>,
    sample: Vec<ScopeName>,
    scopes: usize,
    seed: Option<u64>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Document<'a> {
    ok: bool,
    gates: Vec<GateDocument<'a>>,
    /// The scopes that were looked at.
    sample: &'a [ScopeName],
    /// How many there are.
    scopes: usize,
    /// What takes the same sample again, as text; null where a scope was named.
    seed: Option<String>,
    untrusted: bool,
}

#[derive(Serialize, JsonSchema)]
struct GateDocument<'a> {
    name: &'static str,
    ok: bool,
    /// What was measured, in the unit.
    value: u64,
    limit: u64,
    /// `%`, `ms`, or none where it is a number.
    unit: Option<&'static str>,
    /// What is counted.
    of: &'static str,
    /// How many were looked at.
    counted: u64,
    faults: Vec<FaultDocument<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct FaultDocument<'a> {
    scope: Option<&'a ScopeName>,
    /// What exactly: a path, an object, a claim.
    artifact: &'a str,
    detail: &'a str,
}

fn limit(gate: &Gate) -> (u64, Option<&'static str>) {
    match gate.limit {
        Limit::All => (100, Some("%")),
        Limit::None => (0, None),
        Limit::Milliseconds(most) => (most, Some("ms")),
    }
}

impl Measured {
    fn is_ok(&self) -> bool {
        self.gates.iter().all(Gate::is_ok)
    }
}

impl Report for Measured {
    const NAME: &'static str = "gate";

    type Document<'a> = Document<'a>;

    fn document(&self) -> Document<'_> {
        let gates = self.gates.iter().map(|gate| {
            let (limit, unit) = limit(gate);
            let faults = gate.faults.iter().map(|fault| FaultDocument {
                scope: fault.scope.as_ref(),
                artifact: &fault.artifact,
                detail: &fault.detail,
            });
            GateDocument {
                name: gate.name,
                ok: gate.is_ok(),
                value: gate.value(),
                limit,
                unit,
                of: gate.of,
                counted: gate.counted,
                faults: faults.collect(),
            }
        });
        Document {
            ok: self.is_ok(),
            gates: gates.collect(),
            sample: &self.sample,
            scopes: self.scopes,
            seed: self.seed.map(|seed| seed.to_string()),
            untrusted: true,
        }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for gate in &self.gates {
            let state = if gate.is_ok() { "ok  " } else { "FAIL" };
            let (limit, unit) = limit(gate);
            let unit = unit.map(|unit| format!(" {unit}")).unwrap_or_default();
            text.push_str(&format!(
                "{state} {:<13} {}{unit}, limit {limit}{unit}: {}",
                gate.name,
                gate.value(),
                gate.of
            ));
            text.push_str(&format!(" ({})\n", gate.counted));
            for fault in &gate.faults {
                let scope = fault.scope.as_ref().map(|scope| format!("{scope}: "));
                text.push_str(&format!(
                    "       {}{}: {}\n",
                    scope.unwrap_or_default(),
                    terminal_safe(&fault.artifact),
                    terminal_safe(&fault.detail)
                ));
            }
        }
        let looked = count(self.sample.len() as u64, "scope");
        match self.seed {
            Some(seed) => text.push_str(&format!("{looked} of {}, seed {seed}\n", self.scopes)),
            None => text.push_str(&format!("{looked} of {}\n", self.scopes)),
        }
        text
    }

    fn next_commands(&self) -> Vec<Vec<String>> {
        let faults = self.gates.iter().flat_map(|gate| &gate.faults);
        let mut scopes: Vec<&ScopeName> = faults.filter_map(|fault| fault.scope.as_ref()).collect();
        scopes.sort();
        scopes.dedup();
        let verify = |scope: &&ScopeName| {
            let words = ["git", "handoff", "verify", scope.as_str(), "--clean-clone"];
            words.map(String::from).to_vec()
        };
        scopes.iter().take(3).map(verify).collect()
    }
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<u8, CommandError> {
    let repository = context.repository()?;
    let scopes = Scopes::new(context, &repository);
    let names = scopes
        .reader()
        .scopes()
        .map_err(|error| scopes.explain(error))?;
    let all = names.len();
    let (sample, seed) = match &args.scope {
        Some(scope) => (vec![scope.clone()], None),
        None if names.is_empty() => {
            return Err(CommandError::new(
                ErrorCode::NotFound,
                "there is no scope here to measure",
            )
            .next(&["git", "handoff", "list"]));
        }
        None => {
            let seed = args.seed.unwrap_or_else(any_seed);
            (sample(names, args.sample, seed), Some(seed))
        }
    };
    let measured = Measured {
        gates: gate::measure(context, &scopes, &sample)?,
        sample,
        scopes: all,
        seed,
    };
    context.ui.report(&measured)?;
    Ok(match measured.is_ok() {
        true => exit::SUCCESS,
        false => exit::REFUSED,
    })
}

/// Takes as many scopes as are wanted, in the order of a digest over seed and name: nobody can choose a good name.
fn sample(names: Vec<ScopeName>, wanted: usize, seed: u64) -> Vec<ScopeName> {
    let mut keyed: Vec<(Digest, ScopeName)> = names
        .into_iter()
        .map(|name| (Digest::of(format!("{seed} {name}").as_bytes()), name))
        .collect();
    keyed.sort();
    keyed
        .into_iter()
        .take(wanted)
        .map(|(_, name)| name)
        .collect()
}

/// Makes a seed that differs from run to run.
fn any_seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let nanoseconds = now.map_or(0, |now| now.as_nanos());
    let mixed = Digest::of(format!("{nanoseconds} {}", std::process::id()).as_bytes()).to_string();
    u64::from_str_radix(&mixed[mixed.len() - 8..], 16).unwrap_or_default()
}
