//! The independent route: manifest, patch, bundle, archive and checksums, taken by Git, tar and sha256sum alone.

use std::{
    ffi::OsStr,
    fs,
    os::unix::{ffi::OsStrExt, fs::PermissionsExt},
    path::{Path, PathBuf},
};

use serde_json::json;

use super::{file, leftovers, next, saved};
use crate::{
    hand_over::{project, stop_in_the_middle, strict_server},
    people::{self, agent, error_code},
    world::World,
};

/// Writes the artifacts of `work` and returns their directory.
fn artifacts(world: &World, dir: &Path) -> PathBuf {
    let to = file(world, "artifacts");
    world
        .handoff(dir, ["export", "work", "--artifacts", &to])
        .ok();
    to.into()
}

#[test]
fn git_and_tar_bring_the_work_back_without_our_refs() {
    people::with_each_git(|world| {
        let here = project(world, &strict_server(world));
        stop_in_the_middle(world, &here);
        let saved = agent(world, &here, ["save", "work", "--json"]).ok().json();
        let to = artifacts(world, &here);
        assert_eq!(
            super::places::names(&to),
            [
                "SHA256SUMS",
                "manifest.cbor",
                "objects.bundle",
                "patch",
                "untracked.tar.gz"
            ]
        );
        world
            .run("sha256sum", &to, ["--check", "--quiet", "SHA256SUMS"])
            .ok();
        let args = ["clone", "-q", "artifacts/objects.bundle", "clone"];
        world.git(world.root(), args).ok();
        let clone = world.root().join("clone");
        let refs = world.git(&clone, ["for-each-ref", "refs/handoff"]).ok();
        assert_eq!(refs.stdout(), "");
        world
            .git(
                &clone,
                [
                    "apply",
                    "--cached",
                    "--whitespace=nowarn",
                    "../artifacts/patch",
                ],
            )
            .ok();
        let tree = world.git(&clone, ["write-tree"]).ok().line();
        assert_eq!(saved["worktreeTree"], tree);
        // The archive holds the untracked files as they are here, byte for byte.
        let unpacked = world.directory("unpacked");
        world
            .run("tar", &unpacked, ["-xzf", "../artifacts/untracked.tar.gz"])
            .ok();
        let listed = world
            .git(&here, ["ls-files", "-z", "--others", "--exclude-standard"])
            .ok();
        let mut count = 0;
        for path in listed
            .bytes()
            .split(|b| *b == 0)
            .filter(|path| !path.is_empty())
        {
            let path = Path::new(OsStr::from_bytes(path));
            let (one, other) = (here.join(path), unpacked.join(path));
            if one.is_symlink() {
                assert_eq!(fs::read_link(&one).unwrap(), fs::read_link(&other).unwrap());
            } else {
                assert_eq!(
                    fs::read(&one).unwrap(),
                    fs::read(&other).unwrap(),
                    "{path:?}"
                );
                let executable =
                    |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o100;
                assert_eq!(executable(&one), executable(&other), "{path:?}");
            }
            count += 1;
        }
        assert!(count > 10, "{count}");
        // The index comes back by the tree that the manifest names.
        world
            .git(&clone, ["read-tree", saved["indexTree"].as_str().unwrap()])
            .ok();
        let index = |dir: &Path| world.git(dir, ["ls-files", "-s"]).ok().stdout();
        assert_eq!(index(&clone), index(&here));
        world.handoff(world.root(), ["verify", "./artifacts"]).ok();
        world
            .handoff(&here, ["verify", "work", "--clean-clone"])
            .ok();
        assert_eq!(leftovers(world), Vec::<PathBuf>::new());
    });
}

#[test]
fn what_is_written_twice_is_the_same() {
    let world = World::new();
    let here = saved(&world);
    world.git(&here, ["config", "diff.noprefix", "true"]).ok();
    world
        .git(&here, ["config", "diff.suppressBlankEmpty", "true"])
        .ok();
    let first = artifacts(&world, &here);
    let again = file(&world, "again");
    world
        .git(&here, ["config", "--unset", "diff.noprefix"])
        .ok();
    world.git(&here, ["config", "diff.context", "0"]).ok();
    world.tick();
    world
        .handoff(&here, ["export", "work", "--artifacts", &again])
        .ok();
    for name in ["manifest.cbor", "patch", "untracked.tar.gz"] {
        let one = fs::read(first.join(name)).unwrap();
        assert!(
            one == fs::read(Path::new(&again).join(name)).unwrap(),
            "{name}"
        );
    }
}

