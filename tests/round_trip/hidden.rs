//! Flags of the index that keep Git from looking at files, and what it says without them.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    fs,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    process::Command,
};

use crate::world::World;

/// The flagged paths of an index, and a copy of the worktree in which none is flagged.
pub(crate) struct Unhidden {
    pub(crate) copy: PathBuf,
    /// As `git ls-files -v` tells them: lower case, and `S`.
    flags: BTreeMap<OsString, u8>,
}

impl Unhidden {
    /// Copies a worktree to `copy`. A file that is flagged as left out, and is, comes back there from the index.
    pub(crate) fn of(world: &World, dir: &Path, copy: PathBuf) -> Self {
        let listed = world.git(dir, ["ls-files", "-v", "-z"]).ok();
        let lines = listed
            .bytes()
            .split(|b| *b == 0)
            .filter(|line| !line.is_empty());
        let flags = lines
            .map(|line| (OsStr::from_bytes(&line[2..]).to_owned(), line[0]))
            .filter(|(_, tag)| tag.is_ascii_lowercase() || *tag == b'S')
            .collect();
        let copied = Command::new("cp").arg("-a").args([dir, &copy]).status();
        assert!(copied.unwrap().success());
        let unhidden = Unhidden { copy, flags };
        for (path, tag) in &unhidden.flags {
            let git = |args: &[&str]| {
                let args = args.iter().map(OsStr::new).chain([path.as_os_str()]);
                world.git(&unhidden.copy, args).ok();
            };
            if tag.is_ascii_lowercase() {
                git(&["update-index", "--no-assume-unchanged", "--"]);
            }
            if tag.eq_ignore_ascii_case(&b'S') {
                git(&["update-index", "--no-skip-worktree", "--"]);
                if is_left_out(world, &unhidden.copy, path.as_ref()) {
                    git(&["checkout-index", "-f", "--"]);
                }
            }
        }
        unhidden
    }

    /// The flags that hide no edit, and whether one hides an edit.
    pub(crate) fn harmless(&self, world: &World) -> (Vec<String>, bool) {
        world.git(&self.copy, ["update-index", "-q", "--really-refresh"]);
        let edited = world
            .git(&self.copy, ["diff-files", "--name-only", "-z"])
            .ok();
        let edited: Vec<&[u8]> = edited.bytes().split(|b| *b == 0).collect();
        let harmless = |path: &OsStr| !edited.contains(&path.as_bytes());
        let told = self.flags.iter().filter(|(path, _)| harmless(path));
        let told: Vec<String> = told.map(|(path, tag)| told_as(path, *tag)).collect();
        let hides = told.len() < self.flags.len();
        (told, hides)
    }

    /// All flags.
    pub(crate) fn all(&self) -> Vec<String> {
        self.flags
            .iter()
            .map(|(path, tag)| told_as(path, *tag))
            .collect()
    }
}

/// Tells whether nothing is at a path, nor anything in its way, but what Git ignores in the place of a file or folder.
fn is_left_out(world: &World, dir: &Path, path: &Path) -> bool {
    let is_ignored = |at: &Path| {
        let asked = world.git(
            dir,
            [
                OsStr::new("check-ignore"),
                "--no-index".as_ref(),
                "-q".as_ref(),
                at.as_os_str(),
            ],
        );
        asked.exit_code() == Some(0)
    };
    let is_free = |at: &Path| match fs::symlink_metadata(dir.join(at)) {
        Ok(found) if found.is_dir() == (at == path) => is_ignored(at),
        Ok(found) => found.is_dir(),
        Err(_) => true,
    };
    let all = path.ancestors().filter(|at| !at.as_os_str().is_empty());
    all.into_iter().all(is_free)
}

fn told_as(path: &OsStr, tag: u8) -> String {
    format!("{} {}", char::from(tag), path.as_bytes().escape_ascii())
}
