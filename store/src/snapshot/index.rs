//! A private view of the user's index: read once, never written.

use std::path::Path;

use gix::{
    ObjectId,
    bstr::{BStr, BString, ByteSlice},
    index::{
        Entry, State,
        entry::{Flags as EntryFlags, Mode, Stage},
    },
    objs::FindExt,
};

use super::{SnapshotError, disk::DiskStat, repo_path};
use crate::{
    contract::{FileMode, Flags, IntentToAdd},
    repo_path::RepoPath,
};

/// The index as it was when the capture began, and what it says of each path.
///
/// Invariant: entries are sorted by path, then stage, and are all files, links or gitlinks.
pub(super) struct PrivateIndex {
    state: State,
    /// Whether the file carries no checksum (`index.skipHash`), so that damage cannot be seen.
    pub(super) unchecked: bool,
}

impl PrivateIndex {
    /// Reads the index file at `path`; an absent file is an empty index.
    ///
    /// Its checksum is verified before anything is believed.
    pub(super) fn read(path: &Path, hash: gix::hash::Kind) -> Result<Self, SnapshotError> {
        refuse_what_is_no_file(path)?;
        let file = gix::index::File::at_or_default(path, hash, false, Default::default());
        let file = file.map_err(|source| SnapshotError::Index {
            path: path.into(),
            source: source.into(),
        })?;
        let unchecked = file.checksum().is_none() && path.exists();
        let state = file.into_parts().0;
        let odd = state.entries().iter().map(|entry| entry.path(&state));
        if let Some(odd) = odd.clone().find(|path| !is_path(path)) {
            return Err(SnapshotError::Index {
                path: path.into(),
                source: format!("its entry `{odd}` is no path").into(),
            });
        }
        Ok(PrivateIndex { state, unchecked })
    }

    /// Replaces the directories of a sparse index by the entries below them: flags and trees speak of files.
    pub(super) fn expand_sparse(&mut self, repo: &gix::Repository) -> Result<(), SnapshotError> {
        if !self.state.is_sparse() {
            return Ok(());
        }
        let mut expanded = Vec::new();
        for entry in self.state.entries().iter().filter(|e| e.mode.is_sparse()) {
            files_below(repo, entry.id, entry.path(&self.state), &mut expanded)?;
        }
        self.state
            .remove_entries(|_, _, entry| entry.mode.is_sparse());
        for (path, id, mode) in expanded {
            let flags = EntryFlags::SKIP_WORKTREE | EntryFlags::EXTENDED;
            self.state
                .dangerously_push_entry(Default::default(), id, flags, mode, path.as_bstr());
        }
        self.state.sort_entries();
        Ok(())
    }

    pub(super) fn state(&self) -> &State {
        &self.state
    }

    pub(super) fn entries(&self) -> &[Entry] {
        self.state.entries()
    }

    pub(super) fn path(&self, entry: usize) -> &BStr {
        self.state.entries()[entry].path(&self.state)
    }

    /// Tells whether the file that `stat` describes may differ from the entry, so that it must be read.
    ///
    /// Stricter than Git where that costs no more than a reading: configuration that weakens the comparison
    /// (`core.checkStat`, `core.trustctime`) does not count, and an entry is racy in the whole second of the
    /// index, as in Git's default build (gitformat-index(5), racy-git).
    pub(super) fn may_differ(&self, entry: &Entry, stat: &DiskStat) -> bool {
        let known = &entry.stat;
        let time = |known: gix::index::entry::stat::Time, (seconds, nanos): (i64, u32)| {
            known.secs == seconds as u32 && (known.nsecs == 0 || known.nsecs == nanos)
        };
        let same = time(known.mtime, stat.mtime)
            && time(known.ctime, stat.ctime)
            && known.size == stat.size as u32
            && known.ino == stat.ino as u32
            && known.uid == stat.uid
            && known.gid == stat.gid;
        let racy = stat.mtime.0 >= self.state.timestamp().unix_seconds();
        let emptied = known.size == 0 && !entry.id.is_empty_blob();
        !same || racy || emptied || entry.flags.contains(EntryFlags::INTENT_TO_ADD)
    }

