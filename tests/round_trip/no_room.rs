//! Disks that are full, and files that may not grow.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    comparison::{differences, state},
    world::{Output, World},
};

/// Runs `git-handoff` where no file may grow over `kibibytes`.
fn limited(world: &World, dir: &Path, kibibytes: u32, args: &[&str]) -> Output {
    let script = format!("ulimit -f {}; exec git-handoff \"$@\"", kibibytes * 2);
    let mut command = world.command("sh", dir);
    Output::of(command.args(["-c", &script, "sh"]).args(args))
}

fn with_a_big_file(world: &World) -> PathBuf {
    let work = world.repo("work");
    let mut noise = 1u64;
    let bytes: Vec<u8> = std::iter::repeat_with(|| {
        noise = noise
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (noise >> 33).to_le_bytes()[0]
    })
    .take(2 << 20)
    .collect();
    world.write(&work, "big", bytes);
    world.write(&work, "small", "small\n");
    work
}

#[test]
fn a_save_that_may_not_write_its_pack_says_so_and_changes_nothing() {
    let world = World::new();
    let work = with_a_big_file(&world);
    let was = state(&world, &work);
    let refused = limited(&world, &work, 256, &["save", "demo", "--json"]).code(1);
    assert_eq!(refused.json()["code"], "IO", "{}", refused.stdout());
    assert_eq!(
        differences(&was, &state(&world, &work)),
        Vec::<String>::new()
    );
    assert_eq!(
        world
            .git(&work, ["for-each-ref", "refs/handoff"])
            .ok()
            .stdout(),
        ""
    );
    world.git(&work, ["fsck", "--connectivity-only"]).ok();
    world.handoff(&work, ["save", "demo"]).ok();
}

#[test]
fn a_restore_that_may_not_write_a_file_says_so_and_can_be_completed() {
    let world = World::new();
    let work = with_a_big_file(&world);
    world.handoff(&work, ["save", "demo"]).ok();
    let was = state(&world, &work);
    world.git(&work, ["clean", "-q", "-f", "-d"]).ok();
    let base = state(&world, &work);
    let args = ["restore", "demo", "--in-place", "--json"];
    let refused = limited(&world, &work, 256, &args).code(1);
    assert_eq!(refused.json()["code"], "IO", "{}", refused.stdout());
    let half = state(&world, &work);
    for (name, text) in half.iter().filter(|(name, _)| name.starts_with("file ")) {
        assert!(
            base.get(name) == Some(text) || was.get(name) == Some(text),
            "{name}"
        );
    }
    world.handoff(&work, args).ok();
    assert_eq!(
        differences(&was, &state(&world, &work)),
        Vec::<String>::new()
    );

    let dir = world.root().join("there");
    let args = ["restore", "demo", dir.to_str().unwrap(), "--json"];
    limited(&world, &work, 256, &args).code(1);
    world.handoff(&work, args).ok();
    assert_eq!(
        differences(&was, &state(&world, &dir)),
        Vec::<String>::new()
    );
}

/// A small file system in memory; unmounted when dropped.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Mounts one; `None`, with one line printed, where that is not allowed.
    fn mount(at: PathBuf, kibibytes: u32) -> Option<Self> {
        fs::create_dir(&at).unwrap();
        let size = format!("size={kibibytes}k");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &size, "tmpfs"])
            .arg(&at)
            .output();
        if mounted.is_ok_and(|mounted| mounted.status.success()) {
            return Some(SmallDisk(at));
        }
        eprintln!("skipped: no file system can be mounted here");
        None
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg("-l").arg(&self.0).status();
        assert!(unmounted.is_ok_and(|status| status.success()));
    }
}

#[test]
fn a_full_disk_loses_nothing() {
    let world = World::new();
    let Some(disk) = SmallDisk::mount(world.root().join("disk"), 5_000) else {
        return;
    };
    let work = with_a_big_file(&world);
    let moved = disk.0.join("work");
    fs::create_dir(&moved).unwrap();
    let copied = Command::new("cp")
        .arg("-a")
        .arg(work.join("."))
        .arg(&moved)
        .status();
    assert!(copied.unwrap().success());
    // What is left of the disk holds the objects of no save.
    fs::write(disk.0.join("ballast"), vec![0; 1_200 << 10]).unwrap();
    let was = state(&world, &moved);
    let refused = world.handoff(&moved, ["save", "demo", "--json"]).code(1);
    assert_eq!(refused.json()["code"], "IO", "{}", refused.stdout());
    assert_eq!(
        differences(&was, &state(&world, &moved)),
        Vec::<String>::new()
    );
    world.git(&moved, ["fsck", "--connectivity-only"]).ok();

    world.handoff(&work, ["save", "demo"]).ok();
    let there = disk.0.join("there");
    let args = ["restore", "demo", there.to_str().unwrap(), "--json"];
    world.handoff(&work, args).code(1);
    fs::remove_file(disk.0.join("ballast")).unwrap();
    fs::remove_dir_all(&moved).unwrap();
    let again = world.handoff(&work, args);
    if again.exit_code() != Some(0) {
        assert!(
            again.stdout().contains("DIRECTORY_NOT_EMPTY"),
            "{}",
            again.stdout()
        );
        fs::remove_dir_all(&there).unwrap();
        world.handoff(&work, args).ok();
    }
    assert_eq!(
        differences(&state(&world, &work), &state(&world, &there)),
        Vec::<String>::new()
    );
}
