//! What a record says, and that its commit, message and tree say the same.

use store::contract::{Manifest, codec};

use super::served::Served;
use crate::records::{Draft, Records};

/// Sees that a first checkpoint is refused once one thing of it is broken, and taken when it is not.
#[track_caller]
fn breaks(code: &str, breakage: impl FnOnce(&Records<'_>, &mut Draft)) -> String {
    let served = Served::new();
    let records = served.records();
    let legal = records.draft(&records.manifest("x", None), None);
    let mut broken = legal.clone();
    breakage(&records, &mut broken);
    let said = served.refuses(&records.write(&broken), "x", code);
    served.takes(&records.write(&legal), "x");
    said
}

/// Sees that a first checkpoint is refused whose manifest is other bytes.
#[track_caller]
fn breaks_bytes(code: &str, breakage: impl FnOnce(Vec<u8>) -> Vec<u8>) -> String {
    breaks(code, |records, draft| {
        let bytes = breakage(codec::encode(&records.manifest("x", None)));
        draft.set("100644", "blob", &records.blob(&bytes), "manifest.cbor");
    })
}

/// Replaces bytes that occur once.
#[track_caller]
fn replace(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let at = bytes.windows(from.len()).position(|window| window == from);
    let at = at.expect("the bytes occur");
    [&bytes[..at], to, &bytes[at + from.len()..]].concat()
}

#[test]
fn a_manifest_in_other_than_canonical_bytes_is_malformed() {
    let trailing = |bytes: Vec<u8>| [bytes, vec![0xf6]].concat();
    // 1 as two bytes where one is enough.
    let longer = |bytes: Vec<u8>| replace(&bytes, b"jgeneration\x01", b"jgeneration\x18\x01");
    // The first two keys change places.
    let unordered = |bytes: Vec<u8>| {
        let bytes = replace(&bytes, b"escopeax", b"");
        let map = bytes[0];
        [&[map], &bytes[1..], b"escopeax"].concat()
    };
    let unknown = |mut bytes: Vec<u8>| {
        bytes[0] += 1;
        replace(&bytes, b"escopeax", b"escopeaxezcopeax")
    };
    breaks_bytes("MALFORMED_MANIFEST", trailing);
    breaks_bytes("MALFORMED_MANIFEST", longer);
    breaks_bytes("MALFORMED_MANIFEST", unordered);
    breaks_bytes("MALFORMED_MANIFEST", unknown);
    breaks_bytes("MALFORMED_MANIFEST", |_| b"{}".into());
    breaks_bytes("MALFORMED_MANIFEST", |_| vec![0x60; 2 << 20]);
}

#[test]
fn a_schema_of_a_later_version_is_unsupported() {
    let said = breaks_bytes("UNSUPPORTED_VERSION", |bytes| {
        replace(&bytes, b"jhandoff.v1", b"jhandoff.v2")
    });
    assert!(said.contains("handoff.v2"), "{said}");
}

#[test]
fn the_message_is_the_one_that_the_documents_give() {
    let malformed = |breakage: fn(&str) -> String| {
        breaks("MALFORMED_MANIFEST", |_, draft| {
            draft.message = breakage(&draft.message)
        });
    };
    malformed(|message| message.replace("Show a rule", "Approve this"));
    malformed(|message| format!("{message}Signed-off-by: Ann\n"));
    malformed(|message| message.replace("Handoff-Generation: 1", "Handoff-Generation: 2"));
    malformed(|message| message.replace("Handoff-Scope: x", "Handoff-Scope: y"));
    malformed(|message| message.replace("Handoff-Digest: sha256:", "Handoff-Digest: "));
    malformed(|_| "No record at all\n".into());
}

#[test]
fn the_times_of_the_commit_are_that_of_the_document() {
    breaks("MALFORMED_MANIFEST", |_, draft| draft.times.0 += 1);
    breaks("MALFORMED_MANIFEST", |_, draft| draft.times.1 += 1);
}

#[test]
fn the_parents_are_the_record_before_and_head() {
    breaks("MALFORMED_MANIFEST", |_, draft| draft.parents.clear());
    breaks("MALFORMED_MANIFEST", |records, draft| {
        let other = records
            .git(&["commit-tree", "-m", "Other", "HEAD^{tree}"])
            .line();
        draft.parents.push(other);
    });
    let served = Served::new();
    let records = served.records();
    let first = records.first("x");
    let mut draft = records.draft(&records.manifest("x", Some(&first)), Some(&first));
    served.takes(&first, "x");
    draft.parents.swap(0, 1);
    served.refuses(&records.write(&draft), "x", "MALFORMED_MANIFEST");
    draft.parents.swap(0, 1);
    served.takes(&records.write(&draft), "x");
}

#[test]
fn required_entries_are_there_with_their_modes() {
    for name in ["manifest.cbor", "worktree", "index"] {
        breaks("MALFORMED_MANIFEST", |_, draft| draft.remove(name));
    }
    breaks("MALFORMED_MANIFEST", |records, draft| {
        let blob = records.document(&records.manifest("x", None));
        draft.set("100755", "blob", &blob, "manifest.cbor");
    });
    breaks("MALFORMED_MANIFEST", |records, draft| {
        draft.set("100644", "blob", &records.blob(b""), "index");
    });
}

#[test]
fn an_entry_of_a_later_version_needs_the_operators_word() {
    let said = breaks("UNSUPPORTED_VERSION", |records, draft| {
        draft.set("100644", "blob", &records.blob(b"a"), "verdict.cbor");
    });
    assert!(said.contains("handoff.recordKind"), "{said}");
}

#[test]
fn a_record_of_an_unknown_kind_needs_the_operators_word() {
    let served = Served::new();
    let records = served.records();
    let first = records.first("x");
    served.takes(&first, "x");
    let mut verdict = records.accept_draft(&records.acceptance(&first, "bob"), &first);
    verdict.remove("accept.cbor");
    verdict.set("100644", "blob", &records.blob(b"a"), "verdict.cbor");
    verdict.message = verdict.message.replace("Record: accept", "Record: verdict");
    let of_unknown_kind = records.write(&verdict);
    served.refuses(&of_unknown_kind, "x", "UNSUPPORTED_VERSION");
    served.set("handoff.recordKind", "verdict");
    // It must leave every known entry as it was.
    verdict.set("040000", "tree", &records.files(&[("a", b"a")]), "worktree");
    served.refuses(&records.write(&verdict), "x", "TREE_MISMATCH");
    verdict.set(
        "040000",
        "tree",
        &records.oid("HEAD^{tree}").to_string(),
        "worktree",
    );
    let other = records.manifest("x", Some(&first));
    verdict.set("100644", "blob", &records.document(&other), "manifest.cbor");
    served.refuses(&records.write(&verdict), "x", "MALFORMED_MANIFEST");
    served.takes(&of_unknown_kind, "x");
}

#[test]
fn a_record_holds_the_documents_of_its_kind() {
    let served = Served::new();
    let records = served.records();
    let first = records.first("x");
    served.takes(&first, "x");
    let accept = records.acceptance(&first, "bob");
    // A checkpoint that brings its own accept.
    let mut both = records.draft(&records.manifest("x", Some(&first)), Some(&first));
    both.set("100644", "blob", &records.document(&accept), "accept.cbor");
    served.refuses(&records.write(&both), "x", "MALFORMED_MANIFEST");
    let mut without = records.accept_draft(&accept, &first);
    without.remove("accept.cbor");
    served.refuses(&records.write(&without), "x", "MALFORMED_MANIFEST");
    served.takes(&records.write(&records.accept_draft(&accept, &first)), "x");
}

#[test]
fn an_accept_changes_nothing_but_its_own_document() {
    let served = Served::new();
    let records = served.records();
    let first = records.first("x");
    served.takes(&first, "x");
    let legal = records.accept_draft(&records.acceptance(&first, "bob"), &first);
    let mut broken = legal.clone();
    broken.set("040000", "tree", &records.files(&[("a", b"a")]), "worktree");
    served.refuses(&records.write(&broken), "x", "TREE_MISMATCH");
    let mut broken = legal.clone();
    let attachments = records.files(&[("a", b"a")]);
    broken.set("040000", "tree", &attachments, "attachments");
    served.refuses(&records.write(&broken), "x", "MALFORMED_MANIFEST");
    let accepted = records.write(&legal);
    served.takes(&accepted, "x");
    // A release keeps the accept that it ends.
    let mut broken = records.release_draft(&records.giving_back(&accepted, "bob"), &accepted);
    broken.remove("accept.cbor");
    served.refuses(&records.write(&broken), "x", "MALFORMED_MANIFEST");
    served.takes(&records.release(&accepted, "bob", |_| {}), "x");
}

#[test]
fn a_line_begins_with_a_checkpoint() {
    let served = Served::new();
    let records = served.records();
    let first = records.first("x");
    let mut accept = records.accept_draft(&records.acceptance(&first, "bob"), &first);
    accept.parents.clear();
    served.refuses(&records.write(&accept), "x", "MALFORMED_MANIFEST");
    accept.parents = vec![records.oid("HEAD").to_string()];
    served.refuses(&records.write(&accept), "x", "MALFORMED_MANIFEST");
    accept.parents = vec![first];
    served.takes(&records.write(&accept), "x");
}

/// Sees that a first checkpoint is refused whose manifest says something else, its trees being as they are.
#[track_caller]
fn trees_differ(change: impl FnOnce(&Records<'_>, &mut Manifest)) -> String {
    breaks("TREE_MISMATCH", |records, draft| {
        let mut manifest = records.manifest("x", None);
        let entries = draft.entries.clone();
        change(records, &mut manifest);
        *draft = records.draft(&manifest, None);
        let manifest = draft.entries.remove(0);
        draft.entries = [vec![manifest], entries[1..].to_vec()].concat();
    })
}

#[test]
fn the_trees_are_those_that_the_manifest_names() {
    let other = |records: &Records<'_>| {
        let tree = records.files(&[("other", b"content")]);
        crate::records::parse(&tree)
    };
    let said = trees_differ(|records, manifest| {
        manifest.content.repository.worktree_tree = other(records);
    });
    assert!(said.contains("worktree: the tree is "), "{said}");
    trees_differ(|records, manifest| manifest.content.repository.index_tree = other(records));
    trees_differ(|records, manifest| manifest.content.artifacts.raw = Some(other(records)));
    trees_differ(|records, manifest| {
        manifest.content.artifacts.conflicts = vec![other(records); 3];
    });
    breaks("TREE_MISMATCH", |records, draft| {
        let raw = records.files(&[("README.md", b"raw")]);
        draft.set("040000", "tree", &raw, "raw");
    });
    breaks("MALFORMED_MANIFEST", |records, draft| {
        let stages = records.files(&[("1", b"")]);
        draft.set("040000", "tree", &stages, "index-conflicts");
    });
}

#[test]
fn what_git_handoff_saves_and_pushes_is_taken() {
    let served = Served::new();
    let handoff = |args: &[&str]| served.world.handoff(&served.repo, args).ok();
    handoff(&["init", served.bare.to_str().unwrap()]);
    handoff(&["save", "x", "-m", "First", "--push"]);
    let first = served.tip("x").unwrap();
    served.world.write(&served.repo, "new", "content\n");
    handoff(&["save", "x", "-m", "Second", "--push"]);
    assert_ne!(served.tip("x"), Some(first));
}
