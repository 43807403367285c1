//! Into a repository of its own.

use std::{fs, os::unix::ffi::OsStrExt, path::PathBuf};

use store::{
    error_code::ErrorCode,
    repo_path::RepoPath,
    repository::Repository,
    restore::{self, Flagging, Place, RestoreError, Restored, RestoredBranch},
    verify::VerifiedRecord,
};

use crate::{
    in_place::scramble,
    producer::Producer,
    world::{child_test, contents, git, git_outcome, status},
};

/// Restores into a new repository beside the producer's.
pub(crate) fn restore_beside(producer: &Producer, record: &VerifiedRecord) -> (PathBuf, Restored) {
    let dir = producer.beside("receiver");
    let restored = restore_into(producer, record, &dir).unwrap();
    (dir, restored)
}

pub(crate) fn restore_into(
    producer: &Producer,
    record: &VerifiedRecord,
    dir: &std::path::Path,
) -> Result<Restored, RestoreError> {
    let source = producer.repository();
    let repository: Repository = restore::init(dir, source.hash_kind())?;
    restore::copy_objects(
        &source,
        &repository,
        &[(record.id, record.scope().to_ref())],
    )?;
    restore::checkout(
        &repository,
        record,
        Place::NewRepository,
        Flagging::WhereEqual,
    )
}

/// Sees that a directory holds what the producer's worktree holds, and that Git says the same of both.
pub(crate) fn assert_same(producer: &Producer, dir: &std::path::Path) {
    assert_eq!(contents(&producer.path()), contents(dir));
    assert_eq!(status(&producer.path()), status(dir));
    git(dir, &["fsck", "--strict"]);
}

