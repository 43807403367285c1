//! Repositories inside the worktree, told from what only looks like one: gitrepository-layout(5).

use gix::{
    ObjectId,
    bstr::{BString, ByteSlice},
};
use rustix::fs::FileType;

use super::disk::Directory;

/// Tells whether the `.git` in a directory is a repository, or leads to one.
///
/// One that leads nowhere, or to something that Git does not take for a repository, is none: Git adds the files
/// beside it.
pub(super) fn is_repository(directory: &Directory) -> bool {
    match directory.stat(".git".into()) {
        Ok(stat) if stat.kind == FileType::Directory => is_git_dir(directory, b".git"),
        Ok(stat) if stat.kind == FileType::RegularFile => leads_to_repository(directory, b".git"),
        Ok(stat) if stat.kind == FileType::Symlink => {
            is_git_dir(directory, b".git")
                || directory
                    .target(".git".into())
                    .is_ok_and(|target| leads_to_repository(directory, &target))
        }
        _ => false,
    }
}

/// Tells whether a file says where a repository is. One that cannot be read may.
fn leads_to_repository(directory: &Directory, file: &[u8]) -> bool {
    match directory.read(file.as_bstr()) {
        Ok(Some(text)) => text
            .strip_prefix(b"gitdir: ")
            .is_some_and(|path| is_git_dir(directory, path.trim_end_with(|c| "\r\n".contains(c)))),
        Ok(None) => false,
        Err(_) => directory.has(file.as_bstr()),
    }
}

/// Tells whether Git takes what is at a path, as seen from the directory, for a repository.
fn is_git_dir(directory: &Directory, path: &[u8]) -> bool {
    let part = |of: &[u8], name: &str| BString::from([of, b"/", name.as_bytes()].concat());
    if path.is_empty() || !has_head(directory, &part(path, "HEAD")) {
        return false;
    }
    // A linked worktree shares the objects and refs of another directory.
    let shared = match directory.read(part(path, "commondir").as_bstr()) {
        Ok(Some(shared)) => {
            let shared = shared.trim_end_with(|c| "\r\n".contains(c));
            if shared.starts_with(b"/") {
                shared.to_vec()
            } else {
                [path, b"/", shared].concat()
            }
        }
        _ => path.to_vec(),
    };
    ["objects", "refs"]
        .iter()
        .all(|name| directory.has(part(&shared, name).as_bstr()))
}

/// Tells whether a `HEAD` names a ref or a commit. One that cannot be read, or that is a link, may.
fn has_head(directory: &Directory, path: &BString) -> bool {
    match directory.read(path.as_bstr()) {
        Ok(Some(text)) => {
            let id = text.trim_end();
            text.strip_prefix(b"ref:")
                .is_some_and(|name| name.trim_start().starts_with(b"refs/"))
                || ObjectId::from_hex(id).is_ok()
        }
        Ok(None) => false,
        Err(_) => directory.stat(path.as_bstr()).is_ok(),
    }
}
