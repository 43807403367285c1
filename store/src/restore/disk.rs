//! The worktree on disk, reached through directory handles and never through a link.

use std::{
    ffi::OsStr,
    fs::File,
    io,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::Path,
    sync::Arc,
};

use gix::{
    bstr::{BStr, BString, ByteSlice},
    index::entry::{Stat, stat::Time},
};
use rustix::fs::{AtFlags, FileType, Mode, OFlags};

/// Reaches paths of one worktree; the directories of the last path stay open.
pub(super) struct Disk {
    root: Arc<OwnedFd>,
    open: Vec<(BString, OwnedFd)>,
}

/// What to do where a directory of a path is missing.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    Create,
    Fail,
}

/// The directory of a path, and its last component.
pub(super) struct Place<'a> {
    pub(super) dir: BorrowedFd<'a>,
    pub(super) name: &'a OsStr,
}

impl Disk {
    /// Opens the worktree at a directory that the caller named.
    pub(super) fn open(worktree: &Path) -> io::Result<Self> {
        let root = rustix::fs::open(
            worktree,
            directory_flags() - OFlags::NOFOLLOW,
            Mode::empty(),
        )?;
        Ok(Disk {
            root: Arc::new(root),
            open: Vec::new(),
        })
    }

    /// Makes another view of the same worktree, for another thread.
    pub(super) fn another(&self) -> Self {
        Disk {
            root: Arc::clone(&self.root),
            open: Vec::new(),
        }
    }

    /// Opens the directory of a path, component by component.
    ///
    /// A link or file in the place of a directory is an error, `ELOOP` or `ENOTDIR`.
    pub(super) fn place<'a>(
        &'a mut self,
        path: &'a BStr,
        missing: Missing,
    ) -> io::Result<Place<'a>> {
        let (folder, name) = match path.rfind_byte(b'/') {
            Some(slash) => (&path[..slash], &path[slash + 1..]),
            None => (path[..0].as_bstr(), path),
        };
        let dir = self.directory(folder.as_bstr(), missing)?;
        Ok(Place {
            dir,
            name: OsStr::from_bytes(name),
        })
    }

    /// Opens a directory, component by component; the empty path is the top.
    pub(super) fn directory(
        &mut self,
        path: &BStr,
        missing: Missing,
    ) -> io::Result<BorrowedFd<'_>> {
        let components = path.split(|b| *b == b'/').filter(|name| !name.is_empty());
        let kept = components
            .clone()
            .zip(&self.open)
            .take_while(|(name, (open, _))| *name == open.as_bytes())
            .count();
        self.open.truncate(kept);
        for name in components.skip(kept) {
            let parent = self
                .open
                .last()
                .map_or(self.root.as_fd(), |(_, fd)| fd.as_fd());
            let fd = open_directory(parent, OsStr::from_bytes(name), missing)?;
            self.open.push((name.into(), fd));
        }
        Ok(self
            .open
            .last()
            .map_or(self.root.as_fd(), |(_, fd)| fd.as_fd()))
    }

    /// Forgets the open directories, because some may be gone.
    pub(super) fn forget(&mut self) {
        self.open.clear();
    }
}

