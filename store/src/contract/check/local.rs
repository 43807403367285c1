//! Authored text that names places of one machine: good for its author alone.

use super::super::{Content, Value, codec};

/// Sections of a content that a capture writes.
const CAPTURED: [&str; 4] = ["repository", "worktree", "artifacts", "receipts"];

/// What a path of one machine begins with.
const PREFIXES: [&str; 8] = [
    "/home/",
    "/Users/",
    "/root/",
    "/tmp/",
    "/private/",
    "/var/folders/",
    "~/",
    "file:",
];

/// A text that names a place of one machine; the warning `LOCAL_REFERENCE`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LocalReference {
    /// Path of the field, e.g. `content.state[0].text`.
    pub field: String,
    /// The word that names it, untrusted.
    pub word: String,
}

/// Finds words in the authored text of a content that name a place of one machine: a path below a home or temporary
/// directory, `~` or a `file:` URL.
pub fn local_references(content: &Content) -> Vec<LocalReference> {
    let mut found = Vec::new();
    // By way of the encoding, which names every field once, so that no text is forgotten.
    if let Some(Value::Map(sections)) = codec::to_value(content) {
        for (name, value) in &sections {
            if !CAPTURED.contains(&name.as_str()) {
                search(&format!("content.{name}"), value, &mut found);
            }
        }
    }
    found
}

fn search(field: &str, value: &Value, found: &mut Vec<LocalReference>) {
    match value {
        Value::Text(text) => {
            let words = text.split(|c: char| c.is_whitespace() || "\"'`()<>[]{}=,;".contains(c));
            if let Some(word) = words.into_iter().find(|word| is_local(word)) {
                found.push(LocalReference {
                    field: field.into(),
                    word: word.into(),
                });
            }
        }
        Value::List(values) => {
            for (at, value) in values.iter().enumerate() {
                search(&format!("{field}[{at}]"), value, found);
            }
        }
        Value::Map(values) => {
            for (key, value) in values {
                search(&format!("{field}.{key}"), value, found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Integer(_) | Value::Bytes(_) => {}
    }
}

fn is_local(word: &str) -> bool {
    word == "~" || PREFIXES.iter().any(|prefix| word.starts_with(prefix))
}
