//! Drafts: what an author writes of a handoff, in YAML or JSON.
//!
//! A draft holds authored fields and nothing else. [`Draft::read`] finds all that is wrong with one, and a [`Reading`]
//! says on which line a field stands. [`template`] writes one to fill in.

mod place;
mod read;
mod schema;
mod template;
#[cfg(test)]
mod tests;
mod yaml;

use std::collections::{BTreeMap, BTreeSet};

use place::Errors;
pub use schema::schema;
use schemars::JsonSchema;
pub use template::template;

use crate::{
    contract::{
        Assumption, Blocker, Change, Claim, Content, Decision, Disposition, Effect, Evidence,
        Lifted, NextStep, Omission, PathLease, Statement, Task, Unexecuted, Value, Verification,
        lists::CapturedEntry as _,
    },
    entry_id::EntryId,
    error_code::ErrorCode,
};

/// The authored part of a content.
///
/// The outer `None` of a field says that the draft leaves it out: limits and the task are those of the generation
/// before then.
#[derive(Clone, PartialEq, Eq, Debug, Default, JsonSchema)]
#[schemars(rename_all = "camelCase", deny_unknown_fields)]
pub struct Draft {
    /// The task's id elsewhere.
    pub task_id: Option<Option<String>>,
    /// What the work is to reach.
    pub objective: Option<String>,
    /// Where the work stands.
    pub disposition: Option<Disposition>,
    /// Statements of fact.
    pub state: Vec<Statement>,
    /// What to do next.
    pub next: Option<NextStep>,
    /// Actions that whoever takes over must not do.
    pub forbidden: Option<Vec<EntryId>>,
    /// Statements that need evidence.
    pub claims: Vec<Claim>,
    /// Open questions that can be decided.
    pub decisions: Vec<Decision>,
    /// What the work rests on.
    pub assumptions: Vec<Assumption>,
    /// What already happened outside the tree.
    pub effects: Vec<Effect>,
    /// What was tried.
    pub attempts: Vec<Statement>,
    /// What was not run, and why.
    pub unexecuted: Vec<Unexecuted>,
    /// What is known to fail.
    pub known_failures: Vec<Statement>,
    /// What no test covers; `None`: not stated.
    pub untested: Option<Vec<String>>,
    /// What the receiver may run to verify.
    pub verification: Vec<Verification>,
    /// Why each file had to change.
    pub changes: Vec<Change>,
    /// The task contract.
    pub task: Option<Option<Task>>,
    /// Paths that this work may write.
    pub leases: Option<Option<Vec<PathLease>>>,
    /// Evidence that citations may name.
    pub evidence: Vec<Evidence>,
    /// What is left out, in words.
    pub omissions: Vec<Omission>,
    /// What must be dealt with before taking over, of the kinds that no capture finds.
    pub blockers: Vec<Blocker>,
    /// What leaves `forbidden`.
    pub lifted: Vec<Lifted>,
    /// Fields of others.
    pub extensions: BTreeMap<String, Value>,
}

/// One thing that is wrong with a draft.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DraftError {
    /// Code of the rule.
    pub code: ErrorCode,
    /// Path of the field, e.g. `claims[2].receipt`; empty where it is the text as a whole.
    pub field: String,
    /// Line, from 1, where it is known.
    pub line: Option<usize>,
    /// What was found, lower case, no full stop; may hold text of the draft.
    pub message: String,
}

impl std::fmt::Display for DraftError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        match self.field.as_str() {
            "" => f.write_str(&self.message),
            field => write!(f, "{field}: {}", self.message),
        }
    }
}

/// Takes a field path apart: `claims[2].receipt` into `claims`, `[2]` and `receipt`.
fn steps(field: &str) -> impl Iterator<Item = &str> {
    field.split('.').flat_map(|part| {
        let end = part.find('[').unwrap_or(part.len());
        let (key, rest) = part.split_at(end);
        std::iter::once(key)
            .chain(rest.split_inclusive(']'))
            .filter(|step| !step.is_empty())
    })
}

