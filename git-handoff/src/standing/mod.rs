//! How what a content says stands here: each citation, receipt and command, checked against this place.

mod base;
mod here;
mod passing;
mod run;

use std::collections::BTreeMap;

use gix::{ObjectId, bstr::ByteSlice};
use hooks::rejection::Rejection;
use schemars::JsonSchema;
use serde::Serialize;
use store::{
    contract::{
        Citation, Claim, ClaimState, Conclusion, Content, LineRange, Receipt, Verification, check,
        codec,
    },
    digest::Digest,
    entry_id::EntryId,
    evidence, line,
    oid::Oid,
    record::RootTree,
    repo_path::RepoPath,
    repository::Repository,
    scope::ScopeName,
    verify::{self, Depth},
};

pub(crate) use base::{BaseNow, HeadNow};
pub(crate) use here::{Found, Here};
use passing::Passing;
pub(crate) use run::need_somebody_to_ask;

use crate::{context::Context, error::CommandError};

/// Most bytes of a file whose cited lines are compared.
const MAX_CITED_BYTES: u64 = 64 << 20;

macro_rules! evidence_states {
    ($($(#[doc = $doc:literal])+ $variant:ident = $text:literal,)+) => {
        /// How a piece of evidence stands here, best first.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, JsonSchema, Serialize)]
        #[serde(rename_all = "lowercase")]
        pub(crate) enum EvidenceState {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl EvidenceState {
            /// All states with what they mean, for people.
            pub(crate) const MEANINGS: &[(EvidenceState, &str)] =
                &[$((EvidenceState::$variant, concat!($($doc),+))),+];

            pub(crate) fn as_str(self) -> &'static str {
                match self {
                    $(EvidenceState::$variant => $text,)+
                }
            }
        }
    };
}

evidence_states! {
    /// Seen here: a file or tree that is as it was handed over, a commit or checkpoint that is there, a receipt whose
    /// command passed here on the worktree as it is now.
    Ok = "ok",
    /// A receipt that covers the tree handed over, which is the one here: its producer's word, not confirmed here.
    Bound = "bound",
    /// Nothing here can tell: a URL, a bundle, another scope, or no worktree of this checkpoint to look at.
    Unchecked = "unchecked",
    /// It is here and not what was handed over; of a receipt: it covers another tree than the one here.
    Changed = "changed",
    /// It points to nothing here.
    Missing = "missing",
}

/// Tells what the states mean, for help.
pub(crate) fn help_on_evidence() -> String {
    let lines = EvidenceState::MEANINGS.iter().map(|(state, meaning)| {
        let state = state.as_str();
        format!("  {state:<10}{}\n", meaning.trim_ascii())
    });
    let lines: String = lines.collect();
    format!(
        "Evidence:\n{lines}\nWhat rests on several citations has the state of the worst of them."
    )
}

/// What was found of a piece of evidence.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize)]
pub(crate) struct Finding {
    pub(crate) evidence: EvidenceState,
    /// Why, where the state does not say it all.
    pub(crate) detail: Option<String>,
}

impl Finding {
    fn new(evidence: EvidenceState, detail: impl Into<String>) -> Self {
        let detail = Some(detail.into());
        Finding { evidence, detail }
    }

    fn bare(evidence: EvidenceState) -> Self {
        let detail = None;
        Finding { evidence, detail }
    }
}

/// A citation with what was found of it.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub(crate) struct Cited {
    pub(crate) citation: Citation,
    #[serde(flatten)]
    pub(crate) finding: Finding,
}

/// Returns the state of what rests on several citations: that of the worst of them; on none, nobody can tell.
pub(crate) fn worst(cited: &[Cited]) -> EvidenceState {
    let states = cited.iter().map(|cited| cited.finding.evidence);
    states.max().unwrap_or(EvidenceState::Unchecked)
}

/// What is handed over, wherever it stands.
#[derive(Clone, Copy)]
pub(crate) struct HandedOver<'a> {
    pub(crate) scope: &'a ScopeName,
    pub(crate) content: &'a Content,
    pub(crate) root: &'a RootTree,
    /// The record from which checkpoints of the scope are looked up.
    pub(crate) line: Option<ObjectId>,
    /// The repository that holds it all.
    pub(crate) repository: &'a Repository,
}

/// Checks what a content says against what is here.
pub(crate) struct Standing<'a> {
    handed_over: HandedOver<'a>,
    pub(crate) here: Here,
    receipts: BTreeMap<EntryId, (Receipt, Digest)>,
    passing: Passing,
}

