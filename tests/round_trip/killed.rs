//! Runs that are killed at any moment.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use crate::{
    comparison::{differences, state},
    traces::{kill_group, leftovers, wait_for_group},
    world::World,
};

/// Rounds of each test, more with `KILLS`.
fn rounds() -> u32 {
    let wanted = std::env::var("KILLS").ok();
    wanted.and_then(|wanted| wanted.parse().ok()).unwrap_or(12)
}

/// Numbers that look random and are the same each time.
struct Random(u64);

impl Random {
    /// Returns a part of a duration, and a little more at times.
    fn part_of(&mut self, whole: Duration) -> Duration {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        whole * u32::try_from(self.0 % 1_100).unwrap() / 1_000
    }
}

struct Scene {
    world: World,
    work: PathBuf,
    random: Random,
}

impl Scene {
    fn new() -> Self {
        let world = World::new();
        let work = world.repo("work");
        for n in 0..300 {
            world.write(&work, format!("d{}/f{n}", n / 30), format!("file {n}\n"));
        }
        world.commit(&work, "many files");
        Scene {
            world,
            work,
            random: Random(0x2545_f491_4f6c_dd1d),
        }
    }

    /// Changes a part of the files.
    fn edit(&self, round: u32) {
        for n in (0..300).step_by(7) {
            let text = format!("round {round} of {n}\n").repeat(40);
            self.world
                .write(&self.work, format!("d{}/f{n}", n / 30), text);
        }
        self.world
            .write(&self.work, format!("new/{round}"), format!("{round}\n"));
        self.world
            .git(&self.work, ["add", &format!("new/{round}")])
            .ok();
        self.world
            .write(&self.work, format!("new/{round}"), "edited\n");
    }

    fn command(&self, dir: &Path, args: &[&str]) -> Command {
        let mut command = self.world.command("git-handoff", dir);
        command
            .args(args)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0);
        command
    }

    /// Runs to the end and says how long it took.
    fn time(&self, dir: &Path, args: &[&str]) -> Duration {
        let start = Instant::now();
        assert!(self.command(dir, args).status().unwrap().success());
        start.elapsed()
    }

    /// Kills a run after a while: alone, or with all that it has started. Returns its process group.
    fn kill_after(&self, while_: Duration, dir: &Path, args: &[&str], alone: bool) -> u32 {
        let start = Instant::now();
        let mut child = self.command(dir, args).spawn().unwrap();
        while start.elapsed() < while_ && child.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        if alone {
            child.kill().unwrap();
        } else {
            kill_group(child.id());
        }
        child.wait().unwrap();
        child.id()
    }

    fn is_sound(&self, dir: &Path) {
        let fsck = ["fsck", "--strict", "--no-dangling", "--no-progress"];
        self.world.git(dir, fsck).ok();
    }

    /// The user's own: files, index, `HEAD`, branches.
    fn own(&self) -> BTreeMap<String, String> {
        let mut own = state(&self.world, &self.work);
        let index = fs::read(self.work.join(".git/index")).unwrap();
        own.insert(
            "index".into(),
            store::digest::Digest::of(&index).to_string(),
        );
        let refs = self
            .world
            .git(&self.work, ["for-each-ref", "refs/heads", "refs/stash"]);
        own.insert("refs".into(), refs.ok().stdout());
        own
    }

    /// Removes locks that a killed Git left, as Git asks of its users, once none runs; says how many.
    fn unlock(&self, dir: &Path, group: u32) -> usize {
        wait_for_group(group);
        let found = leftovers(&dir.join(".git"));
        let locks = found.iter().filter(|path| {
            let text = path.to_string_lossy();
            text.ends_with(".lock")
                && (text.contains("/refs/")
                    || text.ends_with("/config.lock")
                    || text.ends_with("HEAD.lock"))
        });
        locks.filter(|lock| fs::remove_file(lock).is_ok()).count()
    }
}

