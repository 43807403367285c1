//! An agent hands over with a draft, evidence and claims: what is prepared, judged at once, and committed.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::{
    people::{AGENT, agent, error_code, server_and_clone},
    state::{Untouched, Worktree},
    world::{Output, World},
};

const DRAFT: &str = "\
objective: Treat empty fields as null
taskId: DEV-1842
state:
  - text: The parser reads empty fields
    citations: [receipt/R1, file/parser.py#L1-L2, tree/worktree]
next: {action: choose_null_semantics, text: Decide D1, citations: [file/parser.py]}
forbidden: [merge]
claims:
  - {id: AC-3, text: The parser can be loaded, state: evidenced}
  - {id: AC-4, text: Empty fields become null, state: open, reason: needs_product_decision, decision: D1}
decisions:
  - id: D1
    question: What is an empty field?
    owner: person:ann
    options: [{id: none, text: None}, {id: empty, text: The empty text}]
    blocks: [AC-4]
    default: {option: none}
untested: []
verification: [{id: V1, command: grep -q def parser.py, claim: AC-3}]
";

/// Makes a clone with unfinished work: an edit, and an untracked file.
fn work(world: &World) -> (PathBuf, PathBuf) {
    let (server, dir) = server_and_clone(world, "agent");
    world.write(&dir, "parser.py", "def parse(text):\n    return text\n");
    world.write(&dir, "notes.txt", "half done\n");
    (server, dir)
}

fn prepare(world: &World, dir: &Path, draft: &str, args: &[&str]) -> Output {
    let mut command = world.command("git", dir);
    command
        .env("HANDOFF_ID", AGENT)
        .env("HANDOFF_KIND", "agent");
    command.args(["handoff", "prepare", "work", "-f", "-"]);
    Output::with_input(command.args(args), draft)
}

/// Returns the single errors of an error document, as `code field`.
fn errors(document: &Value) -> Vec<String> {
    let errors = document["errors"].as_array().unwrap().iter();
    let line = |error: &Value| {
        let field = error["subject"].as_str().unwrap_or_default();
        format!("{} {field}", error["code"].as_str().unwrap())
    };
    errors.map(line).collect()
}

#[test]
fn an_agent_hands_over_with_a_draft_evidence_and_a_claim() {
    let world = World::new();
    let (server, dir) = work(&world);
    let ran = agent(
        &world,
        &dir,
        [
            "run",
            "--claim",
            "AC-3",
            "--",
            "grep",
            "-c",
            "def",
            "parser.py",
        ],
    );
    let ran = ran.ok();
    assert_eq!(ran.stdout(), "1\n");
    insta::assert_snapshot!(world.normal(&ran.stderr()), @"receipt R1 pass tree [id1]");

    let untouched = Untouched::of(&world, &dir);
    let prepared = prepare(&world, &dir, DRAFT, &["--json"]).ok().json();
    assert_eq!(
        (
            &prepared["generation"],
            &prepared["created"],
            &prepared["warnings"]
        ),
        (&1.into(), &true.into(), &serde_json::json!([]))
    );
    // Nothing is in any history yet.
    untouched.assert_same_but_configuration(&Untouched::of(&world, &dir));
    assert_eq!(
        world
            .git(&dir, ["for-each-ref", "refs/handoff/"])
            .ok()
            .stdout(),
        ""
    );
    // Preparing the same again changes nothing.
    let again = prepare(&world, &dir, DRAFT, &["--json"]).ok().json();
    assert_eq!(
        (&again["commit"], &again["created"]),
        (&prepared["commit"], &false.into())
    );

    let committed = agent(&world, &dir, ["commit", "work", "--json"])
        .ok()
        .json();
    assert_eq!(committed["contentDigest"], prepared["contentDigest"]);
    assert_eq!(committed["worktreeTree"], prepared["worktreeTree"]);
    // A retry makes no duplicate.
    let retried = agent(&world, &dir, ["commit", "work", "--json"])
        .ok()
        .json();
    assert_eq!(
        (&retried["commit"], &retried["created"]),
        (&committed["commit"], &false.into())
    );
    agent(&world, &dir, ["verify", "work"]).ok();
    // The receipts that were kept are in the checkpoint now.
    assert_eq!(
        world
            .git(&dir, ["for-each-ref", "refs/handoff-local/keep/"])
            .ok()
            .stdout(),
        ""
    );
    let receipts = ["ls-tree", "--name-only", "refs/handoff/work:receipts"];
    assert_eq!(world.git(&dir, receipts).ok().line(), "R1.cbor");

    agent(&world, &dir, ["push", "work"]).ok();
    let url = server.display().to_string();
    let elsewhere = world.directory("elsewhere");
    agent(
        &world,
        &elsewhere,
        ["restore", "work", "work", "--from", &url],
    )
    .ok();
    let shown = agent(&world, &elsewhere.join("work"), ["show", "work", "--json"])
        .ok()
        .json();
    let content = &shown["manifest"]["content"];
    assert_eq!(content["claims"][0]["receipt"], "R1");
    assert_eq!(content["receipts"][0]["role"], "after");
    assert_eq!(content["receipts"][0]["tree"], prepared["worktreeTree"]);
    assert_eq!(content["taskId"], "DEV-1842");
}

#[test]
fn every_error_of_a_draft_is_reported_in_one_run() {
    let world = World::new();
    let (_, dir) = work(&world);
    agent(&world, &dir, ["run", "--", "false"]).code(1);
    let draft = "\
objective: Treat empty fields as null
disposition: completed
state:
  - text: It works
    citations: [file/nothing.py, file/parser.py#L1-L9, receipt/R7, nonsense]
  - text: It stands on this
    citations: [commit/1111111111111111111111111111111111111111]
claims:
  - {id: AC-3, text: The tests pass, state: evidenced, receipt: R1}
  - {id: AC-4, text: Open, state: open}
next: {action: merge, text: Merge it}
forbidden: [merge]
decisions: [{id: D1, question: Which, options: [{id: a, text: A}]}]
leases: [{id: L1, paths: [src/**]}]
clams: []
";
    let refused = prepare(&world, &dir, draft, &["--json"]).code(4);
    assert_eq!(error_code(&refused), "INCONSISTENT_DISPOSITION");
    let document = refused.json();
    assert_eq!(
        errors(&document),
        [
            "INCONSISTENT_DISPOSITION disposition",
            "MALFORMED_MANIFEST state[0].citations[3]",
            "BAD_CITATION state[1].citations[0]",
            "UNEVIDENCED_CLAIM claims[0].receipt",
            "UNDECIDABLE_DECISION claims[1].default",
            "UNDECIDABLE_DECISION claims[1].owner",
            "FORBIDDEN_ACTION next.action",
            "UNDECIDABLE_DECISION decisions[0].default",
            "UNDECIDABLE_DECISION decisions[0].options",
            "UNDECIDABLE_DECISION decisions[0].owner",
            "MALFORMED_MANIFEST clams",
            "UNEVIDENCED_CLAIM untested",
            "OUT_OF_SCOPE notes.txt",
            "OUT_OF_SCOPE parser.py",
        ]
    );
    let message = document["errors"][2]["message"].as_str().unwrap();
    assert!(
        message.starts_with("line 7: state[1].citations[0]: `commit/111"),
        "{message}"
    );
    // The other citations of the statement are named once the malformed one is mended.
    let mended = draft.replace(", nonsense", "");
    let document = prepare(&world, &dir, &mended, &["--json"]).code(4).json();
    let bad: Vec<String> = errors(&document)
        .into_iter()
        .filter(|error| error.starts_with("BAD_CITATION state[0]"))
        .collect();
    assert_eq!(
        bad,
        [0, 1, 2].map(|at| format!("BAD_CITATION state[0].citations[{at}]"))
    );
    let nothing = [
        "for-each-ref",
        "refs/handoff/",
        "refs/handoff-local/prepared/",
    ];
    assert_eq!(world.git(&dir, nothing).ok().stdout(), "");
}

#[test]
fn a_line_edited_after_the_receipt_is_named_with_the_claim_and_a_rerun_mends_it() {
    let world = World::new();
    let (_, dir) = work(&world);
    agent(
        &world,
        &dir,
        [
            "run",
            "--claim",
            "AC-3",
            "--",
            "grep",
            "-q",
            "def",
            "parser.py",
        ],
    )
    .ok();
    world.write(&dir, "parser.py", "def parse(text):\n    return None\n");
    let refused = prepare(&world, &dir, DRAFT, &[]).code(4);
    insta::assert_snapshot!(world.normal(&refused.stderr()), @"
    error: the draft standard input: line 9: claims[0].receipt: receipt `R1` covers tree [id1], not the worktree tree [id2]; changed since: parser.py [UNEVIDENCED_CLAIM]
    hint: `git handoff prepare --rerun` runs again what ran here; anything else runs again with `git handoff run --id <receipt> -- <command>`
      git handoff prepare work
    ");
    let mended = prepare(&world, &dir, DRAFT, &["--rerun", "--json"]).ok();
    assert!(
        mended
            .stderr()
            .contains("runs again for receipt R1: grep -q def parser.py")
    );
    assert_eq!(mended.json()["created"], true);
    // What does not pass any more is no evidence.
    world.write(&dir, "parser.py", "pass\nparse = None\n");
    let refused = prepare(&world, &dir, DRAFT, &["--rerun", "--json"]).code(4);
    let document = refused.json();
    assert_eq!(document["code"], "UNEVIDENCED_CLAIM", "{document}");
    assert!(
        document["message"]
            .as_str()
            .unwrap()
            .contains("says that its command failed")
    );
}

#[test]
fn a_line_edited_after_the_manifest_is_named() {
    let world = World::new();
    let (_, dir) = work(&world);
    agent(&world, &dir, ["run", "--claim", "AC-3", "--", "true"]).ok();
    prepare(&world, &dir, DRAFT, &[]).ok();
    world.write(&dir, "parser.py", "def parse(text):\n    return None\n");
    world.write(&dir, "new.txt", "new\n");
    let refused = agent(&world, &dir, ["commit", "work", "--json"]).code(4);
    assert_eq!(error_code(&refused), "WORKTREE_CHANGED");
    assert_eq!(
        errors(&refused.json()),
        ["WORKTREE_CHANGED new.txt", "WORKTREE_CHANGED parser.py"]
    );
    // The prepared handoff is as it was, and can be put back.
    agent(&world, &dir, ["verify", "work@prepared"]).ok();
    let found = agent(&world, &dir, ["verify", "work@prepared", "--worktree"]).code(4);
    let failed = found.stdout();
    for path in ["new.txt", "parser.py"] {
        assert!(
            failed.contains(&format!("FAIL  worktree: {path}: ")),
            "{failed}"
        );
    }
}

#[test]
fn a_prepared_handoff_is_shown_verified_and_restored_before_it_is_in_any_history() {
    let world = World::new();
    let (_, dir) = work(&world);
    agent(&world, &dir, ["run", "--claim", "AC-3", "--", "true"]).ok();
    let left = Worktree::of(&world, &dir);
    prepare(&world, &dir, DRAFT, &[]).ok();
    let shown = agent(&world, &dir, ["show", "work@prepared", "--json"])
        .ok()
        .json();
    assert_eq!(
        (&shown["state"], &shown["generation"], &shown["tip"]),
        (&"prepared".into(), &1.into(), &Value::Null)
    );
    assert_eq!(
        shown["manifest"]["content"]["objective"],
        "Treat empty fields as null"
    );
    agent(&world, &dir, ["restore", "work@prepared", "copy"]).ok();
    let copy = dir.join("copy");
    left.assert_same(&Worktree::of(&world, &copy));
    // It is committed there, as it would have been here.
    agent(&world, &copy, ["commit", "work"]).ok();
    agent(&world, &copy, ["verify", "work"]).ok();
}

#[test]
fn a_scope_that_moved_on_refuses_the_commit_and_loses_nothing() {
    let world = World::new();
    let (_, dir) = work(&world);
    agent(&world, &dir, ["run", "--claim", "AC-3", "--", "true"]).ok();
    let prepared = prepare(&world, &dir, DRAFT, &["--json"]).ok().json();
    world
        .handoff_as(
            "other@example.invalid",
            &dir,
            ["save", "work", "-m", "Something else"],
        )
        .ok();
    let tip = world
        .git(&dir, ["rev-parse", "refs/handoff/work"])
        .ok()
        .line();
    let refused = agent(&world, &dir, ["commit", "work", "--json"]).code(3);
    assert_eq!(error_code(&refused), "CAS_CONFLICT");
    let message = refused.json()["message"].as_str().unwrap().to_owned();
    assert!(
        message.contains("prepared before it began") && message.contains(&tip),
        "{message}"
    );
    let kept = world
        .git(&dir, ["rev-parse", "refs/handoff-local/prepared/main/work"])
        .ok()
        .line();
    assert_eq!(prepared["commit"], kept.as_str());
    // Prepared anew it follows what came.
    let ran = agent(&world, &dir, ["run", "--claim", "AC-3", "--", "true"]);
    ran.ok();
    prepare(&world, &dir, DRAFT, &[]).ok();
    let committed = agent(&world, &dir, ["commit", "work", "--json"])
        .ok()
        .json();
    assert_eq!(committed["generation"], 2);
}

#[test]
fn a_draft_begins_with_what_the_last_generation_left_open_and_is_put_aside_once_it_is_said() {
    let world = World::new();
    let (_, dir) = work(&world);
    let status = world.git(&dir, ["status", "--porcelain"]).ok().stdout();
    let begun = agent(&world, &dir, ["draft", "work", "--json"]).ok().json();
    let path = PathBuf::from(begun["path"].as_str().unwrap());
    assert_eq!(path, dir.join(".git/handoff/draft/work.yaml"));
    assert_eq!(
        world.git(&dir, ["status", "--porcelain"]).ok().stdout(),
        status
    );
    // It says nothing yet, and is not taken for something that was said.
    let refused = agent(&world, &dir, ["prepare", "work", "--json"])
        .code(4)
        .json();
    assert_eq!(errors(&refused), ["MALFORMED_MANIFEST objective"]);

    agent(&world, &dir, ["run", "--claim", "AC-3", "--", "true"]).ok();
    std::fs::write(&path, DRAFT).unwrap();
    agent(&world, &dir, ["save", "work"]).ok();
    assert!(!path.exists() && path.with_extension("yaml~").exists());
    let next = agent(&world, &dir, ["draft", "work"]).ok();
    let text = next.stdout();
    for line in [
        "taskId: DEV-1842",
        "forbidden:\n  - merge",
        "  - id: AC-4",
        "  - id: D1",
        "      option: none",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    // Unchanged, it is a draft that can be prepared: the receipt still covers the worktree.
    let prepared = agent(&world, &dir, ["prepare", "work", "--json"])
        .ok()
        .json();
    assert_eq!(prepared["generation"], 2, "{prepared}");
    // A draft that is there is not written over.
    std::fs::write(&path, "objective: mine\n").unwrap();
    assert_eq!(
        agent(&world, &dir, ["draft", "work"]).ok().stdout(),
        "objective: mine\n"
    );
    assert!(
        agent(&world, &dir, ["draft", "work", "--new"])
            .ok()
            .stdout()
            .contains("# Draft of")
    );
    assert_eq!(
        std::fs::read_to_string(path.with_extension("yaml~")).unwrap(),
        "objective: mine\n"
    );
}

#[test]
fn a_failed_receipt_that_no_claim_names_is_told_as_an_attempt() {
    let world = World::new();
    let (_, dir) = work(&world);
    agent(&world, &dir, ["run", "--", "sh", "-c", "exit 3"]).code(3);
    agent(&world, &dir, ["run", "--", "true"]).ok();
    let saved = agent(&world, &dir, ["save", "work", "--json"]).ok().json();
    assert_eq!(saved["warnings"][0]["code"], "UNUSED_RECEIPT");
    let shown = agent(&world, &dir, ["show", "work", "--json"]).ok().json();
    let content = &shown["manifest"]["content"];
    assert_eq!(
        content["attempts"],
        serde_json::json!([{"text": "`sh -c 'exit 3'` failed with exit code 3", "citations": ["receipt/R1"]}])
    );
    assert_eq!(content["receipts"].as_array().unwrap().len(), 1);
    // It was told once.
    world.write(&dir, "notes.txt", "more\n");
    agent(&world, &dir, ["save", "work"]).ok();
    let shown = agent(&world, &dir, ["show", "work", "--json"]).ok().json();
    assert_eq!(
        shown["manifest"]["content"]["attempts"],
        serde_json::json!([])
    );
}

#[test]
fn local_places_in_what_an_author_says_are_warned_of() {
    let world = World::new();
    let (_, dir) = work(&world);
    let draft =
        "objective: See /home/ann/plan\nstate: [{text: In ~/x, citations: [tree/worktree]}]\n";
    let prepared = prepare(&world, &dir, draft, &["--json"]).ok().json();
    let warnings = prepared["warnings"].as_array().unwrap();
    let codes: Vec<&Value> = warnings.iter().map(|warning| &warning["code"]).collect();
    assert_eq!(codes, ["LOCAL_REFERENCE", "LOCAL_REFERENCE"]);
}

#[test]
fn a_receipt_made_after_what_was_prepared_is_kept_for_the_next_checkpoint() {
    let world = World::new();
    let (_, dir) = work(&world);
    agent(&world, &dir, ["run", "--claim", "AC-3", "--", "true"]).ok();
    prepare(&world, &dir, DRAFT, &[]).ok();
    agent(&world, &dir, ["run", "--", "false"]).code(1);
    agent(&world, &dir, ["commit", "work"]).ok();
    let prepared = agent(&world, &dir, ["prepare", "work", "-m", "Go on"]).ok();
    assert!(
        prepared.stdout().contains("receipts  1 receipt\n"),
        "{}",
        prepared.stdout()
    );
    let shown = agent(&world, &dir, ["show", "work@prepared", "--json"])
        .ok()
        .json();
    // R1 is of the checkpoint before.
    assert_eq!(
        shown["manifest"]["content"]["attempts"][0]["citations"],
        serde_json::json!(["receipt/R2"])
    );
}

#[test]
fn an_attachment_travels_and_is_checked() {
    let world = World::new();
    let (_, dir) = work(&world);
    world.write(world.root(), "plan.md", "1. Decide\n");
    prepare(&world, &dir, "objective: x\n", &["--attach", "../plan.md"]).ok();
    agent(&world, &dir, ["commit", "work"]).ok();
    let attached = ["show", "refs/handoff/work:attachments/plan.md"];
    assert_eq!(world.git(&dir, attached).ok().stdout(), "1. Decide\n");
    agent(&world, &dir, ["verify", "work"]).ok();
    let refused = prepare(
        &world,
        &dir,
        "objective: x\n",
        &["--attach", "../no", "--json"],
    );
    assert_eq!(error_code(&refused.code(1)), "IO");
}

#[test]
fn a_linked_worktree_and_a_repository_of_sha256_prepare_and_commit_alike() {
    let world = World::new();
    let dir = world.directory("wide");
    world
        .git(&dir, ["init", "-q", "--object-format=sha256"])
        .ok();
    world.write(&dir, "README.md", "# Example\n");
    world.commit(&dir, "First commit");
    world.git(&dir, ["worktree", "add", "-q", "../linked"]).ok();
    let linked = world.root().join("linked");
    world.write(&linked, "parser.py", "def parse(text):\n    return text\n");
    agent(&world, &linked, ["run", "--claim", "AC-3", "--", "true"]).ok();
    prepare(&world, &linked, DRAFT, &[]).ok();
    let refs = ["for-each-ref", "--format=%(refname)", "refs/handoff-local/"];
    assert_eq!(
        world.git(&dir, refs).ok().stdout(),
        "refs/handoff-local/keep/worktrees/linked\nrefs/handoff-local/prepared/worktrees/linked/work\n"
    );
    // It is prepared in that worktree, and nowhere else.
    assert_eq!(
        error_code(&agent(&world, &dir, ["commit", "work", "--json"]).code(6)),
        "NOT_FOUND"
    );
    agent(&world, &linked, ["commit", "work"]).ok();
    agent(&world, &dir, ["verify", "work"]).ok();
}

#[test]
fn a_closed_standard_input_is_an_empty_draft_and_a_missing_file_is_named() {
    let world = World::new();
    let (_, dir) = work(&world);
    let empty = prepare(&world, &dir, "", &["--json"]).ok().json();
    assert_eq!(empty["generation"], 1);
    let args = ["prepare", "work", "-f", "no/such.yaml", "--json"];
    let missing = agent(&world, &dir, args).code(6);
    assert_eq!(error_code(&missing), "NOT_FOUND");
    assert!(
        missing.json()["subject"]
            .as_str()
            .unwrap()
            .ends_with("no/such.yaml")
    );
}

#[test]
fn what_ran_here_for_the_last_generation_runs_again_and_what_others_ran_does_not() {
    let world = World::new();
    let (server, dir) = work(&world);
    let ran = world.root().join("it-ran");
    let touch = [
        "run",
        "--claim",
        "AC-3",
        "--",
        "touch",
        ran.to_str().unwrap(),
    ];
    agent(&world, &dir, touch).ok();
    prepare(&world, &dir, DRAFT, &[]).ok();
    agent(&world, &dir, ["commit", "work"]).ok();
    agent(&world, &dir, ["push", "work"]).ok();
    std::fs::remove_file(&ran).unwrap();

    let url = server.display().to_string();
    let elsewhere = world.directory("elsewhere");
    agent(
        &world,
        &elsewhere,
        ["restore", "work", "clone", "--from", &url],
    )
    .ok();
    for (place, code) in [(elsewhere.join("clone"), 4), (dir, 0)] {
        world.write(&place, "more.txt", "more\n");
        agent(&world, &place, ["draft", "work"]).ok();
        let prepared = agent(&world, &place, ["prepare", "work", "--rerun"]).code(code);
        assert_eq!(ran.exists(), code == 0, "{}", prepared.stderr());
    }
}
