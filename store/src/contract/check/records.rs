//! Accepts, releases and receipts, by themselves and against what stands beside them.

use std::collections::BTreeMap;

use super::{
    super::{
        Accept, Blocker, ClaimState, Conclusion, Content, Manifest, PathLease, Receipt,
        ReceiptReference, Release, codec,
    },
    Findings, Violation, entries,
};
use crate::{digest::Digest, entry_id::EntryId, error_code::ErrorCode};

/// Longest time that an accept may hold, in seconds, unless `handoff.maxAcceptFor` says otherwise: 30 days.
pub const DEFAULT_MAX_ACCEPT_SECONDS: i64 = 30 * 24 * 60 * 60;

/// Checks an accept by itself; `max_seconds` is `handoff.maxAcceptFor`.
pub fn accept(accept: &Accept, max_seconds: i64) -> Vec<Violation> {
    let mut found = Findings::default();
    let held = accept.until.unix_seconds() - accept.accepted_at.unix_seconds();
    if held <= 0 {
        found.add(
            ErrorCode::Clock,
            "until",
            format!("{} is not after {}", accept.until, accept.accepted_at),
        );
    }
    if held > max_seconds {
        found.add(
            ErrorCode::LimitExceeded,
            "until",
            format!("an accept holds for {max_seconds} seconds at most, not for {held}"),
        );
    }
    if accept.previous_release.is_some() && accept.previous_accept.is_none() {
        found.malformed("previousAccept", "a release follows an accept");
    }
    entries::unique("delegates", "", &accept.delegates, &mut found);
    entries::leases_are_unique("leases", accept.leases.as_deref(), &mut found);
    for at in 1..accept.acknowledged.len() {
        if accept.acknowledged[..at].contains(&accept.acknowledged[at]) {
            found.malformed(format!("acknowledged[{at}]"), "that blocker stands twice");
        }
    }
    found.0
}

/// Checks an accept against the manifest it accepts, whose digest is `digest` and whose blockers are `blockers`.
pub fn accept_of(
    accept: &Accept,
    manifest: &Manifest,
    digest: Digest,
    blockers: &[Blocker],
) -> Vec<Violation> {
    let mut found = Findings::default();
    if accept.scope != manifest.scope {
        let message = format!("scope `{}`, not `{}`", accept.scope, manifest.scope);
        found.add(ErrorCode::ScopeMismatch, "scope", message);
    }
    let (named, current) = (accept.generation, manifest.generation);
    if named != current {
        let message = format!("generation {named} is named, generation {current} is current");
        found.add(ErrorCode::StaleCheckpoint, "generation", message);
    }
    if accept.checkpoint_digest != digest {
        let message = format!("{} is named, {digest} is current", accept.checkpoint_digest);
        found.add(ErrorCode::StaleCheckpoint, "checkpointDigest", message);
    }
    let content = &manifest.content;
    if let Some(action) = accept
        .action
        .as_ref()
        .filter(|a| content.forbidden.contains(a))
    {
        let message = format!("`{action}` is forbidden");
        found.add(ErrorCode::ForbiddenAction, "action", message);
    }
    let acceptors = content
        .task
        .as_ref()
        .map_or(&[][..], |task| &task.acceptors);
    let id = &accept.acceptor.id;
    if !acceptors.is_empty() && acceptors.iter().all(|acceptor| acceptor.id != *id) {
        let message = format!("`{id}` is not among those who may accept");
        found.add(ErrorCode::ForbiddenAction, "acceptor.id", message);
    }
    leases_are_kept(
        accept.leases.as_deref(),
        content.leases.as_deref(),
        &mut found,
    );
    blockers_are_acknowledged(accept, blockers, &mut found);
    found.0
}

/// Finds leases that are not among those held before: null is no limit, an entry is kept as it is or dropped.
fn leases_are_kept(
    after: Option<&[PathLease]>,
    before: Option<&[PathLease]>,
    found: &mut Findings,
) {
    let Some(before) = before else { return };
    let Some(after) = after else {
        found.add(
            ErrorCode::LeaseExpanded,
            "leases",
            "leases never become null again",
        );
        return;
    };
    for (at, lease) in after.iter().enumerate() {
        if !before
            .iter()
            .any(|b| b.id == lease.id && b.paths == lease.paths)
        {
            found.add(
                ErrorCode::LeaseExpanded,
                format!("leases[{at}]"),
                format!("lease `{}` is not held with these paths", lease.id),
            );
        }
    }
}

/// Returns the blockers that an accept does not name.
pub fn unacknowledged<'a>(accept: &Accept, blockers: &'a [Blocker]) -> Vec<&'a Blocker> {
    let known = |blocker: &&Blocker| {
        let mut known = accept.acknowledged.iter();
        known.any(|known| known.kind == blocker.kind && known.path == blocker.path)
    };
    blockers.iter().filter(|blocker| !known(blocker)).collect()
}

