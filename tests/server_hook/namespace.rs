//! Which refs records may stand on, and that none is ever deleted.

use super::served::Served;

#[test]
fn a_scope_is_never_deleted() {
    let served = Served::new();
    served.takes(&served.records().first("x"), "x");
    let said = served.refuses_push(&[":refs/handoff/x"], "DELETE_REFUSED");
    assert!(
        said.contains("refs/handoff/x: scope `x` is never deleted by a push"),
        "{said}"
    );
    served.refuses_push(&[":refs/handoff/none"], "DELETE_REFUSED");
}

#[test]
fn only_the_exact_spelling_of_the_namespace_holds_records() {
    let served = Served::new();
    let first = served.records().first("x");
    for name in [
        "refs/Handoff/x",
        "refs/HANDOFF/x",
        "refs/handoff-local/x",
        "refs/handoff-local/verified/x",
        "refs/handoff-remote/origin/x",
        "refs/HandOff-Remote/origin/x",
    ] {
        served.refuses_push(&[&format!("{first}:{name}")], "REF_OUTSIDE_NAMESPACE");
    }
    served.takes(&first, "x");
}

#[test]
fn refs_elsewhere_are_left_alone() {
    let served = Served::new();
    served
        .push(&[
            "HEAD:refs/heads/main",
            "HEAD:refs/handoffs/x",
            "HEAD:refs/tags/v1",
        ])
        .ok();
    served.push(&[":refs/handoffs/x", ":refs/tags/v1"]).ok();
    // Nothing was judged, and nothing was opened.
    assert!(!served.bare.join("handoff").exists());
}

#[test]
fn a_mirror_does_not_bring_local_refs() {
    let served = Served::new();
    let first = served.records().first("x");
    for name in ["refs/handoff/x", "refs/handoff-local/verified/x"] {
        served.records().git(&["update-ref", name, &first]);
    }
    served.refuses_push(&["--mirror"], "REF_OUTSIDE_NAMESPACE");
}

#[test]
fn a_scope_is_one_component_of_plain_characters() {
    let served = Served::new();
    let first = served.records().first("a");
    for name in ["a/b", "-a", "_a", "a+b", "ä", &"a".repeat(101)] {
        served.refuses(&first, name, "SCOPE_INVALID");
    }
    served.takes(&first, "a");
}

#[test]
fn two_scopes_differ_in_more_than_case() {
    let served = Served::new();
    let records = served.records();
    served.takes(&records.first("Parser"), "Parser");
    let said = served.refuses(&records.first("parser"), "parser", "SCOPE_COLLISION");
    assert!(
        said.contains("scope `parser` differs from `Parser`"),
        "{said}"
    );
    served.world.git(&served.bare, ["pack-refs", "--all"]).ok();
    served.refuses(&records.first("PARSER"), "PARSER", "SCOPE_COLLISION");
    served.takes(&records.first("parser2"), "parser2");
    let (one, two) = (records.first("b"), records.first("B"));
    let specs = [
        format!("{one}:refs/handoff/b"),
        format!("{two}:refs/handoff/B"),
    ];
    served.refuses_push(&specs.each_ref().map(String::as_str), "SCOPE_COLLISION");
}

#[test]
fn a_symbolic_ref_is_not_followed() {
    let served = Served::new();
    let records = served.records();
    let first = records.first("x");
    served.takes(&first, "x");
    let link = ["symbolic-ref", "refs/handoff/y", "refs/handoff/x"];
    served.world.git(&served.bare, link).ok();
    served.refuses(&records.next("y", &first), "y", "REF_OUTSIDE_NAMESPACE");
}

#[test]
fn a_ref_names_a_commit() {
    let served = Served::new();
    let records = served.records();
    let first = records.first("x");
    records.git(&["tag", "-a", "-m", "A tag", "v1", &first]);
    let tag = records.git(&["rev-parse", "v1"]).line();
    let tree = records.git(&["rev-parse", "HEAD^{tree}"]).line();
    for object in [tag, tree, records.blob(b"a")] {
        served.refuses(&object, "x", "MALFORMED_MANIFEST");
    }
}

#[test]
fn one_bad_ref_holds_the_others_and_their_command_is_printed() {
    let served = Served::new();
    let records = served.records();
    let (good, bad) = (records.first("good"), records.first("bad"));
    let head = records.git(&["rev-parse", "HEAD"]).line();
    let said = served.refuses_push(
        &[
            &format!("{good}:refs/handoff/good"),
            &format!("{bad}:refs/handoff/bad/er"),
            "HEAD:refs/heads/main",
        ],
        "SCOPE_INVALID",
    );
    for line in [
        "handoff: HELD refs/handoff/good: refused together with refs/handoff/bad/er",
        "handoff: HELD refs/heads/main: refused together with refs/handoff/bad/er",
        &format!(
            "push the others alone: git push <remote> {good}:refs/handoff/good {head}:refs/heads/main"
        ),
    ] {
        assert!(said.contains(line), "no `{line}` in:\n{said}");
    }
    let mut outcomes: Vec<_> = served
        .audit()
        .iter()
        .map(|line| format!("{} {} {}", line["ref"], line["outcome"], line["code"]))
        .collect();
    outcomes.sort();
    assert_eq!(
        outcomes,
        [
            r#""refs/handoff/bad/er" "refused" "SCOPE_INVALID""#,
            r#""refs/handoff/good" "held" "HELD""#,
        ]
    );
    served.takes(&good, "good");
}
