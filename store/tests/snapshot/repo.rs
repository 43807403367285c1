//! A repository in a temporary directory, and what Git says of it.

use std::{
    ffi::OsStr,
    fs,
    io::Write,
    os::unix::{
        ffi::OsStrExt,
        fs::{PermissionsExt, symlink},
    },
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    time::{Duration, UNIX_EPOCH},
};

use store::{
    contract::{Omission, OmissionReason},
    repository::Repository,
    snapshot::{CaptureOptions, Snapshot, SnapshotError, capture},
};

pub(crate) struct Repo {
    dir: PathBuf,
    _temporary: Option<tempfile::TempDir>,
}

impl Repo {
    /// Makes a repository with no commit.
    pub(crate) fn empty() -> Self {
        Self::init(&[])
    }

    pub(crate) fn init(options: &[&str]) -> Self {
        let temporary = tempfile::tempdir().unwrap();
        let dir = fs::canonicalize(temporary.path()).unwrap().join("work");
        fs::create_dir(&dir).unwrap();
        let repo = Repo {
            dir,
            _temporary: Some(temporary),
        };
        repo.git(&[&["init", "-q", "-b", "main"], options].concat());
        repo.configure();
        repo
    }

    /// Takes a directory that is a repository already.
    pub(crate) fn at(dir: &Path) -> Self {
        Repo {
            dir: fs::canonicalize(dir).unwrap(),
            _temporary: None,
        }
    }

    /// Makes a repository with `a.txt` and `dir/b.txt` committed.
    pub(crate) fn seeded() -> Self {
        let repo = Self::empty();
        repo.write("a.txt", "alpha\n");
        repo.write("dir/b.txt", "beta\n");
        repo.commit("base");
        repo
    }

    /// Shields the repository from the configuration of whoever runs the tests.
    pub(crate) fn configure(&self) {
        for (key, value) in [
            ("user.name", "Tester"),
            ("user.email", "tester@example.invalid"),
            ("core.excludesFile", "/dev/null"),
            ("core.attributesFile", "/dev/null"),
            ("core.autocrlf", "false"),
            ("core.safecrlf", "false"),
            ("commit.gpgSign", "false"),
            ("gc.auto", "0"),
            ("maintenance.auto", "false"),
            ("protocol.file.allow", "always"),
        ] {
            self.git(&["config", key, value]);
        }
    }

