//! Somebody who knows nothing but `nextCommands` is led through a hand-over, in both directions.

use std::path::Path;

use serde_json::{Value, json};

use crate::{
    files::file,
    people::{AGENT, DEVELOPER, agent, developer, server_and_clone},
    world::{Output, World},
};

/// Runs a command that a document names, as it stands there, and returns its document.
#[track_caller]
fn follow(world: &World, id: &str, dir: &Path, document: &Value, word: &str) -> Value {
    let commands = document["nextCommands"].as_array().unwrap().iter();
    let named = commands
        .filter_map(Value::as_array)
        .find(|command| command.contains(&json!(word)));
    let words = named.unwrap_or_else(|| panic!("no `{word}` in {document}"));
    let words: Vec<&str> = words.iter().map(|word| word.as_str().unwrap()).collect();
    let mut command = world.command(words[0], dir);
    command.args(&words[1..]);
    command.env("HANDOFF_ID", id).env("HANDOFF_JSON", "1");
    Output::of(&mut command).ok().json()
}

#[test]
fn each_step_from_save_to_accept_and_back_names_the_next() {
    let world = World::new();
    let (_, here) = server_and_clone(&world, "here");
    world.write(&here, "parser.py", "def parse(text):\n    return text\n");
    let saved = agent(&world, &here, ["save", "work", "--json"]).ok().json();
    let pushed = follow(&world, AGENT, &here, &saved, "push");
    let restored = follow(&world, DEVELOPER, world.root(), &pushed, "restore");
    let read = follow(&world, DEVELOPER, world.root(), &restored, "continue");
    let there = world.root().join("work");
    let accepted = follow(&world, DEVELOPER, &there, &read, "accept");
    world.write(&there, "parser.py", "def parse(text):\n    return None\n");
    let back = follow(&world, DEVELOPER, &there, &accepted, "save");
    assert_eq!(
        (&back["generation"], &back["pushed"]),
        (&json!(2), &json!(true))
    );
    // The first one learns of it and takes it over again.
    let late = agent(&world, &here, ["accept", "work", "--json"])
        .code(3)
        .json();
    assert_eq!(late["code"], "STALE_CHECKPOINT");
    let read = follow(&world, AGENT, &here, &late, "continue");
    assert_eq!(read["changes"]["worktree"]["state"], "differs");
    let accepted = follow(&world, AGENT, &here, &late, "accept");
    assert_eq!(
        (&accepted["generation"], &accepted["acceptor"]),
        (&json!(2), &json!(AGENT))
    );
}

#[test]
fn each_step_from_a_receipt_to_a_claim_and_on_to_the_next_owner_names_the_next() {
    let world = World::new();
    let (_, here) = server_and_clone(&world, "here");
    world.write(&here, "parser.py", "def parse(text):\n    return text\n");
    let run = |id: &str, dir: &Path| {
        let args = [
            "run",
            "--claim",
            "C1",
            "--json",
            "--",
            "grep",
            "-q",
            "def",
            "parser.py",
        ];
        world.handoff_as(id, dir, args).ok().json()
    };
    let ran = run(AGENT, &here);
    let draft = follow(&world, AGENT, &here, &ran, "draft");
    let path = Path::new(draft["path"].as_str().unwrap());
    // What is wrong with it is told, and then what to do.
    world.write(
        &here,
        path,
        "objective: Parse\nclaims: [{id: C1, text: It parses, state: evidenced}]\n",
    );
    let refused = world
        .handoff_as(AGENT, &here, ["prepare", "--json"])
        .code(4)
        .json();
    assert_eq!(refused["errors"][0]["code"], "UNEVIDENCED_CLAIM");
    world.write(
        &here,
        path,
        "objective: Parse\nclaims: [{id: C1, text: It parses, state: evidenced}]\nuntested: []\n",
    );
    let prepared = follow(&world, AGENT, &here, &refused, "prepare");
    let committed = follow(&world, AGENT, &here, &prepared, "commit");
    let pushed = follow(&world, AGENT, &here, &committed, "push");
    let restored = follow(&world, DEVELOPER, world.root(), &pushed, "restore");
    let read = follow(&world, DEVELOPER, world.root(), &restored, "continue");
    let there = world.root().join(restored["directory"].as_str().unwrap());
    let accepted = follow(&world, DEVELOPER, &there, &read, "accept");
    // The claim goes on in the next draft, and the receipt that is made for it now is the one that shows it.
    world.write(&there, "parser.py", "def parse(text):\n    return None\n");
    let ran = run(DEVELOPER, &there);
    follow(&world, DEVELOPER, &there, &ran, "draft");
    let saved = follow(&world, DEVELOPER, &there, &accepted, "save");
    assert_eq!(saved["generation"], 2);
    let read = developer(&world, &there, ["continue", "--json"])
        .ok()
        .json();
    assert_eq!(
        (
            &read["claims"][0]["receipt"],
            &read["claims"][0]["evidence"]
        ),
        (&json!("R2"), &json!("ok"))
    );
}

