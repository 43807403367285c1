//! The hard gates: what they measure, and what they stop.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::{people::server_and_clone, world::World};

fn gate<'a>(document: &'a Value, name: &str) -> &'a Value {
    let mut gates = document["gates"].as_array().unwrap().iter();
    gates
        .find(|gate| gate["name"] == name)
        .unwrap_or_else(|| panic!("{name}: {document:#}"))
}

#[test]
fn a_sample_of_twenty_of_fifty_scopes_is_measured_in_bounded_time_and_can_be_repeated() {
    let world = World::new();
    let (_, dir) = server_and_clone(&world, "here");
    for number in 1..=50 {
        world.write(&dir, "notes.txt", format!("scope {number}\n"));
        world
            .handoff(&dir, ["save", &format!("scope-{number}")])
            .ok();
    }
    let started = Instant::now();
    let measured = world
        .handoff(&dir, ["gate", "--sample", "20", "--json"])
        .ok()
        .json();
    let took = started.elapsed();
    assert!(took < Duration::from_secs(180), "{took:?}");
    assert_eq!(
        (&measured["ok"], &measured["scopes"]),
        (&true.into(), &50.into())
    );
    let sample = measured["sample"].as_array().unwrap();
    assert_eq!(sample.len(), 20);
    // Each of them has one untracked file.
    let coverage = gate(&measured, "coverage");
    assert_eq!(
        (&coverage["value"], &coverage["counted"]),
        (&100.into(), &20.into())
    );
    assert_eq!(gate(&measured, "restored")["counted"], 20);
    let first = gate(&measured, "first-command");
    assert!(
        first["value"].as_u64().unwrap() > 0 && first["limit"] == 600_000,
        "{first}"
    );
    // Accept, write and rewind, three times.
    let late = gate(&measured, "late");
    assert_eq!((&late["value"], &late["counted"]), (&100.into(), &9.into()));
    let seed = measured["seed"].as_str().unwrap();
    let again = ["gate", "--sample", "2", "--seed", seed, "--json"];
    let again = world.handoff(&dir, again).ok().json();
    assert_eq!(again["sample"].as_array().unwrap()[..], sample[..2]);
    assert_eq!(again["seed"], seed);
}

#[test]
fn each_gate_that_fails_names_the_artifact_and_exits_with_5() {
    let world = World::new();
    let (_, dir) = server_and_clone(&world, "here");
    world.write(&dir, "notes.txt", "half done\n");
    world.handoff(&dir, ["save", "work"]).ok();
    let text = world.handoff(&dir, ["gate", "work"]).ok().stdout();
    assert!(text.lines().all(|line| !line.starts_with("FAIL")), "{text}");
    // An object that was collected: what it held cannot be had.
    let blob = world
        .git(&dir, ["rev-parse", "refs/handoff/work:worktree/notes.txt"])
        .ok()
        .line();
    let held = world
        .git(&dir, ["cat-file", "--batch-all-objects", "--batch-check"])
        .ok()
        .stdout();
    assert!(held.contains(&blob));
    let ids: Vec<&str> = held
        .lines()
        .filter_map(|line| line.split(' ').next())
        .collect();
    let kept: Vec<(String, Vec<u8>, String)> = ids
        .iter()
        .filter(|id| **id != blob)
        .map(|id| {
            let kind = world.git(&dir, ["cat-file", "-t", id]).ok().line();
            let bytes = world.git(&dir, ["cat-file", &kind, id]).ok();
            (id.to_string(), bytes.bytes().to_vec(), kind)
        })
        .collect();
    let objects = dir.join(".git/objects");
    std::fs::remove_dir_all(&objects).unwrap();
    std::fs::create_dir_all(objects.join("pack")).unwrap();
    for (id, bytes, kind) in kept {
        let mut command = world.command("git", &dir);
        command.args(["hash-object", "-w", "--literally", "--stdin", "-t", &kind]);
        let written = crate::world::Output::with_input(&mut command, bytes).ok();
        assert_eq!(written.line(), id);
    }
    let failed = world
        .handoff(&dir, ["gate", "work", "--json"])
        .code(5)
        .json();
    assert_eq!(failed["ok"], false);
    let reachable = gate(&failed, "reachable");
    assert_eq!(reachable["ok"], false);
    assert!(reachable.to_string().contains(&blob), "{reachable}");
    assert_eq!(gate(&failed, "restored")["value"], 0);
    assert_eq!(
        failed["nextCommands"],
        json!([["git", "handoff", "verify", "work", "--clean-clone"]])
    );
}

#[test]
fn where_there_is_no_scope_there_is_nothing_to_measure() {
    let world = World::new();
    let dir = world.repo("here");
    let refused = world.handoff(&dir, ["gate", "--json"]).code(6).json();
    assert_eq!(refused["code"], "NOT_FOUND");
    let refused = world
        .handoff(&dir, ["gate", "work", "--json"])
        .code(6)
        .json();
    assert_eq!(refused["subject"], "work");
}
