//! What lies on disk, read without following links and without waiting for anything.

use std::{
    ffi::OsStr,
    fs::File,
    io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::Path,
};

use gix::bstr::{BStr, BString, ByteSlice};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};

use super::SnapshotError;

/// The worktree's top directory; every path is opened relative to it.
pub(super) struct Root {
    fd: OwnedFd,
}

/// What tells whether a file changed, and its kind and mode.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct DiskStat {
    pub(super) kind: FileType,
    /// Permission bits.
    pub(super) permissions: u32,
    pub(super) size: u64,
    /// Seconds and nanoseconds.
    pub(super) mtime: (i64, u32),
    /// Seconds and nanoseconds.
    pub(super) ctime: (i64, u32),
    pub(super) ino: u64,
    pub(super) uid: u32,
    pub(super) gid: u32,
}

/// A name in a directory.
pub(super) struct Name {
    pub(super) name: BString,
    /// As the directory says; unknown on some file systems.
    pub(super) kind: FileType,
}

impl Root {
    pub(super) fn open(worktree: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = rustix::fs::open(worktree, flags, Mode::empty())?;
        Ok(Root { fd })
    }

    /// Opens a directory; `path` is empty for the top.
    pub(super) fn directory(&self, path: &BStr) -> io::Result<Directory> {
        let path: &[u8] = if path.is_empty() { b"." } else { path };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&self.fd, OsStr::from_bytes(path), flags, Mode::empty())?;
        Ok(Directory(Dir::new(fd)?))
    }

    /// Describes what lies at a path, without following a link.
    pub(super) fn stat(&self, path: &BStr) -> io::Result<DiskStat> {
        stat_at(&self.fd, path)
    }

    /// Opens a regular file for reading and describes what was opened.
    pub(super) fn file(&self, path: &BStr) -> io::Result<(File, DiskStat)> {
        open_at(&self.fd, path)
    }

    /// Returns the target of a link.
    pub(super) fn link(&self, path: &BStr) -> io::Result<Vec<u8>> {
        let target = rustix::fs::readlinkat(&self.fd, OsStr::from_bytes(path), Vec::new())?;
        Ok(target.into_bytes())
    }
}

/// An open directory.
pub(super) struct Directory(Dir);

impl Directory {
    /// Lists the directory, sorted by name, without `.` and `..`; once.
    pub(super) fn names(&mut self) -> io::Result<Vec<Name>> {
        let mut names = Vec::new();
        for entry in self.0.by_ref() {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if !matches!(name, b"." | b"..") {
                names.push(Name {
                    name: name.into(),
                    kind: entry.file_type(),
                });
            }
        }
        names.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Ok(names)
    }

    pub(super) fn stat(&self, name: &BStr) -> io::Result<DiskStat> {
        stat_at(self.0.fd()?, name)
    }

    /// Tells whether something is at a path, links followed.
    pub(super) fn has(&self, path: &BStr) -> bool {
        let Ok(fd) = self.0.fd() else { return false };
        rustix::fs::statat(fd, OsStr::from_bytes(path), AtFlags::empty()).is_ok()
    }

    /// Returns the target of a link.
    pub(super) fn target(&self, name: &BStr) -> io::Result<Vec<u8>> {
        let target = rustix::fs::readlinkat(self.0.fd()?, OsStr::from_bytes(name), Vec::new())?;
        Ok(target.into_bytes())
    }

    /// Reads a whole regular file; `None` for anything else, which is never waited for.
    pub(super) fn read(&self, name: &BStr) -> io::Result<Option<Vec<u8>>> {
        let (mut file, stat) = open_at(self.0.fd()?, name)?;
        if stat.kind != FileType::RegularFile {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        io::Read::read_to_end(&mut file, &mut bytes)?;
        Ok(Some(bytes))
    }
}

impl DiskStat {
    /// Tells whether the owner may run the file.
    pub(super) fn is_executable(&self) -> bool {
        self.permissions & 0o100 != 0
    }
}

fn stat_at(dir: impl AsFd, path: &BStr) -> io::Result<DiskStat> {
    let stat = rustix::fs::statat(dir, OsStr::from_bytes(path), AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(disk_stat(&stat))
}

fn open_at(dir: impl AsFd, path: &BStr) -> io::Result<(File, DiskStat)> {
    // NONBLOCK: a FIFO without a writer opens at once.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let fd = rustix::fs::openat(
        dir,
        OsStr::from_bytes(path.as_bytes()),
        flags,
        Mode::empty(),
    )?;
    let stat = disk_stat(&rustix::fs::fstat(&fd)?);
    Ok((File::from(fd), stat))
}

/// Sees that none of Git's own files is a named pipe: Git and gix would open it, and wait.
pub(super) fn refuse_pipes<P: AsRef<Path>>(
    files: impl IntoIterator<Item = P>,
) -> Result<(), SnapshotError> {
    let is_pipe = |path: &P| {
        let about = std::fs::metadata(path);
        about.is_ok_and(|about| std::os::unix::fs::FileTypeExt::is_fifo(&about.file_type()))
    };
    match files.into_iter().find(is_pipe) {
        None => Ok(()),
        Some(path) => Err(SnapshotError::Io {
            path: path.as_ref().into(),
            source: io::Error::other("it is a named pipe"),
        }),
    }
}

// The width and sign of these fields differ between systems.
#[expect(
    clippy::unnecessary_cast,
    clippy::useless_conversion,
    reason = "the types of these fields differ between systems"
)]
fn disk_stat(stat: &rustix::fs::Stat) -> DiskStat {
    DiskStat {
        kind: FileType::from_raw_mode(stat.st_mode),
        permissions: u32::from(stat.st_mode) & 0o7777,
        size: stat.st_size as u64,
        mtime: (stat.st_mtime as i64, stat.st_mtime_nsec as u32),
        ctime: (stat.st_ctime as i64, stat.st_ctime_nsec as u32),
        ino: stat.st_ino as u64,
        uid: stat.st_uid,
        gid: stat.st_gid,
    }
}
