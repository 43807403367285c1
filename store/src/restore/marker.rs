//! The note that a restore is under way, so that an interrupted one can be completed.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use gix::{
    ObjectId,
    bstr::{BStr, BString},
};

use super::RestoreError;

/// File in a git directory that is there while a restore is under way.
pub(super) struct Marker {
    path: PathBuf,
}

/// What the marker of an interrupted run says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Interrupted {
    /// A repository was made, and not yet filled.
    Empty,
    /// This record was being restored.
    Record(ObjectId),
}

impl Marker {
    /// Names the marker of a git directory.
    pub(super) fn of(git_dir: &Path) -> Self {
        Marker {
            path: git_dir.join("handoff").join("restoring"),
        }
    }

    /// Reads what an interrupted run left, if any did.
    pub(super) fn read(&self) -> Result<Option<Interrupted>, RestoreError> {
        match fs::read(&self.path) {
            Ok(text) => {
                let id = ObjectId::from_hex(text.trim_ascii()).ok();
                Ok(Some(id.map_or(Interrupted::Empty, Interrupted::Record)))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// Notes that a record is being restored, or that a repository is being made for one.
    pub(super) fn set(&self, record: Option<ObjectId>) -> Result<(), RestoreError> {
        let text = record.map(|id| format!("{id}\n")).unwrap_or_default();
        let dir = self.path.parent().unwrap_or(&self.path);
        let made = fs::create_dir_all(dir).and_then(|()| fs::write(&self.path, text));
        made.map_err(|error| self.failed(error))
    }

    /// Notes again what an earlier run left, because this one changed nothing.
    pub(super) fn put_back(&self, interrupted: Option<Interrupted>) -> Result<(), RestoreError> {
        match interrupted {
            Some(Interrupted::Record(id)) => self.set(Some(id)),
            Some(Interrupted::Empty) => self.set(None),
            None => self.clear(),
        }
    }

    /// Notes that the restore is complete.
    pub(super) fn clear(&self) -> Result<(), RestoreError> {
        for file in [self.directory_file(), self.path.clone()] {
            match fs::remove_file(file) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(self.failed(error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Keeps other runs from the same worktree until the answer is dropped, where the file system has locks.
    pub(super) fn lock(&self) -> Result<fs::File, RestoreError> {
        let dir = self.path.parent().unwrap_or(&self.path);
        let dir = fs::create_dir_all(dir).and_then(|()| fs::File::open(dir));
        let dir = dir.map_err(|error| self.failed(error))?;
        let _ = dir.lock();
        Ok(dir)
    }

    /// Returns when the marker was set, as the system stamps files.
    pub(super) fn time(&self) -> Result<(i64, i64), RestoreError> {
        let stat = rustix::fs::stat(&self.path).map_err(|error| self.failed(error.into()))?;
        Ok(super::disk::changed_at(&stat))
    }

    /// Notes the directory in which a file is about to be written.
    pub(super) fn note_directory(&self, path: &BStr) -> Result<(), RestoreError> {
        fs::write(self.directory_file(), path).map_err(|error| self.failed(error))
    }

    /// Reads the directory in which an interrupted run wrote last.
    pub(super) fn noted_directory(&self) -> Result<Option<BString>, RestoreError> {
        match fs::read(self.directory_file()) {
            Ok(path) => Ok(Some(path.into())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.failed(error)),
        }
    }

    fn directory_file(&self) -> PathBuf {
        self.path.with_extension("in")
    }

    fn failed(&self, source: io::Error) -> RestoreError {
        RestoreError::Io {
            path: self.path.clone(),
            source,
        }
    }
}
