//! Repositories of every shape.

use std::fs;

use store::{
    repository::Repository,
    snapshot::{CaptureOptions, SnapshotError, capture, keep},
};

use crate::repo::Repo;

fn edited(repo: &Repo) {
    repo.write("a.txt", "alpha 2\n");
    repo.git(&["add", "a.txt"]);
    repo.write("a.txt", "alpha 3\n");
    repo.write("new", "new\n");
}

fn agrees_with_git(repo: &Repo) {
    let snapshot = repo.capture();
    let (index, worktree) = repo.trees_by_git();
    assert_eq!(snapshot.index_tree.to_string(), index);
    assert_eq!(snapshot.worktree_tree.to_string(), worktree);
}

#[test]
fn a_repository_without_commits_is_captured() {
    let repo = Repo::empty();
    let snapshot = repo.capture();
    assert_eq!(repo.files(snapshot.worktree_tree), [""; 0]);
    assert_eq!(snapshot.head.commit, None);
    edited(&repo);
    agrees_with_git(&repo);
}

#[test]
fn a_sha256_repository_is_captured() {
    let repo = Repo::init(&["--object-format=sha256"]);
    repo.write("a.txt", "alpha\n");
    repo.commit("base");
    edited(&repo);
    agrees_with_git(&repo);
    keep(&repo.open(), &repo.capture()).unwrap();
    repo.git(&["fsck"]);
}

#[test]
fn a_repository_with_reftable_is_captured() {
    let repo = Repo::empty();
    let made = repo.try_git(&[
        "init",
        "-q",
        "-b",
        "main",
        "--ref-format=reftable",
        "tables",
    ]);
    if !made.status.success() {
        println!("skipped: this Git knows no reftable");
        return;
    }
    let repo = Repo::at(&repo.path("tables"));
    repo.configure();
    repo.write("a.txt", "alpha\n");
    repo.commit("base");
    edited(&repo);
    agrees_with_git(&repo);
    let snapshot = repo.capture();
    assert_eq!(
        snapshot.head.commit.unwrap().to_string(),
        repo.git(&["rev-parse", "HEAD"])
    );
    keep(&repo.open(), &snapshot).unwrap();
    let kept = repo.git(&["rev-parse", "refs/handoff-local/keep/main:worktree"]);
    assert_eq!(kept, snapshot.worktree_tree.to_string());
}

#[test]
fn a_linked_worktree_is_captured_for_itself() {
    let repo = Repo::seeded();
    repo.git(&["worktree", "add", "-q", "-b", "side", "../linked"]);
    repo.write("main-only", "x\n");
    let linked = Repo::at(&repo.path("../linked"));
    edited(&linked);
    agrees_with_git(&linked);
    keep(&linked.open(), &linked.capture()).unwrap();
    repo.git(&[
        "rev-parse",
        "--verify",
        "refs/handoff-local/keep/worktrees/linked",
    ]);
    repo.git(&["worktree", "remove", "--force", "../linked"]);
}

#[test]
fn a_worktree_inside_another_is_left_out_of_it() {
    let repo = Repo::seeded();
    repo.git(&["worktree", "add", "-q", "inside"]);
    let snapshot = repo.capture();
    assert_eq!(
        repo.files(snapshot.worktree_tree),
        ["100644 a.txt", "100644 dir/b.txt"]
    );
    assert_eq!(snapshot.omissions.len(), 1);
}

#[test]
fn shallow_partial_and_borrowing_clones_are_captured() {
    let origin = Repo::seeded();
    origin.write("a.txt", "alpha 1\n");
    origin.commit("second");
    origin.git(&["config", "uploadpack.allowFilter", "true"]);
    let url = format!("file://{}", origin.path("").display());
    for (name, options) in [
        ("shallow", vec!["--depth=1"]),
        ("partial", vec!["--filter=blob:none"]),
        ("borrowing", vec!["--shared"]),
    ] {
        let source = if name == "borrowing" {
            origin.path("").display().to_string()
        } else {
            url.clone()
        };
        let target = format!("../{name}");
        origin.git(&[&["clone", "-q"], &options[..], &[&source, &target]].concat());
        let clone = Repo::at(&origin.path(&target));
        clone.configure();
        edited(&clone);
        agrees_with_git(&clone);
    }
}

