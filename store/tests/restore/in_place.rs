//! Into the current worktree.

use std::fs;

use store::{
    error_code::ErrorCode,
    repo_path::RepoPath,
    restore::{self, Captured, Flagging, Place, RestoreError, Restored, RestoredBranch},
    verify::VerifiedRecord,
};

use crate::{
    producer::Producer,
    world::{contents, git_outcome, status},
};

/// Restores over what is in the receiver's worktree, of which `omitted` is not captured.
pub(crate) fn restore_over(
    receiver: &Producer,
    record: &VerifiedRecord,
    omitted: &[&str],
) -> Result<Restored, RestoreError> {
    let mut capture = || {
        Ok(Captured {
            worktree_tree: receiver.worktree_tree(),
            omitted: omitted
                .iter()
                .map(|path| RepoPath::from_bytes(path.as_bytes()).unwrap())
                .collect(),
            kept: Vec::new(),
            empty_directories: receiver.empty_directories(),
        })
    };
    let repository = receiver.repository();
    restore::checkout(
        &repository,
        record,
        Place::InPlace(&mut capture),
        Flagging::WhereEqual,
    )
}

pub(crate) fn producer_with_work() -> Producer {
    let producer = Producer::new();
    for name in ["kept", "changed", "removed/a", "removed/b", "staged"] {
        producer.write(name, format!("{name} at base\n"));
    }
    producer.commit("base");
    producer.write("changed", "changed\n");
    producer.write("staged", "staged\n");
    producer.git(&["add", "staged"]);
    fs::remove_dir_all(producer.path().join("removed")).unwrap();
    producer.write("new/file", "new\n");
    producer
}

pub(crate) fn assert_same(producer: &Producer, receiver: &Producer) {
    assert_eq!(contents(&producer.path()), contents(&receiver.path()));
    let without_upstream = |status: String| -> Vec<String> {
        status
            .lines()
            .filter(|line| {
                !line.starts_with("# branch.upstream") && !line.starts_with("# branch.ab")
            })
            .map(Into::into)
            .collect()
    };
    assert_eq!(
        without_upstream(status(&producer.path())),
        without_upstream(status(&receiver.path()))
    );
    receiver.git(&["fsck", "--strict"]);
}

