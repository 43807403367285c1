//! The document that `git handoff continue` prints.

use serde::Serialize;
use serde_json::{Map, Value, json};
use store::contract::{Citation, Decision, Receipt, Verification, codec};
use store::{byte_text::ByteText, entry_id::EntryId, evidence, record::State};

use super::{Continued, What};
use crate::{
    authoring,
    source::as_file,
    standing::{EvidenceState, Finding, Here, worst},
    ui::{Report, to_value},
};

impl Continued<'_> {
    /// Tells whether it is of the scope's current generation.
    pub(super) fn is_current(&self) -> bool {
        match &self.what {
            What::Checkpoint { record, .. } => Some(record.generation()) == self.tip,
            What::Prepared { .. } => false,
        }
    }

    pub(super) fn is_forbidden(&self, action: &EntryId) -> bool {
        self.handed_over.content.forbidden.contains(action)
    }

    /// Tells whether the time of a decision is over: its default is in force then.
    pub(super) fn is_over(&self, decision: &Decision) -> bool {
        decision.decide_by.is_some_and(|by| by <= self.now)
    }

    /// Returns an entry with its citations checked, and the worst of what was found.
    fn cited<T: Serialize>(&self, entry: &T, citations: &[Citation]) -> Map<String, Value> {
        let cited = self.standing.all(citations);
        let mut map = object(entry);
        map.insert("evidence".into(), to_value(&worst(&cited)));
        map.insert("citations".into(), to_value(&cited));
        map
    }

    /// Returns what does not cover the worktree as it is now.
    pub(super) fn not_covering(&self) -> Vec<(&Receipt, Finding)> {
        let receipts = self.standing.receipts();
        let found = receipts.map(|receipt| (receipt, self.standing.receipt(&receipt.id)));
        found
            .filter(|(_, finding)| finding.evidence >= EvidenceState::Changed)
            .collect()
    }

    /// Returns all receipts: what ran, how it ended, and how it stands here.
    fn receipts(&self) -> Vec<Value> {
        let receipts = self.standing.receipts().map(|receipt| {
            let finding = self.standing.receipt(&receipt.id);
            json!({
                "id": receipt.id,
                "command": authoring::command_line(receipt),
                "conclusion": evidence::conclusion(receipt),
                "tree": receipt.tree_before,
                "evidence": finding.evidence,
                "detail": finding.detail,
            })
        });
        receipts.collect()
    }

    fn worktree(&self) -> Value {
        let (state, detail, differences) = match &self.standing.here {
            Here::Nowhere => ("none", None, Vec::new()),
            Here::Elsewhere => ("elsewhere", None, Vec::new()),
            Here::Unknown(why) => ("unknown", Some(why), Vec::new()),
            Here::Worktree(found) if found.differences.is_empty() => ("same", None, Vec::new()),
            Here::Worktree(found) => {
                let differences = found.differences.iter().map(|difference| {
                    let path = ByteText::from(difference.path.clone());
                    let mut map = object(&Path { path });
                    map.insert("in".into(), difference.place.as_str().into());
                    map.insert("detail".into(), difference.detail.clone().into());
                    Value::Object(map)
                });
                ("differs", None, differences.collect())
            }
        };
        json!({ "state": state, "detail": detail, "differences": differences })
    }

    fn verification(&self, command: &Verification) -> Value {
        let mut map = object(command);
        map.insert(
            "passedHere".into(),
            self.standing.has_passed(command).into(),
        );
        Value::Object(map)
    }

    fn claims(&self) -> Vec<Value> {
        let claims = self.handed_over.content.claims.iter().map(|claim| {
            let finding = self.standing.claim(claim);
            let mut map = object(claim);
            map.insert(
                "evidence".into(),
                to_value(&finding.as_ref().map(|finding| finding.evidence)),
            );
            map.insert(
                "detail".into(),
                finding.and_then(|finding| finding.detail).into(),
            );
            Value::Object(map)
        });
        claims.collect()
    }

    fn effects(&self) -> Vec<Value> {
        let effects = self.handed_over.content.effects.iter().map(|effect| {
            let finding = effect.receipt.as_ref().map(|id| self.standing.receipt(id));
            let mut map = object(effect);
            let evidence = finding
                .as_ref()
                .map_or(worst(&[]), |finding| finding.evidence);
            map.insert("evidence".into(), to_value(&evidence));
            map.insert(
                "detail".into(),
                finding.and_then(|finding| finding.detail).into(),
            );
            Value::Object(map)
        });
        effects.collect()
    }

    fn decisions(&self) -> Vec<Value> {
        let decisions = self.handed_over.content.decisions.iter().map(|decision| {
            let is_over = self.is_over(decision);
            let mut map = self.cited(decision, &decision.citations);
            map.insert("overdue".into(), is_over.into());
            let in_force = decision.default.as_ref().filter(|_| is_over);
            map.insert("inForce".into(), to_value(&in_force));
            Value::Object(map)
        });
        decisions.collect()
    }
}

