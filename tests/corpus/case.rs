//! One case of the corpus: its facts, and the sandbox that its script builds.

use std::{
    ffi::{OsStr, OsString},
    fs,
    io::Write,
    os::unix::{
        ffi::OsStringExt,
        fs::{MetadataExt, PermissionsExt},
    },
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    time::{Duration, Instant},
};

use serde_json::Value;

use crate::failures::Failures;

/// A built case.
pub(crate) struct Case {
    pub(crate) facts: Value,
    /// The folder that holds everything of the case.
    pub(crate) sandbox: PathBuf,
    unprivileged: bool,
    _dir: tempfile::TempDir,
}

/// Who acts: records name somebody.
const ACTOR: (&str, &str) = ("HANDOFF_ID", "tester");

/// Who commits, where a case does not say that Git knows nobody.
const IDENTITY: [(&str, &str); 4] = [
    ("GIT_AUTHOR_NAME", "Tester"),
    ("GIT_AUTHOR_EMAIL", "tester@example.invalid"),
    ("GIT_COMMITTER_NAME", "Tester"),
    ("GIT_COMMITTER_EMAIL", "tester@example.invalid"),
];

/// A tree as `git ls-tree -r` lists it: path, then mode and id.
pub(crate) type Listing = Vec<(Vec<u8>, String)>;

pub(crate) fn names(corpus: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(corpus)
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().into_string().ok())
        .filter_map(|name| name.strip_suffix(".json").map(Into::into))
        .collect();
    names.sort();
    names
}

pub(crate) fn facts(corpus: &Path, name: &str) -> Value {
    let text = fs::read(corpus.join(format!("{name}.json"))).unwrap();
    serde_json::from_slice(&text).unwrap()
}

/// Takes the percent encoding off a path of the facts.
pub(crate) fn decode(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, others)) = rest.split_first() {
        rest = others;
        let hex = others
            .get(..2)
            .and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) if *first == b'%' => {
                bytes.push(byte);
                rest = &others[2..];
            }
            _ => bytes.push(*first),
        }
    }
    bytes
}

