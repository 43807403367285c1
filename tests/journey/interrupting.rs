//! Whoever interrupts a push to a server that hangs, or loses one that dies, leaves nothing behind: the same command
//! succeeds afterwards.

use std::{
    fs::{self, File},
    io::{Read, Write},
    net::TcpListener,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
    thread::{self, JoinHandle},
};

use crate::{
    guarded::{Guarded, Writer::Agent},
    people,
    world::{Output, ServerKind, World},
};

/// A hook behind ours that waits for its exit status at the pipe that `hang` names, while that is there.
const HANGS: &str = "\
#!/bin/sh
cat >/dev/null
test -e ROOT/hang || exit 0
word=$(cat ROOT/hang)
echo hangs >ROOT/told
read status <ROOT/$word
exit $status
";
/// The pipes at which hooks wait.
const WORDS: [&str; 2] = ["first", "second"];
/// Git runs this when refs have changed, before it answers whoever pushed: githooks(5).
const HAS_TAKEN: &str =
    "#!/bin/sh\ncat >/dev/null\ntest \"$1\" != committed || echo taken >ROOT/told\n";
const DIES: &str = "#!/bin/sh\ncat >/dev/null\ntest -e ROOT/hang || exit 0\nkill -9 $PPID\n";

/// Where the server of a test is.
enum Place<'w> {
    /// A path of this machine: whoever interrupts Git interrupts the server too.
    Path(PathBuf),
    Served(Guarded<'w>),
}

/// A server whose hook tells when it hangs, and goes on when it is told.
struct Hanging<'w> {
    world: &'w World,
    place: Place<'w>,
    /// What hooks tell, and where this test tells that a command has ended.
    told: Arc<File>,
    words: [File; 2],
}

impl<'w> Hanging<'w> {
    fn at_path(world: &'w World) -> Self {
        let bare = world.bare("server");
        world.run("handoff-hooks", &bare, ["install"]).ok();
        Self::new(world, Place::Path(bare))
    }

    fn served(world: &'w World, kind: ServerKind) -> Option<Self> {
        Some(Self::new(
            world,
            Place::Served(Guarded::start(world, kind)?),
        ))
    }

    fn new(world: &'w World, place: Place<'w>) -> Self {
        // With both ends open, nobody waits for somebody to open the other one.
        let pipe = |name: &str| {
            world.run("mkfifo", world.root(), [name]).ok();
            let path = world.root().join(name);
            File::options().read(true).write(true).open(path).unwrap()
        };
        let hanging = Hanging {
            world,
            told: Arc::new(pipe("told")),
            words: WORDS.map(pipe),
            place,
        };
        hanging.hook_behind_ours(HANGS);
        hanging.hook("reference-transaction", HAS_TAKEN);
        hanging
    }

    fn bare(&self) -> PathBuf {
        match &self.place {
            Place::Path(bare) => bare.clone(),
            Place::Served(server) => server.repository(),
        }
    }

    fn url(&self) -> String {
        match &self.place {
            Place::Path(bare) => bare.display().to_string(),
            Place::Served(server) => server.url().to_owned(),
        }
    }

    /// Puts a hook in the place of the one that ours runs after itself.
    fn hook_behind_ours(&self, script: &str) {
        let ours = |command| self.world.run("handoff-hooks", &self.bare(), [command]);
        ours("uninstall").ok();
        self.hook("pre-receive", script);
        ours("install").ok();
    }

    fn hook(&self, name: &str, script: &str) {
        let script = script.replace("ROOT", &self.world.root().display().to_string());
        let path = format!("hooks/{name}");
        self.world.write(&self.bare(), &path, script);
        self.world.run("chmod", &self.bare(), ["+x", &path]).ok();
    }

    fn hangs(&self, hangs: bool) {
        let file = self.world.root().join("hang");
        match hangs {
            true => fs::write(file, WORDS[0]).unwrap(),
            false => fs::remove_file(file).unwrap(),
        }
    }

    /// Gives the hook that hangs its exit status.
    fn say(&self, status: &str) {
        writeln!(&self.words[0], "{status}").unwrap();
    }

    /// Waits for what is told next.
    fn hears(&self) -> String {
        let mut line = Vec::new();
        let mut byte = [0];
        while byte != *b"\n" {
            (&*self.told).read_exact(&mut byte).unwrap();
            line.extend(byte);
        }
        String::from_utf8(line).unwrap().trim_end().to_owned()
    }

    fn command(&self, dir: &Path, args: &[&str]) -> Command {
        let mut command = match &self.place {
            Place::Path(_) => self.world.command("git", dir),
            Place::Served(server) => server.git_command(Agent, dir),
        };
        command.env("HANDOFF_ID", Agent.id()).args(args);
        command
    }

