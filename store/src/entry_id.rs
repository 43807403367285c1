//! Ids of entries inside a document.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, de::Error as _};

/// Id of a claim, decision, receipt, action or attachment, e.g. `AC-3`.
///
/// Invariant: `[A-Za-z0-9][A-Za-z0-9._-]{0,99}`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct EntryId(String);

/// Says that a text is no entry id.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not an id: a letter or digit, then at most 99 letters, digits, `.`, `_` or `-`")]
pub struct EntryIdError(String);

/// Tells whether `text` is one ASCII letter or digit, then letters, digits and `more`, `max` bytes at most.
pub(crate) fn is_word(text: &str, more: &[u8], max: usize) -> bool {
    text.len() <= max
        && text
            .as_bytes()
            .first()
            .is_some_and(u8::is_ascii_alphanumeric)
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || more.contains(&b))
}

impl EntryId {
    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for EntryId {
    type Err = EntryIdError;

    fn from_str(text: &str) -> Result<Self, EntryIdError> {
        if is_word(text, b"._-", 100) {
            Ok(EntryId(text.into()))
        } else {
            Err(EntryIdError(text.chars().take(120).collect()))
        }
    }
}

impl fmt::Display for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl<'de> Deserialize<'de> for EntryId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}
