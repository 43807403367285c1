//! Puts the state of a record back on disk: files, index, `HEAD`, and an operation in progress.
//!
//! Nothing that was there is lost, no branch moves but forward, and no program that the record or the receiver
//! could name is run: filter drivers and hooks stay off. Files are reached through directory handles, never
//! through a link. Making the safety record of what an in-place restore replaces is the caller's, as is fetching.

mod content;
mod converted;
mod disk;
mod error;
mod fresh;
mod head;
mod in_place;
mod index;
mod linked_worktree;
mod marker;
mod new_directory;
mod operation;
mod parallel;
mod plan;
mod present;
mod recompute;
mod remotes;
mod replacement;
mod session;
mod settings;
mod staging;
mod state;
mod strays;
mod trees;

use gix::{ObjectId, refs::FullName};

pub use error::{Cause, RestoreError};
pub use linked_worktree::add_worktree;
pub use new_directory::{copy_objects, init, is_begun, is_interrupted};
pub use remotes::copy_remotes;
pub use staging::Staging;
pub use state::Restorable;

use self::{
    head::HeadChange,
    index::{IndexSeen, NewIndex},
    marker::Marker,
    session::Session,
};
use crate::{conversion, oid::Oid, repo_path::RepoPath, repository::Repository};

/// Where a record is restored.
pub enum Place<'a> {
    /// In a repository that [`init`] made for it, or that was cloned for it without a checkout.
    NewRepository,
    /// In a linked worktree that [`add_worktree`] made for it.
    NewWorktree,
    /// In the current worktree, over what is there.
    InPlace(&'a mut Capture<'a>),
}

/// Captures what is in a worktree before any of it is replaced, and keeps it where that is needed.
pub type Capture<'a> = dyn FnMut() -> Result<Captured, CaptureError> + 'a;

/// What a capture of the current worktree found.
#[derive(Clone, Debug)]
pub struct Captured {
    /// The tree of the worktree; its objects need not be kept.
    pub worktree_tree: ObjectId,
    /// Paths that it leaves out.
    pub omitted: Vec<RepoPath>,
    /// Directories without a file.
    pub empty_directories: Vec<RepoPath>,
    /// Captured paths that stay, unless the record needs their place: no restore put them there.
    pub kept: Vec<RepoPath>,
}

/// Says why what is here could not be captured.
#[derive(Debug)]
pub struct CaptureError {
    /// Code of the cause.
    pub code: crate::error_code::ErrorCode,
    /// The cause.
    pub source: Cause,
}

/// Which index flags are set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flagging {
    /// Those of paths whose file is the one that is staged: a hidden edit must not stay hidden.
    WhereEqual,
    /// All.
    Always,
}

/// What a restore brought about.
#[derive(Clone, Debug)]
pub struct Restored {
    /// The commit that `HEAD` names, or none on an unborn branch.
    pub head: Option<Oid>,
    /// Where `HEAD` is.
    pub branch: RestoredBranch,
    /// Paths that got their stored version, because a filter driver was not run.
    pub filtered: Vec<RepoPath>,
    /// Paths that got the producer's bytes, which are not what the stored version gives here.
    pub raw: Vec<RepoPath>,
    /// Paths whose index flags were not set.
    pub flagged: Vec<RepoPath>,
    /// Paths that are absent, as a sparse checkout left them; the index has them.
    pub sparse: Vec<RepoPath>,
    /// Paths that show a change because other conversions are in force here than were at capture.
    pub converted: Vec<RepoPath>,
    /// Paths that the record knows nothing of, left where they are.
    pub kept: Vec<RepoPath>,
    /// Submodules, which are left empty or as they are.
    pub submodules: Vec<RestoredSubmodule>,
    /// The tree of the worktree, recomputed from disk.
    pub worktree_tree: Oid,
    /// The tree of the index, recomputed from disk.
    pub index_tree: Oid,
}

