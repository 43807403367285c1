//! Canonical bytes of documents: deterministic CBOR, RFC 8949 §4.2.1.
//!
//! Decoding is in four steps, so that every byte string that is not exactly what [`encode`] writes is refused:
//! a scan over the bytes judges their form, `schema` is read, the type is decoded, and the result is encoded
//! again and compared.

use data_encoding::BASE64;
use serde::{Serialize, de::DeserializeOwned};

use super::{Document, Value};
use crate::error_code::ErrorCode;

#[cfg(test)]
mod properties;
mod scan;
#[cfg(test)]
mod tests;

/// Largest document, in bytes.
pub const MAX_BYTES: usize = 1 << 20;
/// Deepest nesting of arrays and maps.
pub const MAX_DEPTH: usize = 32;

/// Longest message about a field, which may quote the document, in characters.
const MAX_MESSAGE_CHARS: usize = 300;

/// What the typed decoder reports.
type TypedError = serde_ipld_dagcbor::DecodeError<std::convert::Infallible>;

/// Says why bytes are no document of the kind that was asked for.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum DecodeError {
    /// The bytes are not canonical CBOR, or not within the limits.
    #[error("malformed at byte {offset}: {what}")]
    Malformed {
        /// Where, from 0.
        offset: usize,
        /// What was found there.
        what: &'static str,
    },
    /// The bytes are sound, but of a schema that this program does not know.
    #[error("schema `{found}` is not supported, only `{expected}` is")]
    UnsupportedVersion {
        /// Value of the field `schema`; empty where there is none.
        found: String,
        /// The schema that was asked for.
        expected: &'static str,
    },
    /// A field is missing, unknown or holds a wrong value.
    #[error("field `{path}`: {message}")]
    Field {
        /// Path of the field, e.g. `content.claims[2].state`.
        path: String,
        /// What is wrong with it.
        message: String,
    },
}

impl DecodeError {
    /// Returns the code that the error is reported under.
    pub fn code(&self) -> ErrorCode {
        match self {
            DecodeError::UnsupportedVersion { .. } => ErrorCode::UnsupportedVersion,
            DecodeError::Malformed { .. } | DecodeError::Field { .. } => {
                ErrorCode::MalformedManifest
            }
        }
    }
}

/// Writes the canonical bytes of a document or a part of one.
///
/// # Panics
///
/// Never for the types of the contract: they hold nothing that CBOR cannot.
pub fn encode<T: Serialize + ?Sized>(value: &T) -> Vec<u8> {
    serde_ipld_dagcbor::to_vec(value)
        .expect("contract types have only text keys, and memory does not fail to write")
}

/// Reads a document from its canonical bytes.
///
/// # Errors
///
/// For every byte string that [`encode`] does not write for a `D`.
pub fn decode<D: Document>(bytes: &[u8]) -> Result<D, DecodeError> {
    if bytes.len() > MAX_BYTES {
        return Err(DecodeError::Malformed {
            offset: MAX_BYTES,
            what: "a document is at most 1 MiB",
        });
    }
    let schema = scan::document(bytes)?;
    if schema != Some(D::SCHEMA) {
        let found = schema.unwrap_or_default().chars().take(100).collect();
        return Err(DecodeError::UnsupportedVersion {
            found,
            expected: D::SCHEMA,
        });
    }
    decode_scanned(bytes)
}

/// Reads the entries of a list blob, `lists/<section>.<field>.cbor`, from their canonical bytes.
///
/// # Errors
///
/// For every byte string that [`encode`] does not write for a `Vec<T>`.
pub fn decode_list<T: Serialize + DeserializeOwned>(bytes: &[u8]) -> Result<Vec<T>, DecodeError> {
    scan::value(bytes)?;
    decode_scanned(bytes)
}

/// Renders a document or a part of one as JSON, for reading.
///
/// Text that is a byte string in the document becomes lossy text, and beside it stands `<key>Bytes` with its
/// bytes in base64; in a list of paths it becomes `{path, pathBytes}`.
pub fn to_json<T: Serialize>(value: &T) -> serde_json::Value {
    let value = serde_ipld_dagcbor::from_slice(&encode(value));
    json(value.expect("what the codec writes it can read"))
}

fn element(value: Value) -> serde_json::Value {
    match value {
        Value::Bytes(bytes) => json(Value::Map(
            [("path".to_owned(), Value::Bytes(bytes))].into(),
        )),
        value => json(value),
    }
}

fn json(value: Value) -> serde_json::Value {
    match value {
        Value::Null => serde_json::Value::Null,
        Value::Bool(value) => value.into(),
        Value::Integer(value) => value.into(),
        Value::Text(text) => text.into(),
        Value::Bytes(bytes) => String::from_utf8_lossy(&bytes).into(),
        Value::List(entries) => entries.into_iter().map(element).collect(),
        Value::Map(fields) => {
            let mut object = serde_json::Map::new();
            for (key, value) in fields {
                if let Value::Bytes(bytes) = &value {
                    object.insert(format!("{key}Bytes"), BASE64.encode(bytes).into());
                }
                object.insert(key, json(value));
            }
            object.into()
        }
    }
}

/// Returns a part of a document as a value of no type in particular; `None` where it holds a number that no document
/// can.
pub(super) fn to_value<T: Serialize>(part: &T) -> Option<Value> {
    serde_ipld_dagcbor::from_slice(&encode(part)).ok()
}

fn decode_scanned<T: Serialize + DeserializeOwned>(bytes: &[u8]) -> Result<T, DecodeError> {
    let mut deserializer = serde_ipld_dagcbor::de::Deserializer::from_slice(bytes);
    let value: T = serde_path_to_error::deserialize(&mut deserializer).map_err(field_error)?;
    let again = encode(&value);
    match again
        .iter()
        .zip(bytes)
        .position(|(one, other)| one != other)
    {
        None if again.len() == bytes.len() => Ok(value),
        at => Err(DecodeError::Malformed {
            offset: at.unwrap_or(again.len().min(bytes.len())),
            what: "not the canonical encoding of its content",
        }),
    }
}

/// Names the field that an error is about.
fn field_error(error: serde_path_to_error::Error<TypedError>) -> DecodeError {
    let mut path = match error.path().to_string() {
        path if path == "." => String::new(),
        path => path,
    };
    let message = match error.into_inner() {
        TypedError::Msg(message) => message,
        TypedError::Mismatch { name, found } => {
            format!("{} in place of {name}", scan::kind_of(found))
        }
        _ => "a value of another type".into(),
    };
    // serde says which key is missing, but the path ends at the map that lacks it.
    let missing = message
        .strip_prefix("missing field `")
        .and_then(|rest| rest.strip_suffix('`'));
    if let Some(key) = missing {
        if !path.is_empty() {
            path.push('.');
        }
        path.push_str(key);
    }
    DecodeError::Field {
        path,
        message: message.chars().take(MAX_MESSAGE_CHARS).collect(),
    }
}
