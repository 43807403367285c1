//! What a document must hold besides having the right shape, judged by itself.
//!
//! Every check returns all violations it finds, so that an author mends a draft in one go. Trees, commits and the
//! record before are judged elsewhere.

mod citations;
mod claims;
mod content;
mod entries;
mod lists;
mod local;
mod records;
mod repository;
#[cfg(test)]
mod tests;

use std::fmt;

use super::{
    Content, Manifest, Observed, Prepared,
    lists::{ListBlobs, put_back_into_content, put_back_into_manifest},
};
use crate::{actor::ActorId, error_code::ErrorCode};

pub use citations::{citations, evidence_target};
pub use local::{LocalReference, local_references};
pub use records::{
    DEFAULT_MAX_ACCEPT_SECONDS, accept, accept_of, receipt, receipts, release_of, unacknowledged,
};

/// One rule of the contract that a document breaks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// Code of the rule.
    pub code: ErrorCode,
    /// Path of the field, e.g. `content.claims[2].receipt`.
    pub field: String,
    /// What was found, lower case, no full stop; may hold text of the document.
    pub message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.message)
    }
}

/// Checks a manifest as it was decoded, together with its list blobs.
pub fn manifest(manifest: &Manifest, blobs: &ListBlobs) -> Vec<Violation> {
    let mut found = Findings::default();
    let whole = match put_back_into_manifest(manifest, blobs) {
        Ok(whole) => whole,
        Err(errors) => return lists::unreadable(&errors),
    };
    lists::placed_in_manifest(manifest, &whole, blobs, &mut found);
    lists::ordered_in_manifest(&whole, &mut found);
    if (manifest.generation.get() == 1) != manifest.previous.is_none() {
        found.add(
            ErrorCode::GenerationGap,
            "previous",
            "generation 1 alone has no generation before it",
        );
    }
    exclusions(&whole.observed, &mut found);
    content::check(&whole.content, Some(&manifest.producer.id), &mut found);
    found.0
}

/// Checks a prepared handoff as it was decoded, together with its list blobs.
pub fn prepared(prepared: &Prepared, blobs: &ListBlobs) -> Vec<Violation> {
    let mut found = Findings::default();
    let whole = match put_back_into_content(&prepared.content, blobs) {
        Ok(whole) => whole,
        Err(errors) => return lists::unreadable(&errors),
    };
    lists::placed_in_content(&prepared.content, &whole, blobs, &mut found);
    lists::ordered_in_content(&whole, &mut found);
    content::check(&whole, None, &mut found);
    found.0
}

fn exclusions(observed: &Observed, found: &mut Findings) {
    for (at, exclusion) in observed.excluded.inline().iter().enumerate() {
        let at = format!("observed.excluded[{at}]");
        if exclusion.line == 0 {
            found.malformed(format!("{at}.line"), "lines are counted from 1");
        }
        if exclusion.pattern.is_none() && exclusion.source.as_bstr() != "core.excludesFile" {
            found.malformed(
                format!("{at}.pattern"),
                "the pattern is left out only of core.excludesFile",
            );
        }
    }
}

/// Checks a content that holds all of its lists, on its way into a document of `producer`.
pub fn content(whole: &Content, producer: &ActorId) -> Vec<Violation> {
    let mut found = Findings::default();
    lists::ordered_in_content(whole, &mut found);
    content::check(whole, Some(producer), &mut found);
    found.0
}

/// The violations found so far.
#[derive(Default)]
struct Findings(Vec<Violation>);

impl Findings {
    fn add(&mut self, code: ErrorCode, field: impl Into<String>, message: impl Into<String>) {
        self.0.push(Violation {
            code,
            field: field.into(),
            message: message.into(),
        });
    }

    fn malformed(&mut self, field: impl Into<String>, message: impl Into<String>) {
        self.add(ErrorCode::MalformedManifest, field, message);
    }
}