/// A submodule of a restored worktree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RestoredSubmodule {
    /// Its path.
    pub path: RepoPath,
    /// The commit that was checked out in it.
    pub commit: Oid,
    /// The commit in the index; none where it has no entry for the path.
    pub staged: Option<Oid>,
}

/// Where `HEAD` is after a restore.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RestoredBranch {
    /// On the recorded branch.
    On(FullName),
    /// Detached, because the recorded branch is not here, is elsewhere or is used by another worktree.
    Beside(FullName),
    /// Detached, as it was recorded.
    Detached,
}

/// Restores a state whose objects the repository has.
///
/// A second call with the same state completes what an interrupted one began.
///
/// # Errors
///
/// [`RestoreError::InTheWay`] before anything is changed where something would be lost, and
/// [`RestoreError::Mismatch`] where the disk does not hold what it must in the end.
pub fn checkout<'a>(
    repository: &Repository,
    state: impl Into<Restorable<'a>>,
    mut place: Place<'_>,
    flagging: Flagging,
) -> Result<Restored, RestoreError> {
    let mut session = Session::open(repository, state.into())?;
    if matches!(place, Place::InPlace(_)) {
        in_place::fill_what_is_there(&mut session)?;
    }
    let session = session;
    let state = &session.state;
    let marker = Marker::of(repository.git_dir());
    let interrupted = marker.read()?;
    let head = HeadChange::decide(repository, state, &place)?;
    let _alone = marker.lock()?;
    let seen = IndexSeen::unlocked(repository.index_path())?;
    let laid = match &mut place {
        Place::NewRepository | Place::NewWorktree => {
            session.refuse_other(interrupted)?;
            marker.set(Some(state.id))?;
            fresh::fill(&session, interrupted.is_some())?
        }
        Place::InPlace(capture) => {
            operation::refuse_foreign(repository)?;
            in_place::replace(&session, &marker, interrupted, capture)?
        }
    };
    let found = session.look(&laid)?;
    if matches!(place, Place::NewRepository | Place::NewWorktree) {
        strays::refuse(&session)?;
    }
    let worktree_tree = session.check_worktree(&laid, &found)?;
    let index = NewIndex::build(&session.plan, &found, state, flagging, session.hash)?;
    let flagged = index.flagged.clone();
    write_empty_blob(repository, state)?;
    index.write(repository.index_path(), &seen)?;
    let index_tree = session.check_index(repository.index_path())?;
    operation::restore(repository, state)?;
    match place {
        Place::NewRepository => settings::write_to_repository(repository, session.conversions())?,
        Place::NewWorktree => settings::write_to_worktree(repository, session.conversions())?,
        Place::InPlace(_) => {}
    }
    let converted = match place {
        Place::InPlace(_) => converted::paths(&session, &conversion::in_force(repository.gix()))?,
        Place::NewRepository | Place::NewWorktree => Vec::new(),
    };
    head.apply(repository, &format!("handoff: restore {}", state.name))?;
    marker.clear()?;
    Ok(Restored {
        head: head.commit.map(Oid::from),
        branch: head.outcome(),
        filtered: session.paths_where(|at, file| laid.expected[at].filtered && !file.sparse),
        raw: session.paths_where(|_, file| file.raw.is_some()),
        flagged,
        sparse: session.paths_where(|_, file| file.sparse),
        converted,
        kept: laid.kept.iter().filter_map(session::repo_path).collect(),
        submodules: session.submodules(),
        worktree_tree: worktree_tree.into(),
        index_tree: index_tree.into(),
    })
}

/// Sees that the blob is there that entries to be added name: `git fsck` wants it.
fn write_empty_blob(repository: &Repository, state: &Restorable<'_>) -> Result<(), RestoreError> {
    if state.content.worktree.intent_to_add.count() == 0 {
        return Ok(());
    }
    let written = repository.gix().write_blob(b"");
    written.map(drop).map_err(|source| RestoreError::Object {
        id: ObjectId::empty_blob(repository.hash_kind()),
        source: source.into(),
    })
}
