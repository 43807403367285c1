//! Faults, each blocked with the very artifact that is at fault.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use crate::{
    people::{self, DEVELOPER, OTHER, agent, developer, error_code, server_and_clone},
    world::World,
};

/// Returns the artifacts that an error names, in order.
fn subjects(error: &Value) -> Vec<&str> {
    let errors = error["errors"].as_array().unwrap().iter();
    errors
        .filter_map(|error| error["subject"].as_str())
        .collect()
}

/// Makes a clone with a tracked file that was changed, one that can be run, and an untracked one.
fn work(world: &World) -> (PathBuf, PathBuf) {
    let (server, dir) = server_and_clone(world, "here");
    for path in ["kept.txt", "gone.txt", "run.sh"] {
        world.write(&dir, path, format!("echo {path}\n"));
    }
    world.commit(&dir, "Three files");
    world.write(&dir, "kept.txt", "changed\n");
    world.write(&dir, "fixture.txt", "untracked\n");
    (server, dir)
}

#[test]
fn what_changes_after_the_handoff_was_prepared_is_named_and_not_committed() {
    let world = World::new();
    let (_, dir) = work(&world);
    agent(&world, &dir, ["prepare", "work", "-m", "Hand over"]).ok();
    let executable = |mode| {
        let path = dir.join("run.sh");
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    type Change<'a> = &'a dyn Fn();
    let faults: [(&str, Change<'_>, Change<'_>); 5] = [
        (
            "kept.txt",
            &|| world.write(&dir, "kept.txt", "changed\none line more\n"),
            &|| world.write(&dir, "kept.txt", "changed\n"),
        ),
        (
            "new/fixture.txt",
            &|| world.write(&dir, "new/fixture.txt", "added\n"),
            &|| fs::remove_dir_all(dir.join("new")).unwrap(),
        ),
        (
            "gone.txt",
            &|| fs::remove_file(dir.join("gone.txt")).unwrap(),
            &|| world.write(&dir, "gone.txt", "echo gone.txt\n"),
        ),
        ("run.sh", &|| executable(0o755), &|| executable(0o644)),
        (
            "fixture.txt",
            &|| world.write(&dir, "fixture.txt", "untracked, edited\n"),
            &|| world.write(&dir, "fixture.txt", "untracked\n"),
        ),
    ];
    for (path, change, undo) in faults {
        change();
        let refused = agent(&world, &dir, ["commit", "work", "--json"]).code(4);
        let refused = refused.json();
        assert_eq!(refused["code"], "WORKTREE_CHANGED", "{refused}");
        assert_eq!(subjects(&refused), [path]);
        let verify = ["verify", "work@prepared", "--worktree", "--json"];
        let checks = agent(&world, &dir, verify).code(4).json()["checks"].clone();
        let failed = checks.as_array().unwrap().iter();
        let failed: Vec<&Value> = failed.filter(|check| check["ok"] == false).collect();
        assert_eq!(failed.len(), 1, "{checks}");
        assert_eq!(failed[0]["artifact"], path);
        let read = ["continue", "work@prepared", "--json"];
        let read = agent(&world, &dir, read).ok().json();
        assert_eq!(read["statements"][0]["evidence"], "changed");
        let differences = &read["changes"]["worktree"]["differences"];
        assert_eq!(differences[0]["path"], path, "{differences}");
        undo();
    }
    assert_eq!(
        world
            .git(&dir, ["for-each-ref", "refs/handoff/"])
            .ok()
            .stdout(),
        ""
    );
    agent(&world, &dir, ["commit", "work"]).ok();
}

/// Makes a submodule with a commit that no remote has, and an LFS pointer to what is not here.
fn lacking(world: &World, dir: &Path) -> String {
    let library = world.repo("library");
    let url = library.display().to_string();
    world
        .git(dir, ["submodule", "--quiet", "add", &url, "lib"])
        .ok();
    world.commit(dir, "A library");
    world.write(&dir.join("lib"), "code", "2\n");
    world.commit(&dir.join("lib"), "Nowhere else");
    let oid = "4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393";
    let pointer =
        format!("version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize 12345\n");
    world.write(dir, "film.bin", pointer);
    oid.into()
}

#[test]
fn what_cannot_be_had_elsewhere_blocks_the_accept_and_is_named() {
    let world = World::new();
    let (server, dir) = work(&world);
    let oid = lacking(&world, &dir);
    let saved = agent(&world, &dir, ["save", "work", "--push", "--json"])
        .ok()
        .json();
    let blockers: Vec<(&str, &str)> = saved["blockers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|blocker| {
            (
                blocker["kind"].as_str().unwrap(),
                blocker["path"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        blockers,
        [
            ("lfs-missing", "film.bin"),
            ("submodule-unreachable", "lib")
        ]
    );
    let url = server.display().to_string();
    developer(
        &world,
        world.root(),
        ["restore", "work", "dev", "--from", &url],
    )
    .ok();
    let dev = world.root().join("dev");
    let read = developer(&world, &dev, ["continue", "work"]).ok().stdout();
    for line in [
        &format!("blocker   | lfs-missing film.bin: sha256:{oid} with 12345 bytes is not here")[..],
        "blocker   | submodule-unreachable lib",
    ] {
        let wrapped = read.replace("\n            | ", " ");
        assert!(wrapped.contains(line), "{read}");
    }
    let accept = |more: &[&str]| {
        let args = ["accept", "work", "--json"].iter().chain(more);
        developer(&world, &dev, args)
    };
    let refused = accept(&[]).code(5);
    assert_eq!(error_code(&refused), "BLOCKED");
    let message = refused.json()["message"].to_string();
    assert!(
        message.contains("film.bin") && message.contains("lib"),
        "{message}"
    );
    // One that is known of is not enough.
    let refused = accept(&["--acknowledge", "lfs-missing:film.bin"]).code(5);
    let message = refused.json()["message"].to_string();
    assert!(
        !message.contains("film.bin") && message.contains("lib"),
        "{message}"
    );
    let both = [
        "--acknowledge",
        "lfs-missing:film.bin",
        "--acknowledge",
        "submodule-unreachable:lib",
    ];
    accept(&both).ok();
}

#[test]
fn a_late_generation_is_refused_after_a_newer_one_was_accepted() {
    let world = World::new();
    let (server, ann) = server_and_clone(&world, "ann");
    let url = server.display().to_string();
    let write = |dir: &Path, id: &str, text: &str, args: &[&str]| {
        world.write(dir, "work.txt", text);
        world.tick();
        let args = ["save", "work", "--json"].iter().chain(args);
        world.handoff_as(id, dir, args)
    };
    for generation in 1..=5 {
        write(&ann, "ann", &format!("{generation}\n"), &["--push"]).ok();
    }
    let late = people::clone(&world, &url, "late");
    world
        .handoff_as(OTHER, &late, ["restore", "work", "--in-place"])
        .ok();
    let sixth = write(&late, OTHER, "six, late\n", &[]).ok().json();
    assert_eq!(sixth["generation"], 6);
    for generation in 6..=7 {
        write(&ann, "ann", &format!("{generation}\n"), &["--push"]).ok();
    }
    let dev = people::clone(&world, &url, "dev");
    developer(&world, &dev, ["restore", "work", "--in-place"]).ok();
    developer(&world, &dev, ["accept", "work"]).ok();

    let tip = world
        .git(&server, ["rev-parse", "refs/handoff/work"])
        .ok()
        .line();
    let refused = world
        .handoff_as(OTHER, &late, ["push", "work", "--json"])
        .code(3)
        .json();
    let scope = &refused["scopes"][0];
    assert_eq!(scope["code"], "CAS_CONFLICT");
    let said = scope["message"].as_str().unwrap();
    let told = format!("is at generation 7, accepted by {DEVELOPER}");
    assert!(said.contains(&told), "{said}");
    // Git alone is told the same by the helper.
    let plain = world.git(&late, ["push", "handoff"]);
    assert_ne!(plain.exit_code(), Some(0));
    assert_eq!(
        world
            .git(&server, ["rev-parse", "refs/handoff/work"])
            .ok()
            .line(),
        tip
    );
    // What came late is prepared, and the new owner's generation is the scope.
    let synced = world
        .handoff_as(OTHER, &late, ["sync", "--json"])
        .ok()
        .json();
    assert_eq!(synced["scopes"][0]["prepared"], true);
    let next = world
        .handoff_as(OTHER, &late, ["save", "work", "--push", "--json"])
        .code(5);
    assert_eq!(error_code(&next), "NOT_OWNER");
    let read = world
        .handoff_as(OTHER, &late, ["continue", "work", "--json"])
        .ok()
        .json();
    assert_eq!(
        (&read["generation"], &read["state"], &read["owner"]),
        (&json!(7), &json!("accepted"), &json!(DEVELOPER))
    );
    assert_eq!(world.read(&late, "work.txt"), b"six, late\n");
}
