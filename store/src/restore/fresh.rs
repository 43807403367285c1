//! Fills a worktree that held nothing.

use std::io;

use gix::{bstr::ByteSlice, objs::tree::EntryKind};

use super::{
    content::{Contents, Expected, file_error},
    disk::{Disk, Missing, Place},
    error::RestoreError,
    parallel,
    plan::PlannedFile,
    session::{Laid, Session},
};

/// Writes all planned files and directories; returns what each file must hold.
///
/// Nothing that exists is overwritten. Where a run was interrupted, `resumes` is set: what it wrote counts, and
/// a file that it did not finish is written again.
pub(super) fn fill(session: &Session<'_>, resumes: bool) -> Result<Laid, RestoreError> {
    let expected = parallel::map(
        &session.plan.files,
        || Ok((session.contents(), session.disk.another())),
        |(contents, disk), _, file| write(file, contents, disk, session, resumes),
    )?;
    let mut disk = session.disk.another();
    for path in &session.plan.empty_directories {
        let made = disk
            .place(path.as_bstr(), Missing::Create)
            .and_then(|place| place.make_directory());
        made.map_err(file_error(path, "made"))?;
    }
    Ok(Laid {
        expected,
        known: Vec::new(),
        kept: Vec::new(),
    })
}

fn write(
    file: &PlannedFile,
    contents: &mut Contents,
    disk: &mut Disk,
    session: &Session<'_>,
    resumes: bool,
) -> Result<Expected, RestoreError> {
    if file.sparse {
        return contents.expected(file);
    }
    let failed = |error| file_error(&file.path, "written")(error);
    let place = disk
        .place(file.path.as_bstr(), Missing::Create)
        .map_err(failed)?;
    match create(file, contents, &place, session)? {
        Created::Done(expected) => Ok(expected),
        Created::Exists if !resumes => Err(exists(file)),
        Created::Exists => {
            if !is_ours(file, contents, &place).map_err(failed)? {
                return Err(exists(file));
            }
            place.remove().map_err(failed)?;
            match create(file, contents, &place, session)? {
                Created::Done(expected) => Ok(expected),
                Created::Exists => Err(exists(file)),
            }
        }
    }
}

/// Outcome of making a file.
enum Created {
    Done(Expected),
    Exists,
}

/// Makes a file, link or directory where nothing is.
fn create(
    file: &PlannedFile,
    contents: &mut Contents,
    place: &Place<'_>,
    session: &Session<'_>,
) -> Result<Created, RestoreError> {
    let done = match file.kind {
        EntryKind::Commit => place.make_directory().map(|()| contents.expected(file)),
        EntryKind::Link if session.traits.has_links => {
            let (expected, bytes) = contents.bytes(file)?;
            let mut target = Vec::new();
            bytes
                .write_to(&mut target)
                .and_then(|()| place.link(&target))
                .map(|()| Ok(expected))
        }
        _ => {
            // Made before the content is read: nothing is read in vain.
            match place.create(file.is_executable()) {
                Ok(made) => {
                    let (expected, bytes) = contents.bytes(file)?;
                    bytes.write_to(&made).map(|()| Ok(expected))
                }
                Err(error) => Err(error),
            }
        }
    };
    match done {
        Ok(expected) => Ok(Created::Done(expected?)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(Created::Exists),
        Err(error) => Err(file_error(&file.path, "written")(error)),
    }
}

/// Tells whether an interrupted run can have left what is there: the beginning of the content.
fn is_ours(file: &PlannedFile, contents: &mut Contents, place: &Place<'_>) -> io::Result<bool> {
    let other = |error: RestoreError| io::Error::other(error);
    let Some(stat) = place.stat()? else {
        return Ok(false);
    };
    match super::disk::file_type(&stat) {
        rustix::fs::FileType::RegularFile => {
            let (_, bytes) = contents.bytes(file).map_err(other)?;
            bytes.begins_with(place.read()?)
        }
        rustix::fs::FileType::Symlink if file.kind == EntryKind::Link => {
            let (_, bytes) = contents.bytes(file).map_err(other)?;
            let target = place.target()?;
            let mut wanted = Vec::new();
            bytes.write_to(&mut wanted)?;
            Ok(target == wanted)
        }
        _ => Ok(false),
    }
}

fn exists(file: &PlannedFile) -> RestoreError {
    RestoreError::Exists(file.path.clone())
}
