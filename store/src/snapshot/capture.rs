//! The capture itself: scan, read, build, write.

use std::{os::unix::ffi::OsStrExt, path::Path};

use gix::{
    ObjectId,
    bstr::{BStr, BString},
    index::entry::Stage,
};

use super::{
    CaptureOptions, Snapshot, SnapshotError, Unfilled,
    assembly::Assembly,
    attributes::AttributeFiles,
    content::Reading,
    conversion::Converter,
    disk::Root,
    ignore::GlobalRules,
    index::PrivateIndex,
    keep::{Chain, keep},
    lfs::Lfs,
    limits::Limits,
    omit::Omit,
    operation::{self, InProgress},
    repo_path, rounds,
    scan::{self, Judges, LeftOut, Scan, Walk},
    submodules::{Found, Modules},
};
use crate::{
    contract::{Blocker, Flags, Omission, OmissionReason, Operation},
    conversion,
    new_objects::NewObjects,
    ref_store::{Head, RefError},
    repo_path::RepoPath,
    repository::Repository,
};

/// Captures the worktree of a repository.
///
/// On success all objects of the snapshot are in the repository, durable, but held by no ref: see [`keep`] and
/// [`capture_and_keep`].
///
/// # Errors
///
/// [`SnapshotError::Bare`] without a worktree; nothing is written with any error.
pub fn capture(
    repository: &Repository,
    options: &CaptureOptions,
) -> Result<Snapshot, SnapshotError> {
    begin(repository, options, None)
}

/// Captures the worktree of a repository and [keeps](keep) the objects, at the cost of one pack for both.
///
/// # Errors
///
/// As [`capture`], and where the ref that keeps them cannot be moved.
pub fn capture_and_keep(
    repository: &Repository,
    options: &CaptureOptions,
) -> Result<Snapshot, SnapshotError> {
    let chain = Chain::read(repository)?;
    begin(repository, options, Some(chain))
}

fn begin(
    repository: &Repository,
    options: &CaptureOptions,
    chain: Option<Chain>,
) -> Result<Snapshot, SnapshotError> {
    let worktree = repository
        .worktree()
        .ok_or_else(|| SnapshotError::Bare(repository.git_dir().into()))?;
    let root = Root::open(worktree).map_err(|source| SnapshotError::Io {
        path: worktree.into(),
        source,
    })?;
    let mut index = PrivateIndex::read(repository.index_path(), repository.hash_kind())?;
    index.expand_sparse(repository.gix())?;
    let head = repository.head()?;
    let files = repository
        .gix()
        .filesystem_options()
        .map_err(|source| SnapshotError::Config {
            what: "core.fileMode, core.symlinks or core.ignoreCase".into(),
            source: source.into(),
        })?;
    let capture = Capture {
        repository,
        worktree,
        root: &root,
        index: &index,
        has_symlinks: files.symlink,
        trusts_executable_bit: files.executable_bit,
        ignores_case: files.ignore_case,
        omit: Omit::new(&options.omit, &options.prefix, worktree)?,
        secret: &options.secret,
        unfilled: &options.unfilled,
        limits: Limits::of(repository),
        objects: NewObjects::new(repository),
    };
    capture.run(head, chain)
}

/// What a capture works with.
struct Capture<'a> {
    repository: &'a Repository,
    worktree: &'a Path,
    root: &'a Root,
    index: &'a PrivateIndex,
    has_symlinks: bool,
    trusts_executable_bit: bool,
    ignores_case: bool,
    omit: Omit,
    secret: &'a [BString],
    unfilled: &'a [Unfilled],
    limits: Limits,
    objects: NewObjects,
}

