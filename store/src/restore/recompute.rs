//! Reads back from disk what a restore wrote.

use std::io::{self, Read};

use gix::{
    ObjectId,
    bstr::ByteSlice,
    hash::hasher,
    objs::{Kind, tree::EntryKind},
};
use rustix::fs::FileType;

use super::{
    content::file_error,
    disk::{self, Disk, Missing, Place},
    error::RestoreError,
    plan::PlannedFile,
};

/// How modes and links of this worktree are to be read, git-config(1).
#[derive(Clone, Copy)]
pub(super) struct DiskTraits {
    /// `core.fileMode`.
    pub(super) has_modes: bool,
    /// `core.symlinks`.
    pub(super) has_links: bool,
}

/// What is on disk at a planned path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub(super) kind: EntryKind,
    /// Id of a blob of the bytes on disk.
    pub(super) id: ObjectId,
    pub(super) stat: gix::index::entry::Stat,
    /// Time of the last change of content or mode, as the system counts it.
    pub(super) changed_at: (i64, i64),
}

/// Describes what is on disk at a planned path: `None` where nothing is, or something of another kind, or where
/// the way there leads through something that is no directory.
pub(super) fn look(
    disk: &mut Disk,
    file: &PlannedFile,
    traits: DiskTraits,
    known: Option<&Found>,
    buffer: &mut [u8],
) -> Result<Option<Found>, RestoreError> {
    let failed = |error| file_error(&file.path, "read")(error);
    let place = match disk.place(file.path.as_bstr(), Missing::Fail) {
        Ok(place) => place,
        Err(error) if is_absence(&error) => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let Some(stat) = place.stat().map_err(failed)? else {
        return Ok(None);
    };
    if let Some(known) = known
        && (known.stat, known.changed_at) == (disk::index_stat(&stat), disk::changed_at(&stat))
    {
        return Ok(Some(*known));
    }
    match (disk::file_type(&stat), file.kind) {
        (FileType::Directory, EntryKind::Commit) => Ok(Some(found(file.kind, file.id, &stat))),
        (FileType::Symlink, EntryKind::Link) => {
            let target = place.target().map_err(failed)?;
            let id = gix::objs::compute_hash(file.id.kind(), Kind::Blob, &target)
                .map_err(|error| failed(io::Error::other(error.to_string())))?;
            Ok(Some(found(EntryKind::Link, id, &stat)))
        }
        (FileType::RegularFile, EntryKind::Link) if !traits.has_links => {
            let (id, stat) = hash_file(&place, file.id.kind(), buffer).map_err(failed)?;
            Ok(Some(found(EntryKind::Link, id, &stat)))
        }
        (FileType::RegularFile, EntryKind::Blob | EntryKind::BlobExecutable) => {
            let (id, stat) = hash_file(&place, file.id.kind(), buffer).map_err(failed)?;
            let kind = match (traits.has_modes, disk::is_executable(&stat)) {
                (false, _) => file.kind,
                (true, true) => EntryKind::BlobExecutable,
                (true, false) => EntryKind::Blob,
            };
            Ok(Some(found(kind, id, &stat)))
        }
        _ => Ok(None),
    }
}

fn found(kind: EntryKind, id: ObjectId, stat: &rustix::fs::Stat) -> Found {
    Found {
        kind,
        id,
        stat: disk::index_stat(stat),
        changed_at: disk::changed_at(stat),
    }
}

/// Tells whether an error says that a path does not exist.
pub(super) fn is_absence(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let number = Errno::from_io_error(error);
    matches!(number, Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP))
}

fn hash_file(
    place: &Place<'_>,
    hash: gix::hash::Kind,
    buffer: &mut [u8],
) -> io::Result<(ObjectId, rustix::fs::Stat)> {
    let mut file = place.read()?;
    let stat = rustix::fs::fstat(&file)?;
    if disk::file_type(&stat) != FileType::RegularFile {
        return Err(io::Error::other("it is no regular file"));
    }
    let mut left = u64::try_from(stat.st_size).unwrap_or(0);
    let mut hasher = hasher(hash);
    hasher.update(format!("blob {left}\0").as_bytes());
    loop {
        let count = file.read(buffer)?;
        if count == 0 {
            break;
        }
        left = left
            .checked_sub(count as u64)
            .ok_or_else(|| io::Error::other("it grew while it was read"))?;
        hasher.update(&buffer[..count]);
    }
    if left > 0 {
        return Err(io::Error::other("it shrank while it was read"));
    }
    let id = hasher
        .try_finalize()
        .map_err(|error| io::Error::other(error.to_string()))?;
    Ok((id, stat))
}

/// Tells whether a path holds what it must; `expected` is the id of a blob of its bytes.
pub(super) fn is_as_planned(file: &PlannedFile, expected: &ObjectId, found: &Found) -> bool {
    found.kind == file.kind && found.id == *expected
}
