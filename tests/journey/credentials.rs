//! A password in a URL is seen by nobody: not in what is printed, kept or handed over.

use std::{
    fs,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    guarded::{
        Guarded,
        Writer::{Agent, Developer},
    },
    world::{Output, ServerKind, World},
};

/// An http server, a URL with a password in it, and the password.
fn server_with_password(world: &World) -> Option<(Guarded<'_>, String, String)> {
    let server = Guarded::start(world, ServerKind::Nginx)?;
    let password = server.password().to_owned();
    let user = format!("http://{}:{password}@", Agent.user());
    let url = server.url().replace("http://", &user);
    Some((server, url, password))
}

/// Asserts that a run said nothing of a password.
#[track_caller]
fn discreet(output: Output, password: &str) -> Output {
    let said = output.stdout() + &output.stderr();
    assert!(!said.contains(password), "{said}");
    output
}

/// Returns the files below a directory that hold a text, and the objects of the repository in it.
fn holders(world: &World, dir: &Path, text: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut left = vec![dir.to_owned()];
    while let Some(dir) = left.pop() {
        for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
            let path = entry.path();
            if entry.file_type().unwrap().is_dir() {
                left.push(path);
            } else if contains(&fs::read(&path).unwrap(), text) {
                found.push(path);
            }
        }
    }
    let args = ["cat-file", "--batch-all-objects", "--batch"];
    let objects = world.git(dir, args).ok();
    found.extend(contains(objects.bytes(), text).then(|| PathBuf::from("objects")));
    found
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes
        .windows(text.len())
        .any(|window| window == text.as_bytes())
}

#[test]
fn init_takes_a_password_out_of_a_url_and_says_so() {
    let world = World::new();
    let Some((server, url, password)) = server_with_password(&world) else {
        return;
    };
    let dir = server.seeded_clone(Agent, "here");
    let set_up = server.handoff(Agent, &dir, ["init", &url]).ok();
    let set_up = discreet(set_up, &password);
    insta::assert_snapshot!(set_up.stderr(), @"warning: CREDENTIALS_REMOVED: credentials were taken out of the URL; let Git's credential helper hold them: gitcredentials(7)");
    let configured = world
        .git(&dir, ["config", "remote.handoff.url"])
        .ok()
        .line();
    assert_eq!(configured, format!("handoff::{}", server.url()));
    // A helper that knows the password is all that it takes.
    let saved = server.handoff(Agent, &dir, ["save", "work", "--push"]);
    discreet(saved.ok(), &password);
    assert_eq!(holders(&world, &dir, &password), Vec::<PathBuf>::new());
}

#[test]
fn a_password_in_the_url_of_origin_does_not_travel() {
    let world = World::new();
    let Some((server, url, password)) = server_with_password(&world) else {
        return;
    };
    let dir = server.seeded_clone(Agent, "here");
    let config = dir.join(".git/config");
    world.git(&dir, ["remote", "set-url", "origin", &url]).ok();
    world.write(&dir, "notes.txt", "half\n");
    let saved = server.handoff(Agent, &dir, ["save", "work", "--push"]);
    let saved = discreet(saved.ok(), &password);
    assert!(
        saved.stderr().contains("CREDENTIALS_REMOVED"),
        "{}",
        saved.stderr()
    );
    assert_eq!(holders(&world, &dir, &password), [config]);
    // What Git itself says of the handoff remote.
    for args in [&["push", "handoff"][..], &["fetch", "-v", "handoff"]] {
        discreet(server.git(Agent, &dir, args).ok(), &password);
    }
    let at_server = holders(&world, &server.repository(), &password);
    assert_eq!(at_server, Vec::<PathBuf>::new());
}

#[test]
fn restore_keeps_no_password_of_the_url_it_was_given() {
    let world = World::new();
    let Some((server, url, password)) = server_with_password(&world) else {
        return;
    };
    let dir = server.seeded_clone(Agent, "here");
    server.handoff(Agent, &dir, ["save", "work", "--push"]).ok();
    let url = url.replace(Agent.user(), Developer.user());
    let args = ["restore", "work", "there", "--from", &url];
    let restored = discreet(
        server.handoff(Developer, world.root(), args).ok(),
        &password,
    );
    assert!(
        restored.stderr().contains("CREDENTIALS_REMOVED"),
        "{}",
        restored.stderr()
    );
    let there = world.root().join("there");
    assert_eq!(holders(&world, &there, &password), Vec::<PathBuf>::new());
    let accepted = server.handoff(Developer, &there, ["accept"]).ok();
    discreet(accepted, &password);
}

