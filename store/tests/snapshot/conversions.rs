//! Content that differs between disk and repository.

use store::{
    contract::{AutoCrlf, OmissionReason},
    snapshot::SnapshotError,
};

use crate::repo::{Repo, omissions};

#[test]
fn bytes_that_conversion_does_not_bring_back_go_into_the_raw_tree() {
    let repo = Repo::seeded();
    repo.write("lf", "one\ntwo\n");
    repo.write("stale", "checked out before the configuration\n");
    repo.commit("lines");
    repo.git(&["config", "core.autocrlf", "true"]);
    repo.write("crlf", "one\r\ntwo\r\n");
    repo.write("mixed", "one\r\ntwo\n");
    repo.write("a.txt", "alpha 2\r\n");
    let snapshot = repo.capture();
    assert_eq!(snapshot.worktree_tree.to_string(), repo.trees_by_git().1);
    assert_eq!(snapshot.conversions.autocrlf, AutoCrlf::True);
    let raw = snapshot.raw_tree.unwrap();
    assert_eq!(
        repo.files(raw),
        [
            "100644 dir/b.txt",
            "100644 lf",
            "100644 mixed",
            "100644 stale"
        ]
    );
    assert_eq!(repo.content(raw, "mixed"), b"one\r\ntwo\n");
    assert_eq!(repo.content(snapshot.worktree_tree, "crlf"), b"one\ntwo\n");
}

#[test]
fn unchanged_files_that_were_normalised_when_added_keep_their_bytes() {
    let repo = Repo::seeded();
    repo.write(".gitattributes", "*.txt text=auto\n");
    repo.write("windows.txt", "one\r\ntwo\r\n");
    repo.commit("windows");
    let snapshot = repo.capture();
    assert_eq!(
        snapshot.worktree_tree.to_string(),
        repo.git(&["rev-parse", "HEAD^{tree}"])
    );
    let raw = snapshot.raw_tree.unwrap();
    assert_eq!(repo.files(raw), ["100644 windows.txt"]);
    assert_eq!(repo.content(raw, "windows.txt"), b"one\r\ntwo\r\n");
}

#[test]
fn attributes_that_do_not_travel_bring_nothing_back() {
    let repo = Repo::seeded();
    repo.write(".git/info/attributes", "*.txt text eol=crlf\n");
    repo.write("a.txt", "alpha 2\r\n");
    repo.write("ident", "$Id$\n");
    let snapshot = repo.capture();
    assert_eq!(snapshot.worktree_tree.to_string(), repo.trees_by_git().1);
    assert_eq!(repo.content(snapshot.worktree_tree, "a.txt"), b"alpha 2\n");
    let raw = snapshot.raw_tree.unwrap();
    assert_eq!(repo.content(raw, "a.txt"), b"alpha 2\r\n");
}

#[test]
fn identifiers_come_back_whoever_expanded_them() {
    let repo = Repo::seeded();
    repo.write(".gitattributes", "*.c ident\n");
    repo.write("x.c", "/* $Id$ */\n");
    repo.commit("ident");
    repo.remove("x.c");
    repo.git(&["checkout", "x.c"]);
    repo.write("y.c", "/* $Id: by hand $ */\n");
    let snapshot = repo.capture();
    assert_eq!(snapshot.worktree_tree.to_string(), repo.trees_by_git().1);
    let raw = snapshot.raw_tree.unwrap();
    // What Git expanded, a checkout expands again.
    assert_eq!(repo.files(raw), ["100644 y.c"]);
    assert_eq!(repo.content(raw, "y.c"), b"/* $Id: by hand $ */\n");
}

#[test]
fn safecrlf_does_not_stop_a_capture() {
    let repo = Repo::seeded();
    repo.git(&["config", "core.autocrlf", "input"]);
    repo.git(&["config", "core.safecrlf", "true"]);
    repo.write("mixed", "one\r\ntwo\n");
    assert!(!repo.try_git(&["add", "mixed"]).status.success());
    let snapshot = repo.capture();
    assert_eq!(repo.content(snapshot.worktree_tree, "mixed"), b"one\ntwo\n");
    assert_eq!(
        repo.content(snapshot.raw_tree.unwrap(), "mixed"),
        b"one\r\ntwo\n"
    );
}

#[test]
fn text_in_another_encoding_is_stored_as_git_stores_it() {
    let repo = Repo::seeded();
    let attributes = "*.le working-tree-encoding=UTF-16LE-BOM\n*.be working-tree-encoding=UTF-16\n\
        *.sjis working-tree-encoding=SHIFT-JIS\n";
    repo.write(".gitattributes", attributes);
    repo.write("a.le", b"\xff\xfea\0\n\0");
    repo.write("b.be", b"\xfe\xff\0a\0\n");
    repo.write("c.sjis", b"\x83\x65\x83\x58\x83\x67\n");
    let snapshot = repo.capture();
    assert_eq!(snapshot.worktree_tree.to_string(), repo.trees_by_git().1);
    assert_eq!(repo.content(snapshot.worktree_tree, "b.be"), b"a\n");
    let raw = repo.files(snapshot.raw_tree.unwrap());
    // A checkout writes UTF-16 in one order of bytes, whatever it read.
    assert_eq!(raw, ["100644 b.be"]);
}

