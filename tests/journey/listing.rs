//! Lists of scopes: what they show, and that they are short work.

use std::{fs, path::Path};

use crate::{
    people::{self, agent, developer, server_and_clone},
    world::World,
};

/// Forgets what was judged here.
fn forget(world: &World, dir: &Path) {
    let marks = ["refs/handoff-local/verified", "refs/handoff-local/seen"];
    let format = ["for-each-ref", "--format=%(refname)"];
    let listed = world.git(dir, format.into_iter().chain(marks)).ok();
    for mark in listed.stdout().lines() {
        world.git(dir, ["update-ref", "-d", mark]).ok();
    }
}

#[test]
fn a_list_shows_the_same_of_scopes_that_were_judged_before_as_of_new_ones() {
    let world = World::new();
    let (server, here) = server_and_clone(&world, "here");
    let there = people::clone(&world, &server.display().to_string(), "there");
    developer(&world, &there, ["init"]).ok();
    let mut states = Vec::new();
    let mut compare = |remote: &str| {
        world.git(&there, ["fetch", "-q", "handoff"]).ok();
        developer(&world, &there, ["list"]).ok();
        let again = developer(&world, &there, ["list", "--all", "--json"]).ok();
        forget(&world, &there);
        let judged = developer(&world, &there, ["list", "--all", "--json"]).ok();
        assert_eq!(again.stdout(), judged.stdout());
        let row = &again.json_lines()[0];
        assert_eq!(row["remote"], remote);
        states.push(row["state"].as_str().unwrap().to_owned());
    };
    world.write(&here, "README.md", "# Half\n");
    agent(&world, &here, ["save", "work", "--push"]).ok();
    compare("same");
    developer(&world, &there, ["show", "work"]).ok();
    developer(
        &world,
        &there,
        ["accept", "work", "--local", "--until", "1d"],
    )
    .ok();
    compare("ahead");
    world.tick();
    developer(&world, &there, ["accept", "work", "--until", "2d"]).ok();
    compare("same");
    world.advance(3 * 24 * 60 * 60);
    compare("same");
    developer(&world, &there, ["release", "work"]).ok();
    compare("same");
    assert_eq!(
        states,
        ["open", "accepted", "accepted", "overdue", "released"]
    );
}

#[test]
fn a_list_reads_no_document_of_a_scope_that_was_judged_before() {
    let world = World::new();
    let (_, here) = server_and_clone(&world, "here");
    world.write(&here, "README.md", "# Half\n");
    agent(&world, &here, ["save", "work"]).ok();
    let list = agent(&world, &here, ["list"]).ok();
    let manifest = ["rev-parse", "refs/handoff/work:manifest.cbor"];
    let id = world.git(&here, manifest).ok().line();
    let file = here.join(format!(".git/objects/{}/{}", &id[..2], &id[2..]));
    fs::remove_file(file).unwrap();
    let without = agent(&world, &here, ["list"]).ok();
    assert_eq!(without.stdout(), list.stdout());
    // Nothing else believes a mark so far.
    agent(&world, &here, ["show", "work"]).code(4);
    forget(&world, &here);
    agent(&world, &here, ["list"]).code(4);
}
