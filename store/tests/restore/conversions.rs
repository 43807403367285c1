//! Line ends, ids, encodings, raw bytes and filter drivers.

use std::fs;

use store::{
    repo_path::RepoPath,
    repository::Repository,
    restore::{self, Flagging, Place},
};

use crate::{
    fresh::{assert_same, restore_beside},
    in_place::{in_the_way, restore_over},
    producer::Producer,
    world::{contents, git, git_outcome},
};

#[test]
fn conversions_of_the_producer_are_applied_and_become_configuration() {
    for (autocrlf, eol) in [
        ("true", "native"),
        ("input", "native"),
        ("false", "crlf"),
        ("false", "lf"),
    ] {
        let producer = Producer::new();
        producer.git(&["config", "core.autocrlf", autocrlf]);
        producer.git(&["config", "core.eol", eol]);
        producer.write(
            ".gitattributes",
            "*.txt text\n*.id ident\n*.bin binary\n*.u16 working-tree-encoding=UTF-16LE text\n*.bom working-tree-encoding=UTF-16LE-BOM text\n*.utf16 working-tree-encoding=UTF-16 text\n*.latin working-tree-encoding=ISO-8859-1 text\n",
        );
        producer.write("lines.txt", "one\r\ntwo\r\n");
        producer.write(
            "sub/.gitattributes",
            "lf.txt text eol=lf\ncrlf.txt text eol=crlf\n",
        );
        producer.write("sub/lf.txt", "one\ntwo\n");
        producer.write("sub/crlf.txt", "one\r\ntwo\r\n");
        producer.write("auto", "one\r\ntwo\r\n");
        producer.write("lf", "one\ntwo\n");
        producer.write("x.id", "$Id$\n");
        producer.write("x.bin", "one\r\n\0\n");
        producer.write(
            "x.bom",
            "\u{feff}öne\n"
                .encode_utf16()
                .flat_map(u16::to_le_bytes)
                .collect::<Vec<u8>>(),
        );
        producer.write(
            "x.utf16",
            "\u{feff}öne\n"
                .encode_utf16()
                .flat_map(u16::to_le_bytes)
                .collect::<Vec<u8>>(),
        );
        producer.write("x.latin", b"\xf6ne\n");
        producer.write("x.u16", "o\0n\0e\0\n\0");
        producer.commit("base");
        // As Git checks it out, with the id expanded.
        fs::remove_file(producer.path().join("x.id")).unwrap();
        producer.git(&["checkout", "--", "x.id"]);
        producer.write("mixed", "one\r\ntwo\n");

        let record = producer.record();
        let (dir, _) = restore_beside(&producer, &record);

        assert_same(&producer, &dir);
        assert_eq!(git(&dir, &["config", "core.autocrlf"]).trim(), autocrlf);
        assert_eq!(git(&dir, &["config", "core.eol"]).trim(), eol);
        let touched = git_outcome(
            &dir,
            &[
                "-c",
                "core.checkStat=minimal",
                "update-index",
                "-q",
                "--really-refresh",
            ],
            &[],
            b"",
        );
        assert!(touched.0, "{}", touched.2);
        assert_same(&producer, &dir);
    }
}

#[test]
fn raw_bytes_win_over_every_conversion() {
    let producer = Producer::new();
    producer.git(&["config", "core.autocrlf", "true"]);
    producer.write("mixed", "one\r\ntwo\nthree\r\n");
    producer.write("plain", "one\ntwo\n");
    producer.commit("base");

    let record = producer.record();
    assert!(record.root.raw.is_some());
    let (dir, _) = restore_beside(&producer, &record);

    assert_same(&producer, &dir);
}

