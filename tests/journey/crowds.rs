//! Many who write at once through a guarded server: one wins each round, the others are told, nothing is lost.

use std::{
    env, fs,
    path::{Path, PathBuf},
    sync::Barrier,
    thread,
    time::Instant,
};

use crate::{
    guarded::{Guarded, Writer::Agent},
    people::error_code,
    world::{GitVersion, Output, ServerKind, World},
};

const WRITERS: usize = 8;
const SCOPE: &str = "race";

/// Rounds of a race; `HANDOFF_TEST_ROUNDS` sets another number.
fn rounds() -> usize {
    let set = env::var("HANDOFF_TEST_ROUNDS").ok();
    set.and_then(|rounds| rounds.parse().ok()).unwrap_or(2)
}

/// One of the crowd, with a clone and a Git of their own; all are run by the same user of the server.
struct Racer {
    id: String,
    dir: PathBuf,
    git: GitVersion,
}

impl Racer {
    fn run(&self, server: &Guarded<'_>, args: &[&str]) -> Output {
        let mut command = server.git_command(Agent, &self.dir);
        command
            .env("HANDOFF_ID", &self.id)
            .env("PATH", World::path_with(&self.git));
        Output::of(command.arg("handoff").args(args))
    }
}

fn crowd(server: &Guarded<'_>) -> Vec<Racer> {
    let first = server.seeded_clone(Agent, "racer-0");
    let gits = World::gits();
    let racer = |n: usize| Racer {
        id: format!("agent:writer1/{n}"),
        dir: match n {
            0 => first.clone(),
            n => server.clone_of(Agent, &format!("racer-{n}")),
        },
        git: gits[n % gits.len()].clone(),
    };
    (0..WRITERS).map(racer).collect()
}

/// Runs something for each racer at the same time.
fn at_once<T: Send>(racers: &[Racer], run: impl Fn(&Racer) -> T + Sync) -> Vec<T> {
    let start = Barrier::new(racers.len());
    let (start, run) = (&start, &run);
    thread::scope(|scope| {
        let runs = racers.iter().map(|racer| {
            scope.spawn(move || {
                start.wait();
                run(racer)
            })
        });
        let runs: Vec<_> = runs.collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    })
}

fn race(kind: ServerKind) {
    let world = World::new();
    let Some(server) = Guarded::start(&world, kind) else {
        return;
    };
    let racers = crowd(&server);
    let (rounds, begun) = (rounds(), Instant::now());
    let mut told = [0_usize; 2];
    for round in 1..=rounds {
        for racer in &racers {
            let text = format!("round {round} by {}\n", racer.id);
            world.write(&racer.dir, "work.txt", text);
        }
        let args = ["save", SCOPE, "--push", "--json"];
        let outputs = at_once(&racers, |racer| racer.run(&server, &args));
        let won: Vec<usize> = (0..WRITERS)
            .filter(|n| outputs[*n].exit_code() == Some(0))
            .collect();
        assert_eq!(won.len(), 1, "{kind}, round {round}: {outputs:#?}");
        let saved = outputs[won[0]].json();
        assert_eq!(saved["generation"], round);
        assert_eq!(saved["commit"], server.tip(SCOPE));
        for (n, lost) in outputs.iter().enumerate().filter(|(n, _)| *n != won[0]) {
            assert_eq!(lost.exit_code(), Some(3), "{kind}: {lost:#?}");
            match error_code(lost).as_str() {
                "CAS_CONFLICT" => told[0] += 1,
                "STALE_CHECKPOINT" => told[1] += 1,
                other => panic!("{kind}: {other} in {lost:#?}"),
            }
            let mine = format!("round {round} by {}\n", racers[n].id);
            assert_eq!(world.read(&racers[n].dir, "work.txt"), mine.as_bytes());
        }
        at_once(&racers, |racer| racer.run(&server, &["sync"]).ok());
        world.tick();
    }
    eprintln!(
        "{kind}: {rounds} rounds of {WRITERS} writers in {:?}; {} heard CAS_CONFLICT, {} STALE_CHECKPOINT",
        begun.elapsed(),
        told[0],
        told[1]
    );
    linear(&server, &racers[0], rounds);
}

/// Asserts that the scope is one line of `rounds` checkpoints, at a server that is sound and holds nothing back.
fn linear(server: &Guarded<'_>, racer: &Racer, rounds: usize) {
    racer.run(server, &["verify", SCOPE]).ok();
    let log = racer.run(server, &["log", SCOPE, "--json"]).ok();
    let generations: Vec<_> = log
        .json_lines()
        .iter()
        .map(|row| row["generation"].clone())
        .collect();
    let expected: Vec<_> = (1..=rounds).rev().map(serde_json::Value::from).collect();
    assert_eq!(generations, expected);
    server
        .git_at_server(["fsck", "--strict", "--no-dangling"])
        .ok();
    let repository = server.repository();
    assert_eq!(left_over(&repository), Vec::<PathBuf>::new());
}

/// Returns the locks and quarantine directories below a Git directory.
fn left_over(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.ends_with(".lock") || name.starts_with("tmp_objdir") {
            found.push(entry.path());
        } else if entry.file_type().unwrap().is_dir() {
            found.extend(left_over(&entry.path()));
        }
    }
    found
}

#[test]
fn of_a_crowd_at_a_guarded_git_daemon_exactly_one_wins() {
    race(ServerKind::Daemon);
}

#[test]
fn of_a_crowd_at_a_guarded_ssh_server_exactly_one_wins() {
    race(ServerKind::Ssh);
}

#[test]
fn of_a_crowd_at_a_guarded_nginx_exactly_one_wins() {
    race(ServerKind::Nginx);
}

#[test]
fn of_a_crowd_at_a_guarded_lighttpd_exactly_one_wins() {
    race(ServerKind::Lighttpd);
}

#[test]
fn of_a_crowd_at_a_guarded_apache_exactly_one_wins() {
    race(ServerKind::Apache);
}

#[test]
fn of_a_crowd_at_a_guarded_gitolite_exactly_one_wins() {
    race(ServerKind::Gitolite);
}
