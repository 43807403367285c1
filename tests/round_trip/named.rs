//! What `verify --worktree` names.

use std::fs;

use crate::world::World;

#[test]
fn verify_names_each_path_of_the_worktree_that_differs_also_where_git_stores_the_same() {
    let world = World::new();
    let work = world.repo("work");
    world.write(&work, ".gitattributes", "*.txt text\n");
    world.write(&work, "mixed.txt", "mixed\r\nends\n");
    world.write(&work, "same.txt", "same\r\nends\n");
    world.write(&work, "plain", "plain\n");
    world.write(&work, "gone", "gone\n");
    world.handoff(&work, ["save", "demo"]).ok();
    world.handoff(&work, ["restore", "demo", "../there"]).ok();
    let dir = world.root().join("there");
    let named = || {
        let said = world.handoff(&dir, ["verify", "demo", "--worktree", "--json"]);
        let found = said.json();
        let checks = found["checks"].as_array().unwrap();
        let wrong = checks.iter().filter(|check| check["ok"] == false);
        let wrong: Vec<String> = wrong
            .map(|check| format!("{} {}", check["code"], check["artifact"]))
            .collect();
        assert_eq!(said.exit_code(), Some(if wrong.is_empty() { 0 } else { 4 }));
        wrong.join("\n").replace('"', "")
    };
    assert_eq!(named(), "");
    // Line ends alone: Git sees no change.
    fs::write(dir.join("mixed.txt"), "mixed\nends\r\n").unwrap();
    assert_eq!(named(), "WORKTREE_CHANGED mixed.txt");
    fs::write(dir.join("mixed.txt"), "mixed\nends\n").unwrap();
    assert_eq!(named(), "WORKTREE_CHANGED mixed.txt");
    fs::write(dir.join("plain"), "edited\n").unwrap();
    fs::remove_file(dir.join("gone")).unwrap();
    fs::write(dir.join("new"), "new\n").unwrap();
    let all = ["gone", "new", "plain", "mixed.txt"].map(|path| format!("WORKTREE_CHANGED {path}"));
    assert_eq!(named(), all.join("\n"));
    fs::write(dir.join("mixed.txt"), "mixed\r\nends\n").unwrap();
    assert_eq!(named(), all[..3].join("\n"));
}
