//! What was damaged or tampered with is found, named, and believed by nobody.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{
    people::{self, agent, developer, error_code, pushed, server_and_clone},
    state::Worktree,
    world::{Output, World},
};

#[test]
fn a_damaged_index_is_named_with_the_command_that_repairs_it() {
    let world = World::new();
    let (_, dir) = pushed(&world);
    let index = dir.join(".git/index");
    let mut bytes = fs::read(&index).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x55;
    fs::write(&index, &bytes).unwrap();
    let failed = world.handoff(&dir, ["save", "work"]).code(1);
    insta::assert_snapshot!(world.normal(&failed.stderr()), @"
    error: the index at [world]/here/.git/index cannot be read: Shared index checksum mismatch: Hash was [id1], but should have been [id2] [IO]
    hint: a damaged index is rebuilt once it is moved away; what was staged is lost
      mv [world]/here/.git/index [world]/here/.git/index.damaged
      git read-tree HEAD
    ");
    fs::write(&index, &bytes[..30]).unwrap();
    let failed = world.handoff(&dir, ["snapshot", "--json"]).code(1);
    assert_eq!(error_code(&failed), "IO");
    fs::write(&index, "").unwrap();
    world.handoff(&dir, ["snapshot", "--json"]);
    // What was saved before is not touched by it.
    world.handoff(&dir, ["verify", "work"]).ok();
}

/// Takes every pack apart, so that single objects can be damaged.
fn unpack(world: &World, dir: &Path) {
    let packs = dir.join(".git/objects/pack");
    let aside = world.directory("packs");
    for entry in fs::read_dir(&packs).unwrap() {
        let path = entry.unwrap().path();
        fs::rename(&path, aside.join(path.file_name().unwrap())).unwrap();
    }
    for entry in fs::read_dir(&aside).unwrap() {
        let path = entry.unwrap().path();
        if path
            .extension()
            .is_some_and(|extension| extension == "pack")
        {
            let mut git = world.command("git", dir);
            git.args(["unpack-objects", "-q"]);
            git.stdin(fs::File::open(&path).unwrap());
            assert!(git.status().unwrap().success());
        }
    }
}

/// Returns the loose object that a revision names.
fn object(world: &World, dir: &Path, revision: &str) -> PathBuf {
    let id = world.git(dir, ["rev-parse", revision]).ok().line();
    dir.join(".git/objects").join(&id[..2]).join(&id[2..])
}

#[test]
fn a_missing_or_damaged_object_is_found_by_verify() {
    let world = World::new();
    let (_, dir) = pushed(&world);
    unpack(&world, &dir);
    world.handoff(&dir, ["verify", "work"]).ok();
    let note = object(&world, &dir, "refs/handoff/work:worktree/notes.txt");
    let whole = fs::read(&note).unwrap();
    fs::remove_file(&note).unwrap();
    let found = world
        .handoff(&dir, ["verify", "work", "--json"])
        .code(4)
        .json();
    assert_eq!(found["ok"], false);
    let failed: Vec<_> = found["checks"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|check| check["ok"] == false)
        .map(|check| check["code"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(failed, ["MISSING_OBJECT"]);
    let text = world.handoff(&dir, ["verify", "work"]).code(4);
    insta::assert_snapshot!(world.normal(&text.stdout()), @"
    ok    record
    ok    scope
    ok    documents
    ok    message
    ok    parents
    ok    contract
    ok    receipts
    ok    attachments
    ok    trees
    FAIL  paths: notes.txt: object [id1] is missing [MISSING_OBJECT]
    ok    line
    NOT verified work at [id2]: 1 finding
    ");
    let refused = world.handoff(&dir, ["restore", "work", "../there", "--json"]);
    assert_eq!(error_code(&refused), "MISSING_OBJECT");
    assert_eq!(refused.exit_code(), Some(4));
    world.write(&dir, "notes.txt", "edited since\n");
    for way in [&["../linked", "--worktree"][..], &["--in-place"]] {
        let args = [&["restore", "work"], way, &["--json"]].concat();
        let refused = world.handoff(&dir, args).code(4);
        assert_eq!(error_code(&refused), "MISSING_OBJECT", "{way:?}");
    }
    assert_eq!(world.read(&dir, "notes.txt"), b"edited since\n");

    let mut damaged = whole.clone();
    let last = damaged.len() - 3;
    damaged[last] ^= 0xff;
    fs::write(&note, &damaged).unwrap();
    let found = world
        .handoff(&dir, ["verify", "work", "--json"])
        .code(4)
        .json();
    assert_eq!(found["ok"], false, "{found}");
    // An object file that a crash left empty.
    fs::write(&note, "").unwrap();
    world.handoff(&dir, ["verify", "work"]).code(4);
    fs::write(&note, &whole).unwrap();
    world.handoff(&dir, ["verify", "work"]).ok();
}

#[test]
fn a_server_with_the_hook_refuses_what_was_tampered_with() {
    let world = World::new();
    let (server, dir) = server_and_clone(&world, "here");
    let url = server.display().to_string();
    let args = ["install", "--git-dir", &url];
    world.run("handoff-hooks", &dir, args).ok();
    world.write(&dir, "notes.txt", "notes\n");
    world.handoff(&dir, ["save", "work"]).ok();
    let refspec = format!("{}:refs/handoff/work", tampered(&world, &dir));
    let refused = world.git(&dir, ["push", &url, &refspec]).code(1);
    let said = refused.stderr();
    assert!(
        said.contains("handoff: TREE_MISMATCH refs/handoff/work: "),
        "{said}"
    );
    let refs = world.git(&server, ["for-each-ref", "refs/handoff"]).ok();
    assert_eq!(refs.stdout(), "");
    world.handoff(&dir, ["save", "work", "--push"]).ok();
}

/// Makes a commit like the tip of `work`, with one file more in its worktree tree.
fn tampered(world: &World, dir: &Path) -> String {
    let index = dir.join(".git/tampering");
    let line = |args: &[&str]| {
        let mut git = world.command("git", dir);
        let git = git.env("GIT_INDEX_FILE", &index).args(args);
        Output::of(git).ok().line()
    };
    line(&["read-tree", "refs/handoff/work"]);
    let blob = line(&["hash-object", "-w", "README.md"]);
    let entry = format!("100644,{blob},worktree/slipped-in.sh");
    line(&["update-index", "--add", "--cacheinfo", &entry]);
    let tree = line(&["write-tree"]);
    let message = line(&["log", "-1", "--format=%B", "refs/handoff/work"]);
    let head = line(&["rev-parse", "HEAD"]);
    line(&["commit-tree", &tree, "-p", &head, "-m", &message])
}

#[test]
fn a_record_that_was_tampered_with_is_refused_by_every_reader() {
    let world = World::new();
    let (server, dir) = server_and_clone(&world, "here");
    let url = server.display().to_string();
    world.write(&dir, "notes.txt", "notes\n");
    agent(&world, &dir, ["save", "good", "--push"]).ok();
    agent(&world, &dir, ["save", "work"]).ok();
    let commit = tampered(&world, &dir);
    let refspec = format!("{commit}:refs/handoff/work");
    // Past the helper, to a server without the hook.
    world.git(&dir, ["push", "-q", &url, &refspec]).ok();

    let there = world.directory("there");
    developer(&world, &there, ["restore", "good", "clone", "--from", &url]).ok();
    let there = there.join("clone");
    let before = Worktree::of(&world, &there);
    let synced = developer(&world, &there, ["sync"]);
    assert_eq!(synced.exit_code(), Some(4), "{}", synced.stderr());
    let verified = developer(&world, &there, ["verify", "work"]).code(4);
    insta::assert_snapshot!(world.normal(&verified.stdout()), @"
    ok    record
    ok    scope
    ok    documents
    ok    message
    ok    parents
    ok    contract
    ok    receipts
    ok    attachments
    FAIL  trees: worktree: the tree is [id1], the manifest names [id2] [TREE_MISMATCH]
    ok    paths
    FAIL  line: [id3]: worktree: the tree is [id1], the manifest names [id2] [TREE_MISMATCH]
    NOT verified work at [id3]: 2 findings
    ");
    let list = developer(&world, &there, ["list"]).code(4);
    insta::assert_snapshot!(world.normal(&list.stdout()), @"good@1	open	-	continuable	2025-01-06T09:01:00Z	same");
    insta::assert_snapshot!(world.normal(&list.stderr()), @"warning: TREE_MISMATCH: scope `work`: worktree: the tree is [id1], the manifest names [id2]");
    let readers: [&[&str]; 6] = [
        &["show", "work"],
        &["log", "work"],
        &["accept", "work", "--generation", "1"],
        &["restore", "work", "new"],
        &["restore", "work", "--in-place"],
        &["restore", "work", "new", "--from", &url],
    ];
    for reader in readers {
        let refused = developer(&world, &there, [reader, &["--json"]].concat());
        assert_eq!(
            refused.exit_code(),
            Some(4),
            "{reader:?}: {}",
            refused.stdout()
        );
        assert_eq!(error_code(&refused), "TREE_MISMATCH", "{reader:?}");
    }
    before.assert_same(&Worktree::of(&world, &there));
    assert!(!there.join("new/slipped-in.sh").exists());
    // Nor does anybody build upon it, or pass it on.
    let refused = developer(&world, &there, ["save", "work", "--json"]).code(4);
    assert_eq!(error_code(&refused), "TREE_MISMATCH");
    world
        .git(&there, ["update-ref", "refs/handoff/work", &commit])
        .ok();
    let other = world.bare("other");
    let other = format!("handoff::{}", other.display());
    let pushed = world
        .git(&there, ["push", &other, "refs/handoff/work"])
        .code(1);
    assert!(
        pushed.stderr().contains("TREE_MISMATCH"),
        "{}",
        pushed.stderr()
    );
}

#[test]
fn a_remote_line_that_is_replaced_is_believed_by_nobody_who_read_the_old_one() {
    let world = World::new();
    let (server, one) = server_and_clone(&world, "one");
    let url = server.display().to_string();
    let [reader, owner, other] =
        ["reader", "owner", "other"].map(|name| people::clone(&world, &url, name));
    world.write(&one, "a.txt", "one\n");
    world.handoff(&one, ["save", "work", "--push"]).ok();
    world.handoff(&reader, ["sync"]).ok();
    world.handoff(&reader, ["show", "work"]).ok();
    world.handoff(&owner, ["sync"]).ok();
    world.handoff(&owner, ["show", "work"]).ok();
    world.handoff(&owner, ["accept", "work", "--local"]).ok();
    // Somebody with access to a server that has no hook puts a line of their own in its place.
    world.write(&other, "b.txt", "another\n");
    world.handoff(&other, ["save", "work"]).ok();
    let force = "+refs/handoff/work:refs/handoff/work";
    world.git(&other, ["push", "-q", &url, force]).ok();
    for dir in [&reader, &owner] {
        let before = world
            .git(dir, ["for-each-ref", "refs/handoff"])
            .ok()
            .stdout();
        let synced = world.handoff(dir, ["sync"]).code(3);
        let warning = synced.stderr();
        assert!(
            warning.contains("warning: NON_LINEAR: scope `work`"),
            "{warning}"
        );
        assert_eq!(
            world
                .git(dir, ["for-each-ref", "refs/handoff"])
                .ok()
                .stdout(),
            before
        );
        for command in [
            &["show", "work"][..],
            &["verify", "work"],
            &["restore", "work", "new"],
        ] {
            let refused = world.handoff(dir, [command, &["--json"]].concat()).code(3);
            assert!(
                refused.stdout().contains("NON_LINEAR"),
                "{}",
                refused.stdout()
            );
        }
    }
    // Who is told that it was meant begins anew with it, and loses nothing of their own.
    let refused = world.handoff(&owner, ["show", "work"]).code(3).stderr();
    let forget = refused
        .split("forget what was read: ")
        .nth(1)
        .unwrap()
        .lines()
        .next()
        .unwrap();
    Output::of(world.command("sh", &owner).args(["-c", forget])).ok();
    world.handoff(&owner, ["sync"]).ok();
    assert_eq!(
        world
            .handoff(&owner, ["show", "work", "--json"])
            .ok()
            .json()["generation"],
        1
    );
    assert_eq!(
        world
            .handoff(&owner, ["list", "--safety"])
            .ok()
            .stdout()
            .lines()
            .count(),
        1
    );
}

#[test]
fn a_scope_that_differs_in_case_from_one_of_the_remote_is_not_made() {
    let world = World::new();
    let (server, one) = server_and_clone(&world, "one");
    let two = people::clone(&world, &server.display().to_string(), "two");
    world.write(&one, "a.txt", "one\n");
    world.handoff(&one, ["save", "good", "--push"]).ok();
    world.handoff(&two, ["sync"]).ok();
    world.write(&two, "b.txt", "two\n");
    let refused = world.handoff(&two, ["save", "GOOD", "--json"]).code(5);
    assert_eq!(error_code(&refused), "SCOPE_COLLISION");
    world.handoff(&two, ["save", "better"]).ok();
}
