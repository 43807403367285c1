//! The whole hand-over: an agent stops in the middle, a developer goes on from nothing but a URL.

use std::{
    ffi::OsStr,
    fs,
    os::unix::{
        ffi::OsStrExt,
        fs::{PermissionsExt, symlink},
    },
    path::{Path, PathBuf},
};

use crate::{
    people::{self, AGENT, DEVELOPER, agent, developer, error_code},
    state::{Untouched, Worktree},
    world::World,
};

/// Makes a server that refuses every object that `git fsck` finds in error.
pub(crate) fn strict_server(world: &World) -> PathBuf {
    let server = world.bare("server");
    for key in ["transfer.fsckObjects", "receive.fsckObjects"] {
        world.git(&server, ["config", key, "true"]).ok();
    }
    server
}

/// Makes a repository with a submodule whose commit its own server has.
pub(crate) fn project(world: &World, server: &Path) -> PathBuf {
    let library = world.repo("library");
    let library_server = world.bare("library");
    let url = library_server.display().to_string();
    world.git(&library, ["push", "-q", &url, "main"]).ok();

    let dir = world.repo("agent");
    world.write(&dir, ".gitignore", "*.log\n/build/\n");
    world.write(&dir, ".gitattributes", "*.win text eol=crlf\n");
    for name in [
        "staged", "edited", "both", "removed", "dropped", "moved", "carried",
    ] {
        world.write(
            &dir,
            format!("src/{name}.rs"),
            format!("// {name}\nfn {name}() {{}}\n"),
        );
    }
    world.write(&dir, "run.sh", "#!/bin/sh\nexec true\n");
    world.write(&dir, "dos.win", "one\r\ntwo\r\n");
    world.write(&dir, "becomes-a-directory", "file\n");
    symlink("src/staged.rs", dir.join("link")).unwrap();
    world
        .git(&dir, ["submodule", "--quiet", "add", &url, "library"])
        .ok();
    world.commit(&dir, "Add the project");
    let url = server.display().to_string();
    world.git(&dir, ["remote", "add", "origin", &url]).ok();
    world.git(&dir, ["push", "-q", "-u", "origin", "main"]).ok();
    dir
}

