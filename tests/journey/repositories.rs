//! Repositories of every shape: a checkpoint goes in and comes back, or the reason is said.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{
    people::{clone, error_code, server_and_clone},
    state::Worktree,
    world::World,
};

/// Saves, restores from the URL into an empty directory, and compares; returns where it was restored.
fn round_trip(world: &World, dir: &Path, server: &Path) -> PathBuf {
    let before = Worktree::of(world, dir);
    world.handoff(dir, ["save", "work", "--push"]).ok();
    world.handoff(dir, ["verify", "work", "--worktree"]).ok();
    let elsewhere = world.directory("elsewhere");
    let url = server.display().to_string();
    let args = ["restore", "work", "--from", &url];
    world.handoff(&elsewhere, args).ok();
    let work = elsewhere.join("work");
    before.assert_same(&Worktree::of(world, &work));
    world.git(&work, ["fsck", "--strict"]).ok();
    work
}

#[test]
fn a_repository_without_a_commit_comes_back_without_one() {
    let world = World::new();
    let server = world.bare("server");
    let dir = world.directory("here");
    world.git(&dir, ["init", "-q"]).ok();
    let url = server.display().to_string();
    world.git(&dir, ["remote", "add", "origin", &url]).ok();
    world.write(&dir, "staged.txt", "staged\n");
    world.git(&dir, ["add", "staged.txt"]).ok();
    world.write(&dir, "untracked.txt", "untracked\n");
    let work = round_trip(&world, &dir, &server);
    // The next generation has one.
    world.tick();
    world.commit(&work, "First commit");
    let saved = world
        .handoff(&work, ["save", "--push", "--json"])
        .ok()
        .json();
    assert_eq!(
        (&saved["scope"], &saved["generation"]),
        (&"work".into(), &2.into())
    );
}

#[test]
fn a_detached_head_comes_back_detached() {
    let world = World::new();
    let (server, dir) = server_and_clone(&world, "here");
    world.git(&dir, ["switch", "-q", "--detach"]).ok();
    world.commit(&dir, "On no branch");
    world.write(&dir, "README.md", "# Half\n");
    let work = round_trip(&world, &dir, &server);
    assert_eq!(Worktree::of(&world, &work).branch, None);
}

#[test]
fn a_sha_256_repository_is_like_any_other() {
    let world = World::new();
    let server = world.root().join("server.git");
    let format = "--object-format=sha256";
    let url = server.display().to_string();
    world
        .git(world.root(), ["init", "-q", "--bare", format, &url])
        .ok();
    let dir = world.directory("here");
    world.git(&dir, ["init", "-q", format]).ok();
    world.git(&dir, ["remote", "add", "origin", &url]).ok();
    world.write(&dir, "README.md", "# Example\n");
    world.commit(&dir, "First commit");
    world.write(&dir, "README.md", "# Half\n");
    let work = round_trip(&world, &dir, &server);
    assert_eq!(Worktree::of(&world, &work).head.unwrap().len(), 64);
    world.handoff(&work, ["accept"]).ok();
}

#[test]
fn refs_in_reftables_move_as_git_moves_them() {
    let world = World::new();
    let (server, _) = server_and_clone(&world, "here");
    let dir = world.directory("tables");
    let made = world.git(&dir, ["init", "-q", "--ref-format=reftable"]);
    if made.exit_code() != Some(0) {
        eprintln!("this git knows no reftables");
        return;
    }
    let url = server.display().to_string();
    world.git(&dir, ["remote", "add", "origin", &url]).ok();
    world.git(&dir, ["pull", "-q", "origin", "main"]).ok();
    world.write(&dir, "README.md", "# Half\n");
    let work = round_trip(&world, &dir, &server);
    world.handoff(&work, ["accept"]).ok();
    world.handoff(&dir, ["sync"]).ok();
    let shown = world.handoff(&dir, ["show", "work", "--json"]).ok().json();
    assert_eq!(shown["state"], "accepted");
    let refs = world
        .git(&dir, ["for-each-ref", "--format=%(refname)"])
        .ok();
    assert!(
        refs.stdout().contains("refs/handoff/work\n"),
        "{}",
        refs.stdout()
    );
    assert!(!dir.join(".git/refs/handoff").exists());
    world.handoff(&dir, ["restore", "work", "--in-place"]).ok();
}

