//! Captured lists: order and place.

use super::*;

#[test]
fn captured_lists_are_sorted_and_hold_nothing_twice() {
    let with_flags = |change: fn(&mut Vec<crate::contract::Flags>), field: &str| {
        breaking(
            |c| {
                let mut flags = sample::flags(3);
                change(&mut flags);
                c.worktree.flags = flags.into();
            },
            &[(Code::MalformedManifest, field)],
        );
    };
    with_flags(|flags| flags.swap(1, 2), "content.worktree.flags[2]");
    with_flags(
        |flags| flags[1] = flags[0].clone(),
        "content.worktree.flags[1]",
    );
    breaking(
        |c| {
            c.artifacts.attachments.insert(0, {
                let mut last = c.artifacts.attachments[0].clone();
                last.name = id("z");
                last
            })
        },
        &[(Code::MalformedManifest, "content.artifacts.attachments[1]")],
    );
    let mut sample = sample::manifest();
    let mut excluded = sample.observed.excluded.inline().to_vec();
    excluded.extend(excluded.clone());
    sample.observed.excluded = excluded.into();
    assert_eq!(
        found(&manifest(&sample, &ListBlobs::default())),
        [(Code::MalformedManifest, "observed.excluded[1]")]
    );
}

#[test]
fn captured_entries_of_a_mixed_list_come_first() {
    breaking(
        |c| {
            let mut omissions = c.omissions.inline().to_vec();
            omissions.rotate_right(1);
            c.omissions = omissions.into();
        },
        &[(Code::MalformedManifest, "content.omissions[1]")],
    );
    breaking(
        |c| {
            let mut blockers = c.blockers.inline().to_vec();
            blockers.swap(0, 1);
            c.blockers = blockers.into();
        },
        &[(Code::MalformedManifest, "content.blockers[1]")],
    );
}

#[test]
fn authored_entries_keep_the_order_of_their_author() {
    breaking(
        |c| {
            let mut omissions = c.omissions.inline().to_vec();
            let mut earlier = omissions[2].clone();
            earlier.text = Some("a".into());
            earlier.reason = OmissionReason::Secret;
            omissions.push(earlier);
            c.omissions = omissions.into();
        },
        &[],
    );
}

#[test]
fn a_long_list_stands_in_a_blob_and_a_short_one_does_not() {
    breaking(
        |c| c.worktree.flags = sample::flags(1_001).into(),
        &[(Code::MalformedManifest, "content")],
    );
    let mut sample = sample::minimal_manifest();
    let entries = sample::flags(2);
    let bytes = codec::encode(&entries);
    sample.content.worktree.flags = CapturedList::Elsewhere(crate::contract::ListDigest {
        count: 2,
        sha256: Digest::of(&bytes),
    });
    let mut blobs = ListBlobs::default();
    blobs.insert("worktree.flags.cbor", bytes);
    assert_eq!(
        found(&manifest(&sample, &blobs)),
        [
            (Code::MalformedManifest, "content"),
            (Code::MalformedManifest, "lists/worktree.flags.cbor")
        ]
    );
}

#[test]
fn list_blobs_are_there_and_are_what_the_manifest_names() {
    let (sample, blobs) = sample::manifest_with_a_blob();
    let field = "content.worktree.flags";
    let judged = |name: &str, bytes: Option<Vec<u8>>| {
        let mut changed = blobs.clone();
        match bytes {
            Some(bytes) => changed.insert(name, bytes),
            None => changed = ListBlobs::default(),
        }
        manifest(&sample, &changed)
    };
    let name = "worktree.flags.cbor";
    assert_eq!(found(&judged(name, None)), [(Code::MissingObject, field)]);
    let other = codec::encode(&sample::flags(1_000));
    assert_eq!(
        found(&judged(name, Some(other))),
        [(Code::DigestMismatch, field)]
    );
    assert_eq!(
        found(&judged("worktree.lfs.cbor", Some(vec![0x80]))),
        [(Code::MalformedManifest, "lists/worktree.lfs.cbor")]
    );
    let mut sample = sample.clone();
    let damaged = vec![0x81, 0xa0];
    sample.content.worktree.flags = CapturedList::Elsewhere(crate::contract::ListDigest {
        count: 1,
        sha256: Digest::of(&damaged),
    });
    let mut blobs = ListBlobs::default();
    blobs.insert(name, damaged);
    let violations = manifest(&sample, &blobs);
    assert_eq!(found(&violations), [(Code::MalformedManifest, field)]);
    assert!(violations[0].message.contains("[0].path"), "{violations:?}");
}
