//! A project of real size: thousands of files of somebody else's, edited by a script.

use std::{
    env, fs,
    path::{Path, PathBuf},
    time::Instant,
};

use crate::{people, state::Worktree, world::World};

/// Bytes of sources to copy at least.
const BYTES: u64 = 12 << 20;

/// Returns the sources of the libraries that this workspace is built from, where Cargo keeps them on this machine.
fn sources() -> Option<PathBuf> {
    let cargo = env::var_os("CARGO_HOME").map(PathBuf::from);
    let cargo = cargo.or_else(|| Some(Path::new(&env::var_os("HOME")?).join(".cargo")))?;
    let registries = fs::read_dir(cargo.join("registry/src")).ok()?;
    registries.flatten().map(|entry| entry.path()).min()
}

/// Copies crates, in the order of their names, until there are enough.
fn copy(world: &World, from: &Path, to: &Path) -> u64 {
    let mut crates: Vec<PathBuf> = fs::read_dir(from)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    crates.sort();
    let mut bytes = 0;
    for dir in crates {
        if bytes >= BYTES {
            break;
        }
        let name = dir.display().to_string();
        world.run("cp", to, ["-r", &name, "."]).ok();
        let size = world.run("du", to, ["-sb", &name]).ok().line();
        bytes += size.split('\t').next().unwrap().parse::<u64>().unwrap();
    }
    bytes
}

/// Edits what Git tracks: the first 50 files are changed, others deleted, renamed, staged or made executable.
fn edit(world: &World, dir: &Path) {
    let listed = world.git(dir, ["ls-files", "*.rs"]).ok().stdout();
    let files: Vec<&str> = listed.lines().step_by(7).take(100).collect();
    assert_eq!(files.len(), 100);
    for (at, path) in files[..50].iter().enumerate() {
        let mut text = world.read(dir, path);
        text.extend_from_slice(format!("\n// edit {at}\n").as_bytes());
        world.write(dir, path, text);
        if at % 3 == 0 {
            world.git(dir, ["add", "--", path]).ok();
        }
    }
    for path in &files[50..60] {
        fs::remove_file(dir.join(path)).unwrap();
    }
    for path in &files[60..70] {
        world.git(dir, ["mv", path, &format!("{path}.moved")]).ok();
    }
    for path in &files[70..80] {
        fs::rename(dir.join(path), dir.join(format!("{path}.away"))).unwrap();
    }
    for path in &files[80..90] {
        world.run("chmod", dir, ["+x", path]).ok();
    }
    for at in 0..400 {
        let path = format!("generated/{}/{at}.txt", at % 20);
        world.write(dir, path, format!("{at}\n").repeat(at));
    }
}

#[test]
fn a_project_of_real_size_comes_back_to_the_last_byte() {
    let Some(sources) = sources() else {
        eprintln!("Cargo keeps no sources on this machine");
        return;
    };
    let world = World::new();
    let server = world.bare("server");
    let dir = world.directory("here");
    world.git(&dir, ["init", "-q"]).ok();
    let bytes = copy(&world, &sources, &dir);
    world.commit(&dir, "Take the sources as they are");
    let url = server.display().to_string();
    world.git(&dir, ["remote", "add", "origin", &url]).ok();
    world.git(&dir, ["push", "-q", "origin", "main"]).ok();
    edit(&world, &dir);
    let before = Worktree::of(&world, &dir);

    let begun = Instant::now();
    let saved = world
        .handoff(&dir, ["save", "work", "--push", "--json"])
        .ok();
    let (saved_in, begun) = (begun.elapsed(), Instant::now());
    assert_eq!(saved.json()["pushed"], true);
    let elsewhere = world.directory("elsewhere");
    world
        .handoff(&elsewhere, ["restore", "work", "--from", &url])
        .ok();
    eprintln!(
        "{} files, {bytes} bytes: saved in {saved_in:?}, restored in {:?}",
        before.files.len(),
        begun.elapsed()
    );
    before.assert_same(&Worktree::of(&world, &elsewhere.join("work")));
    let clone = people::clone(&world, &url, "clone");
    world
        .handoff(&clone, ["restore", "work", "--in-place"])
        .ok();
    before.assert_same(&Worktree::of(&world, &clone));
}
