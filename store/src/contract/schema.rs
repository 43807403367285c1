//! JSON Schemas of documents in the form in which JSON shows them: [`codec::to_json`](super::codec::to_json).
//!
//! They are made from the types that read and write the documents. The normative shape of their bytes is
//! `docs/handoff.v1.cddl`; what one field must be to another is judged by [`check`](super::check) alone.

use std::borrow::Cow;

use schemars::{
    JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings, json_schema,
    transform::transform_subschemas,
};
use serde_json::{Map, Value as Json};

use super::{CapturedList, Citation, ListDigest, Value};
use crate::{
    actor::{ActorGlob, ActorId},
    byte_text::ByteText,
    digest::Digest,
    entry_id::EntryId,
    error_code::ErrorCode,
    generation::Generation,
    oid::Oid,
    repo_path::RepoPath,
    scope::ScopeName,
    timestamp::Timestamp,
};

/// Returns the JSON Schema of what is written for a type, draft 2020-12.
pub fn of<T: JsonSchema>() -> Schema {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    bytes_beside_text(&mut schema);
    schema
}

/// Types whose values stand as text, with their bytes beside it where these are no UTF-8.
const BYTE_TEXTS: [&str; 2] = ["RepoPath", "ByteText"];

/// Adds to each schema what [`codec::to_json`](super::codec::to_json) writes for bytes that are no UTF-8: a key
/// `<key>Bytes` beside them, or `{path, pathBytes}` in a list.
fn bytes_beside_text(schema: &mut Schema) {
    transform_subschemas(&mut bytes_beside_text, schema);
    let Some(object) = schema.as_object_mut() else {
        return;
    };
    if let Some(items) = object.get_mut("items").filter(|items| is_byte_text(items)) {
        *items = serde_json::json!({ "anyOf": [items, bytes_entry()] });
    }
    if let Some(Json::Object(properties)) = object.get_mut("properties") {
        let keys = properties.iter().filter(|(_, value)| is_byte_text(value));
        let added: Vec<String> = keys.map(|(key, _)| format!("{key}Bytes")).collect();
        properties.extend(added.into_iter().map(|key| (key, base64())));
    }
}

/// Tells whether a schema is that of byte text, or of byte text or null.
fn is_byte_text(schema: &Json) -> bool {
    let refers = |schema: &Json| {
        let name = schema["$ref"].as_str().unwrap_or_default();
        let name = name.strip_prefix("#/$defs/").unwrap_or_default();
        BYTE_TEXTS.contains(&name)
    };
    let alternatives = schema["anyOf"].as_array();
    refers(schema) || alternatives.is_some_and(|kinds| kinds.len() == 2 && kinds.iter().any(refers))
}

fn base64() -> Json {
    serde_json::json!({
        "description": "The bytes, where the text is not all of them.",
        "type": "string",
        "contentEncoding": "base64",
    })
}

fn bytes_entry() -> Json {
    let properties: Map<String, Json> = [
        ("path".to_owned(), serde_json::json!({ "type": "string" })),
        ("pathBytes".to_owned(), base64()),
    ]
    .into_iter()
    .collect();
    serde_json::json!({
        "type": "object",
        "properties": properties,
        "required": ["path", "pathBytes"],
        "additionalProperties": false,
    })
}

/// Describes types that parse themselves; what a schema cannot say, their parser judges.
macro_rules! described {
    ($($kind:ident $schema:tt)+) => {$(
        impl JsonSchema for $kind {
            fn schema_name() -> Cow<'static, str> {
                stringify!($kind).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        }
    )+};
}

described! {
    ScopeName {
        "description": "Name of a scope.",
        "type": "string",
        "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"
    }
    EntryId {
        "description": "Id of a claim, decision, receipt, action or attachment.",
        "type": "string",
        "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"
    }
    ActorId {
        "description": "Id of a person, agent or service.",
        "type": "string",
        "pattern": "^[A-Za-z0-9][A-Za-z0-9._@:/+-]{0,199}$"
    }
    ActorGlob {
        "description": "Pattern over ids: `*` stands for any characters within one component.",
        "type": "string",
        "pattern": "^[A-Za-z0-9._@:/+*-]{1,200}$"
    }
    Generation {
        "description": "Place of a checkpoint in its scope.",
        "type": "integer",
        "minimum": 1
    }
    Timestamp {
        "description": "RFC 3339, UTC, whole seconds.",
        "type": "string",
        "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$"
    }
    Digest {
        "description": "SHA-256.",
        "type": "string",
        "pattern": "^sha256:[0-9a-f]{64}$"
    }
    Oid {
        "description": "Id of a Git object, in full.",
        "type": "string",
        "pattern": "^([0-9a-f]{40}|[0-9a-f]{64})$"
    }
    RepoPath {
        "description": "Path from the top of the worktree, `/` between its parts.",
        "type": "string",
        "minLength": 1
    }
    ByteText {
        "description": "Text of Git's.",
        "type": "string"
    }
    Citation {
        "description": "Pointer to evidence: tree/worktree, receipt/<id>, evidence/<id>, commit/<oid>, \
                        file/<path>[#L1-L9], checkpoint/<scope>@<n>#<digest>, bundle/<id> or url/<https…>.",
        "type": "string",
        "pattern": "^(tree|receipt|evidence|commit|file|checkpoint|bundle|url)/."
    }
    Value {
        "description": "Anything but a fraction."
    }
}

impl JsonSchema for ErrorCode {
    fn schema_name() -> Cow<'static, str> {
        "ErrorCode".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let codes: Vec<&str> = ErrorCode::ALL.iter().map(|code| code.as_str()).collect();
        json_schema!({ "type": "string", "enum": codes })
    }
}

impl<T: JsonSchema> JsonSchema for CapturedList<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("ListOf{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (list, digest) = (
            generator.subschema_for::<Vec<T>>(),
            generator.subschema_for::<ListDigest>(),
        );
        json_schema!({ "anyOf": [list, digest] })
    }
}
