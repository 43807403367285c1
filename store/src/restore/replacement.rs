//! Changes the current worktree, file by file, each in one step.

use gix::{
    bstr::{BStr, BString, ByteSlice},
    objs::tree::EntryKind,
};

use super::{
    RestoreError,
    content::{Contents, file_error},
    disk::{self, Disk, Missing},
    marker::{Interrupted, Marker},
    plan::PlannedFile,
    recompute::is_absence,
    session::{Session, repo_path},
};

/// Name of the file that is being written, in the directory that it is for; no tree can hold it.
fn temporary_name(record: gix::ObjectId) -> BString {
    format!(".handoff-{}", record.to_hex_with_len(16)).into()
}

/// Removes the file that an interrupted run was writing.
pub(super) fn remove_leftover(
    session: &Session<'_>,
    marker: &Marker,
    interrupted: Option<Interrupted>,
) -> Result<(), RestoreError> {
    let Some(Interrupted::Record(record)) = interrupted else {
        return Ok(());
    };
    let Some(directory) = marker.noted_directory()? else {
        return Ok(());
    };
    let path = disk::joined(directory.as_bstr(), temporary_name(record).as_bstr());
    let mut disk = session.disk.another();
    let removed = disk
        .place(path.as_bstr(), Missing::Fail)
        .and_then(|place| place.remove());
    match removed {
        Err(error) if !is_absence(&error) => Err(file_error(&path, "removed")(error)),
        _ => Ok(()),
    }
}

/// Changes the worktree.
pub(super) struct Replacement<'a> {
    session: &'a Session<'a>,
    marker: &'a Marker,
    /// When the capture began.
    since: (i64, i64),
    disk: Disk,
    /// The directory that the marker names.
    noted: Option<BString>,
}

impl<'a> Replacement<'a> {
    /// `since` is when the capture began.
    pub(super) fn new(session: &'a Session<'a>, marker: &'a Marker, since: (i64, i64)) -> Self {
        Replacement {
            session,
            marker,
            since,
            disk: session.disk.another(),
            noted: None,
        }
    }

    /// Removes captured files and links, deepest first, and empty submodules.
    pub(super) fn remove(&mut self, paths: &[BString]) -> Result<(), RestoreError> {
        let is_ignore_file = |path: &&BString| is_ignore_file(path.as_bstr());
        // Rules last: an interrupted run must not change what is ignored.
        let (rules, others): (Vec<&BString>, Vec<&BString>) =
            paths.iter().partition(is_ignore_file);
        for path in others.into_iter().rev().chain(rules.into_iter().rev()) {
            self.remove_one(path)?;
        }
        Ok(())
    }

    fn remove_one(&mut self, path: &BString) -> Result<(), RestoreError> {
        let failed = |error| file_error(path, "removed")(error);
        let place = match self.disk.place(path.as_bstr(), Missing::Fail) {
            Err(error) if is_absence(&error) => return Ok(()),
            other => other.map_err(failed)?,
        };
        let Some(stat) = place.stat().map_err(failed)? else {
            return Ok(());
        };
        if disk::file_type(&stat) == rustix::fs::FileType::Directory {
            place.remove_directory().map_err(failed)?;
        } else {
            refuse_changed(path, &stat, self.since)?;
            place.remove().map_err(failed)?;
        }
        Ok(())
    }

    /// Removes directories that the capture found empty, or that removals emptied; others stay.
    pub(super) fn remove_directories(&mut self, removals: &[BString], empty: &[BString]) {
        self.disk.forget();
        for path in empty.iter().rev() {
            let removed = self
                .disk
                .place(path.as_bstr(), Missing::Fail)
                .and_then(|place| place.remove_directory());
            if removed.is_ok() {
                self.remove_empty_parents(path.as_bstr());
            }
        }
        for path in removals.iter().rev() {
            self.remove_empty_parents(path.as_bstr());
        }
        self.disk.forget();
    }

    /// Removes the directories above a path as long as they are empty.
    fn remove_empty_parents(&mut self, path: &BStr) {
        let mut path = path;
        while let Some(slash) = path.rfind_byte(b'/') {
            path = path[..slash].as_bstr();
            let removed = self
                .disk
                .place(path, Missing::Fail)
                .and_then(|place| place.remove_directory());
            if removed.is_err() {
                break;
            }
        }
    }

