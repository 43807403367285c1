//! How strictly a server takes the rules: off, shadow, enforce, freeze, and a share of the scopes.

use std::{fs, os::unix::fs::PermissionsExt};

use gix::bstr::ByteSlice;
use store::contract::codec;

use super::served::Served;
use crate::records::{Records, parse};

/// A server with a mode.
fn served(mode: &str) -> Served {
    let served = Served::new();
    served.set("handoff.mode", mode);
    served
}

/// Pushes a commit by force, which must be let in, and returns what the pusher reads.
#[track_caller]
fn lets_in(served: &Served, commit: &str, scope: &str) -> String {
    let refspec = format!("+{commit}:refs/handoff/{scope}");
    let said = served.push(&[&refspec]).ok().stderr();
    assert_eq!(served.tip(scope).as_deref(), Some(commit));
    said
}

/// A first checkpoint that skips a generation.
fn gap(records: &Records<'_>, scope: &str) -> String {
    records.checkpoint(scope, None, |manifest| manifest.generation = parse("2"))
}

#[test]
fn in_shadow_a_push_is_told_what_would_be_refused_and_goes_on() {
    let served = served("shadow");
    let records = served.records();
    let bad = gap(&records, "x");
    let said = lets_in(&served, &bad, "x");
    assert!(
        said.contains("remote: handoff: would refuse: GENERATION_GAP refs/handoff/x: "),
        "{said}"
    );
    lets_in(&served, &records.first("y"), "y");
    let lines = served.audit();
    assert_eq!(
        (&lines[0]["outcome"], &lines[0]["code"], &lines[0]["mode"]),
        (
            &"would-refuse".into(),
            &"GENERATION_GAP".into(),
            &"shadow".into()
        )
    );
    assert_eq!(lines[1]["outcome"], "good");
    // What was let in is not remembered as good: nothing follows it once the rules are enforced.
    served.set("handoff.mode", "enforce");
    served.refuses(&records.next("x", &bad), "x", "MALFORMED_MANIFEST");
}

#[test]
fn in_shadow_every_other_rule_lets_in() {
    let served = served("shadow");
    let records = served.records();
    let first = records.first("x");
    lets_in(&served, &first, "x");
    let said = lets_in(&served, &records.first("x"), "x");
    assert!(said.contains("would refuse: NON_LINEAR"), "{said}");
    let said = served.push(&[":refs/handoff/x"]).ok().stderr();
    assert!(said.contains("would refuse: DELETE_REFUSED"), "{said}");
    assert_eq!(served.tip("x"), None);
    let refspec = format!("{first}:refs/handoff-local/x");
    let said = served.push(&[&refspec]).ok().stderr();
    assert!(
        said.contains("would refuse: REF_OUTSIDE_NAMESPACE"),
        "{said}"
    );
    served.set("handoff.identityEnv", "TEST_USER");
    let said = lets_in(&served, &first, "x");
    assert!(said.contains("would refuse: IDENTITY_MISMATCH"), "{said}");
}

#[test]
fn an_accept_is_taken_back_in_no_mode_but_off() {
    for mode in ["shadow", "enforce", "freeze"] {
        let served = Served::new();
        let records = served.records();
        let first = records.first("x");
        let accepted = records.accept(&first, "bob", |_| {});
        let on = records.checkpoint("x", Some(&accepted), |manifest| {
            manifest.producer.id = parse("bob");
        });
        served.takes(&accepted, "x");
        served.set("handoff.mode", mode);
        served.refuses(&first, "x", "NON_LINEAR");
        served.refuses(&records.first("x"), "x", "NON_LINEAR");
        served.refuses_push(&[":refs/handoff/x"], "DELETE_REFUSED");
        // A checkpoint above it changes nothing.
        served.set("handoff.mode", "enforce");
        served.takes(&on, "x");
        served.set("handoff.mode", mode);
        served.refuses(&accepted, "x", "NON_LINEAR");
        served.refuses_push(&[":refs/handoff/x"], "DELETE_REFUSED");
        served.set("handoff.mode", "off");
        lets_in(&served, &first, "x");
        served.push(&[":refs/handoff/x"]).ok();
    }
}

#[test]
fn off_judges_nothing_and_leaves_no_trace() {
    let served = served("off");
    let records = served.records();
    let accepted = records.accept(&records.first("x"), "bob", |_| {});
    lets_in(&served, &accepted, "x");
    let head = records.git(&["rev-parse", "HEAD"]).line();
    assert!(!lets_in(&served, &head, "x").contains("handoff: "));
    served.push(&["HEAD:refs/handoff-local/x"]).ok();
    served.push(&[":refs/handoff/x"]).ok();
    assert!(!served.bare.join("handoff").exists());
}

#[test]
fn a_frozen_server_takes_releases_alone() {
    let served = Served::new();
    let records = served.records();
    let accepted = records.accept(&records.first("x"), "bob", |_| {});
    let open = records.first("y");
    served.takes(&accepted, "x");
    served.takes(&open, "y");
    served.set("handoff.mode", "freeze");
    let by_bob = records.checkpoint("x", Some(&accepted), |manifest| {
        manifest.producer.id = parse("bob");
    });
    served.refuses(&by_bob, "x", "FROZEN");
    served.refuses(&records.accept(&open, "bob", |_| {}), "y", "FROZEN");
    served.refuses(&records.first("z"), "z", "FROZEN");
    served.refuses(&records.release(&accepted, "eve", |_| {}), "x", "NOT_OWNER");
    served.takes(&records.release(&accepted, "bob", |_| {}), "x");
    served.push(&["HEAD:refs/heads/main"]).ok();
}

