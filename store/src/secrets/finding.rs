//! What a scan says: where something lies, never what it is.

use std::sync::Arc;

use gix::bstr::{BStr, BString, ByteSlice};
use schemars::JsonSchema;
use serde::Serialize;

/// How much a finding weighs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// It is told, and stops nothing.
    Warn,
    /// It stops a handover.
    Block,
}

impl Severity {
    /// Returns the word that is printed.
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Warn => "warn",
            Severity::Block => "block",
        }
    }
}

/// Where a finding lies. It holds no byte of what was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// Id of the rule.
    pub rule: Arc<str>,
    /// How much it weighs.
    pub severity: Severity,
    /// Where it lies; a path in which a secret was found is shown without it.
    pub path: Place,
    /// First line, from 1; 0 stands for the whole, as for a path name.
    pub line: u64,
    /// Last line.
    pub end_line: u64,
    /// What an allow entry names; only for values that it gives nothing away of.
    pub fingerprint: Option<Fingerprint>,
}

/// Name of what was scanned: a path, or what stands for one; free of secrets.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Place(BString);

impl Place {
    /// Takes a name that was scanned and found to be clean, or one of the program's own.
    pub(super) fn clean(name: impl Into<BString>) -> Self {
        Place(name.into())
    }

    /// Returns the bytes of the name.
    pub fn as_bstr(&self) -> &BStr {
        self.0.as_bstr()
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// Stands for a value in an allow entry: a keyed digest of it, `hs1:` and 32 hex digits.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Fingerprint(String);

impl Fingerprint {
    pub(super) fn of_digest(digest: &[u8]) -> Self {
        let digest = digest.get(..16).unwrap_or(digest);
        Fingerprint(format!("hs1:{}", data_encoding::HEXLOWER.encode(digest)))
    }

    /// Returns the text of it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::str::FromStr for Fingerprint {
    type Err = FingerprintError;

    fn from_str(text: &str) -> Result<Self, FingerprintError> {
        let hex = text.strip_prefix("hs1:").ok_or(FingerprintError)?;
        let good = hex.len() == 32
            && hex
                .bytes()
                .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        good.then(|| Fingerprint(text.into()))
            .ok_or(FingerprintError)
    }
}

/// Says that a text is no fingerprint; the text may be a secret and is not shown.
#[derive(Debug, thiserror::Error)]
#[error("a fingerprint is `hs1:` and 32 hex digits, as `git handoff scan` prints it")]
pub struct FingerprintError;

/// A value that was found.
///
/// It has no `Debug`, `Display` or `Serialize`, and is overwritten when it is dropped.
pub(super) struct Secret(Vec<u8>);

impl Secret {
    pub(super) fn new(bytes: &[u8]) -> Self {
        Secret(bytes.to_vec())
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        self.0.fill(0);
        // The compiler must not take the writes for useless.
        std::hint::black_box(&self.0);
    }
}