    fn git(&self, dir: &Path, args: &[&str]) -> Output {
        Output::of(&mut self.command(dir, args))
    }

    /// Makes a clone with a record that nobody has pushed.
    fn clone_with_record(&self) -> PathBuf {
        let seed = self.world.repo("seed");
        self.git(&seed, &["push", "-q", &self.url(), "main"]).ok();
        assert_eq!(self.hears(), "taken");
        let root = self.world.root();
        self.git(root, &["clone", "-q", "-b", "main", &self.url(), "here"])
            .ok();
        let dir = root.join("here");
        self.world.write(&dir, "notes.txt", "half\n");
        self.git(&dir, &["handoff", "save", "work"]).ok();
        self.git(&dir, &["handoff", "init"]).ok();
        dir
    }

    /// Starts a command in a process group of its own, as a shell does, and waits until the server hangs.
    fn until_it_hangs(&self, dir: &Path, args: &[&str]) -> Running {
        let running = Running::start(self.command(dir, args), &self.told);
        assert_eq!(self.hears(), "hangs", "{args:?}: {:?}", running.output);
        running
    }

    /// Interrupts a command when the server hangs; what was here before is here afterwards.
    fn interrupt(&self, dir: &Path, args: &[&str]) {
        let before = refs(self.world, dir);
        self.until_it_hangs(dir, args).interrupt(self.world);
        assert_eq!(self.hears(), "ended", "{args:?}");
        assert_eq!(refs(self.world, dir), before, "{args:?}");
        assert_eq!(locks(dir), Vec::<PathBuf>::new(), "{args:?}");
        self.hangs(false);
    }

    fn tip(&self) -> String {
        let name = "--format=%(objectname)";
        let listed = self
            .world
            .git(&self.bare(), ["for-each-ref", name, "refs/handoff"]);
        listed.ok().line()
    }
}

/// A command that runs.
struct Running {
    group: u32,
    output: JoinHandle<std::process::Output>,
}

impl Running {
    fn start(mut command: Command, told: &Arc<File>) -> Self {
        command
            .process_group(0)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let child: Child = command.spawn().unwrap();
        let (group, told) = (child.id(), Arc::clone(told));
        // The output ends when everything that the command started has ended.
        let output = thread::spawn(move || {
            let output = child.wait_with_output().unwrap();
            writeln!(&*told, "ended").unwrap();
            output
        });
        Running { group, output }
    }

    /// Does what Ctrl-C at a terminal does, or what ends a job in the background, for which shells ignore SIGINT.
    fn interrupt(self, world: &World) {
        let ignored = world.run("sh", world.root(), ["-c", "kill -s INT $$; echo ignored"]);
        let signal = match ignored.stdout().is_empty() {
            true => "INT",
            false => "TERM",
        };
        let script = format!("kill -s {signal} -- -{}", self.group);
        world.run("sh", world.root(), ["-c", &script]).ok();
        let output = self.output.join().unwrap();
        assert!(!output.status.success(), "{output:?}");
    }
}

fn refs(world: &World, dir: &Path) -> String {
    world.git(dir, ["for-each-ref"]).ok().stdout()
}

/// Returns the locks below a directory.
fn locks(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            found.extend(locks(&path));
        } else if path.extension().is_some_and(|end| end == "lock") {
            found.push(path);
        }
    }
    found
}

