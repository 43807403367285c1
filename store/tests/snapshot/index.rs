//! What the index says beside the files: stages, marks, flags, sparse checkouts.

use store::{
    contract::{OmissionReason, OperationKind},
    snapshot::SnapshotError,
};

use crate::repo::{Repo, omissions};

fn conflicting() -> Repo {
    let repo = Repo::seeded();
    repo.git(&["switch", "-q", "-c", "side"]);
    repo.write("a.txt", "theirs\n");
    repo.write("both", "side\n");
    repo.remove("dir/b.txt");
    repo.commit("side");
    repo.git(&["switch", "-q", "main"]);
    repo.write("a.txt", "ours\n");
    repo.write("both", "main\n");
    repo.write("dir/b.txt", "beta 2\n");
    repo.commit("main");
    repo
}

#[test]
fn an_unmerged_index_keeps_its_stages_and_the_worktree_what_is_on_disk() {
    let repo = conflicting();
    assert!(!repo.try_git(&["merge", "side"]).status.success());
    repo.write("a.txt", "half resolved\n");
    repo.set_executable("both", true);
    let snapshot = repo.capture();
    let stages: Vec<Vec<String>> = snapshot
        .conflict_trees
        .iter()
        .map(|tree| repo.files(tree))
        .collect();
    assert_eq!(
        stages,
        [
            vec!["100644 a.txt", "100644 dir/b.txt"],
            vec!["100644 a.txt", "100644 both", "100644 dir/b.txt"],
            vec!["100644 a.txt", "100644 both"],
        ]
    );
    assert_eq!(repo.files(snapshot.index_tree), [""; 0]);
    assert_eq!(
        repo.files(snapshot.worktree_tree),
        ["100644 a.txt", "100755 both", "100644 dir/b.txt"]
    );
    assert_eq!(
        repo.content(snapshot.worktree_tree, "a.txt"),
        b"half resolved\n"
    );
    let operation = snapshot.operation.unwrap();
    assert_eq!(operation.kind, OperationKind::Merge);
    assert_eq!(
        operation.heads[0].to_string(),
        repo.git(&["rev-parse", "side"])
    );
}

#[test]
fn a_conflict_that_is_gone_from_disk_is_gone_from_the_worktree_tree() {
    let repo = conflicting();
    repo.try_git(&["merge", "side"]);
    repo.remove("a.txt");
    repo.remove("dir");
    let snapshot = repo.capture();
    assert_eq!(repo.files(snapshot.worktree_tree), ["100644 both"]);
    assert_eq!(snapshot.conflicts.len(), 3);
}

#[test]
fn cherry_picks_and_reverts_travel_but_rebases_and_bisects_do_not() {
    for (command, kind) in [
        ("cherry-pick", OperationKind::CherryPick),
        ("revert", OperationKind::Revert),
    ] {
        let repo = conflicting();
        let commit = if kind == OperationKind::Revert {
            "side~"
        } else {
            "side"
        };
        if kind == OperationKind::Revert {
            repo.write("a.txt", "later\n");
            repo.commit("later");
            repo.git(&["tag", "later"]);
            repo.write("a.txt", "latest\n");
            repo.commit("latest");
            assert!(!repo.try_git(&[command, "later"]).status.success());
        } else {
            assert!(!repo.try_git(&[command, commit]).status.success());
        }
        let snapshot = repo.capture();
        assert_eq!(
            snapshot.operation.map(|operation| operation.kind),
            Some(kind)
        );
        assert!(snapshot.blockers.is_empty());
    }
    let repo = conflicting();
    assert!(!repo.try_git(&["rebase", "side"]).status.success());
    repo.git(&["bisect", "start"]);
    let snapshot = repo.capture();
    assert_eq!(snapshot.operation, None);
    assert_eq!(
        omissions(&snapshot),
        [
            ("bisect in progress".into(), OmissionReason::OperationState),
            ("rebase in progress".into(), OmissionReason::OperationState),
        ]
    );
    assert_eq!(snapshot.blockers.len(), 2);
}

