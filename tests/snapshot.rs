//! `git handoff snapshot` as one types it: what it prints, where it may be called, how it refuses.
#![expect(clippy::unwrap_used, reason = "helpers of tests stop them")]

use std::{
    ffi::OsStr,
    fs,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    process::{Command, Output},
};

struct Repo {
    dir: PathBuf,
    _temporary: tempfile::TempDir,
}

impl Repo {
    /// Makes a repository with `a.txt` and `dir/b.txt` committed, then edited.
    fn edited() -> Self {
        let temporary = tempfile::tempdir().unwrap();
        let dir = fs::canonicalize(temporary.path()).unwrap().join("work");
        fs::create_dir_all(dir.join("dir")).unwrap();
        let repo = Repo {
            dir,
            _temporary: temporary,
        };
        fs::write(repo.dir.join("a.txt"), "alpha\n").unwrap();
        fs::write(repo.dir.join("dir/b.txt"), "beta\n").unwrap();
        repo.git(&["init", "-q", "-b", "main"]);
        repo.git(&["add", "-A"]);
        repo.git(&["commit", "-q", "-m", "base"]);
        fs::write(repo.dir.join("a.txt"), "alpha 2\n").unwrap();
        fs::write(repo.dir.join("dir/new"), "new\n").unwrap();
        repo
    }

    fn prepare(&self, program: impl AsRef<std::ffi::OsStr>, dir: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(dir)
            .env("HOME", self.dir.parent().unwrap())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_AUTHOR_NAME", "Tester")
            .env("GIT_AUTHOR_EMAIL", "tester@example.invalid")
            .env("GIT_COMMITTER_NAME", "Tester")
            .env("GIT_COMMITTER_EMAIL", "tester@example.invalid")
            .env("GIT_AUTHOR_DATE", "@1700000000 +0000")
            .env("GIT_COMMITTER_DATE", "@1700000000 +0000");
        command
    }

