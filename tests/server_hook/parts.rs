//! Paths of the trees, and the files that a checkpoint brings along: receipts, attachments, lists.

use store::{
    contract::{
        Attachment, Citation, Claim, ClaimState, Conclusion, Decision, DecisionOption, Disposition,
        Environment, Flags, Manifest, OutputDigest, Receipt, ReceiptReference, ReceiptSchema,
        codec,
    },
    digest::Digest,
    repo_path::RepoPath,
};

use super::served::Served;
use crate::records::{Draft, Records, parse};

/// Pushes a first checkpoint with another worktree and index tree.
#[track_caller]
fn with_tree(served: &Served, tree: &str) -> String {
    served.records().checkpoint("x", None, |manifest| {
        let repository = &mut manifest.content.repository;
        (repository.worktree_tree, repository.index_tree) = (parse(tree), parse(tree));
    })
}

#[test]
fn names_that_fold_to_dot_git_are_unsafe() {
    let served = Served::new();
    let records = served.records();
    let blob = records.blob(b"[core]\n");
    let folder = records.files(&[("config", b"a")]);
    for name in [
        ".git",
        ".GIT",
        "git~1",
        ".git ",
        ".g\u{200c}it",
        "a\\.git",
        ".git\\a",
        "..",
        ".",
    ] {
        let tree = records.unchecked_tree(&[("40000", name, &folder)]);
        served.refuses(&with_tree(&served, &tree), "x", "UNSAFE_PATH");
        let below = records.unchecked_tree(&[("40000", "deep", &tree)]);
        served.refuses(&with_tree(&served, &below), "x", "UNSAFE_PATH");
    }
    let link = records.unchecked_tree(&[("120000", ".gitmodules", &blob)]);
    served.refuses(&with_tree(&served, &link), "x", "UNSAFE_PATH");
    let legal =
        records.unchecked_tree(&[("100644", ".gitmodules", &blob), ("40000", "git", &folder)]);
    served.takes(&with_tree(&served, &legal), "x");
}

#[test]
fn a_tree_is_in_order_with_gits_modes() {
    let served = Served::new();
    let records = served.records();
    let (a, b) = (records.blob(b"a"), records.blob(b"b"));
    for entries in [
        [("100644", "a", &*a), ("100644", "a", &*b)],
        [("100644", "b", &a), ("100644", "a", &b)],
        [("100644", "a", &a), ("100664", "b", &b)],
        [("100600", "a", &a), ("100644", "b", &b)],
    ] {
        let tree = records.unchecked_tree(&entries);
        served.refuses(&with_tree(&served, &tree), "x", "MALFORMED_MANIFEST");
    }
    let legal = records.unchecked_tree(&[("100755", "a", &a), ("120000", "b", &b)]);
    served.takes(&with_tree(&served, &legal), "x");
}

#[test]
fn raw_bytes_belong_to_files_of_the_worktree() {
    let served = Served::new();
    let records = served.records();
    let with_raw = |entry: &str| {
        let raw = records.tree(&[entry.to_owned()]);
        let mut manifest = records.manifest("x", None);
        manifest.content.artifacts.raw = Some(parse(&raw));
        let mut draft = records.draft(&manifest, None);
        draft.set("040000", "tree", &raw, "raw");
        records.write(&draft)
    };
    let blob = records.blob(b"# Example\r\n");
    let elsewhere = with_raw(&format!("100644 blob {blob}\telsewhere"));
    served.refuses(&elsewhere, "x", "UNSAFE_PATH");
    let other_mode = with_raw(&format!("100755 blob {blob}\tREADME.md"));
    served.refuses(&other_mode, "x", "UNSAFE_PATH");
    served.takes(&with_raw(&format!("100644 blob {blob}\tREADME.md")), "x");
}

#[test]
fn paths_of_the_manifest_are_safe_too() {
    let served = Served::new();
    let with_directory = |path: &str| {
        served.records().checkpoint("x", None, |manifest| {
            let path = RepoPath::from_bytes(path.as_bytes()).unwrap();
            manifest.content.worktree.empty_directories = vec![path].into();
        })
    };
    served.refuses(&with_directory("a/.git/hooks"), "x", "UNSAFE_PATH");
    served.refuses(&with_directory("README.md"), "x", "UNSAFE_PATH");
    served.takes(&with_directory("empty"), "x");
}

