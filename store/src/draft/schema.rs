//! The JSON Schema of a draft, made of those of the types that it is read into.

use schemars::{Schema, transform::transform_subschemas};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json, json};

use super::Draft;
use crate::contract::{BlockerKind, OmissionReason, schema};

/// Returns the JSON Schema of a draft, draft 2020-12.
///
/// It says what the reader takes from a JSON text; in YAML, words need no quotes.
pub fn schema() -> Schema {
    let mut schema = schema::of::<Draft>();
    if let Some(Json::Object(kinds)) = schema.get_mut("$defs") {
        authored_alone(kinds);
    }
    ask_for_little(&mut schema);
    let kinds = schema.get("$defs").cloned().unwrap_or_default();
    let mut leave_out = |schema: &mut Schema| leave_out_what_needs_nothing(schema, &kinds);
    leave_out(&mut schema);
    transform_subschemas(&mut leave_out, &mut schema);
    schema
}

/// Takes out of the types of the contract what no draft says, and adds what drafts alone write.
fn authored_alone(kinds: &mut Map<String, Json>) {
    if let Some(Json::Object(fields)) = kinds
        .get_mut("Omission")
        .map(|kind| &mut kind["properties"])
    {
        fields.retain(|key, _| !key.starts_with("path"));
        fields["text"]["type"] = "string".into();
    }
    keep(kinds, "OmissionReason", |reason: OmissionReason| {
        !reason.is_of_a_state()
    });
    keep(kinds, "BlockerKind", |kind: BlockerKind| {
        !kind.is_captured()
    });
    if let Some(Json::Array(forms)) = kinds
        .get_mut("DecisionDefault")
        .map(|kind| &mut kind["oneOf"])
    {
        forms.extend(["option", "forbid"].map(|key| {
            json!({
                "type": "object",
                "properties": { key: { "$ref": "#/$defs/EntryId" } },
                "required": [key],
                "additionalProperties": false,
            })
        }));
    }
}

/// Keeps those words of an enumeration that fit.
fn keep<T: DeserializeOwned>(kinds: &mut Map<String, Json>, name: &str, fits: fn(T) -> bool) {
    if let Some(Json::Array(words)) = kinds.get_mut(name).map(|kind| &mut kind["oneOf"]) {
        words.retain(|word| serde_json::from_value(word["const"].clone()).is_ok_and(fits));
    }
}

/// Asks for those fields alone that the reader cannot do without: lists, maps and what may be null may be left out,
/// and all of them may be null; a path may be given by its bytes.
fn ask_for_little(schema: &mut Schema) {
    transform_subschemas(&mut ask_for_little, schema);
    let Some(object) = schema.as_object_mut() else {
        return;
    };
    let Some(Json::Object(properties)) = object.get_mut("properties") else {
        return;
    };
    for field in properties.values_mut() {
        let kind = field["type"].as_str().unwrap_or_default();
        if kind == "array" || kind == "object" {
            field["type"] = json!([kind, "null"]);
        }
    }
    let by_bytes = |key: &str| properties.contains_key(&format!("{key}Bytes"));
    let (mut required, mut either) = (Vec::new(), None);
    for (key, field) in properties.iter() {
        match may_be_null(field) || key.ends_with("Bytes") {
            true => {}
            false if by_bytes(key) => either = Some(key.clone()),
            false => required.push(Json::from(key.as_str())),
        }
    }
    if let Some(key) = either {
        let bytes = format!("{key}Bytes");
        let ways = json!([{ "required": [key] }, { "required": [bytes] }]);
        object.insert("anyOf".into(), ways);
    }
    require(object, required);
}

/// Lets a field be left out whose own fields may all be left out.
fn leave_out_what_needs_nothing(schema: &mut Schema, kinds: &Json) {
    let Some(object) = schema.as_object_mut() else {
        return;
    };
    let mut optional = Vec::new();
    if let Some(Json::Object(properties)) = object.get_mut("properties") {
        for (key, field) in properties.iter_mut() {
            let name = field["$ref"].as_str().unwrap_or_default();
            let kind = &kinds[name.trim_start_matches("#/$defs/")];
            if kind["type"] == "object" && kind["required"].is_null() {
                *field = json!({ "anyOf": [field, { "type": "null" }] });
                optional.push(Json::from(key.as_str()));
            }
        }
    }
    if let Some(Json::Array(required)) = object.get("required") {
        let left = required.iter().filter(|key| !optional.contains(key));
        let left = left.cloned().collect();
        require(object, left);
    }
}

fn require(object: &mut Map<String, Json>, keys: Vec<Json>) {
    match keys.is_empty() {
        true => object.remove("required"),
        false => object.insert("required".into(), keys.into()),
    };
}

/// Tells whether null is one of the values that a schema takes.
fn may_be_null(schema: &Json) -> bool {
    let is_null = |kind: &Json| kind == "null";
    let kinds = schema["type"].as_array();
    let alternatives = schema["anyOf"].as_array();
    kinds.is_some_and(|kinds| kinds.iter().any(is_null))
        || alternatives.is_some_and(|forms| forms.iter().any(|form| is_null(&form["type"])))
}
