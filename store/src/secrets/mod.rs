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
mod layers;
mod name;
mod pem;
mod rule_set;
mod scanner;
mod text;
mod value;

#[cfg(test)]
mod corpus;
#[cfg(test)]
mod tests;

pub use config::ConfigError;
pub use dialect::RegexError;
pub use finding::{Finding, Fingerprint, FingerprintError, Place, Severity};
pub use ignore::IgnoreFile;
pub use rule_set::RuleSet;
pub use scanner::{Marks, Scanner, Subject};