    pub(crate) fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.dir.join(path)
    }

    pub(crate) fn write(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn remove(&self, path: impl AsRef<Path>) {
        let path = self.path(path);
        match fs::symlink_metadata(&path) {
            Ok(about) if about.is_dir() => fs::remove_dir_all(path).unwrap(),
            Ok(_) => fs::remove_file(path).unwrap(),
            Err(_) => {}
        }
    }

    pub(crate) fn link(&self, path: impl AsRef<Path>, target: impl AsRef<Path>) {
        symlink(target, self.path(path)).unwrap();
    }

    pub(crate) fn set_executable(&self, path: impl AsRef<Path>, executable: bool) {
        let mode = if executable { 0o755 } else { 0o644 };
        fs::set_permissions(self.path(path), fs::Permissions::from_mode(mode)).unwrap();
    }

    /// Gives all files a time that no index has.
    pub(crate) fn touch_all(&self) {
        let touch = [
            "-type",
            "f",
            "-not",
            "-path",
            "./.git/*",
            "-exec",
            "touch",
            "-d",
            "@1000000000",
            "{}",
            "+",
        ];
        let touched = Command::new("find")
            .arg(".")
            .args(touch)
            .current_dir(&self.dir)
            .status();
        assert!(touched.unwrap().success());
    }

    pub(crate) fn fifo(&self, path: &str) {
        let made = Command::new("mkfifo").arg(self.path(path)).status();
        assert!(made.unwrap().success());
    }

    pub(crate) fn command(&self, args: &[impl AsRef<OsStr>]) -> Command {
        let mut command = Command::new("git");
        command
            .args(args)
            .current_dir(&self.dir)
            .env("HOME", self.dir.parent().unwrap())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_AUTHOR_DATE", "@1700000000 +0000")
            .env("GIT_COMMITTER_DATE", "@1700000000 +0000")
            .env("GIT_EDITOR", "true")
            .stdin(Stdio::null());
        command
    }

    /// Runs Git, which must succeed, and returns its output without the last line end.
    pub(crate) fn git(&self, args: &[&str]) -> String {
        let output = self.try_git(args);
        assert!(output.status.success(), "git {args:?}: {output:?}");
        String::from_utf8_lossy(&output.stdout)
            .trim_end_matches('\n')
            .into()
    }

    /// Runs Git, fed with text.
    pub(crate) fn feed(&self, args: &[&str], input: impl AsRef<[u8]>) {
        let mut command = self.command(args);
        let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
        child
            .stdin
            .take()
            .unwrap()
            .write_all(input.as_ref())
            .unwrap();
        assert!(child.wait().unwrap().success());
    }

    pub(crate) fn try_git(&self, args: &[impl AsRef<OsStr>]) -> Output {
        self.command(args).output().unwrap()
    }

    pub(crate) fn commit(&self, message: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", message]);
    }

    pub(crate) fn open(&self) -> Repository {
        Repository::discover(&store::git::Git::in_dir(&self.dir)).unwrap()
    }

    pub(crate) fn try_capture(&self) -> Result<Snapshot, SnapshotError> {
        capture(&self.open(), &CaptureOptions::default())
    }

    pub(crate) fn capture(&self) -> Snapshot {
        self.try_capture().unwrap()
    }

    pub(crate) fn try_capture_without(&self, omit: &[&str]) -> Result<Snapshot, SnapshotError> {
        let options = CaptureOptions {
            omit: omit.iter().map(|spec| (*spec).into()).collect(),
            ..CaptureOptions::default()
        };
        capture(&self.open(), &options)
    }

    /// Returns the trees of index and worktree that Git makes with a copy of the index.
    pub(crate) fn trees_by_git(&self) -> (String, String) {
        let copy = tempfile::tempdir().unwrap();
        let index = copy.path().join("index");
        let own = self.path(self.git(&["rev-parse", "--git-path", "index"]));
        if own.exists() {
            fs::copy(own, &index).unwrap();
            // Older than every file, so that Git reads each: its times are whole seconds, and miss a change within one.
            let copied = fs::File::options().write(true).open(&index).unwrap();
            copied
                .set_modified(UNIX_EPOCH + Duration::from_secs(1))
                .unwrap();
        }
        let run = |args: &[&OsStr]| {
            let mut command = self.command(args);
            let output = command.env("GIT_INDEX_FILE", &index).output().unwrap();
            assert!(output.status.success(), "git {args:?}: {output:?}");
            output.stdout
        };
        let plain = |args: &[&str]| run(&args.iter().map(OsStr::new).collect::<Vec<_>>());
        let tree = || {
            String::from_utf8(plain(&["write-tree"]))
                .unwrap()
                .trim()
                .to_owned()
        };
        let staged = match plain(&["ls-files", "-u"]).is_empty() {
            true => tree(),
            false => String::new(),
        };
        let entries = plain(&["ls-files", "-v", "-z"]);
        for line in entries.split(|b| *b == 0).filter(|line| !line.is_empty()) {
            let path = OsStr::from_bytes(&line[2..]);
            let update = |flag: &str| {
                run(&["update-index", flag, "--"]
                    .map(OsStr::new)
                    .into_iter()
                    .chain([path])
                    .collect::<Vec<_>>())
            };
            if line[0].is_ascii_lowercase() {
                update("--no-assume-unchanged");
            }
            // Behind a link nothing is tracked; Git cannot tell where links lead round in a circle.
            let mut folders = Path::new(path).ancestors().skip(1);
            if folders.any(|folder| self.path(folder).is_symlink()) {
                update("--force-remove");
                continue;
            }
            if line[0].eq_ignore_ascii_case(&b'S') && fs::symlink_metadata(self.path(path)).is_ok()
            {
                update("--no-skip-worktree");
            }
        }
        plain(&["add", "-A", "--sparse"]);
        (staged, tree())
    }

    /// Returns `<mode> <path>` of all files of a tree.
    pub(crate) fn files(&self, tree: impl ToString) -> Vec<String> {
        let listed = self.git(&["ls-tree", "-r", &tree.to_string()]);
        listed
            .lines()
            .map(|line| {
                let (head, path) = line.split_once('\t').unwrap();
                format!("{} {path}", head.split(' ').next().unwrap())
            })
            .collect()
    }

    /// Returns the content of a file in a tree.
    pub(crate) fn content(&self, tree: impl ToString, path: &str) -> Vec<u8> {
        let object = format!("{}:{path}", tree.to_string());
        let output = self.try_git(&["cat-file", "blob", &object]);
        assert!(output.status.success(), "{output:?}");
        output.stdout
    }
}

/// Returns path (or text) and reason of each omission.
pub(crate) fn omissions(snapshot: &Snapshot) -> Vec<(String, OmissionReason)> {
    let what = |omission: &Omission| {
        let path = omission.path.as_ref().map(ToString::to_string);
        path.or_else(|| omission.text.clone()).unwrap()
    };
    let listed = snapshot.omissions.iter();
    listed
        .map(|omission| (what(omission), omission.reason))
        .collect()
}
