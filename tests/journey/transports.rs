//! The whole hand-over through every server that Git knows, before it has the hook and with it, by people who have
//! different versions of Git.

use std::path::{Path, PathBuf};

use crate::{
    guarded::{
        Guarded,
        Writer::{self, Agent, Developer},
    },
    people::error_code,
    state::Worktree,
    world::{Output, ServerKind, World},
};

const SCOPE: &str = "DEV-1842";
const REF: &str = "refs/handoff/DEV-1842";

fn hand_over(kind: ServerKind) {
    let world = World::new();
    let Some(server) = Guarded::start_without_hook(&world, kind) else {
        return;
    };
    let gits = [Agent, Developer].map(|who| who.git().version().to_owned());
    eprintln!("{kind}: git {} and git {}", gits[0], gits[1]);
    let here = save(&server);
    let there = take_over(&server, &here);
    late_write(&server, &here);
    server.guard();
    with_plain_git(&server, &here);
    with_the_helper(&server, &here);
    go_on(&server, &there, &here);
    at_the_server(&server);
}

/// The agent stops in the middle.
fn save(server: &Guarded<'_>) -> PathBuf {
    let here = server.seeded_clone(Agent, "here");
    let world = server.world;
    world.write(&here, "parser.rs", "// committed, not pushed\n");
    world.commit(&here, "Begin the parser");
    world.write(&here, "parser.rs", "// staged\n");
    world.git(&here, ["add", "parser.rs"]).ok();
    world.write(&here, "parser.rs", "// edited\n");
    world.write(&here, "notes/data", [0_u8, 0xff, b'\r', b'\n']);
    let args = ["save", SCOPE, "--push", "--json"];
    let saved = server.handoff(Agent, &here, args).ok().json();
    assert_eq!(
        (&saved["generation"], &saved["pushed"]),
        (&1.into(), &true.into()),
        "{}",
        server.kind
    );
    here
}

/// The developer goes on from nothing but the URL.
fn take_over(server: &Guarded<'_>, here: &Path) -> PathBuf {
    let world = server.world;
    world.tick();
    let args = ["restore", SCOPE, "there", "--from", server.url()];
    server.handoff(Developer, world.root(), args).ok();
    let there = world.root().join("there");
    Worktree::of(world, here).assert_same(&Worktree::of(world, &there));
    let accepted = server
        .handoff(Developer, &there, ["accept", "--json"])
        .ok()
        .json();
    assert_eq!(
        (&accepted["acceptor"], &accepted["remote"]),
        (&Developer.id().into(), &"handoff".into())
    );
    there
}

/// The agent goes on, as if nobody had taken over.
fn late_write(server: &Guarded<'_>, here: &Path) {
    let world = server.world;
    world.tick();
    world.write(here, "parser.rs", "// a late thought\n");
    let tip = server.tip(SCOPE);
    let late = ["save", SCOPE, "--push", "--json"];
    let refused = server.handoff(Agent, here, late).code(3);
    assert_eq!(error_code(&refused), "CAS_CONFLICT");
    server.handoff(Agent, here, ["sync"]).ok();
    let refused = server.handoff(Agent, here, late).code(5);
    assert_eq!(error_code(&refused), "NOT_OWNER");
    assert_eq!(server.tip(SCOPE), tip);
}

/// What plain Git would do to the scope is refused by the hook, and branches go on.
fn with_plain_git(server: &Guarded<'_>, here: &Path) {
    let tip = server.tip(SCOPE);
    let first = server.world.git(here, ["rev-parse", &format!("{tip}^")]);
    let first = first.ok().line();
    let own = foreign_line(server);
    let cases = [
        (format!("+{first}:{REF}"), "NON_LINEAR"),
        (format!(":{REF}"), "DELETE_REFUSED"),
        (format!("{tip}:refs/handoff/other"), "SCOPE_MISMATCH"),
        (
            format!("{tip}:refs/handoff-local/x"),
            "REF_OUTSIDE_NAMESPACE",
        ),
        (format!("{tip}:refs/Handoff/x"), "REF_OUTSIDE_NAMESPACE"),
    ];
    for (refspec, code) in cases {
        refused(server, Agent, here, &refspec, code);
    }
    if server.identity_variable().is_some() {
        // Who pushes is not who has written.
        let refspec = "refs/handoff/foreign:refs/handoff/foreign";
        refused(server, Agent, &own, refspec, "IDENTITY_MISMATCH");
        let mut save = server.git_command(Agent, &own);
        save.env("HANDOFF_ID", Developer.id())
            .args(["handoff", "save", "foreign", "--push"]);
        let said = Output::of(&mut save).code(5).stderr();
        for part in ["IDENTITY_MISMATCH", "git config handoff.id <id>"] {
            assert!(said.contains(part), "{}: {said}", server.kind);
        }
    }
    assert_eq!(server.tip(SCOPE), tip);
    server
        .git(Agent, here, ["push", "-q", "origin", "HEAD:main"])
        .ok();
}

/// A clone with a record that the developer wrote and nobody has pushed.
fn foreign_line(server: &Guarded<'_>) -> PathBuf {
    let own = server.clone_of(Developer, "own");
    server
        .handoff(Developer, &own, ["save", "foreign", "--json"])
        .ok();
    own
}

#[track_caller]
fn refused(server: &Guarded<'_>, who: Writer, dir: &Path, refspec: &str, code: &str) {
    let run = server
        .git(who, dir, ["push", server.url(), refspec])
        .code(1);
    let line = format!("remote: handoff: {code} ");
    let said = run.stderr();
    assert!(
        said.contains(&line),
        "{}: no {code} in\n{said}",
        server.kind
    );
}