impl Capture<'_> {
    fn run(mut self, head: Head, chain: Option<Chain>) -> Result<Snapshot, SnapshotError> {
        let mut scan = self.scan()?;
        let mut state = Assembly::new(self.repository, self.index, &head)?;
        state.leave_out_entries(&mut self.omit)?;
        for entry in scan.removed.drain(..) {
            state.replace(self.index.path(entry), None);
        }
        for entry in scan.hidden.drain(..) {
            state.keep_head(self.index.path(entry))?;
        }
        for left_out in scan.left_out.drain(..) {
            state.omit(left_out);
        }
        let candidates = std::mem::take(&mut scan.candidates);
        let repo = self.repository.gix();
        let files = AttributeFiles::gather(self.repository, self.root, &candidates, &state)?;
        let converter = Converter::new(repo, self.index, scan.odd_attributes, &files)?;
        let conversions = conversion::in_force(repo);
        let reading = Reading {
            repo: repo.clone().into_sync(),
            git: self.repository.git(),
            root: self.root,
            index: self.index,
            objects: &self.objects,
            files: &files,
            converter: &converter,
            has_symlinks: self.has_symlinks,
            trusts_executable_bit: self.trusts_executable_bit,
            carried: carried_filters(repo),
        };
        self.limits.judge(&reading, &candidates)?;
        rounds::read_until_still(&reading, candidates, &mut state)?;
        rounds::check_unchanged(&reading, std::mem::take(&mut scan.unchanged), &mut state)?;
        let submodules = self.submodules(&mut scan, &mut state)?;
        let (operation, blockers) = self.operations(&mut state)?;
        let flags = self.flags(&scan.sparse, &mut state);
        let (trees, link) = state.write(&self.objects, chain.as_ref())?;
        let changes = rounds::mend(&reading, &mut state, &trees)?;
        let lfs = Lfs::find(self.repository, &changes)?;
        let mut snapshot = Snapshot {
            worktree_tree: trees.worktree.into(),
            index_tree: trees.index.into(),
            head,
            conflict_trees: trees.conflicts.into_iter().map(Into::into).collect(),
            conflicts: self.index.conflicts(),
            raw_tree: trees.raw.map(Into::into),
            operation,
            conversions,
            intent_to_add: self.index.intent_to_add(),
            flags,
            empty_directories: repo_paths(&scan.empty_directories),
            untracked: state.untracked(),
            submodules: Vec::new(),
            submodule_reach: Vec::new(),
            lfs: lfs.pointers,
            lfs_presence: lfs.presence,
            omissions: Vec::new(),
            blockers,
            excluded: scan.excluded.into_exclusions(self.carries_patterns()),
            last_edit_at: changes.last_edit(self.root),
            index_unchecked: self.index.unchecked,
        };
        let left_out = |path: &RepoPath| state.is_left_out(path.as_bstr());
        snapshot.conflicts.retain(|path| !left_out(path));
        snapshot
            .intent_to_add
            .retain(|entry| !left_out(&entry.path));
        snapshot.flags.retain(|entry| !left_out(&entry.path));
        for found in &submodules {
            let differs = changes.has(found.path.as_ref());
            if differs || found.is_dirty() {
                snapshot.submodules.push(found.submodule());
                snapshot.submodule_reach.push(found.reach());
            }
            let counts = differs || found.is_unpushed() && !self.is_head_pushed(&snapshot.head)?;
            snapshot.blockers.extend(found.blockers(counts));
        }
        snapshot.blockers.extend(lfs.blockers);
        snapshot.blockers.sort_unstable();
        snapshot.omissions = state.into_omissions(self.secret);
        if let Some((chain, link)) = chain.zip(link) {
            match chain.advance(self.repository, link) {
                Err(RefError::Moved { .. }) => keep(self.repository, &snapshot)?,
                result => result?,
            }
        }
        Ok(snapshot)
    }

    fn carries_patterns(&self) -> bool {
        let config = self.repository.gix().config_snapshot();
        config.boolean("handoff.carryExcludes").unwrap_or(false)
    }

    fn scan(&self) -> Result<Scan, SnapshotError> {
        let git_dir = self.repository.git_dir().strip_prefix(self.worktree);
        let walk = Walk {
            repo: self.repository.gix().clone().into_sync(),
            root: self.root,
            index: self.index,
            has_symlinks: self.has_symlinks,
            trusts_executable_bit: self.trusts_executable_bit,
            ignores_case: self.ignores_case,
            max_file_bytes: self.limits.file,
            git_dir: git_dir.ok().map(|path| path.as_os_str().as_bytes().into()),
        };
        let judges = Judges {
            rules: GlobalRules::new(self.repository.gix())?,
            omit: self.omit.clone(),
        };
        scan::scan(&walk, &judges)
    }

    /// Asks the submodules, and leaves out repositories that are none.
    fn submodules(
        &self,
        scan: &mut Scan,
        state: &mut Assembly<'_>,
    ) -> Result<Vec<Found>, SnapshotError> {
        if scan.gitlinks.is_empty() && scan.repositories.is_empty() && self.unfilled.is_empty() {
            return Ok(Vec::new());
        }
        let modules = Modules::read(self.root, self.worktree);
        let mut found = Vec::new();
        for entry in &scan.gitlinks {
            let path = self.index.path(*entry);
            let mut submodule = Found::ask(&modules, self.root, self.worktree, path);
            let known = &self.index.entries()[*entry];
            let unmerged = known.stage() != Stage::Unconflicted;
            let staged = (!unmerged).then_some(known.id);
            if let Some(unfilled) = self.left_unfilled(path, staged) {
                submodule.count_as_restored(unfilled.commit);
            }
            if let Some(item) = submodule.item()
                && (unmerged || item.id != known.id)
            {
                state.replace(path, Some(item));
            }
            found.push(submodule);
        }
        for path in &scan.repositories {
            let submodule = modules
                .knows(path.as_ref())
                .then(|| Found::ask(&modules, self.root, self.worktree, path.as_ref()));
            match submodule.and_then(|found| found.item().map(|item| (found, item))) {
                Some((submodule, item)) => {
                    state.replace(path.as_ref(), Some(item));
                    found.push(submodule);
                }
                None => state.omit(LeftOut {
                    path: path.clone(),
                    reason: OmissionReason::NestedRepository,
                    detail: Some("a repository of its own that is no submodule".into()),
                }),
            }
        }
        // One that is not in the index looks like any directory with nothing in it.
        for path in std::mem::take(&mut scan.empty_directories) {
            let Some(unfilled) = self.left_unfilled(path.as_ref(), None) else {
                scan.empty_directories.push(path);
                continue;
            };
            let mut submodule = Found::ask(&modules, self.root, self.worktree, path.as_ref());
            submodule.count_as_restored(unfilled.commit);
            state.replace(path.as_ref(), submodule.item());
            found.push(submodule);
        }
        found.retain(|submodule| !state.is_left_out(submodule.path.as_ref()));
        for submodule in &found {
            if let Some(omission) = submodule.omission() {
                state.add_omission(omission);
            }
        }
        found.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(found)
    }

    /// Tells whether a remote-tracking branch reaches `HEAD`.
    fn is_head_pushed(&self, head: &Head) -> Result<bool, SnapshotError> {
        let Some(commit) = head.commit else {
            return Ok(false);
        };
        let contains = format!("--contains={commit}");
        let args = ["for-each-ref", "--count=1", &contains, "refs/remotes"];
        Ok(!self.repository.git().output(args)?.is_empty())
    }

    /// Returns the submodule that a restore left unfilled at a path where the index says the same as then.
    fn left_unfilled(&self, path: &BStr, staged: Option<ObjectId>) -> Option<&Unfilled> {
        let mut all = self.unfilled.iter();
        all.find(|unfilled| unfilled.path == path && unfilled.staged == staged)
    }

    /// Finds operations in progress, and says what of the worktree's own state does not travel.
    fn operations(
        &self,
        state: &mut Assembly<'_>,
    ) -> Result<(Option<Operation>, Vec<Blocker>), SnapshotError> {
        let mut carried = None;
        let mut blockers = Vec::new();
        for operation in operation::find(self.repository.git_dir())? {
            match operation {
                InProgress::Carried(operation) => carried = Some(operation),
                InProgress::LeftOut(name) => {
                    let text = format!("{name} in progress");
                    let (omission, blocker) = operation::left_out(name, text);
                    state.add_omission(omission);
                    blockers.push(blocker);
                }
                InProgress::Autostash => {
                    let text = "what `git merge --autostash` has set aside".into();
                    let (omission, blocker) = operation::left_out("autostash", text);
                    state.add_omission(omission);
                    blockers.push(blocker);
                }
                InProgress::SquashMessage => {
                    let text = "the message that `git merge --squash` has prepared".into();
                    let (omission, _) = operation::left_out("squash", text);
                    state.add_omission(omission);
                }
            }
        }
        Ok((carried, blockers))
    }

    /// Returns the index flags, and says that the patterns of a sparse checkout do not travel.
    ///
    /// There, skip-worktree says that a file is absent: Git takes no notice of it on one that is there, and a
    /// restore that did could not tell the two apart. `sparse` are the entries that are left out of the worktree.
    fn flags(&self, sparse: &[usize], state: &mut Assembly<'_>) -> Vec<Flags> {
        let config = self.repository.gix().config_snapshot();
        let has_patterns = config.boolean("core.sparseCheckout").unwrap_or(false);
        if !has_patterns && sparse.is_empty() {
            return self.index.flags(|_| true);
        }
        state.add_omission(sparse_patterns("the patterns of the sparse checkout"));
        let flags = self.index.flags(|at| sparse.binary_search(&at).is_ok());
        if !has_patterns && flags.len() < self.index.flags(|_| true).len() {
            state.add_omission(sparse_patterns(
                "the skip-worktree flags of files that are there, beside files that are not",
            ));
        }
        flags
    }
}

/// Says what of a sparse checkout does not travel.
fn sparse_patterns(text: &str) -> Omission {
    Omission {
        path: None,
        text: Some(text.into()),
        reason: OmissionReason::SparsePatterns,
        detail: None,
        citation: None,
    }
}

/// Reads which filter drivers' content travels: `handoff.carryFiltered`.
fn carried_filters(repo: &gix::Repository) -> Vec<BString> {
    let config = repo.config_snapshot();
    let named = config.plumbing().strings("handoff.carryFiltered");
    named.unwrap_or_default()
}

fn repo_paths(paths: &[BString]) -> Vec<RepoPath> {
    paths.iter().map(|path| repo_path(path.as_ref())).collect()
}
