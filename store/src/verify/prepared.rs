//! Judges a prepared handoff: what the checks of a record are, as far as they are not about its place in a line.

use gix::ObjectId;

use super::{Check, Depth, Violation, parts, state::State};
use crate::{
    contract::{Content, check, lists::put_back_into_content},
    error_code::ErrorCode,
    oid::Oid,
    prepared::PreparedHandoff,
    scope::ScopeName,
};

/// A prepared handoff of which every check passed.
#[derive(Clone, Debug)]
pub struct VerifiedPrepared {
    prepared: PreparedHandoff,
    whole: Content,
}

/// All checks of a prepared handoff, and the proof where none found anything.
#[derive(Debug)]
pub struct PreparedVerification {
    /// The checks, in the order in which they were made.
    pub checks: Vec<Check>,
    /// The prepared handoff, where every check passed.
    pub prepared: Option<VerifiedPrepared>,
}

impl VerifiedPrepared {
    /// Returns the content with all captured lists in it, wherever they are kept.
    pub fn whole(&self) -> &Content {
        &self.whole
    }
}

impl std::ops::Deref for VerifiedPrepared {
    type Target = PreparedHandoff;

    fn deref(&self) -> &PreparedHandoff {
        &self.prepared
    }
}

impl PreparedVerification {
    /// Returns the prepared handoff, or the first violation.
    ///
    /// # Errors
    ///
    /// Where a check failed.
    pub fn into_result(self) -> Result<VerifiedPrepared, Violation> {
        let first = || {
            let mut all = self.checks.into_iter().flat_map(|check| check.violations);
            all.next().unwrap_or_else(|| {
                Violation::new(ErrorCode::Internal, "prepared", "it was not verified")
            })
        };
        self.prepared.ok_or_else(first)
    }
}

/// Judges the prepared handoff at a commit; `scope` is the scope that it must be of.
pub fn prepared(
    objects: &gix::Repository,
    id: ObjectId,
    scope: Option<&ScopeName>,
    depth: Depth,
) -> PreparedVerification {
    let mut checks = Vec::new();
    let mut add = |name, violations: Vec<Violation>| checks.push(Check { name, violations });
    let prepared = match PreparedHandoff::read(objects, id) {
        Ok(prepared) => prepared,
        Err(error) => {
            add(
                "record",
                vec![Violation::from_record_error(&error, id.to_string())],
            );
            return PreparedVerification {
                checks,
                prepared: None,
            };
        }
    };
    add("record", Vec::new());
    let one = |result: Result<(), Violation>| result.err().into_iter().collect::<Vec<_>>();
    add("scope", one(of_scope(&prepared, scope)));
    add("parents", one(parents(&prepared)));
    let content = &prepared.document.value.content;
    let whole = match parts::lists(objects, prepared.root.lists) {
        Ok(blobs) => {
            let found = check::prepared(&prepared.document.value, &blobs);
            add("contract", found.into_iter().map(Violation::from).collect());
            put_back_into_content(content, &blobs).ok()
        }
        Err(violation) => {
            add("contract", vec![violation]);
            None
        }
    };
    let state = State {
        objects,
        root: &prepared.root,
        content,
        before: None,
        depth,
    };
    state.check(whole.as_ref(), add);
    let sound = checks.iter().all(|check| check.violations.is_empty());
    let prepared = whole
        .filter(|_| sound)
        .map(|whole| VerifiedPrepared { prepared, whole });
    PreparedVerification { checks, prepared }
}

fn of_scope(prepared: &PreparedHandoff, scope: Option<&ScopeName>) -> Result<(), Violation> {
    let found = &prepared.document.value.scope;
    match scope.filter(|scope| *scope != found) {
        None => Ok(()),
        Some(expected) => {
            let detail = format!("it belongs to scope `{found}`, not to `{expected}`");
            Err(Violation::new(
                ErrorCode::ScopeMismatch,
                "prepared.cbor",
                detail,
            ))
        }
    }
}

/// The parents are head and the heads of an operation, in this order and none twice.
fn parents(prepared: &PreparedHandoff) -> Result<(), Violation> {
    let repository = &prepared.document.value.content.repository;
    let operation = repository.operation.iter();
    let operation = operation.flat_map(|operation| operation.heads.iter());
    let mut expected: Vec<ObjectId> = Vec::new();
    for id in repository.head.iter().chain(operation).map(Oid::id) {
        if !expected.contains(&id) {
            expected.push(id);
        }
    }
    if prepared.parents == expected {
        return Ok(());
    }
    let detail = "the parents are not head and the heads of the operation";
    Err(Violation::new(
        ErrorCode::MalformedManifest,
        prepared.id.to_string(),
        detail,
    ))
}
