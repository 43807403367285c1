//! What a capture writes, and what it leaves alone.

use std::fs;

use store::snapshot::{CaptureOptions, capture_and_keep, keep};

use crate::repo::Repo;

fn packs(repo: &Repo) -> usize {
    fs::read_dir(repo.path(".git/objects/pack"))
        .unwrap()
        .filter(|entry| {
            let name = entry.as_ref().unwrap().file_name();
            name.to_string_lossy().ends_with(".pack")
        })
        .count()
}

#[test]
fn all_new_objects_go_into_one_pack_and_none_into_no_pack() {
    let repo = Repo::seeded();
    repo.capture();
    assert_eq!(packs(&repo), 0);
    for number in 0..100 {
        repo.write(format!("many/{number}"), format!("content {number}\n"));
    }
    repo.capture();
    assert_eq!(packs(&repo), 1);
    repo.capture();
    assert_eq!(packs(&repo), 1);
    repo.git(&["fsck", "--strict"]);
}

#[test]
fn few_new_objects_are_written_a_file_each() {
    let repo = Repo::seeded();
    repo.write("new/file", "content\n");
    repo.write("link-to-be", "content of another\n");
    let snapshot = repo.capture();
    assert_eq!(packs(&repo), 0);
    assert_eq!(snapshot.worktree_tree.to_string(), repo.trees_by_git().1);
    repo.git(&["fsck", "--strict"]);
    let left: Vec<_> = fs::read_dir(repo.path(".git/objects"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .filter(|name| name.to_string_lossy().starts_with("tmp"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn files_of_a_shared_repository_get_the_modes_that_git_gives_them() {
    use std::os::unix::fs::PermissionsExt;
    let repo = Repo::seeded();
    repo.git(&["config", "core.sharedRepository", "0664"]);
    repo.write("new/file", "content\n");
    repo.capture();
    let packs = fs::read_dir(repo.path(".git/objects/pack")).unwrap();
    let modes: Vec<u32> = packs
        .map(|entry| entry.unwrap().metadata().unwrap().permissions().mode() & 0o777)
        .collect();
    assert!(
        !modes.is_empty() && modes.iter().all(|mode| *mode == 0o444),
        "{modes:?}"
    );
}

#[test]
fn a_big_file_is_captured_as_its_bytes_are() {
    let repo = Repo::seeded();
    let content: Vec<u8> = (0..9_000_000u32)
        .map(|n| (n.wrapping_mul(n) >> 7) as u8)
        .collect();
    repo.write("big", &content);
    let snapshot = repo.capture();
    assert!(repo.content(snapshot.worktree_tree, "big") == content);
    assert_eq!(snapshot.worktree_tree.to_string(), repo.trees_by_git().1);
}

#[test]
fn a_staged_object_that_a_crash_left_empty_is_made_anew() {
    let repo = Repo::seeded();
    repo.write("staged", "its content\n");
    repo.git(&["add", "staged"]);
    let id = repo.git(&["rev-parse", ":staged"]);
    let object = repo.path(format!(".git/objects/{}/{}", &id[..2], &id[2..]));
    fs::remove_file(&object).unwrap();
    fs::write(&object, "").unwrap();
    let snapshot = repo.capture();
    assert_eq!(
        repo.content(snapshot.worktree_tree, "staged"),
        b"its content\n"
    );
    assert_eq!(
        repo.content(snapshot.index_tree, "staged"),
        b"its content\n"
    );
}

#[test]
fn an_object_of_an_unchanged_file_that_a_crash_left_empty_is_made_anew_or_named() {
    let emptied = || {
        let repo = Repo::seeded();
        repo.write("unchanged", "its content\n");
        repo.git(&["add", "unchanged"]);
        repo.commit("base");
        let id = repo.git(&["rev-parse", ":unchanged"]);
        let object = repo.path(format!(".git/objects/{}/{}", &id[..2], &id[2..]));
        fs::remove_file(&object).unwrap();
        fs::write(&object, "").unwrap();
        (repo, id)
    };
    let (repo, id) = emptied();
    repo.remove("unchanged");
    let refused = repo.try_capture().unwrap_err();
    assert!(refused.to_string().contains(&id), "{refused}");
    let (repo, _) = emptied();
    let snapshot = repo.capture();
    assert_eq!(
        repo.content(snapshot.worktree_tree, "unchanged"),
        b"its content\n"
    );
}

/// Leaves of the staged object something else than what its id says.
fn damage(repo: &Repo, id: &str, how: &str) {
    let loose = |id: &str| repo.path(format!(".git/objects/{}/{}", &id[..2], &id[2..]));
    let object = loose(id);
    let whole = fs::read(&object).unwrap();
    fs::remove_file(&object).unwrap();
    match how {
        "cut short" => fs::write(&object, &whole[..whole.len() / 2]).unwrap(),
        "no stream" => fs::write(&object, "nothing that was compressed").unwrap(),
        _ => drop(fs::copy(loose(&repo.git(&["rev-parse", "HEAD:a.txt"])), &object).unwrap()),
    }
}

#[test]
fn a_staged_object_that_a_crash_left_damaged_is_made_anew_or_named() {
    let content: String = (0..2000)
        .map(|number| format!("{}\n", number * 7919))
        .collect();
    for how in ["cut short", "no stream", "another object"] {
        let repo = Repo::seeded();
        repo.write("staged", &content);
        repo.git(&["add", "staged"]);
        let id = repo.git(&["rev-parse", ":staged"]);
        damage(&repo, &id, how);
        let snapshot = repo.capture();
        assert!(
            repo.content(snapshot.index_tree, "staged") == content.as_bytes(),
            "{how}"
        );
        repo.git(&["fsck", "--strict"]);

        let repo = Repo::seeded();
        repo.write("staged", &content);
        repo.git(&["add", "staged"]);
        damage(&repo, &id, how);
        repo.write("staged", "what lies on disk is something else\n");
        let error = repo.try_capture().unwrap_err();
        assert!(error.to_string().contains(&id), "{how}: {error}");
    }
}

#[test]
fn a_damaged_side_of_a_conflict_is_named() {
    let repo = Repo::seeded();
    repo.write("side", "theirs\n");
    let id = repo.git(&["hash-object", "-w", "side"]);
    repo.remove("side");
    let entry = format!("100644 {id} 3\tboth\n");
    repo.feed(&["update-index", "--index-info"], &entry);
    repo.capture();
    damage(&repo, &id, "another object");
    let error = repo.try_capture().unwrap_err();
    assert!(error.to_string().contains(&id), "{error}");
}

#[test]
fn what_head_has_is_not_kept_once_more() {
    let repo = Repo::seeded();
    capture_and_keep(&repo.open(), &CaptureOptions::default()).unwrap();
    assert_eq!(repo.git(&["for-each-ref", "refs/handoff-local"]), "");
    repo.write("untracked", "new\n");
    capture_and_keep(&repo.open(), &CaptureOptions::default()).unwrap();
    let kept = repo.git(&["for-each-ref", "refs/handoff-local"]);
    assert_eq!(kept.lines().count(), 1);
}

#[test]
fn a_staged_object_that_is_lost_is_an_error() {
    let repo = Repo::seeded();
    repo.write("staged", "its content\n");
    repo.git(&["add", "staged"]);
    let id = repo.git(&["rev-parse", ":staged"]);
    repo.write("staged", "something else\n");
    fs::remove_file(repo.path(format!(".git/objects/{}/{}", &id[..2], &id[2..]))).unwrap();
    let error = repo.try_capture().unwrap_err();
    assert!(error.to_string().contains(&id), "{error}");
}

#[test]
fn kept_objects_survive_garbage_collection_and_make_one_chain() {
    let repo = Repo::seeded();
    let mut trees = Vec::new();
    for content in ["one\n", "two\n", "two\n"] {
        repo.write("untracked", content);
        let snapshot = repo.capture();
        keep(&repo.open(), &snapshot).unwrap();
        trees.push(snapshot.worktree_tree);
    }
    repo.write("untracked", "three\n");
    let options = CaptureOptions::default();
    let snapshot = capture_and_keep(&repo.open(), &options).unwrap();
    trees.push(snapshot.worktree_tree);
    capture_and_keep(&repo.open(), &options).unwrap();
    let chain = repo.git(&["rev-list", "refs/handoff-local/keep/main"]);
    assert_eq!(chain.lines().count(), 3);
    repo.git(&["gc", "-q", "--prune=now"]);
    for (tree, content) in trees.iter().zip(["one\n", "two\n", "two\n", "three\n"]) {
        assert_eq!(repo.content(tree, "untracked"), content.as_bytes());
    }
    repo.git(&["fsck", "--strict"]);
}

#[test]
fn the_index_file_and_its_time_stay_as_they_are() {
    let repo = Repo::seeded();
    let file = fs::File::options()
        .write(true)
        .open(repo.path("a.txt"))
        .unwrap();
    file.set_modified(std::time::SystemTime::UNIX_EPOCH)
        .unwrap();
    let index = repo.path(".git/index");
    let before = (
        fs::read(&index).unwrap(),
        fs::metadata(&index).unwrap().modified().unwrap(),
    );
    repo.write("new", "x\n");
    repo.capture();
    let after = (
        fs::read(&index).unwrap(),
        fs::metadata(&index).unwrap().modified().unwrap(),
    );
    assert!(before == after);
}
