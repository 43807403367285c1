//! A real server with the hook, and the people who reach it, each as the server knows them.

use std::{
    ffi::OsStr,
    fs,
    os::unix::{fs::MetadataExt, process::CommandExt},
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

use crate::world::{GitVersion, Output, Server, ServerKind, World};

/// Somebody whom the server lets write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Writer {
    /// An agent that `writer1` runs.
    Agent,
    /// The developer `writer2`.
    Developer,
}

impl Writer {
    /// Returns the id that stands in records.
    pub(crate) fn id(self) -> &'static str {
        match self {
            Writer::Agent => "agent:writer1/codex-3",
            Writer::Developer => "writer2",
        }
    }

    /// Returns the Git that they have: not the same one, where this machine has several.
    pub(crate) fn git(self) -> GitVersion {
        let gits = World::gits();
        let git = match self {
            Writer::Agent => gits.first(),
            Writer::Developer => gits.last(),
        };
        git.expect("there is one at least").clone()
    }

    /// Returns the name that the server knows.
    pub(crate) fn user(self) -> &'static str {
        match self {
            Writer::Agent => "writer1",
            Writer::Developer => "writer2",
        }
    }

    fn kind(self) -> &'static str {
        match self {
            Writer::Agent => "agent",
            Writer::Developer => "person",
        }
    }
}

/// A server whose repository `test` has the hook.
pub(crate) struct Guarded<'w> {
    pub(crate) world: &'w World,
    pub(crate) kind: ServerKind,
    server: Server,
}

impl<'w> Guarded<'w> {
    /// Starts a server and installs the hook; `None`, with one line printed, where it cannot run.
    pub(crate) fn start(world: &'w World, kind: ServerKind) -> Option<Self> {
        let server = Self::start_without_hook(world, kind)?;
        server.guard();
        Some(server)
    }

    /// Starts a server that nobody has guarded yet; `None`, with one line printed, where it cannot run.
    pub(crate) fn start_without_hook(world: &'w World, kind: ServerKind) -> Option<Self> {
        let server = world.server(kind)?;
        let server = Guarded {
            world,
            kind,
            server,
        };
        if kind.is_http() {
            server.write_passwords();
        }
        Some(server)
    }

    /// Installs the hook.
    pub(crate) fn guard(&self) {
        self.hooks(["install"]).ok();
        if let Some(variable) = self.identity_variable() {
            self.git_at_server(["config", "handoff.identityEnv", variable])
                .ok();
        }
    }

