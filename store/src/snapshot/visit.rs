//! One directory of the walk: what each of its names is, and which entries of the index it answers.

use std::{ops::Range, sync::Arc};

use gix::{
    bstr::{BStr, BString, ByteSlice},
    index::entry::{Flags as EntryFlags, Mode, Stage},
};
use rustix::fs::FileType;

use super::{
    SnapshotError,
    disk::{Directory, DiskStat, Name},
    disk_path,
    ignore::{Rule, Rules},
    index::PrivateIndex,
    names,
    nested::is_repository,
    scan::{Candidate, Judges, LeftOut, Scan, Walk},
};
use crate::contract::OmissionReason;

/// A directory that is still to be visited.
pub(super) struct Pending {
    /// Ends in a slash, or is empty.
    prefix: BString,
    /// The entries below it.
    entries: Range<usize>,
    rules: Arc<Rules>,
    /// The rule that keeps it out, where it is visited for its tracked files alone.
    excluded: Option<Arc<Rule>>,
}

impl Pending {
    /// Begins at the top, above all `entries` of the index.
    pub(super) fn top(entries: usize) -> Self {
        Pending {
            prefix: BString::default(),
            entries: 0..entries,
            rules: Rules::none(),
            excluded: None,
        }
    }
}

/// What the index has of one name in a directory.
struct Tracked<'a> {
    name: &'a BStr,
    /// The entries of the path itself, one or those of a conflict.
    own: Range<usize>,
    /// The entries below it.
    below: Range<usize>,
}

/// A directory that is being visited.
struct Here<'a> {
    at: &'a Pending,
    /// Its own ignore rules, and those above it.
    rules: Arc<Rules>,
    directory: Directory,
}

/// One name of a directory, and what is known of it.
struct Seen<'a> {
    name: &'a BStr,
    path: BString,
    kind: FileType,
    stat: Option<DiskStat>,
}

/// Visits directories, one after the other; each thread of a walk has one.
pub(super) struct Visitor<'a> {
    walk: &'a Walk<'a>,
    judges: Judges,
    pub(super) found: Scan,
    /// Directories that the last visit led to.
    pub(super) next: Vec<Pending>,
}

impl<'a> Visitor<'a> {
    pub(super) fn new(walk: &'a Walk<'a>, judges: &Judges) -> Self {
        Visitor {
            walk,
            judges: judges.clone(),
            found: Scan::default(),
            next: Vec::new(),
        }
    }

    /// Judges every name of a directory and every entry of the index that lies directly in it.
    pub(super) fn visit(&mut self, at: &Pending) -> Result<(), SnapshotError> {
        let path = at.prefix.strip_suffix(b"/").unwrap_or(&at.prefix).as_bstr();
        let listed = self
            .walk
            .root
            .directory(path)
            .and_then(|mut directory| Ok((directory.names()?, directory)));
        let (mut names, directory) = match listed {
            Ok(listed) => listed,
            Err(source) if path.is_empty() => {
                let path = ".".into();
                return Err(SnapshotError::Io { path, source });
            }
            Err(error) => {
                self.cannot_look(path, at.entries.clone(), &error);
                return Ok(());
            }
        };
        let own_repository = names.iter().any(|name| name.name == ".git") && !path.is_empty();
        if own_repository && at.excluded.is_none() && is_repository(&directory) {
            if at.entries.is_empty() {
                self.found.repositories.push(path.into());
                return Ok(());
            }
            let detail = "its files are captured, its history is not";
            self.leave_out(path, OmissionReason::NestedRepository, Some(detail));
        }
        if names.is_empty() && !path.is_empty() && at.excluded.is_none() {
            self.found.empty_directories.push(path.into());
        }
        let here = Here {
            at,
            rules: self.rules_of(at, &directory, &names)?,
            directory,
        };
        let tracked = Self::tracked(self.walk.index, at);
        if self.walk.ignores_case {
            take_tracked_spellings(&here.directory, &mut names, &tracked);
        }
        let mut pending = tracked.into_iter().peekable();
        for name in &names {
            while let Some(absent) = pending.next_if(|tracked| tracked.name < name.name.as_bstr()) {
                self.absent(absent.own);
                self.absent(absent.below);
            }
            let known = pending.next_if(|tracked| tracked.name == name.name.as_bstr());
            self.name(&here, name, known)?;
        }
        for absent in pending {
            self.absent(absent.own);
            self.absent(absent.below);
        }
        Ok(())
    }

