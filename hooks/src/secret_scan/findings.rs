//! What a scan has found, and how it is told: rule, place and line, never the value.

use gix::ObjectId;
use store::{
    error_code::ErrorCode,
    secrets::{Finding, Severity},
};

use crate::rejection::Rejection;

/// Most findings that one message names.
const NAMED: usize = 10;

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
}

/// A finding, and what it lies in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Located {
    /// The finding.
    pub finding: Finding,
    /// What it lies in.
    pub site: Site,
}

impl std::fmt::Display for Located {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Located { finding, site } = self;
        write!(f, "{} in {}", finding.rule, finding.path)?;
        if finding.line > 0 {
            write!(f, ":{}", finding.line)?;
        }
        match site {
            Site::Worktree => Ok(()),
            Site::Index => f.write_str(" of the index"),
            Site::Attachment => f.write_str(" of the attachments"),
            Site::Commit(id) | Site::Message(id) => write!(f, " of commit {id}"),
            Site::Record => f.write_str(" of the record"),
            Site::Document(name) => write!(f, " of the {name}"),
        }
    }
}

/// All that was found, each place once.
#[derive(Clone, Default, Debug)]
pub struct Findings(Vec<Located>);

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
        if !self.0.iter().any(is_known) {
            self.0.push(Located { finding, site });
        }
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
        let found = self.0.iter();
        found.filter(move |found| found.finding.severity == severity)
    }

    /// Returns the refusal, where something blocks.
    pub fn rejection(&self) -> Option<Rejection> {
        let blocking = named(self.blocking())?;
        let detail = format!("it would hand over what looks like a secret: {blocking}");
        let rejection = Rejection::new(ErrorCode::SecretDetected, detail)
            .hint("take it out, and replace the credential if somebody else can have read it")
            .hint("or leave the file out: git handoff save --omit <path>")
            .hint(
                "or, if it is none, put gitleaks:allow on its line; a server that scans takes no such mark",
            );
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
