//! The hard gates: what must hold before work is handed over in earnest, measured over a sample of scopes.

mod drill;
mod scope;

use std::time::Duration;

use store::{error_code::ErrorCode, scope::ScopeName};

use crate::{context::Context, error::CommandError, scopes::Scopes};

/// How long it may take from nothing to the first command of verification.
const FIRST_COMMAND: Duration = Duration::from_secs(10 * 60);

/// What a gate asks of what was measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Limit {
    /// Every one of what was counted.
    All,
    /// None at all.
    None,
    /// At most so many milliseconds.
    Milliseconds(u64),
}

/// Something that a gate counts against.
pub(crate) struct Fault {
    pub(crate) scope: Option<ScopeName>,
    /// What exactly: a path, an object, a claim.
    pub(crate) artifact: String,
    pub(crate) detail: String,
}

/// One gate, and what was measured.
pub(crate) struct Gate {
    pub(crate) name: &'static str,
    /// What is counted.
    pub(crate) of: &'static str,
    pub(crate) limit: Limit,
    /// How many there were; for a time, how many times were taken.
    pub(crate) counted: u64,
    /// The 95th percentile, where times are measured.
    pub(crate) milliseconds: Option<u64>,
    pub(crate) faults: Vec<Fault>,
}

impl Gate {
    fn new(name: &'static str, of: &'static str, limit: Limit) -> Self {
        Gate {
            name,
            of,
            limit,
            counted: 0,
            milliseconds: None,
            faults: Vec::new(),
        }
    }

    /// Returns what was measured: a percentage, a number, or milliseconds.
    pub(crate) fn value(&self) -> u64 {
        let faults = self.faults.len() as u64;
        match self.limit {
            Limit::All => {
                let counted = self.counted.max(faults);
                (counted - faults) * 100 / counted.max(1) + if counted == 0 { 100 } else { 0 }
            }
            Limit::None => faults,
            Limit::Milliseconds(_) => self.milliseconds.unwrap_or_default(),
        }
    }

    pub(crate) fn is_ok(&self) -> bool {
        match self.limit {
            Limit::All | Limit::None => self.faults.is_empty(),
            Limit::Milliseconds(most) => self.faults.is_empty() && self.value() <= most,
        }
    }

    fn fault(&mut self, scope: &ScopeName, artifact: impl ToString, detail: impl ToString) {
        self.faults.push(Fault {
            scope: Some(scope.clone()),
            artifact: artifact.to_string(),
            detail: detail.to_string(),
        });
    }
}

/// The gates of scopes, filled one scope after the other.
pub(super) struct Gates {
    coverage: Gate,
    reachable: Gate,
    digests: Gate,
    secrets: Gate,
    evidenced: Gate,
    open: Gate,
    restored: Gate,
    first_command: Gate,
    difference: Gate,
    took: Vec<u64>,
}

/// Measures every gate over some scopes; the drill runs beside them, in repositories of its own.
pub(crate) fn measure(
    context: &Context,
    scopes: &Scopes<'_>,
    sample: &[ScopeName],
) -> Result<Vec<Gate>, CommandError> {
    let mut gates = Gates {
        coverage: Gate::new("coverage", "changed and untracked paths", Limit::All),
        reachable: Gate::new(
            "reachable",
            "bases, submodules, artifacts missing",
            Limit::None,
        ),
        digests: Gate::new("digests", "digests and rules broken", Limit::None),
        secrets: Gate::new("secrets", "secrets that block", Limit::None),
        evidenced: Gate::new(
            "evidenced",
            "claims with a receipt that covers the tree",
            Limit::All,
        ),
        open: Gate::new("open", "open claims with owner and default", Limit::All),
        restored: Gate::new("restored", "clean clones restored", Limit::All),
        first_command: Gate::new(
            "first-command",
            "95th percentile from nothing to the first command of verification",
            Limit::Milliseconds(FIRST_COMMAND.as_millis() as u64),
        ),
        difference: Gate::new(
            "difference",
            "differences that nothing explains",
            Limit::None,
        ),
        took: Vec::new(),
    };
    for name in sample {
        gates.look_at(context, scopes, name)?;
    }
    gates.took.sort_unstable();
    gates.first_command.counted = gates.took.len() as u64;
    gates.first_command.milliseconds = percentile(&gates.took);
    let mut all = vec![
        gates.coverage,
        gates.reachable,
        gates.digests,
        gates.secrets,
        gates.evidenced,
        gates.open,
        gates.restored,
        gates.first_command,
        gates.difference,
    ];
    all.push(drill::run(context)?);
    Ok(all)
}

/// Returns the 95th percentile of sorted values, by the nearest rank.
fn percentile(sorted: &[u64]) -> Option<u64> {
    let rank = (sorted.len() * 95).div_ceil(100);
    sorted.get(rank.checked_sub(1)?).copied()
}

/// The codes that say that something is not there.
const MISSING: [ErrorCode; 3] = [
    ErrorCode::MissingObject,
    ErrorCode::MissingLfsObject,
    ErrorCode::SubmoduleUnreachable,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_95th_percentile_is_by_the_nearest_rank() {
        assert_eq!(percentile(&[]), None);
        assert_eq!(percentile(&[7]), Some(7));
        let twenty: Vec<u64> = (1..=20).collect();
        assert_eq!(percentile(&twenty), Some(19));
    }

    #[test]
    fn one_fault_of_many_is_no_hundred_per_cent() {
        let mut gate = Gate::new("coverage", "paths", Limit::All);
        assert_eq!((gate.value(), gate.is_ok()), (100, true));
        gate.counted = 1_000;
        gate.fault(&"work".parse().unwrap(), "a.txt", "it is not there");
        assert_eq!((gate.value(), gate.is_ok()), (99, false));
    }
}
