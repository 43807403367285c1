//! What the operator takes off a server: a scope, or its newest records.
//!
//! A tip that breaks the rules is followed by nothing, and nothing of a scope is ever taken back by a push. On the server
//! itself the operator can, and the log says so.

use std::{fs, io, path::PathBuf};

use gix::{ObjectId, bstr::BStr, refs::FullName};
use store::{
    git::GitError,
    ref_store::{RefChange, RefError, RefUpdate},
    repository::Repository,
    timestamp::Timestamp,
};

use crate::{
    audit::{Entry, Log, Outcome},
    judge::Judge,
    pre_receive::Settings,
    rejection::Rejection,
    rules::namespace,
    server_dir::ServerDir,
};

/// What is to be taken off.
pub struct Purge<'a> {
    /// The repository.
    pub repository: &'a Repository,
    /// The ref; any that the hook judges.
    pub name: FullName,
    /// The record that the ref shall name; it is deleted where there is none.
    pub to: Option<ObjectId>,
    /// Why; it stands in the log.
    pub reason: &'a str,
    /// The clock.
    pub now: Timestamp,
}

/// Says why nothing was taken off.
#[derive(Debug, thiserror::Error)]
pub enum PurgeError {
    /// The ref is not one of ours.
    #[error("`{0}` is no handoff ref")]
    NotOurs(FullName),
    /// The ref does not exist.
    #[error("there is no ref `{0}`")]
    NotFound(FullName),
    /// The record that the ref shall name breaks a rule.
    #[error(transparent)]
    Rejected(#[from] Rejection),
    /// The settings cannot be read.
    #[error("the settings cannot be read: {0}")]
    Settings(String),
    /// The log cannot be written.
    #[error("the audit log cannot be written")]
    Log(#[source] io::Error),
    /// The ref cannot be read or moved.
    #[error(transparent)]
    Ref(#[from] RefError),
    /// A symbolic ref cannot be deleted.
    #[error(transparent)]
    Git(#[from] GitError),
}

impl Purge<'_> {
    /// Takes the ref off, or back, and returns what it named; a symbolic ref names nothing of its own.
    ///
    /// # Errors
    ///
    /// Where the ref is none of ours, the record to go back to breaks a rule, or the log cannot be written.
    pub fn run(&self) -> Result<Option<ObjectId>, PurgeError> {
        if !namespace::is_judged(self.name.as_bstr()) {
            return Err(PurgeError::NotOurs(self.name.clone()));
        }
        let settings = Settings::read(self.repository.gix())
            .map_err(|error| PurgeError::Settings(error.to_string()))?;
        let old = match self.repository.find_ref(&self.name) {
            Ok(Some(old)) => Some(old),
            Ok(None) => return Err(PurgeError::NotFound(self.name.clone())),
            Err(RefError::Symbolic { .. }) => None,
            Err(error) => return Err(error.into()),
        };
        if let Some(to) = self.to {
            self.judge(&settings, to)?;
        }
        let server_dir = ServerDir::of(self.repository.git_dir());
        let log = Log::of(&server_dir, settings.audit_bytes);
        log.append(&[self.entry(&settings, old, Outcome::Purged(self.reason))])
            .map_err(PurgeError::Log)?;
        let moved = self.move_ref(old);
        if moved.is_err() {
            // The first line is not true; if this one cannot be written either, the operator still sees the error.
            let _ = log.append(&[self.entry(&settings, old, Outcome::NotPurged)]);
        }
        moved?;
        forget(&server_dir, self.name.as_bstr());
        Ok(old)
    }

    /// Sees that the scope can go on from a record.
    fn judge(&self, settings: &Settings, to: ObjectId) -> Result<(), Rejection> {
        let scope = namespace::scope_of(self.name.as_bstr())?;
        let judge = Judge {
            objects: self.repository.gix(),
            policy: settings.policy.clone(),
            now: self.now,
        };
        judge.line(&scope, to, None, None).map(|_| ())
    }

    fn move_ref(&self, old: Option<ObjectId>) -> Result<(), PurgeError> {
        let name = self.name.clone();
        let change = match (old, self.to) {
            (Some(old), Some(new)) => RefChange::Advance { old, new },
            (Some(old), None) => RefChange::Delete { old },
            (None, _) => {
                let name = name.as_bstr().to_string();
                let git = self.repository.git();
                git.output(["update-ref", "--no-deref", "-d", &name])?;
                return Ok(());
            }
        };
        Ok(self.repository.update_refs(&[RefUpdate { name, change }])?)
    }

    fn entry<'e>(
        &'e self,
        settings: &Settings,
        old: Option<ObjectId>,
        outcome: Outcome<'e>,
    ) -> Entry<'e> {
        let null = ObjectId::null(self.repository.hash_kind());
        Entry {
            time: self.now,
            name: self.name.as_bstr(),
            old: old.unwrap_or(null),
            new: self.to.unwrap_or(null),
            identity: None,
            relayed: false,
            secrets: None,
            mode: settings.modes.general,
            outcome,
            duration: None,
        }
    }
}

/// Forgets how far the line of a ref was judged.
fn forget(server_dir: &ServerDir, name: &BStr) {
    if let Ok(scope) = namespace::scope_of(name) {
        let mark: PathBuf = server_dir.path().join("verified").join(scope.as_str());
        // One that stays names records that were judged good.
        let _ = fs::remove_file(mark);
    }
}
