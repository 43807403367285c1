//! A bare repository as the server, a repository as the user's, and Git with a fixed environment.

use std::{
    env,
    ffi::OsString,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use tempfile::TempDir;

/// A server and a user, in one temporary directory.
pub(crate) struct World {
    dir: TempDir,
    variables: Vec<(String, String)>,
}

/// What a run of a program came to.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl World {
    /// Makes `server.git` and `work`, whose remote `handoff` is the server.
    pub(crate) fn new() -> Self {
        Self::with_format("sha1")
    }

    /// Makes a world of repositories with an object format.
    pub(crate) fn with_format(format: &str) -> Self {
        let world = World {
            dir: TempDir::new().unwrap(),
            variables: Vec::new(),
        };
        let format = format!("--object-format={format}");
        world
            .git_in(
                ".",
                ["init", "-q", "--bare", "-b", "main", &format, "server.git"],
            )
            .ok();
        world
            .git_in(".", ["init", "-q", "-b", "main", &format, "work"])
            .ok();
        world
            .git(["commit", "-q", "--allow-empty", "-m", "root"])
            .ok();
        for (key, value) in [("receive.advertisePushOptions", "true"), ("gc.auto", "0")] {
            world.git_in("server.git", ["config", key, value]).ok();
        }
        let url = world.path("server.git").display().to_string();
        world.git(["push", "-q", &url, "main"]).ok();
        world.set_remote(&url);
        world
    }

    /// Points the remote `handoff` at `handoff::<url>`, with the refspecs that `git handoff init` sets.
    pub(crate) fn set_remote(&self, url: &str) {
        for (key, value) in [
            ("url", format!("handoff::{url}").as_str()),
            ("fetch", "+refs/handoff/*:refs/handoff-remote/handoff/*"),
            ("push", "refs/handoff/*:refs/handoff/*"),
            ("tagOpt", "--no-tags"),
        ] {
            let key = format!("remote.handoff.{key}");
            self.git(["config", "--replace-all", &key, value]).ok();
        }
    }

    /// Sets a variable for all later runs.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.variables.push((name.into(), value.into()));
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(path)
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
        self.git_with_input(["hash-object", "--stdin"], text).line()
    }

    /// Tells whether the server has an object, referred to or not.
    pub(crate) fn server_has(&self, id: &str) -> bool {
        self.git_in("server.git", ["cat-file", "-e", id]).code == 0
    }

    /// Returns what a ref of the server names; nothing where it does not exist.
    pub(crate) fn server_ref(&self, name: &str) -> String {
        let run = self.git_in("server.git", ["rev-parse", "-q", "--verify", name]);
        run.out.trim().into()
    }

    /// Installs a `pre-receive` hook at the server.
    pub(crate) fn hook(&self, script: &str) {
        write_program(&self.path("server.git/hooks/pre-receive"), script);
    }

    /// Runs Git in the user's repository.
    pub(crate) fn git<const N: usize>(&self, args: [&str; N]) -> Run {
        self.git_in("work", args)
    }

    pub(crate) fn git_in<const N: usize>(&self, dir: &str, args: [&str; N]) -> Run {
        self.run(dir, "git", &args, b"")
    }

    pub(crate) fn git_with_input<const N: usize>(&self, args: [&str; N], input: &str) -> Run {
        self.run("work", "git", &args, input.as_bytes())
    }

    /// Runs the helper itself, as Git would for the remote `handoff`.
    pub(crate) fn helper(&self, url: &str, input: &[u8]) -> Run {
        self.run("work", "git-remote-handoff", &["handoff", url], input)
    }

    /// Prepares a program in `dir` with the environment of this world.
    pub(crate) fn command(&self, dir: &str, program: &str, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(args)
            .current_dir(self.path(dir))
            .env_clear()
            .env("PATH", search_path())
            .env("HOME", self.path("."))
            .envs([
                ("GIT_CONFIG_NOSYSTEM", "1"),
                ("GIT_CONFIG_GLOBAL", "/dev/null"),
                ("GIT_TERMINAL_PROMPT", "0"),
                ("HANDOFF_ID", "a"),
                ("GIT_AUTHOR_NAME", "A"),
                ("GIT_AUTHOR_EMAIL", "a@example.com"),
                ("GIT_AUTHOR_DATE", "2026-11-30T10:00:00Z"),
                ("GIT_COMMITTER_NAME", "A"),
                ("GIT_COMMITTER_EMAIL", "a@example.com"),
                ("GIT_COMMITTER_DATE", "2026-11-30T10:00:00Z"),
            ])
            .envs(self.variables.iter().map(|(name, value)| (name, value)));
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

/// Returns the search path, with the executables under test first.
pub(crate) fn search_path() -> OsString {
    let helper = Path::new(env!("CARGO_BIN_EXE_git-remote-handoff"));
    let mut path = helper.parent().unwrap().as_os_str().to_owned();
    path.push(":");
    path.push(env::var_os("PATH").unwrap());
    path
}
