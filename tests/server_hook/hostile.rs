//! Records that are made to cost much, or to be believed where they lie.

use store::{
    contract::{FileMode, IntentToAdd},
    repo_path::RepoPath,
};

use super::served::Served;
use crate::records::{Draft, Records, parse};

#[test]
fn an_accept_of_an_older_generation_is_stale() {
    let served = Served::new();
    let records = served.records();
    let first = records.first("x");
    let second = records.next("x", &first);
    served.takes(&second, "x");
    let stale = records.accept(&second, "bob", |accept| accept.generation = parse("1"));
    served.refuses(&stale, "x", "STALE_CHECKPOINT");
    served.takes(&records.accept(&second, "bob", |_| {}), "x");
}

/// Makes a record of a later kind that leaves the tree as it was.
fn verdict(records: &Records<'_>, before: &str) -> Draft {
    let mut verdict = records.accept_draft(&records.acceptance(before, "bob"), before);
    let listed = records.git(&["ls-tree", &format!("{before}^{{tree}}")]);
    verdict.entries = listed.stdout().lines().map(String::from).collect();
    verdict.message = verdict.message.replace("Record: accept", "Record: verdict");
    verdict
}

#[test]
fn a_later_kind_follows_an_accept_and_tells_the_truth_about_its_place() {
    let served = Served::new();
    let records = served.records();
    served.set("handoff.recordKind", "verdict");
    let accepted = records.accept(&records.first("x"), "bob", |_| {});
    served.takes(&accepted, "x");
    let mut lie = verdict(&records, &accepted);
    lie.message = lie.message.replace("Generation: 1", "Generation: 77");
    served.refuses(&records.write(&lie), "x", "MALFORMED_MANIFEST");
    served.takes(&records.write(&verdict(&records, &accepted)), "x");
}

/// Makes a tree of `depth` folders that hold two of the next each, all the same.
fn bomb(records: &Records<'_>, depth: usize) -> String {
    let blob = records.blob(b"a");
    let mut tree = records.tree(&[format!("100644 blob {blob}\ta")]);
    for _ in 0..depth {
        let twice = ["a", "b"].map(|name| format!("040000 tree {tree}\t{name}"));
        tree = records.tree(&twice);
    }
    tree
}

#[test]
fn a_tree_of_many_equal_folders_is_looked_at_once() {
    let served = Served::new();
    let records = served.records();
    served.set("handoff.deadline", "10");
    let of_depth = |depth| {
        let tree = bomb(&records, depth);
        let mut manifest = records.manifest("x", None);
        let content = &mut manifest.content;
        content.artifacts.raw = Some(parse(&tree));
        let repository = &mut content.repository;
        (repository.worktree_tree, repository.index_tree) = (parse(&tree), parse(&tree));
        let mut draft = records.draft(&manifest, None);
        draft.set("040000", "tree", &tree, "raw");
        records.write(&draft)
    };
    served.refuses(&of_depth(40), "x", "LIMIT_EXCEEDED");
    served.takes(&of_depth(15), "x");
}

#[test]
fn files_that_the_manifest_does_not_name_are_not_read() {
    let served = Served::new();
    let records = served.records();
    served.set("handoff.deadline", "10");
    let blob = records.blob(&vec![0; 1 << 20]);
    for folder in ["receipts", "lists"] {
        let entries: Vec<String> = (0..3_000)
            .map(|n| format!("100644 blob {blob}\tR{n:06}.cbor"))
            .collect();
        let mut draft = records.draft(&records.manifest("x", None), None);
        draft.set("040000", "tree", &records.tree(&entries), folder);
        served.refuses(&records.write(&draft), "x", "MALFORMED_MANIFEST");
    }
}

#[test]
fn what_is_to_be_added_is_not_in_the_index_yet() {
    let served = Served::new();
    let records = served.records();
    let marked = |path: &str| {
        let path = path.to_owned();
        records.checkpoint("x", None, move |manifest| {
            let intent = IntentToAdd {
                path: RepoPath::from_bytes(path.as_bytes()).unwrap(),
                mode: FileMode::Regular,
            };
            manifest.content.worktree.intent_to_add = vec![intent].into();
        })
    };
    served.refuses(&marked("README.md"), "x", "MALFORMED_MANIFEST");
    served.takes(&marked("new.txt"), "x");
}

#[test]
fn the_branch_is_a_branch() {
    let served = Served::new();
    let records = served.records();
    let on = |name: &'static str| {
        records.checkpoint("x", None, |manifest| {
            manifest.content.repository.branch = Some(name.into());
        })
    };
    for name in [
        "HEAD",
        "main",
        "refs/stash",
        "refs/handoff/x",
        "refs/heads/../../x",
        "refs/heads/a..b",
    ] {
        served.refuses(&on(name), "x", "MALFORMED_MANIFEST");
    }
    served.takes(&on("refs/heads/topic/one"), "x");
}
