//! Random edits of a repository, each done as far as it can be.

use std::{
    ffi::OsStr,
    fs,
    os::unix::{ffi::OsStrExt, fs::PermissionsExt},
    path::{Path, PathBuf},
};

use proptest::prelude::*;

use crate::world::World;

/// Names that sort differently as files and as folders, nest, and want quoting.
const PATHS: [&[u8]; 16] = [
    b"a",
    b"a-b",
    b"a/c",
    b"a/c/d",
    b"a.txt",
    b"b/x",
    b"b/y z",
    b"c.log",
    b"b/.gitignore",
    b"-dash",
    b"tab\there",
    b"line\nend",
    b"quo\"te'd",
    b"back\\slash",
    b"\xc3\xbc",
    b"not\xffutf8",
];

const CONTENTS: [&[u8]; 9] = [
    b"",
    b"one\n",
    b"two\n",
    b"one\r\ntwo\r\n",
    b"mixed\r\nends\n",
    b"$Id$\n",
    b"$Id: 0123456789012345678901234567890123456789 $\nx\r\n",
    b"nul\0byte\r\n",
    b"\xff\xfeo\0n\0e\0\r\0\n\0",
];

const IGNORES: [&str; 4] = ["*.log\n", "/b/\n", "a*\n!a.txt\n", "c.log\nx\n"];

const ATTRIBUTES: [&str; 8] = [
    "* text=auto\n",
    "*.txt text eol=crlf\n",
    "b/* ident\n",
    "a* -text\n",
    "* text eol=lf\n*.log binary\n",
    "a* text ident eol=crlf\n",
    "a.txt text working-tree-encoding=UTF-16LE-BOM\n",
    "* crlf\n",
];

const LINE_ENDS: [(&str, &str); 6] = [
    ("core.autocrlf", "true"),
    ("core.autocrlf", "input"),
    ("core.autocrlf", "false"),
    ("core.eol", "crlf"),
    ("core.eol", "lf"),
    ("core.eol", "native"),
];

#[derive(Clone, Debug)]
pub(crate) enum Edit {
    Write(usize, usize),
    Link(usize, usize),
    Executable(usize, bool),
    Remove(usize),
    Move(usize, usize),
    EmptyDirectory(usize),
    Stage(usize),
    StageAll,
    StageExecutable(usize, bool),
    Unstage(usize),
    StagedRename(usize, usize),
    Commit,
    IntentToAdd(usize),
    Ignore(usize),
    Attributes(usize),
    LineEnds(usize),
    /// Leaves stages of a conflict in the index: a bit for each.
    Conflict(usize, usize),
    /// Merges, or picks, a commit that writes a file.
    Merge(usize, usize, bool),
    Detach,
    /// Hides a path from Git: assume-unchanged, or skip-worktree.
    Hide(usize, bool),
}

pub(crate) fn edit() -> impl Strategy<Value = Edit> {
    let path = || 0..PATHS.len();
    let content = || 0..CONTENTS.len();
    prop_oneof![
        8 => (path(), content()).prop_map(|(path, content)| Edit::Write(path, content)),
        2 => (path(), path()).prop_map(|(path, target)| Edit::Link(path, target)),
        2 => (path(), any::<bool>()).prop_map(|(path, on)| Edit::Executable(path, on)),
        2 => path().prop_map(Edit::Remove),
        1 => (path(), path()).prop_map(|(from, to)| Edit::Move(from, to)),
        1 => path().prop_map(Edit::EmptyDirectory),
        3 => path().prop_map(Edit::Stage),
        2 => Just(Edit::StageAll),
        1 => (path(), any::<bool>()).prop_map(|(path, on)| Edit::StageExecutable(path, on)),
        1 => path().prop_map(Edit::Unstage),
        1 => (path(), path()).prop_map(|(from, to)| Edit::StagedRename(from, to)),
        2 => Just(Edit::Commit),
        2 => path().prop_map(Edit::IntentToAdd),
        1 => (0..IGNORES.len()).prop_map(Edit::Ignore),
        2 => (0..ATTRIBUTES.len()).prop_map(Edit::Attributes),
        2 => (0..LINE_ENDS.len()).prop_map(Edit::LineEnds),
        1 => (path(), 1..8usize).prop_map(|(path, stages)| Edit::Conflict(path, stages)),
        1 => (path(), content(), any::<bool>())
            .prop_map(|(path, content, pick)| Edit::Merge(path, content, pick)),
        1 => Just(Edit::Detach),
        5 => (path(), any::<bool>()).prop_map(|(path, skip)| Edit::Hide(path, skip)),
    ]
}

fn path_of(at: usize) -> &'static Path {
    Path::new(OsStr::from_bytes(PATHS[at]))
}

/// A repository that edits are made in.
pub(crate) struct Edited<'w> {
    pub(crate) world: &'w World,
    pub(crate) dir: PathBuf,
}

