//! What a capture cannot or must not take, and how it says so.

use std::{fs, os::unix::net::UnixListener};

use store::{contract::OmissionReason, snapshot::SnapshotError};

use crate::repo::{Repo, omissions};

#[test]
fn special_files_are_named_and_never_opened() {
    let repo = Repo::seeded();
    repo.fifo("pipe");
    repo.fifo(".gitignore");
    repo.fifo("dir/.gitattributes");
    repo.remove("a.txt");
    repo.fifo("a.txt");
    repo.write("dir/b.txt", "beta 2\n");
    let _socket = UnixListener::bind(repo.path("socket")).unwrap();
    let snapshot = repo.capture();
    let special = |path: &str| (path.to_owned(), OmissionReason::SpecialFile);
    assert_eq!(
        omissions(&snapshot),
        [
            ".gitignore",
            "a.txt",
            "dir/.gitattributes",
            "pipe",
            "socket"
        ]
        .map(special)
    );
    // The place of a tracked file that is left out keeps what head has.
    assert_eq!(
        repo.files(snapshot.worktree_tree),
        ["100644 a.txt", "100644 dir/b.txt"]
    );
    assert_eq!(
        repo.content(snapshot.worktree_tree, "dir/b.txt"),
        b"beta 2\n"
    );
}

#[test]
fn repositories_inside_are_named_with_and_without_commits() {
    let repo = Repo::seeded();
    for path in ["empty", "full", "dir/inside"] {
        repo.git(&["init", "-q", path]);
    }
    repo.write("full/file", "x\n");
    repo.git(&[
        "-C",
        "full",
        "-c",
        "user.name=T",
        "-c",
        "user.email=t@t",
        "add",
        ".",
    ]);
    repo.git(&[
        "-C",
        "full",
        "-c",
        "user.name=T",
        "-c",
        "user.email=t@t",
        "commit",
        "-q",
        "-m",
        "x",
    ]);
    repo.git(&["init", "-q", "dir"]);
    repo.write("dir/new", "captured beside a history of its own\n");
    let snapshot = repo.capture();
    let nested = |path: &str| (path.to_owned(), OmissionReason::NestedRepository);
    assert_eq!(
        omissions(&snapshot),
        ["dir", "dir/inside", "empty", "full"].map(nested)
    );
    assert_eq!(
        repo.files(snapshot.worktree_tree),
        ["100644 a.txt", "100644 dir/b.txt", "100644 dir/new"]
    );
}

#[test]
fn what_only_looks_like_a_repository_is_captured_as_git_adds_it() {
    let repo = Repo::seeded();
    for (path, pointer) in [
        ("gone", "gitdir: /nowhere/at/all\n"),
        ("relative", "gitdir: ../.git/worktrees/pruned\n"),
        ("worktree", "gitdir: ../.git/worktrees/half\n"),
        ("garbage", "no pointer\n"),
        ("nothing", ""),
    ] {
        repo.write(format!("{path}/.git"), pointer);
        repo.write(format!("{path}/file"), "of the user\n");
    }
    repo.write(".git/worktrees/half/HEAD", "ref: refs/heads/main\n");
    repo.write(".git/worktrees/half/commondir", "../../gone\n");
    repo.write("link/file", "of the user\n");
    repo.link("link/.git", "nowhere");
    repo.git(&["init", "-q", "headless"]);
    repo.write("headless/.git/HEAD", "");
    repo.write("headless/file", "of the user\n");

    let snapshot = repo.capture();
    let (_, by_git) = repo.trees_by_git();
    assert_eq!(repo.files(snapshot.worktree_tree), repo.files(&by_git));
    assert_eq!(repo.files(snapshot.worktree_tree).len(), 9);

    let elsewhere = tempfile::tempdir().unwrap();
    let elsewhere = elsewhere.path().to_str().unwrap();
    repo.git(&["init", "-q", "--separate-git-dir", elsewhere, "moved"]);
    let nested: Vec<_> = omissions(&repo.capture())
        .into_iter()
        .filter(|(_, reason)| *reason == OmissionReason::NestedRepository)
        .map(|(path, _)| path)
        .collect();
    assert_eq!(nested, ["moved"]);
}

