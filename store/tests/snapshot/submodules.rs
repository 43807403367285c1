//! Submodules: their commit travels, changes inside them do not.

use store::{
    contract::{BlockerKind, OmissionReason, Reachable},
    snapshot::{CaptureOptions, Snapshot, Unfilled, capture},
};

use crate::repo::{Repo, omissions};

/// A repository with the submodule `lib`, and the submodule.
fn with_submodule() -> (Repo, Repo) {
    let repo = Repo::seeded();
    let library = repo.path("../library");
    repo.git(&["init", "-q", "-b", "main", library.to_str().unwrap()]);
    let library = Repo::at(&library);
    library.configure();
    library.write("code", "1\n");
    library.commit("library");
    let url = library.path("").display().to_string();
    repo.git(&[
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        url.trim_end_matches('/'),
        "lib",
    ]);
    repo.commit("submodule");
    let submodule = Repo::at(&repo.path("lib"));
    submodule.configure();
    (repo, submodule)
}

#[test]
fn a_submodule_as_head_has_it_says_nothing() {
    let (repo, _) = with_submodule();
    let snapshot = repo.capture();
    assert_eq!(
        snapshot.worktree_tree.to_string(),
        repo.git(&["rev-parse", "HEAD^{tree}"])
    );
    assert!(snapshot.submodules.is_empty() && snapshot.blockers.is_empty());
}

#[test]
fn a_new_commit_in_a_submodule_travels_as_a_gitlink_and_blocks_until_it_is_pushed() {
    let (repo, submodule) = with_submodule();
    submodule.write("code", "2\n");
    submodule.commit("local");
    let snapshot = repo.capture();
    assert_eq!(snapshot.worktree_tree.to_string(), repo.trees_by_git().1);
    assert_eq!(snapshot.submodules.len(), 1);
    assert!(!snapshot.submodules[0].dirty);
    assert_eq!(snapshot.submodule_reach[0].reachable, Reachable::No);
    assert_eq!(snapshot.blockers.len(), 1);
    assert_eq!(snapshot.blockers[0].kind, BlockerKind::SubmoduleUnreachable);
    submodule.git(&["push", "-q", "origin", "main:refs/heads/pushed"]);
    let snapshot = repo.capture();
    assert_eq!(snapshot.submodule_reach[0].reachable, Reachable::Yes);
    assert!(snapshot.blockers.is_empty());
}

#[test]
fn a_commit_of_head_that_nobody_else_has_blocks_until_head_is_pushed() {
    let (repo, submodule) = with_submodule();
    submodule.write("code", "2\n");
    submodule.commit("local");
    repo.commit("bump");
    let snapshot = repo.capture();
    assert!(snapshot.submodules.is_empty());
    assert_eq!(snapshot.blockers.len(), 1);
    assert_eq!(snapshot.blockers[0].kind, BlockerKind::SubmoduleUnreachable);
    // Whoever took the commit was told, or has it.
    repo.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    assert!(repo.capture().blockers.is_empty());
}

#[test]
fn a_file_system_monitor_inside_a_submodule_is_not_believed() {
    let (repo, submodule) = with_submodule();
    submodule.write("../monitor", "#!/bin/sh\nprintf 'token\\0'\n");
    submodule.set_executable("../monitor", true);
    let monitor = submodule.path("../monitor").display().to_string();
    submodule.git(&["config", "core.fsmonitor", &monitor]);
    submodule.git(&["update-index", "--fsmonitor"]);
    submodule.git(&["status"]);
    submodule.write("code", "edited\n");
    repo.git(&["config", "status.submoduleSummary", "false"]);
    assert_eq!(submodule.git(&["status", "--porcelain"]), "");
    let reasons = repo.capture().omissions;
    let reasons: Vec<_> = reasons.iter().map(|omission| omission.reason).collect();
    assert!(
        reasons.contains(&OmissionReason::SubmoduleDirty),
        "{reasons:?}"
    );
}

#[test]
fn an_unmerged_submodule_that_a_restore_left_unfilled_keeps_the_restored_commit() {
    let (repo, submodule) = with_submodule();
    let base = repo.git(&["rev-parse", "HEAD:lib"]);
    submodule.write("code", "2\n");
    submodule.commit("local");
    let commit = submodule.git(&["rev-parse", "HEAD"]);
    let stages = format!(
        "0 {} 0\tlib\n160000 {base} 2\tlib\n160000 {commit} 3\tlib\n",
        "0".repeat(40)
    );
    repo.feed(&["update-index", "--index-info"], &stages);
    let before = repo.capture();
    repo.remove("lib");
    std::fs::create_dir(repo.path("lib")).unwrap();
    let unfilled = Unfilled {
        path: "lib".into(),
        commit: gix::ObjectId::from_hex(commit.as_bytes()).unwrap(),
        staged: None,
    };
    let kept = capture_with(&repo, unfilled);
    assert_eq!(kept.worktree_tree, before.worktree_tree);
    assert_eq!(kept.conflict_trees, before.conflict_trees);
}

