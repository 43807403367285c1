//! Text that is stored as UTF-8 and lies on disk in another encoding: `working-tree-encoding`, gitattributes(5).
//!
//! Git converts it: it knows every encoding that the system knows, and where a byte order mark belongs.

use std::os::unix::ffi::OsStrExt;

use gix::{ObjectId, bstr::BStr};

use super::error::Cause;
use crate::git::{self, Git};

/// Returns the blob that Git makes of bytes on disk, without adding an object to the repository.
pub(super) fn to_git(
    git: &Git,
    repo: &gix::Repository,
    path: &BStr,
    bytes: &[u8],
) -> Result<Vec<u8>, Cause> {
    // Git removes what a crash leaves of directories with such names.
    let scratch = tempfile::Builder::new()
        .prefix("tmp_objdir-")
        .tempdir_in(repo.objects.store_ref().path())?;
    let mut at = std::ffi::OsString::from("--path=");
    at.push(std::ffi::OsStr::from_bytes(path));
    let mut command = git.command(["-c", "core.safecrlf=false", "hash-object", "-w", "--stdin"]);
    command.arg(at).env("GIT_OBJECT_DIRECTORY", scratch.path());
    let output = git::run(command, bytes)?;
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
