//! Captured lists: sorted, without duplicates, and in the place that the contract says.

use super::{
    super::{
        CapturedList, Content, Manifest,
        lists::{
            CapturedEntry, ListBlobs, ListError, Visitor, move_out_of_content,
            move_out_of_manifest, visit_content, visit_observed,
        },
    },
    Findings, Violation,
};
use crate::error_code::ErrorCode;

/// Makes violations of lists that cannot be put back.
pub(super) fn unreadable(errors: &[ListError]) -> Vec<Violation> {
    let violation = |error: &ListError| Violation {
        code: match error {
            ListError::Missing { .. } => ErrorCode::MissingObject,
            ListError::Mismatch { .. } => ErrorCode::DigestMismatch,
            ListError::Decode { .. } => ErrorCode::MalformedManifest,
        },
        field: field(error.list()),
        message: match error {
            ListError::Decode { source, .. } => format!("{error}: {source}"),
            _ => error.to_string(),
        },
    };
    errors.iter().map(violation).collect()
}

/// Returns the field path of a list `<section>.<field>`.
fn field(list: &str) -> String {
    if list.starts_with("worktree.") {
        format!("content.{list}")
    } else {
        list.into()
    }
}

/// Checks that the lists of a manifest stand where the contract puts them, and that no blob is left over.
pub(super) fn placed_in_manifest(
    written: &Manifest,
    whole: &Manifest,
    blobs: &ListBlobs,
    found: &mut Findings,
) {
    let mut expected = whole.clone();
    let expected_blobs = move_out_of_manifest(&mut expected);
    if expected != *written {
        found.malformed("content", WRONG_PLACE);
    }
    left_over(&expected_blobs, blobs, found);
}

/// Checks that the lists of a prepared content stand where the contract puts them.
pub(super) fn placed_in_content(
    written: &Content,
    whole: &Content,
    blobs: &ListBlobs,
    found: &mut Findings,
) {
    let mut expected = whole.clone();
    let expected_blobs = move_out_of_content(&mut expected);
    if expected != *written {
        found.malformed("content", WRONG_PLACE);
    }
    left_over(&expected_blobs, blobs, found);
}

const WRONG_PLACE: &str =
    "lists of more than 1,000 entries are blobs, and over 512 KiB the longest, and no others";

fn left_over(expected: &ListBlobs, blobs: &ListBlobs, found: &mut Findings) {
    for (name, _) in blobs.iter() {
        if expected.get(name).is_none() {
            found.malformed(format!("lists/{name}"), "no list of the manifest is there");
        }
    }
}

/// Checks the order of all lists of a manifest that holds them.
pub(super) fn ordered_in_manifest(whole: &Manifest, found: &mut Findings) {
    let mut observed = whole.observed.clone();
    ordered_in_content(&whole.content, found);
    visit_observed(&mut observed, &mut Order(found));
}

/// Checks the order of all lists of a content that holds them.
pub(super) fn ordered_in_content(whole: &Content, found: &mut Findings) {
    let mut content = whole.clone();
    visit_content(&mut content, &mut Order(found));
    if let Some(at) = first_disorder(&content.artifacts.attachments) {
        let field = format!("content.artifacts.attachments[{at}]");
        found.malformed(field, OUT_OF_ORDER);
    }
}

struct Order<'a>(&'a mut Findings);

const OUT_OF_ORDER: &str = "captured entries are sorted and none stands twice";

impl Visitor for Order<'_> {
    fn list<T: CapturedEntry>(&mut self, name: &'static str, list: &mut CapturedList<T>) {
        let entries = list.inline();
        let captured = entries
            .iter()
            .position(|entry| !entry.is_captured())
            .unwrap_or(entries.len());
        let (captured, authored) = entries.split_at(captured);
        if let Some(at) = first_disorder(captured) {
            self.0
                .malformed(format!("{}[{at}]", field(name)), OUT_OF_ORDER);
        }
        if let Some(at) = authored.iter().position(CapturedEntry::is_captured) {
            let at = captured.len() + at;
            self.0.malformed(
                format!("{}[{at}]", field(name)),
                "captured entries come before authored ones",
            );
        }
    }
}

/// Returns the index of the first entry that is not after the one before it, or has its key where none may.
fn first_disorder<T: CapturedEntry>(entries: &[T]) -> Option<usize> {
    let disorder =
        |pair: &[T]| pair[0] >= pair[1] || (!T::KEY_REPEATS && pair[0].has_key_of(&pair[1]));
    Some(entries.windows(2).position(disorder)? + 1)
}
