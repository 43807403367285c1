//! A world of its own for each test: real Git, the built executables, a home, a clock, and no network.
//!
//! Test targets include it as
//!
//! ```ignore
//! #[cfg(test)]
//! #[path = "../tests/world/mod.rs"]
//! mod world;
//! ```

mod git_version;
mod normal;
mod output;
mod server;
mod tests;

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs,
    os::unix::fs::{DirBuilderExt, PermissionsExt},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        Mutex,
        atomic::{AtomicI64, Ordering},
    },
};

pub(crate) use git_version::GitVersion;
pub(crate) use output::Output;
pub(crate) use server::{Server, ServerKind};

/// 2025-01-06T09:00:00Z, when every world begins.
const START: i64 = 1_736_154_000;
/// Configuration of the one user there is.
const CONFIG: &str = "\
[user]
\tname = Ann Example
\temail = ann@example.invalid
[init]
\tdefaultBranch = main
[gc]
\tauto = 0
[protocol \"file\"]
\tallow = always
";

/// A temporary directory with a home, a clock and a Git of its own; gone when dropped.
pub(crate) struct World {
    root: PathBuf,
    git: GitVersion,
    seconds: AtomicI64,
    variables: Mutex<BTreeMap<String, String>>,
    _directory: tempfile::TempDir,
}

impl World {
    /// Makes a world with the Git that is first on the PATH.
    pub(crate) fn new() -> Self {
        Self::with_git(&Self::gits()[0])
    }

    /// Makes a world with one of [`World::gits`].
    pub(crate) fn with_git(git: &GitVersion) -> Self {
        let directory = tempfile::Builder::new()
            .prefix("handoff-world.")
            .tempdir()
            .unwrap();
        // Servers that run as another user must reach their files.
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let root = directory.path().canonicalize().unwrap();
        fs::create_dir(root.join("home")).unwrap();
        fs::write(root.join("home/.gitconfig"), CONFIG).unwrap();
        fs::DirBuilder::new()
            .mode(0o700)
            .create(root.join("tmp"))
            .unwrap();
        World {
            root,
            git: git.clone(),
            seconds: AtomicI64::new(START),
            variables: Mutex::default(),
            _directory: directory,
        }
    }

    /// Returns the Gits of this machine, one of each version, in the order of the PATH.
    pub(crate) fn gits() -> Vec<GitVersion> {
        git_version::all()
    }

    /// Says in one line what cannot be tested here.
    pub(crate) fn skip(why: &str) {
        server::skip(why);
    }

    /// Returns the directory that holds everything.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the home directory; its `.gitconfig` is the only configuration besides a repository's.
    pub(crate) fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    /// Returns the Git that the world runs.
    pub(crate) fn git_version(&self) -> &GitVersion {
        &self.git
    }

    /// Moves the clock on by a minute.
    pub(crate) fn tick(&self) {
        self.advance(60);
    }

    /// Moves the clock on by `seconds`.
    pub(crate) fn advance(&self, seconds: i64) {
        self.seconds.fetch_add(seconds, Ordering::SeqCst);
    }

    /// Returns the clock's time, in seconds since 1970-01-01T00:00:00Z.
    pub(crate) fn now(&self) -> i64 {
        self.seconds.load(Ordering::SeqCst)
    }

    /// Sets an environment variable for every run from now on.
    pub(crate) fn set(&self, name: &str, value: &str) {
        self.variables
            .lock()
            .unwrap()
            .insert(name.into(), value.into());
    }

    /// Takes an environment variable away again.
    pub(crate) fn unset(&self, name: &str) {
        self.variables.lock().unwrap().remove(name);
    }

    /// Prepares a run of a program in `dir` with the environment of this world and nothing else.
    ///
    /// The directory of the built executables is first on its PATH, that of the world's Git second.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>, dir: &Path) -> Command {
        let mut command = Command::new(program);
        let date = format!("{} +0000", self.now());
        command
            .current_dir(dir)
            .stdin(Stdio::null())
            .env_clear()
            .env("PATH", self.path())
            .env("HOME", self.home())
            .env("TMPDIR", self.root.join("tmp"))
            .env("LC_ALL", "C")
            .env("TZ", "UTC")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", self.home().join(".gitconfig"))
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_EDITOR", "true")
            .env("GIT_AUTHOR_DATE", &date)
            .env("GIT_COMMITTER_DATE", &date)
            .envs(self.variables.lock().unwrap().iter());
        command
    }

    /// Returns the PATH of every run.
    pub(crate) fn path(&self) -> String {
        Self::path_with(&self.git)
    }

    /// Returns the PATH of a run with another Git than the world's.
    pub(crate) fn path_with(git: &GitVersion) -> String {
        let system = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";
        let (ours, git) = (executables(), git.directory());
        format!("{}:{}:{system}", ours.display(), git.display())
    }

    /// Runs `git` in `dir`.
    pub(crate) fn git<S: AsRef<OsStr>>(
        &self,
        dir: &Path,
        args: impl IntoIterator<Item = S>,
    ) -> Output {
        self.run("git", dir, args)
    }

    /// Runs `git handoff` in `dir`: Git finds the executable on the PATH.
    pub(crate) fn handoff<S: AsRef<OsStr>>(
        &self,
        dir: &Path,
        args: impl IntoIterator<Item = S>,
    ) -> Output {
        let mut command = self.command("git", dir);
        Output::of(command.arg("handoff").args(args))
    }

    /// Runs `git handoff` in `dir` with `input` as its standard input.
    pub(crate) fn handoff_with_input<S: AsRef<OsStr>>(
        &self,
        dir: &Path,
        args: impl IntoIterator<Item = S>,
        input: impl AsRef<[u8]>,
    ) -> Output {
        let mut command = self.command("git", dir);
        Output::with_input(command.arg("handoff").args(args), input)
    }

    /// Runs `git handoff` in `dir` as somebody else: `HANDOFF_ID` is `id`.
    pub(crate) fn handoff_as<S: AsRef<OsStr>>(
        &self,
        id: &str,
        dir: &Path,
        args: impl IntoIterator<Item = S>,
    ) -> Output {
        let mut command = self.command("git", dir);
        Output::of(command.env("HANDOFF_ID", id).arg("handoff").args(args))
    }

    /// Runs a program of the PATH in `dir`.
    pub(crate) fn run<S: AsRef<OsStr>>(
        &self,
        program: &str,
        dir: &Path,
        args: impl IntoIterator<Item = S>,
    ) -> Output {
        Output::of(self.command(program, dir).args(args))
    }

    /// Makes an empty directory.
    pub(crate) fn directory(&self, name: &str) -> PathBuf {
        let dir = self.root.join(name);
        fs::create_dir_all(&dir).unwrap();
        dir
    }

    /// Makes a bare repository `<name>.git`.
    pub(crate) fn bare(&self, name: &str) -> PathBuf {
        let dir = self.root.join(format!("{name}.git"));
        self.git(
            &self.root,
            [
                OsStr::new("init"),
                "-q".as_ref(),
                "--bare".as_ref(),
                dir.as_ref(),
            ],
        )
        .ok();
        dir
    }

    /// Makes a repository on the branch `main` with one commit of one file, `README.md`.
    pub(crate) fn repo(&self, name: &str) -> PathBuf {
        let dir = self.directory(name);
        self.git(&dir, ["init", "-q"]).ok();
        self.write(&dir, "README.md", "# Example\n");
        self.commit(&dir, "First commit");
        dir
    }

    /// Commits everything in `dir` and returns the commit id; the clock moves on.
    pub(crate) fn commit(&self, dir: &Path, message: &str) -> String {
        self.git(dir, ["add", "-A"]).ok();
        self.git(dir, ["commit", "-q", "--allow-empty", "-m", message])
            .ok();
        self.tick();
        self.git(dir, ["rev-parse", "HEAD"]).ok().line()
    }

    /// Writes a file below `dir`, and the directories it needs.
    pub(crate) fn write(&self, dir: &Path, path: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        let path = dir.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Reads a file below `dir`.
    pub(crate) fn read(&self, dir: &Path, path: impl AsRef<Path>) -> Vec<u8> {
        let path = dir.join(path);
        fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Starts a real server in a directory of this world; `None`, with one line printed, where it cannot run.
    ///
    /// Variables that reach it (`GIT_SSH`, say) are set for every run from now on.
    pub(crate) fn server(&self, kind: ServerKind) -> Option<Server> {
        let server = Server::start(self, kind)?;
        for (name, value) in server.variables() {
            if name.starts_with("GIT_") {
                self.set(name, value);
            }
        }
        Some(server)
    }

    /// Makes text fit for a snapshot: this world's directory becomes `[world]`, object ids and digests become
    /// `[id1]`, `[digest1]`, … in the order in which they first appear.
    pub(crate) fn normal(&self, text: &str) -> String {
        normal::of(text, &self.root)
    }
}

/// Returns the directory of the three built executables.
fn executables() -> PathBuf {
    let built = option_env!("CARGO_BIN_EXE_git-handoff").map(PathBuf::from);
    // Tests of other crates run from `<profile>/deps`, beside the executables' directory.
    let beside = || {
        let test = std::env::current_exe().unwrap();
        test.ancestors().nth(2).unwrap().join("git-handoff")
    };
    let executable = built.unwrap_or_else(beside);
    assert!(
        executable.is_file(),
        "{} is missing: build the workspace first",
        executable.display()
    );
    executable.parent().unwrap().into()
}
