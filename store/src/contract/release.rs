//! The record that an owner gives a scope back, `handoff-release.v1`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Document, required};
use crate::{
    actor::ActorId, digest::Digest, generation::Generation, scope::ScopeName, timestamp::Timestamp,
};

/// The owner gives the scope back without a new state; `release.cbor`.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Release {
    /// Always `handoff-release.v1`.
    pub schema: ReleaseSchema,
    /// The scope.
    pub scope: ScopeName,
    /// The generation that was accepted.
    pub generation: Generation,
    /// Digest of the accept that ends.
    pub accept_digest: Digest,
    /// Who gives it back.
    pub by: ActorId,
    /// When.
    pub at: Timestamp,
    /// Free text.
    #[serde(deserialize_with = "required")]
    pub note: Option<String>,
}

impl Document for Release {
    const SCHEMA: &'static str = "handoff-release.v1";
}

/// Schema name of [`Release`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
pub enum ReleaseSchema {
    /// Version 1.
    #[serde(rename = "handoff-release.v1")]
    V1,
}
