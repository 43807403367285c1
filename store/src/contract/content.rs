//! The content of a manifest: what `contentDigest` covers.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Artifacts, Blocker, CapturedList, Citation, Omission, ReceiptReference, Repository, Value,
    Worktree, required,
};
use crate::{
    actor::ActorId, digest::Digest, entry_id::EntryId, repo_path::RepoPath, timestamp::Timestamp,
};

/// Everything that is handed over, authored and captured.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Content {
    /// The task's id elsewhere; null matches any.
    #[serde(deserialize_with = "required")]
    pub task_id: Option<String>,
    /// What the work is to reach; never rewritten by the tool.
    pub objective: String,
    /// Where the work stands, in the author's word.
    pub disposition: Disposition,
    /// Statements of fact, at least one.
    pub state: Vec<Statement>,
    /// What to do next.
    #[serde(deserialize_with = "required")]
    pub next: Option<NextStep>,
    /// Actions that whoever takes over must not do.
    pub forbidden: Vec<EntryId>,
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
    /// What no test covers; null: not stated, empty: stated, none.
    #[serde(deserialize_with = "required")]
    pub untested: Option<Vec<String>>,
    /// What the receiver may run to verify.
    pub verification: Vec<Verification>,
    /// Why each file had to change.
    pub changes: Vec<Change>,
    /// The task contract.
    #[serde(deserialize_with = "required")]
    pub task: Option<Task>,
    /// Paths that this work may write; null: no limit, empty: nothing may change.
    #[serde(deserialize_with = "required")]
    pub leases: Option<Vec<PathLease>>,
    /// Evidence that citations may name.
    pub evidence: Vec<Evidence>,
    /// Findings of the secret scan that are let through.
    pub allow: Vec<Allow>,
    /// What is left out; captured entries first.
    pub omissions: CapturedList<Omission>,
    /// What must be dealt with before taking over; captured entries first.
    pub blockers: CapturedList<Blocker>,
    /// The receipts in the checkpoint.
    pub receipts: CapturedList<ReceiptReference>,
    /// Where the worktree comes from.
    pub repository: Repository,
    /// What trees cannot say of the worktree.
    pub worktree: Worktree,
    /// Further trees and files of the checkpoint.
    pub artifacts: Artifacts,
    /// What leaves `forbidden` with this generation.
    pub lifted: Vec<Lifted>,
    /// Fields of others, by `<name>.v<k>`; carried and hashed, never confirmation.
    pub extensions: BTreeMap<String, Value>,
}

/// Where the work stands, in the author's word.
#[derive(Clone, Copy, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Disposition {
    /// It can go on.
    Continuable,
    /// Nothing is open.
    Completed,
    /// Something must be dealt with first.
    Blocked,
}

/// A statement with its evidence.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// The statement.
    pub text: String,
    /// Its evidence.
    pub citations: Vec<Citation>,
}

/// What to do next.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NextStep {
    /// Name of the action.
    pub action: EntryId,
    /// The action in words.
    pub text: String,
    /// What it rests on.
    pub citations: Vec<Citation>,
}

/// A statement that needs evidence.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Id of the claim.
    pub id: EntryId,
    /// What is claimed.
    pub text: String,
    /// Whether there is evidence.
    pub state: ClaimState,
    /// The receipt that shows it.
    #[serde(deserialize_with = "required")]
    pub receipt: Option<EntryId>,
    /// Why it is open.
    #[serde(deserialize_with = "required")]
    pub reason: Option<String>,
    /// The decision it waits for.
    #[serde(deserialize_with = "required")]
    pub decision: Option<EntryId>,
    /// Who closes it, if not its decision's owner.
    #[serde(deserialize_with = "required")]
    pub owner: Option<ActorId>,
    /// What holds until it is closed, if not its decision's default.
    #[serde(deserialize_with = "required")]
    pub default: Option<String>,
}

/// Whether a claim has evidence.
#[derive(Clone, Copy, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClaimState {
    /// A receipt that covers the worktree tree shows it.
    Evidenced,
    /// Nobody knows yet.
    Open,
    /// A receipt shows the contrary.
    Failed,
}

/// An open question that can be decided.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Decision {
    /// Id of the decision.
    pub id: EntryId,
    /// The question.
    pub question: String,
    /// Who decides.
    #[serde(deserialize_with = "required")]
    pub owner: Option<ActorId>,
    /// Two or three mutually exclusive answers.
    pub options: Vec<DecisionOption>,
    /// What it rests on.
    pub citations: Vec<Citation>,
    /// Claims and decisions that wait for it.
    pub blocks: Vec<EntryId>,
    /// When the default comes into force.
    #[serde(deserialize_with = "required")]
    pub decide_by: Option<Timestamp>,
    /// What holds if nobody decides.
    #[serde(deserialize_with = "required")]
    pub default: Option<DecisionDefault>,
}

/// One answer to a decision.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DecisionOption {
    /// Id of the option.
    pub id: EntryId,
    /// The answer in words.
    pub text: String,
}

/// What holds if nobody decides.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(
    deny_unknown_fields,
    tag = "kind",
    content = "value",
    rename_all = "lowercase"
)]
pub enum DecisionDefault {
    /// This option.
    Option(EntryId),
    /// This action stays forbidden.
    Forbid(EntryId),
}

