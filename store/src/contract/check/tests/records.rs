//! Accepts, releases and receipts.

use super::*;

fn judged_accept(change: impl FnOnce(&mut Accept)) -> Vec<(Code, String)> {
    let mut sample = sample::accept();
    change(&mut sample);
    let violations = accept(&sample, DEFAULT_MAX_ACCEPT_SECONDS);
    violations.into_iter().map(|v| (v.code, v.field)).collect()
}

#[test]
fn an_accept_ends_after_it_begins_and_within_thirty_days() {
    let later = |seconds| {
        move |accept: &mut Accept| {
            accept.until = accept.accepted_at.saturating_add_seconds(seconds);
        }
    };
    assert_eq!(judged_accept(later(1)), []);
    assert_eq!(judged_accept(later(DEFAULT_MAX_ACCEPT_SECONDS)), []);
    assert_eq!(
        judged_accept(later(0)),
        [(Code::Clock, "until".to_string())]
    );
    assert_eq!(
        judged_accept(later(DEFAULT_MAX_ACCEPT_SECONDS + 1)),
        [(Code::LimitExceeded, "until".to_string())]
    );
}

#[test]
fn entries_of_an_accept_stand_once_and_a_release_follows_an_accept() {
    let found = judged_accept(|accept| {
        accept.previous_accept = None;
        accept.delegates.push(accept.delegates[0].clone());
        let leases = accept.leases.as_mut().unwrap();
        leases.push(leases[0].clone());
        accept.acknowledged.push(accept.acknowledged[0].clone());
    });
    let fields: Vec<_> = found.iter().map(|(_, field)| field.as_str()).collect();
    assert_eq!(
        fields,
        [
            "previousAccept",
            "delegates[2]",
            "leases[1].id",
            "acknowledged[2]"
        ]
    );
}

fn against_the_manifest(change: impl FnOnce(&mut Accept, &mut Manifest)) -> Vec<(Code, String)> {
    let (mut accept, mut manifest) = (sample::accept(), sample::manifest());
    let digest = accept.checkpoint_digest;
    change(&mut accept, &mut manifest);
    let blockers = manifest.content.blockers.inline();
    let violations = accept_of(&accept, &manifest, digest, blockers);
    violations.into_iter().map(|v| (v.code, v.field)).collect()
}

#[test]
fn an_accept_names_the_current_checkpoint() {
    assert_eq!(against_the_manifest(|_, _| {}), []);
    let stale = against_the_manifest(|accept, _| {
        accept.generation = "6".parse().unwrap();
        accept.checkpoint_digest = Digest::of(b"6");
    });
    assert_eq!(
        stale,
        [
            (Code::StaleCheckpoint, "generation".to_string()),
            (Code::StaleCheckpoint, "checkpointDigest".to_string())
        ]
    );
    let other = against_the_manifest(|accept, _| accept.scope = "other".parse().unwrap());
    assert_eq!(other, [(Code::ScopeMismatch, "scope".to_string())]);
}

#[test]
fn an_accept_does_what_is_permitted_by_somebody_who_may() {
    let forbidden = against_the_manifest(|accept, _| accept.action = Some(id("merge")));
    assert_eq!(forbidden, [(Code::ForbiddenAction, "action".to_string())]);
    let stranger = |accept: &mut Accept| accept.acceptor.id = "eve".parse().unwrap();
    let refused = against_the_manifest(|accept, _| stranger(accept));
    assert_eq!(
        refused,
        [(Code::ForbiddenAction, "acceptor.id".to_string())]
    );
    let open = against_the_manifest(|accept, manifest| {
        stranger(accept);
        manifest.content.task = None;
    });
    assert_eq!(open, []);
}

#[test]
fn an_accept_keeps_or_drops_leases_and_adds_none() {
    let expanded = |field: &str| vec![(Code::LeaseExpanded, field.to_string())];
    let dropped = against_the_manifest(|accept, _| accept.leases = Some(vec![]));
    assert_eq!(dropped, []);
    let unlimited = against_the_manifest(|accept, _| accept.leases = None);
    assert_eq!(unlimited, expanded("leases"));
    let wider = against_the_manifest(|accept, _| {
        accept.leases.as_mut().unwrap()[0]
            .paths
            .push("docs/**".into());
    });
    assert_eq!(wider, expanded("leases[0]"));
    let first_limit = against_the_manifest(|_, manifest| manifest.content.leases = None);
    assert_eq!(first_limit, []);
}

#[test]
fn an_accept_acknowledges_every_blocker() {
    let found = against_the_manifest(|accept, _| accept.acknowledged.clear());
    let blocked = (Code::Blocked, "acknowledged".to_string());
    assert_eq!(found, [blocked.clone(), blocked.clone()]);
    let other_path = against_the_manifest(|accept, _| accept.acknowledged[0].path = None);
    assert_eq!(other_path, [blocked]);
    let more = against_the_manifest(|accept, _| {
        let mut more = accept.acknowledged[0].clone();
        more.kind = BlockerKind::Operation;
        accept.acknowledged.push(more);
    });
    assert_eq!(more, []);
}

