//! Makes the linked worktree that a record is restored into.

use std::{
    ffi::OsStr,
    fs,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use gix::{ObjectId, bstr::ByteSlice};

use super::{RestoreError, marker::Marker, new_directory::io_error, staging};
use crate::repository::Repository;

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
    let shown = dir;
    let dir = std::path::absolute(shown).map_err(io_error(shown))?;
    remove_unfinished(repository, &dir)?;
    let git_dir = match begun(repository, &dir, commit)? {
        Some(git_dir) => git_dir,
        None => {
            if let Some(entries) = staging::entries(shown)?.filter(|found| !found.is_empty()) {
                let dir = shown.into();
                return Err(RestoreError::NotEmpty { dir, entries });
            }
            add(repository, &dir, commit)?;
            git_dir_of(&dir)?
        }
    };
    let marker = Marker::of(&git_dir);
    if marker.read()?.is_none() {
        marker.set(None)?;
    }
    Ok(Repository::at_worktree(&dir, &git_dir)?)
}

fn add(repository: &Repository, dir: &Path, commit: ObjectId) -> Result<(), RestoreError> {
    let args = [
        "-c",
        "core.hooksPath=/dev/null",
        "worktree",
        "add",
        "--quiet",
        "--no-checkout",
        "--detach",
    ];
    let commit = commit.to_string();
    let place = [dir.as_os_str(), OsStr::new(&commit)];
    let args = args.map(OsStr::new).into_iter().chain(place);
    repository.git().output(args)?;
    Ok(())
}

/// Returns the git directory of the linked worktree that an interrupted run made in a directory.
///
/// One that holds nothing at all, neither files nor an index, was made and not yet filled.
fn begun(
    repository: &Repository,
    dir: &Path,
    commit: ObjectId,
) -> Result<Option<PathBuf>, RestoreError> {
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
    if !is_ours {
        return Ok(None);
    }
    let is_marked = Marker::of(&git_dir).read()?.is_some();
    let holds_nothing = || -> Result<bool, RestoreError> {
        let entries = staging::entries(dir)?.unwrap_or_default();
        let head = Repository::at_git_dir(&git_dir)?.head()?;
        Ok(entries == [".git"]
            && !git_dir.join("index").exists()
            && (head.branch, head.commit) == (None, Some(commit)))
    };
    Ok((is_marked || holds_nothing()?).then_some(git_dir))
}

/// Removes what a killed `git worktree add` left for a directory: Git locks a worktree until it is made.
fn remove_unfinished(repository: &Repository, dir: &Path) -> Result<(), RestoreError> {
    let worktrees = repository.common_dir().join("worktrees");
    let file = dir.join(".git");
    let place = place_of(&file);
    for name in staging::entries(&worktrees)?.unwrap_or_default() {
        let git_dir = worktrees.join(OsStr::from_bytes(&name));
        let read = |name: &str| {
            let text = fs::read(git_dir.join(name)).ok()?;
            Some(text.trim_ascii_end().to_owned())
        };
        let is_for_it = match read("gitdir") {
            Some(text) => place_of(&git_dir.join(OsStr::from_bytes(&text))) == place,
            // Git names it after the directory first.
            None => dir
                .file_name()
                .is_some_and(|dir| name.starts_with(dir.as_bytes())),
        };
        let is_unfinished = read("locked").is_some_and(|reason| reason == b"initializing")
            && !git_dir.join("index").exists();
        if !is_for_it || !is_unfinished {
            continue;
        }
        if file.is_file() && git_dir_of(dir)?.canonicalize().ok() == git_dir.canonicalize().ok() {
            fs::remove_file(&file).map_err(io_error(&file))?;
        }
        fs::remove_dir_all(&git_dir).map_err(io_error(&git_dir))?;
    }
    Ok(())
}

/// Returns the directory of a file `.git`, without links, also where it does not exist.
fn place_of(file: &Path) -> Option<PathBuf> {
    let dir = file.parent()?;
    let above = || Some(dir.parent()?.canonicalize().ok()?.join(dir.file_name()?));
    dir.canonicalize().ok().or_else(above)
}

/// Reads which git directory the file `.git` of a linked worktree names, gitrepository-layout(5).
fn git_dir_of(dir: &Path) -> Result<PathBuf, RestoreError> {
    let file = dir.join(".git");
    let text = fs::read(&file).map_err(io_error(&file))?;
    let named = text
        .strip_prefix(b"gitdir: ")
        .unwrap_or(&text)
        .trim_end_with(|c| c == '\n');
    Ok(dir.join(OsStr::from_bytes(named)))
}
