//! Records and receivers that mean harm.

use std::{fs, os::unix::fs::symlink};

use gix::prelude::Write as _;
use store::{
    error_code::ErrorCode,
    restore::{self, Captured, Flagging, Place},
    verify::{self, Depth},
};

use crate::{fresh::restore_into, producer::Producer, world::contents};

/// Writes a tree object of entries that Git itself would refuse.
fn tree(producer: &Producer, entries: &[(&str, &str, gix::ObjectId)]) -> gix::ObjectId {
    let mut data = Vec::new();
    for (mode, name, id) in entries {
        data.extend_from_slice(format!("{mode} {name}\0").as_bytes());
        data.extend_from_slice(id.as_bytes());
    }
    producer
        .repository()
        .gix()
        .objects
        .write_buf(gix::objs::Kind::Tree, &data)
        .unwrap()
}

#[test]
fn trees_that_lead_outside_are_refused_before_anything_is_written() {
    let producer = Producer::new();
    producer.write("a", "1");
    producer.commit("base");
    let repository = producer.repository();
    let blob = repository.gix().write_blob(b"/outside").unwrap().detach();
    let below = tree(&producer, &[("100644", "b", blob)]);
    let write = |bytes: &[u8]| repository.gix().write_blob(bytes).unwrap().detach();
    let hostile = [
        tree(&producer, &[("40000", ".git", below)]),
        tree(&producer, &[("40000", ".GIT", below)]),
        tree(&producer, &[("40000", "git~1", below)]),
        tree(&producer, &[("40000", "..", below)]),
        tree(&producer, &[("100644", "../b", blob)]),
        tree(&producer, &[("120000", "a", blob), ("40000", "a", below)]),
        tree(&producer, &[("120000", ".gitmodules", blob)]),
        tree(&producer, &[("100644", "b", blob), ("100644", "a", blob)]),
        tree(&producer, &[("100644", "a", blob), ("100644", "a", blob)]),
        tree(&producer, &[("100644", "a", blob), ("40000", "a", below)]),
        tree(&producer, &[("40000", ".git.", below)]),
        tree(&producer, &[("40000", ".git ", below)]),
        tree(&producer, &[("40000", ".git...", below)]),
        tree(&producer, &[("40000", ".git::$DATA", below)]),
        tree(&producer, &[("40000", "GIT~1", below)]),
        tree(&producer, &[("40000", ".g\u{200d}it", below)]),
        tree(&producer, &[("40000", "\u{feff}.GIT", below)]),
        tree(&producer, &[("100644", "a\\.git\\hooks", blob)]),
        tree(&producer, &[("100644", "a/b", blob)]),
        tree(&producer, &[("100644", "", blob)]),
        tree(&producer, &[("100644", ".", blob)]),
        tree(&producer, &[("120000", ".gitmodule\u{200c}s", blob)]),
        tree(&producer, &[("120000", "gitmod~1", blob)]),
        tree(&producer, &[("100666", "a", blob)]),
        tree(&producer, &[("100664", "a", blob)]),
        tree(&producer, &[("120777", "a", blob)]),
        tree(&producer, &[("040000", "a", below)]),
        tree(&producer, &[("160000", ".git", blob)]),
        tree(&producer, &[("120000", "a", write(b""))]),
        tree(&producer, &[("120000", "a", write(b"b\0c"))]),
        tree(&producer, &[("120000", "a", write(&[b'a'; 4_096]))]),
    ];
    for hostile in hostile {
        let id = producer.write_record(|root, _| root.worktree = hostile);
        let verification = verify::record(repository.gix(), id, None, None, Depth::Objects);
        assert!(verification.into_result().is_err(), "{hostile}");
    }
}

#[test]
fn a_directory_that_became_a_link_is_not_written_through() {
    let producer = Producer::new();
    producer.write("d/deep/file", "1");
    producer.write("e", "2");
    producer.commit("base");
    let record = producer.record();
    let (dir, outside) = (producer.beside("receiver"), producer.beside("outside"));
    fs::create_dir_all(outside.join("deep")).unwrap();
    let source = producer.repository();
    let repository = restore::init(&dir, source.hash_kind()).unwrap();
    restore::copy_objects(
        &source,
        &repository,
        &[(record.id, record.scope().to_ref())],
    )
    .unwrap();
    symlink(&outside, dir.join("d")).unwrap();
    symlink(outside.join("e"), dir.join("e")).unwrap();

    let error = restore::checkout(
        &repository,
        &record,
        Place::NewRepository,
        Flagging::WhereEqual,
    )
    .unwrap_err();

    assert!(
        matches!(error.code(), ErrorCode::Io | ErrorCode::DirectoryNotEmpty),
        "{error}"
    );
    assert_eq!(contents(&outside).len(), 1);
    assert_eq!(fs::read_link(dir.join("e")).unwrap(), outside.join("e"));
}