    /// Adds the directory's own ignore rules to those above it; below a directory that is kept out, none count.
    fn rules_of(
        &mut self,
        at: &Pending,
        directory: &Directory,
        names: &[Name],
    ) -> Result<Arc<Rules>, SnapshotError> {
        if at.excluded.is_some() {
            return Ok(at.rules.clone());
        }
        let mut file = at.prefix.clone();
        file.extend_from_slice(b".gitignore");
        let read = if names.iter().any(|name| name.name == ".gitignore") {
            directory.read(".gitignore".into())
        } else {
            Ok(self.outside_sparse_checkout(file.as_ref())?)
        };
        match read {
            Ok(Some(bytes)) => at
                .rules
                .with_file(at.prefix.as_bstr(), &bytes)
                .map_err(|source| SnapshotError::Io {
                    path: disk_path(file.as_ref()),
                    source,
                }),
            // A link is not followed, and what cannot be read rules nothing, as in Git.
            Ok(None) | Err(_) => Ok(at.rules.clone()),
        }
    }

    /// Returns the stored content of a file that a sparse checkout leaves absent: as in Git, its rules hold.
    fn outside_sparse_checkout(&self, path: &BStr) -> Result<Option<Vec<u8>>, SnapshotError> {
        let entry = self.walk.index.state().entry_by_path(path);
        let Some(entry) = entry.filter(|e| e.flags.contains(EntryFlags::SKIP_WORKTREE)) else {
            return Ok(None);
        };
        let repo = self.walk.repo.to_thread_local();
        match repo.find_object(entry.id) {
            Ok(found) => Ok(Some(found.detach().data)),
            Err(source) => Err(SnapshotError::Object {
                id: entry.id,
                source: format!("it is `{path}`, which says what is ignored: {source}").into(),
            }),
        }
    }

