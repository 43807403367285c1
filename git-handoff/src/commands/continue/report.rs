//! The document that `git handoff continue` prints.

use schemars::JsonSchema;
use serde::Serialize;
use store::{
    actor::ActorId,
    byte_text::ByteText,
    contract::{
        Blocker, CapturedList, Citation, Claim, Conclusion, Decision, DecisionDefault,
        DecisionOption, Disposition, Effect, Omission, Receipt, Unexecuted, Verification,
    },
    digest::Digest,
    entry_id::EntryId,
    evidence,
    generation::Generation,
    oid::Oid,
    record::State,
    scope::ScopeName,
    timestamp::Timestamp,
};

use super::{Continued, What};
use crate::{
    authoring,
    source::as_file,
    standing::{BaseNow, Cited, EvidenceState, Finding, HeadNow, Here, worst},
    ui::Report,
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

    /// Returns what does not cover the worktree as it is now.
    pub(super) fn not_covering(&self) -> Vec<(&Receipt, Finding)> {
        let receipts = self.standing.receipts();
        let found = receipts.map(|receipt| (receipt, self.standing.receipt(&receipt.id)));
        found
            .filter(|(_, finding)| finding.evidence >= EvidenceState::Changed)
            .collect()
    }

    /// Returns all receipts: what ran, how it ended, and how it stands here.
    fn receipts(&self) -> Vec<ReceiptDocument<'_>> {
        let receipts = self.standing.receipts().map(|receipt| ReceiptDocument {
            id: &receipt.id,
            command: authoring::command_line(receipt),
            conclusion: evidence::conclusion(receipt),
            tree: receipt.tree_before,
            finding: self.standing.receipt(&receipt.id),
        });
        receipts.collect()
    }

    fn worktree(&self) -> WorktreeDocument<'_> {
        let (state, detail, differences) = match &self.standing.here {
            Here::Nowhere => (WorktreeState::None, None, Vec::new()),
            Here::Elsewhere => (WorktreeState::Elsewhere, None, Vec::new()),
            Here::Unknown(why) => (WorktreeState::Unknown, Some(why.as_str()), Vec::new()),
            Here::Worktree(found) if found.differences.is_empty() => {
                (WorktreeState::Same, None, Vec::new())
            }
            Here::Worktree(found) => {
                let differences = found.differences.iter();
                let differences = differences.map(|difference| DifferenceDocument {
                    path: ByteText::from(difference.path.clone()),
                    place: difference.place.as_str(),
                    detail: &difference.detail,
                });
                (WorktreeState::Differs, None, differences.collect())
            }
        };
        WorktreeDocument {
            state,
            detail,
            differences,
        }
    }

    fn cited<'a>(&self, text: &'a str, citations: &[Citation]) -> CitedDocument<'a> {
        let citations = self.standing.all(citations);
        CitedDocument {
            text,
            evidence: worst(&citations),
            citations,
        }
    }

    fn claims(&self) -> Vec<ClaimDocument<'_>> {
        let claims = self.handed_over.content.claims.iter().map(|claim| {
            let finding = self.standing.claim(claim);
            ClaimDocument {
                claim,
                evidence: finding.as_ref().map(|finding| finding.evidence),
                detail: finding.and_then(|finding| finding.detail),
            }
        });
        claims.collect()
    }

    fn effects(&self) -> Vec<EffectDocument<'_>> {
        let effects = self.handed_over.content.effects.iter().map(|effect| {
            let finding = effect.receipt.as_ref().map(|id| self.standing.receipt(id));
            EffectDocument {
                effect,
                evidence: finding
                    .as_ref()
                    .map_or(worst(&[]), |finding| finding.evidence),
                detail: finding.and_then(|finding| finding.detail),
            }
        });
        effects.collect()
    }

    fn decisions(&self) -> Vec<DecisionDocument<'_>> {
        let decisions = self.handed_over.content.decisions.iter().map(|decision| {
            let is_over = self.is_over(decision);
            let citations = self.standing.all(&decision.citations);
            DecisionDocument {
                id: &decision.id,
                question: &decision.question,
                owner: decision.owner.as_ref(),
                options: &decision.options,
                blocks: &decision.blocks,
                decide_by: decision.decide_by,
                default: decision.default.as_ref(),
                evidence: worst(&citations),
                citations,
                overdue: is_over,
                in_force: decision.default.as_ref().filter(|_| is_over),
            }
        });
        decisions.collect()
    }
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Document<'a> {
    scope: &'a ScopeName,
    generation: Option<Generation>,
    /// Whether it is the scope's current generation.
    current: bool,
    /// The generation that the scope is at.
    tip: Option<Generation>,
    commit: Oid,
    checkpoint_digest: Option<Digest>,
    /// `open`, `accepted`, `overdue`, `released` or `prepared`.
    state: String,
    owner: Option<&'a ActorId>,
    untrusted: bool,
    disposition: Disposition,
    task_id: Option<&'a str>,
    objective: &'a str,
    /// What has happened already, outside the tree.
    effects: Vec<EffectDocument<'a>>,
    statements: Vec<StatementDocument<'a>>,
    claims: Vec<ClaimDocument<'a>>,
    receipts: Vec<ReceiptDocument<'a>>,
    decisions: Vec<DecisionDocument<'a>>,
    assumptions: Vec<AssumptionDocument<'a>>,
    attempts: Vec<CitedDocument<'a>>,
    known_failures: Vec<CitedDocument<'a>>,
    /// What no test covers; null: not stated.
    untested: Option<&'a [String]>,
    unexecuted: &'a [Unexecuted],
    omissions: &'a CapturedList<Omission>,
    blockers: &'a CapturedList<Blocker>,
    forbidden: &'a [EntryId],
    next: Option<NextDocument<'a>>,
    /// What is otherwise now.
    changes: ChangesDocument<'a>,
    verification: Vec<VerificationDocument<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct CitedDocument<'a> {
    text: &'a str,
    /// That of the worst citation.
    evidence: EvidenceState,
    citations: Vec<Cited>,
}

