//! A prepared handoff has two lives: in no history, as a file or taken back, and as a checkpoint.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::{
    files::{export, file, leftovers},
    people::{
        self, AGENT, DEVELOPER, OTHER, agent, developer, error_code, prove, server_and_clone,
    },
    state::{Untouched, Worktree},
    world::{Output, World},
};

const DRAFT: &str = "\
objective: Treat empty fields as null
state: [{text: The parser reads empty fields, citations: [receipt/R1, file/parser.py]}]
claims: [{id: AC-3, text: The parser can be loaded, state: evidenced}]
untested: []
";

/// Makes a clone with unfinished work and a receipt for its claim, as the agent has left it.
fn work(world: &World, name: &str) -> (PathBuf, PathBuf) {
    let (server, dir) = server_and_clone(world, name);
    world.write(&dir, "parser.py", "def parse(text):\n    return text\n");
    world.write(&dir, "notes.txt", "half done\n");
    prove(world, &dir);
    (server, dir)
}

fn with_draft(world: &World, dir: &Path, args: &[&str]) -> Output {
    let mut command = world.command("git", dir);
    command
        .env("HANDOFF_ID", AGENT)
        .env("HANDOFF_KIND", "agent");
    Output::with_input(command.arg("handoff").args(args), DRAFT)
}

fn prepare(world: &World, dir: &Path) -> String {
    let prepared = with_draft(world, dir, &["prepare", "work", "-f", "-", "--json"]);
    prepared.ok().json()["contentDigest"].to_string()
}

#[test]
fn a_prepared_handoff_travels_as_a_file_and_comes_back_accepted() {
    people::with_each_git(|world| {
        let (_, dir) = work(world, "agent");
        let left = Worktree::of(world, &dir);
        let digest = prepare(world, &dir);
        let to = file(world, "prepared.bundle");
        let untouched = Untouched::of(world, &dir);
        let made = export(world, &dir, "work@prepared", &to);
        untouched.assert_same(&Untouched::of(world, &dir));
        assert_eq!(made["checkpointDigest"], json!(null));
        // Git itself takes it.
        world.git(&dir, ["bundle", "verify", "-q", &to]).ok();
        let empty = world.bare("empty");
        world
            .git(&empty, ["fetch", "-q", &to, "refs/*:refs/*"])
            .ok();
        world.git(&empty, ["fsck", "--strict"]).ok();

        // An empty directory, and the file.
        let elsewhere = world.directory("elsewhere");
        let read = developer(world, &elsewhere, ["continue", &to, "--json"])
            .ok()
            .json();
        assert_eq!(
            (&read["state"], &read["generation"], &read["tip"]),
            (&json!("prepared"), &json!(1), &json!(null))
        );
        assert_eq!(read["changes"]["worktree"]["state"], "none");
        assert_eq!(read["claims"][0]["evidence"], "bound");
        developer(world, &elsewhere, ["verify", &to]).ok();
        developer(world, &elsewhere, ["restore", &to, "work"]).ok();
        let there = elsewhere.join("work");
        left.assert_same(&Worktree::of(world, &there));
        let read = developer(world, &there, ["continue", "--json"]).ok().json();
        assert_eq!(read["changes"]["worktree"]["state"], "same");

        // It becomes a checkpoint there, once.
        let committed = developer(world, &there, ["commit", "work", "--json"])
            .ok()
            .json();
        assert_eq!(committed["contentDigest"].to_string(), digest);
        let again = developer(world, &there, ["commit", "work", "--json"])
            .ok()
            .json();
        assert_eq!(again["created"], false);
        developer(world, &there, ["continue", "work"]).ok();
        developer(world, &there, ["accept", "work", "--local"]).ok();
        let back = file(world, "back.bundle");
        export(world, &there, "work", &back);
        world.git(&there, ["bundle", "verify", "-q", &back]).ok();

        agent(world, &dir, ["import", &back]).ok();
        let log = agent(world, &dir, ["log", "work", "--json"])
            .ok()
            .json_lines();
        let records: Vec<_> = log.iter().map(|row| (&row["record"], &row["by"])).collect();
        let (accept, checkpoint, by) = (&json!("accept"), &json!("checkpoint"), &json!(DEVELOPER));
        assert_eq!(records, [(accept, by), (checkpoint, by)]);
        // What is prepared here says the same, so it makes no other generation.
        let same = agent(world, &dir, ["commit", "work", "--json"]).ok().json();
        assert_eq!(
            (&same["created"], &same["generation"]),
            (&json!(false), &json!(1))
        );
        assert_eq!(leftovers(world), Vec::<PathBuf>::new());
    });
}

