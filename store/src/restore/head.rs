//! Where `HEAD` ends up, and the one branch that may move.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt, path::Path};

use gix::{
    ObjectId,
    bstr::{BStr, BString, ByteSlice},
    refs::FullName,
};

use super::{Place, Restorable, RestoreError, RestoredBranch};
use crate::{
    git::GitError,
    ref_store::{Head, RefChange, RefUpdate},
    repository::Repository,
};

/// What happens to `HEAD`; decided before anything is written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct HeadChange {
    /// The recorded branch, if the producer was on one.
    pub(super) branch: Option<FullName>,
    /// The recorded commit.
    pub(super) commit: Option<ObjectId>,
    pub(super) step: Step,
}

/// How `HEAD` comes to the recorded commit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// It is there.
    Stay,
    /// The branch that it is on, or that a new repository is given, is created or moved forward.
    Move {
        branch: FullName,
        from: Option<ObjectId>,
        to: ObjectId,
    },
    /// It goes to a branch that is at the commit already, or that is not born.
    Attach { branch: FullName },
    /// It names the commit alone.
    Detach { to: ObjectId },
}

impl HeadChange {
    /// Decides; nothing is changed.
    pub(super) fn decide(
        repository: &Repository,
        state: &Restorable<'_>,
        place: &Place<'_>,
    ) -> Result<Self, RestoreError> {
        let recorded = &state.content.repository;
        let commit = recorded.head.map(|oid| oid.id());
        let branch = recorded
            .branch
            .as_ref()
            .map(|name| branch_name(name.as_bstr()))
            .transpose()?;
        let here = repository.head()?;
        let step = match (&branch, commit) {
            (None, None) => return Err(RestoreError::Branch(BString::default())),
            (None, Some(to)) => Step::Detach { to },
            (Some(branch), commit) => step_to_branch(repository, place, &here, branch, commit)?,
        };
        Ok(HeadChange {
            branch,
            commit,
            step,
        })
    }

    /// Says where `HEAD` is once the change is made.
    pub(super) fn outcome(&self) -> RestoredBranch {
        match (&self.step, &self.branch) {
            (_, None) => RestoredBranch::Detached,
            (Step::Detach { .. }, Some(branch)) => RestoredBranch::Beside(branch.clone()),
            (_, Some(branch)) => RestoredBranch::On(branch.clone()),
        }
    }

    /// Makes the change; `message` is for the reflog.
    pub(super) fn apply(&self, repository: &Repository, message: &str) -> Result<(), RestoreError> {
        match &self.step {
            Step::Stay => Ok(()),
            Step::Move { branch, from, to } => {
                let change = RefChange::from_seen(*from, *to);
                repository.update_refs(&[RefUpdate {
                    name: branch.clone(),
                    change,
                }])?;
                if repository.head()?.branch.as_ref() == Some(branch) {
                    return Ok(());
                }
                attach(repository, branch.as_bstr(), message)
            }
            Step::Attach { branch } => attach(repository, branch.as_bstr(), message),
            Step::Detach { to } => {
                let here = repository.head()?;
                if here.branch.is_none() && here.commit == Some(*to) {
                    return Ok(());
                }
                let to = to.to_string();
                let mut args = QUIETLY.to_vec();
                args.extend(["update-ref", "--no-deref", "-m", message, "HEAD", &to]);
                repository.git().output(args)?;
                Ok(())
            }
        }
    }
}

/// Options for Git: no hook runs, and what it says is done is durable.
const QUIETLY: [&str; 4] = [
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.fsync=reference",
];

fn step_to_branch(
    repository: &Repository,
    place: &Place<'_>,
    here: &Head,
    branch: &FullName,
    commit: Option<ObjectId>,
) -> Result<Step, RestoreError> {
    let is_on_it = here.branch.as_ref() == Some(branch);
    let there = if is_on_it {
        here.commit
    } else {
        repository.find_ref(branch)?
    };
    let may_create = is_on_it || matches!(place, Place::NewRepository);
    let attach = || {
        if is_on_it {
            Step::Stay
        } else {
            Step::Attach {
                branch: branch.clone(),
            }
        }
    };
    Ok(match (there, commit) {
        (None, None) => attach(),
        (Some(_), None) => return Err(RestoreError::Born(branch.as_bstr().into())),
        (Some(there), Some(commit)) if there == commit => {
            if is_on_it || !is_used_elsewhere(repository, branch)? {
                attach()
            } else {
                Step::Detach { to: commit }
            }
        }
        (None, Some(to)) if may_create => Step::Move {
            branch: branch.clone(),
            from: None,
            to,
        },
        (Some(from), Some(to))
            if is_on_it
                && is_ancestor(repository, from, to)
                && !is_used_elsewhere(repository, branch)? =>
        {
            Step::Move {
                branch: branch.clone(),
                from: Some(from),
                to,
            }
        }
        (_, Some(commit)) => Step::Detach { to: commit },
    })
}

fn attach(repository: &Repository, branch: &BStr, message: &str) -> Result<(), RestoreError> {
    let mut args: Vec<&OsStr> = QUIETLY.iter().map(AsRef::as_ref).collect();
    args.extend(["symbolic-ref", "-m", message, "HEAD"].map(OsStr::new));
    args.push(OsStr::from_bytes(branch));
    repository.git().output(args)?;
    Ok(())
}

fn branch_name(name: &BStr) -> Result<FullName, RestoreError> {
    let branch = FullName::try_from(name)
        .ok()
        .filter(|name| name.as_bstr().starts_with(b"refs/heads/"));
    branch.ok_or_else(|| RestoreError::Branch(name.into()))
}

/// Tells whether a commit is another one or an ancestor of it; unreadable history counts as no.
pub(super) fn is_ancestor(repository: &Repository, ancestor: ObjectId, of: ObjectId) -> bool {
    let base = repository.gix().merge_base(ancestor, of);
    base.is_ok_and(|base| base.is_some_and(|base| base.detach() == ancestor))
}

/// Tells whether another worktree of the repository is on a branch.
fn is_used_elsewhere(repository: &Repository, branch: &FullName) -> Result<bool, GitError> {
    let listed = repository
        .git()
        .output(["worktree", "list", "--porcelain", "-z"])?;
    let own = repository
        .worktree()
        .and_then(|path| path.canonicalize().ok());
    let mut is_own = false;
    for line in listed.split(|b| *b == 0) {
        if let Some(path) = line.strip_prefix(b"worktree ") {
            let path = Path::new(OsStr::from_bytes(path));
            is_own = path.canonicalize().ok() == own;
        } else if let Some(name) = line.strip_prefix(b"branch ")
            && name == branch.as_bstr().as_bytes()
            && !is_own
        {
            return Ok(true);
        }
    }
    Ok(false)
}
