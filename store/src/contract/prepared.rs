//! A prepared handoff, `handoff-prepared.v1`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Content, Document, required};
use crate::{oid::Oid, scope::ScopeName};

/// Snapshot and finished content, not yet in any history; `prepared.cbor`.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Prepared {
    /// Always `handoff-prepared.v1`.
    pub schema: PreparedSchema,
    /// The scope.
    pub scope: ScopeName,
    /// Tip of the scope when it was prepared; null where the scope did not exist.
    #[serde(deserialize_with = "required")]
    pub observed_tip: Option<Oid>,
    /// What will be handed over.
    pub content: Content,
}

impl Document for Prepared {
    const SCHEMA: &'static str = "handoff-prepared.v1";
}

/// Schema name of [`Prepared`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
pub enum PreparedSchema {
    /// Version 1.
    #[serde(rename = "handoff-prepared.v1")]
    V1,
}