    /// Returns the variable in which the server names who pushes.
    pub(crate) fn identity_variable(&self) -> Option<&'static str> {
        match self.kind {
            ServerKind::Daemon => None,
            ServerKind::Gitolite => Some("GL_USER"),
            _ => Some("REMOTE_USER"),
        }
    }

    /// Returns the URL of the repository, without credentials.
    pub(crate) fn url(&self) -> &str {
        match self.kind.is_http() {
            true => self.server.variable("HANDOFF_TEST_URL_PLAIN"),
            false => self.server.url(),
        }
    }

    /// Returns the password of every user of an http server.
    pub(crate) fn password(&self) -> &str {
        self.server.variable("HANDOFF_TEST_PASSWORD")
    }

    /// Returns the bare repository on disk.
    pub(crate) fn repository(&self) -> PathBuf {
        self.server.repository("test")
    }

    /// Returns the home directory of gitolite.
    pub(crate) fn gitolite_home(&self) -> PathBuf {
        self.server.variable("HANDOFF_TEST_GITOLITE_HOME").into()
    }

    /// Prepares a run of Git by a writer, who has what the server asks for: a key, or a helper that knows a password.
    pub(crate) fn git_command(&self, who: Writer, dir: &Path) -> Command {
        let mut command = self.world.command("git", dir);
        command
            .env("HANDOFF_ID", who.id())
            .env("HANDOFF_KIND", who.kind())
            .env("PATH", World::path_with(&who.git()));
        let key = format!("HANDOFF_TEST_SSH_{}", who.user().to_uppercase());
        if let Some(program) = self.server.variables().get(&key) {
            command.env("GIT_SSH", program);
        }
        if self.kind.is_http() {
            command.env("GIT_CONFIG_GLOBAL", self.configuration(who));
        }
        command
    }

    /// Runs Git as a writer.
    pub(crate) fn git<S: AsRef<OsStr>>(
        &self,
        who: Writer,
        dir: &Path,
        args: impl IntoIterator<Item = S>,
    ) -> Output {
        Output::of(self.git_command(who, dir).args(args))
    }

    /// Runs `git handoff` as a writer.
    pub(crate) fn handoff<S: AsRef<OsStr>>(
        &self,
        who: Writer,
        dir: &Path,
        args: impl IntoIterator<Item = S>,
    ) -> Output {
        Output::of(self.git_command(who, dir).arg("handoff").args(args))
    }

    /// Pushes one commit on `main`, and returns a clone of it named `name`.
    pub(crate) fn seeded_clone(&self, who: Writer, name: &str) -> PathBuf {
        let seed = self.world.repo("seed");
        self.git(who, &seed, ["push", "-q", self.url(), "main"])
            .ok();
        self.clone_of(who, name)
    }

    /// Clones the repository.
    pub(crate) fn clone_of(&self, who: Writer, name: &str) -> PathBuf {
        let root = self.world.root();
        self.git(who, root, ["clone", "-q", "-b", "main", self.url(), name])
            .ok();
        root.join(name)
    }

    /// Runs `handoff-hooks` for the repository, as its owner.
    pub(crate) fn hooks<const N: usize>(&self, args: [&str; N]) -> Output {
        let program = match self.kind {
            ServerKind::Apache => self.program_for_all(),
            _ => "handoff-hooks".into(),
        };
        let mut command = self.world.command(program, &self.repository());
        Output::of(self.as_owner(&mut command).args(args))
    }

    /// Runs Git in the repository, as its owner.
    pub(crate) fn git_at_server<const N: usize>(&self, args: [&str; N]) -> Output {
        let mut command = self.world.command("git", &self.repository());
        Output::of(self.as_owner(&mut command).args(args))
    }

    /// Returns what a scope's ref names at the server.
    pub(crate) fn tip(&self, scope: &str) -> String {
        let name = format!("refs/handoff/{scope}");
        self.git_at_server(["for-each-ref", "--format=%(objectname)", &name])
            .ok()
            .line()
    }

    /// Returns the judgements in the audit log.
    pub(crate) fn audit(&self) -> Vec<Value> {
        let log = self.world.read(&self.repository(), "handoff/audit.jsonl");
        let lines = String::from_utf8(log).unwrap();
        let lines = lines
            .lines()
            .map(|line| serde_json::from_str(line).unwrap());
        lines
            .filter(|line: &Value| line["outcome"] != "taken")
            .collect()
    }

    fn as_owner<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        let repository = fs::metadata(self.repository()).unwrap();
        if repository.uid() != fs::metadata(self.world.root()).unwrap().uid() {
            command
                .uid(repository.uid())
                .gid(repository.gid())
                .env("TMPDIR", self.server.directory().join("tmp"));
        }
        command
    }

    /// Copies the program to where the server's user can reach it.
    fn program_for_all(&self) -> PathBuf {
        let copy = self.world.root().join("handoff-hooks");
        if !copy.exists() {
            let built = self.world.path();
            let built = Path::new(built.split(':').next().unwrap());
            fs::copy(built.join("handoff-hooks"), &copy).unwrap();
        }
        copy
    }

    fn configuration(&self, who: Writer) -> PathBuf {
        self.world.home().join(format!("{}.gitconfig", who.user()))
    }

    /// Gives each writer a credential helper that knows the password.
    fn write_passwords(&self) {
        let password = self.password();
        let port = self.server.variable("HANDOFF_TEST_PORT");
        for who in [Writer::Agent, Writer::Developer] {
            let user = who.user();
            let file = self.world.home().join(format!("{user}.credentials"));
            let entry = format!("http://{user}:{password}@127.0.0.1:{port}\n");
            fs::write(&file, entry).unwrap();
            let configuration = format!(
                "[include]\n\tpath = .gitconfig\n[credential]\n\thelper = store --file={}\n",
                file.display()
            );
            fs::write(self.configuration(who), configuration).unwrap();
        }
    }
}