    fn git(&self, args: &[&str]) -> String {
        let output = self.prepare("git", &self.dir).args(args).output().unwrap();
        assert!(output.status.success(), "git {args:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap().trim_end().into()
    }

    fn handoff(&self, dir: &str) -> Command {
        let program = env!("CARGO_BIN_EXE_git-handoff");
        self.prepare(program, &self.dir.join(dir))
    }

    fn snapshot(&self, args: &[&str]) -> Output {
        let mut command = self.handoff("");
        command.arg("snapshot").args(args).output().unwrap()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn document(output: &Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn the_text_names_the_trees_and_what_is_left_out() {
    let repo = Repo::edited();
    fs::write(repo.dir.join(".gitignore"), "*.o\n").unwrap();
    fs::write(repo.dir.join("x.o"), "x").unwrap();
    repo.git(&["init", "-q", "inside\u{1b}[31m"]);
    insta::assert_snapshot!(text(&repo.snapshot(&[]).stdout), @r"
    worktree  3c80ea71a27109a1e6deaacd4fa47c16d57b195b
    index     9a8554f34fc07de5e2ed7005ac49f4bc8353400b
    untracked 2 files, 8 bytes
    omitted   nested-repository inside\u{1b}[31m (a repository of its own that is no submodule)
    ignored   1 entry by 1 rule
    ");
}

#[test]
fn the_same_worktree_gives_the_same_snapshot_from_everywhere() {
    let repo = Repo::edited();
    let expected = document(&repo.snapshot(&["--json"]));
    let mut below = repo.handoff("dir");
    let output = below.args(["snapshot", "--json"]).output().unwrap();
    assert_eq!(document(&output), expected);
    let mut outside = repo.handoff("..");
    let output = outside
        .args(["-C", "work", "snapshot", "--json"])
        .output()
        .unwrap();
    assert_eq!(document(&output), expected);
    let mut by_git_dir = repo.handoff("..");
    let output = by_git_dir
        .args(["snapshot", "--json"])
        .env("GIT_DIR", repo.dir.join(".git"))
        .env("GIT_WORK_TREE", &repo.dir)
        .output()
        .unwrap();
    assert_eq!(document(&output), expected);
}

#[test]
fn an_index_that_the_environment_names_is_the_one_captured() {
    let repo = Repo::edited();
    let other = repo.dir.join(".git/other-index");
    fs::copy(repo.dir.join(".git/index"), &other).unwrap();
    let before = document(&repo.snapshot(&["--json"]));
    let mut add = repo.prepare("git", &repo.dir);
    add.args(["add", "a.txt"]).env("GIT_INDEX_FILE", &other);
    assert!(add.status().unwrap().success());
    let mut command = repo.handoff("");
    let output = command
        .args(["snapshot", "--json"])
        .env("GIT_INDEX_FILE", ".git/other-index")
        .output()
        .unwrap();
    let after = document(&output);
    assert_ne!(after["indexTree"], before["indexTree"]);
    assert_eq!(after["worktreeTree"], before["worktreeTree"]);
}

#[test]
fn what_a_hook_of_another_repository_leaves_behind_is_taken_as_git_takes_it() {
    let repo = Repo::edited();
    let other = Repo::edited();
    fs::write(other.dir.join("only-here"), "x\n").unwrap();
    let mut command = repo.handoff("");
    let output = command
        .args(["snapshot", "--json"])
        .env("GIT_DIR", other.dir.join(".git"))
        .output()
        .unwrap();
    // With GIT_DIR alone the current directory is the worktree, git(1).
    let found = document(&output);
    let tree = found["worktreeTree"].as_str().unwrap();
    assert_eq!(other.git(&["ls-tree", "--name-only", tree]), "a.txt\ndir");
}

#[test]
fn paths_left_out_are_relative_to_where_one_stands() {
    let repo = Repo::edited();
    let mut command = repo.handoff("dir");
    let output = command
        .args(["snapshot", "--json", "--omit", "new"])
        .output()
        .unwrap();
    let found = document(&output);
    assert_eq!(found["omissions"][0]["path"], "dir/new");
    assert_eq!(found["omissions"][0]["reason"], "by-request");
    assert_eq!(found["untracked"]["count"], 0);
}

#[test]
fn what_is_left_out_is_remembered_shown_and_forgotten() {
    let repo = Repo::edited();
    let odd = OsStr::from_bytes(b"not\xffutf8%41");
    fs::write(repo.dir.join(odd), "x\n").unwrap();
    let mut command = repo.handoff("dir");
    let output = command.args(["snapshot", "--omit", "new", "--omit", "../../out"]);
    // Nothing is remembered of a command that fails.
    assert_eq!(output.output().unwrap().status.code(), Some(2));
    let untracked = || document(&repo.snapshot(&["--json"]))["untracked"]["count"].clone();
    assert_eq!(untracked(), 2);

    let mut command = repo.handoff("");
    let output = command
        .args(["snapshot", "--omit", "dir/new", "--omit"])
        .arg(odd)
        .output();
    assert!(output.unwrap().status.success());
    assert_eq!(untracked(), 0);
    insta::assert_snapshot!(text(&repo.snapshot(&[]).stdout), @r"
    worktree  8f3b924007f5c4737442ed31f09b34c69e3c5d12
    index     9a8554f34fc07de5e2ed7005ac49f4bc8353400b
    omitted   by-request dir/new
    omitted   by-request not�utf8%41
    omit      :(top)dir/new (--forget ':(top)dir/new' captures it again)
    omit      :(top)not�utf8%41 (--forget ':(top)not�utf8%41' captures it again)
    ");
    let mut save = repo.handoff("dir");
    let saved = save
        .args(["save", "work", "--json", "--forget", "new"])
        .env("HANDOFF_ID", "tester")
        .output();
    let saved = document(&saved.unwrap());
    assert_eq!(saved["omissions"].as_array().map(Vec::len), Some(1));
    assert_eq!(untracked(), 1);

    let output = repo.snapshot(&["--forget", "dir/new"]);
    assert_eq!(output.status.code(), Some(2));
    insta::assert_snapshot!(text(&output.stderr), @r"
    error: `:(top)dir/new` is not among what captures here leave out [USAGE]
    hint: left out here: ':(top)not�utf8%41'
    ");
}

#[test]
fn a_pathspec_that_is_none_is_not_remembered() {
    let repo = Repo::edited();
    let output = repo.snapshot(&["--omit", ":(nonsense)x"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(repo.snapshot(&[]).status.success());
}

#[test]
fn a_file_over_the_limit_is_refused_with_the_option_that_goes_on() {
    let repo = Repo::edited();
    repo.git(&["config", "handoff.maxFileBytes", "1k"]);
    fs::write(repo.dir.join("it's big"), vec![b'x'; 2000]).unwrap();
    let output = repo.snapshot(&[]);
    assert_eq!(output.status.code(), Some(5));
    insta::assert_snapshot!(text(&output.stderr), @r"
    error: over the size limit of one file: `it's big` (2000 bytes) [LIMIT_EXCEEDED]
    hint: go on without them: --omit ':(top,literal)it'\''s big'
    hint: `handoff.maxFileBytes` and `handoff.maxTotalBytes` set the limits
    ");
    let output = repo.snapshot(&["--omit", ":(top,literal)it's big"]);
    assert!(output.status.success());
}

#[test]
fn a_damaged_index_is_refused_with_the_way_out() {
    let repo = Repo::edited();
    let index = repo.dir.join(".git/index");
    let mut bytes = fs::read(&index).unwrap();
    bytes[30] ^= 1;
    fs::write(&index, bytes).unwrap();
    let output = repo.snapshot(&["--json"]);
    assert_eq!(output.status.code(), Some(1));
    let error = document(&output);
    assert_eq!(error["code"], "IO");
    assert_eq!(error["subject"], index.to_str().unwrap());
    // The commands that it names repair it.
    for command in error["nextCommands"].as_array().unwrap() {
        let words: Vec<&str> = command
            .as_array()
            .unwrap()
            .iter()
            .map(|word| word.as_str().unwrap())
            .collect();
        let run = repo.prepare(words[0], &repo.dir).args(&words[1..]).output();
        assert!(run.unwrap().status.success(), "{words:?}");
    }
    assert!(repo.snapshot(&[]).status.success());
}

#[test]
fn the_objects_of_a_snapshot_survive_garbage_collection() {
    let repo = Repo::edited();
    let found = document(&repo.snapshot(&["--json"]));
    repo.git(&["gc", "-q", "--prune=now"]);
    let tree = found["worktreeTree"].as_str().unwrap();
    assert_eq!(
        repo.git(&["cat-file", "blob", &format!("{tree}:dir/new")]),
        "new"
    );
}
