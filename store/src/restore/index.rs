//! The index: staged entries, conflict stages, intent-to-add marks and flags.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    fs::OpenOptions,
    io::{self, BufWriter, Write},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

use gix::{
    ObjectId,
    bstr::{BStr, BString, ByteSlice},
    index::{
        State,
        entry::{Flags, Mode, Stage, Stat},
    },
    objs::tree::{EntryKind, EntryMode},
};

use super::{
    Flagging, RestoreError,
    plan::{self, Plan, PlannedFile},
    recompute::Found,
    state::Restorable,
    trees::{self, TreeItem},
};
use crate::{
    contract::{FileMode, Flags as RecordedFlags},
    repo_path::RepoPath,
};

/// The stages of an unmerged path, in the order of their trees.
const STAGES: [Stage; 3] = [Stage::Base, Stage::Ours, Stage::Theirs];

/// An index that is to be written.
pub(super) struct NewIndex {
    entries: State,
    /// Paths whose flags were not set.
    pub(super) flagged: Vec<RepoPath>,
}

/// What is on disk, by path.
struct OnDisk<'a>(HashMap<&'a BStr, (&'a PlannedFile, Stat)>);

impl OnDisk<'_> {
    /// Returns the stat of a path whose file is the one that is staged.
    fn stat_of(&self, staged: &TreeItem) -> Option<Stat> {
        let (file, stat) = self.0.get(staged.path.as_bstr())?;
        (file.id == staged.id && file.kind == staged.kind).then_some(*stat)
    }
}

impl NewIndex {
    /// Puts an index together; `found` is what is on disk at each planned file.
    pub(super) fn build(
        plan: &Plan,
        found: &[Option<Found>],
        state: &Restorable<'_>,
        flagging: Flagging,
        hash: gix::hash::Kind,
    ) -> Result<Self, RestoreError> {
        let files = plan.files.iter().zip(found);
        let on_disk = files
            .filter_map(|(file, found)| Some((file.path.as_bstr(), (file, found.as_ref()?.stat))));
        let on_disk = OnDisk(on_disk.collect());
        let absent = plan.files.iter().filter(|file| file.sparse);
        let absent: HashSet<&BStr> = absent.map(|file| file.path.as_bstr()).collect();
        let mut index = NewIndex {
            entries: State::new(hash),
            flagged: Vec::new(),
        };
        let is_sparse = plan::is_sparse(state.content);
        let hides_nothing =
            |flags: &RecordedFlags, is_staged: bool| match is_sparse && flags.skip_worktree {
                true => absent.contains(flags.path.as_bstr()),
                false => is_staged,
            };
        let may_be_set = |flags: &RecordedFlags, is_staged: bool| {
            flagging == Flagging::Always || hides_nothing(flags, is_staged)
        };
        // A flag whose path is unmerged here, or whose edit it would hide, stays in.
        let listed = state.content.worktree.flags.inline().iter();
        let mut left: BTreeMap<&BStr, &RecordedFlags> =
            listed.map(|entry| (entry.path.as_bstr(), entry)).collect();
        let mut take_flags = |path: &BStr, is_staged: bool| match left.get(path).copied() {
            Some(flags) if may_be_set(flags, is_staged) => {
                left.remove(path);
                flags_of(flags)
            }
            _ => Flags::empty(),
        };
        for item in &plan.index {
            let stat = on_disk.stat_of(item);
            let bits = take_flags(item.path.as_bstr(), stat.is_some());
            index.add(item, stat.unwrap_or_default(), bits);
        }
        for (stage, items) in STAGES.into_iter().zip(&plan.conflicts) {
            for item in items {
                index.add(item, Stat::default(), Flags::from_stage(stage));
            }
        }
        for entry in state.content.worktree.intent_to_add.inline() {
            let (id, mode) = (ObjectId::empty_blob(hash), intended_mode(entry.mode));
            let path = entry.path.as_bstr();
            let bits = Flags::INTENT_TO_ADD | Flags::EXTENDED | take_flags(path, false);
            index
                .entries
                .dangerously_push_entry(Stat::default(), id, bits, mode, path);
        }
        index.flagged = left.into_values().map(|entry| entry.path.clone()).collect();
        index.entries.sort_entries();
        refuse_twice(&index.entries)?;
        Ok(index)
    }

    fn add(&mut self, item: &TreeItem, stat: Stat, bits: Flags) {
        let mode = index_mode(item.kind);
        self.entries
            .dangerously_push_entry(stat, item.id, bits, mode, item.path.as_bstr());
    }

    /// Replaces the index file by rename, under its lock; one run at a time.
    ///
    /// `seen` is what [`IndexSeen::unlocked`] gave before anything was changed.
    pub(super) fn write(self, path: &Path, seen: &IndexSeen) -> Result<(), RestoreError> {
        let (new, lock) = (new_of(path), lock_of(path));
        let written = self.write_new(path, &new);
        let moved = written.and_then(|()| {
            take_lock(&new, &lock)?;
            let replaced = match IndexSeen::now(path)? == *seen {
                true => std::fs::rename(&lock, path).map_err(io_error(path)),
                false => Err(RestoreError::IndexChanged(path.into())),
            };
            replaced.inspect_err(|_| drop(std::fs::remove_file(&lock)))
        });
        // It is the index by another name now, or of no use.
        let _ = std::fs::remove_file(&new);
        moved
    }

