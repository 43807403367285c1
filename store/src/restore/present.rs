//! What a capture found in the current worktree, and whether it may be replaced.

use std::collections::HashSet;

use gix::{
    bstr::{BStr, BString, ByteSlice},
    objs::tree::EntryKind,
};
use rustix::fs::FileType;

use super::{
    Captured, RestoreError,
    content::file_error,
    disk::{self, Disk, Missing},
    plan::PlannedFile,
    recompute::is_absence,
    session::Session,
    trees::TreeItem,
};

/// What is in a worktree and may be replaced, because it was captured.
pub(super) struct Present {
    /// Sorted by path.
    pub(super) items: Vec<TreeItem>,
    pub(super) empty_directories: Vec<BString>,
    omitted: HashSet<BString>,
    kept: HashSet<BString>,
}

impl Present {
    pub(super) fn read(session: &Session<'_>, captured: Captured) -> Result<Self, RestoreError> {
        let owned = |path: &crate::repo_path::RepoPath| BString::from(path.as_bstr());
        let mut empty_directories: Vec<BString> =
            captured.empty_directories.iter().map(owned).collect();
        empty_directories.sort();
        Ok(Present {
            items: session.flatten(captured.worktree_tree)?,
            empty_directories,
            omitted: captured.omitted.iter().map(owned).collect(),
            kept: captured.kept.iter().map(owned).collect(),
        })
    }

    /// Tells whether the capture has the same at the path of a planned file.
    pub(super) fn holds(&self, file: &PlannedFile) -> bool {
        let found = self
            .items
            .binary_search_by(|item| item.path.cmp(&file.path));
        found.is_ok_and(|at| (self.items[at].kind, self.items[at].id) == (file.kind, file.id))
    }

    /// Tells whether a captured path is to stay.
    pub(super) fn keeps(&self, path: &BStr) -> bool {
        self.kept.contains(path)
    }

    /// Adds to `in_the_way` what a file at `path` would replace though it was not captured.
    pub(super) fn judge_write(
        &self,
        disk: &mut Disk,
        path: &BStr,
        in_the_way: &mut Vec<BString>,
    ) -> Result<(), RestoreError> {
        let folders = path.find_iter("/").map(|slash| path[..slash].as_bstr());
        for folder in folders {
            match kind_at(disk, folder)? {
                None => return Ok(()),
                Some(FileType::Directory) if !self.is_foreign(disk, folder)? => {}
                Some(FileType::Directory) => {
                    in_the_way.push(folder.into());
                    return Ok(());
                }
                Some(_) => {
                    self.judge_file(folder, in_the_way);
                    return Ok(());
                }
            }
        }
        match kind_at(disk, path)? {
            None => {}
            Some(FileType::Directory) => self.judge_directory(disk, path, in_the_way)?,
            Some(_) => self.judge_file(path, in_the_way),
        }
        Ok(())
    }

    /// Tells whether a captured path is there to be removed; adds it to `in_the_way` where it must stay.
    pub(super) fn judge_removal(
        &self,
        disk: &mut Disk,
        item: &TreeItem,
        in_the_way: &mut Vec<BString>,
    ) -> Result<bool, RestoreError> {
        let path = item.path.as_bstr();
        match (kind_at(disk, path)?, item.kind) {
            (None, _) => return Ok(false),
            (Some(FileType::Directory), EntryKind::Commit) => {
                if self.is_foreign(disk, path)? {
                    in_the_way.push(path.into());
                }
            }
            // The files below it are captured by themselves, or not at all.
            (Some(FileType::Directory), _) => return Ok(false),
            (Some(_), _) => self.judge_file(path, in_the_way),
        }
        Ok(true)
    }

    fn judge_file(&self, path: &BStr, in_the_way: &mut Vec<BString>) {
        let found = self
            .items
            .binary_search_by(|item| item.path.as_bstr().cmp(path));
        let is_captured = found.is_ok_and(|at| self.items[at].kind != EntryKind::Commit);
        if !is_captured || self.is_omitted(path) {
            in_the_way.push(path.into());
        }
    }

    /// Judges everything below a directory that a file is to replace.
    fn judge_directory(
        &self,
        disk: &mut Disk,
        path: &BStr,
        in_the_way: &mut Vec<BString>,
    ) -> Result<(), RestoreError> {
        let mut stack = vec![BString::from(path)];
        while let Some(folder) = stack.pop() {
            if self.is_foreign(disk, folder.as_bstr())? {
                in_the_way.push(folder);
                continue;
            }
            let listed = disk
                .directory(folder.as_bstr(), Missing::Fail)
                .and_then(disk::names);
            for (name, kind) in listed.map_err(file_error(&folder, "read"))? {
                let below = disk::joined(folder.as_bstr(), name.as_bstr());
                let kind = match kind {
                    FileType::Unknown => kind_at(disk, below.as_bstr())?,
                    kind => Some(kind),
                };
                match kind {
                    Some(FileType::Directory) => stack.push(below),
                    Some(_) => self.judge_file(below.as_bstr(), in_the_way),
                    None => {}
                }
            }
        }
        Ok(())
    }

    /// Tells whether a directory is not this worktree's to write into: a submodule that is filled, or an omission.
    fn is_foreign(&self, disk: &mut Disk, path: &BStr) -> Result<bool, RestoreError> {
        if self.omitted.contains(path) {
            return Ok(true);
        }
        let found = self
            .items
            .binary_search_by(|item| item.path.as_bstr().cmp(path));
        if !found.is_ok_and(|at| self.items[at].kind == EntryKind::Commit) {
            return Ok(false);
        }
        let listed = disk.directory(path, Missing::Fail).and_then(disk::names);
        Ok(!listed.map_err(file_error(&path.into(), "read"))?.is_empty())
    }

    fn is_omitted(&self, path: &BStr) -> bool {
        let mut folders = path.find_iter("/").map(|slash| path[..slash].as_bstr());
        self.omitted.contains(path) || folders.any(|folder| self.omitted.contains(folder))
    }
}

/// Returns the kind of what is at a path; `None` where nothing is, or the way there is no directory.
pub(super) fn kind_at(disk: &mut Disk, path: &BStr) -> Result<Option<FileType>, RestoreError> {
    let stat = disk
        .place(path, Missing::Fail)
        .and_then(|place| place.stat());
    match stat {
        Ok(stat) => Ok(stat.as_ref().map(disk::file_type)),
        Err(error) if is_absence(&error) => Ok(None),
        Err(error) => Err(file_error(&path.into(), "read")(error)),
    }
}
