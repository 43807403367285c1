//! The content as a whole, and its smaller authored parts.

use super::{
    super::{ClaimState, Content, Disposition},
    Findings, citations, claims, entries, repository,
};
use crate::{actor::ActorId, error_code::ErrorCode};

/// Checks a content that holds all of its lists; `producer` is not known before commit.
pub(super) fn check(content: &Content, producer: Option<&ActorId>, found: &mut Findings) {
    statements(content, found);
    claims::check(content, found);
    disposition(content, found);
    citations::check(content, found);
    actions(content, found);
    entries::check(content, producer, found);
    repository::check(content, found);
}

fn statements(content: &Content, found: &mut Findings) {
    if content.objective.trim().is_empty() {
        found.malformed("content.objective", "the objective says nothing");
    }
    if content.state.is_empty() {
        found.malformed("content.state", "at least one statement is needed");
    }
    for (at, statement) in content.state.iter().enumerate() {
        if statement.text.trim().is_empty() {
            found.malformed(
                format!("content.state[{at}].text"),
                "the statement says nothing",
            );
        }
        if statement.citations.is_empty() {
            found.malformed(
                format!("content.state[{at}].citations"),
                "a statement needs at least one citation",
            );
        }
    }
}

fn disposition(content: &Content, found: &mut Findings) {
    let open = content
        .claims
        .iter()
        .filter(|claim| claim.state == ClaimState::Open)
        .count();
    let blockers = content.blockers.count();
    let message = match content.disposition {
        Disposition::Completed if open > 0 || !content.decisions.is_empty() || blockers > 0 => {
            format!(
                "completed, but {open} claims are open, {} decisions are left and there are {blockers} blockers",
                content.decisions.len()
            )
        }
        Disposition::Blocked
            if blockers == 0 && content.decisions.iter().all(|d| d.blocks.is_empty()) =>
        {
            "blocked, but there is no blocker and no decision that blocks anything".into()
        }
        _ => return,
    };
    found.add(
        ErrorCode::InconsistentDisposition,
        "content.disposition",
        message,
    );
}

fn actions(content: &Content, found: &mut Findings) {
    if let Some(next) = &content.next
        && content.forbidden.contains(&next.action)
    {
        found.add(
            ErrorCode::ForbiddenAction,
            "content.next.action",
            format!("`{}` is forbidden", next.action),
        );
    }
    for (at, lifted) in content.lifted.iter().enumerate() {
        if content.forbidden.contains(&lifted.action) {
            found.add(
                ErrorCode::ForbiddenAction,
                format!("content.lifted[{at}].action"),
                format!("`{}` is lifted and still forbidden", lifted.action),
            );
        }
    }
}
