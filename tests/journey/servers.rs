//! The servers that other journeys push to.

use std::path::Path;

use crate::{
    people,
    state::Worktree,
    world::{Server, ServerKind, World},
};

#[test]
fn every_server_takes_a_handoff_ref_and_gives_it_back() {
    for kind in ServerKind::ALL {
        let world = World::new();
        let Some(server) = world.server(kind) else {
            continue;
        };
        let repo = world.repo("a");
        let head = world.git(&repo, ["rev-parse", "HEAD"]).ok().line();
        world
            .git(&repo, ["push", "-q", server.url(), "HEAD:refs/handoff/x"])
            .ok();
        let listed = world.git(&repo, ["ls-remote", server.url(), "refs/handoff/*"]);
        assert_eq!(
            listed.ok().line(),
            format!("{head}\trefs/handoff/x"),
            "{kind}"
        );
    }
}

/// Returns the URL without user name and password, which Git's credential helper holds from then on.
fn without_credentials(world: &World, server: &Server) -> String {
    let Some((user, host)) = server.url().split_once('@') else {
        return server.url().into();
    };
    let Some((scheme, _)) = user
        .split_once("://")
        .filter(|(_, user)| user.contains(':'))
    else {
        return server.url().into();
    };
    let kept = format!("{}\n", server.url().replace("/test.git", ""));
    world.write(&world.home(), ".git-credentials", kept);
    let helper = ["config", "--global", "credential.helper", "store"];
    world.git(world.root(), helper).ok();
    format!("{scheme}://{host}")
}

/// Parks work in a clone, picks it up from the URL alone, takes it over, and is told of it in the clone.
fn hand_over(world: &World, url: &str) {
    let here = world.repo("here");
    world.git(&here, ["remote", "add", "origin", url]).ok();
    world.git(&here, ["push", "-q", "origin", "main"]).ok();
    world.write(&here, "README.md", "# Half\n");
    world.write(&here, "notes.txt", "notes\n");
    people::agent(world, &here, ["save", "work", "--push"]).ok();
    let elsewhere = world.directory("elsewhere");
    let args = ["restore", "work", "--from", url];
    people::developer(world, &elsewhere, args).ok();
    let work = elsewhere.join("work");
    Worktree::of(world, &here).assert_same(&Worktree::of(world, &work));
    people::developer(world, &work, ["accept"]).ok();
    late(world, &here);
    world.write(&work, "README.md", "# Whole\n");
    people::developer(world, &work, ["save", "--push"]).ok();
    people::agent(world, &here, ["sync"]).ok();
    let list = people::agent(world, &here, ["list"]).ok();
    insta::allow_duplicates! {
        insta::assert_snapshot!(list.stdout(), @"work@2	open	-	continuable	2025-01-06T09:01:00Z	same");
    }
}

fn late(world: &World, here: &Path) {
    world.write(here, "README.md", "# Late\n");
    let late = people::agent(world, here, ["save", "work", "--push", "--json"]).code(3);
    assert_eq!(people::error_code(&late), "CAS_CONFLICT");
}

#[test]
fn work_is_handed_over_through_every_server() {
    for kind in ServerKind::ALL {
        let world = World::new();
        let Some(server) = world.server(kind) else {
            continue;
        };
        eprintln!("over {kind}");
        let url = without_credentials(&world, &server);
        hand_over(&world, &url);
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
