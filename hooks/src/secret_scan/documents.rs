//! The text of a record's documents, its message, and who wrote it.

use std::collections::HashSet;

use gix::bstr::ByteSlice;
use serde_json::Value;
use store::{
    contract::{Receipt, codec},
    verify::{self, VerifiedRecord},
};

use super::{Look, NewState, Rejection, Site, commits, look::missing};

/// Looks through the texts that the documents of the record before did not have.
pub(super) fn scan(
    look: &mut Look<'_>,
    before: Option<&VerifiedRecord>,
    state: &NewState<'_>,
) -> Result<(), Rejection> {
    let known = before.map(NewState::of_record);
    let mut known: HashSet<String> = known
        .iter()
        .flat_map(|known| &known.documents)
        .flat_map(|(_, document)| texts(document))
        .map(|(_, text)| text)
        .collect();
    for (name, document) in &state.documents {
        let site = Site::Document((*name).into());
        new_texts(look, &site, document, &mut known);
    }
    for receipt in receipts(look, before, state)? {
        let site = Site::Document(format!("receipt {}", receipt.id));
        new_texts(look, &site, &codec::to_json(&receipt), &mut known);
        let words: Vec<&[u8]> = receipt
            .argv
            .iter()
            .map(|word| word.as_bstr().as_bytes())
            .collect();
        command(look, &site, &words);
    }
    commits::message(look, state.commit, &Site::Record)
}

/// Looks through all texts of a document.
pub(super) fn scan_one(look: &mut Look<'_>, name: &str, document: &Value) {
    let site = Site::Document(name.into());
    new_texts(look, &site, document, &mut HashSet::new());
}

/// Looks through a command line as a whole, since one word says what the next one is, and word by word.
pub(super) fn command(look: &mut Look<'_>, site: &Site, words: &[&[u8]]) {
    let name = "argv".into();
    look.text(site, name, &words.join(&b' '));
    for word in words {
        look.text(site, name, word);
    }
}

fn new_texts(look: &mut Look<'_>, site: &Site, document: &Value, known: &mut HashSet<String>) {
    for (field, text) in texts(document) {
        if !is_digest(&text) && known.insert(text.clone()) {
            look.text(site, field.as_bytes().as_bstr(), text.as_bytes());
        }
    }
    // There, the name of a field may say what its value is.
    let content = document.get("content").unwrap_or(document);
    if let Some(extensions) = content.get("extensions").and_then(Value::as_object)
        && !extensions.is_empty()
        && let Ok(text) = serde_json::to_string_pretty(extensions)
        && known.insert(text.clone())
    {
        look.text(site, "content.extensions".into(), text.as_bytes());
    }
}

fn receipts(
    look: &Look<'_>,
    before: Option<&VerifiedRecord>,
    state: &NewState<'_>,
) -> Result<Vec<Receipt>, Rejection> {
    if before.is_some_and(|before| before.root.receipts == state.root.receipts) {
        return Ok(Vec::new());
    }
    let receipts = verify::receipts_of(look.objects, state.root).map_err(missing)?;
    Ok(receipts.into_iter().map(|(_, receipt)| receipt).collect())
}

/// Returns all texts of a document, names of fields among them, each with the path of its field.
fn texts(document: &Value) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut left = vec![(String::new(), document)];
    while let Some((path, value)) = left.pop() {
        match value {
            Value::String(text) => found.push((path, text.clone())),
            Value::Array(items) => {
                let items = items.iter().enumerate();
                left.extend(items.map(|(at, item)| (format!("{path}[{at}]"), item)));
            }
            Value::Object(fields) => {
                for (name, value) in fields {
                    let dot = if path.is_empty() { "" } else { "." };
                    found.push((path.clone(), name.clone()));
                    left.push((format!("{path}{dot}{name}"), value));
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    found
}

/// Tells whether a text is a digest or an object id, which every document has many of.
fn is_digest(text: &str) -> bool {
    let hex = text.strip_prefix("sha256:").unwrap_or(text);
    matches!(hex.len(), 40 | 64) && hex.bytes().all(|b| b.is_ascii_hexdigit())
}
