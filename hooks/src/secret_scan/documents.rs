//! The text of a record's documents, its message, and who wrote it.

use std::collections::HashSet;

use gix::bstr::ByteSlice;
use serde_json::Value;
use store::{contract::codec, verify::VerifiedRecord};

use super::{Look, NewState, Rejection, Site, commits, missing, verify};

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
    let mut documents: Vec<(String, &Value)> = state
        .documents
        .iter()
        .map(|(name, document)| ((*name).to_owned(), document))
        .collect();
    let receipts = receipts(look, before, state)?;
    documents.extend(
        receipts
            .iter()
            .map(|(name, receipt)| (name.clone(), receipt)),
    );
    for (name, document) in documents {
        let site = Site::Document(name);
        for (field, text) in texts(document) {
            if is_digest(&text) || !known.insert(text.clone()) {
                continue;
            }
            look.text(&site, field.as_bytes().as_bstr(), text.as_bytes());
        }
    }
    commits::message(look, state.commit, &Site::Record)
}

fn receipts(
    look: &Look<'_>,
    before: Option<&VerifiedRecord>,
    state: &NewState<'_>,
) -> Result<Vec<(String, Value)>, Rejection> {
    if before.is_some_and(|before| before.root.receipts == state.root.receipts) {
        return Ok(Vec::new());
    }
    let receipts = verify::receipts_of(look.objects, state.root).map_err(missing)?;
    let receipts = receipts.iter().map(|(_, receipt)| {
        let name = format!("receipt {}", receipt.id);
        (name, codec::to_json(receipt))
    });
    Ok(receipts.collect())
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