#[test]
fn a_fresh_restore_brings_back_files_modes_links_and_odd_names() {
    let producer = Producer::new();
    producer.write("plain", "one\n");
    producer.write("dir/deep/run.sh", "#!/bin/sh\n");
    producer.git(&["config", "core.fileMode", "true"]);
    fs::set_permissions(
        producer.path().join("dir/deep/run.sh"),
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    std::os::unix::fs::symlink("dir/nowhere", producer.path().join("link")).unwrap();
    producer.write(std::ffi::OsStr::from_bytes(b"odd\xff\n\"name"), "two");
    producer.commit("base");
    producer.write("untracked/file", "three");
    producer.write("empty-file", "");

    let (dir, restored) = restore_beside(&producer, &producer.record());

    assert_same(&producer, &dir);
    assert_eq!(
        restored.branch,
        RestoredBranch::On("refs/heads/main".try_into().unwrap())
    );
}

#[test]
fn staged_and_unstaged_changes_stay_apart() {
    let producer = Producer::new();
    for name in ["a", "b", "c", "d", "e/f"] {
        producer.write(name, name);
    }
    producer.commit("base");
    producer.write("a", "staged");
    producer.git(&["add", "a"]);
    producer.write("a", "and changed again");
    producer.write("b", "changed");
    producer.git(&["rm", "-q", "--cached", "c"]);
    fs::remove_file(producer.path().join("d")).unwrap();
    producer.git(&["mv", "e/f", "g"]);
    producer.write("new", "intended");
    producer.git(&["add", "--intent-to-add", "new"]);
    fs::create_dir_all(producer.path().join("empty/below")).unwrap();

    let (dir, _) = restore_beside(&producer, &producer.record());

    assert_same(&producer, &dir);
}

#[test]
fn an_unmerged_index_comes_back_with_its_stages_and_the_merge() {
    let producer = Producer::new();
    producer.write("both", "base\n");
    producer.write("gone", "base\n");
    producer.commit("base");
    producer.git(&["checkout", "-q", "-b", "side"]);
    producer.write("both", "side\n");
    producer.write("gone", "side\n");
    producer.write("extra", "side\n");
    producer.commit("side");
    producer.git(&["checkout", "-q", "main"]);
    producer.write("both", "main\n");
    fs::remove_file(producer.path().join("gone")).unwrap();
    producer.commit("main");
    assert!(!git_outcome(&producer.path(), &["merge", "-q", "side"], &[], b"").0);

    let (dir, _) = restore_beside(&producer, &producer.record());

    assert_same(&producer, &dir);
    for file in ["MERGE_HEAD", "MERGE_MSG", "MERGE_MODE"] {
        let read = |top: &std::path::Path| fs::read(top.join(".git").join(file)).unwrap();
        assert_eq!(read(&producer.path()), read(&dir), "{file}");
    }
    assert_eq!(
        producer.git(&["ls-files", "--stage"]),
        git(&dir, &["ls-files", "--stage"])
    );
    git(&dir, &["add", "-A"]);
    git(
        &dir,
        &[
            "-c",
            "user.name=B",
            "-c",
            "user.email=b@example.org",
            "commit",
            "-q",
            "--no-edit",
        ],
    );
    assert_eq!(
        git(&dir, &["rev-parse", "HEAD^2"]),
        producer.git(&["rev-parse", "side"])
    );
}

#[test]
fn a_merge_without_fast_forward_keeps_both_parents() {
    let producer = Producer::new();
    producer.write("a", "base\n");
    producer.commit("base");
    producer.git(&["checkout", "-q", "-b", "side"]);
    producer.write("a", "side\n");
    producer.commit("side");
    producer.git(&["checkout", "-q", "main"]);
    producer.git(&["merge", "-q", "--no-ff", "--no-commit", "side"]);

    let (dir, _) = restore_beside(&producer, &producer.record());

    assert_same(&producer, &dir);
    git(
        &dir,
        &[
            "-c",
            "user.name=B",
            "-c",
            "user.email=b@example.org",
            "commit",
            "-q",
            "--no-edit",
        ],
    );
    assert_eq!(
        git(&dir, &["rev-parse", "HEAD^1"]),
        producer.git(&["rev-parse", "main"])
    );
    assert_eq!(
        git(&dir, &["rev-parse", "HEAD^2"]),
        producer.git(&["rev-parse", "side"])
    );
}

#[test]
fn a_cherry_pick_and_a_revert_in_progress_come_back() {
    for (command, file) in [
        ("cherry-pick", "CHERRY_PICK_HEAD"),
        ("revert", "REVERT_HEAD"),
    ] {
        let producer = Producer::new();
        producer.write("a", "base\n");
        producer.commit("base");
        producer.write("a", "two\n");
        producer.commit("two");
        producer.write("a", "three\n");
        producer.commit("three");
        producer.git(&["checkout", "-q", "-b", "side", "HEAD~2"]);
        producer.write("a", "side\n");
        producer.commit("side");
        assert!(!git_outcome(&producer.path(), &[command, "main"], &[], b"").0);

        let (dir, _) = restore_beside(&producer, &producer.record());

        assert_same(&producer, &dir);
        assert_eq!(
            producer.git(&["rev-parse", file]),
            git(&dir, &["rev-parse", file])
        );
        assert_eq!(
            fs::read(producer.path().join(".git/MERGE_MSG")).unwrap(),
            fs::read(dir.join(".git/MERGE_MSG")).unwrap()
        );
        let long = |dir: &std::path::Path| git(dir, &["status"]);
        assert_eq!(long(&producer.path()), long(&dir));
    }
}

#[test]
fn an_unborn_branch_stays_unborn() {
    let producer = Producer::new();
    producer.write("staged", "a");
    producer.git(&["add", "staged"]);
    producer.write("untracked", "b");

    let (dir, restored) = restore_beside(&producer, &producer.record());

    assert_same(&producer, &dir);
    assert_eq!(restored.head, None);
    assert_eq!(
        git(&dir, &["symbolic-ref", "HEAD"]).trim(),
        "refs/heads/main"
    );
}

#[test]
fn a_detached_head_stays_detached() {
    let producer = Producer::new();
    producer.write("a", "1");
    producer.commit("one");
    producer.git(&["checkout", "-q", "--detach"]);

    let (dir, restored) = restore_beside(&producer, &producer.record());

    assert_same(&producer, &dir);
    assert_eq!(restored.branch, RestoredBranch::Detached);
    assert_eq!(
        git(&dir, &["rev-parse", "HEAD"]),
        producer.git(&["rev-parse", "HEAD"])
    );
}

#[test]
fn a_sha256_repository_is_restored_as_one() {
    let producer = Producer::with_format("sha256");
    producer.write("a", "1");
    producer.write("d/b", "2");
    producer.commit("one");
    producer.write("a", "2");
    producer.git(&["add", "a"]);
    producer.write("d/b", "3");

    let (dir, _) = restore_beside(&producer, &producer.record());

    assert_same(&producer, &dir);
    assert_eq!(
        git(&dir, &["rev-parse", "--show-object-format"]).trim(),
        "sha256"
    );
}

#[test]
fn flags_are_set_only_where_they_hide_nothing() {
    let producer = Producer::new();
    for name in ["assumed", "skipped", "hidden"] {
        producer.write(name, "1");
    }
    producer.commit("base");
    producer.write("hidden", "2");
    producer.write("intended", "new");
    producer.git(&["add", "-N", "intended"]);
    let flags = |path: &str, assume_unchanged, skip_worktree| store::contract::Flags {
        path: RepoPath::from_bytes(path.as_bytes()).unwrap(),
        assume_unchanged,
        skip_worktree,
    };
    let listed = vec![
        flags("assumed", true, false),
        flags("hidden", true, true),
        flags("intended", true, false),
        flags("skipped", false, true),
    ];
    let record = producer.record_with(|_, content| content.worktree.flags = listed.into());

    let (dir, restored) = restore_beside(&producer, &record);

    let hiding = ["hidden", "intended"].map(|path| RepoPath::from_bytes(path.as_bytes()).unwrap());
    assert_eq!(restored.flagged, hiding);
    assert_eq!(
        git(&dir, &["ls-files", "-v"]),
        "h assumed\nH hidden\nH intended\nS skipped\n"
    );
    let repository = Repository::at_git_dir(&dir.join(".git")).unwrap();
    fs::write(dir.join(".git/handoff/restoring"), "").unwrap();
    let restored =
        restore::checkout(&repository, &record, Place::NewRepository, Flagging::Always).unwrap();
    assert_eq!(restored.flagged, []);
    assert_eq!(
        git(&dir, &["ls-files", "-v"]),
        "h assumed\ns hidden\nh intended\nS skipped\n"
    );
}

#[test]
fn submodules_are_empty_directories_with_their_gitlinks() {
    let producer = Producer::new();
    producer.write("a", "1");
    let commit = producer.commit("base");
    let entry = format!("160000,{commit},module/inner");
    producer.git(&["update-index", "--add", "--cacheinfo", &entry]);
    fs::create_dir_all(producer.path().join("module/inner")).unwrap();
    producer.git(&["commit", "-q", "-m", "module"]);
    let record = producer.record_with(|root, content| {
        root.worktree = root.index;
        content.worktree.empty_directories = Vec::new().into();
    });

    let (dir, restored) = restore_beside(&producer, &record);

    let [submodule] = &restored.submodules[..] else {
        panic!("{:?}", restored.submodules);
    };
    assert_eq!(
        submodule.path,
        RepoPath::from_bytes(b"module/inner").unwrap()
    );
    assert_eq!(submodule.staged, Some(submodule.commit));
    assert!(dir.join("module/inner").is_dir());
    assert_eq!(status(&producer.path()), status(&dir));
}

#[test]
fn a_directory_that_holds_something_is_refused() {
    let producer = Producer::new();
    producer.write("a", "1");
    producer.commit("base");
    let record = producer.record();
    let dir = producer.beside("receiver");
    fs::create_dir(&dir).unwrap();
    fs::write(dir.join("mine"), "precious").unwrap();

    let error = restore_into(&producer, &record, &dir).unwrap_err();

    assert_eq!(error.code(), ErrorCode::DirectoryNotEmpty);
    assert!(error.to_string().contains("`mine`"), "{error}");
    assert_eq!(contents(&dir).len(), 1);
}

#[test]
fn the_copy_stands_alone_and_has_the_remotes_without_credentials() {
    let producer = Producer::new();
    producer.write("a", "1");
    producer.commit("base");
    producer.git(&[
        "remote",
        "add",
        "origin",
        "https://me:secret@host.example/x.git",
    ]);
    producer.git(&["remote", "add", "near", "../near.git"]);
    producer.git(&["config", "remote.origin.uploadpack", "/evil"]);
    let record = producer.record();
    let (dir, _) = restore_beside(&producer, &record);
    let repository = Repository::at_git_dir(&dir.join(".git")).unwrap();

    for _ in 0..2 {
        restore::copy_remotes(&producer.repository(), &repository).unwrap();
    }

    assert!(!dir.join(".git/objects/info/alternates").exists());
    assert_eq!(
        git(&dir, &["config", "--get-all", "remote.origin.url"]),
        "https://host.example/x.git\n"
    );
    assert_eq!(
        git(&dir, &["config", "remote.origin.fetch"]),
        "+refs/heads/*:refs/remotes/origin/*\n"
    );
    assert!(git(&dir, &["config", "remote.near.url"]).starts_with('/'));
    assert!(!git_outcome(&dir, &["config", "remote.origin.uploadpack"], &[], b"").0);
    fs::remove_dir_all(producer.path()).unwrap();
    git(&dir, &["fsck", "--strict"]);
}

#[test]
fn new_files_obey_the_umask() {
    let producer = Producer::new();
    producer.write("dir/file", "1");
    producer.write("script", "2");
    fs::set_permissions(
        producer.path().join("script"),
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    producer.commit("base");
    let record = producer.record();
    producer.git(&["update-ref", "refs/kept/record", &record.id.to_string()]);

    let child = child_test("fresh::child_restores", |command| {
        command
            .env("CHILD_UMASK", "077")
            .env("CHILD_PRODUCER", producer.path());
    });
    assert!(child.wait_with_output().unwrap().status.success());

    let mode = |path: &str| {
        use std::os::unix::fs::PermissionsExt;
        fs::metadata(producer.beside("receiver").join(path))
            .unwrap()
            .permissions()
            .mode()
            & 0o777
    };
    assert_eq!(
        [mode("dir"), mode("dir/file"), mode("script")],
        [0o700, 0o600, 0o700]
    );
}

#[test]
#[ignore = "run in a process of its own by other tests"]
fn child_restores() {
    let producer = Producer::at(std::env::var_os("CHILD_PRODUCER").unwrap().into());
    let record = producer.kept_record();
    restore_into(&producer, &record, &producer.beside("receiver")).unwrap();
}

#[test]
fn a_repository_with_reftable_refs_is_filled_too() {
    let producer = Producer::new();
    producer.write("a", "base\n");
    producer.commit("base");
    producer.git(&["checkout", "-q", "-b", "side"]);
    producer.write("a", "side\n");
    producer.commit("side");
    producer.write("a", "two\n");
    producer.commit("two");
    producer.git(&["checkout", "-q", "main"]);
    producer.write("a", "main\n");
    producer.commit("main");
    assert!(!git_outcome(&producer.path(), &["cherry-pick", "side"], &[], b"").0);
    let record = producer.record();
    producer.git(&["update-ref", "refs/kept/record", &record.id.to_string()]);

    let child = child_test("fresh::child_restores", |command| {
        command
            .env("GIT_DEFAULT_REF_FORMAT", "reftable")
            .env("CHILD_PRODUCER", producer.path());
    });
    assert!(child.wait_with_output().unwrap().status.success());

    let dir = producer.beside("receiver");
    assert_eq!(
        git(&dir, &["rev-parse", "--show-ref-format"]).trim(),
        "reftable"
    );
    assert_same(&producer, &dir);
    assert_eq!(
        git(&dir, &["rev-parse", "CHERRY_PICK_HEAD"]),
        producer.git(&["rev-parse", "side"])
    );
}

#[test]
fn a_blob_too_big_for_memory_is_streamed() {
    let producer = Producer::new();
    let big: Vec<u8> = (0..20_u32 << 18)
        .flat_map(|n| (n ^ (n >> 7)).to_le_bytes())
        .collect();
    producer.write("big", &big);
    producer.commit("base");

    let (dir, _) = restore_beside(&producer, &producer.record());

    assert!(fs::read(dir.join("big")).unwrap() == big);
    assert_eq!(git(&dir, &["status", "--porcelain"]), "");
}

#[test]
fn a_shallow_history_stays_shallow_in_the_copy() {
    let origin = Producer::new();
    for n in 0..3 {
        origin.write("a", n.to_string());
        origin.commit("more");
    }
    let producer = Producer::new();
    let url = format!("file://{}", origin.path().display());
    producer.git(&["fetch", "-q", "--depth=1", &url, "main"]);
    producer.git(&["reset", "-q", "--hard", "FETCH_HEAD"]);
    producer.write("b", "1");

    let (dir, _) = restore_beside(&producer, &producer.record());

    assert_same(&producer, &dir);
    assert_eq!(git(&dir, &["rev-list", "--count", "HEAD"]), "1\n");
}

#[test]
fn any_state_is_restored_into_a_new_directory() {
    let producer = Producer::new();
    producer.write("a", "base");
    producer.commit("base");
    for seed in 100..108 {
        scramble(&producer, seed);
        let record = producer.record();

        let (dir, _) = restore_beside(&producer, &record);

        assert_same(&producer, &dir);
        assert_eq!(
            producer.git(&["ls-files", "--stage"]),
            git(&dir, &["ls-files", "--stage"]),
            "seed {seed}"
        );
        fs::remove_dir_all(&dir).unwrap();
    }
}
