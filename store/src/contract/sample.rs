//! Documents that hold every field, written by hand; the golden files are their bytes.

use std::{collections::BTreeMap, str::FromStr};

use super::*;
use crate::{digest::Digest, repo_path::RepoPath};

fn parse<T: FromStr<Err: std::fmt::Debug>>(text: &str) -> T {
    text.parse().unwrap()
}

fn text(text: &str) -> Option<String> {
    Some(text.into())
}

fn path(bytes: &[u8]) -> RepoPath {
    RepoPath::from_bytes(bytes).unwrap()
}

/// Returns the object id whose 40 digits are all `digit`.
fn oid(digit: char) -> crate::oid::Oid {
    parse(&digit.to_string().repeat(40))
}

fn cite(citations: &[&str]) -> Vec<Citation> {
    citations.iter().map(|citation| parse(citation)).collect()
}

fn statement(words: &str, citations: &[&str]) -> Statement {
    Statement {
        text: words.into(),
        citations: cite(citations),
    }
}

/// Returns a manifest in which no field is null or empty.
pub(crate) fn manifest() -> Manifest {
    Manifest {
        schema: ManifestSchema::V1,
        scope: parse("DEV-1842"),
        generation: parse("7"),
        previous: Some(Previous {
            checkpoint: Digest::of(b"manifest 6"),
            accept: Some(Digest::of(b"accept 6")),
            release: Some(Digest::of(b"release 6")),
        }),
        created_at: parse("2026-11-30T10:12:00Z"),
        producer: Producer {
            id: parse("agent:codex-3"),
            kind: crate::actor::ActorKind::Agent,
            run_id: text("run-81"),
            tool: "git-handoff 0.1.0".into(),
        },
        content: content(),
        observed: observed(),
    }
}

/// Returns the manifest that saving without a draft writes for an unborn branch.
pub(crate) fn minimal_manifest() -> Manifest {
    let mut manifest = manifest();
    manifest.generation = parse("1");
    manifest.previous = None;
    manifest.producer.run_id = None;
    manifest.content = minimal_content();
    manifest.observed = Observed {
        last_edit_at: None,
        base_from: None,
        upstream: None,
        excluded: CapturedList::default(),
        submodules: CapturedList::default(),
        lfs: CapturedList::default(),
    };
    manifest
}

/// Returns a manifest one list of which is a blob, and that blob.
pub(crate) fn manifest_with_a_blob() -> (Manifest, lists::ListBlobs) {
    let mut manifest = minimal_manifest();
    manifest.content.worktree.flags = flags(1_001).into();
    let blobs = lists::move_out_of_manifest(&mut manifest);
    (manifest, blobs)
}

