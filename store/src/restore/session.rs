//! What the steps of one restore share.

use std::path::{Path, PathBuf};

use gix::{
    ObjectId,
    bstr::{BString, ByteSlice},
    objs::tree::EntryKind,
};

use super::{
    RestoreError, RestoredSubmodule,
    content::{Contents, Expected},
    disk::Disk,
    index,
    marker::Interrupted,
    parallel,
    plan::{Plan, PlannedFile},
    recompute::{self, DiskTraits, Found},
    state::Restorable,
    trees::{self, TreeItem},
};
use crate::{contract::Conversions, git::Git, repo_path::RepoPath, repository::Repository};

/// Bytes that are read from a file at a time.
pub(super) const READ_BYTES: usize = 64 << 10;

/// What was done to the planned files.
pub(super) struct Laid {
    /// What each must hold.
    pub(super) expected: Vec<Expected>,
    /// What was found on disk where nothing was to be done, and a change since would show.
    pub(super) known: Vec<Option<Found>>,
    /// What was left where it is, though it is not planned.
    pub(super) kept: Vec<BString>,
}

/// One restore: its record, its plan, and the worktree it goes to.
pub(super) struct Session<'a> {
    pub(super) state: Restorable<'a>,
    pub(super) hash: gix::hash::Kind,
    pub(super) plan: Plan,
    pub(super) disk: Disk,
    pub(super) traits: DiskTraits,
    worktree: PathBuf,
    git: Git,
    objects: gix::ThreadSafeRepository,
}

impl<'a> Session<'a> {
    pub(super) fn open(
        repository: &Repository,
        state: Restorable<'a>,
    ) -> Result<Self, RestoreError> {
        let worktree = repository
            .worktree()
            .ok_or_else(|| RestoreError::Bare(repository.git_dir().into()))?;
        let config = repository.gix().config_snapshot();
        let is_on = |key: &str| config.boolean(key) != Some(false);
        let disk = Disk::open(worktree).map_err(|source| RestoreError::Io {
            path: worktree.into(),
            source,
        })?;
        Ok(Session {
            hash: repository.hash_kind(),
            plan: Plan::read(repository.gix(), &state)?,
            state,
            disk,
            traits: DiskTraits {
                has_modes: is_on("core.fileMode"),
                has_links: is_on("core.symlinks"),
            },
            worktree: worktree.into(),
            git: repository.git().clone(),
            objects: repository.gix().clone().into_sync(),
        })
    }

    /// Lists everything below a tree, sorted by path bytes.
    pub(super) fn flatten(&self, tree: ObjectId) -> Result<Vec<TreeItem>, RestoreError> {
        trees::flatten(&self.objects.to_thread_local(), tree)
    }

    /// Returns the conversions that were in force when the worktree was captured.
    pub(super) fn conversions(&self) -> &Conversions {
        &self.state.content.worktree.conversions
    }

    /// Returns the objects, for one thread.
    pub(super) fn objects(&self) -> gix::Repository {
        self.objects.to_thread_local()
    }

    /// Returns a source of file contents for one thread.
    pub(super) fn contents(&self) -> Contents {
        let conversion = self.plan.conversion(self.conversions(), self.hash);
        Contents::new(self.objects.to_thread_local(), self.git.clone(), conversion)
    }

    /// Refuses to go on in a directory where another record was being restored.
    pub(super) fn refuse_other(
        &self,
        interrupted: Option<Interrupted>,
    ) -> Result<(), RestoreError> {
        match interrupted {
            Some(Interrupted::Record(found)) if found != self.state.id => {
                Err(RestoreError::Interrupted {
                    dir: self.worktree.clone(),
                    found,
                })
            }
            _ => Ok(()),
        }
    }

    /// Reads back what is on disk at each planned file.
    pub(super) fn look(&self, laid: &Laid) -> Result<Vec<Option<Found>>, RestoreError> {
        let start = || Ok((self.disk.another(), vec![0; READ_BYTES]));
        parallel::map(&self.plan.files, start, |(disk, buffer), at, file| {
            let known = laid.known.get(at).and_then(Option::as_ref);
            recompute::look(disk, file, self.traits, known, buffer)
        })
    }

    /// Computes the tree of what is on disk, which must be the recorded one.
    pub(super) fn check_worktree(
        &self,
        laid: &Laid,
        found: &[Option<Found>],
    ) -> Result<ObjectId, RestoreError> {
        let mut paths = Vec::new();
        let mut items = Vec::with_capacity(found.len());
        for ((file, expected), found) in self.plan.files.iter().zip(&laid.expected).zip(found) {
            let stored = TreeItem {
                path: file.path.clone(),
                kind: file.kind,
                id: file.id,
            };
            match found {
                Some(found) if recompute::is_as_planned(file, &expected.id, found) => {
                    items.push(stored)
                }
                None if file.sparse => items.push(stored),
                other => {
                    paths.push(&file.path);
                    items.extend(other.map(|found| TreeItem {
                        kind: found.kind,
                        id: found.id,
                        ..stored
                    }));
                }
            }
        }
        let tree = self.tree_id(&items)?;
        self.require("worktree", self.state.worktree, tree, paths)
    }

    /// Computes the tree of the index file, which must be the recorded one.
    pub(super) fn check_index(&self, path: &Path) -> Result<ObjectId, RestoreError> {
        let tree = index::tree_on_disk(path, self.hash)?;
        self.require("index", self.state.index, tree, Vec::new())
    }

    fn require(
        &self,
        part: &'static str,
        expected: ObjectId,
        found: ObjectId,
        paths: Vec<&BString>,
    ) -> Result<ObjectId, RestoreError> {
        if found == expected {
            return Ok(found);
        }
        Err(RestoreError::Mismatch {
            part,
            expected,
            found,
            paths: paths.into_iter().filter_map(repo_path).collect(),
        })
    }

    fn tree_id(&self, items: &[TreeItem]) -> Result<ObjectId, RestoreError> {
        trees::tree_id(items, self.hash).map_err(|source| RestoreError::Object {
            id: self.state.worktree,
            source: source.into(),
        })
    }

    /// Returns the submodules of the worktree.
    pub(super) fn submodules(&self) -> Vec<RestoredSubmodule> {
        let files = self.plan.files.iter();
        let links = files.filter(|file| file.kind == EntryKind::Commit);
        links
            .filter_map(|file| {
                Some(RestoredSubmodule {
                    path: repo_path(&file.path)?,
                    commit: file.id.into(),
                    staged: self.plan.staged(file.path.as_bstr()).map(Into::into),
                })
            })
            .collect()
    }

    /// Returns the paths of the planned files for which `is_meant` says so, given their place and themselves.
    pub(super) fn paths_where(
        &self,
        is_meant: impl Fn(usize, &PlannedFile) -> bool,
    ) -> Vec<RepoPath> {
        let files = self.plan.files.iter().enumerate();
        files
            .filter(|(at, file)| is_meant(*at, file))
            .filter_map(|(_, file)| repo_path(&file.path))
            .collect()
    }
}

/// Returns a path of a verified tree, all of which are paths inside a repository.
pub(super) fn repo_path(path: &BString) -> Option<RepoPath> {
    RepoPath::from_bytes(path.as_bytes()).ok()
}