/// A checkpoint whose claim `AC-1` is evidenced by the receipt `R1`.
struct Evidenced<'s> {
    records: Records<'s>,
    manifest: Manifest,
    receipt: Receipt,
}

impl<'s> Evidenced<'s> {
    fn new(served: &'s Served) -> Self {
        let records = served.records();
        let mut manifest = records.manifest("x", None);
        let tree = manifest.content.repository.worktree_tree;
        let nothing = OutputDigest {
            sha256: Digest::of(b""),
            size: 0,
        };
        manifest.content.untested = Some(Vec::new());
        manifest.content.claims = vec![Claim {
            id: parse("AC-1"),
            text: "The tests pass".into(),
            state: ClaimState::Evidenced,
            receipt: Some(parse("R1")),
            reason: None,
            decision: None,
            owner: None,
            default: None,
        }];
        let receipt = Receipt {
            schema: ReceiptSchema::V1,
            id: parse("R1"),
            argv: vec!["true".into()],
            exit_code: Some(0),
            signal: None,
            started_at: manifest.created_at,
            duration_ms: 10,
            tree_before: tree,
            tree_after: tree,
            stdout: nothing,
            stderr: nothing,
            environment: Environment {
                os: "linux".into(),
                arch: "x86_64".into(),
                tools: Vec::new(),
            },
        };
        Evidenced {
            records,
            manifest,
            receipt,
        }
    }

    /// Returns the checkpoint; the manifest names the receipt as it is.
    fn draft(&mut self) -> Draft {
        let bytes = codec::encode(&self.receipt);
        self.manifest.content.receipts = vec![ReceiptReference {
            id: parse("R1"),
            digest: Digest::of(&bytes),
            tree: self.manifest.content.repository.worktree_tree,
            conclusion: Conclusion::Pass,
            role: None,
        }]
        .into();
        self.draft_with(&[("R1.cbor", &bytes)])
    }

    fn draft_with(&self, files: &[(&str, &[u8])]) -> Draft {
        let mut draft = self.records.draft(&self.manifest, None);
        let receipts = self.records.files(files);
        draft.set("040000", "tree", &receipts, "receipts");
        draft
    }
}

#[test]
fn receipts_are_those_that_the_manifest_names() {
    let served = Served::new();
    let mut evidenced = Evidenced::new(&served);
    let legal = evidenced.draft();
    let write = |draft: &Draft| evidenced.records.write(draft);
    let bytes = codec::encode(&evidenced.receipt);
    let mut missing = legal.clone();
    missing.remove("receipts");
    served.refuses(&write(&missing), "x", "MISSING_OBJECT");
    let other = evidenced.draft_with(&[("R1.cbor", b"other")]);
    served.refuses(&write(&other), "x", "DIGEST_MISMATCH");
    let more = evidenced.draft_with(&[("R1.cbor", &bytes), ("R2.cbor", &bytes)]);
    served.refuses(&write(&more), "x", "MALFORMED_MANIFEST");
    let odd = evidenced.draft_with(&[("R1.cbor", &bytes), ("R1.txt", b"")]);
    served.refuses(&write(&odd), "x", "MALFORMED_MANIFEST");
    served.takes(&write(&legal), "x");
}

