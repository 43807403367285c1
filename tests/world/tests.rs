//! What tests may rely on in their world.

use super::{Output, ServerKind, World, server};

#[test]
fn a_world_knows_no_configuration_but_its_own() {
    let world = World::new();
    let repo = world.repo("a");
    let list = ["config", "--list", "--show-origin", "--name-only"];
    let origins = world.git(&repo, list).ok().stdout();
    let home = format!("file:{}/", world.home().display());
    for line in origins.lines() {
        let ours = line.starts_with(&home) || line.starts_with("file:.git/");
        assert!(ours, "{line}");
    }
    let environment = world.run("env", &repo, [""; 0]).ok().stdout();
    assert!(!environment.contains("CARGO"), "{environment}");
}

#[test]
fn the_clock_of_a_world_stands_still_between_ticks() {
    let world = World::new();
    let repo = world.repo("a");
    let before = world.now();
    let commit = world.commit(&repo, "Second commit");
    assert_eq!(world.now(), before + 60);
    let show = ["show", "-s", "--format=%H %at %ct"];
    assert_eq!(
        world.git(&repo, show).ok().line(),
        format!("{commit} {before} {before}")
    );
}

#[test]
fn every_git_of_the_machine_can_be_the_one_of_a_world() {
    for git in World::gits() {
        let world = World::with_git(&git);
        assert_eq!(
            world.git(world.root(), ["--version"]).ok().line(),
            format!("git version {}", world.git_version().version())
        );
    }
}

#[test]
fn variables_and_actors_reach_the_programs() {
    let world = World::new();
    world.set("HANDOFF_JSON", "1");
    let dir = world.directory("empty");
    world.handoff(&dir, ["--version"]).ok();
    let error = world
        .handoff_as("agent:x", &dir, ["--no-such-option"])
        .code(2);
    assert_eq!(error.json()["format"], "handoff-cli.error.v1");
    assert_eq!(error.json_lines().len(), 1);
    assert_eq!(error.bytes(), error.stdout().as_bytes());
    assert_eq!(
        (error.exit_code(), error.stderr()),
        (Some(2), String::new())
    );
    world.unset("HANDOFF_JSON");
}

#[test]
fn programs_read_what_a_test_gives_them() {
    let world = World::new();
    let mut command = world.command("git", world.root());
    let hash = Output::with_input(command.args(["hash-object", "--stdin"]), "a\n");
    assert_eq!(hash.ok().line(), "78981922613b2afb6025042ff6bd878ac1994e85");
    world
        .handoff_with_input(world.root(), ["--version"], b"unread")
        .ok();
}

#[test]
fn ids_and_paths_are_the_same_in_every_snapshot() {
    let world = World::new();
    world.write(world.root(), "note", "a");
    assert_eq!(world.read(world.root(), "note"), b"a");
    let (one, two) = ("1f".repeat(20), "2e".repeat(32));
    let text = format!(
        "{}/x {one} {two} sha256:{two} {one}0 {one}",
        world.root().display()
    );
    assert_eq!(
        world.normal(&text),
        format!("[world]/x [id1] [id2] [digest1] {one}0 [id1]")
    );
}

#[test]
fn every_kind_of_server_has_its_script() {
    let Some(scripts) = server::scripts() else {
        return World::skip("there is no shared/servers beside the workspace");
    };
    for kind in ServerKind::ALL {
        assert!(scripts.join(kind.script()).is_file(), "{kind}");
        assert_eq!(kind.is_http(), kind.script() == "http.sh");
    }
}

#[test]
fn a_server_takes_a_push_and_ends_with_the_test() {
    let world = World::new();
    let Some(server) = world.server(ServerKind::Daemon) else {
        return World::skip("there is no server to push to");
    };
    let bare = world.bare("local");
    let repo = world.repo("a");
    world.git(&repo, ["push", "-q", server.url(), "main"]).ok();
    let pushed = server.repository("test");
    let refs = |dir| world.git(dir, ["for-each-ref", "--format=%(refname)"]).ok();
    assert_eq!(refs(&pushed).line(), "refs/heads/main");
    assert_eq!(refs(&bare).line(), "");
    assert!(server.url_of("other").ends_with("/other.git"));
    let directory = server.directory().to_owned();
    assert!(directory.join("run/daemon.pid").exists());
    assert!(pushed.starts_with(&directory));
    assert!(ServerKind::Nginx.is_http() && !ServerKind::Daemon.is_http());
    drop(server);
    assert!(!directory.join("run/daemon.pid").exists());
}