/// Returns the entry that a field is of, e.g. `claims[2]`.
fn entry(field: &str) -> &str {
    let end = field.find(']').map(|at| at + 1).or(field.find('.'));
    &field[..end.unwrap_or(field.len())]
}

/// A draft as far as it can be read, and all that is wrong with it.
#[derive(Debug)]
pub struct Reading {
    /// What was read; an entry that cannot be read at all is missing.
    pub draft: Draft,
    /// What is wrong with it.
    pub errors: Vec<DraftError>,
    /// How many of the errors are of the reading itself.
    unread: usize,
    source: Option<yaml::Node>,
    incomplete: BTreeSet<String>,
}

impl Draft {
    /// Returns what a generation left open, for the draft of the next one; `leases` are those that are held.
    ///
    /// What was only of its moment stays behind: statements, attempts, what was lifted, and which receipts show a claim –
    /// the newest that was made for it does, else the one that showed it then.
    pub fn left_open(content: &Content, leases: Option<&[PathLease]>) -> Self {
        let omissions = content.omissions.inline().iter();
        let blockers = content.blockers.inline().iter();
        Draft {
            task_id: Some(content.task_id.clone()),
            objective: Some(content.objective.clone()),
            disposition: None,
            state: Vec::new(),
            next: content.next.clone(),
            forbidden: Some(content.forbidden.clone()),
            claims: content
                .claims
                .iter()
                .map(|claim| Claim {
                    receipt: None,
                    ..claim.clone()
                })
                .collect(),
            decisions: content.decisions.clone(),
            assumptions: content.assumptions.clone(),
            effects: content.effects.clone(),
            attempts: Vec::new(),
            unexecuted: content.unexecuted.clone(),
            known_failures: content.known_failures.clone(),
            untested: content.untested.clone(),
            verification: content.verification.clone(),
            changes: content.changes.clone(),
            task: Some(content.task.clone()),
            leases: Some(leases.map(<[PathLease]>::to_vec)),
            evidence: content.evidence.clone(),
            omissions: omissions
                .filter(|omission| omission.text.is_some() && !omission.is_captured())
                .cloned()
                .collect(),
            blockers: blockers
                .filter(|blocker| !blocker.is_captured())
                .cloned()
                .collect(),
            lifted: Vec::new(),
            extensions: content.extensions.clone(),
        }
    }

    /// Reads a draft from YAML or JSON.
    pub fn read(bytes: &[u8]) -> Reading {
        let mut errors = Errors::default();
        let (draft, source) = match yaml::read(bytes, &mut errors) {
            Ok(node) => (read::draft(&node, &mut errors), Some(node)),
            Err(error) => {
                errors.push(error);
                (Draft::default(), None)
            }
        };
        Reading {
            draft,
            unread: errors.found.len(),
            errors: errors.found,
            source,
            incomplete: errors.incomplete,
        }
    }
}

impl Reading {
    /// Tells whether the text is YAML at all, so that its fields can be judged.
    pub fn is_readable(&self) -> bool {
        self.source.is_some()
    }

    /// Adds what a rule found wrong with a field, and its line.
    ///
    /// What follows from an entry that could not be read is left out.
    pub fn add(&mut self, code: ErrorCode, field: &str, message: String) {
        let list = field.split('[').next().unwrap_or_default();
        let shifted = self.incomplete.contains(list) && list != field;
        let unread = |error: &DraftError| !field.is_empty() && entry(&error.field) == entry(field);
        let known = |error: &DraftError| error.field == field && error.message == message;
        if shifted || self.errors[..self.unread].iter().any(unread) || self.errors.iter().any(known)
        {
            return;
        }
        self.errors.push(DraftError {
            code,
            field: field.into(),
            line: self.line(field),
            message,
        });
    }

    /// Returns the line of a field, or of the nearest field around it that is there.
    fn line(&self, field: &str) -> Option<usize> {
        let mut node = self.source.as_ref()?;
        let mut found = None;
        for step in steps(field) {
            let Some(next) = node.step(step) else { break };
            node = next;
            found = Some(node.line);
        }
        found
    }
}