    /// Groups the entries of a directory by name.
    fn tracked<'i>(index: &'i PrivateIndex, at: &Pending) -> Vec<Tracked<'i>> {
        let mut tracked: Vec<Tracked<'i>> = Vec::new();
        let mut next = at.entries.start;
        while next < at.entries.end {
            let rest = index.path(next)[at.prefix.len()..].as_bstr();
            let slash = rest.find_byte(b'/');
            let name = rest[..slash.unwrap_or(rest.len())].as_bstr();
            let same = |entry: &gix::index::Entry| {
                let path = entry.path(index.state());
                let other = &path[at.prefix.len()..];
                match slash {
                    Some(slash) => other.starts_with(&rest[..=slash]),
                    None => other == rest.as_bytes(),
                }
            };
            let entries = &index.entries()[next..at.entries.end];
            let count = entries.partition_point(same).max(1);
            let range = next..next + count;
            let (own, below) = if slash.is_none() {
                (range.clone(), 0..0)
            } else {
                (0..0, range.clone())
            };
            tracked.push(Tracked { name, own, below });
            next = range.end;
        }
        // Paths sort `a-b` before `a/c`, names the other way round.
        tracked.sort_by(|a, b| a.name.cmp(b.name));
        tracked.dedup_by(|later, first| {
            let same = later.name == first.name;
            if same && first.own.is_empty() {
                first.own = later.own.clone();
            }
            if same && first.below.is_empty() {
                first.below = later.below.clone();
            }
            same
        });
        tracked
    }

    /// Judges one name of a directory.
    fn name(
        &mut self,
        here: &Here<'_>,
        name: &Name,
        known: Option<Tracked<'_>>,
    ) -> Result<(), SnapshotError> {
        let mut path = here.at.prefix.clone();
        path.extend_from_slice(&name.name);
        if path == ".git" || self.walk.git_dir.as_ref() == Some(&path) {
            return Ok(());
        }
        if name.name == ".git" {
            if !is_repository(&here.directory) && here.at.excluded.is_none() {
                self.leave_out(path.as_bstr(), OmissionReason::RefusedByGit, None);
            }
            return Ok(());
        }
        let (own, below) = known.map_or((0..0, 0..0), |known| (known.own, known.below));
        let mut seen = Seen {
            name: name.name.as_bstr(),
            path,
            kind: name.kind,
            stat: None,
        };
        if name.kind == FileType::Unknown || (!own.is_empty() && name.kind != FileType::Directory) {
            match here.directory.stat(seen.name) {
                Ok(stat) => {
                    seen.kind = stat.kind;
                    seen.stat = Some(stat);
                }
                Err(error) => {
                    self.cannot_look(seen.path.as_bstr(), own.chain(below), &error);
                    return Ok(());
                }
            }
        }
        if seen.name == ".gitattributes" && seen.kind != FileType::RegularFile {
            self.found.odd_attributes = true;
        }
        if seen.kind == FileType::Directory {
            if let Some(entry) = self.preferred(own.clone())
                && self.walk.index.entries()[entry].mode == Mode::COMMIT
            {
                self.found.gitlinks.push(entry);
                return Ok(());
            }
            self.replaced(here, own, seen.path.as_bstr(), below.is_empty())?;
            return self.directory(here, seen.path, below);
        }
        self.replaced(here, below, seen.path.as_bstr(), own.is_empty())?;
        match (self.preferred(own.clone()), seen.stat) {
            (Some(entry), Some(stat)) => {
                self.tracked_file(seen.path, entry, own, stat);
                Ok(())
            }
            _ => self.untracked_file(here, seen),
        }
    }

    /// Judges a directory; one with tracked files is always visited.
    fn directory(
        &mut self,
        here: &Here<'_>,
        path: BString,
        below: Range<usize>,
    ) -> Result<(), SnapshotError> {
        let excluded = self.excluded(here, path.as_bstr(), true)?;
        if below.is_empty() {
            if let Some(rule) = excluded {
                self.found.excluded.count(&rule);
                return Ok(());
            }
            if self.judges.omit.matches(path.as_bstr(), true) {
                self.leave_out(path.as_bstr(), OmissionReason::ByRequest, None);
                return Ok(());
            }
            if names::is_refused(&path, false) {
                self.leave_out(path.as_bstr(), OmissionReason::RefusedByGit, None);
                return Ok(());
            }
        }
        let mut prefix = path;
        prefix.push(b'/');
        self.next.push(Pending {
            prefix,
            entries: below,
            rules: here.rules.clone(),
            excluded,
        });
        Ok(())
    }

    fn tracked_file(&mut self, path: BString, entry: usize, own: Range<usize>, stat: DiskStat) {
        if self.judges.omit.matches(path.as_bstr(), false) {
            // Named once, with the entries of the index.
            return;
        }
        let known = &self.walk.index.entries()[entry];
        let unmerged = known.stage() != Stage::Unconflicted;
        match stat.kind {
            FileType::Symlink if known.mode != Mode::SYMLINK && names::is_refused(&path, true) => {
                self.found.hidden.extend(own);
                self.leave_out(path.as_bstr(), OmissionReason::RefusedByGit, None);
            }
            FileType::RegularFile | FileType::Symlink => {
                if unmerged || self.wants_reading(known, &stat) {
                    let entry = Some(entry);
                    self.found.candidates.push(Candidate { path, entry, stat });
                } else {
                    self.found.unchanged.push(entry);
                }
            }
            other => {
                self.found.hidden.extend(own);
                self.leave_out(path.as_bstr(), OmissionReason::SpecialFile, special(other));
            }
        }
    }

    fn wants_reading(&self, known: &gix::index::Entry, stat: &DiskStat) -> bool {
        let same_kind = match known.mode {
            Mode::SYMLINK if self.walk.has_symlinks => stat.kind == FileType::Symlink,
            Mode::SYMLINK => true,
            Mode::FILE | Mode::FILE_EXECUTABLE => {
                let executable = known.mode == Mode::FILE_EXECUTABLE;
                stat.kind == FileType::RegularFile
                    && (!self.walk.trusts_executable_bit || executable == stat.is_executable())
            }
            _ => false,
        };
        !same_kind || self.walk.index.may_differ(known, stat)
    }

    fn untracked_file(&mut self, here: &Here<'_>, seen: Seen<'_>) -> Result<(), SnapshotError> {
        let Seen {
            name, path, kind, ..
        } = seen;
        if let Some(rule) = self.excluded(here, path.as_bstr(), false)? {
            self.found.excluded.count(&rule);
            return Ok(());
        }
        let stat = seen.stat.map_or_else(|| here.directory.stat(name), Ok);
        if self.judges.omit.matches(path.as_bstr(), false) {
            let size = stat.map_or(0, |stat| stat.size);
            if size > self.walk.max_file_bytes {
                let detail = format!("{size} bytes");
                self.leave_out(path.as_bstr(), OmissionReason::TooLarge, Some(&detail));
            } else {
                self.leave_out(path.as_bstr(), OmissionReason::ByRequest, None);
            }
        } else if !matches!(kind, FileType::RegularFile | FileType::Symlink) {
            self.leave_out(path.as_bstr(), OmissionReason::SpecialFile, special(kind));
        } else if names::is_refused(&path, kind == FileType::Symlink) {
            self.leave_out(path.as_bstr(), OmissionReason::RefusedByGit, None);
        } else {
            let entry = None;
            match stat {
                Ok(stat) => self.found.candidates.push(Candidate { path, entry, stat }),
                Err(error) => self.cannot_look(path.as_bstr(), 0..0, &error),
            }
        }
        Ok(())
    }

    /// Returns the rule that keeps a path out: the directory's, or its own.
    fn excluded(
        &mut self,
        here: &Here<'_>,
        path: &BStr,
        is_dir: bool,
    ) -> Result<Option<Arc<Rule>>, SnapshotError> {
        if here.at.excluded.is_some() {
            return Ok(here.at.excluded.clone());
        }
        match self.judges.rules.find(&here.rules, path, is_dir) {
            Ok(rule) => Ok(rule.map(Arc::new)),
            Err(source) => Err(SnapshotError::Io {
                path: disk_path(path),
                source,
            }),
        }
    }

    /// Returns the entry that stands for a path: of a conflict ours, as in Git.
    fn preferred(&self, own: Range<usize>) -> Option<usize> {
        let entries = self.walk.index.entries();
        own.clone()
            .find(|entry| matches!(entries[*entry].stage(), Stage::Unconflicted | Stage::Ours))
            .or(own.into_iter().next())
    }

    /// Notes entries that are not on disk; those outside a sparse checkout are not missed.
    fn absent(&mut self, entries: impl Iterator<Item = usize>) {
        let index = self.walk.index.entries();
        for entry in entries {
            match index[entry].flags.contains(EntryFlags::SKIP_WORKTREE) {
                true => self.found.sparse.push(entry),
                false => self.found.removed.push(entry),
            }
        }
    }

    /// Notes entries in whose place something of another kind stands. Where that is ignored and untracked, and so is not
    /// recorded, they are what they would be without it.
    fn replaced(
        &mut self,
        here: &Here<'_>,
        entries: Range<usize>,
        by: &BStr,
        is_untracked: bool,
    ) -> Result<(), SnapshotError> {
        let is_directory = self
            .walk
            .index
            .entries()
            .get(entries.start)
            .is_some_and(|entry| entry.path(self.walk.index.state()) == by);
        if !entries.is_empty() && is_untracked && self.excluded(here, by, is_directory)?.is_some() {
            self.absent(entries);
        } else {
            self.found.removed.extend(entries);
        }
        Ok(())
    }

    /// Notes a path that cannot be looked at; what vanished is simply not there.
    fn cannot_look(
        &mut self,
        path: &BStr,
        entries: impl Iterator<Item = usize>,
        error: &std::io::Error,
    ) {
        match why_unseen(error) {
            None => self.absent(entries),
            Some(reason) => {
                self.hide(entries);
                self.leave_out(path, reason, Some(&error.to_string()));
            }
        }
    }

    /// Notes entries that cannot be seen; those outside a sparse checkout stay as they are.
    fn hide(&mut self, entries: impl Iterator<Item = usize>) {
        let index = self.walk.index.entries();
        let seen = |entry: &usize| !index[*entry].flags.contains(EntryFlags::SKIP_WORKTREE);
        self.found.hidden.extend(entries.filter(seen));
    }

    fn leave_out(&mut self, path: &BStr, reason: OmissionReason, detail: Option<&str>) {
        self.found.left_out.push(LeftOut {
            path: path.into(),
            reason,
            detail: detail.map(Into::into),
        });
    }
}