impl Edited<'_> {
    /// Makes an edit, as far as it can be made.
    pub(crate) fn apply(&self, edit: &Edit) {
        match *edit {
            Edit::Write(at, content) => {
                let file = self.make_room(path_of(at));
                fs::write(file, CONTENTS[content]).unwrap();
            }
            Edit::Link(at, target) => self.link(path_of(at), path_of(target)),
            Edit::Executable(at, on) => {
                let file = self.dir.join(path_of(at));
                if is_file(&file) {
                    let mode = if on { 0o755 } else { 0o644 };
                    fs::set_permissions(file, fs::Permissions::from_mode(mode)).unwrap();
                }
            }
            Edit::Remove(at) => remove(&self.dir.join(path_of(at))),
            Edit::Move(from, to) => {
                let file = self.dir.join(path_of(from));
                if from != to && is_file(&file) {
                    let content = fs::read(&file).unwrap();
                    remove(&file);
                    fs::write(self.make_room(path_of(to)), content).unwrap();
                }
            }
            Edit::EmptyDirectory(at) => {
                fs::create_dir(self.make_room(path_of(at))).unwrap();
            }
            Edit::Ignore(rules) => self.write(".gitignore", IGNORES[rules]),
            Edit::Attributes(lines) => self.write(".gitattributes", ATTRIBUTES[lines]),
            _ => self.by_git(edit),
        }
    }

    fn by_git(&self, edit: &Edit) {
        let name = |at: usize| OsStr::from_bytes(PATHS[at]);
        match *edit {
            Edit::Stage(at) => self.git(["add", "-f", "--"], &[name(at)]),
            Edit::StageAll => self.git(["add", "-A"], &[]),
            Edit::StageExecutable(at, on) => {
                let bit = if on { "--chmod=+x" } else { "--chmod=-x" };
                self.git(["update-index", bit, "--"], &[name(at)]);
            }
            Edit::Unstage(at) => {
                self.git(["rm", "-q", "--cached", "-f", "-r", "--"], &[name(at)]);
            }
            Edit::StagedRename(from, to) => self.git(["mv", "-k", "--"], &[name(from), name(to)]),
            Edit::Commit => self.git(["commit", "-q", "--allow-empty", "-m", "edit"], &[]),
            Edit::IntentToAdd(at) => self.git(["add", "-N", "-f", "--"], &[name(at)]),
            Edit::LineEnds(at) => {
                let (key, value) = LINE_ENDS[at];
                self.git(["config", key, value], &[]);
            }
            Edit::Conflict(at, stages) => self.conflict(PATHS[at], stages),
            Edit::Merge(at, content, pick) => self.merge(PATHS[at], CONTENTS[content], pick),
            Edit::Detach => self.git(["checkout", "-q", "--detach"], &[]),
            Edit::Hide(at, skip) => {
                let flag = if skip {
                    "--skip-worktree"
                } else {
                    "--assume-unchanged"
                };
                self.git(["update-index", flag, "--"], &[name(at)]);
            }
            _ => {}
        }
    }

    /// Leaves stages of a conflict in the index, in the place of whatever is there.
    fn conflict(&self, path: &[u8], stages: usize) {
        self.git(
            ["update-index", "--force-remove", "--"],
            &[OsStr::from_bytes(path)],
        );
        let blob = self.fed(&["hash-object", "-w", "--stdin"], b"stage\n");
        let mut lines = Vec::new();
        for stage in (1..4).filter(|stage| stages & (1 << (stage - 1)) != 0) {
            lines.extend_from_slice(format!("100755 {blob} {stage}\t").as_bytes());
            lines.extend_from_slice(path);
            lines.push(0);
        }
        self.fed(&["update-index", "-z", "--index-info"], &lines);
    }

    /// Merges or picks a commit beside `HEAD` that writes one file; it may stop with conflicts, or refuse.
    fn merge(&self, path: &[u8], content: &[u8], pick: bool) {
        let blob = self.fed(&["hash-object", "-w", "--stdin"], content);
        let mut entry = format!("100644 blob {blob}\t").into_bytes();
        entry.extend_from_slice(path.rsplit(|b| *b == b'/').next().unwrap());
        entry.push(0);
        let tree = self.fed(&["mktree", "-z"], &entry);
        let commit = ["commit-tree", &tree, "-p", "HEAD~0", "-m", "theirs"];
        let commit = self.world.git(&self.dir, commit);
        if commit.exit_code() == Some(0) {
            let id = commit.line();
            if pick {
                self.git(["cherry-pick", "--allow-empty", &id], &[]);
            } else {
                self.git(["merge", "-q", "--no-commit", "--no-ff", &id], &[]);
            }
        }
    }

    fn git<'a>(&self, args: impl IntoIterator<Item = &'a str>, more: &[&'a OsStr]) {
        let args = args.into_iter().map(OsStr::new).chain(more.iter().copied());
        self.world.git(&self.dir, args);
    }

    fn fed(&self, args: &[&str], input: &[u8]) -> String {
        let mut command = self.world.command("git", &self.dir);
        crate::world::Output::with_input(command.args(args), input).line()
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.make_room(Path::new(name)), text).unwrap();
    }

    fn link(&self, path: &Path, target: &Path) {
        let file = self.make_room(path);
        // Git keeps what it cannot look at since a link leads back to itself.
        let loops = target.starts_with(path) || self.dir.join(target).is_symlink();
        let target = if loops { Path::new("nowhere") } else { target };
        std::os::unix::fs::symlink(target, file).unwrap();
    }

    /// Removes what is at a path, and every file where a folder is wanted.
    fn make_room(&self, path: &Path) -> PathBuf {
        let file = self.dir.join(path);
        remove(&file);
        for folder in path
            .ancestors()
            .skip(1)
            .filter(|folder| *folder != Path::new(""))
        {
            let folder = self.dir.join(folder);
            if folder.is_symlink() || folder.is_file() {
                remove(&folder);
            }
        }
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        file
    }
}

fn is_file(path: &Path) -> bool {
    path.is_file() && !path.is_symlink()
}

fn remove(path: &Path) {
    match fs::symlink_metadata(path) {
        Ok(about) if about.is_dir() => fs::remove_dir_all(path).unwrap(),
        Ok(_) => fs::remove_file(path).unwrap(),
        Err(_) => {}
    }
}
