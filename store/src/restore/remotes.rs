//! Copies the remotes of a repository, without credentials.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt};

use gix::bstr::ByteSlice;

use super::RestoreError;
use crate::{
    git::GitError,
    remote_url::{absolute, without_credentials},
    repository::Repository,
};

/// What of a remote is copied: where it is and which refs travel, and nothing that names a program or a proxy.
const KEYS: &str = r"^remote\..*\.(url|pushurl|fetch|push|tagopt|skipfetchall)$";

/// Copies the remotes that the configuration of one repository defines into another.
///
/// Credentials are taken out of URLs, and relative paths made absolute.
///
/// # Errors
///
/// Where Git cannot read or write the configuration.
pub fn copy_remotes(from: &Repository, to: &Repository) -> Result<(), RestoreError> {
    let listed = match from
        .git()
        .output(["config", "--local", "--null", "--get-regexp", KEYS])
    {
        Ok(listed) => listed,
        Err(GitError::Failed { code: Some(1), .. }) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let base = from.worktree().unwrap_or(from.common_dir());
    let mut cleared: Vec<&[u8]> = Vec::new();
    for line in listed.split(|b| *b == 0).filter(|line| !line.is_empty()) {
        let (key, value) = line.split_once_str("\n").unwrap_or((line, b""));
        let is_url = key.ends_with(b"url");
        let value = if is_url {
            absolute(without_credentials(value.as_bstr()).as_bstr(), base)
        } else {
            value.into()
        };
        if !cleared.contains(&key) {
            cleared.push(key);
            unset(to, key)?;
        }
        let args = ["config", "--local", "--add"].map(OsStr::new);
        let args = args
            .into_iter()
            .chain([OsStr::from_bytes(key), OsStr::from_bytes(&value)]);
        to.git().output(args)?;
    }
    Ok(())
}

/// Removes all values of a key, so that a second run does not double them.
fn unset(to: &Repository, key: &[u8]) -> Result<(), GitError> {
    let args = ["config", "--local", "--unset-all"].map(OsStr::new);
    match to
        .git()
        .output(args.into_iter().chain([OsStr::from_bytes(key)]))
    {
        // 5: there was none, git-config(1).
        Ok(_) | Err(GitError::Failed { code: Some(5), .. }) => Ok(()),
        Err(error) => Err(error),
    }
}