    /// Returns the paths that are unmerged, once each.
    pub(super) fn conflicts(&self) -> Vec<RepoPath> {
        let mut paths: Vec<RepoPath> = self
            .entries()
            .iter()
            .filter(|entry| entry.stage() != Stage::Unconflicted)
            .map(|entry| repo_path(entry.path(&self.state)))
            .collect();
        paths.dedup();
        paths
    }

    /// Returns path and blob of each side of each conflict.
    pub(super) fn sides(&self) -> impl Iterator<Item = (BString, ObjectId)> {
        let is_side = |e: &&Entry| e.stage() != Stage::Unconflicted && e.mode != Mode::COMMIT;
        let sides = self.entries().iter().filter(is_side);
        sides.map(|entry| (entry.path(&self.state).to_owned(), entry.id))
    }

    /// Returns the entries that `git add --intent-to-add` made.
    pub(super) fn intent_to_add(&self) -> Vec<IntentToAdd> {
        let marked = |entry: &&Entry| entry.flags.contains(EntryFlags::INTENT_TO_ADD);
        self.entries()
            .iter()
            .filter(marked)
            .filter_map(|entry| {
                Some(IntentToAdd {
                    path: repo_path(entry.path(&self.state)),
                    mode: file_mode(entry.mode)?,
                })
            })
            .collect()
    }

    /// Returns the flags of the entries that have any; `skips` says whose skip-worktree flag counts.
    pub(super) fn flags(&self, skips: impl Fn(usize) -> bool) -> Vec<Flags> {
        let flagged = EntryFlags::ASSUME_VALID | EntryFlags::SKIP_WORKTREE;
        let entries = self.entries().iter().enumerate();
        let entries = entries.filter(|(_, entry)| entry.flags.intersects(flagged));
        let flags = entries.map(|(at, entry)| Flags {
            path: repo_path(entry.path(&self.state)),
            assume_unchanged: entry.flags.contains(EntryFlags::ASSUME_VALID),
            skip_worktree: entry.flags.contains(EntryFlags::SKIP_WORKTREE) && skips(at),
        });
        let mut flags: Vec<Flags> = flags
            .filter(|flags| flags.assume_unchanged || flags.skip_worktree)
            .collect();
        flags.dedup();
        flags
    }
}

/// Sees that nobody has to be waited for at the other end of a named pipe.
fn refuse_what_is_no_file(path: &Path) -> Result<(), SnapshotError> {
    match std::fs::metadata(path) {
        Ok(about) if !about.is_file() => Err(SnapshotError::Index {
            path: path.into(),
            source: "it is no regular file".into(),
        }),
        // What is not there is an empty index, and what cannot be looked at cannot be read either.
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Tells whether an entry's path can lie in a worktree; that of a sparse directory ends in a slash.
fn is_path(path: &BStr) -> bool {
    let path = path.strip_suffix(b"/").unwrap_or(path);
    let good = |part: &[u8]| !matches!(part, b"" | b"." | b"..");
    path.split(|b| *b == b'/').all(good)
}

/// Returns the mode of an index entry as documents hold it.
pub(super) fn file_mode(mode: Mode) -> Option<FileMode> {
    Some(match mode {
        Mode::FILE => FileMode::Regular,
        Mode::FILE_EXECUTABLE => FileMode::Executable,
        Mode::SYMLINK => FileMode::Link,
        Mode::COMMIT => FileMode::Gitlink,
        _ => return None,
    })
}

/// Collects the files below a tree, whose path ends in a slash.
fn files_below(
    repo: &gix::Repository,
    tree: ObjectId,
    prefix: &BStr,
    files: &mut Vec<(BString, ObjectId, Mode)>,
) -> Result<(), SnapshotError> {
    let mut buf = Vec::new();
    let tree = repo
        .objects
        .find_tree(&tree, &mut buf)
        .map_err(|source| SnapshotError::Object {
            id: tree,
            source: source.into(),
        })?;
    for entry in &tree.entries {
        let mut path = BString::from(prefix);
        path.extend_from_slice(entry.filename);
        if entry.mode.is_tree() {
            path.push(b'/');
            files_below(repo, entry.oid.to_owned(), path.as_bstr(), files)?;
        } else {
            files.push((path, entry.oid.to_owned(), Mode::from(entry.mode)));
        }
    }
    Ok(())
}