#[test]
fn a_save_that_is_killed_changes_nothing_of_the_users_and_the_next_completes() {
    let mut scene = Scene::new();
    scene.edit(0);
    let whole = scene.time(&scene.work, &["save", "demo"]);
    let mut locks = 0;
    for round in 1..=rounds() {
        scene.edit(round);
        let own = scene.own();
        let part = scene.random.part_of(whole);
        let group = scene.kill_after(part, &scene.work, &["save", "demo"], round % 2 == 0);
        assert_eq!(differences(&own, &scene.own()), Vec::<String>::new());
        scene.is_sound(&scene.work);
        locks += scene.unlock(&scene.work, group);
        scene.world.handoff(&scene.work, ["save", "demo"]).ok();
        scene.is_sound(&scene.work);
        let left = leftovers(&scene.work.join(".git"));
        // One stays where nothing was left to be written; the next pack takes it away.
        assert!(left.len() <= 1, "round {round}: {left:?}");
    }
    scene.edit(rounds() + 1);
    scene.world.handoff(&scene.work, ["save", "demo"]).ok();
    assert_eq!(leftovers(&scene.work.join(".git")), Vec::<PathBuf>::new());
    eprintln!("{} rounds, {locks} locks of Git's left", rounds());
}

#[test]
fn a_restore_into_a_new_directory_that_is_killed_is_completed_by_the_next() {
    let mut scene = Scene::new();
    scene.edit(0);
    scene.time(&scene.work, &["save", "demo"]);
    let was = state(&scene.world, &scene.work);
    let bare = scene.world.bare("bare");
    let push = ["push", "-q", bare.to_str().unwrap(), "refs/handoff/demo"];
    scene.world.git(&scene.work, push).ok();
    let root = scene.world.root().to_owned();
    let dir = root.join("there");
    let here = ["restore", "demo", dir.to_str().unwrap()];
    let from = [
        "restore",
        "demo",
        dir.to_str().unwrap(),
        "--from",
        bare.to_str().unwrap(),
    ];
    let (mut ended, mut locks) = (0, 0);
    for round in 1..=rounds() {
        let (at, args): (&Path, &[&str]) = match round % 4 < 2 {
            true => (&scene.work, &here),
            false => (&root, &from),
        };
        let whole = match round {
            1..=4 => scene.time(at, args),
            _ => Duration::from_millis(400),
        };
        let _ = fs::remove_dir_all(&dir);
        let part = scene.random.part_of(whole);
        let group = scene.kill_after(part, at, args, round % 2 == 0);
        scene.is_sound(&scene.work);
        locks += scene.unlock(&dir, group);
        let git_dir = dir.join(".git");
        // Where the last step was done, it has ended.
        if !git_dir.exists() || git_dir.join("handoff/restoring").exists() {
            scene.world.handoff(at, args).ok();
        } else {
            ended += 1;
        }
        assert_eq!(
            differences(&was, &state(&scene.world, &dir)),
            Vec::<String>::new()
        );
        scene.is_sound(&dir);
        let left = leftovers(&dir);
        assert!(left.is_empty(), "round {round}: {left:?}");
        fs::remove_dir_all(&dir).unwrap();
    }
    eprintln!(
        "{} rounds, {ended} ended before, {locks} locks of Git's left",
        rounds()
    );
}

