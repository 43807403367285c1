//! Claims, their receipts, and the decisions that open ones wait for.

use super::{
    super::{Claim, ClaimState, Conclusion, Content, Decision, DecisionDefault, ReceiptReference},
    Findings,
};
use crate::{entry_id::EntryId, error_code::ErrorCode};

pub(super) fn check(content: &Content, found: &mut Findings) {
    for (at, claim) in content.claims.iter().enumerate() {
        let at = format!("content.claims[{at}]");
        match claim.state {
            ClaimState::Evidenced => evidenced(&at, claim, content, found),
            ClaimState::Failed => failed(&at, claim, content, found),
            ClaimState::Open => open(&at, claim, content, found),
        }
    }
    for (at, decision) in content.decisions.iter().enumerate() {
        decidable(&format!("content.decisions[{at}]"), decision, found);
    }
    let evidenced = |claim: &Claim| claim.state == ClaimState::Evidenced;
    if content.untested.is_none() && content.claims.iter().any(evidenced) {
        found.add(
            ErrorCode::UnevidencedClaim,
            "content.untested",
            "a claim is evidenced, so what no test covers must be stated, if only as []",
        );
    }
    failed_receipts_are_told(content, found);
}

fn receipt<'a>(content: &'a Content, id: &EntryId) -> Option<&'a ReceiptReference> {
    content.receipts.inline().iter().find(|r| r.id == *id)
}

fn evidenced(at: &str, claim: &Claim, content: &Content, found: &mut Findings) {
    let tree = content.repository.worktree_tree;
    let message = match &claim.receipt {
        None => format!("claim `{}` is evidenced without a receipt", claim.id),
        Some(id) => match receipt(content, id) {
            None => format!("there is no receipt `{id}`"),
            Some(receipt) if receipt.conclusion == Conclusion::Fail => {
                format!("receipt `{id}` says that its command failed")
            }
            Some(receipt) if receipt.tree != tree => {
                format!(
                    "receipt `{id}` covers tree {}, not the worktree tree {tree}",
                    receipt.tree
                )
            }
            Some(_) => return,
        },
    };
    found.add(
        ErrorCode::UnevidencedClaim,
        format!("{at}.receipt"),
        message,
    );
}

fn failed(at: &str, claim: &Claim, content: &Content, found: &mut Findings) {
    let message = match &claim.receipt {
        None => format!("claim `{}` has failed without a receipt", claim.id),
        Some(id) => match receipt(content, id) {
            None => format!("there is no receipt `{id}`"),
            Some(receipt) if receipt.conclusion == Conclusion::Pass => {
                format!("receipt `{id}` says that its command passed")
            }
            Some(_) => return,
        },
    };
    found.add(
        ErrorCode::UnevidencedClaim,
        format!("{at}.receipt"),
        message,
    );
}

fn open(at: &str, claim: &Claim, content: &Content, found: &mut Findings) {
    let decision = claim
        .decision
        .as_ref()
        .and_then(|id| content.decisions.iter().find(|d| d.id == *id));
    if claim.owner.is_none() && decision.is_none_or(|d| d.owner.is_none()) {
        found.add(
            ErrorCode::UndecidableDecision,
            format!("{at}.owner"),
            format!(
                "open claim `{}` has no owner, nor has its decision",
                claim.id
            ),
        );
    }
    if claim.default.is_none() && decision.is_none_or(|d| d.default.is_none()) {
        found.add(
            ErrorCode::UndecidableDecision,
            format!("{at}.default"),
            format!(
                "open claim `{}` has no default, nor has its decision",
                claim.id
            ),
        );
    }
}

fn decidable(at: &str, decision: &Decision, found: &mut Findings) {
    let id = &decision.id;
    let mut add = |field: &str, message: String| {
        found.add(
            ErrorCode::UndecidableDecision,
            format!("{at}.{field}"),
            message,
        );
    };
    if decision.owner.is_none() {
        add("owner", format!("decision `{id}` has no owner"));
    }
    if !matches!(decision.options.len(), 2 | 3) {
        let count = decision.options.len();
        add(
            "options",
            format!("decision `{id}` has {count} options, not 2 or 3"),
        );
    }
    for (n, option) in decision.options.iter().enumerate() {
        if decision.options[..n].iter().any(|o| o.id == option.id) {
            add(
                &format!("options[{n}].id"),
                format!("option `{}` stands twice", option.id),
            );
        }
    }
    match &decision.default {
        None => add("default", format!("decision `{id}` has no default")),
        Some(DecisionDefault::Option(default))
            if decision.options.iter().all(|o| o.id != *default) =>
        {
            add(
                "default",
                format!("`{default}` is no option of decision `{id}`"),
            );
        }
        Some(_) => {}
    }
}

/// A receipt of a failure that no claim uses is told among the attempts, so that none is left out silently.
fn failed_receipts_are_told(content: &Content, found: &mut Findings) {
    for (at, receipt) in content.receipts.inline().iter().enumerate() {
        let of_a_claim = |claim: &Claim| claim.receipt.as_ref() == Some(&receipt.id);
        let told = content.claims.iter().any(of_a_claim)
            || content
                .attempts
                .iter()
                .flat_map(|attempt| &attempt.citations)
                .any(|citation| citation.receipt() == Some(&receipt.id));
        if receipt.conclusion == Conclusion::Fail && !told {
            found.malformed(
                format!("content.receipts[{at}]"),
                format!(
                    "receipt `{}` failed, but no claim and no attempt tells of it",
                    receipt.id
                ),
            );
        }
    }
}
