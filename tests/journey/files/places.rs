//! Where files are written and read: existing ones, full disks, pipes, shallow clones.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Stdio,
};

use super::{file, leftovers, next, saved};
use crate::{
    people::error_code,
    world::{Output, World},
};

/// Returns the names in a directory.
pub(super) fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_file_that_exists_is_replaced_only_when_asked() {
    let world = World::new();
    let here = saved(&world);
    let out = world.directory("out");
    let to = file(&world, "out/work.bundle");
    fs::write(&to, "somebody's").unwrap();
    let refused = world.handoff(&here, ["export", "work", "-o", &to]).code(5);
    insta::assert_snapshot!(world.normal(&refused.stderr()), @"
    error: [world]/out/work.bundle exists [DIRECTORY_NOT_EMPTY]
    hint: give another name, or replace it with --force
    ");
    assert_eq!(fs::read(&to).unwrap(), b"somebody's");
    world
        .handoff(&here, ["export", "work", "-o", &to, "--force"])
        .ok();
    world.handoff(&here, ["verify", &to]).ok();
    // Open to others as any new file is.
    assert_eq!(
        fs::metadata(&to).unwrap().permissions().mode() & 0o777,
        0o644
    );
    let folder = out.display().to_string();
    for args in [&["--force"][..], &[]] {
        let args = [&["export", "work", "-o", &folder, "--json"], args].concat();
        assert_eq!(
            error_code(&world.handoff(&here, args).code(5)),
            "DIRECTORY_NOT_EMPTY"
        );
    }
    assert_eq!(names(&out), ["work.bundle"]);
}

#[test]
fn a_file_that_cannot_be_written_whole_is_not_written() {
    let world = World::new();
    let here = saved(&world);
    let out = world.directory("out");
    let to = file(&world, "out/work.bundle");
    // A limit on the size of files, as of a full disk.
    let limited = format!("ulimit -f 1; trap '' XFSZ; exec git handoff export work -o {to} --json");
    let failed = world.run("bash", &here, ["-c", &limited]).code(1);
    assert_eq!(error_code(&failed), "IO");
    world.write(&here, "large.txt", vec![b'x'; 100_000]);
    world.handoff(&here, ["save", "work"]).ok();
    for args in [
        "export work --artifacts ../out/d",
        "verify work --clean-clone",
    ] {
        let limited = format!("ulimit -f 1; trap '' XFSZ; exec git handoff {args} --json");
        let failed = world.run("bash", &here, ["-c", &limited]).code(1);
        assert_eq!(error_code(&failed), "IO", "{}", failed.stdout());
    }
    assert_eq!(names(&out), Vec::<String>::new());
    let nowhere = file(&world, "no/such/directory/work.bundle");
    let failed = world
        .handoff(&here, ["export", "work", "-o", &nowhere, "--json"])
        .code(1);
    assert_eq!(error_code(&failed), "IO");
    assert_eq!(leftovers(&world), Vec::<PathBuf>::new());
}

#[test]
fn a_file_goes_through_pipes() {
    let world = World::new();
    let here = saved(&world);
    let other = world.repo("other");
    let exported = world.handoff(&here, ["export", "work", "-o", "-"]).ok();
    assert!(exported.bytes().starts_with(b"# v2 git bundle\n"));
    assert!(exported.stderr().starts_with("exported work@1 to -\n"));
    world
        .handoff_with_input(&other, ["import", "-"], exported.bytes())
        .ok();
    world.handoff(&other, ["verify", "work"]).ok();
    let piped = "git -C ../here handoff export work -o - | git handoff show /dev/stdin";
    world.run("sh", &other, ["-c", piped]).ok();
    let refused = world
        .handoff(&here, ["export", "work", "-o", "-", "--json"])
        .code(2);
    assert_eq!(error_code(&refused), "USAGE");
    // Nobody reads.
    let mut closed = world.command("git", &here);
    closed.args(["handoff", "export", "work", "-o", "-"]);
    closed.stdout(Stdio::piped());
    let mut closed = closed.spawn().unwrap();
    drop(closed.stdout.take());
    closed.wait().unwrap();
    assert_eq!(leftovers(&world), Vec::<PathBuf>::new());
}

#[test]
fn a_shallow_clone_is_deepened_or_refuses() {
    let world = World::new();
    let server = world.bare("server");
    let seed = world.repo("seed");
    world.commit(&seed, "Second commit");
    let url = format!("file://{}", server.display());
    world.git(&seed, ["push", "-q", &url, "main"]).ok();
    world
        .git(world.root(), ["clone", "-q", "--depth=1", &url, "here"])
        .ok();
    let here = world.root().join("here");
    next(&world, &here, "first");
    let to = file(&world, "work.bundle");
    // Below the base nothing is missing.
    world
        .handoff(&here, ["export", "work", "-o", &to, "--base", "HEAD"])
        .ok();
    fs::rename(&server, world.root().join("gone")).unwrap();
    let args = ["export", "work", "-o", &to, "--force", "--json"];
    assert_eq!(
        error_code(&world.handoff(&here, args).code(4)),
        "MISSING_OBJECT"
    );
    fs::rename(world.root().join("gone"), &server).unwrap();
    let deepened = world.handoff(&here, args).ok();
    assert_eq!(
        deepened.stderr(),
        "deepened the shallow history from `origin`\n"
    );
    world.handoff(world.root(), ["restore", &to, "work"]).ok();
    let log = world.git(&world.root().join("work"), ["rev-list", "--count", "HEAD"]);
    assert_eq!(log.ok().line(), "2");
}

#[test]
fn nothing_stays_of_what_a_signal_ends() {
    let world = World::new();
    let here = saved(&world);
    let out = world.directory("out");
    let to = file(&world, "out/work.bundle");
    // Git waits in the middle of its work, so that the signal comes there.
    let slow = world.directory("slow");
    let real = world.run("sh", &here, ["-c", "command -v git"]).ok().line();
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in *pack-objects*|*diff-tree*) : >{}; sleep 5;; esac\nexec {real} \"$@\"\n",
        file(&world, "reached")
    );
    world.write(&slow, "git", script);
    fs::set_permissions(slow.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    let commands: [&[&str]; 3] = [
        &["export", "work", "-o", &to],
        &["export", "work", "--artifacts", &to],
        &["verify", "work", "--clean-clone"],
    ];
    for (signal, args) in ["INT", "TERM"]
        .into_iter()
        .flat_map(|signal| commands.map(|args| (signal, args)))
    {
        let mut command = world.command("git-handoff", &here);
        command.args(args);
        command.env("PATH", format!("{}:{}", slow.display(), world.path()));
        let mut running = command.spawn().unwrap();
        let reached = world.root().join("reached");
        while !reached.exists() {
            assert_eq!(running.try_wait().unwrap(), None);
            std::thread::yield_now();
        }
        let begun = usize::from(args[0] == "export");
        assert_eq!(names(&out).len(), begun);
        let kill = format!("kill -{signal} {}", running.id());
        Output::of(world.command("sh", &here).args(["-c", &kill])).ok();
        let ended = running.wait().unwrap();
        assert_eq!(ended.code(), None, "a signal ends it");
        assert_eq!(names(&out), Vec::<String>::new(), "{signal}");
        assert_eq!(leftovers(&world), Vec::<PathBuf>::new(), "{signal}");
        fs::remove_file(reached).unwrap();
    }
}