#[test]
fn a_restore_into_a_linked_worktree_that_is_killed_is_completed_by_the_next() {
    let mut scene = Scene::new();
    scene.edit(0);
    scene.time(&scene.work, &["save", "demo"]);
    let mut was = state(&scene.world, &scene.work);
    // The branch is used here: in the linked worktree `HEAD` is detached.
    was.retain(|name, _| !name.starts_with("symbolic-ref"));
    let own = scene.own();
    let dir = scene.world.root().join("there");
    let args = ["restore", "demo", dir.to_str().unwrap(), "--worktree"];
    let remove = ["worktree", "remove", "--force", dir.to_str().unwrap()];
    let whole = scene.time(&scene.work, &args);
    scene.world.git(&scene.work, remove).ok();
    let mut locks = 0;
    for round in 1..=rounds() {
        let part = scene.random.part_of(whole);
        let group = scene.kill_after(part, &scene.work, &args, round % 2 == 0);
        locks += scene.unlock(&scene.work, group);
        assert_eq!(differences(&own, &scene.own()), Vec::<String>::new());
        scene.is_sound(&scene.work);
        let git_dir = scene.work.join(".git/worktrees/there");
        // Where the last step was done, it has ended.
        if !dir.join("README.md").exists() || git_dir.join("handoff/restoring").exists() {
            scene.world.handoff(&scene.work, args).ok();
        }
        let mut is = state(&scene.world, &dir);
        is.retain(|name, _| !name.starts_with("symbolic-ref"));
        assert_eq!(differences(&was, &is), Vec::<String>::new());
        assert_eq!(differences(&own, &scene.own()), Vec::<String>::new());
        scene.is_sound(&scene.work);
        let left = [leftovers(&scene.work), leftovers(&dir)].concat();
        assert!(left.is_empty(), "round {round}: {left:?}");
        scene.world.git(&scene.work, remove).ok();
        let worktrees = scene.work.join(".git/worktrees");
        assert!(!worktrees.exists(), "round {round}");
    }
    eprintln!("{} rounds, {locks} locks of Git's left", rounds());
}

/// All branches, and what they name.
fn branches(scene: &Scene) -> String {
    let refs = ["for-each-ref", "refs/heads", "refs/stash"];
    scene.world.git(&scene.work, refs).ok().stdout()
}

#[test]
fn a_restore_in_place_that_is_killed_is_completed_by_the_next() {
    let mut scene = Scene::new();
    scene.edit(0);
    scene.time(&scene.work, &["save", "demo"]);
    let first = state(&scene.world, &scene.work);
    scene.edit(1);
    scene
        .world
        .git(&scene.work, ["commit", "-q", "-m", "between"])
        .ok();
    scene.world.handoff(&scene.work, ["save", "demo"]).ok();
    let second = state(&scene.world, &scene.work);
    // What the user has besides: no generation holds it.
    let exclude = scene.work.join(".git/info/exclude");
    fs::write(exclude, "/ignored\n").unwrap();
    scene.world.write(&scene.work, "ignored", "ignored\n");
    scene.world.write(&scene.work, "mine", "mine\n");
    scene
        .world
        .git(&scene.work, ["branch", "other", "HEAD~1"])
        .ok();
    let both = branches(&scene);
    let mut locks = 0;
    let wholes = [1, 2].map(|n| {
        scene.time(
            &scene.work,
            &["restore", &format!("demo@{n}"), "--in-place"],
        )
    });
    for round in 1..=rounds() {
        let n = if round % 2 == 0 { 2 } else { 1 };
        let args = ["restore", &format!("demo@{n}"), "--in-place"];
        let part = scene.random.part_of(wholes[n - 1]);
        let group = scene.kill_after(part, &scene.work, &args, round % 3 == 0);
        scene.is_sound(&scene.work);
        for name in ["ignored", "mine"] {
            let text = fs::read_to_string(scene.work.join(name)).unwrap();
            assert_eq!(text, format!("{name}\n"), "round {round}");
        }
        locks += scene.unlock(&scene.work, group);
        scene.world.handoff(&scene.work, args).ok();
        assert_eq!(branches(&scene), both, "round {round}");
        scene.is_sound(&scene.work);
        let mut wanted = if n == 1 {
            first.clone()
        } else {
            second.clone()
        };
        let mut is = state(&scene.world, &scene.work);
        assert_eq!(is.remove("file mine"), Some("0 mine\\n".into()));
        // An old generation does not take the branch back.
        for state in [&mut wanted, &mut is] {
            state.retain(|name, _| name.starts_with("file ") || name.starts_with("ls-files"));
        }
        assert_eq!(
            differences(&wanted, &is),
            Vec::<String>::new(),
            "round {round}"
        );
        let left = leftovers(&scene.work);
        assert!(left.is_empty(), "round {round}: {left:?}");
    }
    eprintln!("{} rounds, {locks} locks of Git's left", rounds());
}
