//! The record that somebody takes over, `handoff-accept.v1`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BlockerKind, Document, PathLease, required};
use crate::{
    actor::{ActorGlob, ActorId, ActorKind},
    digest::Digest,
    entry_id::EntryId,
    generation::Generation,
    repo_path::RepoPath,
    scope::ScopeName,
    timestamp::Timestamp,
};

/// Somebody takes over the current generation, or renews; `accept.cbor`.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Accept {
    /// Always `handoff-accept.v1`.
    pub schema: AcceptSchema,
    /// The scope.
    pub scope: ScopeName,
    /// The generation that is accepted.
    pub generation: Generation,
    /// Digest of its manifest.
    pub checkpoint_digest: Digest,
    /// Digest of the accept in the record before, if any.
    #[serde(deserialize_with = "required")]
    pub previous_accept: Option<Digest>,
    /// Digest of the release in the record before, if any.
    #[serde(deserialize_with = "required")]
    pub previous_release: Option<Digest>,
    /// Who takes over.
    pub acceptor: Acceptor,
    /// Who else may write the next checkpoint.
    pub delegates: Vec<ActorGlob>,
    /// What the acceptor will do; null when there is no next action.
    #[serde(deserialize_with = "required")]
    pub action: Option<EntryId>,
    /// From when on others may accept.
    pub until: Timestamp,
    /// Path leases taken over, a subset of the checkpoint's.
    #[serde(deserialize_with = "required")]
    pub leases: Option<Vec<PathLease>>,
    /// Blockers that the acceptor knows of.
    pub acknowledged: Vec<Acknowledged>,
    /// When.
    pub accepted_at: Timestamp,
    /// Free text.
    #[serde(deserialize_with = "required")]
    pub note: Option<String>,
}

impl Document for Accept {
    const SCHEMA: &'static str = "handoff-accept.v1";
}

/// Schema name of [`Accept`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
pub enum AcceptSchema {
    /// Version 1.
    #[serde(rename = "handoff-accept.v1")]
    V1,
}

/// Who takes over.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Acceptor {
    /// Who.
    pub id: ActorId,
    /// What it is.
    pub kind: ActorKind,
}

/// A blocker that the acceptor knows of.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Acknowledged {
    /// Kind of the blocker.
    pub kind: BlockerKind,
    /// Its path, if it has one.
    #[serde(deserialize_with = "required")]
    pub path: Option<RepoPath>,
}