#[test]
fn a_receipt_says_what_the_manifest_says_of_it() {
    let served = Served::new();
    type Change = (&'static str, fn(&mut Receipt));
    let changes: [Change; 5] = [
        ("RECEIPT_MISMATCH", |receipt| receipt.id = parse("R2")),
        ("RECEIPT_MISMATCH", |receipt| receipt.exit_code = Some(1)),
        ("RECEIPT_MISMATCH", |receipt| receipt.argv.clear()),
        ("RECEIPT_MISMATCH", |receipt| {
            receipt.tree_before = parse(&"1".repeat(40));
        }),
        // Its command changed the worktree: it covers no tree.
        ("UNEVIDENCED_CLAIM", |receipt| {
            receipt.tree_after = parse(&"1".repeat(40));
        }),
    ];
    for (code, change) in changes {
        let mut evidenced = Evidenced::new(&served);
        change(&mut evidenced.receipt);
        let draft = evidenced.draft();
        served.refuses(&evidenced.records.write(&draft), "x", code);
    }
    let mut evidenced = Evidenced::new(&served);
    let draft = evidenced.draft();
    served.takes(&evidenced.records.write(&draft), "x");
}

#[test]
fn a_claim_is_evidenced_by_a_receipt_of_the_tree_that_is_handed_over() {
    let served = Served::new();
    let mut evidenced = Evidenced::new(&served);
    evidenced.manifest.content.claims[0].receipt = None;
    let draft = evidenced.draft();
    served.refuses(&evidenced.records.write(&draft), "x", "UNEVIDENCED_CLAIM");
    let mut evidenced = Evidenced::new(&served);
    evidenced.manifest.content.untested = None;
    let draft = evidenced.draft();
    served.refuses(&evidenced.records.write(&draft), "x", "UNEVIDENCED_CLAIM");
    let mut evidenced = Evidenced::new(&served);
    let other = evidenced.records.files(&[("edited", b"later")]);
    evidenced.draft();
    evidenced.manifest.content.repository.worktree_tree = parse(&other);
    let bytes = codec::encode(&evidenced.receipt);
    let draft = evidenced.draft_with(&[("R1.cbor", &bytes)]);
    served.refuses(&evidenced.records.write(&draft), "x", "UNEVIDENCED_CLAIM");
}

#[test]
fn attachments_are_those_that_the_manifest_names() {
    let served = Served::new();
    let records = served.records();
    let mut manifest = records.manifest("x", None);
    manifest.content.artifacts.attachments = vec![Attachment {
        name: parse("log.txt"),
        sha256: Digest::of(b"log"),
        size: 3,
    }];
    let with = |files: &[(&str, &[u8])]| {
        let mut draft = records.draft(&manifest, None);
        draft.set("040000", "tree", &records.files(files), "attachments");
        records.write(&draft)
    };
    let without = records.write(&records.draft(&manifest, None));
    served.refuses(&without, "x", "MISSING_OBJECT");
    served.refuses(&with(&[("log.txt", b"lug")]), "x", "DIGEST_MISMATCH");
    let more = with(&[("log.txt", b"log"), ("more.txt", b"log")]);
    served.refuses(&more, "x", "MALFORMED_MANIFEST");
    served.takes(&with(&[("log.txt", b"log")]), "x");
}

#[test]
fn lists_are_those_that_the_manifest_names() {
    let served = Served::new();
    let records = served.records();
    let mut manifest = records.manifest("x", None);
    let flags = |n: usize| Flags {
        path: RepoPath::from_bytes(format!("file-{n:05}").as_bytes()).unwrap(),
        assume_unchanged: true,
        skip_worktree: false,
    };
    let all: Vec<Flags> = (0..1_001).map(flags).collect();
    manifest.content.worktree.flags = all.clone().into();
    let legal = records.draft(&manifest, None);
    let mut missing = legal.clone();
    missing.remove("lists");
    served.refuses(&records.write(&missing), "x", "MISSING_OBJECT");
    let with = |bytes: &[u8]| {
        let mut draft = legal.clone();
        let lists = records.files(&[("worktree.flags.cbor", bytes)]);
        draft.set("040000", "tree", &lists, "lists");
        records.write(&draft)
    };
    served.refuses(&with(b"other"), "x", "DIGEST_MISMATCH");
    served.takes(&records.write(&legal), "x");
}

#[test]
fn what_a_manifest_says_holds_together() {
    let served = Served::new();
    let refused = |code: &str, change: fn(&mut Manifest)| {
        let commit = served.records().checkpoint("x", None, change);
        served.refuses(&commit, "x", code);
    };
    refused("BAD_CITATION", |manifest| {
        manifest.content.state[0].citations = vec![Citation::Receipt(parse("R9"))];
    });
    refused("MALFORMED_MANIFEST", |manifest| {
        manifest.content.state.clear()
    });
    refused("MALFORMED_MANIFEST", |manifest| {
        manifest.content.objective.clear()
    });
    refused("INCONSISTENT_DISPOSITION", |manifest| {
        manifest.content.disposition = Disposition::Blocked;
    });
    refused("SECRET_DETECTED", |manifest| {
        let url = parse("url/https://user:word@example.invalid/");
        manifest.content.state[0].citations.push(url);
    });
    refused("UNDECIDABLE_DECISION", |manifest| {
        manifest.content.decisions = vec![Decision {
            id: parse("D1"),
            question: "Which?".into(),
            owner: Some(parse("ann")),
            options: vec![DecisionOption {
                id: parse("one"),
                text: "This".into(),
            }],
            citations: Vec::new(),
            blocks: Vec::new(),
            decide_by: None,
            default: None,
        }];
    });
    served.takes(&served.records().first("x"), "x");
}