impl<'a> Standing<'a> {
    /// Looks at what is here.
    ///
    /// `is_of_here` says that it is this worktree's own, whatever it looks like now.
    pub(crate) fn find(
        context: &Context,
        handed_over: HandedOver<'a>,
        is_of_here: bool,
    ) -> Result<Self, CommandError> {
        let objects = handed_over.repository.gix();
        let (files, _) = verify::files_of(objects, handed_over.root).map_err(Rejection::from)?;
        let mut receipts = BTreeMap::new();
        for (_, bytes) in files {
            // What was verified can be decoded.
            if let Ok(receipt) = codec::decode::<Receipt>(&bytes) {
                receipts.insert(receipt.id.clone(), (receipt, Digest::of(&bytes)));
            }
        }
        let here = Here::find(context, &handed_over, is_of_here);
        let passing = Passing::find(context, &here);
        Ok(Standing {
            handed_over,
            here,
            receipts,
            passing,
        })
    }

    /// Checks citations.
    pub(crate) fn all(&self, citations: &[Citation]) -> Vec<Cited> {
        let cited = citations.iter().map(|citation| Cited {
            citation: citation.clone(),
            finding: self.citation(citation),
        });
        cited.collect()
    }

    fn citation(&self, citation: &Citation) -> Finding {
        match citation {
            Citation::Worktree => self.worktree(),
            Citation::File(path, lines) => self.file(path, *lines),
            Citation::Receipt(id) => self.receipt(id),
            Citation::Commit(id) => self.commit(*id),
            Citation::Checkpoint(scope, ..) if scope != self.handed_over.scope => {
                Finding::new(EvidenceState::Unchecked, "of another scope")
            }
            Citation::Checkpoint(_, generation, digest) => {
                let objects = self.handed_over.repository.gix();
                let found = self.handed_over.line.and_then(|line| {
                    let id = line::find_generation(objects, line, *generation).ok()??;
                    let scope = Some(self.handed_over.scope);
                    let record = verify::record(objects, id, scope, None, Depth::Documents);
                    record.into_result().ok()
                });
                match found.is_some_and(|record| record.manifest.digest == *digest) {
                    true => Finding::bare(EvidenceState::Ok),
                    false => Finding::new(EvidenceState::Missing, "not on the line of the scope"),
                }
            }
            Citation::Evidence(id) => self.evidence(id),
            Citation::Bundle(_) => Finding::new(EvidenceState::Unchecked, "kept elsewhere"),
            Citation::Url(_) => Finding::new(EvidenceState::Unchecked, "never fetched"),
        }
    }

    fn evidence(&self, id: &EntryId) -> Finding {
        let mut entries = self.handed_over.content.evidence.iter();
        let Some(entry) = entries.find(|entry| entry.id == *id) else {
            return Finding::new(EvidenceState::Missing, "the checkpoint does not hold it");
        };
        match check::evidence_target(entry) {
            Some(Ok(target)) => self.citation(&target),
            Some(Err(_)) | None => Finding::new(EvidenceState::Unchecked, "kept elsewhere"),
        }
    }

    /// Says why the worktree cannot be looked at.
    fn unseen(&self) -> Finding {
        let why = match &self.here {
            Here::Nowhere => "there is no worktree here to compare with",
            Here::Elsewhere => "the worktree here is not of this checkpoint",
            Here::Unknown(why) => why,
            Here::Worktree(_) => "",
        };
        Finding::new(EvidenceState::Unchecked, why)
    }

    fn worktree(&self) -> Finding {
        match &self.here {
            Here::Worktree(found) if found.is_as_handed_over() => Finding::bare(EvidenceState::Ok),
            Here::Worktree(found) => Finding::new(EvidenceState::Changed, found.what_differs()),
            _ => self.unseen(),
        }
    }

    fn file(&self, path: &RepoPath, lines: Option<LineRange>) -> Finding {
        let Here::Worktree(found) = &self.here else {
            return self.unseen();
        };
        let Some(difference) = found.of_path(path.as_bstr()) else {
            return Finding::bare(EvidenceState::Ok);
        };
        if difference.is_gone {
            return Finding::new(EvidenceState::Missing, difference.detail.clone());
        }
        if let Some(lines) = lines {
            let recorded = self.handed_over.content.repository.worktree_tree;
            let then = self.lines(recorded, path, lines);
            if then.is_some() && then == self.lines(found.tree, path, lines) {
                let detail = "the file has changed, these lines have not";
                return Finding::new(EvidenceState::Ok, detail);
            }
        }
        Finding::new(EvidenceState::Changed, difference.detail.clone())
    }