#[test]
fn what_servers_refuse_is_named_and_the_rest_captured() {
    let repo = Repo::seeded();
    repo.write("new", "fine\n");
    repo.write(".GIT/config", "x\n");
    repo.write("dir/git~1", "x\n");
    repo.write(
        ".gitmodules",
        "[submodule \"../evil\"]\n\tpath = x\n\turl = y\n",
    );
    fs::create_dir(repo.path("dir/.git")).unwrap();
    let snapshot = repo.capture();
    let refused = |path: &str| (path.to_owned(), OmissionReason::RefusedByGit);
    assert_eq!(
        omissions(&snapshot),
        [".GIT", ".gitmodules", "dir/.git", "dir/git~1"].map(refused)
    );
    assert_eq!(
        repo.files(snapshot.worktree_tree),
        ["100644 a.txt", "100644 dir/b.txt", "100644 new"]
    );
    repo.git(&["fsck", "--strict"]);
    assert_eq!(snapshot.untracked.count, 1);
}

#[test]
fn what_servers_refuse_in_the_index_is_an_error() {
    let repo = Repo::seeded();
    repo.write(
        ".gitmodules",
        "[submodule \"../evil\"]\n\tpath = x\n\turl = y\n",
    );
    repo.git(&["add", ".gitmodules"]);
    repo.write("new", "x\n");
    let error = repo.try_capture().unwrap_err();
    assert!(matches!(error, SnapshotError::UnsafePath(_)), "{error}");
    assert!(error.to_string().contains(".gitmodules"), "{error}");
}

#[test]
fn ignore_rules_that_kept_something_out_are_registered() {
    let repo = Repo::seeded();
    repo.write(".gitignore", "# outputs\n*.o\n/build/\n!keep.o\nunused\n");
    repo.write("dir/.gitignore", "*.tmp\n");
    repo.write(".git/info/exclude", "scratch\n");
    for path in [
        "x.o",
        "dir/y.o",
        "keep.o",
        "build/1",
        "build/2",
        "dir/z.tmp",
        "scratch",
    ] {
        repo.write(path, path);
    }
    let snapshot = repo.capture();
    let excluded: Vec<(String, u64, String, u64)> = snapshot
        .excluded
        .iter()
        .map(|rule| {
            (
                rule.source.as_bstr().to_string(),
                rule.line,
                rule.pattern.as_ref().unwrap().as_bstr().to_string(),
                rule.entries,
            )
        })
        .collect();
    assert_eq!(
        excluded,
        [
            (".gitignore".into(), 2, "*.o".into(), 2),
            (".gitignore".into(), 3, "/build/".into(), 1),
            ("dir/.gitignore".into(), 1, "*.tmp".into(), 1),
            ("info/exclude".into(), 1, "scratch".into(), 1),
        ]
    );
    assert!(
        repo.files(snapshot.worktree_tree)
            .contains(&"100644 keep.o".into())
    );
}

#[test]
fn patterns_of_the_users_own_file_are_given_on_request_alone() {
    let repo = Repo::seeded();
    repo.write(".git/global", "*.swp\n");
    let global = repo.path(".git/global");
    repo.git(&["config", "core.excludesFile", global.to_str().unwrap()]);
    repo.write("a.swp", "x");
    let rule = repo.capture().excluded.remove(0);
    assert_eq!(rule.source.as_bstr(), "core.excludesFile");
    assert_eq!((rule.pattern, rule.line, rule.entries), (None, 1, 1));
    repo.git(&["config", "handoff.carryExcludes", "true"]);
    let rule = repo.capture().excluded.remove(0);
    assert_eq!(rule.pattern.unwrap().as_bstr(), "*.swp");
}