    /// Writes planned files, rules of what is ignored last.
    pub(super) fn write(&mut self, places: &[usize]) -> Result<(), RestoreError> {
        let files = &self.session.plan.files;
        let mut contents = self.session.contents();
        let (rules, others): (Vec<usize>, Vec<usize>) = places
            .iter()
            .partition(|at| is_ignore_file(files[**at].path.as_bstr()));
        for at in others.into_iter().chain(rules) {
            self.write_one(&files[at], &mut contents)?;
        }
        Ok(())
    }

    /// Makes the planned directories without files.
    pub(super) fn make_directories(&mut self) -> Result<(), RestoreError> {
        for path in &self.session.plan.empty_directories {
            let made = self
                .disk
                .place(path.as_bstr(), Missing::Create)
                .and_then(|place| place.make_directory());
            made.map_err(file_error(path, "made"))?;
        }
        Ok(())
    }

    fn write_one(
        &mut self,
        file: &PlannedFile,
        contents: &mut Contents,
    ) -> Result<(), RestoreError> {
        let failed = |error| file_error(&file.path, "written")(error);
        let folder = file
            .path
            .rfind_byte(b'/')
            .map_or(&file.path[..0], |slash| &file.path[..slash]);
        if self.noted.as_ref().is_none_or(|noted| noted != folder) {
            self.marker.note_directory(folder.as_bstr())?;
            self.noted = Some(folder.into());
        }
        self.clear_directory(file)?;
        let place = self
            .disk
            .place(file.path.as_bstr(), Missing::Create)
            .map_err(failed)?;
        if file.kind == EntryKind::Commit {
            if let Some(stat) = place.stat().map_err(failed)?
                && disk::file_type(&stat) != rustix::fs::FileType::Directory
            {
                refuse_changed(&file.path, &stat, self.since)?;
                place.remove().map_err(failed)?;
            }
            return place.make_directory().map_err(failed);
        }
        let (_, bytes) = contents.bytes(file)?;
        let temporary = temporary_name(self.session.state.id);
        let beside = place.beside(temporary.as_bstr());
        let written = if file.kind == EntryKind::Link && self.session.traits.has_links {
            let mut target = Vec::new();
            bytes
                .write_to(&mut target)
                .and_then(|()| beside.link(&target))
        } else {
            beside
                .create(file.is_executable())
                .and_then(|made| bytes.write_to(&made))
        };
        let moved = written.map_err(failed).and_then(|()| {
            if let Some(stat) = place.stat().map_err(failed)? {
                refuse_changed(&file.path, &stat, self.since)?;
            }
            beside.rename_to(&place).map_err(failed)
        });
        moved.inspect_err(|_| drop(beside.remove()))
    }

    /// Removes what is left of a directory in the place of a file: empty directories.
    fn clear_directory(&mut self, file: &PlannedFile) -> Result<(), RestoreError> {
        if file.kind == EntryKind::Commit {
            return Ok(());
        }
        let failed = |error| file_error(&file.path, "removed")(error);
        let place = match self.disk.place(file.path.as_bstr(), Missing::Fail) {
            Err(error) if is_absence(&error) => return Ok(()),
            other => other.map_err(failed)?,
        };
        let stat = place.stat().map_err(failed)?;
        if stat.is_some_and(|stat| disk::file_type(&stat) == rustix::fs::FileType::Directory) {
            place.remove_empty_directories().map_err(failed)?;
        }
        Ok(())
    }
}

/// Refuses to overwrite or remove what was changed after the capture began.
fn refuse_changed(
    path: &BString,
    stat: &rustix::fs::Stat,
    since: (i64, i64),
) -> Result<(), RestoreError> {
    if disk::changed_at(stat) > since {
        return Err(RestoreError::Changed(repo_path(path).into_iter().collect()));
    }
    Ok(())
}

fn is_ignore_file(path: &BStr) -> bool {
    path == ".gitignore" || path.ends_with_str("/.gitignore")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignore_files_are_known_by_their_whole_name() {
        assert!(
            is_ignore_file(b".gitignore".as_bstr()) && is_ignore_file(b"a/.gitignore".as_bstr())
        );
        assert!(!is_ignore_file(b"a.gitignore".as_bstr()));
    }
}
