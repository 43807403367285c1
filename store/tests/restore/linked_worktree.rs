//! Into a linked worktree.

use std::{fs, path::PathBuf};

use store::{
    repository::Repository,
    restore::{self, Flagging, Place, Restored, RestoredBranch},
    verify::VerifiedRecord,
};

use crate::{
    producer::Producer,
    world::{contents, git, git_outcome, status},
};

fn restore_linked(repository: &Producer, record: &VerifiedRecord) -> (PathBuf, Restored) {
    let dir = repository.beside("linked");
    let head = record
        .manifest
        .value
        .content
        .repository
        .head
        .map_or(record.id, |oid| oid.id());
    let made: Repository = restore::add_worktree(&repository.repository(), &dir, head).unwrap();
    let restored =
        restore::checkout(&made, record, Place::NewWorktree, Flagging::WhereEqual).unwrap();
    (dir, restored)
}

#[test]
fn a_linked_worktree_is_filled_and_the_branch_stays_with_its_own() {
    let producer = Producer::new();
    producer.write("a", "1");
    producer.write("b", "1");
    let head = producer.commit("base");
    producer.write("a", "2");
    producer.git(&["add", "a"]);
    producer.write("new/c", "3");
    let before = status(&producer.path());

    let (dir, restored) = restore_linked(&producer, &producer.record());

    assert_eq!(contents(&producer.path()), contents(&dir));
    assert_eq!(
        restored.branch,
        RestoredBranch::Beside("refs/heads/main".try_into().unwrap())
    );
    assert_eq!(git(&dir, &["rev-parse", "HEAD"]).trim(), head);
    assert_eq!(
        git(&dir, &["status", "--porcelain=v2"]),
        producer.git(&["status", "--porcelain=v2"])
    );
    assert_eq!(status(&producer.path()), before);
    git(&dir, &["fsck", "--strict"]);
}

#[test]
fn a_linked_worktree_attaches_to_a_free_branch_at_the_same_commit() {
    let producer = Producer::new();
    producer.write("a", "1");
    producer.commit("base");
    let record = producer.record();
    producer.git(&["checkout", "-q", "--detach"]);

    let (dir, restored) = restore_linked(&producer, &record);

    assert_eq!(
        restored.branch,
        RestoredBranch::On("refs/heads/main".try_into().unwrap())
    );
    assert_eq!(
        git(&dir, &["symbolic-ref", "HEAD"]).trim(),
        "refs/heads/main"
    );
}

#[test]
fn an_unborn_branch_is_restored_in_a_linked_worktree() {
    let producer = Producer::new();
    producer.write("a", "1");
    producer.git(&["add", "a"]);
    let record = producer.record();
    producer.git(&["checkout", "-q", "--orphan", "elsewhere"]);

    let (dir, restored) = restore_linked(&producer, &record);

    assert_eq!(restored.head, None);
    assert_eq!(
        git(&dir, &["symbolic-ref", "HEAD"]).trim(),
        "refs/heads/main"
    );
    assert!(!git_outcome(&dir, &["rev-parse", "-q", "--verify", "HEAD"], &[], b"").0);
    assert_eq!(git(&dir, &["status", "--porcelain"]), "A  a\n");
}

#[test]
fn other_conversions_are_set_for_the_linked_worktree_alone() {
    let producer = Producer::new();
    producer.git(&["config", "core.autocrlf", "true"]);
    producer.write("a", "one\r\n");
    producer.commit("base");
    let record = producer.record();
    producer.git(&["config", "core.autocrlf", "false"]);

    let (dir, _) = restore_linked(&producer, &record);

    assert_eq!(git(&dir, &["config", "core.autocrlf"]).trim(), "true");
    assert_eq!(producer.git(&["config", "core.autocrlf"]).trim(), "false");
    assert_eq!(fs::read(dir.join("a")).unwrap(), b"one\r\n");
    assert_eq!(git(&dir, &["status", "--porcelain"]), "");
}

#[test]
fn a_bare_repository_stays_bare_beside_its_linked_worktree() {
    let producer = Producer::new();
    producer.git(&["config", "core.autocrlf", "input"]);
    producer.write("a", "one\n");
    producer.commit("base");
    let record = producer.record();
    let bare = producer.beside("bare.git");
    git(
        &producer.path(),
        &["clone", "-q", "--bare", ".", bare.to_str().unwrap()],
    );
    let kept = format!("{}:refs/kept/record", record.id);
    git(
        &bare,
        &["fetch", "-q", producer.path().to_str().unwrap(), &kept],
    );
    let repository = Repository::discover(&store::git::Git::in_dir(&bare)).unwrap();
    let dir = producer.beside("linked");
    let head = record.manifest.value.content.repository.head.unwrap().id();

    let made = restore::add_worktree(&repository, &dir, head).unwrap();
    restore::checkout(&made, &record, Place::NewWorktree, Flagging::WhereEqual).unwrap();

    assert_eq!(
        git(&bare, &["rev-parse", "--is-bare-repository"]).trim(),
        "true"
    );
    assert_eq!(
        git(&dir, &["rev-parse", "--is-bare-repository"]).trim(),
        "false"
    );
    assert_eq!(git(&dir, &["config", "core.autocrlf"]).trim(), "input");
    assert_eq!(git(&dir, &["status", "--porcelain"]), "");
}

#[test]
fn a_cherry_pick_in_a_linked_worktree_is_its_own() {
    let producer = Producer::new();
    producer.write("a", "base\n");
    producer.commit("base");
    producer.write("a", "two\n");
    producer.commit("two");
    producer.git(&["checkout", "-q", "-b", "side", "HEAD~1"]);
    producer.write("a", "side\n");
    producer.commit("side");
    assert!(!git_outcome(&producer.path(), &["cherry-pick", "main"], &[], b"").0);
    let record = producer.record();
    producer.git(&["cherry-pick", "--abort"]);

    let (dir, _) = restore_linked(&producer, &record);

    assert_eq!(
        git(&dir, &["rev-parse", "CHERRY_PICK_HEAD"]),
        producer.git(&["rev-parse", "main"])
    );
    assert!(!producer.path().join(".git/CHERRY_PICK_HEAD").exists());
    assert_eq!(git(&dir, &["ls-files", "--unmerged"]).lines().count(), 3);
}
