//! Makes the repository that a record is restored into.

use std::{ffi::OsString, io, os::unix::ffi::OsStringExt, path::Path};

use gix::{ObjectId, refs::FullName};

use super::{
    RestoreError,
    marker::Marker,
    staging::{self, Staging},
};
use crate::repository::Repository;

/// Makes an empty repository in a new or empty directory, or finds the one that an interrupted run made there.
///
/// # Errors
///
/// [`RestoreError::NotEmpty`] where the directory holds anything else.
pub fn init(dir: &Path, hash: gix::hash::Kind) -> Result<Repository, RestoreError> {
    if !is_begun(dir) {
        let staging = Staging::begin(dir)?;
        staging.init(hash)?;
        staging.finish()?;
    }
    Ok(Repository::at_worktree(dir, &dir.join(".git"))?)
}

/// Tells whether a restore into the worktree of a git directory was begun and not ended; changes nothing.
pub fn is_interrupted(git_dir: &Path) -> bool {
    matches!(Marker::of(git_dir).read(), Ok(Some(_)))
}

/// Tells whether a restore into a directory was begun and not ended; what making its repository left there is removed.
pub fn is_begun(dir: &Path) -> bool {
    let is_begun = is_interrupted(&dir.join(".git"));
    if is_begun {
        staging::remove_rest(dir);
    }
    is_begun
}

/// Copies commits with everything that they reach from one repository into another, and names them there.
///
/// The copy stands alone: it has no alternates. A shallow history stays shallow.
///
/// # Errors
///
/// Where Git cannot copy them.
pub fn copy_objects(
    from: &Repository,
    to: &Repository,
    commits: &[(ObjectId, FullName)],
) -> Result<(), RestoreError> {
    if commits.is_empty() {
        return Ok(());
    }
    // Version 2 serves any object by its id, gitprotocol-v2(5).
    let mut args: Vec<OsString> = [
        "-c",
        "protocol.version=2",
        "-c",
        "protocol.file.allow=always",
        "-c",
        "core.hooksPath=/dev/null",
        "-c",
        "gc.auto=0",
        "-c",
        "maintenance.auto=false",
        "fetch",
        "--quiet",
        "--no-tags",
        "--no-write-fetch-head",
        "--update-shallow",
        "--recurse-submodules=no",
    ]
    .map(Into::into)
    .into();
    args.push(from.common_dir().into());
    for (id, name) in commits {
        let mut refspec = format!("{id}:").into_bytes();
        refspec.extend_from_slice(name.as_bstr());
        args.push(OsString::from_vec(refspec));
    }
    to.git().clone().apart().output(&args)?;
    Ok(())
}

pub(super) fn io_error(path: &Path) -> impl FnOnce(io::Error) -> RestoreError {
    let path = path.to_owned();
    move |source| RestoreError::Io { path, source }
}