#[test]
fn linked_worktrees_share_the_scopes_of_their_repository() {
    let world = World::new();
    let (server, dir) = server_and_clone(&world, "here");
    world
        .git(&dir, ["worktree", "add", "-q", "-b", "topic", "../linked"])
        .ok();
    let linked = world.root().join("linked");
    world.write(&linked, "README.md", "# In the linked worktree\n");
    world.write(&linked, "new.txt", "new\n");
    let before = Worktree::of(&world, &dir);
    let saved = world
        .handoff(&linked, ["save", "--push", "--json"])
        .ok()
        .json();
    assert_eq!(saved["scope"], "ann.topic");
    before.assert_same(&Worktree::of(&world, &dir));

    // The branch is taken, so its worktree stays as it is and HEAD is detached.
    let args = ["restore", "ann.topic", "../second", "--worktree"];
    let restored = world.handoff(&dir, args).ok();
    insta::assert_snapshot!(world.normal(&restored.stdout()), @"
    restored ann.topic@1 in ../second
      HEAD       [id1], detached: `topic` is not moved
      worktree   [id2], recomputed from disk
      index      [id3], recomputed from disk
    next:
      git -C ../second switch -c ann.topic
      git -C ../second status
      git -C ../second handoff continue ann.topic
      git -C ../second handoff accept ann.topic
    ");
    let first = Worktree::of(&world, &linked);
    let second = Worktree::of(&world, &world.root().join("second"));
    assert_eq!(
        (&first.files, &first.status),
        (&second.files, &second.status)
    );
    assert_eq!((first.head, &second.branch), (second.head, &None));

    // A repository that is there already gets no branch unasked.
    let other = clone(&world, &server.display().to_string(), "other");
    let args = ["restore", "ann.topic", "../third", "--worktree"];
    world.handoff(&other, args).ok();
    let third = Worktree::of(&world, &world.root().join("third"));
    assert_eq!((second.files, second.status), (third.files, third.status));
}

#[test]
fn a_merge_in_conflict_comes_back_in_conflict() {
    let world = World::new();
    let (server, dir) = server_and_clone(&world, "here");
    world.git(&dir, ["switch", "-q", "-c", "theirs"]).ok();
    world.write(&dir, "README.md", "# Theirs\n");
    world.write(&dir, "theirs.txt", "theirs\n");
    world.commit(&dir, "Theirs");
    world.git(&dir, ["switch", "-q", "main"]).ok();
    world.write(&dir, "README.md", "# Ours\n");
    world.commit(&dir, "Ours");
    world.git(&dir, ["merge", "-q", "theirs"]).code(1);
    let work = round_trip(&world, &dir, &server);
    for name in ["MERGE_HEAD", "MERGE_MSG"] {
        let there = world.read(&work, Path::new(".git").join(name));
        assert_eq!(
            there,
            world.read(&dir, Path::new(".git").join(name)),
            "{name}"
        );
    }
    // It is finished as if it had never moved.
    world.write(&work, "README.md", "# Both\n");
    world.commit(&work, "Merge theirs");
    let parents = world.git(&work, ["log", "-1", "--format=%p"]).ok();
    assert_eq!(parents.line().split(' ').count(), 2);
}

#[test]
fn intent_to_add_comes_back() {
    let world = World::new();
    let (server, dir) = server_and_clone(&world, "here");
    world.write(&dir, "intended.txt", "not yet\n");
    world.git(&dir, ["add", "-N", "intended.txt"]).ok();
    let work = round_trip(&world, &dir, &server);
    let diff = world.git(&work, ["diff", "--name-status"]).ok();
    assert_eq!(diff.line(), "A\tintended.txt");
}

#[test]
fn a_bare_repository_has_nothing_to_save() {
    let world = World::new();
    let (server, _) = server_and_clone(&world, "here");
    for command in ["save", "snapshot"] {
        let refused = world.handoff(&server, [command]);
        insta::allow_duplicates! {
            insta::assert_snapshot!(world.normal(&refused.stderr()), @"error: there is no worktree to capture: [world]/server.git is a bare repository, or the inside of one [USAGE]");
        }
        assert_eq!(refused.exit_code(), Some(2));
    }
    world.handoff(&server, ["list"]).ok();
}

#[test]
fn outside_of_a_repository_the_reason_is_said() {
    let world = World::new();
    let dir = world.directory("empty");
    let refused = world.handoff(&dir, ["save"]).code(6);
    insta::assert_snapshot!(world.normal(&refused.stderr()), @"
    error: no repository can be used at .: not a git repository (or any of the parent directories): .git [NOT_FOUND]
    hint: run this inside a Git repository, or name one with `-C <dir>`
    ");
    for command in ["list", "log", "show", "push", "sync", "accept", "snapshot"] {
        let refused = world.handoff(&dir, [command, "--json"]).code(6);
        assert_eq!(error_code(&refused), "NOT_FOUND", "{command}");
    }
}

#[test]
fn without_an_identity_the_command_that_sets_it_is_named() {
    let world = World::new();
    let (_, dir) = server_and_clone(&world, "here");
    fs::write(
        world.home().join(".gitconfig"),
        "[user]\n\tuseConfigOnly = true\n",
    )
    .unwrap();
    let refused = world.handoff(&dir, ["save", "work"]).code(2);
    insta::assert_snapshot!(refused.stderr(), @"
    error: nothing says who you are [IDENTITY_MISSING]
    hint: set it for this repository, or with --global for all; `handoff.id` is for an id that is no e-mail address
      git config user.name '<name>'
      git config user.email '<address>'
    ");
    // Who acts is known, and stands for who commits.
    world.handoff_as("agent:x", &dir, ["save", "work"]).ok();
    let by = [
        "log",
        "-1",
        "--format=%an <%ae> %cn <%ce>",
        "refs/handoff/work",
    ];
    let by = world.git(&dir, by).ok().line();
    assert_eq!(by, "agent:x <agent:x> agent:x <agent:x>");
    world.write(&dir, "README.md", "more\n");
    world.git(&dir, ["config", "user.name", "Ann"]).ok();
    world
        .git(&dir, ["config", "user.email", "ann@example.invalid"])
        .ok();
    world.handoff(&dir, ["save", "work"]).ok();
}

#[test]
fn a_signing_program_that_fails_does_not_keep_work_from_being_saved() {
    let world = World::new();
    let (_, dir) = server_and_clone(&world, "here");
    world.git(&dir, ["config", "commit.gpgSign", "true"]).ok();
    world.git(&dir, ["config", "gpg.program", "false"]).ok();
    let saved = world.handoff(&dir, ["save", "work"]).ok();
    insta::assert_snapshot!(saved.stderr(), @"warning: NOT_SIGNED: git could not sign the record (commit.gpgSign), so it has no signature");
    world.handoff(&dir, ["verify", "work", "--worktree"]).ok();
}

#[test]
fn records_are_not_built_upon() {
    let world = World::new();
    let (_, dir) = server_and_clone(&world, "here");
    world.handoff(&dir, ["save", "work"]).ok();
    world
        .git(&dir, ["switch", "-q", "--detach", "refs/handoff/work"])
        .ok();
    let refused = world.handoff(&dir, ["save", "other"]).code(4);
    insta::assert_snapshot!(world.normal(&refused.stderr()), @"
    error: HEAD is the record [id1] of a scope, not code [HEAD_IS_RECORD]
    hint: check out a branch of the code; a checkpoint is continued with `git handoff restore`
    ");
    // Nor is what reaches one.
    world.commit(&dir, "Upon a record");
    let refused = world.handoff(&dir, ["save", "other", "--json"]).code(4);
    assert_eq!(error_code(&refused), "HEAD_IS_RECORD");
}

#[test]
fn who_cannot_write_reads_all_the_same() {
    let world = World::new();
    let (_, dir) = server_and_clone(&world, "here");
    world.write(&dir, "README.md", "# Half\n");
    world.handoff(&dir, ["save", "work"]).ok();
    world.write(&dir, "README.md", "# Three quarters\n");
    world.run("chmod", &dir, ["-R", "a-w,a+rX", "."]).ok();
    world
        .git(&dir, ["config", "--global", "safe.directory", "*"])
        .ok();
    for command in [
        &["list"][..],
        &["show", "work"],
        &["log", "work"],
        &["verify", "work"],
    ] {
        as_nobody(&world, &dir, command).ok();
    }
    let refused = as_nobody(&world, &dir, &["save", "work", "--json"]).code(1);
    assert_eq!(error_code(&refused), "IO");
    let text = as_nobody(&world, &dir, &["save", "work"]).code(1);
    let text = world.normal(&text.stderr());
    let said = "error: the new objects could not be written: Permission denied";
    assert!(text.starts_with(said), "{text}");
    world.run("chmod", &dir, ["-R", "u+w", "."]).ok();
}

/// Runs `git handoff` without the right to write everywhere, also where the tests have it.
fn as_nobody(world: &World, dir: &Path, args: &[&str]) -> crate::world::Output {
    let is_root = world.run("id", dir, ["-u"]).ok().line() == "0";
    let drop = ["--reuid=65534", "--regid=65534", "--clear-groups"];
    let mut command = match is_root {
        true => world.command("setpriv", dir),
        false => world.command("env", dir),
    };
    if is_root {
        command.args(drop);
    }
    crate::world::Output::of(command.args(["git", "handoff"]).args(args))
}

#[test]
fn where_several_scopes_could_be_meant_they_are_named() {
    let world = World::new();
    let (server, dir) = server_and_clone(&world, "here");
    for scope in ["first", "second"] {
        world.write(&dir, "README.md", scope);
        world.handoff(&dir, ["save", scope, "--push"]).ok();
    }
    // The one that was last saved is in use here.
    let shown = world.handoff(&dir, ["show", "--json"]).ok().json();
    assert_eq!(shown["scope"], "second");
    // Elsewhere nothing says which.
    let other = clone(&world, &server.display().to_string(), "other");
    world.handoff(&other, ["sync"]).ok();
    let refused = world.handoff(&other, ["show"]).code(2);
    insta::assert_snapshot!(refused.stderr(), @"
    error: several scopes could be meant: first, second [AMBIGUOUS_SCOPE]
    hint: name one
      git handoff list
    ");
    let url = server.display().to_string();
    let refused = world.handoff(&other, ["restore", "--from", &url, "--json"]);
    assert_eq!(error_code(&refused.code(2)), "AMBIGUOUS_SCOPE");
    let refused = world
        .handoff_as(
            "somebody@example.invalid",
            &other,
            ["restore", "--in-place", "--json"],
        )
        .code(2);
    assert_eq!(error_code(&refused), "AMBIGUOUS_SCOPE");
}

#[test]
fn what_the_receiver_ignores_is_compared_with_the_checkpoint_all_the_same() {
    let world = World::new();
    let (server, dir) = server_and_clone(&world, "here");
    world.write(&dir, "notes.local", "untracked here\n");
    world.write(&dir, "odd\nname.local", "untracked too\n");
    std::os::unix::fs::symlink("nowhere", dir.join("link.local")).unwrap();
    let work = round_trip(&world, &dir, &server);
    world.write(&work, ".git/info/exclude", "*.local\n");
    world.handoff(&work, ["verify", "work", "--worktree"]).ok();

    world.write(&work, "notes.local", "edited\n");
    fs::remove_file(work.join("link.local")).unwrap();
    let status = world
        .git(&work, ["status", "--porcelain"])
        .ok()
        .stdout()
        .to_owned();
    let found = world
        .handoff(&work, ["verify", "work", "--worktree"])
        .code(4);
    let said = found.stdout();
    let findings: Vec<&str> = said.lines().filter(|l| l.starts_with("FAIL")).collect();
    assert_eq!(
        findings,
        [
            "FAIL  worktree: link.local: the worktree does not have it any more [WORKTREE_CHANGED]",
            "FAIL  worktree: notes.local: the worktree has something else there, which is ignored [WORKTREE_CHANGED]",
        ]
    );
    assert_eq!(
        world.git(&work, ["status", "--porcelain"]).ok().stdout(),
        status
    );
}
