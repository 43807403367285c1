//! A directory with a home and a configuration of its own, where the benches play.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::measure::WRAPPER;

const CONFIG: &str = "\
[user]
\tname = Ann Example
\temail = ann@example.invalid
[init]
\tdefaultBranch = main
[gc]
\tauto = 0
[maintenance]
\tauto = false
[protocol \"file\"]
\tallow = always
[advice]
\tdetachedHead = false
";

/// Where everything is; gone when dropped.
pub(crate) struct Stage {
    root: tempfile::TempDir,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let root = tempfile::Builder::new()
            .prefix("handoff-bench.")
            .tempdir()
            .expect("a temporary directory can be made");
        fs::create_dir(root.path().join("home")).expect("it is new");
        fs::write(root.path().join("home/.gitconfig"), CONFIG).expect("it is new");
        Stage { root }
    }

    /// Returns a path that nothing else uses.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// Prepares a command that [`crate::measure::run`] measures.
    pub(crate) fn measured<S: AsRef<OsStr>>(
        &self,
        dir: &Path,
        words: impl IntoIterator<Item = S>,
    ) -> Command {
        let mut command = self.command(std::env::current_exe().expect("Linux knows it"), dir);
        command.arg(WRAPPER).args(words);
        command
    }

    /// Prepares a command that is not measured.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>, dir: &Path) -> Command {
        let mut command = Command::new(program);
        let built = Path::new(env!("CARGO_BIN_EXE_git-handoff"));
        let built = built.parent().expect("it is in a directory");
        let path = std::env::var("PATH").unwrap_or_default();
        command
            .current_dir(dir)
            .stdin(Stdio::null())
            .env_clear()
            .env("PATH", format!("{}:{path}", built.display()))
            .env("HOME", self.path("home"))
            .env("LC_ALL", "C")
            .env("TZ", "UTC")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", self.path("home/.gitconfig"))
            .env("GIT_TERMINAL_PROMPT", "0");
        command
    }

    /// Runs Git in `dir` and returns the first line that it prints.
    pub(crate) fn git<S: AsRef<OsStr>>(
        &self,
        dir: &Path,
        args: impl IntoIterator<Item = S>,
    ) -> String {
        self.run("git", dir, args)
    }

    /// Runs a program in `dir` and returns the first line that it prints.
    pub(crate) fn run<S: AsRef<OsStr>>(
        &self,
        program: &str,
        dir: &Path,
        args: impl IntoIterator<Item = S>,
    ) -> String {
        let mut command = self.command(program, dir);
        let output = command.args(args).output();
        let output = output.unwrap_or_else(|error| panic!("{program}: {error}"));
        assert!(
            output.status.success(),
            "{command:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        let said = String::from_utf8_lossy(&output.stdout);
        said.lines().next().unwrap_or_default().to_owned()
    }
}
