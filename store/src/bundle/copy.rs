//! Copies what was judged into the repository that it is for.

use std::ffi::OsString;

use gix::ObjectId;

use crate::{git::GitError, repository::Repository};

/// Copies commits with everything that they reach from one repository into another, where no ref is moved.
///
/// On success the objects are durable; they are kept by the refs that are moved next.
///
/// # Errors
///
/// Where Git cannot copy them.
pub fn copy_to(
    from: &Repository,
    to: &Repository,
    commits: impl IntoIterator<Item = ObjectId>,
) -> Result<(), GitError> {
    let options = [
        "-c",
        // Version 2 serves any object by its id, gitprotocol-v2(5).
        "protocol.version=2",
        "-c",
        "protocol.file.allow=always",
        "-c",
        "core.hooksPath=/dev/null",
        "-c",
        // One pack, which is fsynced.
        "fetch.unpackLimit=1",
        "-c",
        "core.fsync=pack,pack-metadata",
        "fetch",
        "--quiet",
        "--no-tags",
        "--no-write-fetch-head",
        "--no-auto-maintenance",
        "--update-shallow",
        "--recurse-submodules=no",
        "--",
    ];
    let mut args: Vec<OsString> = options.map(Into::into).into();
    args.push(from.common_dir().into());
    args.extend(commits.into_iter().map(|id| id.to_string().into()));
    to.git().output(&args).map(drop)
}