pub(crate) fn in_the_way(outcome: Result<Restored, RestoreError>) -> Vec<String> {
    match outcome {
        Err(error @ RestoreError::InTheWay(_)) => {
            assert_eq!(error.code(), ErrorCode::DirectoryNotEmpty);
            let RestoreError::InTheWay(paths) = error else {
                unreachable!()
            };
            paths.iter().map(ToString::to_string).collect()
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn in_place_replaces_tracked_and_captured_files() {
    let producer = producer_with_work();
    let record = producer.record();
    let receiver = producer.clone_with(&record);
    receiver.write("own/untracked", "mine\n");
    receiver.write("changed", "mine too\n");

    let restored = restore_over(&receiver, &record, &[]).unwrap();

    assert_same(&producer, &receiver);
    assert_eq!(
        restored.branch,
        RestoredBranch::On("refs/heads/main".try_into().unwrap())
    );
    assert!(!receiver.path().join("own").exists());
}

#[test]
fn in_place_leaves_equal_files_alone() {
    let producer = producer_with_work();
    let record = producer.record();
    let receiver = producer.clone_with(&record);
    let before = fs::metadata(receiver.path().join("kept"))
        .unwrap()
        .modified()
        .unwrap();

    restore_over(&receiver, &record, &[]).unwrap();

    assert_eq!(
        fs::metadata(receiver.path().join("kept"))
            .unwrap()
            .modified()
            .unwrap(),
        before
    );
}

#[test]
fn in_place_never_touches_ignored_files() {
    let producer = producer_with_work();
    let record = producer.record();
    let receiver = producer.clone_with(&record);
    fs::write(receiver.path().join(".git/info/exclude"), "build\n").unwrap();
    receiver.write("build/output", "precious\n");
    receiver.write("removed/build", "precious\n");

    restore_over(&receiver, &record, &[]).unwrap();

    assert_eq!(
        fs::read(receiver.path().join("build/output")).unwrap(),
        b"precious\n"
    );
    assert_eq!(
        fs::read(receiver.path().join("removed/build")).unwrap(),
        b"precious\n"
    );
    assert!(!receiver.path().join("removed/a").exists());
}

#[test]
fn in_place_is_refused_where_an_ignored_file_would_be_overwritten() {
    let producer = producer_with_work();
    let record = producer.record();
    let receiver = producer.clone_with(&record);
    fs::write(receiver.path().join(".git/info/exclude"), "new\n").unwrap();
    receiver.write("new/file", "precious\n");
    let before = contents(&receiver.path());

    assert_eq!(
        in_the_way(restore_over(&receiver, &record, &[])),
        ["new/file"]
    );

    assert_eq!(contents(&receiver.path()), before);
    assert_eq!(
        status(&receiver.path())
            .lines()
            .filter(|line| !line.starts_with('#'))
            .count(),
        0
    );
}

#[test]
fn in_place_is_refused_where_an_omitted_file_would_be_overwritten_or_removed() {
    let producer = producer_with_work();
    let record = producer.record();
    let receiver = producer.clone_with(&record);
    receiver.write("changed", "precious\n");
    receiver.write("removed/a", "precious\n");

    let outcome = restore_over(&receiver, &record, &["changed", "removed/a"]);

    assert_eq!(in_the_way(outcome), ["changed", "removed/a"]);
}

#[test]
fn in_place_is_refused_where_an_ignored_file_or_link_stands_in_the_place_of_a_directory() {
    let producer = producer_with_work();
    let record = producer.record();
    let receiver = producer.clone_with(&record);
    fs::write(receiver.path().join(".git/info/exclude"), "new\n").unwrap();
    std::os::unix::fs::symlink("/", receiver.path().join("new")).unwrap();

    assert_eq!(in_the_way(restore_over(&receiver, &record, &[])), ["new"]);
}

#[test]
fn in_place_swaps_files_and_directories() {
    let producer = Producer::new();
    producer.write("file-then-directory", "a");
    producer.write("directory-then-file/deep/x", "b");
    producer.write("link-then-directory-target/y", "c");
    std::os::unix::fs::symlink(
        "link-then-directory-target",
        producer.path().join("link-then-directory"),
    )
    .unwrap();
    producer.commit("base");
    let receiver_base = producer.record();
    let receiver = producer.clone_with(&receiver_base);
    fs::create_dir_all(receiver.path().join("directory-then-file/empty/below")).unwrap();
    fs::remove_file(producer.path().join("file-then-directory")).unwrap();
    producer.write("file-then-directory/inside", "d");
    fs::remove_dir_all(producer.path().join("directory-then-file")).unwrap();
    producer.write("directory-then-file", "e");
    fs::remove_file(producer.path().join("link-then-directory")).unwrap();
    producer.write("link-then-directory/y", "f");
    let record = producer.record();
    receiver.fetch(&producer, &record);

    restore_over(&receiver, &record, &[]).unwrap();

    assert_same(&producer, &receiver);
    assert_eq!(
        fs::read(receiver.path().join("link-then-directory-target/y")).unwrap(),
        b"c"
    );
}

#[test]
fn in_place_is_refused_where_a_directory_that_becomes_a_file_holds_ignored_files() {
    let producer = Producer::new();
    producer.write("d/tracked", "a");
    producer.commit("base");
    let base = producer.record();
    let receiver = producer.clone_with(&base);
    fs::write(receiver.path().join(".git/info/exclude"), "*.log\n").unwrap();
    receiver.write("d/deep/x.log", "precious");
    fs::remove_dir_all(producer.path().join("d")).unwrap();
    producer.write("d", "file");
    let record = producer.record();
    receiver.fetch(&producer, &record);

    assert_eq!(
        in_the_way(restore_over(&receiver, &record, &[])),
        ["d/deep/x.log"]
    );
}

#[test]
fn nothing_is_changed_where_the_capture_fails() {
    let producer = producer_with_work();
    let record = producer.record();
    let receiver = producer.clone_with(&record);
    let before = contents(&receiver.path());
    let repository = receiver.repository();
    let mut capture = || {
        Err(restore::CaptureError {
            code: ErrorCode::SecretDetected,
            source: "a secret".into(),
        })
    };

    let place = Place::InPlace(&mut capture);
    let error = restore::checkout(&repository, &record, place, Flagging::WhereEqual).unwrap_err();

    assert_eq!(error.code(), ErrorCode::SecretDetected);
    assert_eq!(contents(&receiver.path()), before);
    assert!(!receiver.path().join(".git/handoff/restoring").exists());
}

#[test]
fn a_file_that_changes_after_the_capture_is_not_overwritten() {
    let producer = producer_with_work();
    let record = producer.record();
    let receiver = producer.clone_with(&record);
    let repository = receiver.repository();
    let mut capture = || {
        let worktree_tree = receiver.worktree_tree();
        // Another tick of the clock that stamps files.
        let marker = fs::metadata(receiver.path().join(".git/handoff/restoring")).unwrap();
        loop {
            receiver.write("changed", "edited meanwhile\n");
            let edited = fs::metadata(receiver.path().join("changed")).unwrap();
            if edited.modified().unwrap() > marker.modified().unwrap() {
                break;
            }
        }
        Ok(Captured {
            worktree_tree,
            omitted: Vec::new(),
            empty_directories: Vec::new(),
            kept: Vec::new(),
        })
    };

    let place = Place::InPlace(&mut capture);
    let error = restore::checkout(&repository, &record, place, Flagging::WhereEqual).unwrap_err();

    assert_eq!(error.code(), ErrorCode::WorktreeChanged);
    assert_eq!(
        fs::read(receiver.path().join("changed")).unwrap(),
        b"edited meanwhile\n"
    );
    restore_over(&receiver, &record, &[]).unwrap();
    assert_same(&producer, &receiver);
}

#[test]
fn an_operation_that_cannot_be_put_back_keeps_a_restore_from_beginning() {
    let producer = producer_with_work();
    let record = producer.record();
    let receiver = producer.clone_with(&record);
    fs::create_dir(receiver.path().join(".git/rebase-merge")).unwrap();

    let error = restore_over(&receiver, &record, &[]).unwrap_err();

    assert_eq!(error.code(), ErrorCode::Blocked);
}

#[test]
fn a_locked_index_keeps_a_restore_from_beginning() {
    let producer = producer_with_work();
    let record = producer.record();
    let receiver = producer.clone_with(&record);
    let before = contents(&receiver.path());
    fs::write(receiver.path().join(".git/index.lock"), "").unwrap();

    let error = restore_over(&receiver, &record, &[]).unwrap_err();

    assert!(error.to_string().contains("index.lock"), "{error}");
    assert_eq!(contents(&receiver.path()), before);
}

#[test]
fn an_operation_here_ends_with_the_state_that_replaces_it() {
    let producer = Producer::new();
    producer.write("a", "base\n");
    producer.commit("base");
    let record = producer.record();
    let receiver = producer.clone_with(&record);
    receiver.git(&["checkout", "-q", "-b", "side"]);
    receiver.write("a", "side\n");
    receiver.commit("side");
    receiver.git(&["checkout", "-q", "main"]);
    receiver.write("a", "main\n");
    receiver.commit("main");
    receiver.git(&["checkout", "-q", "-b", "work"]);
    assert!(!git_outcome(&receiver.path(), &["merge", "-q", "side"], &[], b"").0);

    restore_over(&receiver, &record, &[]).unwrap();

    for file in ["MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "AUTO_MERGE"] {
        assert!(!receiver.path().join(".git").join(file).exists(), "{file}");
    }
    assert_eq!(contents(&producer.path()), contents(&receiver.path()));
    assert_eq!(receiver.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_filled_submodule_is_never_removed() {
    let producer = Producer::new();
    producer.write("a", "1");
    let commit = producer.commit("base");
    let base = producer.record();
    let receiver = producer.clone_with(&base);
    let entry = format!("160000,{commit},module");
    receiver.git(&["update-index", "--add", "--cacheinfo", &entry]);
    fs::create_dir(receiver.path().join("module")).unwrap();
    receiver.git(&["commit", "-q", "-m", "module"]);
    receiver.git(&["clone", "-q", ".", "module"]);
    receiver.write("module/own", "precious");

    assert_eq!(in_the_way(restore_over(&receiver, &base, &[])), ["module"]);

    assert_eq!(
        fs::read(receiver.path().join("module/own")).unwrap(),
        b"precious"
    );
    fs::remove_dir_all(receiver.path().join("module")).unwrap();
    fs::create_dir(receiver.path().join("module")).unwrap();
    restore_over(&receiver, &base, &[]).unwrap();
    assert!(!receiver.path().join("module").exists());
}

/// Puts something at each of a few paths that stand in each other's way, as the bits of `seed` say.
pub(crate) fn scramble(producer: &Producer, seed: u64) {
    let mut bits = seed;
    let mut pick = |count: u64| {
        // Constants of Knuth's MMIX generator.
        bits = bits
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (bits >> 33) % count
    };
    for entry in fs::read_dir(producer.path()).unwrap().map(Result::unwrap) {
        if entry.file_name() != ".git" {
            let path = entry.path();
            if entry.file_type().unwrap().is_dir() {
                fs::remove_dir_all(path)
            } else {
                fs::remove_file(path)
            }
            .unwrap();
        }
    }
    for path in [
        "a", "a/b", "a/b/c", "a.x", "d/e", "d", "d/e/f/g", "h", "h/i",
    ] {
        let place = producer.path().join(path);
        let parent = place.parent().unwrap();
        let is_free = fs::symlink_metadata(&place).is_err() && fs::create_dir_all(parent).is_ok();
        let parent_is_ours = parent.canonicalize().is_ok_and(|real| real == parent);
        match pick(5) {
            0 | 1 if is_free && parent_is_ours => {
                fs::write(&place, format!("{}\n", pick(3))).unwrap()
            }
            2 if is_free && parent_is_ours => {
                std::os::unix::fs::symlink("/nowhere", &place).unwrap()
            }
            3 if is_free && parent_is_ours => fs::create_dir(&place).unwrap(),
            _ => {}
        }
        if pick(3) == 0 && fs::symlink_metadata(&place).is_ok_and(|found| found.is_file()) {
            fs::set_permissions(&place, std::os::unix::fs::PermissionsExt::from_mode(0o755))
                .unwrap();
        }
        match pick(3) {
            0 => drop(git_outcome(&producer.path(), &["add", "-A"], &[], b"")),
            1 => drop(git_outcome(
                &producer.path(),
                &["add", "--intent-to-add", path],
                &[],
                b"",
            )),
            _ => {}
        }
    }
}

#[test]
fn any_state_is_replaced_by_any_other() {
    let producer = Producer::new();
    producer.write("a", "base");
    producer.commit("base");
    let receiver = producer.clone_with(&producer.record());
    for seed in 0..12 {
        scramble(&producer, seed);
        scramble(&receiver, seed + 1_000);
        let record = producer.record();
        receiver.fetch(&producer, &record);

        let restored = restore_over(&receiver, &record, &[]);

        restored.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        assert_same(&producer, &receiver);
        assert_eq!(
            producer.git(&["ls-files", "--stage"]),
            receiver.git(&["ls-files", "--stage"]),
            "seed {seed}"
        );
    }
}