#[test]
fn what_a_merge_set_aside_or_prepared_is_named() {
    let repo = Repo::seeded();
    repo.git(&["checkout", "-q", "-b", "side"]);
    repo.write("side", "side\n");
    repo.commit("side");
    repo.git(&["checkout", "-q", "main"]);
    repo.write("a.txt", "not committed\n");
    repo.git(&[
        "merge",
        "-q",
        "--no-ff",
        "--no-commit",
        "--autostash",
        "side",
    ]);
    let snapshot = repo.capture();
    assert_eq!(
        omissions(&snapshot),
        [(
            "what `git merge --autostash` has set aside".into(),
            OmissionReason::OperationState
        )]
    );
    assert_eq!(snapshot.blockers.len(), 1);

    repo.git(&["merge", "--abort"]);
    repo.git(&["merge", "-q", "--squash", "side"]);
    let snapshot = repo.capture();
    assert_eq!(
        omissions(&snapshot),
        [(
            "the message that `git merge --squash` has prepared".into(),
            OmissionReason::OperationState
        )]
    );
    assert!(snapshot.blockers.is_empty());
}

#[test]
fn intent_to_add_is_kept_beside_the_content_on_disk() {
    let repo = Repo::seeded();
    repo.write("new", "content\n");
    repo.write("gone", "content\n");
    repo.git(&["add", "-N", "new", "gone"]);
    repo.remove("gone");
    let snapshot = repo.capture();
    let marked: Vec<String> = snapshot
        .intent_to_add
        .iter()
        .map(|entry| entry.path.to_string())
        .collect();
    assert_eq!(marked, ["gone", "new"]);
    assert_eq!(
        repo.files(snapshot.worktree_tree),
        ["100644 a.txt", "100644 dir/b.txt", "100644 new"]
    );
    assert_eq!(
        repo.files(snapshot.index_tree),
        ["100644 a.txt", "100644 dir/b.txt"]
    );
    assert_eq!(snapshot.untracked.count, 0);
}

#[test]
fn edits_under_index_flags_are_captured_and_the_flags_recorded() {
    let repo = Repo::seeded();
    repo.git(&["update-index", "--assume-unchanged", "a.txt"]);
    repo.git(&["update-index", "--skip-worktree", "dir/b.txt"]);
    repo.write("a.txt", "hidden\n");
    repo.write("dir/b.txt", "hidden too\n");
    let snapshot = repo.capture();
    assert_eq!(repo.content(snapshot.worktree_tree, "a.txt"), b"hidden\n");
    assert_eq!(
        repo.content(snapshot.worktree_tree, "dir/b.txt"),
        b"hidden too\n"
    );
    let flags: Vec<(String, bool, bool)> = snapshot
        .flags
        .iter()
        .map(|flags| {
            (
                flags.path.to_string(),
                flags.assume_unchanged,
                flags.skip_worktree,
            )
        })
        .collect();
    assert_eq!(
        flags,
        [
            ("a.txt".into(), true, false),
            ("dir/b.txt".into(), false, true)
        ]
    );
}