/// What Git would send through the helper is refused before it leaves.
fn with_the_helper(server: &Guarded<'_>, here: &Path) {
    let first = format!("+{REF}~1:{REF}");
    let delete = format!(":{REF}");
    for (refspec, code) in [
        (first.as_str(), "NON_LINEAR"),
        (delete.as_str(), "DELETE_REFUSED"),
        ("HEAD:refs/heads/x", "REF_OUTSIDE_NAMESPACE"),
    ] {
        let run = server
            .git(Agent, here, ["push", "handoff", refspec])
            .code(1);
        let said = run.stderr();
        assert!(said.contains(code), "{}: no {code} in\n{said}", server.kind);
    }
    let listed = server.git(Agent, here, ["ls-remote", "handoff"]).ok();
    assert_eq!(listed.line(), format!("{}\t{REF}", server.tip(SCOPE)));
}

/// The owner writes the next generation, and the agent takes it over.
fn go_on(server: &Guarded<'_>, there: &Path, here: &Path) {
    let world = server.world;
    world.tick();
    world.write(there, "parser.rs", "// the developer's\n");
    let args = ["save", "--push", "--json"];
    let saved = server.handoff(Developer, there, args).ok().json();
    assert_eq!(
        (&saved["scope"], &saved["generation"], &saved["pushed"]),
        (&SCOPE.into(), &2.into(), &true.into())
    );
    server.handoff(Agent, here, ["sync"]).ok();
    server.handoff(Agent, here, ["show", SCOPE]).ok();
    server.handoff(Agent, here, ["accept", SCOPE]).ok();
    let log = server.handoff(Agent, here, ["log", SCOPE, "--json"]).ok();
    let log: Vec<String> = log
        .json_lines()
        .iter()
        .map(|row| format!("{} {}", row["record"].as_str().unwrap(), row["generation"]))
        .collect();
    let expected = ["accept 2", "checkpoint 2", "accept 1", "checkpoint 1"];
    assert_eq!(log, expected);
    let listed = server.git(Developer, there, ["fetch", "handoff"]).ok();
    assert_eq!(listed.stdout(), "");
    let tracked = ["rev-parse", "refs/handoff-remote/handoff/DEV-1842"];
    let tracked = server.git(Developer, there, tracked).ok();
    assert_eq!(tracked.line(), server.tip(SCOPE));
}

/// The operator finds the hook at work, each judgement logged, and the repository sound.
fn at_the_server(server: &Guarded<'_>) {
    server.hooks(["doctor", "--live"]).ok();
    server
        .git_at_server(["fsck", "--strict", "--no-dangling"])
        .ok();
    let audit = server.audit();
    let who = |outcome: &str, code: Option<&str>| {
        let found = audit.iter().find(|line| {
            line["ref"] == REF && line["outcome"] == outcome && line["code"].as_str() == code
        });
        let found = found.unwrap_or_else(|| panic!("no {outcome} {code:?} in {audit:#?}"));
        found["identity"].as_str().map(String::from)
    };
    let known = |who: Writer| server.identity_variable().map(|_| who.user().to_owned());
    assert_eq!(who("good", None), known(Developer));
    assert_eq!(who("refused", Some("NON_LINEAR")), known(Agent));
    assert_eq!(who("refused", Some("DELETE_REFUSED")), known(Agent));
}

#[test]
fn a_hand_over_goes_through_a_guarded_git_daemon() {
    hand_over(ServerKind::Daemon);
}

#[test]
fn a_hand_over_goes_through_a_guarded_ssh_server() {
    hand_over(ServerKind::Ssh);
}

#[test]
fn a_hand_over_goes_through_a_guarded_nginx() {
    hand_over(ServerKind::Nginx);
}

#[test]
fn a_hand_over_goes_through_a_guarded_lighttpd() {
    hand_over(ServerKind::Lighttpd);
}

#[test]
fn a_hand_over_goes_through_a_guarded_apache() {
    hand_over(ServerKind::Apache);
}

#[test]
fn a_hand_over_goes_through_a_guarded_gitolite() {
    hand_over(ServerKind::Gitolite);
}

#[test]
fn gitolite_gives_all_its_repositories_the_hook() {
    let world = World::new();
    let Some(server) = Guarded::start(&world, ServerKind::Gitolite) else {
        return;
    };
    let home = server.gitolite_home();
    let common = home.join("local/hooks/common");
    let into = ["install", "--into", common.to_str().unwrap()];
    world.run("handoff-hooks", &home, into).ok();
    server.hooks(["uninstall"]).ok();
    let mut setup = world.command("gitolite", &home);
    Output::of(setup.env("HOME", &home).args(["setup", "--hooks-only"])).ok();
    for repository in ["test", "open"] {
        let dir = server
            .repository()
            .with_file_name(format!("{repository}.git"));
        let hooks = |args: &[&str]| world.run("handoff-hooks", &dir, args);
        hooks(&["doctor", "--live"]).ok();
        let again = hooks(&["install", "--json"]).ok().json();
        let again = &again["repositories"][0]["hooks"][0];
        assert_eq!(again["changes"], serde_json::json!([]), "{repository}");
        let status = hooks(&["status", "--json"]).ok().json();
        let status = &status["repositories"][0]["hooks"][0];
        assert_eq!(status["state"], "installed", "{repository}");
    }
    let here = server.seeded_clone(Agent, "here");
    refused(
        &server,
        Agent,
        &here,
        "HEAD:refs/handoff/x",
        "MALFORMED_MANIFEST",
    );
}
