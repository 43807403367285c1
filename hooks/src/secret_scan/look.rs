//! One look through one state: files, names and texts, each looked through once.

use std::{
    cell::OnceCell,
    collections::{HashMap, HashSet},
};

use gix::{
    ObjectId,
    bstr::{BStr, BString},
    objs::Kind,
};
use store::{
    contract::Allow,
    error_code::ErrorCode,
    repository::Repository,
    scope::ScopeName,
    secrets::{Finding, PathRules, Scanner, Subject},
};

use super::{Findings, SecretScan, Site, trees::Seen};
use crate::rejection::Rejection;

/// One look through one state.
pub(super) struct Look<'a> {
    pub(super) scan: &'a SecretScan,
    pub(super) repository: &'a Repository,
    pub(super) objects: &'a gix::Repository,
    scanner: Scanner<'a>,
    allow: &'a [Allow],
    /// What was found in a blob, at the paths that it was met at.
    blobs: HashMap<ObjectId, Vec<Met>>,
    names: HashSet<BString>,
    /// Directories that were looked through.
    pub(super) seen: Seen,
    pub(super) findings: Findings,
}

/// What was found in a blob at a path, and with it in a commit where that matters.
struct Met {
    path: BString,
    /// The rules that speak of the path; found out when the blob is met at another one.
    rules: OnceCell<PathRules>,
    commit: Option<ObjectId>,
    found: Vec<Finding>,
}

impl<'a> Look<'a> {
    pub(super) fn new(
        scan: &'a SecretScan,
        repository: &'a Repository,
        scope: &'a ScopeName,
        allow: &'a [Allow],
    ) -> Self {
        Look {
            scan,
            repository,
            objects: repository.gix(),
            scanner: Scanner::new(scan.rules.set(), scan.marks, Some(scope)),
            allow,
            blobs: HashMap::new(),
            names: HashSet::new(),
            seen: Seen::default(),
            findings: Findings::default(),
        }
    }

    fn add(&mut self, site: &Site, found: impl IntoIterator<Item = Finding>) {
        for finding in found {
            if self.scan.ignored.names(&finding) {
                continue;
            }
            match self.scan.permits.entry_for(self.allow, &finding) {
                Some(entry) => self.findings.allow(entry),
                None => self.findings.add(finding, site.clone()),
            }
        }
    }

    /// Looks through a file: its name and what it says.
    pub(super) fn file(
        &mut self,
        site: &Site,
        path: BString,
        id: ObjectId,
    ) -> Result<(), Rejection> {
        self.name(site, &path);
        let commit = match site {
            Site::Commit(id) if self.scan.rules.set().names_commits() => Some(*id),
            _ => None,
        };
        let found = match self.known(id, &path, commit) {
            Some(found) => found,
            None => {
                let found = self.look_through(id, &path, commit)?;
                let met = Met {
                    path,
                    rules: OnceCell::new(),
                    commit,
                    found: found.clone(),
                };
                self.blobs.entry(id).or_default().push(met);
                found
            }
        };
        self.add(site, found);
        Ok(())
    }

    /// Returns what was found in a blob where the same rules speak of it.
    fn known(
        &self,
        id: ObjectId,
        path: &BString,
        commit: Option<ObjectId>,
    ) -> Option<Vec<Finding>> {
        let met = self.blobs.get(&id)?;
        let mut met = met.iter().filter(|met| met.commit == commit);
        if let Some(same) = met.clone().find(|met| met.path == *path) {
            return Some(same.found.clone());
        }
        let set = self.scan.rules.set();
        let here = set.rules_of_path(path.as_ref());
        let there = |met: &&Met| {
            let rules = || set.rules_of_path(met.path.as_ref());
            *met.rules.get_or_init(rules) == here
        };
        let alike = met.find(there)?;
        let place = self.scanner.place(path.as_ref());
        let moved = alike.found.iter().map(|finding| Finding {
            path: place.clone(),
            ..finding.clone()
        });
        Some(moved.collect())
    }

    fn look_through(
        &mut self,
        id: ObjectId,
        path: &BString,
        commit: Option<ObjectId>,
    ) -> Result<Vec<Finding>, Rejection> {
        let is_remembered = commit.is_none();
        if is_remembered && self.scan.clean.borrow_mut().has(id, path.as_ref()) {
            return Ok(Vec::new());
        }
        let blob = self.object(id, Kind::Blob)?;
        let commit = commit.map(|id| id.to_string());
        let subject = Subject {
            path: path.as_ref(),
            commit: commit.as_deref(),
        };
        let found = self
            .scanner
            .scan_stream(subject, &mut blob.as_slice())
            .map_err(missing)?;
        if is_remembered && found.is_empty() {
            self.scan.clean.borrow_mut().add(id, path.as_ref());
        }
        Ok(found)
    }

    /// Reads an object; what a partial clone lacks is fetched by Git.
    pub(super) fn object(&self, id: ObjectId, kind: Kind) -> Result<Vec<u8>, Rejection> {
        let error = match self.objects.find_object(id) {
            Ok(mut found) if found.kind == kind => return Ok(std::mem::take(&mut found.data)),
            Ok(found) => return Err(missing(format!("{id} is a {}, no {kind}", found.kind))),
            Err(error) => error,
        };
        let args = ["cat-file".to_owned(), kind.to_string(), id.to_string()];
        let fetched = self.repository.git().output(args);
        fetched.map_err(|_| missing(error))
    }

    fn name(&mut self, site: &Site, path: &BString) {
        if self.names.insert(path.clone()) {
            let found = self.scanner.scan_name(path.as_ref());
            self.add(site, found);
        }
    }

    /// Looks through a text that is no file.
    pub(super) fn text(&mut self, site: &Site, name: &BStr, text: &[u8]) {
        let found = self.scanner.scan(Subject::at(name), text);
        self.add(site, found);
    }
}

pub(super) fn missing(error: impl std::fmt::Display) -> Rejection {
    let detail = format!("what would be handed over cannot be looked through: {error}");
    Rejection::new(ErrorCode::MissingObject, detail)
}
