//! Records whose paths lead where no file may be written, without a hook before them: nothing of them reaches a disk.

use std::{
    fs,
    path::{Path, PathBuf},
};

use store::repo_path::RepoPath;

use crate::{
    records::{Records, parse},
    world::World,
};

/// Makes a repository with a record of each kind of hostile path, each a scope of its own.
fn hostile(world: &World) -> (PathBuf, Vec<String>) {
    let dir = world.repo("work");
    let records = Records::new(world, &dir);
    let blob = records.blob(b"[core]\n\tfsmonitor = touch pwned\n");
    let config = records.unchecked_tree(&[("100644", "config", &blob)]);
    let target = records.blob(b"../outside");
    let bad = |name: &str| records.unchecked_tree(&[("40000", name, &config)]);
    let names = [".git", ".GIT", "git~1", ".g\u{200c}it", "..", "a\\..\\.git"];
    let mut trees: Vec<String> = names.into_iter().map(bad).collect();
    trees.push(records.unchecked_tree(&[("40000", "deep", &trees[0])]));
    // A link, and files below what it leads to.
    let entries = [("120000", "a", &*target), ("40000", "a", &config)];
    trees.push(records.unchecked_tree(&entries));
    trees.push(records.unchecked_tree(&[("100644", "/absolute", &blob)]));
    trees.push(records.unchecked_tree(&[("120000", ".gitmodules", &target)]));
    let mut written = Vec::new();
    let mut write = |record: String| {
        written.push(format!("hostile-{}", written.len()));
        let name = format!("refs/handoff/{}", written[written.len() - 1]);
        records.git(&["update-ref", &name, &record]);
    };
    let scope = |at: usize| format!("hostile-{at}");
    let mut at = 0;
    for tree in &trees {
        let mut next = || {
            at += 1;
            scope(at - 1)
        };
        let in_worktree = records.checkpoint(&next(), None, |manifest| {
            manifest.content.repository.worktree_tree = parse(tree);
        });
        write(in_worktree);
        let in_index = records.checkpoint(&next(), None, |manifest| {
            manifest.content.repository.index_tree = parse(tree);
        });
        write(in_index);
        let mut manifest = records.manifest(&next(), None);
        manifest.content.artifacts.raw = Some(parse(tree));
        let mut draft = records.draft(&manifest, None);
        draft.set("040000", "tree", tree, "raw");
        write(records.write(&draft));
        let empty = records.tree(&[]);
        let mut manifest = records.manifest(&next(), None);
        let stages = [&*empty, tree, &empty];
        manifest.content.artifacts.conflicts = stages.iter().map(|tree| parse(tree)).collect();
        let mut draft = records.draft(&manifest, None);
        let folders = ["1", "2", "3"].into_iter().zip(stages);
        let folders: Vec<_> = folders.map(|(name, tree)| ("40000", name, tree)).collect();
        let conflicts = records.unchecked_tree(&folders);
        draft.set("040000", "tree", &conflicts, "index-conflicts");
        write(records.write(&draft));
    }
    for path in ["a/.git/hooks", ".git", "README.md/below"] {
        let in_manifest = records.checkpoint(&scope(at), None, |manifest| {
            let path = RepoPath::from_bytes(path.as_bytes()).unwrap();
            manifest.content.worktree.empty_directories = vec![path].into();
        });
        write(in_manifest);
        at += 1;
    }
    (dir, written)
}

/// Everything below a directory but what Git and the tool keep for themselves.
fn all_files(dir: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
        into.push(entry.path());
        if entry.file_type().unwrap().is_dir() && entry.file_name() != ".git" {
            all_files(&entry.path(), into);
        }
    }
}

#[test]
fn a_record_with_a_hostile_path_is_refused_by_every_restore_before_a_byte_is_written() {
    let world = World::new();
    let (dir, scopes) = hostile(&world);
    assert_eq!(scopes.len(), 43);
    let origin = dir.to_str().unwrap();
    let config = fs::read(dir.join(".git/config")).unwrap();
    let index = fs::read(dir.join(".git/index")).unwrap();
    let mut files = Vec::new();
    all_files(world.root(), &mut files);
    for scope in &scopes {
        let ways: [&[&str]; 4] = [
            &["restore", scope, "../there"],
            &["restore", scope, "../there", "--from", origin],
            &["restore", scope, "../there", "--worktree"],
            &["restore", scope, "--in-place"],
        ];
        for way in ways {
            let refused = world.handoff(&dir, [way, &["--json"]].concat());
            let said = refused.stdout();
            assert_eq!(refused.exit_code(), Some(4), "{way:?}: {said}");
            let code = refused.json()["code"].as_str().unwrap().to_owned();
            // An entry that is there twice is no tree at all.
            let codes = ["UNSAFE_PATH", "MALFORMED_MANIFEST"];
            assert!(codes.contains(&&*code), "{way:?}: {said}");
            let mut found = Vec::new();
            all_files(world.root(), &mut found);
            assert_eq!(found, files, "{way:?}");
        }
    }
    assert_eq!(fs::read(dir.join(".git/index")).unwrap(), index);
    assert_eq!(fs::read(dir.join(".git/config")).unwrap(), config);
    let changed = world.git(&dir, ["status", "--porcelain"]).ok();
    assert_eq!(changed.stdout(), "");
}
