//! Runs that are killed, and the run after.

use std::{fs, path::Path};

use store::{
    error_code::ErrorCode,
    restore::{self, Captured, Flagging, Place},
};

use crate::{
    fresh::{assert_same, restore_into},
    producer::Producer,
    world::{child_test, contents},
};

const FILES: usize = 400;

fn producer_of_many() -> Producer {
    let producer = Producer::new();
    for n in 0..FILES {
        producer.write(
            format!("d{}/f{n}", n / 40),
            format!("file {n}\n").repeat(n % 50),
        );
    }
    producer.commit("base");
    for n in (0..FILES).step_by(3) {
        producer.write(format!("d{}/f{n}", n / 40), format!("changed {n}\n"));
    }
    let record = producer.record();
    producer.git(&["update-ref", "refs/kept/record", &record.id.to_string()]);
    producer
}

/// Kills a child test as soon as `seen` exists; it may have ended before.
fn kill_at(name: &str, producer: &Path, seen: &Path) {
    let mut child = child_test(name, |command| {
        command.env("CHILD_PRODUCER", producer);
    });
    while !seen.exists() && child.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_killed_restore_into_a_new_directory_is_completed_by_the_next() {
    let producer = producer_of_many();
    let record = producer.kept_record();
    let dir = producer.beside("receiver");
    for seen in [".git/handoff/restoring", "d9/f390", ".git/index"] {
        kill_at("fresh::child_restores", &producer.path(), &dir.join(seen));

        if dir.join(".git").exists() && !dir.join(".git/handoff/restoring").exists() {
            // It ended before it could be killed, or was killed before its repository was made.
            fs::remove_dir_all(&dir).unwrap();
        }
        restore_into(&producer, &record, &dir).unwrap();

        assert_same(&producer, &dir);
        fs::remove_dir_all(&dir).unwrap();
    }
}

#[test]
fn a_half_written_file_is_written_again_and_anything_else_is_kept() {
    let producer = producer_of_many();
    let record = producer.kept_record();
    let dir = producer.beside("receiver");
    let source = producer.repository();
    restore::init(&dir, source.hash_kind()).unwrap();
    fs::create_dir(dir.join("d0")).unwrap();
    fs::write(dir.join("d0/f1"), "fil").unwrap();
    restore_into(&producer, &record, &dir).unwrap();
    assert_same(&producer, &dir);

    fs::remove_dir_all(&dir).unwrap();
    restore::init(&dir, source.hash_kind()).unwrap();
    fs::create_dir(dir.join("d0")).unwrap();
    fs::write(dir.join("d0/f1"), "mine").unwrap();
    let error = restore_into(&producer, &record, &dir).unwrap_err();

    assert_eq!(error.code(), ErrorCode::DirectoryNotEmpty);
    assert!(error.to_string().contains("`d0/f1`"), "{error}");
    assert_eq!(fs::read(dir.join("d0/f1")).unwrap(), b"mine");
}

#[test]
fn a_directory_with_an_interrupted_restore_of_another_record_is_refused() {
    let producer = producer_of_many();
    let record = producer.kept_record();
    let dir = producer.beside("receiver");
    restore::init(&dir, producer.repository().hash_kind()).unwrap();
    fs::write(dir.join(".git/handoff/restoring"), "1".repeat(40)).unwrap();

    let error = restore_into(&producer, &record, &dir).unwrap_err();

    assert_eq!(error.code(), ErrorCode::DirectoryNotEmpty);
    assert!(error.to_string().contains(&"1".repeat(40)), "{error}");
}

#[test]
fn a_killed_restore_in_place_leaves_whole_files_and_is_completed_by_the_next() {
    let producer = producer_of_many();
    let record = producer.kept_record();
    let repository = producer.repository();
    let target = contents(&producer.path());
    let base = |producer: &Producer| producer.git(&["reset", "-q", "--hard"]);
    base(&producer);
    let source = contents(&producer.path());
    for seen in ["restoring", "restoring.in"] {
        kill_at(
            "interrupted::child_restores_in_place",
            &producer.path(),
            &producer.path().join(".git/handoff").join(seen),
        );

        for (path, found) in contents(&producer.path()) {
            let temporary = path.contains(&b'.');
            assert!(
                temporary || target.get(&path) == Some(&found) || source.get(&path) == Some(&found)
            );
        }
        let mut capture = || Ok(captured(&producer));
        restore::checkout(
            &repository,
            &record,
            Place::InPlace(&mut capture),
            Flagging::WhereEqual,
        )
        .unwrap();

        assert_eq!(contents(&producer.path()), target);
        assert!(!producer.path().join(".git/handoff/restoring").exists());
        base(&producer);
    }
}

#[test]
fn the_file_that_a_killed_run_was_writing_is_removed() {
    let producer = producer_of_many();
    let record = producer.kept_record();
    let repository = producer.repository();
    let target = contents(&producer.path());
    let name = format!(".handoff-{}", &record.id.to_string()[..16]);
    producer.write(Path::new("d1").join(&name), "half");
    fs::create_dir_all(producer.path().join(".git/handoff")).unwrap();
    fs::write(
        producer.path().join(".git/handoff/restoring"),
        record.id.to_string(),
    )
    .unwrap();
    fs::write(producer.path().join(".git/handoff/restoring.in"), "d1").unwrap();

    let mut capture = || Ok(captured(&producer));
    restore::checkout(
        &repository,
        &record,
        Place::InPlace(&mut capture),
        Flagging::WhereEqual,
    )
    .unwrap();

    assert_eq!(contents(&producer.path()), target);
}

#[test]
fn the_index_lock_that_a_killed_run_left_is_taken_away() {
    let producer = producer_of_many();
    let record = producer.kept_record();
    let repository = producer.repository();
    let git_dir = producer.path().join(".git");
    fs::write(git_dir.join("index.handoff"), "half").unwrap();
    fs::hard_link(git_dir.join("index.handoff"), git_dir.join("index.lock")).unwrap();

    let mut capture = || Ok(captured(&producer));
    let place = Place::InPlace(&mut capture);
    restore::checkout(&repository, &record, place, Flagging::WhereEqual).unwrap();

    assert!(!git_dir.join("index.lock").exists());
    assert!(!git_dir.join("index.handoff").exists());
    producer.git(&["status"]);
}

#[test]
#[ignore = "run in a process of its own by other tests"]
fn child_restores_in_place() {
    let producer = Producer::at(std::env::var_os("CHILD_PRODUCER").unwrap().into());
    let record = producer.kept_record();
    let mut capture = || Ok(captured(&producer));
    let place = Place::InPlace(&mut capture);
    restore::checkout(&producer.repository(), &record, place, Flagging::WhereEqual).unwrap();
}

fn captured(producer: &Producer) -> Captured {
    Captured {
        worktree_tree: producer.worktree_tree(),
        omitted: Vec::new(),
        empty_directories: Vec::new(),
        kept: Vec::new(),
    }
}

#[test]
fn what_does_not_belong_in_a_new_directory_is_named_and_kept() {
    let producer = producer_of_many();
    let record = producer.kept_record();
    let dir = producer.beside("receiver");
    restore::init(&dir, producer.repository().hash_kind()).unwrap();
    fs::create_dir_all(dir.join("d0")).unwrap();
    fs::write(dir.join("d0/mine"), "precious").unwrap();

    let error = restore_into(&producer, &record, &dir).unwrap_err();

    assert_eq!(error.code(), ErrorCode::TreeMismatch);
    assert!(error.to_string().contains("`d0/mine`"), "{error}");
    fs::remove_file(dir.join("d0/mine")).unwrap();
    restore_into(&producer, &record, &dir).unwrap();
    assert_same(&producer, &dir);
}
