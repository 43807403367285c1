//! What there is at a URL, for somebody who has nothing else.

use std::fs;

use crate::{
    people::{pushed, server_and_clone},
    world::{ServerKind, World},
};

#[test]
fn the_scopes_at_a_url_are_listed_without_a_repository() {
    let world = World::new();
    let (server, here) = pushed(&world);
    let empty = world.directory("empty");
    let url = server.display().to_string();
    let there = world
        .handoff(&empty, ["list", "--from", &url, "--json"])
        .ok()
        .json_lines();
    let local = world.handoff(&here, ["list", "--json"]).ok().json_lines();
    assert_eq!(there, local);
    // A relative path is taken from where the command runs, and `handoff::` may stand before it.
    let relative = world
        .handoff(&empty, ["list", "--from", "../server.git", "--json"])
        .ok();
    assert_eq!(relative.json_lines(), there);
    let full = format!("handoff::{url}");
    let full = world
        .handoff(&empty, ["list", "--from", &full, "--json"])
        .ok();
    assert_eq!(full.json_lines(), there);
    assert_eq!(fs::read_dir(&empty).unwrap().count(), 0);
    assert_eq!(fs::read_dir(world.root().join("tmp")).unwrap().count(), 0);
}

#[test]
fn the_scopes_of_a_sha_256_repository_are_listed_from_its_url() {
    let world = World::new();
    let server = world.root().join("server.git").display().to_string();
    let init = ["init", "-q", "--object-format=sha256"];
    world
        .git(world.root(), init.into_iter().chain(["--bare", &server]))
        .ok();
    let here = world.directory("here");
    world.git(&here, init).ok();
    world.write(&here, "a.txt", "a\n");
    world.commit(&here, "First");
    world.git(&here, ["remote", "add", "origin", &server]).ok();
    world.handoff(&here, ["save", "work", "--push"]).ok();
    let listed = world
        .handoff(world.root(), ["list", "--from", &server, "--json"])
        .ok()
        .json();
    assert_eq!(listed["commit"].as_str().unwrap().len(), 64, "{listed}");
}

#[test]
fn completed_work_at_a_url_is_listed_with_all_alone() {
    let world = World::new();
    let (server, here) = server_and_clone(&world, "here");
    world.write(&here, "notes.txt", "done\n");
    let draft = r#"{"objective": "o", "disposition": "completed", "state": [{"text": "done", "citations": ["tree/worktree"]}]}"#;
    world
        .handoff_with_input(&here, ["save", "work", "-f", "-", "--push"], draft)
        .ok();
    let url = server.display().to_string();
    let listed = |args: &[&str]| {
        let args = ["list", "--from", &url]
            .into_iter()
            .chain(args.iter().copied());
        world
            .handoff(world.root(), args)
            .ok()
            .stdout()
            .lines()
            .count()
    };
    assert_eq!((listed(&[]), listed(&["--all"])), (0, 1));
}

#[test]
fn a_url_without_scopes_says_that_they_may_be_hidden() {
    let world = World::new();
    let (server, _) = pushed(&world);
    world
        .git(&server, ["config", "transfer.hideRefs", "refs/handoff"])
        .ok();
    let url = server.display().to_string();
    let listed = world.handoff(world.root(), ["list", "--from", &url]).ok();
    assert_eq!(listed.stdout(), "");
    assert!(
        listed.stderr().contains("transfer.hideRefs"),
        "{}",
        listed.stderr()
    );
    let nowhere = world.handoff(world.root(), ["list", "--from", "/nowhere.git", "--json"]);
    assert_eq!(nowhere.code(7).json()["code"], "UNREACHABLE");
}

#[test]
fn a_record_at_a_url_that_breaks_the_rules_is_named_and_the_others_are_listed() {
    let world = World::new();
    let (server, here) = pushed(&world);
    world.handoff(&here, ["save", "other", "--push"]).ok();
    let head = world.git(&server, ["rev-parse", "main"]).ok().line();
    world
        .git(&server, ["update-ref", "refs/handoff/broken", &head])
        .ok();
    let url = server.display().to_string();
    let listed = world
        .handoff(world.root(), ["list", "--from", &url, "--json"])
        .code(4);
    let names: Vec<_> = listed
        .json_lines()
        .iter()
        .map(|row| row["scope"].clone())
        .collect();
    assert_eq!(names, ["other", "work"]);
    assert!(listed.stderr().contains("`broken`"), "{}", listed.stderr());
}

#[test]
fn scopes_are_listed_over_ssh_and_http_with_the_credentials_of_the_url() {
    for kind in [ServerKind::Ssh, ServerKind::Nginx] {
        let world = World::new();
        let Some(server) = world.server(kind) else {
            continue;
        };
        let here = world.repo("here");
        let url = server.url_of("test");
        let there = server.repository("test").display().to_string();
        world.git(&here, ["remote", "add", "origin", &there]).ok();
        world.handoff(&here, ["save", "work", "--push"]).ok();
        let listed = world
            .handoff(world.root(), ["list", "--from", &url, "--json"])
            .ok();
        assert_eq!(listed.json()["scope"], "work", "{kind}");
    }
}
