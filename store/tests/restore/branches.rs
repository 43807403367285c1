//! Which branch `HEAD` ends on in an existing repository, and which may move.

use store::{error_code::ErrorCode, restore::RestoredBranch};

use crate::{
    in_place::{assert_same, producer_with_work, restore_over},
    producer::Producer,
    world::git_outcome,
};

#[test]
fn the_branch_that_head_is_on_is_moved_forward() {
    let producer = Producer::new();
    producer.write("a", "1");
    producer.commit("one");
    let base = producer.record();
    let receiver = producer.clone_with(&base);
    producer.write("a", "2");
    let tip = producer.commit("two");
    let record = producer.record();
    receiver.fetch(&producer, &record);

    restore_over(&receiver, &record, &[]).unwrap();

    assert_eq!(
        receiver.git(&["symbolic-ref", "HEAD"]).trim(),
        "refs/heads/main"
    );
    assert_eq!(receiver.git(&["rev-parse", "main"]).trim(), tip);
    assert_same(&producer, &receiver);
}

#[test]
fn a_branch_is_never_moved_back_or_aside() {
    let producer = Producer::new();
    producer.write("a", "1");
    let first = producer.commit("one");
    let record = producer.record();
    let receiver = producer.clone_with(&record);
    receiver.write("b", "mine");
    let mine = receiver.commit("mine");

    let restored = restore_over(&receiver, &record, &[]).unwrap();

    assert_eq!(
        restored.branch,
        RestoredBranch::Beside("refs/heads/main".try_into().unwrap())
    );
    assert_eq!(receiver.git(&["rev-parse", "HEAD"]).trim(), first);
    assert_eq!(receiver.git(&["rev-parse", "main"]).trim(), mine);
    assert!(!git_outcome(&receiver.path(), &["symbolic-ref", "-q", "HEAD"], &[], b"").0);
}

#[test]
fn a_branch_that_is_not_here_is_not_made_in_an_existing_repository() {
    let producer = Producer::new();
    producer.write("a", "1");
    producer.commit("one");
    let base = producer.record();
    let receiver = producer.clone_with(&base);
    producer.git(&["checkout", "-q", "-b", "feature"]);
    producer.write("a", "2");
    let tip = producer.commit("two");
    let record = producer.record();
    receiver.fetch(&producer, &record);

    let restored = restore_over(&receiver, &record, &[]).unwrap();

    assert_eq!(
        restored.branch,
        RestoredBranch::Beside("refs/heads/feature".try_into().unwrap())
    );
    assert_eq!(receiver.git(&["rev-parse", "HEAD"]).trim(), tip);
    assert!(
        !git_outcome(
            &receiver.path(),
            &["rev-parse", "-q", "--verify", "feature"],
            &[],
            b""
        )
        .0
    );
}

#[test]
fn a_branch_of_another_worktree_is_left_to_it() {
    let producer = Producer::new();
    producer.write("a", "1");
    producer.commit("one");
    producer.git(&["checkout", "-q", "-b", "feature"]);
    let record = producer.record();
    let receiver = producer.clone_with(&record);
    receiver.git(&["checkout", "-q", "--detach"]);
    let other = receiver.beside("other");
    receiver.git(&["worktree", "add", "-q", other.to_str().unwrap(), "feature"]);

    let restored = restore_over(&receiver, &record, &[]).unwrap();

    assert_eq!(
        restored.branch,
        RestoredBranch::Beside("refs/heads/feature".try_into().unwrap())
    );
    receiver.git(&["worktree", "remove", "--force", other.to_str().unwrap()]);
    let restored = restore_over(&receiver, &record, &[]).unwrap();
    assert_eq!(
        restored.branch,
        RestoredBranch::On("refs/heads/feature".try_into().unwrap())
    );
}

#[test]
fn a_record_of_an_unborn_branch_is_refused_where_the_branch_is_born() {
    let producer = Producer::new();
    producer.write("a", "1");
    producer.git(&["add", "a"]);
    let record = producer.record();
    let receiver = producer.clone_with(&record);
    receiver.write("b", "2");
    receiver.commit("mine");

    let error = restore_over(&receiver, &record, &[]).unwrap_err();

    assert_eq!(error.code(), ErrorCode::DirectoryNotEmpty);
    assert!(receiver.path().join("b").exists());
}

#[test]
fn an_unborn_branch_here_is_born_with_the_recorded_commit() {
    let producer = producer_with_work();
    let record = producer.record();
    let receiver = Producer::new();
    receiver.fetch(&producer, &record);

    let restored = restore_over(&receiver, &record, &[]).unwrap();

    assert_eq!(
        restored.branch,
        RestoredBranch::On("refs/heads/main".try_into().unwrap())
    );
    assert_same(&producer, &receiver);
}
