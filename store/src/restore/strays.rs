//! What is in a directory that was filled, and not part of what it was filled with.

use std::collections::HashSet;

use gix::bstr::{BStr, BString, ByteSlice};
use rustix::fs::FileType;

use super::{
    RestoreError,
    content::file_error,
    disk::{self, Missing},
    session::{Session, repo_path},
};

/// Refuses a directory that holds anything but what is planned: its tree would be another one.
///
/// Submodules are not looked into.
pub(super) fn refuse(session: &Session<'_>) -> Result<(), RestoreError> {
    let found = find(session)?;
    if found.is_empty() {
        return Ok(());
    }
    Err(RestoreError::Strays(
        found.iter().filter_map(repo_path).collect(),
    ))
}

/// Returns the paths that are not planned; a directory stands for what is below it.
fn find(session: &Session<'_>) -> Result<Vec<BString>, RestoreError> {
    let plan = &session.plan;
    let mut folders: HashSet<&BStr> = HashSet::new();
    for file in &plan.files {
        add_parents(&mut folders, file.path.as_bstr());
    }
    for path in &plan.empty_directories {
        folders.insert(path.as_bstr());
        add_parents(&mut folders, path.as_bstr());
    }
    let mut found = Vec::new();
    let mut disk = session.disk.another();
    let mut stack = vec![BString::default()];
    while let Some(folder) = stack.pop() {
        let listed = disk
            .directory(folder.as_bstr(), Missing::Fail)
            .and_then(disk::names);
        for (name, kind) in listed.map_err(file_error(&folder, "read"))? {
            let path = disk::joined(folder.as_bstr(), name.as_bstr());
            if folder.is_empty() && name == ".git" {
                continue;
            }
            let is_folder = folders.contains(path.as_bstr());
            if is_folder && matches!(kind, FileType::Directory | FileType::Unknown) {
                stack.push(path);
            } else if !plan.is_filled(path.as_bstr()) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Adds the folders above a path, as far as they are not there.
fn add_parents<'a>(folders: &mut HashSet<&'a BStr>, path: &'a BStr) {
    let mut rest = path;
    while let Some(slash) = rest.rfind_byte(b'/') {
        rest = rest[..slash].as_bstr();
        if !folders.insert(rest) {
            break;
        }
    }
}
