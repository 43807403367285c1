//! Files that the index has and the worktree has not, since a sparse checkout leaves them out.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{
    comparison::{differences, state},
    world::World,
};

/// Makes a repository with files in folders of its own and of others.
fn with_folders(world: &World) -> PathBuf {
    let work = world.repo("work");
    for path in ["root.txt", "in/a", "in/deep/b", "out/c", "out/deep/d"] {
        world.write(&work, path, format!("{path}\n"));
    }
    world.write(&work, "out/.gitattributes", "* text\n");
    world.commit(&work, "folders");
    work
}

/// Saves `work`, restores it beside itself and from there once more; both must be as it is.
fn comes_back(world: &World, work: &Path) -> PathBuf {
    let was = state(world, work);
    world.handoff(work, ["save", "demo"]).ok();
    let dir = world.root().join("there");
    world
        .handoff(work, ["restore", "demo", dir.to_str().unwrap()])
        .ok();
    same(&was, world, &dir);
    world.handoff(&dir, ["verify", "demo", "--worktree"]).ok();
    let again = world.handoff(&dir, ["save", "demo", "--json"]).ok().json();
    assert_eq!(again["created"], false);
    // What the receiver saves is what it got.
    world.write(&dir, "more", "more\n");
    let was = state(world, &dir);
    world.handoff(&dir, ["save", "demo"]).ok();
    let further = world.root().join("further");
    world
        .handoff(&dir, ["restore", "demo", further.to_str().unwrap()])
        .ok();
    same(&was, world, &further);
    dir
}

#[track_caller]
fn same(was: &std::collections::BTreeMap<String, String>, world: &World, dir: &Path) {
    assert_eq!(differences(was, &state(world, dir)), Vec::<String>::new());
}

/// Returns tag and path of each entry, git-ls-files(1).
fn tags(world: &World, dir: &Path) -> String {
    world.git(dir, ["ls-files", "-t"]).ok().stdout()
}

#[test]
fn what_a_sparse_checkout_leaves_out_stays_out() {
    for patterns in [
        &["--cone", "in"][..],
        &["--no-cone", "/*", "!/out/"],
        &["--cone", "--sparse-index", "in"],
    ] {
        let world = World::new();
        let work = with_folders(&world);
        world
            .git(&work, [&["sparse-checkout", "set"], patterns].concat())
            .ok();
        world.write(&work, "in/a", "changed\n");
        world.write(&work, "in/new", "new\n");
        assert!(!work.join("out").exists());
        let dir = comes_back(&world, &work);
        assert!(!dir.join("out").exists());
        // A later edit there is seen.
        world.write(&dir, "out/c", "edited later\n");
        world.git(&dir, ["sparse-checkout", "disable"]).ok();
        let status = world.git(&dir, ["status", "--porcelain", "out"]).ok();
        assert_eq!(status.stdout(), " M out/c\n");
        assert_eq!(fs::read(dir.join("out/deep/d")).unwrap(), b"out/deep/d\n");
    }
}

#[test]
fn what_is_there_beyond_the_patterns_comes_back_and_is_not_hidden() {
    let world = World::new();
    let work = with_folders(&world);
    world
        .git(&work, ["sparse-checkout", "set", "--cone", "in"])
        .ok();
    world.write(&work, "out/c", "edited beyond the cone\n");
    world.write(&work, "out/deep/d", "out/deep/d\n");
    let dir = comes_back(&world, &work);
    assert!(tags(&world, &dir).contains("H out/c\nH out/deep/d\n"));
}

#[test]
fn skip_worktree_set_by_hand_comes_back_where_it_hides_nothing() {
    let world = World::new();
    let work = with_folders(&world);
    for path in ["in/a", "out/c"] {
        world
            .git(&work, ["update-index", "--skip-worktree", path])
            .ok();
    }
    world.write(&work, "out/c", "hidden edit\n");
    world.handoff(&work, ["save", "demo"]).ok();
    let dir = world.root().join("there");
    let restore = ["restore", "demo", dir.to_str().unwrap(), "--json"];
    let restored = world.handoff(&work, restore).ok().json();
    assert_eq!(restored["flagged"], serde_json::json!(["out/c"]));
    assert_eq!(restored["sparse"], serde_json::json!([]));
    let tags = tags(&world, &dir);
    assert!(
        tags.contains("S in/a\n") && tags.contains("H out/c\n"),
        "{tags}"
    );
    assert_eq!(fs::read(dir.join("in/a")).unwrap(), b"in/a\n");
    assert_eq!(fs::read(dir.join("out/c")).unwrap(), b"hidden edit\n");
}

