//! Object ids as documents hold them.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// Id of a Git object, written in documents as lower-case hexadecimal digits.
///
/// Invariant: 40 digits (SHA-1) or 64 digits (SHA-256).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Oid(gix::ObjectId);

/// Says that a text is no object id.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not a full object id in lower-case hexadecimal digits")]
pub struct OidError(String);

impl Oid {
    /// Returns the id in gix's form.
    pub fn id(&self) -> gix::ObjectId {
        self.0
    }

    /// Returns the kind of hash the id was made with.
    pub fn kind(&self) -> gix::hash::Kind {
        self.0.kind()
    }
}

impl From<gix::ObjectId> for Oid {
    fn from(id: gix::ObjectId) -> Self {
        Oid(id)
    }
}

impl From<Oid> for gix::ObjectId {
    fn from(id: Oid) -> Self {
        id.0
    }
}

impl FromStr for Oid {
    type Err = OidError;

    fn from_str(text: &str) -> Result<Self, OidError> {
        let full = matches!(text.len(), 40 | 64)
            && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        if !full {
            return Err(OidError(text.chars().take(80).collect()));
        }
        gix::ObjectId::from_hex(text.as_bytes())
            .map(Oid)
            .map_err(|_| OidError(text.into()))
    }
}

impl fmt::Display for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Oid({})", self.0)
    }
}

impl Serialize for Oid {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Oid {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}
