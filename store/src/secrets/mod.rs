//! Finds secrets in what would be handed over: one engine for commands, the remote helper and the server hook.
//!
//! It reads bytes and says where something lies; it never shows what it found, and decides nothing. Rules are in
//! `rules/`, in the form of a gitleaks configuration; [`Scanner`] looks through one object, with all that may be wrapped
//! around a secret.

mod allowlist;
mod assignment;
mod check;
mod config;
mod dialect;
mod finding;
mod ignore;
mod keywords;
mod layers;
mod name;
mod own_rules;
mod pattern;
mod pem;
mod rule;
mod rule_set;
mod scanner;
mod text;
mod value;

#[cfg(test)]
mod corpus;
#[cfg(test)]
mod tests;

/// Version of the engine: what was found clean by another one counts no more. It is raised with every change of what
/// is found that the rules do not say.
pub const ENGINE: &str = concat!(env!("CARGO_PKG_VERSION"), ".2");

pub use config::ConfigError;
pub use dialect::RegexError;
pub use finding::{Finding, Fingerprint, FingerprintError, Place, Severity};
pub use ignore::IgnoreFile;
pub use rule_set::{PathRules, RuleSet};
pub use scanner::{Marks, Scanner, Subject};