#[test]
fn a_release_ends_the_accept_that_it_names_by_its_acceptor() {
    let (accept, release) = (sample::accept(), sample::release());
    let digest = release.accept_digest;
    assert_eq!(release_of(&release, &accept, digest), []);
    let mut wrong = release.clone();
    wrong.scope = "other".parse().unwrap();
    wrong.generation = "8".parse().unwrap();
    wrong.by = "eve".parse().unwrap();
    wrong.at = Timestamp::from_unix_seconds(0).unwrap();
    assert_eq!(
        found(&release_of(&wrong, &accept, Digest::of(b"another"))),
        [
            (Code::ScopeMismatch, "scope"),
            (Code::StaleCheckpoint, "generation"),
            (Code::DigestMismatch, "acceptDigest"),
            (Code::NotOwner, "by"),
            (Code::Clock, "at"),
        ]
    );
}

/// A manifest with one receipt, and that receipt.
fn with_a_receipt() -> (Manifest, crate::contract::Receipt) {
    let (mut manifest, receipt) = (sample::minimal_manifest(), sample::receipt());
    let mut reference = sample::manifest().content.receipts.inline()[0].clone();
    reference.digest = Digest::of(&codec::encode(&receipt));
    manifest.content.receipts = vec![reference].into();
    let mut claim = sample::manifest().content.claims[0].clone();
    claim.state = ClaimState::Evidenced;
    manifest.content.claims = vec![claim];
    (manifest, receipt)
}

fn judged_receipt(change: impl FnOnce(&mut crate::contract::Receipt)) -> Vec<(Code, String)> {
    let (mut manifest, mut receipt) = with_a_receipt();
    change(&mut receipt);
    let bytes = codec::encode(&receipt);
    let mut references = manifest.content.receipts.inline().to_vec();
    references[0].digest = Digest::of(&bytes);
    manifest.content.receipts = references.into();
    let violations = receipts(&manifest.content, &[(id("R1"), bytes)].into());
    violations.into_iter().map(|v| (v.code, v.field)).collect()
}

#[test]
fn a_receipt_is_what_the_manifest_says_of_it() {
    let mismatch =
        |field: &str| vec![(Code::ReceiptMismatch, format!("receipts/R1.cbor: {field}"))];
    assert_eq!(judged_receipt(|_| {}), []);
    assert_eq!(judged_receipt(|r| r.id = id("R2")), mismatch("id"));
    assert_eq!(judged_receipt(|r| r.argv.clear()), mismatch("argv"));
    assert_eq!(
        judged_receipt(|r| r.exit_code = Some(1)),
        mismatch("exitCode")
    );
    assert_eq!(judged_receipt(|r| r.signal = Some(9)), mismatch("exitCode"));
    let other = "5".repeat(40).parse().unwrap();
    assert_eq!(
        judged_receipt(|r| (r.tree_before, r.tree_after) = (other, other)),
        mismatch("treeBefore")
    );
}

#[test]
fn a_command_that_changed_the_worktree_is_no_evidence() {
    let other = "5".repeat(40).parse().unwrap();
    assert_eq!(
        judged_receipt(|r| r.tree_after = other),
        [(
            Code::UnevidencedClaim,
            "content.claims[0].receipt".to_string()
        )]
    );
}

#[test]
fn receipts_are_there_unchanged_and_no_others() {
    let (manifest, receipt) = with_a_receipt();
    let bytes = codec::encode(&receipt);
    let judge = |blobs: &[(EntryId, Vec<u8>)]| {
        let violations = receipts(&manifest.content, &blobs.iter().cloned().collect());
        violations
            .into_iter()
            .map(|v| (v.code, v.field))
            .collect::<Vec<_>>()
    };
    let at = |code, name: &str| (code, format!("receipts/{name}.cbor"));
    assert_eq!(judge(&[]), [at(Code::MissingObject, "R1")]);
    assert_eq!(
        judge(&[(id("R1"), b"other".to_vec())]),
        [at(Code::DigestMismatch, "R1")]
    );
    assert_eq!(
        judge(&[(id("R1"), bytes.clone()), (id("R2"), bytes)]),
        [at(Code::MalformedManifest, "R2")]
    );
}

#[test]
fn only_an_exit_with_zero_is_a_pass() {
    let mut reference = sample::manifest().content.receipts.inline()[1].clone();
    reference.conclusion = Conclusion::Fail;
    assert_eq!(receipt(&sample::killed_receipt(), &reference), []);
    reference.conclusion = Conclusion::Pass;
    assert_eq!(receipt(&sample::killed_receipt(), &reference).len(), 1);
}