#[test]
fn a_failure_names_no_password() {
    let world = World::new();
    let Some((server, url, password)) = server_with_password(&world) else {
        return;
    };
    let dir = server.seeded_clone(Agent, "here");
    server.handoff(Agent, &dir, ["save", "work", "--push"]).ok();
    let (wrong, gone) = (
        url.replace(&password, "wrong-password"),
        url.replace("test.git", "none.git"),
    );
    let unheard = "http://me:wrong-password@127.0.0.1:1/x.git".to_owned();
    for url in [wrong, gone, unheard] {
        for json in [&[][..], &["--json"]] {
            let commands: [&[&str]; 3] = [
                &["restore", "work", "there", "--from", &url],
                &["restore", "there", "--from", &url],
                &["init", "--remote", "x y", &url],
            ];
            for command in commands {
                let output = world.handoff(&dir, [command, json].concat());
                assert_ne!(output.exit_code(), Some(0), "{output:#?}");
                let output = discreet(output, &password);
                discreet(output, "wrong-password");
            }
        }
    }
    // Someone configured it by hand.
    world
        .git(
            &dir,
            [
                "config",
                "remote.handoff.url",
                &format!("handoff::{}", url.replace(&password, "wrong-password")),
            ],
        )
        .ok();
    world.write(&dir, "notes.txt", "half\n");
    for command in [
        &["push"][..],
        &["sync"],
        &["save", "work", "--push"],
        &["push", "--json"],
    ] {
        let output = world.handoff(&dir, command);
        discreet(output, "wrong-password");
    }
}

#[test]
fn the_password_of_a_url_is_in_no_argument_of_what_git_starts() {
    let world = World::new();
    let Some((server, url, password)) = server_with_password(&world) else {
        return;
    };
    let dir = server.seeded_clone(Agent, "here");
    server.handoff(Agent, &dir, ["save", "work", "--push"]).ok();
    let trace = world.root().join("trace");
    world.set("GIT_TRACE", trace.to_str().unwrap());

    let mut command = world.command("git-handoff", world.root());
    Output::of(command.args(["restore", "--from", &url])).ok();

    world.unset("GIT_TRACE");
    let trace = fs::read_to_string(trace).unwrap();
    assert!(trace.contains("remote-http"), "{trace}");
    assert!(!trace.contains(&password), "{trace}");
}

#[test]
fn a_restore_that_is_killed_while_it_clones_leaves_no_password_and_is_completed_by_the_next() {
    let world = World::new();
    let Some((server, url, password)) = server_with_password(&world) else {
        return;
    };
    let dir = server.seeded_clone(Agent, "here");
    server.handoff(Agent, &dir, ["save", "work", "--push"]).ok();
    let there = world.root().join("there");
    let args = ["restore", "work", "there", "--from", &url];
    let made = there.join(".handoff-new");
    let config = made.join(".git/config");
    let names_origin = || fs::read(&config).is_ok_and(|text| contains(&text, "remote"));

    let mut command = world.command("git-handoff", world.root());
    let mut child = command.args(args).process_group(0).spawn().unwrap();
    while !names_origin() {
        assert_eq!(child.try_wait().unwrap(), None, "it ended");
    }
    let group = format!("-{}", child.id());
    Command::new("kill")
        .args(["-KILL", "--", &group])
        .status()
        .unwrap();
    child.wait().unwrap();

    let config = fs::read_to_string(config).unwrap();
    assert!(config.contains("remote"), "{config}");
    assert_eq!(holders(&world, &made, &password), Vec::<PathBuf>::new());
    world.handoff(world.root(), args).ok();
    assert_eq!(holders(&world, &there, &password), Vec::<PathBuf>::new());
}

#[test]
fn a_password_that_somebody_configured_is_not_printed_as_a_next_command() {
    let world = World::new();
    let Some((server, url, password)) = server_with_password(&world) else {
        return;
    };
    let dir = server.seeded_clone(Agent, "here");
    server.handoff(Agent, &dir, ["init"]).ok();
    let url = format!("handoff::{url}");
    world.git(&dir, ["config", "remote.handoff.url", &url]).ok();
    for json in [&[][..], &["--json"]] {
        world.write(&dir, "notes.txt", format!("half {json:?}\n"));
        let save = [&["save", "work", "--push"], json].concat();
        let saved = server.handoff(Agent, &dir, save).ok();
        let saved = discreet(saved, &password);
        assert!(saved.stdout().contains("--from"), "{}", saved.stdout());
    }
}

#[test]
fn credentials_in_the_url_of_origin_do_not_get_into_the_handoff_remote() {
    let world = World::new();
    let dir = world.repo("here");
    let url = "https://ann:secret@example.invalid/x.git";
    world.git(&dir, ["remote", "add", "origin", url]).ok();
    let set_up = world.handoff(&dir, ["init"]).ok();
    insta::assert_snapshot!(set_up.stdout(), @"
    set up remote `handoff` at handoff::https://example.invalid/x.git
    next:
      git fetch handoff
    ");
    insta::assert_snapshot!(set_up.stderr(), @"warning: CREDENTIALS_REMOVED: credentials were taken out of the URL; let Git's credential helper hold them: gitcredentials(7)");
    let args = ["remote", "remove", "handoff"];
    world.git(&dir, args).ok();
    // Also where the remote is set up on the way.
    world.set("GIT_ALLOW_PROTOCOL", "none");
    let failed = world.handoff(&dir, ["sync"]).code(7);
    assert!(
        failed.stderr().contains("CREDENTIALS_REMOVED"),
        "{}",
        failed.stderr()
    );
    assert!(!failed.stderr().contains("secret"), "{}", failed.stderr());
}