#[test]
fn no_filter_driver_runs_and_its_paths_are_listed() {
    let producer = Producer::new();
    producer.write(".gitattributes", "*.big filter=store\n");
    producer.write("a.big", "stored version\n");
    producer.write("b", "plain\n");
    producer.commit("base");
    let record = producer.record();
    let source = producer.repository();
    let dir = producer.beside("receiver");
    let repository = restore::init(&dir, source.hash_kind()).unwrap();
    restore::copy_objects(
        &source,
        &repository,
        &[(record.id, record.scope().to_ref())],
    )
    .unwrap();
    let ran = producer.beside("ran");
    let command = format!("touch {}; cat", ran.display());
    git(&dir, &["config", "filter.store.smudge", &command]);
    git(&dir, &["config", "filter.store.clean", &command]);
    git(&dir, &["config", "filter.store.required", "true"]);
    let hook = dir.join(".git/hooks/post-checkout");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, format!("#!/bin/sh\ntouch {}\n", ran.display())).unwrap();
    for name in [
        "post-checkout",
        "reference-transaction",
        "post-index-change",
    ] {
        let hook = dir.join(".git/hooks").join(name);
        fs::write(&hook, format!("#!/bin/sh\ntouch {}\n", ran.display())).unwrap();
        fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    let repository = Repository::at_git_dir(repository.git_dir()).unwrap();

    let restored = restore::checkout(
        &repository,
        &record,
        Place::NewRepository,
        Flagging::WhereEqual,
    )
    .unwrap();

    assert_eq!(restored.filtered, [RepoPath::from_bytes(b"a.big").unwrap()]);
    assert_eq!(contents(&producer.path()), contents(&dir));
    assert!(!ran.exists());
}

#[test]
fn paths_that_other_conversions_here_show_as_changed_are_listed() {
    let producer = Producer::new();
    producer.git(&["config", "core.autocrlf", "true"]);
    producer.write("crlf", "one\r\n");
    producer.write("marked", "one\r\n");
    producer.write(".gitattributes", "marked text eol=crlf\n");
    producer.commit("base");
    let record = producer.record();
    let receiver = producer.clone_with(&record);
    receiver.git(&["config", "core.autocrlf", "false"]);

    let restored = restore_over(&receiver, &record, &[]).unwrap();

    assert_eq!(fs::read(receiver.path().join("crlf")).unwrap(), b"one\r\n");
    assert_eq!(restored.converted, [RepoPath::from_bytes(b"crlf").unwrap()]);
    let touch = |name: &str| {
        let content = fs::read(receiver.path().join(name)).unwrap();
        fs::remove_file(receiver.path().join(name)).unwrap();
        receiver.write(name, content);
    };
    ["crlf", "marked"].iter().for_each(|name| touch(name));
    assert_eq!(receiver.git(&["status", "--porcelain"]), " M crlf\n");
}

#[test]
fn a_file_that_a_filter_has_filled_in_here_stays_filled_in() {
    let producer = Producer::new();
    producer.write(".gitattributes", "*.big filter=store\n");
    producer.write("same.big", "stored\n");
    producer.write("other.big", "stored\n");
    producer.commit("base");
    let base = producer.record();
    let receiver = producer.clone_with(&base);
    receiver.git(&["config", "filter.store.clean", "sed s/^FILLED-//"]);
    receiver.git(&["config", "filter.store.smudge", "sed s/^/FILLED-/"]);
    fs::remove_file(receiver.path().join("same.big")).unwrap();
    fs::remove_file(receiver.path().join("other.big")).unwrap();
    receiver.git(&["checkout", "-q", "--", "."]);
    producer.write("a", "new\n");
    let record = producer.record();
    receiver.fetch(&producer, &record);

    let restored = restore_over(&receiver, &record, &["same.big", "other.big"]).unwrap();

    assert_eq!(restored.filtered, []);
    assert_eq!(
        fs::read(receiver.path().join("same.big")).unwrap(),
        b"FILLED-stored\n"
    );
    assert_eq!(receiver.git(&["status", "--porcelain"]), "?? a\n");
    producer.write("other.big", "changed\n");
    let record = producer.record();
    receiver.fetch(&producer, &record);
    assert_eq!(
        in_the_way(restore_over(&receiver, &record, &["same.big", "other.big"])),
        ["other.big"]
    );
}
