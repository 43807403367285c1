//! Each rule, broken once in a document that keeps all the others.

mod lists;
mod records;

use super::*;
use crate::{
    contract::{
        Accept, BlockerKind, CapturedList, Citation, ClaimState, Conclusion, Content,
        DecisionDefault, Disposition, EvidenceKind, Manifest, OmissionReason, codec, sample,
    },
    digest::Digest,
    entry_id::EntryId,
    timestamp::Timestamp,
};
use ErrorCode as Code;

fn id(text: &str) -> EntryId {
    text.parse().unwrap()
}

fn found(violations: &[Violation]) -> Vec<(Code, &str)> {
    violations
        .iter()
        .map(|violation| (violation.code, violation.field.as_str()))
        .collect()
}

/// Breaks the full sample in one way and asserts which rules that breaks.
#[track_caller]
fn breaking(change: impl FnOnce(&mut Content), expected: &[(Code, &str)]) {
    let mut sample = sample::manifest();
    change(&mut sample.content);
    let violations = manifest(&sample, &ListBlobs::default());
    assert_eq!(found(&violations), expected, "{violations:#?}");
    for violation in &violations {
        assert!(!violation.message.is_empty());
    }
}

#[test]
fn the_golden_documents_break_no_rule() {
    let none = ListBlobs::default();
    assert_eq!(manifest(&sample::manifest(), &none), []);
    assert_eq!(manifest(&sample::minimal_manifest(), &none), []);
    let (with_a_blob, blobs) = sample::manifest_with_a_blob();
    assert_eq!(manifest(&with_a_blob, &blobs), []);
    assert_eq!(prepared(&sample::prepared(), &none), []);
    assert_eq!(accept(&sample::accept(), DEFAULT_MAX_ACCEPT_SECONDS), []);
}

#[test]
fn all_violations_are_told_at_once() {
    breaking(
        |c| {
            c.objective = " ".into();
            c.state.clear();
            c.decisions[0].owner = None;
        },
        &[
            (Code::MalformedManifest, "content.objective"),
            (Code::MalformedManifest, "content.state"),
            (Code::UndecidableDecision, "content.decisions[0].owner"),
        ],
    );
}

#[test]
fn a_statement_needs_words_and_a_citation() {
    breaking(
        |c| {
            c.state[0].citations.clear();
            c.state[0].text.clear();
        },
        &[
            (Code::MalformedManifest, "content.state[0].text"),
            (Code::MalformedManifest, "content.state[0].citations"),
        ],
    );
}

#[test]
fn an_evidenced_claim_needs_a_receipt_that_passed_on_the_worktree_tree() {
    let expected = [(Code::UnevidencedClaim, "content.claims[0].receipt")];
    breaking(|c| c.claims[0].receipt = None, &expected);
    breaking(|c| c.claims[0].receipt = Some(id("R2")), &expected);
    breaking(
        |c| c.repository.worktree_tree = c.repository.index_tree,
        &expected,
    );
    breaking(
        |c| c.claims[0].receipt = Some(id("R9")),
        &[
            expected[0],
            (Code::BadCitation, "content.claims[0].receipt"),
        ],
    );
}

#[test]
fn a_failed_claim_needs_a_receipt_that_failed() {
    let expected = [(Code::UnevidencedClaim, "content.claims[2].receipt")];
    breaking(
        |c| {
            c.claims[2].receipt = None;
            c.attempts[0].citations.push(Citation::Receipt(id("R2")));
        },
        &expected,
    );
    breaking(
        |c| {
            c.claims[2].receipt = Some(id("R1"));
            c.attempts[0].citations.push(Citation::Receipt(id("R2")));
        },
        &expected,
    );
}

#[test]
fn a_receipt_that_failed_is_told_by_a_claim_or_an_attempt() {
    breaking(
        |c| c.attempts.clear(),
        &[(Code::MalformedManifest, "content.receipts[2]")],
    );
}

#[test]
fn an_open_claim_needs_owner_and_default_of_its_own_or_its_decisions() {
    breaking(
        |c| {
            c.claims[1].owner = None;
            c.claims[1].default = None;
        },
        &[],
    );
    breaking(|c| c.claims[1].decision = None, &[]);
    breaking(
        |c| {
            c.claims[1].owner = None;
            c.claims[1].default = None;
            c.claims[1].decision = None;
        },
        &[
            (Code::UndecidableDecision, "content.claims[1].owner"),
            (Code::UndecidableDecision, "content.claims[1].default"),
        ],
    );
}

