//! What a scan has found, and how it is told: rule, place and line, never the value.

use std::collections::BTreeSet;

use gix::ObjectId;
use store::{
    error_code::ErrorCode,
    secrets::{Finding, Place, Severity},
};

use super::Allowed;
use crate::rejection::Rejection;

/// Most findings that one message names.
const NAMED: usize = 10;
/// Most findings that are kept; whatever is over is no news.
const KEPT: usize = 2_000;

/// What a finding lies in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Site {
    /// A file of the worktree, as it is stored or as it is on disk.
    Worktree,
    /// A file of the index, merged or not.
    Index,
    /// A file that is handed over besides.
    Attachment,
    /// A file as a code commit has it.
    Commit(ObjectId),
    /// The message of a commit, or who wrote it.
    Message(ObjectId),
    /// The record's own message, or who wrote it.
    Record,
    /// A document of the record.
    Document(String),
    /// A command line.
    Command,
}

/// A finding, and what it lies in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Located {
    /// The finding.
    pub finding: Finding,
    /// What it lies in.
    pub site: Site,
}

impl std::fmt::Display for Site {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Site::Worktree => f.write_str("the worktree"),
            Site::Command => f.write_str("the command line"),
            Site::Index => f.write_str("the index"),
            Site::Attachment => f.write_str("the attachments"),
            Site::Commit(id) | Site::Message(id) => write!(f, "commit {id}"),
            Site::Record => f.write_str("the record"),
            Site::Document(name) => write!(f, "the {name}"),
        }
    }
}

impl std::fmt::Display for Located {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Located { finding, site } = self;
        write!(f, "{} in {}", finding.rule, finding.path)?;
        if finding.line > 0 {
            write!(f, ":{}", finding.line)?;
        }
        match site {
            Site::Worktree | Site::Command => Ok(()),
            site => write!(f, " of {site}"),
        }
    }
}

/// What is to be remembered of the look through what was pushed.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct SecretNotes {
    /// Entries that have let something through.
    pub allowed: BTreeSet<Allowed>,
    /// Commits that were not looked through; counted up to a hundred.
    pub unscanned_history: usize,
}

impl SecretNotes {
    /// Adds what was found in one record.
    pub fn take_in(&mut self, found: &Findings) {
        self.allowed.extend(found.allowed.iter().cloned());
        self.unscanned_history = self.unscanned_history.max(found.unscanned_history);
    }
}

/// All that was found, each place once.
#[derive(Clone, Default, Debug)]
pub struct Findings {
    found: Vec<Located>,
    allowed: BTreeSet<Allowed>,
    /// Commits of head that were there before the work began and were not looked through; counted up to a hundred.
    pub unscanned_history: usize,
}

impl Findings {
    pub(super) fn add(&mut self, finding: Finding, site: Site) {
        let is_known = |known: &Located| {
            let same_place =
                known.finding.path == finding.path && known.finding.line == finding.line;
            // A file is the same in the worktree and in the index nearly always.
            let same_site =
                known.site == site || site == Site::Index && known.site == Site::Worktree;
            same_place && same_site && known.finding.rule == finding.rule
        };
        // One that blocks is never crowded out by those that warn.
        let has_room = self.found.len() < KEPT
            || finding.severity == Severity::Block && self.blocking().next().is_none();
        if has_room && !self.found.iter().any(is_known) {
            self.found.push(Located { finding, site });
        }
    }

    pub(super) fn allow(&mut self, entry: Allowed) {
        self.allowed.insert(entry);
    }

    /// Returns the entries that have let something through.
    pub fn allowed(&self) -> impl Iterator<Item = &Allowed> {
        self.allowed.iter()
    }

    /// Returns the files in which something blocks and that can be left out: no commit holds it too.
    pub fn files(&self) -> Vec<&Place> {
        let of_commits: Vec<&Place> = self
            .blocking()
            .filter(|found| matches!(found.site, Site::Commit(_)))
            .map(|found| &found.finding.path)
            .collect();
        let mut files: Vec<&Place> = self
            .blocking()
            .filter(|found| matches!(found.site, Site::Worktree | Site::Index))
            .map(|found| &found.finding.path)
            .filter(|path| !of_commits.contains(path))
            .collect();
        files.sort();
        files.dedup();
        files
    }

    /// Returns what stops a handover.
    pub fn blocking(&self) -> impl Iterator<Item = &Located> {
        self.of(Severity::Block)
    }

    /// Returns what is told, and stops nothing.
    pub fn warnings(&self) -> impl Iterator<Item = &Located> {
        self.of(Severity::Warn)
    }

    fn of(&self, severity: Severity) -> impl Iterator<Item = &Located> {
        let found = self.found.iter();
        found.filter(move |found| found.finding.severity == severity)
    }

    /// Returns the refusal, where something blocks.
    pub fn rejection(&self) -> Option<Rejection> {
        let blocking = named(self.blocking())?;
        let detail = format!("it would hand over what looks like a secret: {blocking}");
        let rejection = Rejection::new(ErrorCode::SecretDetected, detail)
            .hint("take it out, and replace the credential if somebody else can have read it");
        let rejection = match self.files().is_empty() {
            true => rejection,
            false => rejection.hint("or leave the file out: git handoff save --omit <path>"),
        };
        let fingerprint = |found: &Located| found.finding.fingerprint.clone();
        let rejection = match self.blocking().find_map(fingerprint) {
            Some(fingerprint) => rejection.hint(format!(
                "or, if it is none, answer for it: git handoff allow {} --reason <why>; a server takes the reasons that its operator names",
                fingerprint.as_str()
            )),
            None => rejection.hint(
                "or, if it is none, put gitleaks:allow on its line; a server takes no such mark",
            ),
        };
        let rejection = match named(self.warnings()) {
            Some(warnings) => rejection.hint(format!("look at these as well: {warnings}")),
            None => rejection,
        };
        let is_in_commit =
            |found: &Located| matches!(found.site, Site::Commit(_) | Site::Message(_));
        Some(match self.blocking().any(is_in_commit) {
            true => rejection.hint(
                "what a commit holds is not left out by --omit: make the commit anew, as with git rebase --interactive",
            ),
            false => rejection,
        })
    }
}

/// Names findings as far as a message can; `None` where there is none.
fn named<'a>(found: impl Iterator<Item = &'a Located>) -> Option<String> {
    let all: Vec<String> = found.map(ToString::to_string).collect();
    let shown = all.get(..NAMED).unwrap_or(&all).join(", ");
    match all.len() {
        0 => None,
        count if count > NAMED => Some(format!("{shown} and {} more", count - NAMED)),
        _ => Some(shown),
    }
}