/// Runs a journey with a server of each kind.
fn with_each_place(journey: fn(&Hanging<'_>)) {
    journey(&Hanging::at_path(&World::new()));
    for kind in [ServerKind::Daemon, ServerKind::Ssh, ServerKind::Nginx] {
        let world = World::new();
        if let Some(hanging) = Hanging::served(&world, kind) {
            journey(&hanging);
        }
    }
}

/// The ways to send a record.
const PUSHES: [&[&str]; 3] = [
    &["push", "handoff"],
    &["handoff", "push"],
    &["handoff", "save", "work", "--push"],
];

#[test]
fn a_push_that_was_interrupted_succeeds_the_next_time() {
    with_each_place(|server| {
        let dir = server.clone_with_record();
        for push in PUSHES {
            server.hangs(true);
            server.interrupt(&dir, push);
            // The server may still be at work, and takes nothing.
            if matches!(server.place, Place::Served(_)) {
                server.say("1");
            }
        }
        assert_eq!(server.tip(), "");
        server.git(&dir, PUSHES[1]).ok();
        assert_eq!(server.hears(), "taken");
        let local = server.git(&dir, &["rev-parse", "refs/handoff/work"]).ok();
        assert_eq!(server.tip(), local.line());
        assert_eq!(locks(&server.bare()), Vec::<PathBuf>::new());
    });
}

#[test]
fn a_push_that_the_server_takes_after_it_was_interrupted_is_found_there() {
    with_each_place(|server| {
        let ends_with_the_client = match &server.place {
            Place::Path(_) => true,
            Place::Served(server) => server.kind.is_http(),
        };
        if ends_with_the_client {
            return;
        }
        let dir = server.clone_with_record();
        server.hangs(true);
        server.interrupt(&dir, &["handoff", "save", "work", "--push"]);
        server.say("0");
        assert_eq!(server.hears(), "taken");
        let args = ["handoff", "save", "work", "--push", "--json"];
        let saved = server.git(&dir, &args).ok().json();
        assert_eq!(
            (&saved["created"], &saved["pushed"], &saved["generation"]),
            (&false.into(), &true.into(), &1.into())
        );
        server.git(&dir, PUSHES[0]).ok();
    });
}

#[test]
fn a_push_that_meets_itself_at_the_server_has_succeeded() {
    for command in [PUSHES[1], PUSHES[2]] {
        let world = World::new();
        let Some(server) = Hanging::served(&world, ServerKind::Daemon) else {
            return;
        };
        let dir = server.clone_with_record();
        server.hangs(true);
        server.until_it_hangs(&dir, command).interrupt(server.world);
        assert_eq!(server.hears(), "ended");
        // Begun again while the server is at work on the first.
        server.world.write(server.world.root(), "hang", WORDS[1]);
        let again = server.until_it_hangs(&dir, command);
        server.say("0");
        assert_eq!(server.hears(), "taken");
        writeln!(&server.words[1], "0").unwrap();
        let output = again.output.join().unwrap();
        assert!(output.status.success(), "{command:?}: {output:?}");
    }
}

#[test]
fn an_accept_that_was_interrupted_succeeds_the_next_time() {
    with_each_place(|server| {
        let dir = server.clone_with_record();
        server.git(&dir, PUSHES[0]).ok();
        assert_eq!(server.hears(), "taken");
        server.git(&dir, &["handoff", "show", "work"]).ok();
        server.hangs(true);
        let accept = ["handoff", "accept", "work"];
        server.until_it_hangs(&dir, &accept).interrupt(server.world);
        assert_eq!(server.hears(), "ended");
        assert_eq!(locks(&dir), Vec::<PathBuf>::new());
        server.hangs(false);
        if matches!(server.place, Place::Served(_)) {
            server.say("1");
        }
        server.git(&dir, &accept).ok();
        assert_eq!(server.hears(), "taken");
        let shown = server.git(&dir, &["handoff", "show", "work", "--json"]);
        let shown = shown.ok().json();
        assert_eq!(shown["owner"], Agent.id());
        assert_eq!(shown["commit"], server.tip());
    });
}

#[test]
fn a_push_to_a_server_that_dies_succeeds_when_it_lives_again() {
    with_each_place(|server| {
        let dir = server.clone_with_record();
        server.hook_behind_ours(DIES);
        server.hangs(true);
        let before = refs(server.world, &dir);
        for push in PUSHES {
            let failed = server.git(&dir, push);
            assert!(!matches!(failed.exit_code(), Some(0) | None), "{failed:#?}");
            assert!(!failed.stderr().contains("panicked"), "{failed:#?}");
            assert_eq!(refs(server.world, &dir), before);
        }
        assert_eq!(locks(&dir), Vec::<PathBuf>::new());
        server.hangs(false);
        server.git(&dir, PUSHES[0]).ok();
        assert_eq!(server.hears(), "taken");
    });
}

#[test]
fn a_server_that_never_answers_can_be_left() {
    let world = World::new();
    let (_, dir) = people::server_and_clone(&world, "here");
    world.handoff(&dir, ["save", "work"]).ok();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("git://{}/x.git", listener.local_addr().unwrap());
    world.handoff(&dir, ["init", &url]).ok();
    let before = refs(&world, &dir);
    let ended = Arc::new(tempfile::tempfile().unwrap());
    for args in [PUSHES[0], PUSHES[1], PUSHES[2], &["fetch", "handoff"]] {
        let mut command = world.command("git", &dir);
        command.args(args);
        let running = Running::start(command, &ended);
        let connection = listener.accept().unwrap();
        running.interrupt(&world);
        drop(connection);
        assert_eq!(refs(&world, &dir), before, "{args:?}");
        assert_eq!(locks(&dir), Vec::<PathBuf>::new(), "{args:?}");
    }
}