#[test]
fn what_no_test_covers_is_stated_once_a_claim_is_evidenced() {
    breaking(
        |c| c.untested = None,
        &[(Code::UnevidencedClaim, "content.untested")],
    );
    breaking(|c| c.untested = Some(vec![]), &[]);
}

#[test]
fn a_decision_needs_two_or_three_options_an_owner_and_a_default_among_them() {
    breaking(
        |c| drop(c.decisions[0].options.remove(0)),
        &[(Code::UndecidableDecision, "content.decisions[0].options")],
    );
    breaking(
        |c| {
            let options = &mut c.decisions[0].options;
            options.extend(options.clone());
        },
        &[
            (Code::UndecidableDecision, "content.decisions[0].options"),
            (
                Code::UndecidableDecision,
                "content.decisions[0].options[2].id",
            ),
            (
                Code::UndecidableDecision,
                "content.decisions[0].options[3].id",
            ),
        ],
    );
    let default = [(Code::UndecidableDecision, "content.decisions[0].default")];
    breaking(|c| c.decisions[0].default = None, &default);
    breaking(
        |c| c.decisions[0].default = Some(DecisionDefault::Option(id("other"))),
        &default,
    );
    breaking(
        |c| c.decisions[0].default = Some(DecisionDefault::Forbid(id("migrate"))),
        &[],
    );
}

#[test]
fn completed_leaves_nothing_open() {
    let expected = [(Code::InconsistentDisposition, "content.disposition")];
    breaking(|c| c.disposition = Disposition::Completed, &expected);
    let completed = |c: &mut Content| {
        c.disposition = Disposition::Completed;
        c.blockers = CapturedList::default();
        c.decisions.clear();
        c.claims.remove(1);
    };
    breaking(completed, &[]);
    breaking(
        |c| {
            let blockers = c.blockers.clone();
            completed(c);
            c.blockers = blockers;
        },
        &expected,
    );
    breaking(
        |c| {
            let mut decision = c.decisions[0].clone();
            decision.blocks.clear();
            completed(c);
            c.decisions.push(decision);
        },
        &expected,
    );
}

#[test]
fn blocked_needs_a_blocker_or_a_decision_that_blocks() {
    breaking(|c| c.disposition = Disposition::Blocked, &[]);
    breaking(
        |c| {
            c.disposition = Disposition::Blocked;
            c.blockers = CapturedList::default();
        },
        &[],
    );
    breaking(
        |c| {
            c.disposition = Disposition::Blocked;
            c.blockers = CapturedList::default();
            c.decisions[0].blocks.clear();
        },
        &[(Code::InconsistentDisposition, "content.disposition")],
    );
}

#[test]
fn a_citation_points_to_something_in_the_document() {
    for citation in ["receipt/R9", "evidence/E9", "bundle/E1"] {
        breaking(
            |c| c.state[0].citations[0] = citation.parse().unwrap(),
            &[(Code::BadCitation, "content.state[0].citations[0]")],
        );
    }
    let commit = format!("commit/{}", "2".repeat(64));
    breaking(
        |c| c.known_failures[0].citations = vec![commit.parse().unwrap()],
        &[(Code::BadCitation, "content.knownFailures[0].citations[0]")],
    );
}

#[test]
fn ids_that_entries_name_exist() {
    breaking(
        |c| c.claims[1].decision = Some(id("D9")),
        &[(Code::BadCitation, "content.claims[1].decision")],
    );
    breaking(
        |c| c.decisions[0].blocks = vec![id("AC-4"), id("D1"), id("X")],
        &[(Code::BadCitation, "content.decisions[0].blocks[2]")],
    );
    breaking(
        |c| c.effects[0].receipt = Some(id("R9")),
        &[(Code::BadCitation, "content.effects[0].receipt")],
    );
    breaking(
        |c| c.verification[0].claim = Some(id("AC-9")),
        &[(Code::BadCitation, "content.verification[0].claim")],
    );
}

#[test]
fn evidence_refers_to_something_of_its_kind() {
    let expected = [(Code::BadCitation, "content.evidence[0].ref")];
    let bad = [
        (EvidenceKind::Receipt, "R9"),
        (EvidenceKind::Commit, "2222"),
        (EvidenceKind::File, "../outside"),
        (EvidenceKind::Checkpoint, "DEV-1@0"),
        (EvidenceKind::Url, "http://example.com"),
    ];
    for (kind, reference) in bad {
        breaking(
            |c| {
                c.evidence[0].kind = kind;
                c.evidence[0].reference = reference.into();
            },
            &expected,
        );
    }
    breaking(
        |c| {
            c.evidence[0].kind = EvidenceKind::External;
            c.evidence[0].reference = "a letter".into();
        },
        &[],
    );
}