    /// Writes the index beside its place.
    fn write_new(self, path: &Path, new: &Path) -> Result<(), RestoreError> {
        // Never written over: what a run that was killed has left may be the index by another name.
        let _ = std::fs::remove_file(new);
        let mut options = OpenOptions::new();
        let file = options.write(true).create_new(true).mode(0o666).open(new);
        let file = file.map_err(io_error(new))?;
        if let Ok(before) = std::fs::metadata(path) {
            let mode = before.permissions().mode() & 0o777;
            file.set_permissions(std::fs::Permissions::from_mode(mode))
                .map_err(io_error(path))?;
        }
        let mut out = BufWriter::with_capacity(64 << 10, file);
        let file = gix::index::File::from_state(self.entries, path);
        file.write_to(&mut out, gix::index::write::Options::default())
            .map_err(|source| index_error(path, source))?;
        out.flush().map_err(io_error(path))
    }
}

/// What tells whether an index file was replaced or written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct IndexSeen(Option<(u64, u64, i64, i64)>);

impl IndexSeen {
    /// Looks at the index file, which no other process may be writing.
    pub(super) fn unlocked(path: &Path) -> Result<Self, RestoreError> {
        let lock = lock_of(path);
        if is_left_behind(&lock, &new_of(path)) {
            std::fs::remove_file(&lock).map_err(io_error(&lock))?;
        }
        if lock.symlink_metadata().is_ok() {
            return Err(RestoreError::Locked(lock));
        }
        IndexSeen::now(path)
    }

    fn now(path: &Path) -> Result<Self, RestoreError> {
        use std::os::unix::fs::MetadataExt;
        match std::fs::metadata(path) {
            Ok(found) => Ok(IndexSeen(Some((
                found.ino(),
                found.size(),
                found.mtime(),
                found.mtime_nsec(),
            )))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(IndexSeen(None)),
            Err(error) => Err(io_error(path)(error)),
        }
    }
}

/// Returns the lock file of an index, gitformat-index(5).
fn lock_of(path: &Path) -> PathBuf {
    beside(path, ".lock")
}

/// Returns where a new index is written before it takes the place of the old one.
fn new_of(path: &Path) -> PathBuf {
    beside(path, ".handoff")
}

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

/// Makes the new index the lock file by another name, so that a lock that is left behind can be told from others'.
fn take_lock(new: &Path, lock: &Path) -> Result<(), RestoreError> {
    let taken = match std::fs::hard_link(new, lock) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            // Not every file system has links.
            let made = OpenOptions::new().write(true).create_new(true).open(lock);
            made.and_then(|_| std::fs::rename(new, lock))
        }
        taken => taken,
    };
    taken.map_err(|source| match source.kind() {
        io::ErrorKind::AlreadyExists => RestoreError::Locked(lock.into()),
        _ => io_error(lock)(source),
    })
}

/// Tells whether a run that was killed has left the lock.
fn is_left_behind(lock: &Path, new: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let id = |path: &Path| std::fs::symlink_metadata(path).map(|about| (about.dev(), about.ino()));
    matches!((id(lock), id(new)), (Ok(lock), Ok(new)) if lock == new)
}

/// Reads the index file back and computes the tree of its staged entries, those to be added left out.
pub(super) fn tree_on_disk(path: &Path, hash: gix::hash::Kind) -> Result<ObjectId, RestoreError> {
    let file = gix::index::File::at(path, hash, false, Default::default())
        .map_err(|source| index_error(path, source))?;
    let staged = file.entries().iter().filter(|entry| {
        entry.stage() == Stage::Unconflicted && !entry.flags.contains(Flags::INTENT_TO_ADD)
    });
    let items: Vec<TreeItem> = staged
        .filter_map(|entry| {
            let mode = EntryMode::try_from(entry.mode.bits()).ok()?;
            Some(TreeItem {
                path: entry.path(&file).into(),
                kind: EntryKind::from(mode),
                id: entry.id,
            })
        })
        .collect();
    trees::tree_id(&items, hash).map_err(|source| index_error(path, source))
}

fn refuse_twice(state: &State) -> Result<(), RestoreError> {
    for pair in state.entries().windows(2) {
        let (one, other) = (&pair[0], &pair[1]);
        let path = one.path(state);
        // Stages of one path stand side by side, but not beside a staged entry, gitformat-index(5).
        if path == other.path(state)
            && (one.stage() == Stage::Unconflicted || one.stage() == other.stage())
        {
            return Err(RestoreError::IndexTwice(BString::from(path)));
        }
    }
    Ok(())
}

fn flags_of(entry: &RecordedFlags) -> Flags {
    let mut flags = Flags::empty();
    flags.set(Flags::ASSUME_VALID, entry.assume_unchanged);
    flags.set(Flags::SKIP_WORKTREE | Flags::EXTENDED, entry.skip_worktree);
    flags
}

fn index_mode(kind: EntryKind) -> Mode {
    match kind {
        EntryKind::Blob => Mode::FILE,
        EntryKind::BlobExecutable => Mode::FILE_EXECUTABLE,
        EntryKind::Link => Mode::SYMLINK,
        EntryKind::Commit => Mode::COMMIT,
        EntryKind::Tree => Mode::DIR,
    }
}

fn intended_mode(mode: FileMode) -> Mode {
    match mode {
        FileMode::Regular => Mode::FILE,
        FileMode::Executable => Mode::FILE_EXECUTABLE,
        FileMode::Link => Mode::SYMLINK,
        FileMode::Gitlink => Mode::COMMIT,
    }
}

fn io_error(path: &Path) -> impl FnOnce(io::Error) -> RestoreError {
    let path = path.to_owned();
    move |source| RestoreError::Io { path, source }
}

fn index_error(path: &Path, source: gix::Error) -> RestoreError {
    RestoreError::Index {
        path: path.into(),
        source: source.into(),
    }
}