#[test]
fn a_directory_that_becomes_a_link_after_the_capture_is_not_followed() {
    let producer = Producer::new();
    producer.write("d/file", "1");
    producer.commit("base");
    let base = producer.record();
    let receiver = producer.clone_with(&base);
    producer.write("d/file", "2");
    producer.write("d/new", "3");
    let record = producer.record();
    receiver.fetch(&producer, &record);
    let outside = receiver.beside("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("file"), "precious").unwrap();
    let repository = receiver.repository();
    let mut capture = || {
        let worktree_tree = receiver.worktree_tree();
        fs::remove_dir_all(receiver.path().join("d")).unwrap();
        symlink(&outside, receiver.path().join("d")).unwrap();
        Ok(Captured {
            worktree_tree,
            omitted: Vec::new(),
            empty_directories: Vec::new(),
            kept: Vec::new(),
        })
    };

    let place = Place::InPlace(&mut capture);
    let error = restore::checkout(&repository, &record, place, Flagging::WhereEqual).unwrap_err();

    assert_eq!(error.code(), ErrorCode::DirectoryNotEmpty, "{error}");
    assert_eq!(fs::read(outside.join("file")).unwrap(), b"precious");
    assert_eq!(contents(&outside).len(), 1);
}

#[test]
fn a_link_that_the_record_makes_is_not_written_through() {
    let producer = Producer::new();
    producer.write("d/file", "1");
    producer.commit("base");
    let base = producer.record();
    let receiver = producer.clone_with(&base);
    let outside = producer.beside("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("file"), "precious").unwrap();
    fs::remove_dir_all(producer.path().join("d")).unwrap();
    symlink(&outside, producer.path().join("d")).unwrap();
    let record = producer.record();
    receiver.fetch(&producer, &record);
    let repository = receiver.repository();
    let mut capture = || {
        Ok(Captured {
            worktree_tree: receiver.worktree_tree(),
            omitted: Vec::new(),
            empty_directories: Vec::new(),
            kept: Vec::new(),
        })
    };

    restore::checkout(
        &repository,
        &record,
        Place::InPlace(&mut capture),
        Flagging::WhereEqual,
    )
    .unwrap();
    receiver.fetch(&producer, &base);
    restore::checkout(
        &repository,
        &base,
        Place::InPlace(&mut capture),
        Flagging::WhereEqual,
    )
    .unwrap();

    assert_eq!(fs::read(outside.join("file")).unwrap(), b"precious");
    assert_eq!(fs::read(receiver.path().join("d/file")).unwrap(), b"1");
}

#[test]
fn a_tree_that_no_disk_can_hold_is_a_mismatch() {
    let producer = Producer::new();
    producer.write("a", "1");
    producer.commit("base");
    let blob = producer
        .repository()
        .gix()
        .write_blob(b"1")
        .unwrap()
        .detach();
    let empty = tree(&producer, &[]);
    let odd = tree(
        &producer,
        &[("100644", "a", blob), ("40000", "empty", empty)],
    );
    let record = producer.record_with(|root, _| root.worktree = odd);

    let error = restore_into(&producer, &record, &producer.beside("receiver")).unwrap_err();

    assert_eq!(error.code(), ErrorCode::TreeMismatch);
    assert!(!producer.beside("receiver/.git/index").exists());
}

#[test]
fn a_path_that_is_staged_and_to_be_added_at_once_is_refused() {
    let producer = Producer::new();
    producer.write("a", "1");
    producer.commit("base");
    let id = producer.write_record(|_, content| {
        content.worktree.intent_to_add = vec![store::contract::IntentToAdd {
            path: store::repo_path::RepoPath::from_bytes(b"a").unwrap(),
            mode: store::contract::FileMode::Regular,
        }]
        .into();
    });
    let repository = producer.repository();

    let verification = verify::record(repository.gix(), id, None, None, Depth::Objects);

    let violation = verification.into_result().unwrap_err();
    assert_eq!(violation.code, ErrorCode::MalformedManifest);
}