#[test]
fn what_is_forbidden_is_neither_next_nor_lifted() {
    breaking(
        |c| c.forbidden.push(id("choose_null_semantics")),
        &[(Code::ForbiddenAction, "content.next.action")],
    );
    breaking(
        |c| c.forbidden.push(id("migrate")),
        &[(Code::ForbiddenAction, "content.lifted[0].action")],
    );
}

#[test]
fn the_producer_is_no_acceptor() {
    breaking(
        |c| {
            let acceptors = &mut c.task.as_mut().unwrap().acceptors;
            acceptors[1].id = "agent:codex-3".parse().unwrap();
        },
        &[(Code::ForbiddenAction, "content.task.acceptors[1].id")],
    );
    breaking(
        |c| {
            let acceptors = &mut c.task.as_mut().unwrap().acceptors;
            acceptors.push(acceptors[0].clone());
        },
        &[(Code::MalformedManifest, "content.task.acceptors[2]")],
    );
}

#[test]
fn ids_of_one_kind_are_unique() {
    breaking(
        |c| {
            c.forbidden.push(id("merge"));
            c.claims.push(c.claims[0].clone());
            c.assumptions.push(c.assumptions[0].clone());
            c.effects.push(c.effects[0].clone());
            c.verification.push(c.verification[0].clone());
            c.evidence.push(c.evidence[0].clone());
            c.lifted.push(c.lifted[0].clone());
            let leases = c.leases.as_mut().unwrap();
            leases.push(leases[0].clone());
        },
        &[
            (Code::MalformedManifest, "content.forbidden[2]"),
            (Code::MalformedManifest, "content.claims[3].id"),
            (Code::MalformedManifest, "content.assumptions[1].id"),
            (Code::MalformedManifest, "content.effects[1].id"),
            (Code::MalformedManifest, "content.verification[1].id"),
            (Code::MalformedManifest, "content.evidence[2].id"),
            (Code::MalformedManifest, "content.lifted[1].action"),
            (Code::MalformedManifest, "content.leases[1].id"),
        ],
    );
}

#[test]
fn an_omission_has_either_a_path_or_a_text() {
    breaking(
        |c| {
            let mut omissions = c.omissions.inline().to_vec();
            omissions[0].text = None;
            omissions[1].text = Some("both".into());
            c.omissions = omissions.into();
        },
        &[
            (Code::MalformedManifest, "content.omissions[0]"),
            (Code::MalformedManifest, "content.omissions[1]"),
        ],
    );
}

#[test]
fn object_ids_are_of_the_repositorys_format() {
    let long = "4".repeat(64).parse().unwrap();
    breaking(
        |c| c.repository.index_tree = long,
        &[(Code::MalformedManifest, "content.repository.indexTree")],
    );
    breaking(
        |c| c.artifacts.conflicts[1] = long,
        &[(Code::MalformedManifest, "content.artifacts.conflicts[1]")],
    );
    breaking(
        |c| c.repository.operation.as_mut().unwrap().heads[1] = long,
        &[(
            Code::MalformedManifest,
            "content.repository.operation.heads[1]",
        )],
    );
}

#[test]
fn there_are_three_conflict_trees_or_none() {
    breaking(
        |c| c.artifacts.conflicts.truncate(2),
        &[(Code::MalformedManifest, "content.artifacts.conflicts")],
    );
    breaking(|c| c.artifacts.conflicts.clear(), &[]);
}

#[test]
fn base_depth_head_and_branch_fit_each_other() {
    breaking(
        |c| c.repository.depth = None,
        &[(Code::MalformedManifest, "content.repository.depth")],
    );
    breaking(
        |c| {
            c.repository.head = None;
            c.repository.branch = None;
        },
        &[
            (Code::MalformedManifest, "content.repository.base"),
            (Code::MalformedManifest, "content.repository.branch"),
        ],
    );
    let heads = [(
        Code::MalformedManifest,
        "content.repository.operation.heads",
    )];
    breaking(
        |c| c.repository.operation.as_mut().unwrap().heads.clear(),
        &heads,
    );
    breaking(
        |c| {
            let heads = &mut c.repository.operation.as_mut().unwrap().heads;
            heads[1] = heads[0];
        },
        &heads,
    );
}

