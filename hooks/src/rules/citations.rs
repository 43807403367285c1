//! Citations of checkpoints of the scope itself; those of other scopes are shown as unchecked.

use store::{
    contract::{Citation, Content, check},
    error_code::ErrorCode,
    line,
    record::{Record, RecordKind},
    scope::ScopeName,
    verify::{self, Depth, VerifiedRecord},
};

use crate::rejection::Rejection;

/// A checkpoint of the same scope that is cited is on its line, with that digest.
///
/// Unlike most rules this one reads the line, where one is cited.
///
/// # Errors
///
/// `BAD_CITATION`.
pub(crate) fn rule(
    objects: &gix::Repository,
    scope: &ScopeName,
    before: Option<&VerifiedRecord>,
    after: &VerifiedRecord,
) -> Result<(), Rejection> {
    if after.kind != RecordKind::Checkpoint {
        return Ok(());
    }
    let before = before.map(|before| &**before);
    let found = of_line(objects, scope, before, &after.whole().content);
    match found.into_iter().next() {
        None => Ok(()),
        Some((field, rejection)) => Err(Rejection {
            detail: format!("{field}: {}", rejection.detail),
            ..rejection
        }),
    }
}

/// Finds citations of checkpoints that are not on the line behind `before`, with their field paths.
pub(super) fn of_line(
    objects: &gix::Repository,
    scope: &ScopeName,
    before: Option<&Record>,
    content: &Content,
) -> Vec<(String, Rejection)> {
    let mut found = Vec::new();
    for (field, citation) in check::citations(content) {
        let Citation::Checkpoint(cited, generation, digest) = &citation else {
            continue;
        };
        if cited != scope {
            continue;
        }
        let record = before
            .and_then(|before| line::find_generation(objects, before.id, *generation).ok())
            .flatten()
            .and_then(|id| {
                let record = verify::record(objects, id, Some(scope), None, Depth::Documents);
                record.into_result().ok()
            });
        if record.is_none_or(|record| record.manifest.digest != *digest) {
            let detail = format!("`{citation}` points to no checkpoint of this scope");
            found.push((field, Rejection::new(ErrorCode::BadCitation, detail)));
        }
    }
    found
}
