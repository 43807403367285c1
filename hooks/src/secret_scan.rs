//! Looks for secrets in what a new record brings along, and in that alone.
//!
//! Whoever makes or sends a record asks, and the server that takes it. No reader does: a secret must never bury work
//! that is there already. What the record before had was looked through with that one, and trees are compared by their
//! ids, so that the cost grows with the change alone.

mod allowed;
mod clean;
mod commits;
mod documents;
mod findings;
mod look;
mod settings;
mod trees;
mod trust;

use std::{cell::RefCell, path::Path, sync::OnceLock};

use gix::ObjectId;
use store::{
    contract::{Allow, Content, codec},
    error_code::ErrorCode,
    record::RootTree,
    repository::Repository,
    scope::ScopeName,
    secrets::{ENGINE, IgnoreFile, Marks, RuleSet},
    verify::{VerifiedPrepared, VerifiedRecord},
};

pub use allowed::{Allowed, Permits};
pub use findings::{Findings, Located, SecretNotes, Site};
pub use settings::SecretSettings;

use crate::{rejection::Rejection, server_dir::ServerDir};
use clean::CleanFiles;
use look::Look;
use trust::Trust;

/// What secrets are looked for by.
pub struct SecretScan {
    rules: Rules,
    marks: Marks,
    ignored: IgnoreFile,
    trust: Trust,
    history: History,
    permits: Permits,
    clean: RefCell<CleanFiles>,
}

enum Rules {
    Own(&'static RuleSet),
    Extended(Box<RuleSet>),
}

impl Rules {
    fn of(file: Option<&Path>) -> Result<Self, Rejection> {
        match file {
            None => Ok(Rules::Own(own_rules()?)),
            Some(file) => RuleSet::with_file(file)
                .map(|rules| Rules::Extended(Box::new(rules)))
                .map_err(|error| {
                    Rejection::new(ErrorCode::Usage, error.to_string()).hint(
                        "a rule that cannot be used is never passed over: mend it, or take it out",
                    )
                }),
        }
    }

    fn set(&self) -> &RuleSet {
        match self {
            Rules::Own(rules) => rules,
            Rules::Extended(rules) => rules,
        }
    }

    /// Returns what a clean file was found clean under.
    fn under(&self, marks: Marks) -> Vec<u8> {
        let marks: &[u8] = match marks {
            Marks::Honoured => b"\0marks\0",
            Marks::Ignored => b"\0all\0",
        };
        [ENGINE.as_bytes(), marks, self.set().digest().as_bytes()].concat()
    }
}

/// What is looked through of the code that was there before the work began.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum History {
    /// Nothing: it was handed over as code, long ago.
    #[default]
    Counted,
    /// All of it.
    Scanned,
}

/// What is looked through: a record, or a prepared handoff.
pub struct NewState<'a> {
    commit: ObjectId,
    scope: &'a ScopeName,
    root: &'a RootTree,
    content: &'a Content,
    documents: Vec<(&'static str, serde_json::Value)>,
}

impl<'a> NewState<'a> {
    /// Returns what a record holds.
    pub fn of_record(record: &'a VerifiedRecord) -> Self {
        let mut documents = vec![("manifest", codec::to_json(record.whole()))];
        if let Some(accept) = &record.accept {
            documents.push(("accept", codec::to_json(&accept.value)));
        }
        if let Some(release) = &record.release {
            documents.push(("release", codec::to_json(&release.value)));
        }
        NewState {
            commit: record.id,
            scope: record.scope(),
            root: &record.root,
            content: &record.manifest.value.content,
            documents,
        }
    }

    /// Returns what a prepared handoff holds.
    pub fn of_prepared(prepared: &'a VerifiedPrepared) -> Self {
        NewState {
            commit: prepared.id,
            scope: &prepared.document.value.scope,
            root: &prepared.root,
            content: &prepared.document.value.content,
            documents: vec![("content", codec::to_json(prepared.whole()))],
        }
    }
}