#[test]
fn urls_hold_no_credentials() {
    let submodule = [(Code::SecretDetected, "content.worktree.submodules[0].url")];
    let with_url = |url: &str, expected: &[(Code, &str)]| {
        breaking(
            |c| {
                let mut submodules = c.worktree.submodules.inline().to_vec();
                submodules[0].url = Some(url.into());
                c.worktree.submodules = submodules.into();
            },
            expected,
        );
    };
    with_url("https://token@example.com/lib.git", &submodule);
    with_url("HTTPS://a:b@example.com/lib.git", &submodule);
    with_url("ssh://git:secret@example.com/lib.git", &submodule);
    with_url("ssh://git@example.com/lib.git", &[]);
    with_url("git@example.com:lib.git", &[]);
    with_url("https://example.com/a@b", &[]);
    breaking(
        |c| c.state[0].citations[0] = "url/https://a:b@example.com/".parse().unwrap(),
        &[(Code::SecretDetected, "content.state[0].citations[0]")],
    );
}

#[test]
fn extensions_are_named_with_their_version() {
    for name in [
        "board",
        "board.v0",
        "board.v01",
        "board.v",
        ".v1",
        "a b.v1",
        "b.v1x",
    ] {
        breaking(
            |c| {
                drop(
                    c.extensions
                        .insert(name.into(), crate::contract::Value::Null),
                )
            },
            &[(Code::MalformedManifest, "content.extensions")],
        );
    }
    breaking(
        |c| {
            drop(
                c.extensions
                    .insert("a.v1.v20".into(), crate::contract::Value::Null),
            )
        },
        &[],
    );
}

#[test]
fn patterns_lie_below_the_top_of_the_worktree() {
    for pattern in ["", "/etc/**", "../x", "a/../b", "a\0b"] {
        breaking(
            |c| c.leases.as_mut().unwrap()[0].paths.push(pattern.into()),
            &[(Code::MalformedManifest, "content.leases[0].paths[1]")],
        );
    }
    breaking(
        |c| c.task.as_mut().unwrap().scope.excluded.push(String::new()),
        &[(Code::MalformedManifest, "content.task.scope.excluded[1]")],
    );
}

#[test]
fn only_generation_one_has_nothing_before_it() {
    let expected = [(Code::GenerationGap, "previous")];
    let none = ListBlobs::default();
    let mut sample = sample::manifest();
    sample.previous = None;
    assert_eq!(found(&manifest(&sample, &none)), expected);
    let mut sample = sample::minimal_manifest();
    sample.previous = sample::manifest().previous;
    assert_eq!(found(&manifest(&sample, &none)), expected);
}

#[test]
fn authored_text_that_names_a_place_of_one_machine_is_found() {
    let mut content = sample::manifest().content;
    assert_eq!(local_references(&content), []);
    content.state[0].text = "see `/home/ann/x.log`".into();
    content.unexecuted[0].command = "make DESTDIR=~/out".into();
    content.evidence[1].reference = "file:///srv/trace".into();
    content.objective = "a ~ b, /homes/x, ~5 files, profile:".into();
    content.repository.branch = Some("/home/".into());
    let references = local_references(&content);
    let found: Vec<_> = references
        .iter()
        .map(|reference| (reference.field.as_str(), reference.word.as_str()))
        .collect();
    assert_eq!(
        found,
        [
            ("content.evidence[1].ref", "file:///srv/trace"),
            ("content.objective", "~"),
            ("content.state[0].text", "/home/ann/x.log"),
            ("content.unexecuted[0].command", "~/out"),
        ]
    );
}

#[test]
fn an_exclusion_names_its_line_and_pattern() {
    let judged = |source: &str| {
        let mut sample = sample::manifest();
        let mut excluded = sample.observed.excluded.inline().to_vec();
        excluded[0].source = source.into();
        excluded[0].line = 0;
        excluded[0].pattern = None;
        sample.observed.excluded = excluded.into();
        let violations = manifest(&sample, &ListBlobs::default());
        violations.into_iter().map(|v| v.field).collect::<Vec<_>>()
    };
    let (line, pattern) = ("observed.excluded[0].line", "observed.excluded[0].pattern");
    assert_eq!(judged(".gitignore"), [line, pattern]);
    assert_eq!(judged("core.excludesFile"), [line]);
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig {
        failure_persistence: None,
        ..Default::default()
    })]

    #[test]
    fn no_document_makes_a_check_panic(
        whole in crate::contract::arbitrary::documents::<Manifest>(),
        taken in crate::contract::arbitrary::documents::<Accept>(),
        given in crate::contract::arbitrary::documents::<crate::contract::Release>(),
    ) {
        manifest(&whole, &ListBlobs::default());
        accept(&taken, DEFAULT_MAX_ACCEPT_SECONDS);
        accept_of(&taken, &whole, Digest::of(b""), whole.content.blockers.inline());
        release_of(&given, &taken, Digest::of(b""));
    }
}