#[test]
fn without_a_remote_each_step_leads_through_files() {
    let world = World::new();
    let here = world.repo("here");
    world.write(&here, "notes.txt", "half done\n");
    let saved = agent(&world, &here, ["save", "work", "--json"]).ok().json();
    let exported = follow(&world, AGENT, &here, &saved, "export");
    assert_eq!(exported["file"], "work.bundle");
    world.write(&here, "notes.txt", "a little more\n");
    agent(
        &world,
        &here,
        ["prepare", "work", "-m", "Go on", "--omit", "work.bundle"],
    )
    .ok();
    let to = file(&world, "prepared.bundle");
    let args = ["export", "work@prepared", "-o", &to, "--json"];
    let exported = agent(&world, &here, args).ok().json();
    let elsewhere = world.directory("elsewhere");
    let restored = follow(&world, DEVELOPER, &elsewhere, &exported, "restore");
    let there = elsewhere.join("work");
    // What was restored is what is continued, not the generation before it.
    let read = developer(&world, &there, ["continue", "--json"])
        .ok()
        .json();
    assert_eq!(
        (&read["state"], &read["generation"]),
        (&json!("prepared"), &json!(2))
    );
    let committed = follow(&world, DEVELOPER, &elsewhere, &restored, "commit");
    assert_eq!(committed["created"], true);
    let read = developer(&world, &there, ["continue", "--json"])
        .ok()
        .json();
    assert_eq!(
        (&read["state"], &read["generation"]),
        (&json!("open"), &json!(2))
    );
    let refused = developer(&world, &there, ["accept", "--json"])
        .code(2)
        .json();
    assert!(
        refused["hint"].as_str().unwrap().contains("--local"),
        "{refused}"
    );
    developer(&world, &there, ["accept", "--local"]).ok();
    let back = file(&world, "back.bundle");
    developer(&world, &there, ["export", "-o", &back]).ok();
    let imported = agent(&world, &here, ["import", &back, "--json"])
        .ok()
        .json();
    let read = follow(&world, AGENT, &here, &imported, "continue");
    assert_eq!(
        (&read["state"], &read["owner"]),
        (&json!("accepted"), &json!(DEVELOPER))
    );
}

#[test]
fn what_was_prepared_is_committed_in_the_linked_worktree_that_it_was_restored_into() {
    let world = World::new();
    let (_, here) = server_and_clone(&world, "here");
    world.write(&here, "notes.txt", "half done\n");
    agent(&world, &here, ["prepare", "work", "-m", "Go on"]).ok();
    let args = [
        "restore",
        "work@prepared",
        "../linked",
        "--worktree",
        "--json",
    ];
    let restored = agent(&world, &here, args).ok().json();
    let read = follow(&world, AGENT, &here, &restored, "continue");
    assert_eq!(read["changes"]["worktree"]["state"], "same");
    let committed = follow(&world, AGENT, &here, &restored, "commit");
    assert_eq!(
        (&committed["created"], &committed["generation"]),
        (&json!(true), &json!(1))
    );
}
