//! Where a repository is made, before it is moved to its place in one step.

use std::{
    fs::{self, File},
    io,
    os::unix::ffi::OsStringExt,
    path::{Path, PathBuf},
};

use gix::bstr::BString;

use super::{RestoreError, marker::Marker, new_directory::io_error};
use crate::{git::Git, repository::Repository};

/// Directory inside the target in which its repository is made.
const NAME: &str = ".handoff-new";

/// A place inside a new or empty directory where its repository is made.
///
/// What a killed run left of one is removed by the next; where it is dropped, nothing of it stays.
#[derive(Debug)]
pub struct Staging {
    dir: PathBuf,
    path: PathBuf,
    is_new: bool,
    is_done: bool,
    /// Held as long as this run lives.
    _alone: File,
}

impl Staging {
    /// Makes the place.
    ///
    /// # Errors
    ///
    /// [`RestoreError::NotEmpty`] where the directory holds anything but what a killed run left there.
    pub fn begin(dir: &Path) -> Result<Self, RestoreError> {
        let shown = dir;
        let dir = std::path::absolute(shown).map_err(io_error(shown))?;
        let path = dir.join(NAME);
        let found = entries(shown)?;
        let is_new = found.is_none();
        let entries = found.unwrap_or_default();
        if entries == [NAME] && is_abandoned(&path)? {
            fs::remove_dir_all(&path).map_err(io_error(&path))?;
        } else if !entries.is_empty() {
            let dir = shown.into();
            return Err(RestoreError::NotEmpty { dir, entries });
        }
        fs::create_dir_all(&dir).map_err(io_error(shown))?;
        fs::create_dir(&path).map_err(io_error(&path))?;
        let alone = File::open(&path).map_err(io_error(&path))?;
        // Some file systems have no locks.
        let _ = alone.lock();
        Ok(Staging {
            dir,
            path,
            is_new,
            is_done: false,
            _alone: alone,
        })
    }

    /// Returns the directory in which the repository is made; its git directory is `.git` below it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes an empty repository in it.
    ///
    /// # Errors
    ///
    /// Where Git cannot make it.
    pub fn init(&self, hash: gix::hash::Kind) -> Result<Repository, RestoreError> {
        let format = format!("--object-format={hash}");
        let args = [
            "-c",
            "core.hooksPath=/dev/null",
            "init",
            "--quiet",
            &format,
            ".",
        ];
        Git::in_dir(&self.path).apart().output(args)?;
        Ok(Repository::at_worktree(
            &self.path,
            &self.path.join(".git"),
        )?)
    }

    /// Returns what an end without success removes once the repository is in its place.
    pub fn made(&self) -> PathBuf {
        match self.is_new {
            true => self.dir.clone(),
            false => self.dir.join(".git"),
        }
    }

    /// Notes that the repository is to be restored into, and moves it to its place.
    ///
    /// # Errors
    ///
    /// Where it cannot be moved; nothing of it stays then.
    pub fn finish(mut self) -> Result<(), RestoreError> {
        let git_dir = self.path.join(".git");
        Marker::of(&git_dir).set(None)?;
        let place = self.dir.join(".git");
        fs::rename(&git_dir, &place).map_err(io_error(&place))?;
        self.is_done = true;
        Ok(())
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // Best effort: the next run removes what stays.
        let _ = fs::remove_dir_all(&self.path);
        if self.is_new && !self.is_done {
            let _ = fs::remove_dir(&self.dir);
        }
    }
}

/// Removes what a run left that was killed right after it had moved its repository.
pub(super) fn remove_rest(dir: &Path) {
    // Where it is not empty it is not ours, and named as what does not belong there.
    let _ = fs::remove_dir(dir.join(NAME));
}

/// Tells whether no living run holds a place.
fn is_abandoned(path: &Path) -> Result<bool, RestoreError> {
    if !path.symlink_metadata().is_ok_and(|found| found.is_dir()) {
        return Ok(false);
    }
    let dir = File::open(path).map_err(io_error(path))?;
    Ok(!matches!(dir.try_lock(), Err(fs::TryLockError::WouldBlock)))
}

/// Lists a directory; none where there is none.
pub(super) fn entries(dir: &Path) -> Result<Option<Vec<BString>>, RestoreError> {
    let listed = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io_error(dir)(error)),
        Ok(listed) => listed,
    };
    let mut entries = Vec::new();
    for entry in listed {
        entries.push(entry.map_err(io_error(dir))?.file_name().into_vec().into());
    }
    entries.sort();
    Ok(Some(entries))
}
