//! The rules between one record and the next, one file each.
//!
//! A rule is a pure function of a [`Step`]; it says yes or gives a [`Rejection`].

mod accept;
pub(crate) mod citations;
mod clock;
pub(crate) mod code_history;
mod continuity;
mod history;
mod kind;
pub mod namespace;
mod next_checkpoint;
mod ownership;
mod widening;

pub use next_checkpoint::NextCheckpoint;

use store::{scope::ScopeName, timestamp::Timestamp, verify::VerifiedRecord};

use crate::{policy::Policy, rejection::Rejection};

/// One record and the one it follows.
pub struct Step<'a> {
    /// The scope.
    pub scope: &'a ScopeName,
    /// The record before; `None` at the start of the line.
    pub before: Option<&'a VerifiedRecord>,
    /// The record that is judged.
    pub after: &'a VerifiedRecord,
    /// What the operator has set.
    pub policy: &'a Policy,
    /// The clock of whoever judges the record for the first time.
    pub now: Timestamp,
}

/// A rule between one record and the next.
pub type Rule = fn(&Step<'_>) -> Result<(), Rejection>;

/// All rules, in the order in which they are asked.
pub const RULES: &[(&str, Rule)] = &[
    ("kind", kind::rule),
    ("history", history::rule),
    ("clock", clock::rule),
    ("continuity", continuity::rule),
    ("ownership", ownership::rule),
    ("accept", accept::rule),
    ("widening", widening::rule),
];

/// Asks every rule.
///
/// # Errors
///
/// The first rejection.
pub fn judge(step: &Step<'_>) -> Result<(), Rejection> {
    RULES.iter().try_for_each(|(_, rule)| rule(step))
}