fn content() -> Content {
    Content {
        task_id: text("DEV-1842"),
        objective: "Accept null where the parser now fails\nwithout a change for other callers"
            .into(),
        disposition: Disposition::Continuable,
        state: vec![statement(
            "The parser reads null, the writer does not yet write it",
            &[
                "tree/worktree",
                "receipt/R1",
                "file/src/parser.rs#L10-L24",
                "file/caf%E9.txt",
                "commit/2222222222222222222222222222222222222222",
                "checkpoint/DEV-1800@3#sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae",
                "bundle/E2",
                "url/https://example.com/spec",
            ],
        )],
        next: Some(NextStep {
            action: parse("choose_null_semantics"),
            text: "Decide D1, then write null".into(),
            citations: cite(&["evidence/E1"]),
        }),
        forbidden: vec![parse("merge"), parse("deploy")],
        claims: claims(),
        decisions: vec![Decision {
            id: parse("D1"),
            question: "Is a missing key the same as null?".into(),
            owner: Some(parse("ann@example.com")),
            options: vec![
                DecisionOption {
                    id: parse("same"),
                    text: "They are the same".into(),
                },
                DecisionOption {
                    id: parse("differ"),
                    text: "A missing key is an error".into(),
                },
            ],
            citations: cite(&["file/docs/format.md#L3"]),
            blocks: vec![parse("AC-4")],
            decide_by: Some(parse("2026-12-04T12:00:00Z")),
            default: Some(DecisionDefault::Option(parse("differ"))),
        }],
        assumptions: vec![Assumption {
            id: parse("A1"),
            text: "No caller relies on the error".into(),
            citations: cite(&["evidence/E1"]),
            stale_when: text("a caller outside src/ appears"),
        }],
        effects: vec![Effect {
            id: parse("X1"),
            text: "The test database was migrated".into(),
            kind: EffectKind::Migration,
            repeatable: false,
            receipt: Some(parse("R1")),
        }],
        attempts: vec![statement("A null object in place of null", &["receipt/R3"])],
        unexecuted: vec![Unexecuted {
            command: "cargo test --workspace".into(),
            reason: "takes an hour".into(),
        }],
        known_failures: vec![statement("The round trip of null", &["receipt/R2"])],
        untested: Some(vec!["files over 2 GiB".into()]),
        verification: vec![Verification {
            id: parse("V1"),
            command: "cargo test parser".into(),
            claim: Some(parse("AC-3")),
            timeout_seconds: Some(600),
        }],
        changes: vec![Change {
            path: path(b"src/parser.rs"),
            why: "null was an error".into(),
        }],
        task: Some(task()),
        leases: Some(vec![PathLease {
            id: parse("L1"),
            paths: vec!["src/**".into()],
            reference: text("leases/L1"),
        }]),
        evidence: vec![
            evidence("E1", EvidenceKind::File, "src/parser.rs"),
            evidence("E2", EvidenceKind::Bundle, "trace.bundle"),
        ],
        allow: vec![Allow {
            rule: "generic-assignment".into(),
            fingerprint: "00112233445566778899aabbccddeeff".into(),
            reason: "a value of the fixture".into(),
            by: parse("agent:codex-3"),
        }],
        omissions: vec![
            omission(
                None,
                text("sparse patterns"),
                OmissionReason::SparsePatterns,
            ),
            omission(Some(path(b"data/big.bin")), None, OmissionReason::TooLarge),
            omission(None, text("the production log"), OmissionReason::ByRequest),
        ]
        .into(),
        blockers: vec![
            Blocker {
                kind: BlockerKind::LfsMissing,
                path: Some(path(b"assets/logo.png")),
                detail: text("not in the local store"),
            },
            Blocker {
                kind: BlockerKind::Access,
                path: None,
                detail: text("a key for the test database"),
            },
        ]
        .into(),
        receipts: vec![
            reference("R1", Conclusion::Pass, Some(ReceiptRole::After)),
            reference("R2", Conclusion::Fail, Some(ReceiptRole::Before)),
            reference("R3", Conclusion::Fail, None),
        ]
        .into(),
        repository: repository(),
        worktree: worktree(),
        artifacts: Artifacts {
            raw: Some(oid('a')),
            conflicts: vec![oid('b'), oid('c'), oid('d')],
            attachments: vec![Attachment {
                name: parse("trace.txt"),
                sha256: Digest::of(b"trace"),
                size: 5,
            }],
        },
        lifted: vec![Lifted {
            action: parse("migrate"),
            reason: "the owner decided it".into(),
            citations: cite(&["evidence/E1"]),
        }],
        extensions: BTreeMap::from([(
            "example.board.v1".into(),
            Value::Map(BTreeMap::from([
                ("column".into(), Value::Text("doing".into())),
                (
                    "points".into(),
                    Value::List(vec![Value::Integer(-3), Value::Null]),
                ),
                ("raw".into(), Value::Bytes(vec![0xff])),
                ("seen".into(), Value::Bool(true)),
            ])),
        )]),
    }
}

fn claims() -> Vec<Claim> {
    let claim = |id: &str, words: &str, state, receipt: Option<&str>| Claim {
        id: parse(id),
        text: words.into(),
        state,
        receipt: receipt.map(parse),
        reason: None,
        decision: None,
        owner: None,
        default: None,
    };
    vec![
        claim("AC-3", "null is read", ClaimState::Evidenced, Some("R1")),
        Claim {
            reason: text("needs_product_decision"),
            decision: Some(parse("D1")),
            owner: Some(parse("agent:codex-3")),
            default: text("null is not written"),
            ..claim("AC-4", "null is written", ClaimState::Open, None)
        },
        claim("AC-5", "null comes back", ClaimState::Failed, Some("R2")),
    ]
}

