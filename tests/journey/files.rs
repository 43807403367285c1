//! Checkpoints as files: written, fetched by Git itself, restored from the file alone, imported by the rules of a push.

mod artifacts;
mod diff;
mod hostile;
mod places;

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::json;

use crate::{
    hand_over::{project, stop_in_the_middle, strict_server},
    people::{self, DEVELOPER, agent, developer, error_code},
    state::{Untouched, Worktree},
    world::World,
};

/// Returns the path of a file of the world as a command line has it.
pub(crate) fn file(world: &World, name: &str) -> String {
    world.root().join(name).display().to_string()
}

/// Returns what is left of temporary files.
pub(crate) fn leftovers(world: &World) -> Vec<PathBuf> {
    let entries = fs::read_dir(world.root().join("tmp")).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

/// Makes a repository with the scope `work`, whose first generation has an unpushed commit and an untracked file.
pub(crate) fn saved(world: &World) -> PathBuf {
    let dir = world.repo("here");
    world.write(&dir, "src/begun.rs", "// begun\n");
    world.commit(&dir, "Begin");
    next(world, &dir, "first");
    dir
}

/// Writes another generation of `work`.
pub(crate) fn next(world: &World, dir: &Path, text: &str) {
    world.write(dir, "notes.txt", text);
    world.handoff(dir, ["save", "work"]).ok();
    world.tick();
}

/// Exports `what` and returns the document.
#[track_caller]
pub(crate) fn export(world: &World, dir: &Path, what: &str, to: &str) -> serde_json::Value {
    let made = world.handoff(dir, ["export", what, "-o", to, "--json"]);
    made.ok().json()
}

#[test]
fn the_whole_work_comes_back_from_a_file_alone() {
    people::with_each_git(|world| {
        let here = project(world, &strict_server(world));
        stop_in_the_middle(world, &here);
        let left = Worktree::of(world, &here);
        agent(world, &here, ["save", "DEV-1842"]).ok();
        let untouched = Untouched::of(world, &here);
        let to = file(world, "work.bundle");
        let made = export(world, &here, "DEV-1842", &to);
        untouched.assert_same(&Untouched::of(world, &here));
        assert_eq!(made["prerequisites"], json!([]));
        assert_eq!(made["bytes"], fs::metadata(&to).unwrap().len());

        // An empty directory, the file, nothing else: no repository, no server.
        fs::rename(&here, world.root().join("gone")).unwrap();
        fs::rename(world.bare("server"), world.root().join("gone.git")).unwrap();
        let elsewhere = world.directory("elsewhere");
        let restored = developer(world, &elsewhere, ["restore", &to, "work", "--json"]);
        let restored = restored.ok().json();
        assert_eq!(restored["verified"], true);
        left.assert_same(&Worktree::of(world, &elsewhere.join("work")));
        world
            .git(&elsewhere.join("work"), ["fsck", "--strict"])
            .ok();
        assert_eq!(leftovers(world), Vec::<PathBuf>::new());
    });
}

#[test]
fn git_itself_takes_the_file() {
    people::with_each_git(|world| {
        let here = saved(world);
        let to = file(world, "work.bundle");
        let made = export(world, &here, "work", &to);
        world.git(&here, ["bundle", "verify", "-q", &to]).ok();
        let empty = world.bare("empty");
        world
            .git(
                &empty,
                ["fetch", "-q", &to, "refs/handoff/*:refs/handoff/*"],
            )
            .ok();
        let fetched = world.git(&empty, ["rev-parse", "refs/handoff/work"]);
        assert_eq!(fetched.ok().line(), made["commit"].as_str().unwrap());
        world.git(&empty, ["fsck", "--strict"]).ok();
    });
}

#[test]
fn a_file_is_shown_and_verified_as_a_scope_is() {
    let world = World::new();
    let here = saved(&world);
    world
        .handoff_as(DEVELOPER, &here, ["accept", "work", "--local"])
        .ok();
    export(&world, &here, "work", &file(&world, "work.bundle"));
    let nowhere = world.directory("nowhere");
    let strip = |mut document: serde_json::Value| {
        document.as_object_mut().unwrap().remove("nextCommands");
        document
    };
    let as_file = world.handoff(&nowhere, ["show", "../work.bundle", "--json"]);
    let as_scope = world.handoff(&here, ["show", "work", "--json"]);
    assert_eq!(strip(as_file.ok().json()), strip(as_scope.ok().json()));
    let verified = world.handoff(&nowhere, ["verify", "../work.bundle"]).ok();
    assert!(verified.stdout().starts_with("ok    file\nok    record\n"));
    // Compared with the worktree that the command runs in.
    let args = ["verify", "../work.bundle", "--worktree"];
    world.handoff(&here, args).ok();
    world.write(&here, "notes.txt", "another");
    let args = ["verify", "../work.bundle", "--worktree", "--json"];
    let checks = world.handoff(&here, args).code(4).json()["checks"].clone();
    let last = checks.as_array().unwrap().last().unwrap().clone();
    assert_eq!(
        (&last["name"], &last["code"]),
        (&json!("worktree"), &json!("WORKTREE_CHANGED"))
    );
}

#[test]
fn the_file_of_an_old_generation_holds_the_line_up_to_it() {
    let world = World::new();
    let here = saved(&world);
    world
        .handoff_as(DEVELOPER, &here, ["accept", "work", "--local"])
        .ok();
    world.tick();
    world.write(&here, "notes.txt", "second");
    world.handoff_as(DEVELOPER, &here, ["save", "work"]).ok();
    let old = file(&world, "old.bundle");
    let made = export(&world, &here, "work@1", &old);
    assert_eq!(made["generation"], 1);
    let other = world.repo("other");
    world.handoff(&other, ["import", &old]).ok();
    let records = world.handoff(&other, ["log", "work", "--json"]).ok();
    let kinds = records.json_lines();
    let kinds: Vec<_> = kinds
        .iter()
        .map(|row| row["record"].as_str().unwrap())
        .collect();
    // The newest record of the generation is what it ends with.
    assert_eq!(kinds, ["accept", "checkpoint"]);
    // The newer file moves it forward, the older one does not move it back.
    let new = file(&world, "new.bundle");
    export(&world, &here, "work", &new);
    let imported = world
        .handoff(&other, ["import", &new, "--json"])
        .ok()
        .json();
    assert_eq!(imported["scopes"][0]["status"], "moved forward");
    let imported = world
        .handoff(&other, ["import", &new, "--json"])
        .ok()
        .json();
    assert_eq!(imported["scopes"][0]["status"], "up to date");
    let refused = world.handoff(&other, ["import", &old, "--json"]).code(3);
    assert_eq!(error_code(&refused), "CAS_CONFLICT");
    world.handoff(&other, ["verify", "work"]).ok();
}

#[test]
fn a_line_that_goes_another_way_is_not_imported() {
    let world = World::new();
    let here = saved(&world);
    let first = file(&world, "first.bundle");
    export(&world, &here, "work", &first);
    let other = world.repo("other");
    world.handoff(&other, ["import", &first]).ok();
    let refs = |dir: &Path| world.git(dir, ["for-each-ref"]).ok().stdout();
    let objects = |dir: &Path| world.git(dir, ["count-objects", "-v"]).ok().stdout();

    // Another way, from the same beginning.
    let restored = world.directory("restored");
    world.handoff(&restored, ["restore", &first, "aside"]).ok();
    next(&world, &restored.join("aside"), "aside");
    let aside = file(&world, "aside.bundle");
    export(&world, &restored.join("aside"), "work", &aside);
    next(&world, &here, "second");
    let second = file(&world, "second.bundle");
    export(&world, &here, "work", &second);
    world.handoff(&other, ["import", &second]).ok();
    let before = (refs(&other), objects(&other));
    let refused = world.handoff(&other, ["import", &aside]).code(3);
    insta::assert_snapshot!(world.normal(&refused.stderr()), @"
    error: scope `work`: [id1] does not continue the record line of [id2] [NON_LINEAR]
    hint: the file goes another way than the scope here; nothing was imported
    ");
    assert_eq!((refs(&other), objects(&other)), before);
}

#[test]
fn two_imports_at_once_end_with_the_newer_one() {
    let world = World::new();
    let here = saved(&world);
    let mut files = Vec::new();
    for number in 1..=4 {
        next(&world, &here, &format!("state {number}"));
        let name = file(&world, &format!("{number}.bundle"));
        export(&world, &here, "work", &name);
        files.push(name);
    }
    let tip = world.git(&here, ["rev-parse", "refs/handoff/work"]).line();
    for round in 0..5 {
        let other = world.repo(&format!("other{round}"));
        let imports: Vec<_> = files
            .iter()
            .map(|name| {
                let mut command = world.command("git", &other);
                command.args(["handoff", "import", name, "--json"]);
                command.stdout(std::process::Stdio::piped());
                command.stderr(std::process::Stdio::null());
                command.spawn().unwrap()
            })
            .collect();
        for import in imports {
            let ended = import.wait_with_output().unwrap();
            let document: serde_json::Value = serde_json::from_slice(&ended.stdout).unwrap();
            match ended.status.code() {
                Some(0) => {}
                Some(3) => assert_eq!(document["code"], "CAS_CONFLICT", "{document}"),
                _ => panic!("{document}"),
            }
        }
        let found = world.git(&other, ["rev-parse", "refs/handoff/work"]).ok();
        assert_eq!(found.line(), tip, "the newest file always gets in");
        world.git(&other, ["fsck", "--strict"]).ok();
    }
}

#[test]
fn a_file_is_restored_in_place_and_into_a_linked_worktree() {
    let world = World::new();
    let here = saved(&world);
    let left = Worktree::of(&world, &here);
    let to = file(&world, "work.bundle");
    export(&world, &here, "work", &to);
    let seed = world.root().join("clone");
    world
        .git(world.root(), ["clone", "-q", "here", "clone"])
        .ok();
    world.write(&seed, "mine.txt", "mine\n");
    world.handoff(&seed, ["restore", &to, "--in-place"]).ok();
    assert_eq!(world.read(&seed, "notes.txt"), b"first");
    assert_eq!(world.read(&seed, "mine.txt"), b"mine\n");
    world
        .handoff(&seed, ["restore", &to, "../linked", "--worktree"])
        .ok();
    let linked = Worktree::of(&world, &world.root().join("linked"));
    assert_eq!(
        (&left.files, &left.index, &left.head),
        (&linked.files, &linked.index, &linked.head)
    );
    world.handoff(&seed, ["accept", "work", "--local"]).ok();
}

#[test]
fn a_file_without_what_the_other_side_has_is_taken_where_that_is() {
    let world = World::new();
    let here = saved(&world);
    let base = world.git(&here, ["rev-parse", "HEAD~1"]).ok().line();
    let small = file(&world, "small.bundle");
    let args = ["export", "work", "-o", &small, "--base", "HEAD~1", "--json"];
    let made = world.handoff(&here, args).ok().json();
    assert_eq!(made["prerequisites"], json!([base]));

    let nowhere = world.directory("nowhere");
    let refused = world.handoff(&nowhere, ["show", &small]).code(4);
    insta::assert_snapshot!(world.normal(&refused.stderr()), @"
    error: [world]/small.bundle builds on commit [id1], which is not here [MISSING_OBJECT]
    hint: run this in a clone that has the commit, or ask for a file that was exported without --base
    ");
    world
        .git(world.root(), ["clone", "-q", "here", "clone"])
        .ok();
    let clone = world.root().join("clone");
    world.handoff(&clone, ["verify", &small]).ok();
    world.handoff(&clone, ["restore", &small, "../work"]).ok();
    assert_eq!(
        world.read(&world.root().join("work"), "notes.txt"),
        b"first"
    );
    world
        .git(&world.root().join("work"), ["fsck", "--strict"])
        .ok();
    world.handoff(&clone, ["import", &small]).ok();
    world.git(&clone, ["fsck", "--strict"]).ok();

    // A base that has all of it leaves nothing to hand over.
    let tip = world
        .git(&here, ["rev-parse", "refs/handoff/work"])
        .ok()
        .line();
    let args = [
        "export",
        "work",
        "-o",
        &file(&world, "none"),
        "--base",
        &tip,
        "--json",
    ];
    assert_eq!(error_code(&world.handoff(&here, args).code(2)), "USAGE");
    let args = [
        "export",
        "work",
        "-o",
        &file(&world, "none"),
        "--base",
        "nobody",
        "--json",
    ];
    assert_eq!(error_code(&world.handoff(&here, args).code(6)), "NOT_FOUND");
    assert!(!world.root().join("none").exists());
}

#[test]
fn a_file_of_a_sha_256_repository_is_like_any_other() {
    let world = World::new();
    let dir = world.directory("here");
    world
        .git(&dir, ["init", "-q", "--object-format=sha256"])
        .ok();
    world.write(&dir, "README.md", "# Example\n");
    world.commit(&dir, "First commit");
    next(&world, &dir, "first");
    let to = file(&world, "work.bundle");
    export(&world, &dir, "work", &to);
    world.git(&dir, ["bundle", "verify", "-q", &to]).ok();
    world.handoff(world.root(), ["verify", &to]).ok();
    let left = Worktree::of(&world, &dir);
    world.handoff(world.root(), ["restore", &to, "work"]).ok();
    left.assert_same(&Worktree::of(&world, &world.root().join("work")));
    // It cannot come into a repository of the other kind, but be read there.
    let other = world.repo("other");
    world.handoff(&other, ["show", &to]).ok();
    let refused = world.handoff(&other, ["import", &to, "--json"]).code(4);
    assert_eq!(error_code(&refused), "SCOPE_MISMATCH");
}

#[test]
fn a_file_with_several_scopes_is_imported_whole_and_read_after_that() {
    let world = World::new();
    let here = saved(&world);
    world.handoff(&here, ["save", "other"]).ok();
    let both = file(&world, "both.bundle");
    world
        .git(
            &here,
            [
                "bundle",
                "create",
                "-q",
                &both,
                "refs/handoff/work",
                "refs/handoff/other",
            ],
        )
        .ok();
    let clone = world.repo("clone");
    let refused = world.handoff(&clone, ["show", &both, "--json"]).code(2);
    assert_eq!(error_code(&refused), "AMBIGUOUS_SCOPE");
    let imported = world
        .handoff(&clone, ["import", &both, "--json"])
        .ok()
        .json();
    assert_eq!(imported["scopes"].as_array().unwrap().len(), 2);
    world.handoff(&clone, ["show", "other"]).ok();
}
