//! The evidence that a command ran, `handoff-receipt.v1`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Document, required};
use crate::{
    byte_text::ByteText, digest::Digest, entry_id::EntryId, oid::Oid, timestamp::Timestamp,
};

/// What ran, on which tree, and how it ended; `receipts/<id>.cbor`.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Receipt {
    /// Always `handoff-receipt.v1`.
    pub schema: ReceiptSchema,
    /// Id of the receipt.
    pub id: EntryId,
    /// Program and arguments.
    pub argv: Vec<ByteText>,
    /// Exit status; null where a signal ended it.
    #[serde(deserialize_with = "required")]
    pub exit_code: Option<u8>,
    /// Number of the signal that ended it; null where it exited.
    #[serde(deserialize_with = "required")]
    pub signal: Option<u8>,
    /// When it was started.
    pub started_at: Timestamp,
    /// How long it ran, in milliseconds.
    pub duration_ms: u64,
    /// Worktree tree before it ran.
    pub tree_before: Oid,
    /// Worktree tree after it ran.
    pub tree_after: Oid,
    /// What it wrote to standard output.
    pub stdout: OutputDigest,
    /// What it wrote to standard error.
    pub stderr: OutputDigest,
    /// Where it ran.
    pub environment: Environment,
}

impl Document for Receipt {
    const SCHEMA: &'static str = "handoff-receipt.v1";
}

/// Schema name of [`Receipt`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
pub enum ReceiptSchema {
    /// Version 1.
    #[serde(rename = "handoff-receipt.v1")]
    V1,
}

/// Digest and size of an output stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutputDigest {
    /// Digest of the bytes.
    pub sha256: Digest,
    /// Number of bytes.
    pub size: u64,
}

/// Where a command ran.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Environment {
    /// Operating system, e.g. `linux`.
    pub os: String,
    /// Processor architecture, e.g. `x86_64`.
    pub arch: String,
    /// Versions of the tools that took part.
    pub tools: Vec<Tool>,
}

/// A tool and its version.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tool {
    /// Name of the tool.
    pub name: String,
    /// Its version.
    pub version: String,
}