fn task() -> Task {
    Task {
        outcome: text("null passes through"),
        scope: TaskScope {
            allowed: Some(vec!["src/**".into(), "docs/**".into()]),
            excluded: vec!["src/legacy/**".into()],
        },
        inputs: vec!["docs/format.md".into()],
        reproduction: text("echo null | parse"),
        expected: text("null"),
        fixtures: vec!["tests/null.json".into()],
        acceptance: vec!["AC-3 and AC-4 hold".into()],
        stop_when: vec!["the format has to change".into()],
        runner: Some(Runner {
            operator: text("ci"),
            setup: text("make setup"),
            test: text("make test"),
            permissions: vec!["network".into()],
        }),
        acceptors: vec![
            TaskAcceptor {
                role: TaskRole::Engineer,
                id: parse("agent:codex-4"),
            },
            TaskAcceptor {
                role: TaskRole::Product,
                id: parse("ann@example.com"),
            },
        ],
    }
}

fn evidence(id: &str, kind: EvidenceKind, reference: &str) -> Evidence {
    Evidence {
        id: parse(id),
        kind,
        reference: reference.into(),
        digest: Some(Digest::of(reference.as_bytes())),
    }
}

fn omission(path: Option<RepoPath>, text: Option<String>, reason: OmissionReason) -> Omission {
    Omission {
        path,
        text,
        reason,
        detail: Some("a detail".into()),
        citation: Some(parse("tree/worktree")),
    }
}

fn reference(id: &str, conclusion: Conclusion, role: Option<ReceiptRole>) -> ReceiptReference {
    ReceiptReference {
        id: parse(id),
        digest: Digest::of(id.as_bytes()),
        tree: oid('4'),
        conclusion,
        role,
    }
}

fn repository() -> Repository {
    Repository {
        id: Some(Digest::of(b"root\n")),
        object_format: ObjectFormat::Sha1,
        base: Some(oid('1')),
        depth: Some(2),
        head: Some(oid('2')),
        branch: Some("refs/heads/null".into()),
        worktree_tree: oid('4'),
        index_tree: oid('5'),
        operation: Some(Operation {
            kind: OperationKind::Merge,
            heads: vec![oid('6'), oid('7')],
            message: Some(b"Merge branch 'caf\xe9'\n"[..].into()),
        }),
    }
}

fn worktree() -> Worktree {
    Worktree {
        conversions: Conversions {
            autocrlf: AutoCrlf::Input,
            eol: Eol::Native,
        },
        intent_to_add: vec![IntentToAdd {
            path: path(b"later.txt"),
            mode: FileMode::Regular,
        }]
        .into(),
        flags: flags(1).into(),
        empty_directories: vec![path(b"caf\xe9"), path("leer/ä".as_bytes())].into(),
        untracked: Untracked {
            count: 1,
            bytes: 12,
            digest: Digest::of(b"untracked"),
        },
        submodules: vec![Submodule {
            path: path(b"vendor/lib"),
            commit: Some(oid('8')),
            url: Some("https://example.com/lib.git".into()),
            dirty: true,
        }]
        .into(),
        lfs: vec![LfsPointer {
            path: path(b"assets/logo.png"),
            oid: Digest::of(b"logo"),
            size: 4,
        }]
        .into(),
    }
}

/// Returns so many entries of `worktree.flags`, in order.
pub(crate) fn flags(count: usize) -> Vec<Flags> {
    let flags = |n| Flags {
        path: path(format!("config/{n:06}").as_bytes()),
        assume_unchanged: true,
        skip_worktree: false,
    };
    (0..count).map(flags).collect()
}

fn observed() -> Observed {
    Observed {
        last_edit_at: Some(parse("2026-11-30T10:11:00Z")),
        base_from: Some(BaseFrom::Upstream),
        upstream: Some("refs/remotes/origin/main".into()),
        excluded: vec![Exclusion {
            source: ".gitignore".into(),
            line: 3,
            pattern: Some("*.o".into()),
            reason: ExcludedReason::Ignored,
            entries: 40,
        }]
        .into(),
        submodules: vec![SubmoduleReach {
            path: path(b"vendor/lib"),
            reachable: Reachable::Unknown,
        }]
        .into(),
        lfs: vec![LfsPresence {
            path: path(b"assets/logo.png"),
            present: false,
        }]
        .into(),
    }
}