impl Place<'_> {
    /// Makes a new file; with umask, as any new file.
    pub(super) fn create(&self, executable: bool) -> io::Result<File> {
        create_at(self.dir, self.name, executable)
    }

    /// Makes a symbolic link.
    pub(super) fn link(&self, target: &[u8]) -> io::Result<()> {
        Ok(rustix::fs::symlinkat(
            OsStr::from_bytes(target),
            self.dir,
            self.name,
        )?)
    }

    /// Makes a directory, or finds one.
    pub(super) fn make_directory(&self) -> io::Result<()> {
        open_directory(self.dir, self.name, Missing::Create).map(drop)
    }

    /// Describes what is there, without following a link; `None` where nothing is.
    pub(super) fn stat(&self) -> io::Result<Option<rustix::fs::Stat>> {
        match rustix::fs::statat(self.dir, self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(rustix::io::Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens what is there for reading, without following a link or waiting for a FIFO's writer.
    pub(super) fn read(&self) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(self.dir, self.name, flags, Mode::empty())?.into())
    }

    /// Returns the target of the link that is there.
    pub(super) fn target(&self) -> io::Result<Vec<u8>> {
        Ok(rustix::fs::readlinkat(self.dir, self.name, Vec::new())?.into_bytes())
    }

    /// Removes the file or link that is there.
    pub(super) fn remove(&self) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(self.dir, self.name, AtFlags::empty())?)
    }

    /// Returns another name in the same directory.
    pub(super) fn beside<'b>(&'b self, name: &'b BStr) -> Place<'b> {
        Place {
            dir: self.dir,
            name: OsStr::from_bytes(name),
        }
    }

    /// Moves what is here to another place, over a file or link that is there.
    pub(super) fn rename_to(&self, other: &Place<'_>) -> io::Result<()> {
        Ok(rustix::fs::renameat(
            self.dir, self.name, other.dir, other.name,
        )?)
    }

    /// Removes the directory that is there, which may hold empty directories alone.
    pub(super) fn remove_empty_directories(&self) -> io::Result<()> {
        let dir = open_directory(self.dir, self.name, Missing::Fail)?;
        for (name, _) in names(dir.as_fd())? {
            let below = Place {
                dir: dir.as_fd(),
                name: OsStr::from_bytes(&name),
            };
            below.remove_empty_directories()?;
        }
        self.remove_directory()
    }

    /// Removes the empty directory that is there.
    pub(super) fn remove_directory(&self) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(
            self.dir,
            self.name,
            AtFlags::REMOVEDIR,
        )?)
    }
}

fn directory_flags() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC
}

fn open_directory(parent: BorrowedFd<'_>, name: &OsStr, missing: Missing) -> io::Result<OwnedFd> {
    let open = || rustix::fs::openat(parent, name, directory_flags(), Mode::empty());
    match open() {
        Err(rustix::io::Errno::NOENT) if missing == Missing::Create => {
            match rustix::fs::mkdirat(parent, name, Mode::from_raw_mode(0o777)) {
                // Another thread may have been faster; whether it is a directory is seen when it is opened.
                Ok(()) | Err(rustix::io::Errno::EXIST) => Ok(open()?),
                Err(error) => Err(error.into()),
            }
        }
        other => Ok(other?),
    }
}

fn create_at(dir: BorrowedFd<'_>, name: &OsStr, executable: bool) -> io::Result<File> {
    let mode = Mode::from_raw_mode(if executable { 0o777 } else { 0o666 });
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(dir, name, flags, mode)?.into())
}

/// Returns the path of a name in a folder; the empty path is the top.
pub(super) fn joined(folder: &BStr, name: &BStr) -> BString {
    let mut path = Vec::with_capacity(folder.len() + 1 + name.len());
    path.extend_from_slice(folder);
    if !path.is_empty() {
        path.push(b'/');
    }
    path.extend_from_slice(name);
    path.into()
}

/// Lists a directory without `.` and `..`; kinds are unknown on some file systems.
pub(super) fn names(dir: BorrowedFd<'_>) -> io::Result<Vec<(BString, FileType)>> {
    let mut found = Vec::new();
    for entry in rustix::fs::Dir::read_from(dir)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if !matches!(name, b"." | b"..") {
            found.push((name.into(), entry.file_type()));
        }
    }
    Ok(found)
}

/// Returns the kind of what a stat describes.
pub(super) fn file_type(stat: &rustix::fs::Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

/// Tells whether the owner may run the file.
pub(super) fn is_executable(stat: &rustix::fs::Stat) -> bool {
    stat.st_mode & 0o100 != 0
}

/// Describes a file as an index entry does: Git keeps the low 32 bits of everything, gitformat-index(5).
pub(super) fn index_stat(stat: &rustix::fs::Stat) -> Stat {
    Stat {
        mtime: Time {
            secs: stat.st_mtime as u32,
            nsecs: stat.st_mtime_nsec as u32,
        },
        ctime: Time {
            secs: stat.st_ctime as u32,
            nsecs: stat.st_ctime_nsec as u32,
        },
        dev: stat.st_dev as u32,
        ino: stat.st_ino as u32,
        uid: stat.st_uid,
        gid: stat.st_gid,
        size: stat.st_size as u32,
    }
}

/// Returns the time of the last change of content or mode, in seconds and nanoseconds.
#[expect(
    clippy::unnecessary_cast,
    reason = "the types of these fields differ between systems"
)]
pub(super) fn changed_at(stat: &rustix::fs::Stat) -> (i64, i64) {
    (stat.st_ctime as i64, stat.st_ctime_nsec as i64)
}