/// Returns an entry as a document has it.
fn object<T: Serialize>(entry: &T) -> Map<String, Value> {
    match codec::to_json(entry) {
        Value::Object(map) => map,
        other => Map::from_iter([("value".to_owned(), other)]),
    }
}

/// A path, which a document has as text and, where it is none, as bytes too.
#[derive(Serialize)]
struct Path {
    path: ByteText,
}

impl Report for Continued<'_> {
    const NAME: &'static str = "continue";

    fn json(&self) -> Value {
        let content = self.handed_over.content;
        let (generation, digest, state, owner) = match &self.what {
            What::Checkpoint { record, .. } => (
                Some(record.generation()),
                Some(record.manifest.digest),
                record.state(self.now).to_string(),
                record.owner(),
            ),
            What::Prepared { generation } => (*generation, None, "prepared".into(), None),
        };
        let statements = content.state.iter().enumerate().map(|(at, statement)| {
            let mut map = self.cited(statement, &statement.citations);
            map.insert("id".into(), format!("S{}", at + 1).into());
            Value::Object(map)
        });
        let assumptions = content.assumptions.iter();
        let assumptions = assumptions.map(|entry| self.cited(entry, &entry.citations));
        let attempts = content.attempts.iter();
        let attempts = attempts.map(|entry| self.cited(entry, &entry.citations));
        let failures = content.known_failures.iter();
        let failures = failures.map(|entry| self.cited(entry, &entry.citations));
        let next = content.next.as_ref().map(|next| {
            let mut map = self.cited(next, &next.citations);
            map.insert("forbidden".into(), self.is_forbidden(&next.action).into());
            map
        });
        let receipts = self.not_covering().into_iter().map(|(receipt, finding)| {
            json!({
                "id": receipt.id,
                "tree": receipt.tree_before,
                "evidence": finding.evidence,
                "detail": finding.detail,
            })
        });
        let verification = content.verification.iter();
        json!({
            "scope": self.handed_over.scope,
            "generation": generation,
            "current": self.is_current(),
            "tip": self.tip,
            "commit": self.commit.to_string(),
            "checkpointDigest": digest,
            "state": state,
            "owner": owner,
            "untrusted": true,
            "disposition": content.disposition,
            "taskId": content.task_id,
            "objective": content.objective,
            "effects": self.effects(),
            "statements": statements.collect::<Vec<_>>(),
            "claims": self.claims(),
            "receipts": self.receipts(),
            "decisions": self.decisions(),
            "assumptions": assumptions.collect::<Vec<_>>(),
            "attempts": attempts.collect::<Vec<_>>(),
            "knownFailures": failures.collect::<Vec<_>>(),
            "untested": content.untested,
            "unexecuted": codec::to_json(&content.unexecuted),
            "omissions": codec::to_json(&content.omissions),
            "blockers": codec::to_json(&content.blockers),
            "forbidden": content.forbidden,
            "next": next,
            "changes": {
                "base": to_value(&self.base),
                "head": to_value(&self.head),
                "worktree": self.worktree(),
                "receipts": receipts.collect::<Vec<_>>(),
            },
            "verification": verification.map(|command| self.verification(command)).collect::<Vec<_>>(),
        })
    }

    fn text(&self) -> String {
        self.lines().text()
    }

    fn next_commands(&self) -> Vec<Vec<String>> {
        let words = |words: &[&str]| words.iter().map(ToString::to_string).collect();
        let scope = self.handed_over.scope.as_str();
        let is_here = matches!(self.standing.here, Here::Worktree(_));
        if let Some(file) = self.file.as_ref().filter(|_| !is_here) {
            let file = as_file(file);
            return vec![
                words(&["git", "handoff", "restore", &file]),
                words(&["git", "handoff", "import", &file]),
            ];
        }
        let mut next = Vec::new();
        match &self.what {
            What::Prepared { .. } if is_here => {
                next.push(words(&["git", "handoff", "commit", scope]));
            }
            What::Prepared { .. } => {
                next.push(words(&[
                    "git",
                    "handoff",
                    "restore",
                    &format!("{scope}@prepared"),
                ]));
            }
            What::Checkpoint { .. } if !self.is_current() => {
                next.push(words(&["git", "handoff", "continue", scope]));
            }
            What::Checkpoint { record, is_mine } => {
                if !is_here {
                    next.push(words(&["git", "handoff", "restore", scope]));
                }
                if *is_mine {
                    next.push(words(&["git", "handoff", "save", scope, "--push"]));
                } else if record.state(self.now) != State::Accepted {
                    next.push(words(&["git", "handoff", "accept", scope]));
                }
            }
        }
        let open = |command: &&Verification| !self.standing.has_passed(command);
        let commands = &self.handed_over.content.verification;
        if is_here && commands.iter().any(|command| open(&command)) {
            let what = match &self.what {
                What::Prepared { .. } => format!("{scope}@prepared"),
                What::Checkpoint { record, .. } if !self.is_current() => {
                    format!("{scope}@{}", record.generation())
                }
                What::Checkpoint { .. } => scope.to_owned(),
            };
            next.push(words(&["git", "handoff", "verify", &what, "--run"]));
        }
        next
    }
}