fn blockers_are_acknowledged(accept: &Accept, blockers: &[Blocker], found: &mut Findings) {
    for blocker in unacknowledged(accept, blockers) {
        let what = blocker.path.as_ref().map(|path| format!(" at `{path}`"));
        found.add(
            ErrorCode::Blocked,
            "acknowledged",
            format!("blocker {}{}", blocker.kind, what.unwrap_or_default()),
        );
    }
}

/// Checks a release against the accept that it ends, whose digest is `digest`.
pub fn release_of(release: &Release, accept: &Accept, digest: Digest) -> Vec<Violation> {
    let mut found = Findings::default();
    if release.scope != accept.scope {
        let message = format!("scope `{}`, not `{}`", release.scope, accept.scope);
        found.add(ErrorCode::ScopeMismatch, "scope", message);
    }
    if release.generation != accept.generation {
        let (named, current) = (release.generation, accept.generation);
        let message = format!("generation {named} is named, generation {current} is accepted");
        found.add(ErrorCode::StaleCheckpoint, "generation", message);
    }
    if release.accept_digest != digest {
        let message = format!("{} is named, {digest} holds", release.accept_digest);
        found.add(ErrorCode::DigestMismatch, "acceptDigest", message);
    }
    if release.by != accept.acceptor.id {
        let message = format!(
            "`{}` has accepted, not `{}`",
            accept.acceptor.id, release.by
        );
        found.add(ErrorCode::NotOwner, "by", message);
    }
    if release.at < accept.accepted_at {
        let message = format!("{} is before {}", release.at, accept.accepted_at);
        found.add(ErrorCode::Clock, "at", message);
    }
    found.0
}

/// Checks a receipt by itself and against what the manifest says of it.
pub fn receipt(receipt: &Receipt, reference: &ReceiptReference) -> Vec<Violation> {
    let mut found = Findings::default();
    let at = |field: &str| format!("receipts/{}.cbor: {field}", reference.id);
    let mut add = |field: &str, message: String| {
        found.add(ErrorCode::ReceiptMismatch, at(field), message);
    };
    if receipt.id != reference.id {
        add("id", format!("`{}`, not `{}`", receipt.id, reference.id));
    }
    if receipt.argv.is_empty() {
        add("argv", "no command".into());
    }
    if receipt.exit_code.is_some() == receipt.signal.is_some() {
        add(
            "exitCode",
            "a command ends by an exit code or a signal".into(),
        );
    }
    let conclusion = match receipt.exit_code {
        Some(0) => Conclusion::Pass,
        _ => Conclusion::Fail,
    };
    if conclusion != reference.conclusion {
        add(
            "exitCode",
            "the manifest says otherwise of how it ended".into(),
        );
    }
    if receipt.tree_before != reference.tree {
        let (ran, said) = (receipt.tree_before, reference.tree);
        add("treeBefore", format!("it ran on {ran}, not on {said}"));
    }
    if receipt.tree_before.kind() != receipt.tree_after.kind() {
        add("treeAfter", "the two trees are of different formats".into());
    }
    found.0
}

/// Checks the receipts beside a content that holds all of its lists, bytes by id.
///
/// An evidenced claim needs a receipt whose command changed no captured path.
pub fn receipts(whole: &Content, blobs: &BTreeMap<EntryId, Vec<u8>>) -> Vec<Violation> {
    let mut found = Findings::default();
    let references = whole.receipts.inline();
    for reference in references {
        let field = format!("receipts/{}.cbor", reference.id);
        let Some(bytes) = blobs.get(&reference.id) else {
            found.add(ErrorCode::MissingObject, field, "the receipt is missing");
            continue;
        };
        if Digest::of(bytes) != reference.digest {
            let message = "the receipt is not the one that the manifest names";
            found.add(ErrorCode::DigestMismatch, field, message);
            continue;
        }
        match codec::decode::<Receipt>(bytes) {
            Ok(decoded) => {
                found.0.extend(receipt(&decoded, reference));
                if decoded.tree_before != decoded.tree_after {
                    covers_nothing(whole, &reference.id, &mut found);
                }
            }
            Err(error) => found.add(error.code(), field, error.to_string()),
        }
    }
    for id in blobs.keys() {
        if references.iter().all(|reference| reference.id != *id) {
            found.malformed(
                format!("receipts/{id}.cbor"),
                "the manifest names no such receipt",
            );
        }
    }
    found.0
}

/// Finds claims said to be evidenced by a receipt whose command changed the worktree.
fn covers_nothing(whole: &Content, id: &EntryId, found: &mut Findings) {
    for (at, claim) in whole.claims.iter().enumerate() {
        if claim.state == ClaimState::Evidenced && claim.receipt.as_ref() == Some(id) {
            found.add(
                ErrorCode::UnevidencedClaim,
                format!("content.claims[{at}].receipt"),
                format!("the command of receipt `{id}` changed the worktree, so it covers no tree"),
            );
        }
    }
}
