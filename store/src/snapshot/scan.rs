//! The walk over the worktree: every path on disk and in the index ends in exactly one list.
//!
//! Nothing is read here but directories, ignore rules and what `lstat` says. Each directory is listed once and
//! compared with the entries of the index that lie in it.

use gix::bstr::BString;

use super::{
    SnapshotError,
    disk::{DiskStat, Root},
    ignore::{Excluded, GlobalRules},
    index::PrivateIndex,
    omit::Omit,
    queue::Queue,
    visit::{Pending, Visitor},
};
use crate::contract::OmissionReason;

/// What the walk found.
#[derive(Default)]
pub(super) struct Scan {
    /// Files and links whose content must be read.
    pub(super) candidates: Vec<Candidate>,
    /// Entries of files that the index vouches for.
    pub(super) unchanged: Vec<usize>,
    /// Entries that are not on disk.
    pub(super) removed: Vec<usize>,
    /// Entries that are not on disk and not missed there: a sparse checkout leaves them out.
    pub(super) sparse: Vec<usize>,
    /// Entries that lie where the system does not let us look, or where something lies that Git cannot hold.
    pub(super) hidden: Vec<usize>,
    /// Gitlink entries whose directory is there.
    pub(super) gitlinks: Vec<usize>,
    /// Repositories of their own that the index does not know.
    pub(super) repositories: Vec<BString>,
    /// Directories with nothing in them.
    pub(super) empty_directories: Vec<BString>,
    /// What is left out.
    pub(super) left_out: Vec<LeftOut>,
    /// What ignore rules kept out.
    pub(super) excluded: Excluded,
    /// Whether a `.gitattributes` is something else than a file.
    pub(super) odd_attributes: bool,
}

/// A file or link whose content must be read.
pub(super) struct Candidate {
    pub(super) path: BString,
    /// The index entry, if it has one; of an unmerged path the one that Git takes the mode from.
    pub(super) entry: Option<usize>,
    pub(super) stat: DiskStat,
}

/// A path that is left out, and why.
pub(super) struct LeftOut {
    pub(super) path: BString,
    pub(super) reason: OmissionReason,
    pub(super) detail: Option<String>,
}

/// What a walk needs to know.
pub(super) struct Walk<'a> {
    pub(super) repo: gix::ThreadSafeRepository,
    pub(super) root: &'a Root,
    pub(super) index: &'a PrivateIndex,
    pub(super) has_symlinks: bool,
    pub(super) trusts_executable_bit: bool,
    pub(super) ignores_case: bool,
    /// A file that is left out on request says so where it is over this size.
    pub(super) max_file_bytes: u64,
    /// Git directory, where it lies in the worktree under a name of its own.
    pub(super) git_dir: Option<BString>,
}

/// What each thread of a walk has for itself.
#[derive(Clone)]
pub(super) struct Judges {
    pub(super) rules: GlobalRules,
    pub(super) omit: Omit,
}

/// Walks the whole worktree, with as many threads as there are processors.
pub(super) fn scan(walk: &Walk<'_>, judges: &Judges) -> Result<Scan, SnapshotError> {
    let queue = Queue::new(vec![Pending::top(walk.index.entries().len())]);
    let parts = queue.run(|queue| -> Result<Scan, SnapshotError> {
        let mut visitor = Visitor::new(walk, judges);
        queue.work(|directory, more| {
            visitor.visit(&directory)?;
            more.append(&mut visitor.next);
            Ok::<(), SnapshotError>(())
        })?;
        Ok(visitor.found)
    })?;
    let mut all = Scan::default();
    for part in parts {
        all.merge(part);
    }
    all.sort();
    Ok(all)
}

impl Scan {
    fn merge(&mut self, other: Scan) {
        self.candidates.extend(other.candidates);
        self.unchanged.extend(other.unchanged);
        self.removed.extend(other.removed);
        self.sparse.extend(other.sparse);
        self.hidden.extend(other.hidden);
        self.gitlinks.extend(other.gitlinks);
        self.repositories.extend(other.repositories);
        self.empty_directories.extend(other.empty_directories);
        self.left_out.extend(other.left_out);
        self.excluded.merge(other.excluded);
        self.odd_attributes |= other.odd_attributes;
    }

    fn sort(&mut self) {
        self.candidates.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        self.unchanged.sort_unstable();
        self.removed.sort_unstable();
        self.sparse.sort_unstable();
        self.hidden.sort_unstable();
        self.gitlinks.sort_unstable();
        self.repositories.sort_unstable();
        self.empty_directories.sort_unstable();
        self.left_out.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    }
}
