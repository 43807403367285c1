//! Taking over responsibility: who may, when, and what everybody else is told.

use std::path::{Path, PathBuf};

use crate::{
    people::{
        self, AGENT, DEVELOPER, OTHER, agent, developer, error_code, server_and_clone,
        with_each_git,
    },
    world::{Output, World},
};

const DAY: i64 = 24 * 60 * 60;

/// Makes an agent's clone with the saved scope `work`, and the developer's clone.
fn saved(world: &World) -> (PathBuf, PathBuf) {
    let (server, here) = server_and_clone(world, "here");
    world.write(&here, "README.md", "# Half\n");
    agent(world, &here, ["save", "work", "--push"]).ok();
    let there = people::clone(world, &server.display().to_string(), "there");
    developer(world, &there, ["init"]).ok();
    world.git(&there, ["fetch", "-q", "handoff"]).ok();
    world.tick();
    (here, there)
}

fn other(world: &World, dir: &Path, args: &[&str]) -> Output {
    world.handoff_as(OTHER, dir, args)
}

fn refs(world: &World, dir: &Path) -> String {
    world.git(dir, ["for-each-ref"]).ok().stdout()
}

fn stale_accept(world: &World) {
    let (here, there) = saved(world);
    developer(world, &there, ["show", "work"]).ok();
    world.write(&here, "README.md", "# Three quarters\n");
    agent(world, &here, ["save", "work", "--push"]).ok();
    let stale = developer(world, &there, ["accept", "work"]).code(3);
    insta::assert_snapshot!(world.normal(&stale.stderr()), @"
    error: scope `work` has moved on: you read generation 1 ([digest1]), it is at generation 2 ([digest2]) [STALE_CHECKPOINT]
    hint: read the newer generation, then accept that one
      git handoff continue work
      git handoff accept work
    ");
    let stale = developer(world, &there, ["accept", "work", "--json"]).code(3);
    assert_eq!(error_code(&stale), "STALE_CHECKPOINT");
    // What is read now can be accepted.
    developer(world, &there, ["show", "work"]).ok();
    developer(world, &there, ["accept", "work"]).ok();
}

#[test]
fn an_accept_of_what_is_no_longer_current_names_both_generations() {
    with_each_git(stale_accept);
}

fn second_accept(world: &World) {
    let (here, there) = saved(world);
    developer(world, &there, ["show", "work"]).ok();
    let accepted = developer(world, &there, ["accept", "work"]).ok();
    insta::assert_snapshot!(accepted.stdout(), @"
    dev@example.invalid accepted work@1 until 2025-01-08T09:02:00Z
    the remote `handoff` has it
    next:
      git handoff save work --push
      git handoff release work
    ");
    other(world, &here, &["show", "work"]).ok();
    let refused = other(world, &here, &["accept", "work"]).code(3);
    insta::assert_snapshot!(world.normal(&refused.stderr()), @"
    error: scope `work` is accepted by dev@example.invalid until 2025-01-08T09:02:00Z [ALREADY_ACCEPTED]
    hint: ask dev@example.invalid to run: git handoff release work
    ");
    let refused = other(world, &here, &["accept", "work", "--json"]).code(3);
    assert_eq!(error_code(&refused), "ALREADY_ACCEPTED");
}

#[test]
fn a_second_accept_is_told_who_owns_the_scope_and_until_when() {
    with_each_git(second_accept);
}

fn repeated_accept(world: &World) {
    let (_, there) = saved(world);
    developer(world, &there, ["show", "work"]).ok();
    developer(world, &there, ["accept", "work", "--until", "2d"]).ok();
    let before = refs(world, &there);
    let again = ["accept", "work", "--until", "1d", "--json"];
    let again = developer(world, &there, again).ok().json();
    assert_eq!(
        (&again["written"], &again["acceptor"]),
        (&false.into(), &DEVELOPER.into())
    );
    assert_eq!(again["until"], "2025-01-08T09:02:00Z");
    assert_eq!(refs(world, &there), before);
    // A later end is a renewal.
    world.tick();
    let renewed = ["accept", "work", "--until", "3d", "--json"];
    let renewed = developer(world, &there, renewed).ok().json();
    assert_eq!(
        (&renewed["written"], &renewed["until"]),
        (&true.into(), &"2025-01-09T09:03:00Z".into())
    );
}

#[test]
fn the_owner_accepts_again_and_nothing_is_written() {
    with_each_git(repeated_accept);
}

#[test]
fn an_accept_right_after_another_changes_nothing_either() {
    let world = World::new();
    let (_, there) = saved(&world);
    developer(&world, &there, ["show", "work"]).ok();
    developer(&world, &there, ["accept", "work"]).ok();
    let before = refs(&world, &there);
    let again = developer(&world, &there, ["accept", "work"]).ok();
    insta::assert_snapshot!(again.stdout(), @"
    dev@example.invalid had accepted work@1 until 2025-01-08T09:02:00Z
    the remote `handoff` has it
    next:
      git handoff save work --push
      git handoff release work
    ");
    assert_eq!(refs(&world, &there), before);
}

fn local_accept(world: &World) {
    let (here, there) = saved(world);
    developer(world, &there, ["show", "work"]).ok();
    let accepted = developer(world, &there, ["accept", "work", "--local"]).ok();
    insta::assert_snapshot!(accepted.stdout(), @"
    dev@example.invalid accepted work@1 until 2025-01-08T09:02:00Z
    here only: it is not accepted at any remote
    next:
      git handoff save work --push
      git handoff release work
    ");
    // The others know nothing of it.
    other(world, &here, &["show", "work"]).ok();
    other(world, &here, &["accept", "work"]).ok();
}

#[test]
fn a_local_accept_says_that_no_remote_knows_of_it() {
    with_each_git(local_accept);
}

fn expiry(world: &World) {
    let (here, there) = saved(world);
    developer(world, &there, ["show", "work"]).ok();
    developer(world, &there, ["accept", "work", "--until", "1d"]).ok();
    other(world, &here, &["show", "work"]).ok();
    world.advance(DAY - 60);
    let early = other(world, &here, &["accept", "work", "--json"]).code(3);
    assert_eq!(error_code(&early), "ALREADY_ACCEPTED");
    world.advance(60);
    let list = other(world, &here, &["list"]).ok();
    insta::assert_snapshot!(list.stdout(), @"work@1	overdue	dev@example.invalid	continuable	2025-01-06T09:02:00Z	same");
    other(world, &here, &["accept", "work"]).ok();
    let list = other(world, &here, &["list"]).ok();
    insta::assert_snapshot!(list.stdout(), @"work@1	accepted	other@example.invalid	continuable	2025-01-07T09:02:00Z	same");
}

#[test]
fn after_the_end_of_an_accept_another_may_accept() {
    with_each_git(expiry);
}

fn release(world: &World) {
    let (here, there) = saved(world);
    developer(world, &there, ["show", "work"]).ok();
    developer(world, &there, ["accept", "work"]).ok();
    world.write(&there, "README.md", "# All\n");
    let not_mine = agent(world, &here, ["release", "work", "--json"]).code(5);
    assert_eq!(error_code(&not_mine), "NOT_OWNER");
    let released = developer(world, &there, ["release", "work"]).ok();
    insta::assert_snapshot!(released.stdout(), @"released work@1; the remote `handoff` has it");
    // Nobody writes before somebody has accepted.
    let refused = developer(world, &there, ["save", "work", "--json"]).code(5);
    assert_eq!(error_code(&refused), "NOT_OWNER");
    agent(world, &here, ["show", "work"]).ok();
    agent(world, &here, ["accept", "work"]).ok();
    world.write(&here, "README.md", "# Nine tenths\n");
    agent(world, &here, ["save", "work", "--push"]).ok();
    let log = agent(world, &here, ["log", "work"]).ok();
    insta::assert_snapshot!(world.normal(&log.stdout()), @"
    [id1] 2025-01-06T09:02:00Z agent:codex-3 handoff(work): checkpoint 2 – wip: main
    [id2] 2025-01-06T09:02:00Z agent:codex-3 handoff(work): accept 1 by agent:codex-3
    [id3] 2025-01-06T09:02:00Z dev@example.invalid handoff(work): release 1 by dev@example.invalid
    [id4] 2025-01-06T09:02:00Z dev@example.invalid handoff(work): accept 1 by dev@example.invalid
    [id5] 2025-01-06T09:01:00Z agent:codex-3 handoff(work): checkpoint 1 – wip: main
    ");
}

#[test]
fn what_is_released_is_accepted_before_it_is_written() {
    with_each_git(release);
}

fn unread(world: &World) {
    let (_, there) = saved(world);
    let refused = developer(world, &there, ["accept", "work"]).code(2);
    insta::assert_snapshot!(refused.stderr(), @"
    error: scope `work` was not read here yet, and an accept is for what was read [USAGE]
    hint: look at it first, or give both --generation and --digest
      git handoff continue work
    ");
}

#[test]
fn what_was_never_read_cannot_be_accepted() {
    with_each_git(unread);
}

#[test]
fn a_delegate_may_write_the_next_checkpoint_and_nobody_else() {
    let world = World::new();
    let (here, there) = saved(&world);
    developer(&world, &there, ["show", "work"]).ok();
    developer(&world, &there, ["accept", "work", "--delegate", "agent:*"]).ok();
    world.write(&here, "README.md", "# Delegated\n");
    let refused = other(&world, &here, &["save", "work", "--push", "--json"]);
    assert_eq!(error_code(&refused), "CAS_CONFLICT");
    world.handoff(&here, ["sync"]).ok();
    let refused = other(&world, &here, &["save", "work", "--push", "--json"]).code(5);
    assert_eq!(error_code(&refused), "NOT_OWNER");
    let saved = agent(&world, &here, ["save", "work", "--push", "--json"])
        .ok()
        .json();
    assert_eq!(saved["generation"], 2);
    assert!(AGENT.starts_with("agent:"));
}

#[test]
fn the_end_of_an_accept_is_a_time_or_a_duration() {
    let world = World::new();
    let (_, there) = saved(&world);
    developer(&world, &there, ["show", "work"]).ok();
    let refused = developer(&world, &there, ["accept", "work", "--until", "soon"]).code(2);
    insta::assert_snapshot!(refused.stderr(), @"error: `soon` is no end of an accept: a duration such as 2d, or 2026-11-30T10:12:00Z [USAGE]");
    let past = ["accept", "work", "--until", "2025-01-01T00:00:00Z"];
    let refused = developer(&world, &there, past);
    insta::assert_snapshot!(world.normal(&refused.stderr()), @"error: until: 2025-01-01T00:00:00Z is not after 2025-01-06T09:02:00Z [CLOCK]");
    let far = developer(&world, &there, ["accept", "work", "--until", "40d"]);
    insta::assert_snapshot!(world.normal(&far.stderr()), @"error: until: an accept holds for 2592000 seconds at most, not for 3456000 [LIMIT_EXCEEDED]");
    let held = [
        "accept",
        "work",
        "--until",
        "2025-01-20T00:00:00Z",
        "--json",
    ];
    let held = developer(&world, &there, held).ok().json();
    assert_eq!(held["until"], "2025-01-20T00:00:00Z");
}
