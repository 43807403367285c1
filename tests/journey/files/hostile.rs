//! Files from strangers: one clear error, and nothing is left of them.

use std::{fs, path::PathBuf};

use super::{export, file, leftovers, next, saved};
use crate::{people::error_code, world::World};

/// Tries a file with every command that takes one; each refuses with the code and leaves nothing.
#[track_caller]
fn refused(world: &World, name: &str, code: &str) {
    let victim = world.directory("victim");
    if !victim.join(".git").exists() {
        world.git(&victim, ["init", "-q"]).ok();
    }
    let bundle = file(world, name);
    let state = || {
        let refs = world.git(&victim, ["for-each-ref"]).ok().stdout();
        refs + &world.git(&victim, ["count-objects", "-v"]).ok().stdout()
    };
    let before = state();
    let commands: [&[&str]; 5] = [
        &["import", &bundle],
        &["show", &bundle],
        &["verify", &bundle],
        &["restore", &bundle, "restored"],
        &["restore", &bundle, "--in-place"],
    ];
    for command in commands {
        let output = world.handoff(&victim, [command, &["--json"]].concat());
        assert_ne!(output.exit_code(), Some(0), "{command:?}");
        match output.json()["format"].as_str() {
            // It was opened, and each fault is named.
            Some("handoff-cli.verify.v1") => {
                let text = output.stdout();
                assert!(text.contains(&format!("\"code\":\"{code}\"")), "{text}");
            }
            _ => assert_eq!(
                error_code(&output),
                code,
                "{command:?}: {}",
                output.stdout()
            ),
        }
        assert!(!victim.join("restored").exists(), "{command:?}");
    }
    assert_eq!(state(), before);
    assert_eq!(leftovers(world), Vec::<PathBuf>::new());
}

#[test]
fn what_is_no_bundle_is_named_so() {
    let world = World::new();
    fs::write(world.root().join("text"), "hello\n").unwrap();
    refused(&world, "text", "MALFORMED_MANIFEST");
    fs::write(world.root().join("empty"), "").unwrap();
    refused(&world, "empty", "MALFORMED_MANIFEST");
    refused(&world, "absent", "NOT_FOUND");
    fs::create_dir(world.root().join("directory")).unwrap();
    let directory = file(&world, "directory");
    let shown = world
        .handoff(world.root(), ["show", &directory, "--json"])
        .code(1);
    assert_eq!(error_code(&shown), "IO");
    let verified = world
        .handoff(world.root(), ["verify", &directory, "--json"])
        .code(4);
    assert_eq!(error_code(&verified), "MALFORMED_MANIFEST");
    let shown = world.handoff(world.root(), ["show", "./text"]).code(4);
    insta::assert_snapshot!(world.normal(&shown.stderr()), @"error: ./text cannot be taken: it is no Git bundle [MALFORMED_MANIFEST]");
}

#[test]
fn a_file_that_was_cut_short_or_damaged_is_not_taken() {
    let world = World::new();
    let here = saved(&world);
    export(&world, &here, "work", &file(&world, "whole"));
    let whole = fs::read(world.root().join("whole")).unwrap();
    let pack = whole
        .windows(4)
        .position(|window| window == b"PACK")
        .unwrap();
    for cut in [
        20,
        pack - 1,
        pack,
        pack + 11,
        (pack + whole.len()) / 2,
        whole.len() - 1,
    ] {
        fs::write(world.root().join("cut"), &whole[..cut]).unwrap();
        refused(&world, "cut", "MISSING_OBJECT");
    }
    let mut flipped = whole.clone();
    let middle = (pack + whole.len()) / 2;
    flipped[middle] ^= 0x20;
    fs::write(world.root().join("flipped"), flipped).unwrap();
    refused(&world, "flipped", "MISSING_OBJECT");
    // What stands behind the pack does not count.
    fs::write(
        world.root().join("longer"),
        [whole.as_slice(), b"tail"].concat(),
    )
    .unwrap();
    world.handoff(world.root(), ["verify", "./longer"]);
}

