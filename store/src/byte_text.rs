//! Text of Git's that is bytes: branch names, patterns, commit messages.

use std::fmt;

use gix::bstr::{BStr, BString, ByteSlice};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Bytes that documents hold as text where they are valid UTF-8, and as a byte string elsewhere.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ByteText(BString);

impl ByteText {
    /// Returns the bytes.
    pub fn as_bstr(&self) -> &BStr {
        self.0.as_bstr()
    }
}

impl<T: Into<BString>> From<T> for ByteText {
    fn from(bytes: T) -> Self {
        ByteText(bytes.into())
    }
}

impl fmt::Debug for ByteText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl Serialize for ByteText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize_bytes(self.as_bstr(), serializer)
    }
}

impl<'de> Deserialize<'de> for ByteText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize_bytes(deserializer).map(ByteText)
    }
}

/// Writes bytes as text where they are valid UTF-8, else as a byte string.
pub(crate) fn serialize_bytes<S: Serializer>(
    bytes: &BStr,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match bytes.to_str() {
        Ok(text) => serializer.serialize_str(text),
        Err(_) => serializer.serialize_bytes(bytes),
    }
}

/// Reads what [`serialize_bytes`] writes, and refuses a byte string that is valid UTF-8.
pub(crate) fn deserialize_bytes<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BString, D::Error> {
    struct Visitor;
    impl de::Visitor<'_> for Visitor {
        type Value = BString;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("text, or a byte string that is not UTF-8")
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<BString, E> {
            Ok(text.into())
        }

        fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<BString, E> {
            match bytes.to_str() {
                Ok(_) => Err(E::custom("a byte string that is valid UTF-8 must be text")),
                Err(_) => Ok(bytes.into()),
            }
        }
    }
    deserializer.deserialize_any(Visitor)
}