/// Leaves a change in the middle: of everything that Git can hold, and of what it cannot.
pub(crate) fn stop_in_the_middle(world: &World, dir: &Path) {
    world.git(dir, ["switch", "-q", "-c", "topic"]).ok();
    world.write(dir, "src/committed.rs", "// not pushed\n");
    world.commit(dir, "Begin the topic");
    let add = |path: &str| world.git(dir, ["add", "--", path]).ok();

    world.write(dir, "src/staged.rs", "// staged\n");
    add("src/staged.rs");
    world.write(dir, "src/edited.rs", "// edited, not staged\n");
    world.write(dir, "src/both.rs", "// staged first\n");
    add("src/both.rs");
    world.write(dir, "src/both.rs", "// then edited\n");
    fs::remove_file(dir.join("src/removed.rs")).unwrap();
    world.git(dir, ["rm", "-q", "src/dropped.rs"]).ok();
    world
        .git(dir, ["mv", "src/moved.rs", "src/moved away.rs"])
        .ok();
    fs::rename(dir.join("src/carried.rs"), dir.join("src/carried away.rs")).unwrap();
    fs::set_permissions(dir.join("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::remove_file(dir.join("becomes-a-directory")).unwrap();
    world.write(dir, "becomes-a-directory/file", "below\n");
    fs::remove_file(dir.join("link")).unwrap();
    symlink("src/edited.rs", dir.join("link")).unwrap();
    symlink("no/such/file", dir.join("dangling")).unwrap();

    world.write(dir, "notes/deep/er.txt", "untracked\n");
    world.write(dir, "notes/binary", [0_u8, 0xff, b'\r', b'\n', 0xfe]);
    world.write(dir, "notes/empty", "");
    world.write(dir, "notes/mixed.win", "one\r\ntwo\n");
    world.write(dir, "notes/tool.sh", "#!/bin/sh\n");
    fs::set_permissions(dir.join("notes/tool.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    let odd: [&[u8]; 8] = [
        b"two words",
        b"\"quoted\"",
        b"it's",
        b"two\nlines",
        b"tab\there",
        b"-dash",
        b":(top)magic*?[x]",
        b"byte \xff\xfe",
    ];
    for name in odd {
        world.write(dir, Path::new("odd").join(OsStr::from_bytes(name)), name);
    }
    fs::create_dir_all(dir.join("empty/directory")).unwrap();
    world.write(dir, "ignored.log", "ignored\n");
    world.write(dir, "build/out.o", "ignored\n");
}

/// Asserts that Git finds nothing wrong.
#[track_caller]
fn sound(world: &World, dir: &Path) {
    let found = world.git(dir, ["fsck", "--strict", "--no-dangling"]).ok();
    let said = found.stdout() + &found.stderr();
    let wrong: Vec<&str> = said
        .lines()
        .filter(|line| !line.starts_with("Checking") && !line.starts_with("notice:"))
        .collect();
    assert!(wrong.is_empty(), "{}: {wrong:?}", dir.display());
}

fn hand_over(world: &World, server: &Path) {
    let here = project(world, server);
    stop_in_the_middle(world, &here);
    let left = Worktree::of(world, &here);
    let untouched = Untouched::of(world, &here);

    let args = ["save", "DEV-1842", "-m", "Parse empty input", "--push"];
    let saved = agent(world, &here, [&args[..], &["--json"]].concat())
        .ok()
        .json();
    assert_eq!(
        (&saved["format"], &saved["scope"], &saved["generation"]),
        (&"handoff-cli.save.v1".into(), &"DEV-1842".into(), &1.into())
    );
    assert_eq!(
        (&saved["created"], &saved["pushed"]),
        (&true.into(), &true.into())
    );
    assert_eq!(
        (&saved["omissions"], &saved["blockers"]),
        (&serde_json::json!([]), &serde_json::json!([]))
    );
    // The remote is set up on the way; nothing else of the repository changes.
    untouched.assert_same_but_configuration(&Untouched::of(world, &here));
    sound(world, &here);
    sound(world, server);

    // An empty directory, the URL, nothing else.
    world.tick();
    let elsewhere = world.directory("elsewhere");
    let url = server.display().to_string();
    let args = ["restore", "DEV-1842", "work", "--from", &url, "--json"];
    let restored = developer(world, &elsewhere, args).ok().json();
    let work = elsewhere.join("work");
    assert_eq!(restored["worktreeTree"], saved["worktreeTree"]);
    assert_eq!(restored["indexTree"], saved["indexTree"]);
    assert_eq!(restored["branch"], "refs/heads/topic");
    assert_eq!(
        (&restored["current"], &restored["verified"]),
        (&true.into(), &true.into())
    );
    left.assert_same(&Worktree::of(world, &work));
    sound(world, &work);

    let accepted = developer(world, &work, ["accept", "--json"]).ok().json();
    assert_eq!(accepted["checkpointDigest"], saved["checkpointDigest"]);
    assert_eq!(
        (
            &accepted["acceptor"],
            &accepted["generation"],
            &accepted["remote"]
        ),
        (&DEVELOPER.into(), &1.into(), &"handoff".into())
    );

    late_write(world, &here);
    next_generation(world, &work, &here);
    for dir in [here.as_path(), &work, server] {
        sound(world, dir);
    }
}

/// The agent, back again, has edited on and knows nothing of the accept.
fn late_write(world: &World, here: &Path) {
    world.tick();
    world.write(here, "src/edited.rs", "// a late thought\n");
    let mine = Worktree::of(world, here);
    let late = ["save", "DEV-1842", "--push", "--json"];
    let refused = agent(world, here, late).code(3);
    assert_eq!(error_code(&refused), "CAS_CONFLICT");
    mine.assert_same(&Worktree::of(world, here));

    agent(world, here, ["sync"]).ok();
    let refused = agent(world, here, late).code(5);
    assert_eq!(error_code(&refused), "NOT_OWNER");
    mine.assert_same(&Worktree::of(world, here));
    // What could not be sent went back to prepared.
    let args = ["show", "DEV-1842@prepared", "--json"];
    let aside = agent(world, here, args).ok().json();
    assert_eq!(aside["state"], "prepared");
}

fn next_generation(world: &World, work: &Path, here: &Path) {
    world.tick();
    world.write(work, "src/edited.rs", "// the developer's\n");
    let args = [
        "save",
        "--push",
        "-m",
        "Parse empty input, at last",
        "--json",
    ];
    let saved = developer(world, work, args).ok().json();
    assert_eq!(
        (&saved["scope"], &saved["generation"], &saved["pushed"]),
        (&"DEV-1842".into(), &2.into(), &true.into())
    );
    agent(world, here, ["sync"]).ok();
    let log = agent(world, here, ["log", "DEV-1842", "--json"]).ok();
    let log: Vec<String> = log
        .json_lines()
        .iter()
        .map(|row| format!("{} {} {}", row["record"], row["generation"], row["by"]))
        .collect();
    assert_eq!(
        log,
        [
            format!(r#""checkpoint" 2 "{DEVELOPER}""#),
            format!(r#""accept" 1 "{DEVELOPER}""#),
            format!(r#""checkpoint" 1 "{AGENT}""#),
        ]
    );
    for dir in [here, work] {
        let list = developer(world, dir, ["list", "--json"]).ok().json_lines();
        let [row] = list.as_slice() else {
            panic!("{list:?}")
        };
        assert_eq!(
            (&row["generation"], &row["state"], &row["remote"]),
            (&2.into(), &"open".into(), &"same".into())
        );
    }
}

#[test]
fn a_developer_goes_on_from_a_url_where_an_agent_stopped() {
    people::with_each_git(|world| hand_over(world, &strict_server(world)));
}

#[test]
fn a_hand_over_goes_through_a_server_with_the_hook() {
    people::with_each_git(|world| {
        let server = strict_server(world);
        world
            .run("handoff-hooks", &server, ["install", "--git-dir", "."])
            .ok();
        hand_over(world, &server);
    });
}
