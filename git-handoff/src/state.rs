//! What a worktree remembers between commands: `<git-dir>/handoff/state.json`.
//!
//! A convenience, never proof: who cannot write it warns and goes on, and one that cannot be read counts as empty.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    path::PathBuf,
};

use gix::{ObjectId, bstr::ByteSlice};
use serde::{Deserialize, Serialize};
use store::{
    digest::Digest, generation::Generation, oid::Oid, repository::Repository, restore::Restored,
    scope::ScopeName, snapshot,
};

use crate::context::Context;

/// What a worktree remembers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct State {
    /// The scope last restored or saved on each branch, by the branch's full name; `HEAD` where detached.
    pub(crate) scopes: BTreeMap<String, ScopeName>,
    /// What was last read of each scope.
    pub(crate) read: BTreeMap<ScopeName, Read>,
    /// What every capture here leaves out, as pathspecs.
    pub(crate) omit: Vec<String>,
    /// Submodules whose commit only the checkpoint knows that was last restored here.
    pub(crate) unfilled: Vec<Unfilled>,
}

/// A submodule that a restore left unfilled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Unfilled {
    path: String,
    /// The commit that was checked out in it.
    commit: Oid,
    /// The commit in the index.
    staged: Option<Oid>,
}

impl Unfilled {
    /// Returns those submodules that the index does not say all of.
    pub(crate) fn of(restored: &Restored) -> Vec<Self> {
        let submodules = restored.submodules.iter();
        let unsaid = submodules.filter(|submodule| submodule.staged != Some(submodule.commit));
        unsaid
            .filter_map(|submodule| {
                Some(Unfilled {
                    path: submodule.path.as_bstr().to_str().ok()?.into(),
                    commit: submodule.commit,
                    staged: submodule.staged,
                })
            })
            .collect()
    }

    /// Returns what a capture is told.
    pub(crate) fn to_capture(&self) -> snapshot::Unfilled {
        snapshot::Unfilled {
            path: self.path.as_str().into(),
            commit: self.commit.id(),
            staged: self.staged.map(ObjectId::from),
        }
    }
}

/// What was last read of a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Read {
    pub(crate) generation: Generation,
    pub(crate) digest: Digest,
}

impl State {
    pub(crate) fn load(repository: &Repository) -> Self {
        let text = fs::read(path(repository)).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    /// Changes what is remembered.
    pub(crate) fn update(
        context: &Context,
        repository: &Repository,
        change: impl FnOnce(&mut State),
    ) {
        let before = Self::load(repository);
        let mut state = before.clone();
        change(&mut state);
        if state == before {
            return;
        }
        if let Err(error) = state.store(repository) {
            let text = format!(
                "{} could not be written: {error}",
                path(repository).display()
            );
            context.ui.warn("STATE_NOT_KEPT", &text);
        }
    }

    fn store(&self, repository: &Repository) -> std::io::Result<()> {
        let path = path(repository);
        let folder = path.parent().unwrap_or(repository.git_dir());
        fs::create_dir_all(folder)?;
        // One writer at a time, so that what one that was killed has left is written over.
        let alone = File::open(repository.git_dir())?;
        // Where the file system has no locks, it is as good as it gets.
        let _ = alone.lock();
        let new = path.with_extension("json.new");
        fs::write(&new, serde_json::to_vec_pretty(self)?)?;
        fs::rename(&new, &path)
    }
}

fn path(repository: &Repository) -> PathBuf {
    repository.git_dir().join("handoff").join("state.json")
}