#[test]
fn what_a_filter_keeps_back_does_not_travel_unasked() {
    let repo = Repo::seeded();
    repo.git(&["config", "filter.caps.clean", "tr a-z A-Z"]);
    repo.git(&["config", "filter.caps.smudge", "tr A-Z a-z"]);
    repo.write(".gitattributes", "*.caps filter=caps\n");
    repo.write("old.caps", "old\n");
    repo.commit("filtered");
    repo.write("new.caps", "new\n");
    repo.write("same.caps", "SAME\n");
    let snapshot = repo.capture();
    assert_eq!(repo.content(snapshot.worktree_tree, "new.caps"), b"NEW\n");
    let filtered = |path: &str| (path.to_owned(), OmissionReason::Filtered);
    assert_eq!(omissions(&snapshot), ["new.caps", "old.caps"].map(filtered));
    assert_eq!(snapshot.omissions[0].detail.as_deref(), Some("caps"));
    assert_eq!(snapshot.raw_tree, None);

    repo.git(&["config", "handoff.carryFiltered", "caps"]);
    let snapshot = repo.capture();
    assert_eq!(omissions(&snapshot), []);
    let raw = snapshot.raw_tree.unwrap();
    assert_eq!(repo.files(raw), ["100644 new.caps", "100644 old.caps"]);
    assert_eq!(repo.content(raw, "new.caps"), b"new\n");
}

#[test]
fn a_filter_that_fails_refuses_the_capture_and_names_the_path() {
    let repo = Repo::seeded();
    repo.git(&["config", "filter.broken.clean", "false"]);
    repo.write(".gitattributes", "*.x filter=broken\n");
    repo.write("dir/file.x", "content\n");
    let error = repo.try_capture().unwrap_err();
    assert!(matches!(error, SnapshotError::Filter { .. }), "{error}");
    assert!(error.to_string().contains("dir/file.x"), "{error}");
}

#[test]
fn a_filter_may_leave_a_part_of_its_input_unread() {
    let repo = Repo::seeded();
    repo.git(&["config", "filter.head.clean", "head -c 3"]);
    repo.write(".gitattributes", "*.x filter=head\n");
    // More than a pipe holds.
    repo.write("long.x", "123".repeat(1 << 20));
    let snapshot = repo.capture();
    assert_eq!(repo.content(snapshot.worktree_tree, "long.x"), b"123");
    assert_eq!(snapshot.worktree_tree.to_string(), repo.trees_by_git().1);
}

#[test]
fn a_required_filter_is_not_passed_by_where_it_has_no_command() {
    let repo = Repo::seeded();
    repo.write(".gitattributes", "*.x filter=lost\n");
    repo.write("plain.x", "content\n");
    // Neither in force, nor anything that could be.
    repo.git(&["config", "filter.lost.clean", ""]);
    let snapshot = repo.capture();
    assert_eq!(snapshot.worktree_tree.to_string(), repo.trees_by_git().1);
    assert_eq!(omissions(&snapshot), []);
    repo.git(&["config", "filter.lost.required", "true"]);
    assert!(!repo.try_git(&["add", "-A"]).status.success());
    let error = repo.try_capture().unwrap_err();
    assert!(matches!(error, SnapshotError::Filter { .. }), "{error}");
    assert!(error.to_string().contains("plain.x"), "{error}");
}

#[test]
fn attributes_on_disk_count_beside_one_that_is_no_file() {
    let repo = Repo::seeded();
    repo.write(".gitattributes", "*.txt text eol=crlf\n");
    repo.fifo("dir/.gitattributes");
    repo.write("a.txt", "alpha 2\r\n");
    repo.write("dir/b.txt", "beta 2\r\n");
    let snapshot = repo.capture();
    for (path, content) in [("a.txt", "alpha 2\n"), ("dir/b.txt", "beta 2\n")] {
        assert_eq!(
            repo.content(snapshot.worktree_tree, path),
            content.as_bytes()
        );
    }
    assert_eq!(snapshot.raw_tree, None);
}

#[test]
fn a_file_that_never_stands_still_is_named() {
    let repo = Repo::seeded();
    repo.git(&["config", "filter.restless.clean", "cat; date +%N >>%f"]);
    repo.write(".gitattributes", "restless filter=restless\n");
    repo.write("restless", "content\n");
    let error = repo.try_capture().unwrap_err();
    let SnapshotError::Changed(paths) = &error else {
        panic!("{error}");
    };
    assert_eq!(paths[0].to_string(), "restless");
}

#[test]
fn lfs_pointers_that_are_new_are_listed_with_whether_their_content_is_here() {
    let repo = Repo::seeded();
    let oid = "ab".repeat(32);
    let pointer = |size: u64| {
        format!("version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize {size}\n")
    };
    repo.write("old.bin", pointer(3));
    repo.commit("old");
    repo.write("here.bin", pointer(4));
    repo.write("missing.bin", pointer(5));
    repo.write(format!(".git/lfs/objects/ab/ab/{oid}"), "1234");
    let snapshot = repo.capture();
    let found: Vec<(String, u64)> = snapshot
        .lfs
        .iter()
        .map(|pointer| (pointer.path.to_string(), pointer.size))
        .collect();
    assert_eq!(found, [("here.bin".into(), 4), ("missing.bin".into(), 5)]);
    let present: Vec<bool> = snapshot
        .lfs_presence
        .iter()
        .map(|lfs| lfs.present)
        .collect();
    assert_eq!(present, [true, false]);
    assert_eq!(snapshot.blockers.len(), 1);
    assert_eq!(
        snapshot.blockers[0].path.as_ref().map(ToString::to_string),
        Some("missing.bin".into())
    );
}