#[test]
fn objects_that_a_partial_clone_is_promised_are_not_missed() {
    let origin = Repo::seeded();
    origin.write("out/far", "far away\n");
    origin.commit("far");
    origin.git(&["config", "uploadpack.allowFilter", "true"]);
    let url = format!("file://{}", origin.path("").display());
    origin.git(&[
        "clone",
        "-q",
        "--filter=blob:none",
        "--sparse",
        &url,
        "../partial",
    ]);
    let clone = Repo::at(&origin.path("../partial"));
    clone.configure();
    let line = clone.git(&["ls-files", "-s", "out/far"]);
    let id = line.split(' ').nth(1).unwrap();
    let entry = format!("100644,{id},out/moved");
    clone.git(&["update-index", "--add", "--cacheinfo", &entry]);
    clone.git(&["update-index", "--skip-worktree", "out/moved"]);
    let snapshot = clone.capture();
    assert!(
        clone
            .files(snapshot.worktree_tree)
            .contains(&"100644 out/moved".into())
    );
    assert!(
        clone
            .git(&["rev-list", "--objects", "--all", "--missing=print"])
            .contains(id)
    );
}

#[test]
fn rules_that_a_partial_clone_has_not_fetched_are_named_where_they_count() {
    for (rules, named) in [
        (".gitattributes", "*.c text eol=crlf\n"),
        (".gitignore", "*.o\n"),
    ] {
        let origin = Repo::seeded();
        origin.write(format!("out/{rules}"), named);
        origin.commit("rules");
        origin.git(&["config", "uploadpack.allowFilter", "true"]);
        let url = format!("file://{}", origin.path("").display());
        let clone = [
            "clone",
            "-q",
            "--filter=blob:none",
            "--sparse",
            &url,
            "../partial",
        ];
        origin.git(&clone);
        let clone = Repo::at(&origin.path("../partial"));
        clone.configure();
        clone.write("a.txt", "edited\n");
        clone.capture();
        clone.write("out/new.c", "one\r\n");
        let error = clone.try_capture().unwrap_err();
        let SnapshotError::Object { id, source } = &error else {
            panic!("{error}");
        };
        assert_eq!(
            id.to_string(),
            clone.git(&["rev-parse", &format!("HEAD:out/{rules}")])
        );
        assert!(
            source.to_string().contains(&format!("out/{rules}")),
            "{source}"
        );
        // What fetches it is what the error says.
        clone.git(&["cat-file", "-t", &id.to_string()]);
        clone.capture();
    }
}

#[test]
fn features_that_speed_git_up_are_not_believed() {
    for config in [
        &["core.splitIndex", "true"],
        &["core.untrackedCache", "true"],
        &["feature.manyFiles", "true"],
        &["core.checkStat", "minimal"],
        &["core.trustctime", "false"],
        &["core.ignoreStat", "true"],
        &["core.preloadIndex", "false"],
    ] {
        let repo = Repo::seeded();
        repo.git(&["config", config[0], config[1]]);
        repo.write("more", "x\n");
        repo.commit("more");
        repo.git(&["update-index", "--refresh"]);
        repo.git(&["status"]);
        edited(&repo);
        agrees_with_git(&repo);
    }
    let repo = Repo::seeded();
    repo.write(".git/hooks/liar", "#!/bin/sh\nprintf 'token\\0'\n");
    repo.set_executable(".git/hooks/liar", true);
    let hook = repo.path(".git/hooks/liar");
    repo.git(&["config", "core.fsmonitor", hook.to_str().unwrap()]);
    repo.git(&["update-index", "--fsmonitor"]);
    repo.git(&["status"]);
    repo.write("a.txt", "changed behind the monitor\n");
    let snapshot = repo.capture();
    assert_eq!(
        repo.content(snapshot.worktree_tree, "a.txt"),
        b"changed behind the monitor\n"
    );
}

#[test]
fn a_worktree_elsewhere_is_captured_without_its_git_directory() {
    let repo = Repo::seeded();
    fs::rename(repo.path(".git"), repo.path("meta")).unwrap();
    let top = repo.path("");
    let config = fs::read_to_string(repo.path("meta/config")).unwrap();
    let config = format!("{config}[core]\n\tworktree = {}\n", top.display());
    fs::write(repo.path("meta/config"), config).unwrap();
    fs::write(repo.path("new"), "x\n").unwrap();
    let repository = Repository::discover(&store::git::Git::in_dir(repo.path("meta"))).unwrap();
    if repository.worktree().is_some() {
        let snapshot = capture(&repository, &CaptureOptions::default()).unwrap();
        let listed = repository
            .git()
            .line([
                "--git-dir=meta",
                "ls-tree",
                "--name-only",
                &snapshot.worktree_tree.to_string(),
            ])
            .unwrap();
        assert_eq!(listed, "a.txt\ndir\nnew");
    }
}

#[test]
fn a_bare_repository_is_refused() {
    let repo = Repo::empty();
    repo.git(&["init", "-q", "--bare", "bare"]);
    let repository = Repository::discover(&store::git::Git::in_dir(repo.path("bare"))).unwrap();
    let error = capture(&repository, &CaptureOptions::default()).unwrap_err();
    assert!(matches!(error, SnapshotError::Bare(_)), "{error}");
}