#[test]
fn files_over_a_limit_are_named_before_anything_is_written() {
    let repo = Repo::seeded();
    repo.git(&["config", "handoff.maxFileBytes", "1000"]);
    repo.git(&["config", "handoff.maxTotalBytes", "1500"]);
    repo.write("big", vec![b'x'; 1001]);
    let error = repo.try_capture().unwrap_err();
    let SnapshotError::LimitExceeded { files, total: None } = &error else {
        panic!("{error}");
    };
    assert_eq!(files[0].0.to_string(), "big");
    let snapshot = repo.try_capture_without(&["big"]).unwrap();
    assert_eq!(
        omissions(&snapshot),
        [("big".into(), OmissionReason::TooLarge)]
    );

    repo.write("big", vec![b'x'; 900]);
    repo.write("other", vec![b'y'; 900]);
    let error = repo.try_capture().unwrap_err();
    assert!(
        matches!(
            error,
            SnapshotError::LimitExceeded {
                total: Some(1800),
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn a_touched_file_that_is_unchanged_takes_up_nothing() {
    let repo = Repo::seeded();
    repo.write("big", vec![b'x'; 2000]);
    repo.commit("big");
    repo.git(&["config", "handoff.maxFileBytes", "1000"]);
    let file = fs::File::options()
        .write(true)
        .open(repo.path("big"))
        .unwrap();
    file.set_modified(std::time::SystemTime::UNIX_EPOCH)
        .unwrap();
    let snapshot = repo.capture();
    assert_eq!(
        snapshot.worktree_tree.to_string(),
        repo.git(&["rev-parse", "HEAD^{tree}"])
    );
}

#[test]
fn tracked_paths_left_out_on_request_keep_what_head_has_in_both_trees() {
    let repo = Repo::seeded();
    repo.write("a.txt", "secret\n");
    repo.git(&["add", "a.txt"]);
    repo.write("a.txt", "secret on disk\n");
    repo.write("staged", "secret\n");
    repo.git(&["add", "staged"]);
    repo.write("dir/secret/untracked", "secret\n");
    repo.write("dir/b.txt", "beta 2\n");
    let snapshot = repo
        .try_capture_without(&["a.txt", "staged", "dir/secret"])
        .unwrap();
    for tree in [snapshot.worktree_tree, snapshot.index_tree] {
        assert_eq!(repo.files(tree), ["100644 a.txt", "100644 dir/b.txt"]);
        assert_eq!(repo.content(tree, "a.txt"), b"alpha\n");
    }
    assert_eq!(
        repo.content(snapshot.worktree_tree, "dir/b.txt"),
        b"beta 2\n"
    );
    let asked = |path: &str| (path.to_owned(), OmissionReason::ByRequest);
    assert_eq!(
        omissions(&snapshot),
        ["a.txt", "dir/secret", "staged"].map(asked)
    );
}

#[test]
fn a_place_that_something_else_took_does_not_keep_what_head_has() {
    let repo = Repo::seeded();
    repo.remove("a.txt");
    repo.write("a.txt/inside", "now a folder\n");
    repo.git(&["rm", "-q", "--cached", "a.txt"]);
    repo.git(&["add", "a.txt/inside"]);
    repo.git(&["update-index", "--index-info"]);
    let snapshot = repo.try_capture_without(&[":(literal)dir/b.txt"]).unwrap();
    assert_eq!(
        repo.files(snapshot.worktree_tree),
        ["100644 a.txt/inside", "100644 dir/b.txt"]
    );
    repo.git(&["fsck"]);
}

#[test]
fn a_path_longer_than_the_system_allows_is_named() {
    let repo = Repo::seeded();
    let name = "x".repeat(200);
    let mut made = std::process::Command::new("sh");
    let script = format!(
        "i=0; while [ $i -lt 25 ]; do mkdir {name} && cd -P {name} || exit 1; i=$((i+1)); done; echo deep >file"
    );
    let made = made
        .args(["-c", &script])
        .current_dir(repo.path(""))
        .status();
    assert!(made.unwrap().success());
    let snapshot = repo.capture();
    assert_eq!(omissions(&snapshot).len(), 1);
    assert_eq!(omissions(&snapshot)[0].1, OmissionReason::PathTooLong);
    std::process::Command::new("rm")
        .args(["-rf", &name])
        .current_dir(repo.path(""))
        .status()
        .unwrap();
}

#[test]
fn empty_directories_are_listed() {
    let repo = Repo::seeded();
    fs::create_dir_all(repo.path("logs/deep")).unwrap();
    fs::create_dir(repo.path("ignored")).unwrap();
    repo.write(".gitignore", "/ignored/\n");
    repo.remove("dir/b.txt");
    let snapshot = repo.capture();
    let empty: Vec<String> = snapshot
        .empty_directories
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(empty, ["dir", "logs/deep"]);
}

#[test]
fn nobody_is_waited_for_at_a_named_pipe() {
    for place in [
        ".git/info/exclude",
        ".git/info/attributes",
        "../own",
        ".git/index",
    ] {
        let repo = Repo::seeded();
        let own = repo.path("../own").display().to_string();
        repo.git(&["config", "core.excludesFile", &own]);
        repo.remove(place);
        repo.fifo(place);
        repo.write("new", "content\n");
        let error = repo.try_capture().unwrap_err();
        let path = match &error {
            SnapshotError::Io { path, .. } | SnapshotError::Index { path, .. } => path,
            _ => panic!("{error}"),
        };
        let name = std::path::Path::new(place).file_name();
        assert_eq!(path.file_name(), name, "{error}");
    }
}

#[test]
fn paths_are_not_left_out_by_attributes_or_outside_of_the_worktree() {
    let repo = Repo::seeded();
    repo.write("new", "content\n");
    for spec in [":(attr:binary)new", ":(nonsense)new", "../new"] {
        let error = repo.try_capture_without(&[spec]).unwrap_err();
        assert!(matches!(error, SnapshotError::Pathspec { .. }), "{error}");
    }
}
