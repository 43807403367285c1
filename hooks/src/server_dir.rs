//! What the hook keeps in a repository, below `<git-dir>/handoff/`.
//!
//! Everything there has the access rights of the repository's `objects`, so that repositories which a group of
//! users shares (`core.sharedRepository`, git-config(1)) stay shared.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, Permissions},
    io,
    os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

use crate::own_file;

/// The directory of the hook in one repository.
#[derive(Clone, Debug)]
pub struct ServerDir {
    path: PathBuf,
    /// Mode of directories, with the set-group-ID bit where `objects` has it.
    mode: u32,
}

impl ServerDir {
    /// Names the directory in the repository at `git_dir`; nothing is made yet.
    pub fn of(git_dir: &Path) -> Self {
        let mode = fs::metadata(git_dir.join("objects")).map(|found| found.permissions().mode());
        ServerDir {
            path: git_dir.join("handoff"),
            mode: mode.map_or(0o755, |mode| mode & 0o7777 | 0o700),
        }
    }

    /// Returns the path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path of a directory below it, which is made where it is missing.
    ///
    /// # Errors
    ///
    /// Where it cannot be made.
    pub fn directory(&self, name: &str) -> io::Result<PathBuf> {
        self.make(&self.path)?;
        let path = self.path.join(name);
        self.make(&path)?;
        Ok(path)
    }

    /// Opens a file directly below it, to read and to append to; it is made where it is missing.
    ///
    /// # Errors
    ///
    /// Where it cannot be opened, or is a link.
    pub fn append(&self, name: &str) -> io::Result<File> {
        self.make(&self.path)?;
        let path = self.path.join(name);
        let mut options = OpenOptions::new();
        options
            .read(true)
            .append(true)
            .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed());
        match options.open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            other => return other,
        }
        let made = options.create(true).mode(0o600).open(&path)?;
        self.share(&made)?;
        Ok(made)
    }

    /// Makes a temporary file in the directory, locked; what killed runs left of such files goes.
    ///
    /// # Errors
    ///
    /// Where it cannot be made.
    pub(crate) fn temporary(&self) -> io::Result<tempfile::NamedTempFile> {
        self.make(&self.path)?;
        own_file::new_in(&self.path)
    }

    /// Gives a file the access rights of the repository's files, and none to others.
    pub(crate) fn share_in_group(&self, file: &File) -> io::Result<()> {
        file.set_permissions(Permissions::from_mode(self.mode & 0o660))
    }

    /// Gives a file the access rights of the repository's files.
    pub(crate) fn share(&self, file: &File) -> io::Result<()> {
        file.set_permissions(Permissions::from_mode(self.mode & 0o666))
    }

    fn make(&self, path: &Path) -> io::Result<()> {
        match DirBuilder::new().mode(0o700).create(path) {
            Ok(()) => fs::set_permissions(path, Permissions::from_mode(self.mode)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(error),
        }
    }
}
