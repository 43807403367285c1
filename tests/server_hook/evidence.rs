//! What a hostile record claims: refused by the hook, by the remote helper before a byte is sent, and by `verify`.

use store::{
    byte_text::ByteText,
    contract::{
        Claim, ClaimState, Conclusion, Environment, Evidence, EvidenceKind, Manifest, OutputDigest,
        PathLease, Receipt, ReceiptReference, ReceiptSchema, Statement, Task, TaskScope, codec,
    },
    digest::Digest,
};

use super::served::Served;
use crate::records::{Records, parse};

/// Sees that a first checkpoint is refused everywhere, by name of the artifact.
#[track_caller]
fn refused(
    code: &str,
    artifact: &str,
    change: impl FnOnce(&Records<'_>, &mut Manifest) -> Option<Receipt>,
) {
    let served = Served::new();
    let records = served.records();
    let mut manifest = records.manifest("x", None);
    let receipt = change(&records, &mut manifest);
    let mut draft = records.draft(&manifest, None);
    if let Some(receipt) = receipt {
        let tree = records.files(&[("R1.cbor", &codec::encode(&receipt))]);
        draft.set("040000", "tree", &tree, "receipts");
    }
    let commit = records.write(&draft);
    let said = served.refuses(&commit, "x", code);
    assert!(said.contains(artifact), "{said}");
    // The helper says the same, and the server hears nothing of it.
    let url = format!("handoff::{}", served.bare.display());
    let pushed = served.world.git(
        &served.repo,
        ["push", &url, &format!("{commit}:refs/handoff/x")],
    );
    let said = pushed.code(1).stderr();
    assert!(said.contains(code) && said.contains(artifact), "{said}");
    assert_eq!(served.tip("x"), None);
    // So does a reader that meets it.
    let update = ["update-ref", "refs/handoff/x", &commit];
    served.world.git(&served.repo, update).ok();
    let found = served.world.handoff(&served.repo, ["verify", "x"]);
    let said = found.stdout();
    assert!(said.contains(code) && said.contains(artifact), "{said}");
}

fn statement(citation: &str) -> Statement {
    Statement {
        text: "It is so".into(),
        citations: vec![parse(citation)],
    }
}

#[test]
fn citations_that_point_to_nothing_are_refused() {
    let nowhere = "1".repeat(40);
    for citation in [
        format!("commit/{nowhere}"),
        "file/no/such/file".into(),
        "file/README.md#L1-L2".into(),
        "receipt/R1".into(),
        "evidence/E1".into(),
        "bundle/B1".into(),
        format!("checkpoint/x@1#{}", Digest::of(b"")),
    ] {
        let wanted = citation.clone();
        refused("BAD_CITATION", &wanted, move |_, manifest| {
            manifest.content.state.push(statement(&citation));
            None
        });
    }
    // A commit of the repository that head does not reach.
    refused(
        "BAD_CITATION",
        "content.evidence[0].ref",
        |records, manifest| {
            let other = records
                .git(&["commit-tree", "-m", "Other", "HEAD^{tree}"])
                .line();
            manifest.content.evidence.push(Evidence {
                id: parse("E1"),
                kind: EvidenceKind::Commit,
                reference: other,
                digest: None,
            });
            None
        },
    );
}

#[test]
fn citations_that_point_to_something_are_taken() {
    let served = Served::new();
    let records = served.records();
    let head = records.oid("HEAD");
    let first = records.checkpoint("x", None, |manifest| {
        let state = &mut manifest.content.state;
        state.push(statement(&format!("commit/{head}")));
        state.push(statement("file/README.md#L1"));
        state.push(statement("url/https://example.com/"));
        // Of another scope: nobody here can tell.
        let other = format!("checkpoint/y@1#{}", Digest::of(b""));
        state.push(statement(&other));
    });
    served.takes(&first, "x");
    let digest = records.read(&first).manifest.digest;
    let second = records.checkpoint("x", Some(&first), |manifest| {
        let citation = format!("checkpoint/x@1#{digest}");
        manifest.content.state.push(statement(&citation));
    });
    served.takes(&second, "x");
}

/// Makes the manifest's trees have one file more than head.
fn change_a_file(records: &Records<'_>, manifest: &mut Manifest) {
    let readme = records.oid("HEAD:README.md");
    let src = records.files(&[("a.rs", b"fn a() {}\n")]);
    let entries = [
        format!("100644 blob {readme}\tREADME.md"),
        format!("040000 tree {src}\tsrc"),
    ];
    let tree = parse(&records.tree(&entries));
    manifest.content.repository.worktree_tree = tree;
    manifest.content.repository.index_tree = tree;
}

fn lease(paths: &[&str]) -> PathLease {
    PathLease {
        id: parse("L1"),
        paths: paths.iter().map(ToString::to_string).collect(),
        reference: None,
    }
}

fn task(allowed: Option<&[&str]>, excluded: &[&str]) -> Task {
    let texts = |texts: &[&str]| texts.iter().map(ToString::to_string).collect();
    Task {
        outcome: None,
        scope: TaskScope {
            allowed: allowed.map(texts),
            excluded: texts(excluded),
        },
        inputs: Vec::new(),
        reproduction: None,
        expected: None,
        fixtures: Vec::new(),
        acceptance: Vec::new(),
        stop_when: Vec::new(),
        runner: None,
        acceptors: Vec::new(),
    }
}

#[test]
fn a_changed_path_outside_leases_or_task_is_out_of_scope() {
    for (leases, task) in [
        (Some(Vec::new()), None),
        (Some(vec![lease(&["docs/**", "*.rs"])]), None),
        (None, Some(task(Some(&[]), &[]))),
        (None, Some(task(Some(&["src/*/a.rs"]), &[]))),
        (None, Some(task(None, &["src"]))),
        (
            Some(vec![lease(&["src/**"])]),
            Some(task(Some(&["docs"]), &[])),
        ),
    ] {
        refused("OUT_OF_SCOPE", "src/a.rs", |records, manifest| {
            change_a_file(records, manifest);
            manifest.content.leases = leases;
            manifest.content.task = task;
            None
        });
    }
    let served = Served::new();
    let records = served.records();
    let legal = records.checkpoint("x", None, |manifest| {
        change_a_file(&records, manifest);
        manifest.content.leases = Some(vec![lease(&["src/**"])]);
        manifest.content.task = Some(task(Some(&["src"]), &["docs", "src/b.rs"]));
    });
    served.takes(&legal, "x");
}

/// Makes a receipt of a command that passed on the tree of the manifest.
fn receipt(manifest: &Manifest) -> Receipt {
    let nothing = OutputDigest {
        sha256: Digest::of(b""),
        size: 0,
    };
    let tree = manifest.content.repository.worktree_tree;
    Receipt {
        schema: ReceiptSchema::V1,
        id: parse("R1"),
        argv: vec![ByteText::from("true")],
        exit_code: Some(0),
        signal: None,
        started_at: manifest.created_at,
        duration_ms: 1,
        tree_before: tree,
        tree_after: tree,
        stdout: nothing,
        stderr: nothing,
        environment: Environment {
            os: "linux".into(),
            arch: "x86_64".into(),
            tools: Vec::new(),
        },
    }
}

/// Lets a manifest claim something by a receipt.
fn claim(manifest: &mut Manifest, receipt: &Receipt) {
    let content = &mut manifest.content;
    content.untested = Some(Vec::new());
    content.claims = vec![Claim {
        id: parse("AC-1"),
        text: "It passes".into(),
        state: ClaimState::Evidenced,
        receipt: Some(parse("R1")),
        reason: None,
        decision: None,
        owner: None,
        default: None,
    }];
    content.receipts = vec![ReceiptReference {
        id: parse("R1"),
        digest: Digest::of(&codec::encode(receipt)),
        tree: content.repository.worktree_tree,
        conclusion: Conclusion::Pass,
        role: None,
    }]
    .into();
}

#[test]
fn a_receipt_that_says_something_else_than_the_manifest_is_refused() {
    let mismatch = |field: &str, change: fn(&Records<'_>, &mut Receipt)| {
        let artifact = format!("receipts/R1.cbor: {field}");
        refused("RECEIPT_MISMATCH", &artifact, |records, manifest| {
            let mut receipt = receipt(manifest);
            change(records, &mut receipt);
            claim(manifest, &receipt);
            Some(receipt)
        });
    };
    mismatch("exitCode", |_, receipt| receipt.exit_code = Some(1));
    mismatch("exitCode", |_, receipt| receipt.signal = Some(9));
    mismatch("id", |_, receipt| receipt.id = parse("R2"));
    mismatch("argv", |_, receipt| receipt.argv.clear());
    mismatch("treeBefore", |records, receipt| {
        receipt.tree_before = parse(&records.files(&[("other", b"tree")]));
    });
    // Its command changed what was captured.
    refused(
        "UNEVIDENCED_CLAIM",
        "content.claims[0].receipt",
        |records, manifest| {
            let mut receipt = receipt(manifest);
            receipt.tree_after = parse(&records.files(&[("other", b"tree")]));
            claim(manifest, &receipt);
            Some(receipt)
        },
    );
    // Other bytes than those that the manifest names.
    refused("DIGEST_MISMATCH", "receipts/R1.cbor", |_, manifest| {
        let mut receipt = receipt(manifest);
        claim(manifest, &receipt);
        receipt.duration_ms += 1;
        Some(receipt)
    });
    refused("MISSING_OBJECT", "receipts/R1.cbor", |_, manifest| {
        let receipt = receipt(manifest);
        claim(manifest, &receipt);
        None
    });
}