#[test]
fn a_header_that_is_too_large_or_unknown_is_refused() {
    let world = World::new();
    let line = format!("{} refs/handoff/a\n", "1".repeat(40));
    let huge = "# v2 git bundle\n".to_owned() + &line.repeat(30_000);
    fs::write(world.root().join("huge"), huge).unwrap();
    refused(&world, "huge", "LIMIT_EXCEEDED");
    let later = format!("# v4 git bundle\n{line}\n");
    fs::write(world.root().join("later"), later).unwrap();
    refused(&world, "later", "UNSUPPORTED_VERSION");
    let filtered = format!("# v3 git bundle\n@filter=blob:none\n{line}\n");
    fs::write(world.root().join("filtered"), filtered).unwrap();
    refused(&world, "filtered", "UNSUPPORTED_VERSION");
    let twice = format!("# v2 git bundle\n{line}{line}\n");
    fs::write(world.root().join("twice"), twice).unwrap();
    refused(&world, "twice", "MALFORMED_MANIFEST");
    fs::write(world.root().join("none"), "# v2 git bundle\n\n").unwrap();
    refused(&world, "none", "MALFORMED_MANIFEST");
}

#[test]
fn refs_that_are_no_scopes_are_refused() {
    let world = World::new();
    let here = saved(&world);
    let (branch, tip) = ("refs/heads/main", "refs/handoff/work");
    let args = [
        "bundle",
        "create",
        "-q",
        &file(&world, "branch"),
        branch,
        tip,
    ];
    world.git(&here, args).ok();
    refused(&world, "branch", "REF_OUTSIDE_NAMESPACE");
    let id = world.git(&here, ["rev-parse", tip]).ok().line();
    for name in [
        "refs/handoff/../heads/main",
        "refs/handoff/a/b",
        "refs/Handoff/work",
        "HEAD",
        "refs/handoff/\u{1b}[31m",
    ] {
        let header = format!("# v2 git bundle\n{id} {name}\n\nPACK");
        fs::write(world.root().join("outside"), header).unwrap();
        refused(&world, "outside", "REF_OUTSIDE_NAMESPACE");
        let shown = world.handoff(world.root(), ["show", "./outside"]).code(5);
        assert!(!shown.stderr().contains('\u{1b}'), "{}", shown.stderr());
    }
}

#[test]
fn a_commit_that_is_no_record_is_not_believed() {
    let world = World::new();
    let here = saved(&world);
    world
        .git(&here, ["update-ref", "refs/handoff/code", "HEAD"])
        .ok();
    let args = [
        "bundle",
        "create",
        "-q",
        &file(&world, "code"),
        "refs/handoff/code",
    ];
    world.git(&here, args).ok();
    refused(&world, "code", "MALFORMED_MANIFEST");
    // A record under another scope's name.
    world
        .git(
            &here,
            ["update-ref", "refs/handoff/other", "refs/handoff/work"],
        )
        .ok();
    let args = [
        "bundle",
        "create",
        "-q",
        &file(&world, "other"),
        "refs/handoff/other",
    ];
    world.git(&here, args).ok();
    refused(&world, "other", "SCOPE_MISMATCH");
}

#[test]
fn a_file_that_lacks_an_object_is_not_taken() {
    let world = World::new();
    let here = saved(&world);
    next(&world, &here, "second");
    // The header says that it is whole, and it is not.
    let tip = world
        .git(&here, ["rev-parse", "refs/handoff/work"])
        .ok()
        .line();
    let args = [
        "bundle",
        "create",
        "-q",
        &file(&world, "part"),
        "refs/handoff/work",
        "^HEAD",
    ];
    world.git(&here, args).ok();
    let part = fs::read(world.root().join("part")).unwrap();
    let pack = part
        .windows(4)
        .position(|window| window == b"PACK")
        .unwrap();
    let header = format!("# v2 git bundle\n{tip} refs/handoff/work\n\n");
    fs::write(
        world.root().join("lying"),
        [header.as_bytes(), &part[pack..]].concat(),
    )
    .unwrap();
    refused(&world, "lying", "MISSING_OBJECT");
}