/// A record whose manifest is of a later schema.
fn of_a_later_schema(records: &Records<'_>, before: Option<&str>) -> String {
    let manifest = records.manifest("x", before);
    let mut draft = records.draft(&manifest, before);
    let later = codec::encode(&manifest).replace("handoff.v1", "handoff.v9");
    draft.set("100644", "blob", &records.blob(&later), "manifest.cbor");
    records.write(&draft)
}

#[test]
fn a_schema_has_a_mode_of_its_own() {
    let served = Served::new();
    let records = served.records();
    let later = of_a_later_schema(&records, None);
    served.refuses(&later, "x", "UNSUPPORTED_VERSION");
    served.set("handoff.handoff.v9.mode", "shadow");
    let said = lets_in(&served, &later, "x");
    assert!(said.contains("would refuse: UNSUPPORTED_VERSION"), "{said}");
    served.refuses(&gap(&records, "y"), "y", "GENERATION_GAP");
    // A later schema is no way around the rules of the records that are there.
    let first = records.first("z");
    served.takes(&first, "z");
    let mut manifest = records.manifest("z", Some(&first));
    manifest.scope = parse("z");
    let mut draft = records.draft(&manifest, Some(&first));
    let bytes = codec::encode(&manifest).replace("handoff.v1", "handoff.v9");
    draft.set("100644", "blob", &records.blob(&bytes), "manifest.cbor");
    served.refuses(&records.write(&draft), "z", "UNSUPPORTED_VERSION");
    served.set("handoff.handoff.v1.mode", "freeze");
    served.refuses(&records.next("z", &first), "z", "FROZEN");
    served.set("handoff.handoff.v1.mode", "off");
    lets_in(&served, &gap(&records, "y"), "y");
    served.refuses_push(&[":refs/handoff/y"], "DELETE_REFUSED");
    served.set("handoff.handoff.v1.mode", "of");
    served.refuses(&first, "y", "IO");
}

#[test]
fn outside_the_share_namespace_deletion_and_identity_are_enforced() {
    let served = Served::new();
    let records = served.records();
    served.set("handoff.enforcePercent", "0");
    served.set("handoff.identityEnv", "TEST_USER");
    served.world.set("TEST_USER", "ann");
    let bad = gap(&records, "x");
    let said = lets_in(&served, &bad, "x");
    assert!(said.contains("would refuse: GENERATION_GAP"), "{said}");
    served.refuses_push(&[":refs/handoff/x"], "DELETE_REFUSED");
    served.refuses(&records.first("X"), "X", "SCOPE_COLLISION");
    served.refuses(&records.first("a"), "a/b", "SCOPE_INVALID");
    served.refuses_push(
        &[&format!("{bad}:refs/handoff-local/x")],
        "REF_OUTSIDE_NAMESPACE",
    );
    // Also where another rule is broken first.
    let by_bob = records.checkpoint("b", None, |manifest| {
        manifest.generation = parse("2");
        manifest.producer.id = parse("bob");
    });
    served.refuses(&by_bob, "b", "IDENTITY_MISMATCH");
    served.world.unset("TEST_USER");
    served.refuses(&records.first("c"), "c", "IDENTITY_MISMATCH");
    served.world.set("TEST_USER", "ann");
    served.set("handoff.enforcePercent", "100");
    served.refuses(&gap(&records, "d"), "d", "GENERATION_GAP");
}

#[test]
fn a_share_of_the_scopes_is_enforced_and_stays_the_same() {
    let served = Served::new();
    let records = served.records();
    served.set("handoff.enforcePercent", "50");
    let pushes: Vec<(String, String)> = (0..24)
        .map(|n| (format!("s{n}"), gap(&records, &format!("s{n}"))))
        .collect();
    let enforced = || -> Vec<bool> {
        let push = |(scope, commit): &(String, String)| {
            let refspec = format!("{commit}:refs/handoff/{scope}");
            served.push(&[&refspec]).exit_code() == Some(1)
        };
        pushes.iter().map(push).collect()
    };
    let first = enforced();
    assert!(first.contains(&true) && first.contains(&false), "{first:?}");
    let refused = || {
        served
            .audit()
            .iter()
            .filter(|line| line["mode"] == "enforce")
            .count()
    };
    assert_eq!(refused(), first.iter().filter(|one| **one).count());
    for (scope, _) in &pushes {
        let name = format!("refs/handoff/{scope}");
        served
            .world
            .git(&served.bare, ["update-ref", "-d", &name])
            .ok();
    }
    assert_eq!(enforced(), first);
    let seed = fs::metadata(served.bare.join("handoff/seed")).unwrap();
    assert_eq!((seed.len(), seed.permissions().mode() & 0o007), (32, 0));
    // Without its seed nobody knows the share.
    fs::write(served.bare.join("handoff/seed"), "").unwrap();
    served.refuses(&records.first("z"), "z", "IO");
}

#[test]
fn a_scope_that_rots_in_shadow_is_not_taken_back_by_its_ruin() {
    let served = Served::new();
    let records = served.records();
    let accepted = records.accept(&records.first("x"), "bob", |_| {});
    served.takes(&accepted, "x");
    served.set("handoff.mode", "shadow");
    // Something that is no record at all, on top of the accept.
    let head = records.git(&["rev-parse", "HEAD"]).line();
    served.refuses(&head, "x", "NON_LINEAR");
    let ruin = [
        "commit-tree",
        "-p",
        &accepted,
        "-m",
        "no record",
        "HEAD^{tree}",
    ];
    let ruin = records.git(&ruin).line();
    served.refuses(&ruin, "x", "NON_LINEAR");
    let late = records.checkpoint("x", Some(&accepted), |_| {});
    let said = lets_in(&served, &late, "x");
    assert!(said.contains("would refuse: NOT_OWNER"), "{said}");
    served.refuses(&accepted, "x", "NON_LINEAR");
}