    /// Returns lines of a file of a tree.
    fn lines(&self, tree: Oid, path: &RepoPath, lines: LineRange) -> Option<Vec<u8>> {
        let objects = self.handed_over.repository.gix();
        let path = gix::path::from_bstr(path.as_bstr()).ok()?;
        let tree = objects.find_tree(tree.id()).ok()?;
        let entry = tree.lookup_entry_by_path(path).ok()??;
        if objects.find_header(entry.object_id()).ok()?.size() > MAX_CITED_BYTES {
            return None;
        }
        let data = objects.find_object(entry.object_id()).ok()?;
        let count = usize::try_from(lines.last - lines.first + 1).ok()?;
        let first = usize::try_from(lines.first - 1).ok()?;
        let cited: Vec<&[u8]> = data
            .data
            .lines_with_terminator()
            .skip(first)
            .take(count)
            .collect();
        (cited.len() == count).then(|| cited.concat())
    }

    fn commit(&self, id: Oid) -> Finding {
        let objects = self.handed_over.repository.gix();
        if !objects.has_object(id.id()) {
            return match objects.is_shallow().unwrap_or(false) {
                true => Finding::new(
                    EvidenceState::Unchecked,
                    "behind where history is cut short",
                ),
                false => Finding::new(EvidenceState::Missing, "the commit is not here"),
            };
        }
        match &self.here {
            Here::Worktree(found) if !found.reaches(objects, id.id()) => {
                Finding::new(EvidenceState::Changed, "HEAD here does not reach it")
            }
            _ => Finding::bare(EvidenceState::Ok),
        }
    }

    /// Checks a receipt.
    pub(crate) fn receipt(&self, id: &EntryId) -> Finding {
        let Some((receipt, digest)) = self.receipts.get(id) else {
            return Finding::new(EvidenceState::Missing, "the checkpoint does not hold it");
        };
        let recorded = self.handed_over.content.repository.worktree_tree;
        let failed = evidence::conclusion(receipt) == Conclusion::Fail;
        match (self.passing.has_passed(receipt, *digest), failed) {
            (true, false) => return Finding::bare(EvidenceState::Ok),
            (true, true) => {
                let detail = "its command failed there, and passed here";
                return Finding::new(EvidenceState::Changed, detail);
            }
            (false, _) => {}
        }
        if !evidence::covers(receipt, recorded) {
            let detail = match receipt.tree_before == receipt.tree_after {
                true => "its command ran on another tree than the one handed over",
                false => "its command changed the tree that it ran on",
            };
            return Finding::new(EvidenceState::Changed, detail);
        }
        match &self.here {
            Here::Worktree(found) if !found.is_as_handed_over() => {
                Finding::new(EvidenceState::Changed, found.what_differs())
            }
            _ if failed => Finding::new(EvidenceState::Bound, "its command failed"),
            _ => Finding::bare(EvidenceState::Bound),
        }
    }

    /// Returns the receipts of the checkpoint.
    pub(crate) fn receipts(&self) -> impl Iterator<Item = &Receipt> {
        self.receipts.values().map(|(receipt, _)| receipt)
    }

    /// Checks the evidence of a claim; an open one has none.
    pub(crate) fn claim(&self, claim: &Claim) -> Option<Finding> {
        let shows = |command: &&Verification| command.claim.as_ref() == Some(&claim.id);
        let mut commands = self.handed_over.content.verification.iter().filter(shows);
        if claim.state == ClaimState::Evidenced
            && let Some(passed) = commands.find(|command| self.has_passed(command))
        {
            let detail = format!("verification {} passed here", passed.id);
            return Some(Finding::new(EvidenceState::Ok, detail));
        }
        claim.receipt.as_ref().map(|id| self.receipt(id))
    }

    /// Tells whether a verification command passed here, on the worktree as it is now.
    pub(crate) fn has_passed(&self, command: &Verification) -> bool {
        self.passing.has(&command.command, self.receipt_of(command))
    }

    /// Returns the digest of the receipt whose claim a verification command is to show.
    pub(crate) fn receipt_of(&self, command: &Verification) -> Option<Digest> {
        let mut claims = self.handed_over.content.claims.iter();
        let claim = claims.find(|claim| Some(&claim.id) == command.claim.as_ref())?;
        let (_, digest) = self.receipts.get(claim.receipt.as_ref()?)?;
        Some(*digest)
    }
}
