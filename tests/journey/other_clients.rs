//! Clients that are not Git, at a guarded server: what is good is taken, what is bad is refused and said so, and what
//! the helper has pushed can be fetched.
//!
//! A client takes part where it is found; `HANDOFF_TEST_CLIENTS=1` installs those of Python and Node into the test's own
//! directory first.

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    guarded::{Guarded, Writer::Agent},
    world::{Output, ServerKind, World},
};

/// A client: what runs its script in `tests/clients`, and how to see whether it is here.
struct Client {
    name: &'static str,
    program: &'static str,
    script: &'static str,
    probe: &'static [&'static str],
}

const CLIENTS: [Client; 4] = [
    Client {
        name: "dulwich",
        program: "python3",
        script: "with_dulwich.py",
        probe: &["-c", "import dulwich"],
    },
    Client {
        name: "pygit2",
        program: "python3",
        script: "with_pygit2.py",
        probe: &["-c", "import pygit2"],
    },
    Client {
        name: "isomorphic-git",
        program: "node",
        script: "with_isomorphic_git.cjs",
        probe: &["-e", "require('isomorphic-git')"],
    },
    Client {
        name: "JGit",
        program: "java",
        script: "WithJGit.java",
        probe: &["WithJGit.java"],
    },
];

/// Where Debian's libjgit-java and what it needs lie, unless `CLASSPATH` says otherwise.
const JGIT: &str = "/usr/share/java/org.eclipse.jgit.jar:/usr/share/java/slf4j-api.jar:/usr/share/java/javaewah.jar";

/// The programs and libraries of this machine, and those that were installed for the test.
struct Machine<'w> {
    world: &'w World,
    python: OsString,
    node: OsString,
    java: OsString,
}

impl<'w> Machine<'w> {
    fn new(world: &'w World) -> Self {
        let of = |name| env::var_os(name).unwrap_or_default();
        let mut machine = Machine {
            world,
            python: of("PYTHONPATH"),
            node: of("NODE_PATH"),
            java: env::var_os("CLASSPATH").unwrap_or(JGIT.into()),
        };
        if env::var("HANDOFF_TEST_CLIENTS").is_ok_and(|set| set == "1") {
            machine.install();
        }
        machine
    }

    fn install(&mut self) {
        let (python, node) = (
            self.world.directory("clients/python"),
            self.world.directory("clients/node"),
        );
        let mut pip = Command::new("pip");
        pip.args(["install", "-q", "--target"])
            .arg(&python)
            .args(["dulwich", "pygit2"]);
        let mut npm = Command::new("npm");
        npm.args(["install", "--silent", "--prefix"])
            .arg(&node)
            .arg("isomorphic-git");
        for command in [&mut pip, &mut npm] {
            match command.output() {
                Ok(output) if output.status.success() => {}
                other => World::skip(&format!("{:?} failed: {other:?}", command.get_program())),
            }
        }
        self.python = python.into();
        self.node = node.join("node_modules").into();
    }

    fn command(&self, program: &str, dir: &Path) -> Command {
        let mut command = self.world.command(program, dir);
        command
            .env("PATH", env::var_os("PATH").unwrap_or_default())
            .env("PYTHONPATH", &self.python)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("NODE_PATH", &self.node)
            .env("CLASSPATH", &self.java);
        command
    }

    fn has(&self, client: &Client) -> bool {
        let mut command = self.command(client.program, &scripts());
        let output = command.args(client.probe).output();
        output.is_ok_and(|output| output.status.success())
    }
}

/// What a client is asked to do.
struct Exchange<'a> {
    machine: &'a Machine<'a>,
    server: &'a Guarded<'a>,
    client: &'a Client,
}

impl Exchange<'_> {
    fn run(&self, action: &str, repository: &Path, source: &str, target: &str) -> Output {
        let script = scripts().join(self.client.script);
        let mut command = self.machine.command(self.client.program, repository);
        command.arg(script).arg(action).arg(repository).args([
            self.server.url(),
            Agent.user(),
            self.server.password(),
            source,
            target,
        ]);
        Output::of(&mut command)
    }
}

fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/clients")
}

fn exchange(machine: &Machine<'_>, server: &Guarded<'_>, client: &Client, repo: &Path) {
    let (world, name) = (machine.world, client.name);
    let scope = name.to_lowercase();
    let git_dir = repo.join(".git");
    let exchange = Exchange {
        machine,
        server,
        client,
    };
    let (good, bad) = (format!("refs/handoff/{scope}"), format!("refs/bad/{scope}"));
    server.handoff(Agent, repo, ["save", &scope]).ok();
    let commit = world.git(repo, ["rev-parse", &good]).ok().line();
    exchange.run("push", &git_dir, &good, &good).ok();
    assert_eq!(server.tip(&scope), commit, "{name}");

    // A commit with a record's tree is no record.
    let forged = [
        "commit-tree",
        "-p",
        &commit,
        "-m",
        "forged",
        &format!("{commit}^{{tree}}"),
    ];
    let forged = world.git(repo, forged).ok().line();
    world.git(repo, ["update-ref", &bad, &forged]).ok();
    let refused = exchange.run("push", &git_dir, &bad, &good).code(1);
    let said = refused.stdout() + &refused.stderr();
    assert!(said.contains("pre-receive hook declined"), "{name}: {said}");
    assert_eq!(server.tip(&scope), commit, "{name}");
    let outcome = server.audit().pop().unwrap();
    assert_eq!(outcome["outcome"], "refused", "{name}: {outcome}");
    let code = outcome["code"].as_str().unwrap();
    let words = format!("handoff: {code} {good}: ");
    assert!(said.contains(&words), "{name}: no `{words}` in {said}");

    // What the helper has pushed.
    let pushed = format!("{scope}-pushed");
    let args = ["save", &pushed, "--push"];
    server.handoff(Agent, repo, args).ok();
    let bare = world.bare(&format!("{scope}-fetched"));
    let theirs = format!("refs/handoff/{pushed}");
    exchange.run("fetch", &bare, &theirs, &theirs).ok();
    let fetched = world.git(&bare, ["rev-parse", &theirs]).ok().line();
    assert_eq!(fetched, server.tip(&pushed), "{name}");
    let notes = exchange.run("read", &bare, &theirs, "worktree/notes.txt");
    assert_eq!(notes.ok().stdout(), name);
    let manifest = exchange.run("read", &bare, &theirs, "manifest.cbor").ok();
    let saved = ["cat-file", "blob", &format!("{theirs}:manifest.cbor")];
    assert_eq!(
        manifest.bytes(),
        world.git(&bare, saved).ok().bytes(),
        "{name}"
    );
    world.git(&bare, ["fsck", "--strict"]).ok();
}

#[test]
fn other_clients_push_and_fetch_records_and_see_refusals() {
    let world = World::new();
    let machine = Machine::new(&world);
    let (found, missing): (Vec<_>, Vec<_>) = CLIENTS.iter().partition(|client| machine.has(client));
    if !missing.is_empty() {
        let names: Vec<_> = missing.iter().map(|client| client.name).collect();
        World::skip(&format!(
            "no {}: not installed here; HANDOFF_TEST_CLIENTS=1 installs those of Python and Node",
            names.join(", ")
        ));
    }
    if found.is_empty() {
        return;
    }
    let Some(server) = Guarded::start(&world, ServerKind::Nginx) else {
        return;
    };
    let repo = server.seeded_clone(Agent, "here");
    for client in found {
        world.write(&repo, "notes.txt", client.name);
        exchange(&machine, &server, client, &repo);
        eprintln!("{}: pushed, refused, fetched", client.name);
    }
}