fn minimal_content() -> Content {
    Content {
        task_id: None,
        objective: "wip: main".into(),
        disposition: Disposition::Continuable,
        state: vec![statement(
            "The worktree as it was saved",
            &["tree/worktree"],
        )],
        next: None,
        forbidden: vec![],
        claims: vec![],
        decisions: vec![],
        assumptions: vec![],
        effects: vec![],
        attempts: vec![],
        unexecuted: vec![],
        known_failures: vec![],
        untested: None,
        verification: vec![],
        changes: vec![],
        task: None,
        leases: None,
        evidence: vec![],
        allow: vec![],
        omissions: CapturedList::default(),
        blockers: CapturedList::default(),
        receipts: CapturedList::default(),
        repository: Repository {
            id: None,
            object_format: ObjectFormat::Sha1,
            base: None,
            depth: None,
            head: None,
            branch: Some("refs/heads/main".into()),
            worktree_tree: oid('4'),
            index_tree: oid('5'),
            operation: None,
        },
        worktree: Worktree {
            conversions: Conversions {
                autocrlf: AutoCrlf::False,
                eol: Eol::Native,
            },
            intent_to_add: CapturedList::default(),
            flags: CapturedList::default(),
            empty_directories: CapturedList::default(),
            untracked: Untracked {
                count: 0,
                bytes: 0,
                digest: Digest::of(b""),
            },
            submodules: CapturedList::default(),
            lfs: CapturedList::default(),
        },
        artifacts: Artifacts {
            raw: None,
            conflicts: vec![],
            attachments: vec![],
        },
        lifted: vec![],
        extensions: BTreeMap::new(),
    }
}

/// Returns an accept of [`manifest`].
pub(crate) fn accept() -> Accept {
    Accept {
        schema: AcceptSchema::V1,
        scope: parse("DEV-1842"),
        generation: parse("7"),
        checkpoint_digest: Digest::of(&codec::encode(&manifest())),
        previous_accept: Some(Digest::of(b"accept 7")),
        previous_release: Some(Digest::of(b"release 7")),
        acceptor: Acceptor {
            id: parse("agent:codex-4"),
            kind: crate::actor::ActorKind::Agent,
        },
        delegates: vec![parse("agent:codex-*"), parse("team/*")],
        action: Some(parse("choose_null_semantics")),
        until: parse("2026-12-02T11:00:00Z"),
        leases: content().leases,
        acknowledged: vec![
            Acknowledged {
                kind: BlockerKind::LfsMissing,
                path: Some(path(b"assets/logo.png")),
            },
            Acknowledged {
                kind: BlockerKind::Access,
                path: None,
            },
        ],
        accepted_at: parse("2026-11-30T11:00:00Z"),
        note: text("I take the writer"),
    }
}

/// Returns a release of [`accept`].
pub(crate) fn release() -> Release {
    Release {
        schema: ReleaseSchema::V1,
        scope: parse("DEV-1842"),
        generation: parse("7"),
        accept_digest: Digest::of(&codec::encode(&accept())),
        by: parse("agent:codex-4"),
        at: parse("2026-12-01T08:30:00Z"),
        note: text("no time left"),
    }
}

/// Returns a prepared handoff.
pub(crate) fn prepared() -> Prepared {
    Prepared {
        schema: PreparedSchema::V1,
        scope: parse("DEV-1842"),
        observed_tip: Some(oid('9')),
        content: content(),
    }
}

/// Returns the receipt of a command that passed on the worktree tree of [`manifest`].
pub(crate) fn receipt() -> Receipt {
    Receipt {
        schema: ReceiptSchema::V1,
        id: parse("R1"),
        argv: vec!["cargo".into(), "test".into(), b"caf\xe9"[..].into()],
        exit_code: Some(0),
        signal: None,
        started_at: parse("2026-11-30T10:05:00Z"),
        duration_ms: 73_512,
        tree_before: oid('4'),
        tree_after: oid('4'),
        stdout: OutputDigest {
            sha256: Digest::of(b"ok\n"),
            size: 3,
        },
        stderr: OutputDigest {
            sha256: Digest::of(b""),
            size: 0,
        },
        environment: Environment {
            os: "linux".into(),
            arch: "x86_64".into(),
            tools: vec![Tool {
                name: "cargo".into(),
                version: "1.95.0".into(),
            }],
        },
    }
}

/// Returns the receipt of a command that a signal ended.
pub(crate) fn killed_receipt() -> Receipt {
    Receipt {
        id: parse("R2"),
        exit_code: None,
        signal: Some(9),
        ..receipt()
    }
}
