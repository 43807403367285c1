//! Judges one record by itself: its shape, bytes, digests and trees.
//!
//! Whether a record may follow another one is judged in the crate `hooks`. Only this module makes a
//! [`VerifiedRecord`], and what writes to disk takes nothing else.

mod captured;
pub mod evidence;
mod lookup;
pub(crate) mod parts;
pub mod paths;
mod prepared;
mod record;
mod state;
mod trees;

use std::ops::Deref;

use gix::ObjectId;

pub use parts::{Files, files_of, receipts_of};
pub use prepared::{PreparedVerification, VerifiedPrepared, prepared};
pub use trees::Depth;
pub(crate) use trees::{MAX_PATHS, entries};

use crate::{
    contract::{Manifest, check},
    error_code::ErrorCode,
    record::Record,
    scope::ScopeName,
};

/// What a check found to be wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Its code.
    pub code: ErrorCode,
    /// The object, entry, field or path that is wrong.
    pub artifact: String,
    /// What is wrong with it, in words.
    pub detail: String,
}

impl Violation {
    /// Makes a violation.
    pub fn new(code: ErrorCode, artifact: impl Into<String>, detail: impl Into<String>) -> Self {
        Violation {
            code,
            artifact: artifact.into(),
            detail: detail.into(),
        }
    }
}

impl From<check::Violation> for Violation {
    fn from(violation: check::Violation) -> Self {
        Violation::new(violation.code, violation.field, violation.message)
    }
}

impl std::fmt::Display for Violation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.artifact, self.detail)
    }
}

impl std::error::Error for Violation {}

/// One check of a record, and what it found.
#[derive(Clone, Debug)]
pub struct Check {
    /// Name of the check, as it is printed.
    pub name: &'static str,
    /// What is wrong; empty where all is well.
    pub violations: Vec<Violation>,
}

/// All checks of a record, and the proof where none found anything.
#[derive(Debug)]
pub struct Verification {
    /// The checks, in the order in which they were made; a check that needs a failed one is left out.
    pub checks: Vec<Check>,
    /// The record, where every check passed.
    pub record: Option<VerifiedRecord>,
}

impl Verification {
    /// Returns the record, or the first violation.
    ///
    /// # Errors
    ///
    /// Where a check failed.
    pub fn into_result(self) -> Result<VerifiedRecord, Violation> {
        match self.record {
            Some(record) => Ok(record),
            None => {
                let first = self
                    .checks
                    .into_iter()
                    .flat_map(|check| check.violations)
                    .next();
                Err(first.unwrap_or_else(|| {
                    Violation::new(ErrorCode::Internal, "record", "it was not verified")
                }))
            }
        }
    }
}

/// A record of which every check passed.
#[derive(Clone, Debug)]
pub struct VerifiedRecord {
    record: Record,
    whole: Manifest,
}

impl VerifiedRecord {
    /// Returns the manifest with all captured lists in it, wherever they are kept.
    pub fn whole(&self) -> &Manifest {
        &self.whole
    }
}

impl Deref for VerifiedRecord {
    type Target = Record;

    fn deref(&self) -> &Record {
        &self.record
    }
}

/// Judges the record at a commit.
///
/// `scope` is the scope of the ref that the record stands on. `before` is the record before it, where that is
/// verified: trees that both have are not walked again.
pub fn record(
    objects: &gix::Repository,
    id: ObjectId,
    scope: Option<&ScopeName>,
    before: Option<&VerifiedRecord>,
    depth: Depth,
) -> Verification {
    record::verify(objects, id, scope, before, depth)
}
