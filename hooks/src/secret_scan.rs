//! Looks for secrets in what a new record brings along, and in that alone.
//!
//! Whoever makes or sends a record asks, and the server that takes it. No reader does: a secret must never bury work
//! that is there already. What the record before had was looked through with that one, and trees are compared by their
//! ids, so that the cost grows with the change alone.

mod commits;
mod documents;
mod findings;
mod trees;

use std::{
    collections::{HashMap, HashSet},
    path::Path,
    sync::OnceLock,
};

use gix::{
    ObjectId,
    bstr::{BStr, BString},
};
use store::{
    contract::{Content, codec},
    error_code::ErrorCode,
    record::RootTree,
    repository::Repository,
    scope::ScopeName,
    secrets::{Finding, IgnoreFile, Marks, RuleSet, Scanner, Subject},
    verify::{self, VerifiedPrepared, VerifiedRecord},
};

pub use findings::{Findings, Located, Site};

use crate::rejection::Rejection;

/// What secrets are looked for by.
pub struct SecretScan {
    rules: Rules,
    marks: Marks,
    ignored: IgnoreFile,
}

enum Rules {
    Own(&'static RuleSet),
    Extended(Box<RuleSet>),
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
    /// Looks by the program's own rules alone, whatever what is looked through says: for what was pushed.
    ///
    /// # Errors
    ///
    /// `INTERNAL` where the rules cannot be read.
    pub fn of_server() -> Result<Self, Rejection> {
        Ok(SecretScan {
            rules: Rules::Own(own_rules()?),
            marks: Marks::Ignored,
            ignored: IgnoreFile::default(),
        })
    }

    /// Looks as `git handoff scan` does: by the rules of a `.gitleaks.toml`, and past what a `.gitleaksignore` and the
    /// lines themselves let through.
    ///
    /// # Errors
    ///
    /// `USAGE` where a rule cannot be used, `IO` where a file cannot be read.
    pub fn of_worktree(repository: &Repository) -> Result<Self, Rejection> {
        let top = repository.worktree().unwrap_or(Path::new(""));
        let own = top.join(".gitleaks.toml");
        let is_there = repository.worktree().is_some() && own.exists();
        let rules = match is_there {
            false => Rules::Own(own_rules()?),
            true => RuleSet::with_file(&own)
                .map(|rules| Rules::Extended(Box::new(rules)))
                .map_err(|error| {
                    Rejection::new(ErrorCode::Usage, error.to_string()).hint(
                        "a rule that cannot be used is never passed over: mend it, or take it out",
                    )
                })?,
        };
        let ignored = match repository.worktree() {
            Some(top) => IgnoreFile::read(&top.join(".gitleaksignore")).map_err(|error| {
                Rejection::new(ErrorCode::Io, format!(".gitleaksignore: {error}"))
            })?,
            None => IgnoreFile::default(),
        };
        Ok(SecretScan {
            rules,
            marks: Marks::Honoured,
            ignored,
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
        let rules = match &self.rules {
            Rules::Own(rules) => *rules,
            Rules::Extended(rules) => &**rules,
        };
        let mut look = Look {
            repository,
            objects: repository.gix(),
            scanner: Scanner::new(rules, self.marks, Some(state.scope)),
            ignored: &self.ignored,
            blobs: HashMap::new(),
            names: HashSet::new(),
            findings: Findings::default(),
        };
        documents::scan(&mut look, before, state)?;
        let trusted = commits::scan(&mut look, before, state)?;
        trees::scan(&mut look, before, state, trusted)?;
        Ok(look.findings)
    }

    /// Refuses a record that brings a secret along.
    ///
    /// # Errors
    ///
    /// `SECRET_DETECTED`, or why it could not be looked through.
    pub fn judge(
        &self,
        repository: &Repository,
        before: Option<&VerifiedRecord>,
        record: &VerifiedRecord,
    ) -> Result<(), Rejection> {
        let findings = self.scan(repository, before, &NewState::of_record(record))?;
        match findings.rejection() {
            Some(rejection) => Err(rejection),
            None => Ok(()),
        }
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

/// One look through one state.
struct Look<'a> {
    repository: &'a Repository,
    objects: &'a gix::Repository,
    scanner: Scanner<'a>,
    ignored: &'a IgnoreFile,
    /// What was found in a blob, by its id and the path that rules see.
    blobs: HashMap<(ObjectId, BString), Vec<Finding>>,
    names: HashSet<BString>,
    findings: Findings,
}

impl Look<'_> {
    fn add(&mut self, site: &Site, found: impl IntoIterator<Item = Finding>) {
        for finding in found {
            if !self.ignored.names(&finding) {
                self.findings.add(finding, site.clone());
            }
        }
    }

    /// Looks through a file: its name and what it says.
    fn file(&mut self, site: &Site, path: BString, id: ObjectId) -> Result<(), Rejection> {
        self.name(site, &path);
        let key = (id, path);
        if let Some(found) = self.blobs.get(&key) {
            let found = found.clone();
            self.add(site, found);
            return Ok(());
        }
        let commit = match site {
            Site::Commit(id) => Some(id.to_string()),
            _ => None,
        };
        let blob = self.objects.find_blob(id).map_err(missing)?;
        let subject = Subject {
            path: key.1.as_ref(),
            commit: commit.as_deref(),
        };
        let found = self
            .scanner
            .scan_stream(subject, &mut blob.data.as_slice())
            .map_err(missing)?;
        self.add(site, found.clone());
        self.blobs.insert(key, found);
        Ok(())
    }

    fn name(&mut self, site: &Site, path: &BString) {
        if self.names.insert(path.clone()) {
            let found = self.scanner.scan_name(path.as_ref());
            self.add(site, found);
        }
    }

    fn text(&mut self, site: &Site, name: &BStr, text: &[u8]) {
        let found = self.scanner.scan(Subject::at(name), text);
        self.add(site, found);
    }
}

fn missing(error: impl std::fmt::Display) -> Rejection {
    let detail = format!("what would be handed over cannot be looked through: {error}");
    Rejection::new(ErrorCode::MissingObject, detail)
}