impl Case {
    /// Builds a case; `None` where the machine lacks what it requires.
    pub(crate) fn build(corpus: &Path, name: &str, facts: Value) -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let needs_non_root = strings(&facts["requires"]).contains(&"non-root".into());
        let is_root = fs::metadata(dir.path()).unwrap().uid() == 0;
        let unprivileged = needs_non_root && is_root;
        if unprivileged && !Path::new("/usr/bin/setpriv").exists() {
            return None;
        }
        let sandbox = fs::canonicalize(dir.path()).unwrap().join("box");
        fs::create_dir(&sandbox).unwrap();
        if unprivileged {
            for path in [dir.path(), &sandbox] {
                fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
            }
        }
        let case = Case {
            facts,
            sandbox,
            unprivileged,
            _dir: dir,
        };
        let mut script = case.program("sh");
        script
            .arg(corpus.join(format!("{name}.sh")))
            .arg(&case.sandbox)
            .current_dir("/");
        let built = script.output().unwrap();
        assert!(built.status.success(), "{name}: {built:?}");
        Some(case)
    }

    pub(crate) fn worktree(&self) -> PathBuf {
        self.sandbox.join(self.facts["worktree"].as_str().unwrap())
    }

    /// Prepares a program with the environment that the README asks for.
    fn program(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = if self.unprivileged {
            let mut command = Command::new("/usr/bin/setpriv");
            command
                .args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"])
                .arg(program);
            command
        } else {
            Command::new(program)
        };
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("GIT_") {
                command.env_remove(name);
            }
        }
        let home = self.sandbox.join("home");
        command
            .env("GIT_CONFIG_GLOBAL", home.join(".gitconfig"))
            .env("HOME", home)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .stdin(Stdio::null());
        command
    }

    /// Runs `git-handoff` where and as the case says, within the time it gives.
    pub(crate) fn handoff(&self, args: &[&str]) -> Output {
        let dir = self.facts["cwd"].as_str();
        let dir = dir.map_or_else(|| self.worktree(), |dir| self.sandbox.join(dir));
        let mut command = self.handoff_command(&dir, args);
        let seconds = self.facts["timeout_s"].as_u64().unwrap_or(60);
        let start = Instant::now();
        let output = command.output().unwrap();
        let limit = Duration::from_secs(seconds);
        assert!(start.elapsed() < limit, "took longer than {limit:?}");
        output
    }

    /// Runs `git-handoff` in a directory.
    pub(crate) fn handoff_in(&self, dir: &Path, args: &[&str]) -> Output {
        self.handoff_command(dir, args).output().unwrap()
    }

    /// Prepares a run of `git-handoff` by somebody with a name.
    pub(crate) fn handoff_command(&self, dir: &Path, args: &[&str]) -> Command {
        let mut command = self.program(env!("CARGO_BIN_EXE_git-handoff"));
        command.args(args).current_dir(dir).env(ACTOR.0, ACTOR.1);
        let own = self.facts["env"].as_object();
        if own.is_none() {
            command.envs(IDENTITY);
        }
        for (name, value) in own.into_iter().flatten() {
            let value = value.as_str().unwrap();
            let in_sandbox = format!("{}/", self.sandbox.display());
            command.env(name, value.replace("@/", &in_sandbox));
        }
        command
    }

    /// Runs a prepared command under a shell script that ends in `exec "$@"`.
    pub(crate) fn shell(&self, script: &str, command: &Command) -> Command {
        let mut shell = self.program("sh");
        shell
            .args(["-c", script, "sh"])
            .arg(command.get_program())
            .args(command.get_args())
            .current_dir(command.get_current_dir().unwrap())
            .envs(IDENTITY);
        shell
    }

    /// Prepares a run of Git that finds the remote helper.
    pub(crate) fn git_with_helper(&self, dir: &Path, args: &[&str]) -> Command {
        let built = Path::new(env!("CARGO_BIN_EXE_git-handoff"))
            .parent()
            .unwrap();
        let path = std::env::var("PATH").unwrap();
        let mut command = self.program("git");
        command
            .args(args)
            .current_dir(dir)
            .envs(IDENTITY)
            .env("PATH", format!("{}:{path}", built.display()));
        command
    }

    /// Runs Git in the worktree, fed with bytes, and returns the line that it prints.
    pub(crate) fn git_fed(&self, args: &[&str], input: &[u8]) -> String {
        self.git_fed_at(0, args, input)
    }

    /// Runs Git as of a time, in seconds since 1970-01-01T00:00:00Z.
    pub(crate) fn git_fed_at(&self, seconds: i64, args: &[&str], input: &[u8]) -> String {
        let date = format!("@{seconds} +0000");
        let mut child = self
            .program("git")
            .args(args)
            .current_dir(self.worktree())
            .envs(IDENTITY)
            .env("GIT_AUTHOR_DATE", &date)
            .env("GIT_COMMITTER_DATE", &date)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "git {args:?}");
        String::from_utf8(output.stdout).unwrap().trim().into()
    }

    /// Runs Git as a user would, in a directory; `None` where it fails.
    pub(crate) fn git_in(&self, dir: &Path, args: &[&str]) -> Option<Vec<u8>> {
        let mut command = self.program("git");
        let output = command.args(args).current_dir(dir).envs(IDENTITY);
        let output = output.env("GIT_OPTIONAL_LOCKS", "0").output().unwrap();
        output.status.success().then_some(output.stdout)
    }

    /// Adds a failure where something printed what must not be printed.
    pub(crate) fn silent(&self, output: &Output, failures: &mut Failures) {
        let printed = [output.stdout.as_slice(), &output.stderr].concat();
        let printed = String::from_utf8_lossy(&printed);
        for list in ["must_not_print", "must_not_print_raw"] {
            for secret in strings(&self.facts[list]) {
                if printed.contains(&secret) {
                    failures.add("printed what must not be printed".into());
                }
            }
        }
    }

    /// Prepares Git in the worktree, writing objects into `store` alone.
    fn git_command(&self, store: &Path) -> Command {
        let mut command = self.program("git");
        let config = [
            "core.fsmonitor=false",
            "core.hooksPath=/dev/null",
            "core.splitIndex=false",
            "index.sparse=false",
            "core.sparseCheckout=false",
            "safe.bareRepository=all",
        ];
        for setting in config {
            command.args(["-c", setting]);
        }
        let objects = self.worktree().join(self.objects_dir());
        command
            .current_dir(self.worktree())
            .env("GIT_OBJECT_DIRECTORY", store)
            .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", objects)
            .env("GIT_INDEX_FILE", store.join("index"))
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_NO_LAZY_FETCH", "1");
        command
    }

    /// Makes a directory for the index and objects of a run of Git.
    fn scratch(&self) -> tempfile::TempDir {
        let scratch = tempfile::tempdir_in(self.sandbox.parent().unwrap()).unwrap();
        if self.unprivileged {
            fs::set_permissions(scratch.path(), fs::Permissions::from_mode(0o777)).unwrap();
        }
        scratch
    }

    fn objects_dir(&self) -> PathBuf {
        let mut command = self.program("git");
        command
            .args([
                "-c",
                "safe.bareRepository=all",
                "rev-parse",
                "--git-path",
                "objects",
            ])
            .current_dir(self.worktree());
        let answer = command.output().unwrap();
        assert!(answer.status.success(), "{answer:?}");
        let path = answer.stdout.strip_suffix(b"\n").unwrap();
        OsString::from_vec(path.to_vec()).into()
    }

    /// Runs Git on the case's own refs and objects and returns what it prints, or nothing where it fails.
    pub(crate) fn git(&self, args: &[&str]) -> Option<Vec<u8>> {
        let scratch = self.scratch();
        let output = self
            .git_command(scratch.path())
            .args(args)
            .output()
            .unwrap();
        output.status.success().then_some(output.stdout)
    }

    /// Lists all files of a tree.
    pub(crate) fn listing(&self, tree: &str) -> Listing {
        let listed = self.git(&["ls-tree", "-r", "-z", "--full-tree", tree]);
        let listed = listed.unwrap_or_else(|| panic!("tree {tree} cannot be listed"));
        let mut files: Listing = listed
            .split(|b| *b == 0)
            .filter(|line| !line.is_empty())
            .map(|line| {
                let tab = line.iter().position(|b| *b == b'\t').unwrap();
                let head = String::from_utf8(line[..tab].to_vec()).unwrap();
                (line[tab + 1..].to_vec(), head)
            })
            .collect();
        files.sort();
        files
    }

    /// Returns the id of the tree that holds exactly these files.
    pub(crate) fn write_tree(&self, files: &Listing) -> String {
        let scratch = self.scratch();
        let mut lines = Vec::new();
        for (path, item) in files {
            lines.extend_from_slice(item.as_bytes());
            lines.push(b'\t');
            lines.extend_from_slice(path);
            lines.push(0);
        }
        let mut child = self
            .git_command(scratch.path())
            .args(["update-index", "-z", "--index-info"])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(&lines).unwrap();
        assert!(child.wait().unwrap().success());
        let mut command = self.git_command(scratch.path());
        let tree = command
            .args(["write-tree", "--missing-ok"])
            .output()
            .unwrap();
        String::from_utf8(tree.stdout).unwrap().trim().into()
    }

    /// Lists the conflict stages of the case's own index, each entry as in a tree.
    pub(crate) fn index_stages(&self) -> Vec<((Vec<u8>, String), usize)> {
        let mut command = self.program("git");
        command
            .args(["--no-optional-locks", "ls-files", "-u", "-z"])
            .current_dir(self.worktree());
        let listed = command.output().unwrap().stdout;
        let entries = listed.split(|b| *b == 0).filter(|line| !line.is_empty());
        entries
            .map(|line| {
                let tab = line.iter().position(|b| *b == b'\t').unwrap();
                let head = String::from_utf8(line[..tab].to_vec()).unwrap();
                let [mode, id, stage] = head.split(' ').collect::<Vec<_>>()[..] else {
                    panic!("{head}");
                };
                let item = format!("{mode} blob {id}");
                ((line[tab + 1..].to_vec(), item), stage.parse().unwrap())
            })
            .collect()
    }

    /// Returns the id that Git gives to the bytes of a file on disk.
    pub(crate) fn blob_id(&self, path: &Path) -> String {
        let path = path.to_str().unwrap();
        let id = self.git(&["hash-object", "--no-filters", "--", path]);
        String::from_utf8(id.unwrap()).unwrap().trim().into()
    }
}

/// Makes a path on disk of one that the facts have.
pub(crate) fn disk_path(path: &[u8]) -> PathBuf {
    OsString::from_vec(path.to_vec()).into()
}

/// Returns a path as text.
pub(crate) fn text(path: &Path) -> String {
    path.to_str().unwrap().into()
}

/// Returns the SHA-256 of bytes, in hexadecimal digits.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    let digest = store::digest::Digest::of(bytes).to_string();
    digest.trim_start_matches("sha256:").into()
}

/// Returns the strings of a list; none of an absent one.
pub(crate) fn strings(list: &Value) -> Vec<String> {
    let items = list.as_array().into_iter().flatten();
    items.map(|item| item.as_str().unwrap().into()).collect()
}
