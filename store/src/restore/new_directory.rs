//! Makes the repository or linked worktree that a record is restored into.

use std::{
    ffi::{OsStr, OsString},
    fs, io,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::Path,
};

use gix::{ObjectId, bstr::ByteSlice, refs::FullName};

use super::{RestoreError, marker::Marker};
use crate::{git::Git, repository::Repository};

/// Makes an empty repository in a new or empty directory, or finds the one that an interrupted run made there.
///
/// # Errors
///
/// [`RestoreError::NotEmpty`] where the directory holds anything else.
pub fn init(dir: &Path, hash: gix::hash::Kind) -> Result<Repository, RestoreError> {
    let git_dir = dir.join(".git");
    let resumes = Marker::of(&git_dir).read()?.is_some();
    if !resumes {
        refuse_entries(dir)?;
        fs::create_dir_all(dir).map_err(io_error(dir))?;
        let format = format!("--object-format={hash}");
        Git::in_dir(dir)
            .apart()
            .output(["init", "--quiet", &format, "."])?;
        Marker::of(&git_dir).set(None)?;
    }
    Ok(Repository::at_git_dir(&git_dir)?)
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

/// Makes a linked worktree in a new or empty directory, without files and with `HEAD` detached at a commit.
///
/// # Errors
///
/// [`RestoreError::NotEmpty`] where the directory holds anything, unless an interrupted run made it.
pub fn add_worktree(
    repository: &Repository,
    dir: &Path,
    commit: ObjectId,
) -> Result<Repository, RestoreError> {
    if let Some(begun) = begun_worktree(repository, dir)? {
        return Ok(begun);
    }
    refuse_entries(dir)?;
    let dir = std::path::absolute(dir).map_err(io_error(dir))?;
    let mut args: Vec<&OsStr> = [
        "-c",
        "core.hooksPath=/dev/null",
        "worktree",
        "add",
        "--quiet",
    ]
    .map(OsStr::new)
    .into();
    args.extend(["--no-checkout", "--detach"].map(OsStr::new));
    let commit = commit.to_string();
    args.extend([dir.as_os_str(), OsStr::new(&commit)]);
    repository.git().output(args)?;
    let git_dir = git_dir_of(&dir)?;
    Marker::of(&git_dir).set(None)?;
    Ok(Repository::at_git_dir(&git_dir)?)
}

/// Opens the linked worktree that an interrupted run made in a directory.
fn begun_worktree(repository: &Repository, dir: &Path) -> Result<Option<Repository>, RestoreError> {
    if !dir.join(".git").is_file() {
        return Ok(None);
    }
    let git_dir = git_dir_of(dir)?;
    let worktrees = repository.common_dir().join("worktrees");
    let is_ours = match (
        git_dir.parent().map(Path::canonicalize),
        worktrees.canonicalize(),
    ) {
        (Some(Ok(parent)), Ok(worktrees)) => parent == worktrees,
        _ => false,
    };
    if is_ours && Marker::of(&git_dir).read()?.is_some() {
        return Ok(Some(Repository::at_git_dir(&git_dir)?));
    }
    Ok(None)
}

/// Reads which git directory the file `.git` of a linked worktree names, gitrepository-layout(5).
fn git_dir_of(dir: &Path) -> Result<std::path::PathBuf, RestoreError> {
    let file = dir.join(".git");
    let text = fs::read(&file).map_err(io_error(&file))?;
    let named = text
        .strip_prefix(b"gitdir: ")
        .unwrap_or(&text)
        .trim_end_with(|c| c == '\n');
    Ok(dir.join(OsStr::from_bytes(named)))
}

fn refuse_entries(dir: &Path) -> Result<(), RestoreError> {
    let listed = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(io_error(dir)(error)),
        Ok(listed) => listed,
    };
    let mut entries = Vec::new();
    for entry in listed {
        entries.push(entry.map_err(io_error(dir))?.file_name().into_vec().into());
    }
    if entries.is_empty() {
        return Ok(());
    }
    entries.sort();
    Err(RestoreError::NotEmpty {
        dir: dir.into(),
        entries,
    })
}

fn io_error(path: &Path) -> impl FnOnce(io::Error) -> RestoreError {
    let path = path.to_owned();
    move |source| RestoreError::Io { path, source }
}
