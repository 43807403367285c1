//! Two who write at once: one wins, the other is told, nothing is lost.

use std::{
    env,
    path::{Path, PathBuf},
    sync::Barrier,
    thread,
    time::Instant,
};

use crate::{
    people::{self, error_code},
    world::{Output, ServerKind, World},
};

const WRITERS: [&str; 2] = ["one@example.invalid", "two@example.invalid"];

/// Rounds of a race; `HANDOFF_TEST_ROUNDS` sets another number.
fn rounds() -> usize {
    let set = env::var("HANDOFF_TEST_ROUNDS").ok();
    set.and_then(|rounds| rounds.parse().ok()).unwrap_or(20)
}

/// Makes a clone for each writer of a server that holds one commit.
fn clones(world: &World, url: &str) -> [PathBuf; 2] {
    let seed = world.repo("seed");
    world.git(&seed, ["push", "-q", url, "main"]).ok();
    ["one", "two"].map(|name| people::clone(world, url, name))
}

/// Runs a command in both clones at the same time.
fn at_once(world: &World, clones: &[PathBuf; 2], args: &[&str]) -> [Output; 2] {
    let start = Barrier::new(2);
    let run = |who: &'static str, dir: &Path| {
        start.wait();
        world.handoff_as(who, dir, args)
    };
    let run = &run;
    thread::scope(|scope| {
        let runs = [0, 1].map(|at| scope.spawn(move || run(WRITERS[at], &clones[at])));
        runs.map(|run| run.join().unwrap())
    })
}

/// Returns which of two runs succeeded; the other must have failed with exit code 3.
#[track_caller]
fn winner(outputs: &[Output; 2]) -> usize {
    let codes = outputs.each_ref().map(Output::exit_code);
    match codes {
        [Some(0), Some(3)] => 0,
        [Some(3), Some(0)] => 1,
        _ => panic!("{outputs:#?}"),
    }
}

/// Races over every generation of a scope.
fn race(world: &World, url: &str) {
    let clones = clones(world, url);
    let (rounds, begun) = (rounds(), Instant::now());
    let mut won = [0, 0];
    for round in 1..=rounds {
        for (who, dir) in WRITERS.iter().zip(&clones) {
            world.write(dir, "work.txt", format!("round {round} by {who}\n"));
        }
        let outputs = at_once(world, &clones, &["save", "race", "--push", "--json"]);
        let first = winner(&outputs);
        won[first] += 1;
        let saved = outputs[first].json();
        assert_eq!(
            (&saved["generation"], &saved["pushed"]),
            (&round.into(), &true.into())
        );
        let lost = &outputs[1 - first];
        assert_eq!(error_code(lost), "CAS_CONFLICT", "{}", lost.stdout());
        let told = format!("is at generation {round}, written by {}", WRITERS[first]);
        let message = lost.json()["message"].to_string();
        assert!(message.contains(&told), "{message}");
        // What lost is still on disk, and set aside.
        let mine = format!("round {round} by {}\n", WRITERS[1 - first]);
        assert_eq!(world.read(&clones[1 - first], "work.txt"), mine.as_bytes());
        world.handoff(&clones[1 - first], ["sync"]).ok();
        world.tick();
    }
    eprintln!("{rounds} rounds in {:?}, won {won:?}", begun.elapsed());
    linear(world, &clones, rounds);
    // The first went back to prepared; the others found that place taken.
    let aside = |dir: &PathBuf| {
        let rows = world.handoff(dir, ["list", "--safety", "--json"]).ok();
        let prepared = ["for-each-ref", "refs/handoff-local/prepared/"];
        let prepared = world.git(dir, prepared).ok().stdout();
        rows.json_lines().len() + prepared.lines().count()
    };
    assert_eq!(clones.each_ref().map(aside), [won[1], won[0]]);
}

/// Asserts that the scope is one line of `rounds` checkpoints, the same in every clone.
fn linear(world: &World, clones: &[PathBuf; 2], rounds: usize) {
    let log = |dir: &PathBuf| {
        world.handoff(dir, ["sync"]).ok();
        world.handoff(dir, ["verify", "race"]).ok();
        world
            .handoff(dir, ["log", "race", "--json"])
            .ok()
            .json_lines()
    };
    let [log, other] = clones.each_ref().map(log);
    assert_eq!(log, other);
    let generations: Vec<_> = log.iter().map(|row| row["generation"].clone()).collect();
    let expected: Vec<_> = (1..=rounds).rev().map(serde_json::Value::from).collect();
    assert_eq!(generations, expected);
}

#[test]
fn of_two_writers_at_once_exactly_one_wins_each_round() {
    let world = World::new();
    let server = world.bare("server");
    race(&world, &server.display().to_string());
}

#[test]
fn of_two_writers_at_once_over_ssh_exactly_one_wins_each_round() {
    let world = World::new();
    let Some(server) = world.server(ServerKind::Ssh) else {
        return;
    };
    race(&world, server.url());
}

#[test]
fn of_two_who_accept_at_once_exactly_one_owns_the_scope() {
    let world = World::new();
    let server = world.bare("server");
    let clones = clones(&world, &server.display().to_string());
    for round in 0..rounds().div_ceil(2) {
        let scope = format!("work-{round}");
        world.write(&clones[0], "work.txt", &scope);
        world.handoff(&clones[0], ["save", &scope, "--push"]).ok();
        for dir in &clones {
            world.handoff(dir, ["sync"]).ok();
            world.handoff(dir, ["show", &scope]).ok();
        }
        let outputs = at_once(&world, &clones, &["accept", &scope, "--json"]);
        let first = winner(&outputs);
        let lost = outputs[1 - first].json();
        assert_eq!(lost["code"], "ALREADY_ACCEPTED", "{lost}");
        let message = lost["message"].to_string();
        assert!(message.contains(WRITERS[first]), "{message}");
        for dir in &clones {
            world.handoff(dir, ["sync"]).ok();
            let shown = world.handoff(dir, ["show", &scope, "--json"]).ok().json();
            assert_eq!(shown["owner"], WRITERS[first]);
        }
        world.tick();
    }
}

#[test]
fn the_same_state_is_saved_once() {
    let world = World::new();
    let server = world.bare("server");
    let [dir, _] = clones(&world, &server.display().to_string());
    world.write(&dir, "work.txt", "half\n");
    let first = world.handoff(&dir, ["save", "work", "--json"]).ok().json();
    assert_eq!(
        (&first["created"], &first["pushed"]),
        (&true.into(), &false.into())
    );
    world.tick();
    let again = world.handoff(&dir, ["save", "work"]).ok();
    insta::assert_snapshot!(world.normal(&again.stdout()), @"
    work@1 holds this state already  [digest1]
      untracked 1 file, 5 bytes
      here only: no remote has it yet
    next:
      git handoff push work
    ");
    let args = ["save", "work", "--push", "--json"];
    let again = world.handoff(&dir, args).ok().json();
    assert_eq!(
        (&again["created"], &again["pushed"], &again["generation"]),
        (&false.into(), &true.into(), &1.into())
    );
    for field in ["commit", "checkpointDigest", "contentDigest"] {
        assert_eq!(again[field], first[field], "{field}");
    }
}
