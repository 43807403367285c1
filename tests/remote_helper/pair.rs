//! A bare repository at a server, a repository of a user, and Git between them.

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::world::{Server, ServerKind, World};

/// A server and a user whose remote `handoff` it is, in a world of their own.
pub(crate) struct Pair {
    /// Stops before the world goes.
    server: Option<Server>,
    bare: PathBuf,
    world: World,
}

/// What a run of a program came to.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Pair {
    /// Makes `server.git` and `work`, whose remote `handoff` is the path of the server.
    pub(crate) fn new() -> Self {
        Self::with_format("sha1")
    }

    /// Makes a pair of repositories with an object format.
    pub(crate) fn with_format(format: &str) -> Self {
        let world = World::new();
        let bare = world.root().join("server.git");
        let pair = Self::begin(world, None, bare, format);
        pair.make_bare(format);
        pair.meet()
    }

    /// Makes a pair with a real server; `None`, with one line that says so, where that cannot run here.
    pub(crate) fn at(kind: ServerKind) -> Option<Self> {
        Self::at_with_format(kind, "sha1")
    }

    /// Makes a pair with a real server and an object format.
    pub(crate) fn at_with_format(kind: ServerKind, format: &str) -> Option<Self> {
        let world = World::new();
        let server = world.server(kind)?;
        let bare = server.repository(if format == "sha1" { "test" } else { format });
        let pair = Self::begin(world, Some(server), bare, format);
        if !pair.bare.exists() {
            pair.make_bare(format);
        }
        Some(pair.meet())
    }

    /// Runs a test over a path, a `git://` server and an http server.
    pub(crate) fn on_each_transport(test: impl Fn(&Pair)) {
        eprintln!("over a path");
        test(&Pair::new());
        for kind in [ServerKind::Daemon, ServerKind::Nginx] {
            if let Some(pair) = Pair::at(kind) {
                eprintln!("over {kind}");
                test(&pair);
            }
        }
    }

    fn begin(world: World, server: Option<Server>, bare: PathBuf, format: &str) -> Self {
        world.set("HANDOFF_ID", "a");
        let pair = Pair {
            server,
            bare,
            world,
        };
        let format = format!("--object-format={format}");
        pair.git_in(".", ["init", "-q", &format, "work"]).ok();
        pair.git(["commit", "-q", "--allow-empty", "-m", "root"])
            .ok();
        pair
    }

    fn make_bare(&self, format: &str) {
        let format = format!("--object-format={format}");
        let bare = self.bare.to_str().unwrap();
        self.git(["init", "-q", "--bare", &format, bare]).ok();
        for (key, value) in [
            ("receive.advertisePushOptions", "true"),
            ("http.receivepack", "true"),
            ("gc.auto", "0"),
        ] {
            self.at_server(["config", key, value]).ok();
        }
    }

    fn meet(self) -> Self {
        self.git(["push", "-q", &self.url(), "main"]).ok();
        self.set_remote(&self.url());
        self
    }

    /// Returns the server, where it is a real one.
    pub(crate) fn server(&self) -> &Server {
        self.server.as_ref().expect("the pair has a real server")
    }

    /// Returns the URL of the server's repository.
    pub(crate) fn url(&self) -> String {
        match &self.server {
            None => self.bare.display().to_string(),
            Some(server) => {
                let name = self.bare.file_stem().unwrap().to_str().unwrap();
                match server.repository("test") == self.bare {
                    true => server.url().to_owned(),
                    false => server.url_of(name),
                }
            }
        }
    }

    /// Returns the bare repository on disk.
    pub(crate) fn bare(&self) -> &Path {
        &self.bare
    }

    /// Tells whether the server is an http server.
    pub(crate) fn is_http(&self) -> bool {
        self.url().starts_with("http")
    }

    /// Points the remote `handoff` at `handoff::<url>`, with the refspecs that `git handoff init` sets.
    pub(crate) fn set_remote(&self, url: &str) {
        self.set_remote_of("work", url);
    }

    /// Points the remote `handoff` of a repository at `handoff::<url>`.
    pub(crate) fn set_remote_of(&self, dir: &str, url: &str) {
        for (key, value) in [
            ("url", format!("handoff::{url}").as_str()),
            ("fetch", "+refs/handoff/*:refs/handoff-remote/handoff/*"),
            ("push", "refs/handoff/*:refs/handoff/*"),
            ("tagOpt", "--no-tags"),
            ("skipFetchAll", "true"),
        ] {
            let key = format!("remote.handoff.{key}");
            self.git_in(dir, ["config", "--replace-all", &key, value])
                .ok();
        }
    }

    /// Makes an empty repository with the same remote `handoff`.
    pub(crate) fn fresh(&self, name: &str) {
        self.git_in(".", ["init", "-q", name]).ok();
        self.set_remote_of(name, &self.url());
    }

    /// Lets Git know the password of an http server without a URL that holds it.
    pub(crate) fn know_password(&self) {
        if self.is_http() {
            let password = self.server().variable("HANDOFF_TEST_PASSWORD");
            let helper = format!("!f() {{ echo username=writer1; echo password={password}; }}; f");
            self.git(["config", "--global", "credential.helper", &helper])
                .ok();
        }
    }

    /// Sets a variable for all later runs.
    pub(crate) fn set(&self, name: &str, value: &str) {
        self.world.set(name, value);
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.world.root().join(path)
    }

    /// Returns the search path of all runs.
    pub(crate) fn search_path(&self) -> String {
        self.world.path()
    }

    /// Saves the next checkpoint of a scope, with `text` in one file, and returns its id.
    pub(crate) fn record(&self, scope: &str, text: &str) -> String {
        std::fs::write(self.path("work/file"), text).unwrap();
        self.run("work", "git-handoff", &["-q", "save", scope], b"")
            .ok();
        self.git(["rev-parse", &format!("refs/handoff/{scope}")])
            .line()
    }

    /// Makes the user's repository forget the records of a scope after `tip`.
    pub(crate) fn forget_since(&self, scope: &str, tip: &str) {
        let name = |namespace: &str| format!("refs/{namespace}/{scope}");
        self.git(["update-ref", &name("handoff"), tip]).ok();
        for namespace in ["handoff-remote/handoff", "handoff-local/verified"] {
            self.git(["update-ref", "-d", &name(namespace)]).ok();
        }
    }

    /// Returns the id of the blob that holds `text`.
    pub(crate) fn blob(&self, text: &str) -> String {
        self.run("work", "git", &["hash-object", "--stdin"], text.as_bytes())
            .line()
    }

    /// Runs Git in the server's repository.
    pub(crate) fn at_server<const N: usize>(&self, args: [&str; N]) -> Run {
        let bare = self.bare.to_str().unwrap();
        let args: Vec<&str> = ["--git-dir", bare].into_iter().chain(args).collect();
        self.run(".", "git", &args, b"")
    }

    /// Tells whether the server has an object, referred to or not.
    pub(crate) fn server_has(&self, id: &str) -> bool {
        self.at_server(["cat-file", "-e", id]).code == 0
    }

    /// Returns what a ref of the server names; nothing where it does not exist.
    pub(crate) fn server_ref(&self, name: &str) -> String {
        let run = self.at_server(["rev-parse", "-q", "--verify", name]);
        run.out.trim().into()
    }

    /// Installs a `pre-receive` hook at the server.
    pub(crate) fn hook(&self, script: &str) {
        self.hook_named("pre-receive", script);
    }

    /// Installs a hook at the server.
    pub(crate) fn hook_named(&self, name: &str, script: &str) {
        write_program(&self.bare.join("hooks").join(name), script);
    }

    /// Runs Git in the user's repository.
    pub(crate) fn git<const N: usize>(&self, args: [&str; N]) -> Run {
        self.git_in("work", args)
    }

    pub(crate) fn git_in<const N: usize>(&self, dir: &str, args: [&str; N]) -> Run {
        self.run(dir, "git", &args, b"")
    }

    /// Runs the helper itself, as Git would for the remote `handoff`.
    pub(crate) fn helper(&self, url: &str, input: &[u8]) -> Run {
        self.run("work", "git-remote-handoff", &["handoff", url], input)
    }

    /// Prepares a program in `dir` with the environment of this world.
    pub(crate) fn command(&self, dir: &str, program: &str, args: &[&str]) -> Command {
        let mut command = self.world.command(program, &self.path(dir));
        command.args(args);
        command
    }

    pub(crate) fn run(&self, dir: &str, program: &str, args: &[&str], input: &[u8]) -> Run {
        let mut child = self
            .command(dir, program, args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A program that ends early does not read its input.
        let _ = child.stdin.take().unwrap().write_all(input);
        let output = child.wait_with_output().unwrap();
        Run {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Run {
    /// Returns the run where it succeeded.
    #[track_caller]
    pub(crate) fn ok(self) -> Self {
        assert_eq!(self.code, 0, "{self:#?}");
        self
    }

    /// Returns the run where it failed.
    #[track_caller]
    pub(crate) fn failed(self) -> Self {
        assert_ne!(self.code, 0, "{self:#?}");
        self
    }

    /// Returns the one line of the output.
    #[track_caller]
    pub(crate) fn line(self) -> String {
        self.ok().out.trim_end().into()
    }

    /// Returns the run where it said `text` on standard error.
    #[track_caller]
    pub(crate) fn says(self, text: &str) -> Self {
        assert!(self.err.contains(text), "not said: {text}\n{self:#?}");
        self
    }

    /// Returns the run where it did not say `text` on standard error.
    #[track_caller]
    pub(crate) fn says_not(self, text: &str) -> Self {
        assert!(!self.err.contains(text), "said: {text}\n{self:#?}");
        self
    }

    /// Returns the ref names of `git ls-remote`.
    #[track_caller]
    pub(crate) fn listed(self) -> Vec<String> {
        let lines = self.ok().out;
        lines
            .lines()
            .map(|line| line.split('\t').nth(1).unwrap().into())
            .collect()
    }
}

/// Writes an executable shell script.
pub(crate) fn write_program(path: &Path, script: &str) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
}