#[test]
fn a_sparse_index_is_captured_like_a_full_one() {
    let repo = Repo::seeded();
    for path in ["in/x", "out/y", "out/deep/z"] {
        repo.write(path, path);
    }
    repo.write("out/.gitignore", "*.o\n");
    repo.commit("folders");
    repo.git(&["sparse-checkout", "set", "--cone", "--sparse-index", "in"]);
    assert!(repo.git(&["ls-files", "--sparse", "-s"]).contains("out/"));
    repo.write("out/y", "edited outside the cone");
    repo.write("out/x.o", "ignored by an absent file");
    repo.write("in/new", "new");
    let snapshot = repo.capture();
    assert_eq!(
        snapshot.index_tree.to_string(),
        repo.git(&["rev-parse", "HEAD^{tree}"])
    );
    assert_eq!(
        repo.files(snapshot.worktree_tree),
        [
            "100644 a.txt",
            "100644 dir/b.txt",
            "100644 in/new",
            "100644 in/x",
            "100644 out/.gitignore",
            "100644 out/deep/z",
            "100644 out/y",
        ]
    );
    assert_eq!(
        repo.content(snapshot.worktree_tree, "out/y"),
        b"edited outside the cone"
    );
    // Git does not count the flag of a file that is there.
    assert_eq!(repo.git(&["ls-files", "-t", "out/y"]).trim(), "H out/y");
    assert_eq!(snapshot.flags.len(), 3);
    let expected = (
        "the patterns of the sparse checkout".into(),
        OmissionReason::SparsePatterns,
    );
    assert!(omissions(&snapshot).contains(&expected));
}

#[test]
fn a_damaged_index_is_an_error_and_nothing_is_written() {
    let repo = Repo::seeded();
    let index = repo.path(".git/index");
    let mut bytes = std::fs::read(&index).unwrap();
    bytes[40] ^= 1;
    std::fs::write(&index, &bytes).unwrap();
    repo.write("new", "content\n");
    let error = repo.try_capture().unwrap_err();
    assert!(matches!(error, SnapshotError::Index { .. }), "{error}");
    bytes.truncate(bytes.len() / 2);
    std::fs::write(&index, &bytes).unwrap();
    let error = repo.try_capture().unwrap_err();
    assert!(matches!(error, SnapshotError::Index { .. }), "{error}");
    assert_eq!(
        repo.git(&["count-objects", "-v"]).lines().nth(2),
        Some("in-pack: 0")
    );
}

#[test]
fn an_index_without_a_checksum_is_read_and_said_to_be_unchecked() {
    let repo = Repo::seeded();
    assert!(!repo.capture().index_unchecked);
    repo.git(&["config", "index.skipHash", "true"]);
    repo.write("a.txt", "alpha 2\n");
    repo.git(&["add", "a.txt"]);
    assert!(repo.capture().index_unchecked);
}

#[test]
fn modes_come_from_the_index_where_the_file_system_has_none() {
    let repo = Repo::seeded();
    repo.write("run.sh", "true\n");
    repo.set_executable("run.sh", true);
    repo.link("link", "a.txt");
    repo.commit("modes");
    repo.git(&["config", "core.fileMode", "false"]);
    repo.git(&["config", "core.symlinks", "false"]);
    repo.set_executable("run.sh", false);
    repo.write("run.sh", "false\n");
    repo.set_executable("a.txt", true);
    repo.remove("link");
    repo.write("link", "dir/b.txt");
    repo.write("new.sh", "true\n");
    repo.set_executable("new.sh", true);
    let snapshot = repo.capture();
    assert_eq!(snapshot.worktree_tree.to_string(), repo.trees_by_git().1);
    assert_eq!(
        repo.files(snapshot.worktree_tree),
        [
            "100644 a.txt",
            "100644 dir/b.txt",
            "120000 link",
            "100644 new.sh",
            "100755 run.sh",
        ]
    );
}

#[test]
fn in_a_sparse_checkout_only_absent_files_are_flagged() {
    let repo = Repo::seeded();
    repo.write("out/y", "y");
    repo.write("out/z", "z");
    repo.commit("folders");
    repo.git(&["sparse-checkout", "set", "--cone", "dir"]);
    repo.write("out/y", "y");
    // Git does not count the flag of a file that is there.
    assert!(repo.git(&["ls-files", "-t"]).contains("H out/y\nS out/z"));
    let flags = repo.capture().flags;
    let paths: Vec<String> = flags.iter().map(|flags| flags.path.to_string()).collect();
    assert_eq!(paths, ["out/z"]);
}
