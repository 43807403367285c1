//! What points to something else in the document: citations and ids.

use std::collections::BTreeSet;

use super::{
    super::{Citation, CitationError, Content, Evidence, EvidenceKind},
    Findings,
    repository::credentials_in,
};
use crate::{entry_id::EntryId, error_code::ErrorCode};

/// Returns every citation of a content with its field path, and what entries of `evidence` refer to as if they cited
/// it.
pub fn citations(content: &Content) -> Vec<(String, Citation)> {
    let mut found = Vec::new();
    let mut add = |field: String, citations: &[Citation]| {
        for (at, citation) in citations.iter().enumerate() {
            found.push((format!("content.{field}[{at}]"), citation.clone()));
        }
    };
    for (at, statement) in content.state.iter().enumerate() {
        add(format!("state[{at}].citations"), &statement.citations);
    }
    if let Some(next) = &content.next {
        add("next.citations".into(), &next.citations);
    }
    for (at, decision) in content.decisions.iter().enumerate() {
        add(format!("decisions[{at}].citations"), &decision.citations);
    }
    for (at, assumption) in content.assumptions.iter().enumerate() {
        add(
            format!("assumptions[{at}].citations"),
            &assumption.citations,
        );
    }
    for (at, attempt) in content.attempts.iter().enumerate() {
        add(format!("attempts[{at}].citations"), &attempt.citations);
    }
    for (at, failure) in content.known_failures.iter().enumerate() {
        add(format!("knownFailures[{at}].citations"), &failure.citations);
    }
    for (at, lifted) in content.lifted.iter().enumerate() {
        add(format!("lifted[{at}].citations"), &lifted.citations);
    }
    for (at, omission) in content.omissions.inline().iter().enumerate() {
        if let Some(citation) = &omission.citation {
            found.push((
                format!("content.omissions[{at}].citation"),
                citation.clone(),
            ));
        }
    }
    for (at, evidence) in content.evidence.iter().enumerate() {
        if let Some(Ok(citation)) = evidence_target(evidence) {
            found.push((format!("content.evidence[{at}].ref"), citation));
        }
    }
    found
}

/// Returns what an entry of `evidence` refers to: the text after `<kind>/` of a citation of that kind.
pub fn evidence_target(evidence: &Evidence) -> Option<Result<Citation, CitationError>> {
    let kind = match evidence.kind {
        EvidenceKind::Receipt
        | EvidenceKind::Commit
        | EvidenceKind::File
        | EvidenceKind::Checkpoint
        | EvidenceKind::Url => evidence.kind,
        EvidenceKind::Bundle | EvidenceKind::External => return None,
    };
    Some(format!("{kind}/{}", evidence.reference).parse())
}

pub(super) fn check(content: &Content, found: &mut Findings) {
    let targets = Targets::of(content);
    for (field, citation) in citations(content) {
        targets.judge(&field, &citation, found);
    }
    targets.references(content, found);
}

/// The ids that something in the document may point to.
struct Targets<'a> {
    content: &'a Content,
    receipts: BTreeSet<&'a EntryId>,
    evidence: BTreeSet<&'a EntryId>,
    bundles: BTreeSet<&'a EntryId>,
    claims: BTreeSet<&'a EntryId>,
    decisions: BTreeSet<&'a EntryId>,
}

impl<'a> Targets<'a> {
    fn of(content: &'a Content) -> Self {
        let bundle = |entry: &&Evidence| entry.kind == EvidenceKind::Bundle;
        Targets {
            content,
            receipts: content.receipts.inline().iter().map(|r| &r.id).collect(),
            evidence: content.evidence.iter().map(|e| &e.id).collect(),
            bundles: content
                .evidence
                .iter()
                .filter(bundle)
                .map(|e| &e.id)
                .collect(),
            claims: content.claims.iter().map(|c| &c.id).collect(),
            decisions: content.decisions.iter().map(|d| &d.id).collect(),
        }
    }

    /// Judges one citation as far as the document alone can.
    fn judge(&self, field: &str, citation: &Citation, found: &mut Findings) {
        let good = match citation {
            Citation::Receipt(id) => self.receipts.contains(id),
            Citation::Evidence(id) => self.evidence.contains(id),
            Citation::Bundle(id) => self.bundles.contains(id),
            Citation::Commit(id) => self.content.repository.object_format.fits(id),
            Citation::Url(url) => {
                if credentials_in(url.as_bytes()) {
                    found.add(
                        ErrorCode::SecretDetected,
                        field,
                        "the URL holds credentials",
                    );
                }
                true
            }
            Citation::Worktree | Citation::File(..) | Citation::Checkpoint(..) => true,
        };
        if !good {
            found.add(
                ErrorCode::BadCitation,
                field,
                format!("`{citation}` points to nothing"),
            );
        }
    }

    /// Judges the ids that entries hold besides citations.
    fn references(&self, content: &Content, found: &mut Findings) {
        let mut need = |known: bool, field: String, kind: &str, id: &EntryId| {
            if !known {
                found.add(
                    ErrorCode::BadCitation,
                    format!("content.{field}"),
                    format!("there is no {kind} `{id}`"),
                );
            }
        };
        for (at, claim) in content.claims.iter().enumerate() {
            if let Some(id) = &claim.decision {
                let known = self.decisions.contains(id);
                need(known, format!("claims[{at}].decision"), "decision", id);
            }
            if let Some(id) = &claim.receipt {
                let known = self.receipts.contains(id);
                need(known, format!("claims[{at}].receipt"), "receipt", id);
            }
        }
        for (at, decision) in content.decisions.iter().enumerate() {
            for (n, id) in decision.blocks.iter().enumerate() {
                let known = self.claims.contains(id) || self.decisions.contains(id);
                let field = format!("decisions[{at}].blocks[{n}]");
                need(known, field, "claim or decision", id);
            }
        }
        for (at, effect) in content.effects.iter().enumerate() {
            if let Some(id) = &effect.receipt {
                let known = self.receipts.contains(id);
                need(known, format!("effects[{at}].receipt"), "receipt", id);
            }
        }
        for (at, command) in content.verification.iter().enumerate() {
            if let Some(id) = &command.claim {
                let known = self.claims.contains(id);
                need(known, format!("verification[{at}].claim"), "claim", id);
            }
        }
        for (at, evidence) in content.evidence.iter().enumerate() {
            if let Some(Err(_)) = evidence_target(evidence) {
                found.add(
                    ErrorCode::BadCitation,
                    format!("content.evidence[{at}].ref"),
                    format!("`{}` names no {}", evidence.reference, evidence.kind),
                );
            }
        }
    }
}
