//! One run of the hook in one repository.

use std::{
    cell::Cell,
    collections::BTreeSet,
    path::{Path, PathBuf},
    time::Duration,
};

use gix::{ObjectId, refs::FullName};
use store::{
    error_code::ErrorCode,
    ref_store::{RefChange, RefError},
    repository::Repository,
    scope::ScopeName,
    timestamp::Timestamp,
};

use super::{Settings, Update, identity::Pusher, mark::Mark, namesakes};
use crate::{
    judge::{Judge, JudgedLine, Watch},
    quarantine::{self, ObjectDirectories, View},
    rejection::Rejection,
    rules::namespace,
    server_dir::ServerDir,
};

/// A repository that is pushed to, with what the operator has set.
pub struct Server {
    repository: Repository,
    settings: Settings,
    server_dir: ServerDir,
    pusher: Pusher,
    now: Timestamp,
    _view: View,
}

impl Server {
    /// Opens the repository at `git_dir` and reads its settings; nobody is known to push.
    ///
    /// # Errors
    ///
    /// `IO` where the repository, its settings or its objects cannot be read: nothing may be judged then.
    pub fn open(
        git_dir: &Path,
        directories: &ObjectDirectories,
        now: Timestamp,
    ) -> Result<Self, Rejection> {
        let git_dir = std::path::absolute(git_dir).unwrap_or_else(|_| PathBuf::from(git_dir));
        let mut repository = Repository::at_git_dir(&git_dir).map_err(|error| failed(&error))?;
        let settings = Settings::read(repository.gix()).map_err(|error| {
            failed(&error).hint("the operator corrects it in the configuration of the repository")
        })?;
        let view =
            quarantine::show(&mut repository, directories).map_err(|error| failed(&error))?;
        Ok(Server {
            server_dir: ServerDir::of(&git_dir),
            repository,
            settings,
            pusher: Pusher::Unknown,
            now,
            _view: view,
        })
    }

    /// Takes who pushes from the variable that the operator has named, if one.
    ///
    /// # Errors
    ///
    /// `IDENTITY_MISMATCH` where it holds nothing.
    pub fn identify(
        mut self,
        variable: impl FnOnce(&str) -> Option<std::ffi::OsString>,
    ) -> Result<Self, Rejection> {
        if let Some(name) = &self.settings.identity_env {
            self.pusher = Pusher::authenticated(name, variable(name))?;
        }
        Ok(self)
    }

    /// Returns the authenticated user, where one is known.
    pub fn user(&self) -> Option<&str> {
        self.pusher.user()
    }

    /// Returns how long the judgement of a push may take.
    pub fn deadline(&self) -> Duration {
        self.settings.deadline
    }

    /// Judges one ref change, and asks `watch` after each record that was found good.
    ///
    /// `created` are the scopes that the same push has made so far.
    ///
    /// # Errors
    ///
    /// The first rejection.
    pub fn judge(
        &self,
        update: &Update,
        created: &BTreeSet<ScopeName>,
        watch: &mut Watch<'_>,
    ) -> Result<JudgedLine, Rejection> {
        let name = update.name.as_ref();
        let scope = namespace::scope_of(name)?;
        let Some(change) = RefChange::from_ids(update.old, update.new) else {
            let detail = format!("scope `{scope}` is never deleted by a push");
            return Err(Rejection::new(ErrorCode::DeleteRefused, detail));
        };
        let current = self.current(&scope.to_ref(), change)?;
        let objects = self.repository.gix();
        let trusted = Mark::read(&self.server_dir, &scope).trusted(objects, current);
        let judge = Judge {
            objects,
            policy: self.settings.policy.clone(),
            now: self.now,
        };
        let scopes = || {
            let mut scopes =
                namesakes::of(&self.repository, &scope).map_err(|error| failed(&error))?;
            scopes.extend(created.iter().cloned());
            Ok(scopes)
        };
        // Records that the ref already leads to were pushed before, by whom it was then.
        let is_new = Cell::new(current.is_none() || trusted == current);
        judge.change_watched(name, change, trusted, scopes, &mut |record, left| {
            if is_new.get() {
                self.pusher.judge(record)?;
            }
            is_new.set(is_new.get() || current == Some(record.id));
            watch(record, left)
        })
    }

    /// Remembers that a scope's line was judged good.
    pub fn remember(&self, update: &Update) {
        if let Ok(scope) = namespace::scope_of(update.name.as_ref()) {
            let before = Some(update.old).filter(|old| !old.is_null());
            Mark::write(&self.server_dir, &scope, before, update.new);
        }
    }

    /// Returns what the ref is, which must be what the change replaces; a deletion is refused whatever it is.
    fn current(&self, name: &FullName, change: RefChange) -> Result<Option<ObjectId>, Rejection> {
        let found = self
            .repository
            .find_ref(name)
            .map_err(|error| match error {
                RefError::Symbolic { .. } => {
                    Rejection::new(ErrorCode::RefOutsideNamespace, error.to_string())
                        .hint("refs under refs/handoff point at commits; the operator deletes it")
                }
                error => failed(&error),
            })?;
        if found == change.old() || matches!(change, RefChange::Delete { .. }) {
            return Ok(found);
        }
        let shown = |id: Option<ObjectId>| id.map_or_else(|| "nothing".into(), |id| id.to_string());
        let detail = format!(
            "the ref is at {}, the push replaces {}",
            shown(found),
            shown(change.old())
        );
        Err(Rejection::new(ErrorCode::CasConflict, detail)
            .hint("another writer was faster: git handoff sync"))
    }
}

/// Makes the rejection of something that the hook itself cannot do.
pub(super) fn failed(error: &dyn std::error::Error) -> Rejection {
    let mut detail = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        detail.push_str(": ");
        detail.push_str(&error.to_string());
        cause = error.source();
    }
    Rejection::new(ErrorCode::Io, detail)
}