#[test]
fn a_prepared_handoff_that_is_imported_takes_the_place_of_no_other() {
    let world = World::new();
    let (server, dir) = work(&world, "agent");
    prepare(&world, &dir);
    let to = file(&world, "prepared.bundle");
    export(&world, &dir, "work@prepared", &to);
    let other = people::clone(&world, &server.display().to_string(), "other");
    let imported = developer(&world, &other, ["import", &to, "--json"])
        .ok()
        .json();
    assert_eq!(imported["prepared"][0]["scope"], "work");
    developer(&world, &other, ["restore", "work@prepared", "--in-place"]).ok();
    Worktree::of(&world, &dir).assert_same(&Worktree::of(&world, &other));
    // Once more, it is there already.
    let again = developer(&world, &other, ["import", &to]).ok();
    insta::assert_snapshot!(again.stdout(), @"
    work@prepared: up to date
    next:
      git handoff continue work@prepared
      git handoff restore work@prepared
    ");
    world.write(&other, "notes.txt", "of somebody else\n");
    developer(&world, &other, ["prepare", "work"]).ok();
    let own = ["rev-parse", "refs/handoff-local/prepared/main/work"];
    let own = |world: &World| world.git(&other, own).ok().line();
    let before = own(&world);
    let refused = developer(&world, &other, ["import", &to, "--json"]).code(3);
    assert_eq!(error_code(&refused), "CAS_CONFLICT");
    assert_eq!(own(&world), before);
    // Once it is a checkpoint, nothing is lost any more – but what comes follows another tip, and cannot be committed.
    developer(&world, &other, ["commit", "work"]).ok();
    developer(&world, &other, ["import", &to]).ok();
    developer(&world, &other, ["restore", "work@prepared", "--in-place"]).ok();
    let refused = developer(&world, &other, ["commit", "work", "--json"]).code(3);
    let refused = refused.json();
    assert_eq!(refused["code"], "CAS_CONFLICT");
    let message = refused["message"].as_str().unwrap();
    assert!(
        message.contains("prepared before it began") && message.contains("at generation 1"),
        "{message}"
    );
}

#[test]
fn a_file_that_names_another_ref_than_its_document_is_refused() {
    let world = World::new();
    let (_, dir) = work(&world, "agent");
    prepare(&world, &dir);
    let prepared = ["rev-parse", "refs/handoff-local/prepared/main/work"];
    let prepared = world.git(&dir, prepared).ok().line();
    let other = "refs/handoff-local/prepared/main/other";
    world.git(&dir, ["update-ref", other, &prepared]).ok();
    let to = file(&world, "false.bundle");
    world.git(&dir, ["bundle", "create", "-q", &to, other]).ok();
    let nowhere = world.directory("nowhere");
    for command in ["continue", "show", "restore"] {
        let refused = developer(&world, &nowhere, [command, &to, "--json"]).code(4);
        assert_eq!(error_code(&refused), "SCOPE_MISMATCH", "{command}");
    }
    let refused = developer(&world, &dir, ["import", &to, "--json"]).code(4);
    assert_eq!(error_code(&refused), "SCOPE_MISMATCH");
}

#[test]
fn what_is_taken_back_is_prepared_again_and_can_be_committed_again() {
    let world = World::new();
    let (_, dir) = work(&world, "agent");
    let saved = with_draft(&world, &dir, &["save", "work", "-f", "-", "--json"])
        .ok()
        .json();
    let taken_back = agent(&world, &dir, ["uncommit", "work", "--json"])
        .ok()
        .json();
    assert_eq!(
        (&taken_back["prepared"], &taken_back["safety"]),
        (&json!(true), &json!(null))
    );
    agent(&world, &dir, ["verify", "work@prepared"]).ok();
    let committed = agent(&world, &dir, ["commit", "work", "--json"])
        .ok()
        .json();
    assert_eq!(
        (&committed["contentDigest"], &committed["generation"]),
        (&saved["contentDigest"], &json!(1))
    );
}

#[test]
fn what_another_has_written_is_taken_back_as_it_is() {
    let world = World::new();
    let (server, dir) = work(&world, "agent");
    with_draft(&world, &dir, &["save", "work", "-f", "-"]).ok();
    let to = file(&world, "work.bundle");
    export(&world, &dir, "work", &to);
    let other = people::clone(&world, &server.display().to_string(), "other");
    developer(&world, &other, ["import", &to]).ok();
    developer(&world, &other, ["init"]).ok();
    let taken_back = developer(&world, &other, ["uncommit", "work", "--json"])
        .ok()
        .json();
    // Whoever commits what is prepared is its producer: the agent's name would be lost.
    assert_eq!(
        (&taken_back["prepared"], &taken_back["safety"]),
        (&json!(false), &json!(1))
    );
}

#[test]
fn a_push_that_is_refused_loses_neither_draft_nor_evidence() {
    let world = World::new();
    let (server, dir) = work(&world, "agent");
    let other = people::clone(&world, &server.display().to_string(), "other");
    world.write(&other, "other.txt", "first\n");
    world
        .handoff_as(OTHER, &other, ["save", "work", "--push"])
        .ok();
    world.tick();
    let draft = dir.join(".git/handoff/draft/work.yaml");
    world.write(&dir, &draft, DRAFT);
    let refused = agent(&world, &dir, ["save", "work", "--push", "--json"]).code(3);
    assert_eq!(error_code(&refused), "CAS_CONFLICT");
    assert_eq!(world.read(&dir, &draft), DRAFT.as_bytes());
    agent(&world, &dir, ["sync"]).ok();
    // What is prepared follows what was there before, and says so with both sides.
    let late = agent(&world, &dir, ["commit", "work", "--json"])
        .code(3)
        .json();
    let message = late["message"].as_str().unwrap();
    assert!(
        message.contains("prepared before it began") && message.contains(OTHER),
        "{message}"
    );
    // Prepared anew, nothing has to be run or written again.
    agent(&world, &dir, ["prepare", "work"]).ok();
    let committed = agent(&world, &dir, ["commit", "work", "--json"])
        .ok()
        .json();
    assert_eq!(committed["generation"], 2);
    agent(&world, &dir, ["push", "work"]).ok();
    agent(&world, &dir, ["verify", "work"]).ok();
}

#[test]
fn a_checkpoint_that_diverged_goes_back_to_prepared() {
    let world = World::new();
    let (server, dir) = work(&world, "agent");
    with_draft(&world, &dir, &["save", "work", "-f", "-"]).ok();
    let other = people::clone(&world, &server.display().to_string(), "other");
    world.write(&other, "other.txt", "first\n");
    world
        .handoff_as(OTHER, &other, ["save", "work", "--push"])
        .ok();
    agent(&world, &dir, ["init"]).ok();
    let synced = agent(&world, &dir, ["sync"]).ok();
    insta::assert_snapshot!(synced.stdout(), @"
    work: back to prepared; the remote line is now the scope
    next:
      git handoff continue work
      git handoff show work@prepared
      git handoff prepare work
    ");
    let shown = agent(&world, &dir, ["show", "work@prepared", "--json"])
        .ok()
        .json();
    assert_eq!(
        shown["manifest"]["content"]["objective"],
        "Treat empty fields as null"
    );
    assert_eq!(
        (&shown["tip"], &shown["generation"]),
        (&json!(1), &json!(2))
    );
}