#[test]
fn each_route_is_named_with_its_checks() {
    let world = World::new();
    let here = saved(&world);
    let verified = world
        .handoff(&here, ["verify", "work", "--clean-clone"])
        .ok();
    insta::assert_snapshot!(world.normal(&verified.stdout()), @"
    ok    record
    ok    scope
    ok    documents
    ok    message
    ok    parents
    ok    contract
    ok    receipts
    ok    attachments
    ok    trees
    ok    paths
    ok    captured
    ok    citations
    ok    changes
    ok    line
    ok    clean-clone.objects
    ok    clean-clone.checksums
    ok    clean-clone.bundle
    ok    clean-clone.manifest
    ok    clean-clone.patch
    ok    clean-clone.archive
    ok    clean-clone.same
    verified work at [id1]
    ");
    let to = file(&world, "work.bundle");
    world.handoff(&here, ["export", "work", "-o", &to]).ok();
    world
        .handoff(world.root(), ["verify", &to, "--clean-clone"])
        .ok();
    assert_eq!(leftovers(&world), Vec::<PathBuf>::new());
}

#[test]
fn what_was_changed_in_the_artifacts_is_named() {
    let world = World::new();
    let here = saved(&world);
    world.write(&here, "README.md", "# Half\n");
    world.handoff(&here, ["save", "work"]).ok();
    let to = artifacts(&world, &here);
    let broken = |name: &str, change: &dyn Fn(Vec<u8>) -> Vec<u8>| {
        let path = to.join(name);
        let before = fs::read(&path).unwrap();
        fs::write(&path, change(before.clone())).unwrap();
        // Whoever tampers adapts the checksums.
        let sums = fs::read(to.join("SHA256SUMS")).unwrap();
        let found = world
            .handoff(world.root(), ["verify", "./artifacts", "--json"])
            .code(4);
        let plain: Vec<_> = failed(&found.json());
        let summed = "sha256sum manifest.cbor objects.bundle patch untracked.tar.gz > SHA256SUMS";
        world.run("sh", &to, ["-c", summed]).ok();
        let found = world
            .handoff(world.root(), ["verify", "./artifacts", "--json"])
            .code(4);
        let adapted = failed(&found.json());
        fs::write(&path, before).unwrap();
        fs::write(to.join("SHA256SUMS"), sums).unwrap();
        assert_eq!(
            plain[0],
            ("checksums".into(), "DIGEST_MISMATCH".into(), name.into())
        );
        adapted[0].clone()
    };
    let edit = |bytes: Vec<u8>| {
        let text = String::from_utf8(bytes).unwrap();
        text.replace("+# Half", "+# Whole").into_bytes()
    };
    assert_eq!(
        broken("patch", &edit),
        ("patch".into(), "PATCH_MISMATCH".into(), "patch".into())
    );
    let half = |bytes: Vec<u8>| bytes[..bytes.len() / 2].to_vec();
    // The checksum at the end of a gzip file, say.
    let cut = |bytes: Vec<u8>| bytes[..bytes.len() - 9].to_vec();
    assert_eq!(
        broken("patch", &half),
        ("patch".into(), "PATCH_MISMATCH".into(), "patch".into())
    );
    let outside = |_: Vec<u8>| {
        let patch = "diff --git a/../x b/../x\nnew file mode 100644\n--- /dev/null\n+++ b/../x\n@@ -0,0 +1 @@\n+x\n";
        patch.as_bytes().to_vec()
    };
    assert_eq!(broken("patch", &outside).1, "PATCH_MISMATCH");
    assert!(!world.root().join("x").exists());
    let (name, code, _) = broken("objects.bundle", &cut);
    assert_eq!((name.as_str(), code.as_str()), ("bundle", "MISSING_OBJECT"));
    let (name, code, _) = broken("untracked.tar.gz", &cut);
    assert_eq!(
        (name.as_str(), code.as_str()),
        ("archive", "MISSING_OBJECT")
    );
    let other = |_: Vec<u8>| {
        let pack =
            "mkdir -p ../other && cd ../other && printf other > notes.txt && tar -czf - notes.txt";
        world.run("sh", &to, ["-c", pack]).ok().bytes().to_vec()
    };
    assert_eq!(
        broken("untracked.tar.gz", &other),
        (
            "archive".into(),
            "TREE_MISMATCH".into(),
            "untracked.tar.gz: notes.txt".into()
        )
    );
    // tar(1) reads all members of a gzip file.
    let more = |bytes: Vec<u8>| {
        let mut header = [0; 10];
        header[..4].copy_from_slice(&[0x1f, 0x8b, 8, 0]);
        let empty_block = [1, 0, 0, 0xff, 0xff];
        let other = other(Vec::new());
        [&bytes[..], &header, &empty_block, &[0; 8], &other].concat()
    };
    let (name, code, _) = broken("untracked.tar.gz", &more);
    assert_eq!((name.as_str(), code.as_str()), ("archive", "TREE_MISMATCH"));
    let junk = |bytes: Vec<u8>| [&bytes[..], b"junk"].concat();
    assert_eq!(broken("untracked.tar.gz", &junk).0, "archive");
    // git-clone(1) follows HEAD, and brings all branches.
    for (add, name) in [
        ("git branch extra", "refs/heads/extra"),
        ("git commit -q --allow-empty -m other", "HEAD"),
        (
            "git checkout -q --detach && git branch -D main",
            "refs/heads/main",
        ),
    ] {
        let again = |_: Vec<u8>| {
            let script = format!(
                "rm -rf ../bundled && git init -q -b main ../bundled && cd ../bundled && git pull -q ../artifacts/objects.bundle main &&
                 git fetch -q ../artifacts/objects.bundle 'refs/checkpoint/*:refs/checkpoint/*' && {add} >&2 &&
                 git bundle create -q - HEAD --all"
            );
            world.run("sh", &to, ["-c", &script]).ok().bytes().to_vec()
        };
        let (check, code, artifact) = broken("objects.bundle", &again);
        assert_eq!(
            (check.as_str(), code.as_str()),
            ("bundle", "MISSING_OBJECT")
        );
        assert_eq!(artifact, format!("objects.bundle: {name}"));
    }
    fs::remove_file(to.join("patch")).unwrap();
    world.run("mkfifo", &to, ["patch"]).ok();
    let refused = world
        .handoff(world.root(), ["verify", "./artifacts"])
        .code(4);
    assert!(
        refused.stderr().contains("patch: it is no regular file"),
        "{}",
        refused.stderr()
    );
    fs::remove_file(to.join("patch")).unwrap();
    let found = world
        .handoff(world.root(), ["verify", "./artifacts", "--json"])
        .code(4);
    assert_eq!(failed(&found.json())[0].2, "patch");
    fs::write(to.join("manifest.cbor"), "no").unwrap();
    let refused = world
        .handoff(world.root(), ["verify", "./artifacts", "--json"])
        .code(4);
    assert_eq!(error_code(&refused), "MALFORMED_MANIFEST");
    assert_eq!(leftovers(&world), Vec::<PathBuf>::new());
}

/// Returns the checks that failed: name, code and artifact.
fn failed(document: &serde_json::Value) -> Vec<(String, String, String)> {
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let checks = document["checks"].as_array().unwrap().iter();
    checks
        .filter(|check| check["ok"] == json!(false))
        .map(|check| {
            (
                text(&check["name"]),
                text(&check["code"]),
                text(&check["artifact"]),
            )
        })
        .collect()
}

#[test]
fn states_of_every_kind_go_the_independent_route() {
    let world = World::new();
    // A conflict, with conversions and files of the index alone.
    let here = saved(&world);
    world.git(&here, ["config", "core.autocrlf", "true"]).ok();
    world.git(&here, ["switch", "-q", "-c", "other"]).ok();
    world.write(&here, "README.md", "# Other\n");
    world.git(&here, ["commit", "-q", "-am", "Other"]).ok();
    world.git(&here, ["switch", "-q", "main"]).ok();
    world.write(&here, "README.md", "# Main\n");
    world.git(&here, ["commit", "-q", "-am", "Main"]).ok();
    world.git(&here, ["merge", "-q", "other"]).code(1);
    world.write(&here, "dos.txt", "one\r\ntwo\r\n");
    world.write(&here, "mixed.txt", "one\r\ntwo\n");
    world.write(&here, "soon.txt", "soon\n");
    world.git(&here, ["add", "-N", "soon.txt"]).ok();
    next(&world, &here, "second");
    world
        .handoff(&here, ["verify", "work", "--clean-clone"])
        .ok();
    // Nothing that is untracked, nothing that is changed.
    let clean = world.repo("clean");
    world.handoff(&clean, ["save", "work"]).ok();
    world
        .handoff(&clean, ["verify", "work", "--clean-clone"])
        .ok();
    // No commit yet, and ids of the other kind.
    let new = world.directory("new");
    world
        .git(&new, ["init", "-q", "--object-format=sha256"])
        .ok();
    world.write(&new, "first.txt", "first\n");
    world.handoff(&new, ["save", "work"]).ok();
    world
        .handoff(&new, ["verify", "work", "--clean-clone"])
        .ok();
    // More untracked files than a manifest lists itself, long names and targets.
    let many = world.repo("many");
    let long = format!("{}/{}", "d".repeat(120), "f".repeat(120));
    world.write(&many, &long, "long\n");
    for target in [format!("a//b/./{}", "t".repeat(150)), "x//y/".to_owned()] {
        let name = format!("link{}", target.len());
        std::os::unix::fs::symlink(target, many.join(name)).unwrap();
    }
    for number in 0..1_100 {
        fs::create_dir(many.join(format!("empty{number}"))).unwrap();
    }
    world.handoff(&many, ["save", "work"]).ok();
    world
        .handoff(&many, ["verify", "work", "--clean-clone"])
        .ok();
    let to = artifacts(&world, &many);
    let unpacked = world.directory("unpacked");
    let archive = to.join("untracked.tar.gz").display().to_string();
    world.run("tar", &unpacked, ["-xzf", &archive]).ok();
    assert_eq!(world.read(&unpacked, &long), b"long\n");
    assert_eq!(
        fs::read_link(unpacked.join("link5")).unwrap().as_os_str(),
        "x//y/"
    );
    assert_eq!(leftovers(&world), Vec::<PathBuf>::new());
}

#[test]
fn a_directory_that_holds_something_is_not_written_to() {
    let world = World::new();
    let here = saved(&world);
    let out = world.directory("out");
    let to = out.display().to_string();
    let args = ["export", "work", "--artifacts", &to, "--json"];
    world.handoff(&here, args).ok();
    let refused = world.handoff(&here, args).code(5);
    assert_eq!(error_code(&refused), "DIRECTORY_NOT_EMPTY");
}
