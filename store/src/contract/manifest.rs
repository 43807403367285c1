//! The manifest of a checkpoint, `handoff.v1`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CapturedList, Content, Document, Exclusion, LfsPresence, SubmoduleReach, required};
use crate::{
    actor::{ActorId, ActorKind},
    byte_text::ByteText,
    digest::Digest,
    generation::Generation,
    scope::ScopeName,
    timestamp::Timestamp,
};

/// The contract of one generation; `manifest.cbor`.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Manifest {
    /// Always `handoff.v1`.
    pub schema: ManifestSchema,
    /// The scope.
    pub scope: ScopeName,
    /// Place in the scope.
    pub generation: Generation,
    /// Digests of what the record before holds; null for the first generation.
    #[serde(deserialize_with = "required")]
    pub previous: Option<Previous>,
    /// When it was made.
    pub created_at: Timestamp,
    /// Who made it.
    pub producer: Producer,
    /// What is handed over.
    pub content: Content,
    /// Facts that change by themselves.
    pub observed: Observed,
}

impl Document for Manifest {
    const SCHEMA: &'static str = "handoff.v1";
}

/// Schema name of [`Manifest`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
pub enum ManifestSchema {
    /// Version 1.
    #[serde(rename = "handoff.v1")]
    V1,
}

/// Digests of the documents that the record before holds.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Previous {
    /// Its manifest.
    pub checkpoint: Digest,
    /// Its accept, if any.
    #[serde(deserialize_with = "required")]
    pub accept: Option<Digest>,
    /// Its release, if any.
    #[serde(deserialize_with = "required")]
    pub release: Option<Digest>,
}

/// Who made a checkpoint.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Producer {
    /// Who.
    pub id: ActorId,
    /// What it is.
    pub kind: ActorKind,
    /// The run it belongs to.
    #[serde(deserialize_with = "required")]
    pub run_id: Option<String>,
    /// Name and version of the program that wrote it.
    pub tool: String,
}

/// Facts that change by themselves; under the checkpoint digest, not under the content digest.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Observed {
    /// Newest modification time of a changed file.
    #[serde(deserialize_with = "required")]
    pub last_edit_at: Option<Timestamp>,
    /// How the base was found.
    #[serde(deserialize_with = "required")]
    pub base_from: Option<BaseFrom>,
    /// Full name of the upstream branch.
    #[serde(deserialize_with = "required")]
    pub upstream: Option<ByteText>,
    /// Ignore rules that kept something out.
    pub excluded: CapturedList<Exclusion>,
    /// Whether the commits of the submodules can be had.
    pub submodules: CapturedList<SubmoduleReach>,
    /// Whether the contents of the LFS pointers were here.
    pub lfs: CapturedList<LfsPresence>,
}

/// How the base was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BaseFrom {
    /// The generation before had it.
    Previous,
    /// `--base` named it.
    Given,
    /// Merge base with the upstream branch.
    Upstream,
    /// Merge base with the remote's `HEAD`.
    RemoteHead,
    /// Root of the first-parent line.
    Root,
}
