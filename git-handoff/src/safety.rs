//! Safety records: states that a command set aside, under `refs/handoff-local/safety/<n>`.

use gix::{ObjectId, refs::FullName};
use store::{
    error_code::ErrorCode,
    ref_store::{RefChange, RefError, RefUpdate},
    repository::Repository,
};

use crate::error::CommandError;

const NAMESPACE: &str = "refs/handoff-local/safety/";

/// Returns the ref of a safety record.
pub(crate) fn name(number: u64) -> FullName {
    FullName::try_from(format!("{NAMESPACE}{number}")).expect("digits make a valid ref")
}

/// Returns all safety records, oldest first.
pub(crate) fn list(repository: &Repository) -> Result<Vec<(u64, ObjectId)>, CommandError> {
    let mut found = Vec::new();
    for (name, id) in repository.list_refs(NAMESPACE)? {
        let number = name
            .as_bstr()
            .strip_prefix(NAMESPACE.as_bytes())
            .unwrap_or_default();
        if let Some(number) = std::str::from_utf8(number)
            .ok()
            .and_then(|number| number.parse().ok())
        {
            found.push((number, id));
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// Keeps a commit as the next safety record, and returns its number.
pub(crate) fn keep(repository: &Repository, commit: ObjectId) -> Result<u64, CommandError> {
    loop {
        let number = list(repository)?.last().map_or(1, |(number, _)| number + 1);
        let change = RefChange::Create { new: commit };
        match repository.update_refs(&[RefUpdate {
            name: name(number),
            change,
        }]) {
            Ok(()) => return Ok(number),
            // Somebody else took the number.
            Err(RefError::Moved { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Returns the commit of a safety record.
pub(crate) fn find(repository: &Repository, number: u64) -> Result<ObjectId, CommandError> {
    repository.find_ref(&name(number))?.ok_or_else(|| {
        CommandError::new(
            ErrorCode::NotFound,
            format!("there is no safety record {number}"),
        )
        .next(&["git", "handoff", "list", "--safety"])
    })
}