/// Gives names the spelling that the index has, where the file system finds them by it as well.
fn take_tracked_spellings(directory: &Directory, names: &mut [Name], tracked: &[Tracked<'_>]) {
    for known in tracked {
        if names
            .binary_search_by(|name| name.name.as_bstr().cmp(known.name))
            .is_ok()
        {
            continue;
        }
        let other = names.iter_mut().find(|name| {
            name.name.eq_ignore_ascii_case(known.name)
                && !tracked.iter().any(|own| own.name == name.name.as_bstr())
        });
        if let Some(other) = other
            && directory.stat(known.name).is_ok()
        {
            other.name = known.name.into();
            names.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        }
    }
}

/// Returns why something cannot be seen; `None` where it is not there any more.
pub(super) fn why_unseen(error: &std::io::Error) -> Option<OmissionReason> {
    use rustix::io::Errno;
    match Errno::from_io_error(error) {
        Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => None,
        Some(Errno::NAMETOOLONG) => Some(OmissionReason::PathTooLong),
        _ => Some(OmissionReason::Unreadable),
    }
}

/// Names the kind of a file that Git cannot hold.
fn special(kind: FileType) -> Option<&'static str> {
    Some(match kind {
        FileType::Fifo => "fifo",
        FileType::Socket => "socket",
        FileType::CharacterDevice => "character device",
        FileType::BlockDevice => "block device",
        _ => return None,
    })
}