#[derive(Serialize, JsonSchema)]
struct StatementDocument<'a> {
    id: String,
    #[serde(flatten)]
    cited: CitedDocument<'a>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct AssumptionDocument<'a> {
    id: &'a EntryId,
    #[serde(flatten)]
    cited: CitedDocument<'a>,
    stale_when: Option<&'a str>,
}

#[derive(Serialize, JsonSchema)]
struct NextDocument<'a> {
    action: &'a EntryId,
    #[serde(flatten)]
    cited: CitedDocument<'a>,
    /// Whether the checkpoint forbids the action.
    forbidden: bool,
}

#[derive(Serialize, JsonSchema)]
struct EffectDocument<'a> {
    #[serde(flatten)]
    effect: &'a Effect,
    evidence: EvidenceState,
    detail: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct ClaimDocument<'a> {
    #[serde(flatten)]
    claim: &'a Claim,
    evidence: Option<EvidenceState>,
    detail: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct ReceiptDocument<'a> {
    id: &'a EntryId,
    command: String,
    conclusion: Conclusion,
    tree: Oid,
    #[serde(flatten)]
    finding: Finding,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct DecisionDocument<'a> {
    id: &'a EntryId,
    question: &'a str,
    owner: Option<&'a ActorId>,
    options: &'a [DecisionOption],
    blocks: &'a [EntryId],
    decide_by: Option<Timestamp>,
    default: Option<&'a DecisionDefault>,
    evidence: EvidenceState,
    citations: Vec<Cited>,
    /// Whether its time is over.
    overdue: bool,
    /// The default, once the time is over.
    in_force: Option<&'a DecisionDefault>,
}

#[derive(Serialize, JsonSchema)]
struct ChangesDocument<'a> {
    base: &'a BaseNow,
    head: Option<&'a HeadNow>,
    worktree: WorktreeDocument<'a>,
    /// Receipts that do not cover the worktree as it is now.
    receipts: Vec<UncoveredDocument<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct UncoveredDocument<'a> {
    id: &'a EntryId,
    tree: Oid,
    #[serde(flatten)]
    finding: Finding,
}

#[derive(Serialize, JsonSchema)]
struct WorktreeDocument<'a> {
    state: WorktreeState,
    detail: Option<&'a str>,
    differences: Vec<DifferenceDocument<'a>>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum WorktreeState {
    Same,
    Differs,
    /// It is of another scope.
    Elsewhere,
    /// There is none here.
    None,
    Unknown,
}

#[derive(Serialize, JsonSchema)]
struct DifferenceDocument<'a> {
    path: ByteText,
    #[serde(rename = "in")]
    place: &'static str,
    detail: &'a str,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct VerificationDocument<'a> {
    #[serde(flatten)]
    command: &'a Verification,
    /// Whether it passed here, on the worktree as it is now.
    passed_here: bool,
}

impl Report for Continued<'_> {
    const NAME: &'static str = "continue";

    type Document<'a>
        = Document<'a>
    where
        Self: 'a;

    fn document(&self) -> Document<'_> {
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
        let statements = content.state.iter().enumerate();
        let statements = statements.map(|(at, one)| StatementDocument {
            id: format!("S{}", at + 1),
            cited: self.cited(&one.text, &one.citations),
        });
        let assumptions = content.assumptions.iter();
        let assumptions = assumptions.map(|one| AssumptionDocument {
            id: &one.id,
            cited: self.cited(&one.text, &one.citations),
            stale_when: one.stale_when.as_deref(),
        });
        let next = content.next.as_ref().map(|next| NextDocument {
            action: &next.action,
            cited: self.cited(&next.text, &next.citations),
            forbidden: self.is_forbidden(&next.action),
        });
        let receipts = self.not_covering().into_iter();
        let receipts = receipts.map(|(receipt, finding)| UncoveredDocument {
            id: &receipt.id,
            tree: receipt.tree_before,
            finding,
        });
        let verification = content.verification.iter();
        let verification = verification.map(|command| VerificationDocument {
            command,
            passed_here: self.standing.has_passed(command),
        });
        Document {
            scope: self.handed_over.scope,
            generation,
            current: self.is_current(),
            tip: self.tip,
            commit: self.commit.into(),
            checkpoint_digest: digest,
            state,
            owner,
            untrusted: true,
            disposition: content.disposition,
            task_id: content.task_id.as_deref(),
            objective: &content.objective,
            effects: self.effects(),
            statements: statements.collect(),
            claims: self.claims(),
            receipts: self.receipts(),
            decisions: self.decisions(),
            assumptions: assumptions.collect(),
            attempts: content
                .attempts
                .iter()
                .map(|one| self.cited(&one.text, &one.citations))
                .collect(),
            known_failures: content
                .known_failures
                .iter()
                .map(|one| self.cited(&one.text, &one.citations))
                .collect(),
            untested: content.untested.as_deref(),
            unexecuted: &content.unexecuted,
            omissions: &content.omissions,
            blockers: &content.blockers,
            forbidden: &content.forbidden,
            next,
            changes: ChangesDocument {
                base: &self.base,
                head: self.head.as_ref(),
                worktree: self.worktree(),
                receipts: receipts.collect(),
            },
            verification: verification.collect(),
        }
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