/// Something the work rests on.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Assumption {
    /// Id of the assumption.
    pub id: EntryId,
    /// What is assumed.
    pub text: String,
    /// Why.
    pub citations: Vec<Citation>,
    /// When it no longer holds.
    #[serde(deserialize_with = "required")]
    pub stale_when: Option<String>,
}

/// Something that already happened outside the tree.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Effect {
    /// Id of the effect.
    pub id: EntryId,
    /// What happened.
    pub text: String,
    /// Of which kind.
    pub kind: EffectKind,
    /// Whether doing it again does no harm.
    pub repeatable: bool,
    /// The receipt of the command that did it.
    #[serde(deserialize_with = "required")]
    pub receipt: Option<EntryId>,
}

/// Kind of an effect.
#[derive(Clone, Copy, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EffectKind {
    /// A migration ran.
    Migration,
    /// Files were generated.
    Generated,
    /// Something outside was written.
    ExternalWrite,
}

/// A command that was not run.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unexecuted {
    /// The command line.
    pub command: String,
    /// Why not.
    pub reason: String,
}

/// A command that the receiver may run.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Verification {
    /// Id of the command.
    pub id: EntryId,
    /// The command line, for `sh -c` at the top of the worktree.
    pub command: String,
    /// The claim that it shows.
    #[serde(deserialize_with = "required")]
    pub claim: Option<EntryId>,
    /// After how many seconds it is ended.
    #[serde(deserialize_with = "required")]
    pub timeout_seconds: Option<u64>,
}

/// Why a file had to change.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// The file.
    pub path: RepoPath,
    /// The reason.
    pub why: String,
}

/// The task contract.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Task {
    /// What there is when it is done.
    #[serde(deserialize_with = "required")]
    pub outcome: Option<String>,
    /// Which paths it may touch.
    pub scope: TaskScope,
    /// What it starts from.
    pub inputs: Vec<String>,
    /// How the fault is seen.
    #[serde(deserialize_with = "required")]
    pub reproduction: Option<String>,
    /// What is seen once it is mended.
    #[serde(deserialize_with = "required")]
    pub expected: Option<String>,
    /// Files that show it.
    pub fixtures: Vec<String>,
    /// What acceptance needs.
    pub acceptance: Vec<String>,
    /// When to stop.
    pub stop_when: Vec<String>,
    /// How it is run.
    #[serde(deserialize_with = "required")]
    pub runner: Option<Runner>,
    /// Who alone may accept; empty: anyone.
    pub acceptors: Vec<TaskAcceptor>,
}

/// The paths a task may touch, as `:(top,glob)` pathspecs of gitglossary(7).
#[derive(Clone, PartialEq, Eq, Debug, Default, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskScope {
    /// Null: no limit; empty: nothing may change.
    #[serde(deserialize_with = "required")]
    pub allowed: Option<Vec<String>>,
    /// Never to be changed.
    pub excluded: Vec<String>,
}

/// How a task is run.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Runner {
    /// Who runs it.
    #[serde(deserialize_with = "required")]
    pub operator: Option<String>,
    /// Command that sets up.
    #[serde(deserialize_with = "required")]
    pub setup: Option<String>,
    /// Command that tests.
    #[serde(deserialize_with = "required")]
    pub test: Option<String>,
    /// Rights that it needs.
    pub permissions: Vec<String>,
}

/// Somebody who may accept.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskAcceptor {
    /// In which role.
    pub role: TaskRole,
    /// Who; never the producer.
    pub id: ActorId,
}

/// Role of an acceptor.
#[derive(Clone, Copy, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TaskRole {
    /// Answers for the code.
    Engineer,
    /// Answers for the product.
    Product,
}

/// Paths that this work may write, held elsewhere and referred to.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathLease {
    /// Id of the lease.
    pub id: EntryId,
    /// `:(top,glob)` pathspecs of gitglossary(7).
    pub paths: Vec<String>,
    /// Where the lease is held.
    #[serde(rename = "ref", deserialize_with = "required")]
    pub reference: Option<String>,
}

/// Evidence that citations may name.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// Id of the evidence.
    pub id: EntryId,
    /// Of which kind.
    pub kind: EvidenceKind,
    /// What it refers to.
    #[serde(rename = "ref")]
    pub reference: String,
    /// Digest of its bytes, where known.
    #[serde(deserialize_with = "required")]
    pub digest: Option<Digest>,
}

/// Kind of evidence.
#[derive(Clone, Copy, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EvidenceKind {
    /// A receipt of this checkpoint.
    Receipt,
    /// A commit.
    Commit,
    /// A file of the worktree.
    File,
    /// A checkpoint of any scope.
    Checkpoint,
    /// A Git bundle.
    Bundle,
    /// A page; never fetched.
    Url,
    /// Something else.
    External,
}

/// A finding of the secret scan that is let through in this scope.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Allow {
    /// Rule of the finding.
    pub rule: String,
    /// Fingerprint of the value.
    pub fingerprint: String,
    /// Why it is no secret.
    pub reason: String,
    /// Who says so.
    pub by: ActorId,
}

/// An action that is no longer forbidden.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lifted {
    /// The action.
    pub action: EntryId,
    /// Why.
    pub reason: String,
    /// What that rests on.
    pub citations: Vec<Citation>,
}
