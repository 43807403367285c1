//! What a repository and its worktree are, to be compared with what they become.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::{
        ffi::OsStrExt,
        fs::{MetadataExt, PermissionsExt},
    },
    path::Path,
    time::SystemTime,
};

use gix::bstr::{BString, ByteSlice};

use crate::world::World;

/// Something on disk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Entry {
    Directory,
    File { mode: u32, bytes: BString },
    Link(BString),
}

/// What somebody who goes on must find: the files, the index, `HEAD`, and what Git says of them.
pub(crate) struct Worktree {
    pub(crate) files: BTreeMap<BString, Entry>,
    pub(crate) index: Vec<BString>,
    pub(crate) status: Vec<BString>,
    pub(crate) head: Option<String>,
    pub(crate) branch: Option<String>,
}

impl Worktree {
    /// Reads a worktree; ignored files and what is in submodules is left out.
    pub(crate) fn of(world: &World, dir: &Path) -> Self {
        let listed = |args: &[&str]| names(world.git(dir, args).ok().bytes());
        let index = listed(&["ls-files", "-s", "-z"]);
        let mut without = listed(&[
            "ls-files",
            "-z",
            "--others",
            "--ignored",
            "--exclude-standard",
            "--directory",
        ]);
        let gitlinks = index.iter().filter(|line| line.starts_with(b"160000 "));
        without.extend(gitlinks.filter_map(|line| Some(line.splitn_str(2, "\t").nth(1)?.into())));
        without.push(".git".into());
        let mut files = BTreeMap::new();
        read(dir, dir, &without, &mut files);
        let line = |args: &[&str]| {
            let output = world.git(dir, args);
            (output.exit_code() == Some(0)).then(|| output.line())
        };
        Worktree {
            files,
            status: listed(&[
                "--no-optional-locks",
                "status",
                "--porcelain=v2",
                "-z",
                "-uall",
            ]),
            index,
            head: line(&["rev-parse", "-q", "--verify", "HEAD"]),
            branch: line(&["symbolic-ref", "-q", "HEAD"]),
        }
    }

    /// Asserts that another worktree is the same, naming the first thing that is not.
    #[track_caller]
    pub(crate) fn assert_same(&self, other: &Worktree) {
        for (path, entry) in &self.files {
            assert_eq!(Some(entry), other.files.get(path), "{path}");
        }
        for path in other.files.keys() {
            assert!(self.files.contains_key(path), "{path} should not be there");
        }
        assert_eq!(self.index, other.index);
        assert_eq!(self.status, other.status);
        assert_eq!(self.head, other.head);
        assert_eq!(self.branch, other.branch);
    }
}

/// Everything that a capture must leave as it was, times included.
pub(crate) struct Untouched {
    files: BTreeMap<BString, (Entry, i64, i64)>,
    refs: String,
    /// Files of the Git directory, without objects and what is the program's own.
    own: BTreeMap<BString, (Entry, Option<SystemTime>)>,
    configuration: BString,
}

impl Untouched {
    /// Reads a repository and its worktree.
    pub(crate) fn of(world: &World, dir: &Path) -> Self {
        let mut files = BTreeMap::new();
        read(dir, dir, &[".git".into()], &mut files);
        let files = files.into_iter().map(|(path, entry)| {
            let found = fs::symlink_metadata(dir.join(path.to_path().unwrap())).unwrap();
            (path, (entry, found.mtime(), found.mtime_nsec()))
        });
        let ours = ["objects", "handoff", "refs/handoff", "refs/handoff-local"];
        let ours = [ours.as_slice(), &["refs/handoff-remote", "config"]].concat();
        let ours: Vec<BString> = ours.into_iter().map(BString::from).collect();
        let git_dir = dir.join(".git");
        let mut own = BTreeMap::new();
        read(&git_dir, &git_dir, &ours, &mut own);
        let own = own
            .into_iter()
            .filter(|(_, entry)| *entry != Entry::Directory);
        let own = own.map(|(path, entry)| {
            let found = fs::symlink_metadata(git_dir.join(path.to_path().unwrap())).unwrap();
            (path, (entry, found.modified().ok()))
        });
        let refs = world.git(dir, ["for-each-ref"]).ok().stdout();
        let refs = refs
            .lines()
            .filter(|line| !line.contains("\trefs/handoff"))
            .collect::<Vec<_>>()
            .join("\n");
        Untouched {
            files: files.collect(),
            refs,
            own: own.collect(),
            configuration: fs::read(git_dir.join("config")).unwrap().into(),
        }
    }
}

impl Untouched {
    /// Asserts that nothing is different.
    #[track_caller]
    pub(crate) fn assert_same(&self, other: &Untouched) {
        self.assert_same_but_configuration(other);
        assert_eq!(self.configuration, other.configuration);
    }

    /// Asserts that nothing is different but the configuration, which may have a remote more.
    #[track_caller]
    pub(crate) fn assert_same_but_configuration(&self, other: &Untouched) {
        assert_eq!(self.files, other.files);
        assert_eq!(self.refs, other.refs);
        assert_eq!(self.own, other.own);
    }
}

/// Splits what Git ends with NUL bytes.
fn names(bytes: &[u8]) -> Vec<BString> {
    let fields = bytes.split(|byte| *byte == 0);
    fields
        .filter(|field| !field.is_empty())
        .map(BString::from)
        .collect()
}

fn read(top: &Path, dir: &Path, without: &[BString], into: &mut BTreeMap<BString, Entry>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = BString::from(path.strip_prefix(top).unwrap().as_os_str().as_bytes());
        let found = fs::symlink_metadata(&path).unwrap();
        let left_out = |other: &BString| other.trim_end_with(|c| c == '/') == name.as_bytes();
        if without.iter().any(left_out) {
            continue;
        }
        let entry = match found.file_type() {
            kind if kind.is_dir() => {
                read(top, &path, without, into);
                Entry::Directory
            }
            kind if kind.is_symlink() => {
                Entry::Link(fs::read_link(&path).unwrap().as_os_str().as_bytes().into())
            }
            kind if kind.is_file() => Entry::File {
                mode: found.permissions().mode() & 0o777,
                bytes: fs::read(&path).unwrap().into(),
            },
            _ => continue,
        };
        into.insert(name, entry);
    }
}