#[test]
fn changes_inside_a_submodule_are_named_and_block() {
    let (repo, submodule) = with_submodule();
    submodule.write("untracked", "x\n");
    let snapshot = repo.capture();
    assert_eq!(
        omissions(&snapshot),
        [("lib".into(), OmissionReason::SubmoduleDirty)]
    );
    assert_eq!(snapshot.blockers[0].kind, BlockerKind::SubmoduleDirty);
    assert!(snapshot.submodules[0].dirty);
}

#[test]
fn files_in_a_submodule_that_is_not_filled_are_not_lost_in_silence() {
    let (repo, _) = with_submodule();
    repo.git(&["submodule", "--quiet", "deinit", "-f", "lib"]);
    assert!(repo.capture().submodules.is_empty());
    repo.write("lib/stray", "x\n");
    let snapshot = repo.capture();
    assert_eq!(
        omissions(&snapshot),
        [("lib".into(), OmissionReason::SubmoduleDirty)]
    );
    assert_eq!(
        snapshot.worktree_tree.to_string(),
        repo.git(&["rev-parse", "HEAD^{tree}"])
    );
}

#[test]
fn a_submodule_whose_directory_is_gone_is_removed_as_git_removes_it() {
    let (repo, _) = with_submodule();
    repo.remove("lib");
    let snapshot = repo.capture();
    assert_eq!(snapshot.worktree_tree.to_string(), repo.trees_by_git().1);
}

#[test]
fn a_repository_that_gitmodules_knows_is_a_submodule_before_it_is_added() {
    let (repo, _) = with_submodule();
    repo.git(&["rm", "-q", "--cached", "lib"]);
    let snapshot = repo.capture();
    assert!(
        repo.files(snapshot.worktree_tree)
            .contains(&"160000 lib".into())
    );
    assert_eq!(omissions(&snapshot), []);
}

#[test]
fn credentials_in_the_url_of_a_submodule_do_not_travel() {
    let (repo, submodule) = with_submodule();
    repo.git(&[
        "config",
        "-f",
        ".gitmodules",
        "submodule.lib.url",
        "https://me:secret@host.example/lib",
    ]);
    submodule.write("code", "2\n");
    let snapshot = repo.capture();
    let url = snapshot.submodules[0].url.as_ref().unwrap();
    assert_eq!(url.as_bstr(), "https://host.example/lib");
}

fn capture_with(repo: &Repo, unfilled: Unfilled) -> Snapshot {
    let options = CaptureOptions {
        unfilled: vec![unfilled],
        ..CaptureOptions::default()
    };
    capture(&repo.open(), &options).unwrap()
}

#[test]
fn a_submodule_that_a_restore_left_unfilled_keeps_the_restored_commit() {
    let (repo, submodule) = with_submodule();
    submodule.write("code", "2\n");
    submodule.commit("local");
    let before = repo.capture();
    let link = |name| gix::ObjectId::from_hex(repo.git(&["rev-parse", name]).as_bytes()).unwrap();
    let unfilled = Unfilled {
        path: "lib".into(),
        commit: before.submodules[0].commit.unwrap().id(),
        staged: Some(link("HEAD:lib")),
    };
    repo.git(&["submodule", "--quiet", "deinit", "-f", "lib"]);

    let kept = capture_with(&repo, unfilled.clone());
    assert_eq!(kept.worktree_tree, before.worktree_tree);
    assert_eq!(kept.submodules[0].commit, before.submodules[0].commit);
    // The index moved on: what was restored then says nothing any more.
    let stale = Unfilled {
        staged: Some(unfilled.commit),
        ..unfilled.clone()
    };
    let head = repo.git(&["rev-parse", "HEAD^{tree}"]);
    assert_eq!(capture_with(&repo, stale).worktree_tree.to_string(), head);
    // Once it is filled, what is checked out in it counts.
    let fill = ["-c", "protocol.file.allow=always", "submodule", "--quiet"];
    repo.git(&[&fill[..], &["update", "--init", "lib"]].concat());
    let filled = capture_with(&repo, unfilled);
    assert_eq!(filled.worktree_tree.to_string(), head);
}

#[test]
fn a_submodule_that_was_never_staged_is_no_empty_directory_after_a_restore() {
    let (repo, submodule) = with_submodule();
    let commit = gix::ObjectId::from_hex(submodule.git(&["rev-parse", "HEAD"]).as_bytes()).unwrap();
    repo.git(&["rm", "-q", "--cached", "lib"]);
    let before = repo.capture();
    repo.remove("lib");
    std::fs::create_dir(repo.path("lib")).unwrap();
    let unfilled = Unfilled {
        path: "lib".into(),
        commit,
        staged: None,
    };

    let kept = capture_with(&repo, unfilled);

    assert_eq!(kept.worktree_tree, before.worktree_tree);
    assert!(kept.empty_directories.is_empty());
}
