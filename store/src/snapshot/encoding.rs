//! What Git itself converts: text in another encoding on disk, and what only its way of running a filter brings about.
//!
//! Git knows every encoding that the system knows, and where a byte order mark belongs (`working-tree-encoding`,
//! gitattributes(5)); and it does not mind a filter that leaves a part of its input unread.

use std::{
    io::{Seek, Write},
    os::unix::ffi::OsStrExt,
};

use gix::{
    ObjectId,
    bstr::{BStr, BString},
};

use super::error::Cause;
use crate::git::{self, Git};

/// Returns the blob that Git makes of bytes on disk, without adding an object to the repository.
///
/// A filter `driver` that fails is not passed by.
pub(super) fn to_git(
    git: &Git,
    repo: &gix::Repository,
    driver: Option<&BString>,
    path: &BStr,
    bytes: &[u8],
) -> Result<Vec<u8>, Cause> {
    // Git removes what a crash leaves of directories with such names.
    let scratch = tempfile::Builder::new()
        .prefix("tmp_objdir-")
        .tempdir_in(repo.objects.store_ref().path())?;
    let mut at = std::ffi::OsString::from("--path=");
    at.push(std::ffi::OsStr::from_bytes(path));
    let mut command = git.command(["-c", "core.safecrlf=false"]);
    if let Some(driver) = driver {
        let required = [b"filter.", driver.as_slice(), b".required=true"].concat();
        command
            .arg("-c")
            .arg(std::ffi::OsStr::from_bytes(&required));
    }
    command
        .args(["hash-object", "-w", "--stdin"])
        .arg(at)
        .env("GIT_OBJECT_DIRECTORY", scratch.path());
    // A file: nobody minds what is not read of it.
    let mut input = tempfile::tempfile_in(scratch.path())?;
    input.write_all(bytes)?;
    input.rewind()?;
    let output = git::run_on(command, input)?;
    if !output.status.success() {
        return Err(git::failure("hash-object".into(), &output).into());
    }
    let id = ObjectId::from_hex(output.stdout.trim_ascii())?;
    let store = gix::odb::loose::Store::at(scratch.path(), repo.object_hash());
    let mut blob = Vec::new();
    match store.try_find(&id, &mut blob)? {
        Some(found) => Ok(found.data.to_vec()),
        None => Err(format!("git did not write the blob {id}").into()),
    }
}
