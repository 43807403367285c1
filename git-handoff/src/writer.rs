//! Appends records to scopes: judged first, then by compare-and-swap.

use gix::ObjectId;
use hooks::{
    judge::Judge,
    policy::Policy,
    reader::{self, ScopeView},
    rules::namespace,
    secret_scan::{NewState, SecretScan},
};
use store::{
    error_code::ErrorCode,
    record::{self, NewRecord},
    ref_store::{RefChange, RefError, RefUpdate},
    repository::Repository,
    scope::ScopeName,
    timestamp::Timestamp,
    verify::VerifiedRecord,
};

use crate::{authoring::Warning, context::Context, error::CommandError, secrets};

/// Appends to one scope.
pub(crate) struct Writer<'a> {
    pub(crate) context: &'a Context,
    pub(crate) repository: &'a Repository,
    pub(crate) scope: &'a ScopeName,
}

impl Writer<'_> {
    /// Writes a record behind `view`'s tip, judges it, looks for secrets in what it brings along, and moves the local
    /// ref to it.
    ///
    /// Returns it, and what is to be said of it.
    ///
    /// # Errors
    ///
    /// The first rejection; `CAS_CONFLICT` where another writer was faster. Nothing has moved then.
    pub(crate) fn append(
        &self,
        view: Option<&ScopeView>,
        mut record: NewRecord,
    ) -> Result<(VerifiedRecord, Vec<Warning>), CommandError> {
        record.sign = self
            .repository
            .gix()
            .config_snapshot()
            .boolean("commit.gpgSign")
            .unwrap_or(false);
        let before = view.map(|view| view.tip.id);
        if before.is_none() {
            namespace::no_collision(self.scope, &reader::known_scopes(self.repository)?)?;
        }
        let id = record::write(self.repository, &record)?;
        let judge = Judge {
            objects: self.repository.gix(),
            policy: Policy::default(),
            now: Timestamp::now(),
        };
        let judged = judge.line(self.scope, id, before, before)?;
        let state = NewState::of_record(&judged.tip);
        let scan = SecretScan::of_worktree(self.repository)?;
        let found = scan.scan(self.repository, view.map(|view| &view.tip), &state)?;
        scan.remember();
        let warnings = secrets::judge(self.context, self.repository, self.scope, &found)?;
        self.swap(view.and_then(|view| view.local), id)?;
        Ok((judged.tip, warnings))
    }

    /// Moves the local ref and the mark of what was judged to `new`.
    fn swap(&self, local: Option<ObjectId>, new: ObjectId) -> Result<(), CommandError> {
        let mark = self.repository.find_ref(&self.scope.to_verified_ref())?;
        let updates = [
            RefUpdate {
                name: self.scope.to_ref(),
                change: RefChange::from_seen(local, new),
            },
            RefUpdate {
                name: self.scope.to_verified_ref(),
                change: RefChange::from_seen(mark, new),
            },
        ];
        match self.repository.update_refs(&updates) {
            Ok(()) => Ok(()),
            Err(RefError::Moved { found, .. }) => Err(self.overtaken(found)),
            Err(error) => Err(error.into()),
        }
    }

    /// Puts the local ref back to what it was before the last append.
    ///
    /// # Errors
    ///
    /// Where the ref has moved meanwhile.
    pub(crate) fn take_back(
        &self,
        from: ObjectId,
        to: Option<ObjectId>,
        mark: Option<ObjectId>,
    ) -> Result<(), CommandError> {
        let change = |to: Option<ObjectId>| match to {
            Some(new) => RefChange::Advance { old: from, new },
            None => RefChange::Delete { old: from },
        };
        let mut updates = vec![RefUpdate {
            name: self.scope.to_ref(),
            change: change(to),
        }];
        if self.repository.find_ref(&self.scope.to_verified_ref())? == Some(from) {
            updates.push(RefUpdate {
                name: self.scope.to_verified_ref(),
                change: change(mark),
            });
        }
        Ok(self.repository.update_refs(&updates)?)
    }

    fn overtaken(&self, found: Option<ObjectId>) -> CommandError {
        let scope = self.scope;
        let tip = found.map_or_else(|| "gone".to_owned(), |id| id.to_string());
        CommandError::new(
            ErrorCode::CasConflict,
            format!("scope `{scope}` has moved on: its tip is {tip}"),
        )
        .subject(scope.as_str())
        .hint("another writer was faster; read what it has written, then go on from there")
        .next(&["git", "handoff", "continue", scope.as_str()])
    }
}

/// Says so where a record was to be signed and could not be.
pub(crate) fn warn_if_unsigned(context: &Context, repository: &Repository, id: ObjectId) {
    let objects = repository.gix();
    let wanted = objects.config_snapshot().boolean("commit.gpgSign");
    let commit = objects.find_commit(id).ok();
    let signed = commit.and_then(|commit| commit.signature().ok().flatten().map(drop));
    if wanted == Some(true) && signed.is_none() {
        let text = "git could not sign the record (commit.gpgSign), so it has no signature";
        context.ui.warn("NOT_SIGNED", text);
    }
}
