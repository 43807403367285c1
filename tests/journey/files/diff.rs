//! What differs between two checkpoints, whether they are here or in files.

use std::fs;

use serde_json::json;

use super::{export, file, next, saved};
use crate::{
    people::{DEVELOPER, error_code},
    world::World,
};

#[test]
fn contract_commits_files_and_records_are_compared() {
    let world = World::new();
    let here = saved(&world);
    world
        .handoff_as(DEVELOPER, &here, ["accept", "work", "--local"])
        .ok();
    world.tick();
    world.write(&here, "src/begun.rs", "// begun\n// more\n");
    world.commit(&here, "Go on");
    world.write(&here, "odd\nname", [0_u8, 1]);
    fs::remove_file(here.join("README.md")).unwrap();
    let args = ["save", "work", "-m", "Another \u{1b}[31maim"];
    world.handoff_as(DEVELOPER, &here, args).ok();
    let found = world
        .handoff(&here, ["diff", "work@1", "work", "--json"])
        .ok()
        .json();
    let short = world
        .handoff(&here, ["diff", "work@1..2", "--json"])
        .ok()
        .json();
    assert_eq!(found, short);
    assert_eq!(
        (&found["from"]["generation"], &found["to"]["generation"]),
        (&json!(1), &json!(2))
    );
    let of = |field: &str| {
        let changes = found["contract"].as_array().unwrap().iter();
        changes
            .filter(|change| change["field"] == field)
            .cloned()
            .collect::<Vec<_>>()
    };
    assert_eq!(of("objective")[0]["after"], "Another \u{1b}[31maim");
    let head = world.git(&here, ["rev-parse", "HEAD"]).ok().line();
    assert_eq!(of("repository.head")[0]["after"], head.as_str());
    // Git finds the same.
    assert_eq!(
        found["commits"],
        json!([{"commit": head, "change": "added", "summary": "Go on"}])
    );
    let file = |path: &str, status: &str, modes: [Option<&str>; 2], lines: [Option<u64>; 2]| {
        json!({
            "path": path, "status": status, "oldMode": modes[0], "newMode": modes[1],
            "added": lines[0], "deleted": lines[1],
        })
    };
    let mode = Some("100644");
    let files = [
        file("README.md", "deleted", [mode, None], [Some(0), Some(1)]),
        file("odd\nname", "added", [None, mode], [None, None]),
        file("src/begun.rs", "modified", [mode, mode], [Some(1), Some(0)]),
    ];
    assert_eq!(found["files"], json!(files));
    let kinds = found["records"].as_array().unwrap().iter();
    let kinds: Vec<_> = kinds.map(|record| record["record"].clone()).collect();
    // The newest record of the first generation is its accept.
    assert_eq!(kinds, ["checkpoint"]);
    // Text of the checkpoint cannot steer the terminal.
    let text = world.handoff(&here, ["diff", "work@1..2"]).ok().stdout();
    assert!(!text.contains('\u{1b}'), "{text}");
    let contract = world
        .handoff(&here, ["diff", "work@1..2", "--contract"])
        .ok();
    assert!(!contract.stdout().contains("files\n"));
    // Back again, what was added is removed.
    let back = world
        .handoff(&here, ["diff", "work@2", "work@1", "--json"])
        .ok()
        .json();
    assert_eq!(back["commits"][0]["change"], "removed");
}

#[test]
fn files_are_compared_as_scopes_are() {
    let world = World::new();
    let here = saved(&world);
    let (first, second) = (file(&world, "1.bundle"), file(&world, "2.bundle"));
    export(&world, &here, "work", &first);
    next(&world, &here, "second\n");
    export(&world, &here, "work", &second);
    let strip = |what: [&str; 2], dir: &std::path::Path| {
        let found = world
            .handoff(dir, ["diff", what[0], what[1], "--json"])
            .ok()
            .json();
        (
            found["files"].clone(),
            found["contract"].clone(),
            found["records"].clone(),
        )
    };
    let scopes = strip(["work@1", "work@2"], &here);
    let nowhere = world.directory("nowhere");
    for (what, dir) in [
        ([first.as_str(), second.as_str()], &nowhere),
        ([first.as_str(), "work"], &here),
        (["work@1", second.as_str()], &here),
    ] {
        assert_eq!(strip(what, dir), scopes, "{what:?}");
    }
    let text = world.handoff(&nowhere, ["diff", &first, &second]).ok();
    insta::assert_snapshot!(world.normal(&text.stdout()), @"
    work@1 .. work@2
    contract
      repository.worktreeTree [id1] -> [id2]
      worktree.untracked.bytes 5 -> 7
      worktree.untracked.digest [digest1] -> [digest2]
    files
      modified     notes.txt  +1 -1
      1 file, +1 -1
    records
      2025-01-06T09:03:00Z ann@example.invalid handoff(work): checkpoint 2 – wip: main
    ");
    let stat = world
        .handoff(&here, ["diff", "work@1..2", "--stat", "--", "src"])
        .ok();
    assert_eq!(stat.stdout(), "work@1 .. work@2\n");
    let refused = world.handoff(&here, ["diff", "work", "--json"]).code(2);
    assert_eq!(error_code(&refused), "USAGE");
}