impl SecretScan {
    /// Looks by the program's rules and the operator's, whatever what is looked through says: for what was pushed, by
    /// `user` where one is known.
    ///
    /// # Errors
    ///
    /// `IO` where the operator's rules cannot be used.
    pub fn of_server(
        settings: &SecretSettings,
        dir: &ServerDir,
        user: Option<&str>,
    ) -> Result<Self, Rejection> {
        let rules = Rules::of(settings.rules_file.as_deref()).map_err(|rejection| {
            let detail = format!("handoff.secretRules: {}", rejection.detail);
            Rejection::new(ErrorCode::Io, detail)
                .hint("the operator mends it: nothing is let in by fewer rules than were set")
        })?;
        let marks = Marks::Ignored;
        Ok(SecretScan {
            clean: RefCell::new(CleanFiles::in_dir(dir.path(), &rules.under(marks))),
            rules,
            marks,
            ignored: IgnoreFile::default(),
            trust: Trust::Server,
            history: settings.history,
            permits: settings.permits(user),
        })
    }

    /// Looks as `git handoff scan` does: by the rules of a `.gitleaks.toml`, and past what a `.gitleaksignore` and the
    /// lines themselves let through.
    ///
    /// # Errors
    ///
    /// `USAGE` where a rule cannot be used, `IO` where a file cannot be read.
    pub fn of_worktree(repository: &Repository) -> Result<Self, Rejection> {
        let top = repository.worktree();
        let own = top.map(|top| top.join(".gitleaks.toml"));
        let rules = Rules::of(own.filter(|own| own.exists()).as_deref())?;
        let ignored = match top {
            Some(top) => IgnoreFile::read(&top.join(".gitleaksignore")).map_err(|error| {
                Rejection::new(ErrorCode::Io, format!(".gitleaksignore: {error}"))
            })?,
            None => IgnoreFile::default(),
        };
        let marks = Marks::Honoured;
        let under = rules.under(marks);
        Ok(SecretScan {
            clean: RefCell::new(CleanFiles::in_dir(
                &repository.common_dir().join("handoff"),
                &under,
            )),
            rules,
            marks,
            ignored,
            trust: Trust::Clone,
            history: History::Counted,
            permits: Permits::Everything,
        })
    }

    /// Looks through what a state has and the record before did not.
    ///
    /// # Errors
    ///
    /// `MISSING_OBJECT` where something cannot be read; what cannot be looked through is not let through.
    pub fn scan(
        &self,
        repository: &Repository,
        before: Option<&VerifiedRecord>,
        state: &NewState<'_>,
    ) -> Result<Findings, Rejection> {
        let mut look = self.look(repository, state.scope, &state.content.allow);
        documents::scan(&mut look, before, state)?;
        let trusted = commits::scan(&mut look, before, state)?;
        trees::scan(&mut look, before, state, trusted)?;
        Ok(look.findings)
    }

    /// Remembers what was found clean.
    pub fn remember(&self) {
        self.clean.borrow_mut().store();
    }

    /// Looks through the text of a content that is not yet in any record.
    pub fn scan_content(
        &self,
        repository: &Repository,
        scope: &ScopeName,
        content: &Content,
    ) -> Findings {
        let mut look = self.look(repository, scope, &content.allow);
        documents::scan_one(&mut look, "content", &codec::to_json(content));
        look.findings
    }

    /// Looks through a command line, which a receipt would hold.
    pub fn scan_command(
        &self,
        repository: &Repository,
        scope: &ScopeName,
        words: &[&[u8]],
    ) -> Findings {
        let mut look = self.look(repository, scope, &[]);
        documents::command(&mut look, &Site::Command, words);
        look.findings
    }

    fn look<'a>(
        &'a self,
        repository: &'a Repository,
        scope: &'a ScopeName,
        allow: &'a [Allow],
    ) -> Look<'a> {
        Look::new(self, repository, scope, allow)
    }
}

fn own_rules() -> Result<&'static RuleSet, Rejection> {
    static OWN: OnceLock<Option<RuleSet>> = OnceLock::new();
    let own = OWN.get_or_init(|| RuleSet::own().ok());
    own.as_ref().ok_or_else(|| {
        let detail = "the rules of the secret scan cannot be read";
        Rejection::new(ErrorCode::Internal, detail)
    })
}