#[test]
fn a_file_that_is_absent_under_skip_worktree_set_by_hand_stays_absent() {
    let world = World::new();
    let work = with_folders(&world);
    for path in ["in/a", "out/c"] {
        world
            .git(&work, ["update-index", "--skip-worktree", path])
            .ok();
    }
    fs::remove_file(work.join("out/c")).unwrap();
    let saved = world.handoff(&work, ["save", "demo", "--json"]).ok().json();
    // Which flag means absence cannot be told, so that the other one is named.
    let texts = saved["omissions"].as_array().unwrap().len();
    assert_eq!(texts, 2, "{}", saved["omissions"]);
    let dir = world.root().join("there");
    world
        .handoff(&work, ["restore", "demo", dir.to_str().unwrap()])
        .ok();
    assert!(!dir.join("out/c").exists());
    assert_eq!(fs::read(dir.join("in/a")).unwrap(), b"in/a\n");
    let tags = tags(&world, &dir);
    assert!(
        tags.contains("H in/a\n") && tags.contains("S out/c\n"),
        "{tags}"
    );
}

#[test]
fn what_is_ignored_in_the_place_of_an_absent_file_leaves_it_absent() {
    for (path, ignored, is_folder) in [("in/a", "in/a/", true), ("in/deep/b", "in/deep", false)] {
        let world = World::new();
        let work = with_folders(&world);
        world
            .git(&work, ["update-index", "--skip-worktree", path])
            .ok();
        world.write(&work, ".git/info/exclude", ignored);
        let place = work.join(ignored);
        if is_folder {
            fs::remove_file(work.join(path)).unwrap();
            fs::create_dir(&place).unwrap();
        } else {
            fs::remove_dir_all(&place).unwrap();
            fs::write(&place, "ignored\n").unwrap();
        }
        let dir = comes_back(&world, &work);
        assert!(tags(&world, &dir).contains(&format!("S {path}\n")));
        assert!(!dir.join(path).exists());
    }
}

#[test]
fn in_place_what_is_absent_stays_absent_and_what_is_there_is_not_hidden() {
    let world = World::new();
    let work = with_folders(&world);
    world
        .git(&work, ["sparse-checkout", "set", "--cone", "in"])
        .ok();
    world.write(&work, "in/a", "changed\n");
    let was = state(&world, &work);
    world.handoff(&work, ["save", "demo"]).ok();
    world.write(&work, "in/a", "changed again\n");
    world.handoff(&work, ["restore", "demo", "--in-place"]).ok();
    same(&was, &world, &work);
    world.handoff(&work, ["verify", "demo", "--worktree"]).ok();

    // A receiver that has all files keeps them, and sees what becomes of them.
    let bare = world.bare("bare");
    let bare = bare.to_str().unwrap();
    world
        .git(&work, ["push", "-q", bare, "main", "refs/handoff/demo"])
        .ok();
    world
        .git(world.root(), ["clone", "-q", "-b", "main", bare, "full"])
        .ok();
    let full = world.root().join("full");
    world
        .git(
            &full,
            [
                "fetch",
                "-q",
                "origin",
                "refs/handoff/demo:refs/handoff/demo",
            ],
        )
        .ok();
    world.write(&full, "out/c", "edited here\n");
    let restore = ["restore", "demo", "--in-place", "--json"];
    let restored = world.handoff(&full, restore).ok().json();
    assert!(restored["safety"].is_u64(), "{restored}");
    assert_eq!(restored["sparse"], serde_json::json!([]));
    assert_eq!(fs::read(full.join("out/c")).unwrap(), b"out/c\n");
    assert!(!tags(&world, &full).contains("S "));
    world.handoff(&full, ["verify", "demo", "--worktree"]).ok();
}
