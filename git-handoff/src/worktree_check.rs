//! Compares the worktree and the index, as they are now, with what a content says.

use std::{collections::BTreeMap, ffi::OsStr, fs, os::unix::ffi::OsStrExt, path::Path};

use gix::bstr::{BString, ByteSlice};
use store::{
    contract::Content,
    error_code::ErrorCode,
    git::{self, GitError},
    oid::Oid,
    repository::Repository,
    snapshot,
    verify::Violation,
};

use crate::{checkpoint, context::Context, error::CommandError, temporary::Temporary, ui::count};

/// How many paths are named at most.
const NAMED: usize = 100;

/// What is here now, beside what a content says.
pub(crate) struct Comparison {
    /// The worktree tree as it is now.
    pub(crate) tree: Oid,
    /// What differs, each path by itself.
    pub(crate) differences: Vec<Difference>,
}

/// Something that is not as a content says.
pub(crate) struct Difference {
    pub(crate) place: DiffersIn,
    /// The path; `index-conflicts` where it is the conflict stages.
    pub(crate) path: BString,
    /// Whether nothing is left of it here.
    pub(crate) is_gone: bool,
    pub(crate) detail: String,
}

/// Where something differs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum DiffersIn {
    Worktree,
    Index,
}

impl DiffersIn {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            DiffersIn::Worktree => "worktree",
            DiffersIn::Index => "index",
        }
    }
}

/// Returns what differs, each path by itself, up to a number that can be read.
pub(crate) fn differences(
    context: &Context,
    repository: &Repository,
    objects: &Repository,
    content: &Content,
) -> Result<Vec<Violation>, CommandError> {
    let found = compare(context, repository, objects, content)?.differences;
    let more = found.len().saturating_sub(NAMED);
    let violation = |difference: &Difference| {
        let (path, detail) = (difference.path.to_string(), difference.detail.clone());
        Violation::new(ErrorCode::WorktreeChanged, path, detail)
    };
    let mut violations: Vec<Violation> = found.iter().take(NAMED).map(violation).collect();
    if more > 0 {
        let detail = format!("{} more", count(more as u64, "difference"));
        let code = ErrorCode::WorktreeChanged;
        violations.push(Violation::new(code, "worktree", detail));
    }
    Ok(violations)
}

/// Compares the worktree and the index of a repository, as they are now, with a content whose trees another one has,
/// which sees the objects of the first.
///
/// Bytes that are kept as they lay on disk are the same, whatever Git here would make of them.
pub(crate) fn compare(
    context: &Context,
    repository: &Repository,
    objects: &Repository,
    content: &Content,
) -> Result<Comparison, CommandError> {
    let options = checkpoint::remembered_options(context, repository, &[]);
    let snapshot = snapshot::capture(repository, &options)?;
    let origin = &content.repository;
    let mut found = Vec::new();
    let recorded_raw = content.artifacts.raw;
    if snapshot.worktree_tree != origin.worktree_tree || snapshot.raw_tree != recorded_raw {
        let raw = recorded_raw.map(|raw| files(objects, raw)).transpose()?;
        let mut raw = raw.unwrap_or_default();
        let differ = changes(objects, origin.worktree_tree, snapshot.worktree_tree)?;
        // What an ignore rule of this place keeps out of a capture may be here all the same.
        let uncaptured: Vec<&Change> = differ.iter().filter(|c| c.status == b'D').collect();
        let ignored = ignored_files(repository, &uncaptured)?;
        let is_same = |change: &&Change| match ignored.get(&change.path) {
            Some(here) => *here == change.old || raw.get(&change.path) == Some(here),
            None => raw.get(&change.path) == Some(&change.new),
        };
        for change in differ.iter().filter(|change| !is_same(change)) {
            let is_ignored = ignored.contains_key(&change.path);
            found.push(change.difference(DiffersIn::Worktree, is_ignored));
        }
        for change in &differ {
            raw.remove(&change.path);
        }
        found.extend(other_bytes(repository, raw)?);
    }
    if snapshot.index_tree != origin.index_tree {
        let differ = changes(objects, origin.index_tree, snapshot.index_tree)?;
        let differ = differ.iter();
        found.extend(differ.map(|change| change.difference(DiffersIn::Index, false)));
    }
    if snapshot.conflict_trees != content.artifacts.conflicts {
        found.push(Difference {
            place: DiffersIn::Index,
            path: "index-conflicts".into(),
            is_gone: false,
            detail: "the conflicts in the index are not those of the checkpoint".into(),
        });
    }
    Ok(Comparison {
        tree: snapshot.worktree_tree,
        differences: found,
    })
}

/// Mode and id of what stands at a path, as Git lists them.
type Item = (BString, BString);

/// A path that differs between two trees, git-diff-tree(1).
struct Change {
    path: BString,
    old: Item,
    new: Item,
    status: u8,
}

impl Change {
    fn difference(&self, place: DiffersIn, is_ignored: bool) -> Difference {
        let (old, new) = (&self.old.0, &self.new.0);
        let it = match place {
            DiffersIn::Worktree => "the worktree",
            DiffersIn::Index => "the index",
        };
        let detail = match self.status {
            b'A' => format!("{it} has it, the checkpoint has not"),
            b'D' if is_ignored => format!("{it} has something else there, which is ignored"),
            b'D' => format!("{it} does not have it any more"),
            _ if old != new && self.old.1 == self.new.1 => {
                format!("{it} has it with mode {new}, the checkpoint with {old}")
            }
            b'T' => format!("{it} has something of another kind there"),
            _ => format!("{it} has other content there"),
        };
        Difference {
            place,
            path: self.path.clone(),
            is_gone: self.status == b'D' && !is_ignored,
            detail,
        }
    }
}

fn changes(repository: &Repository, old: Oid, new: Oid) -> Result<Vec<Change>, GitError> {
    let (old, new) = (old.to_string(), new.to_string());
    let args = [
        "diff-tree",
        "-r",
        "-z",
        "--raw",
        "--no-abbrev",
        "--no-renames",
        &old,
        &new,
    ];
    let said = repository.git().output(args)?;
    let mut fields = said.split(|byte| *byte == 0);
    let mut changes = Vec::new();
    while let (Some(about), Some(path)) = (fields.next(), fields.next()) {
        let about: Vec<&[u8]> = about
            .trim_start_with(|c| c == ':')
            .split(|b| *b == b' ')
            .collect();
        if let [old_mode, new_mode, old_id, new_id, status] = about[..] {
            changes.push(Change {
                path: path.into(),
                old: (old_mode.into(), old_id.into()),
                new: (new_mode.into(), new_id.into()),
                status: status.first().copied().unwrap_or_default(),
            });
        }
    }
    Ok(changes)
}

/// Names the files of `raw` that hold other bytes now, though what Git stores of them is the same.
fn other_bytes(
    repository: &Repository,
    raw: BTreeMap<BString, Item>,
) -> Result<Vec<Difference>, GitError> {
    let Some(worktree) = repository.worktree() else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    for (path, (_, id)) in raw {
        let file = worktree.join(OsStr::from_bytes(&path));
        let hash = ["hash-object", "--no-filters", "--"].map(OsStr::new);
        let args = hash.into_iter().chain([file.as_os_str()]);
        if repository.git().output(args)?.trim_ascii_end() != id.as_bytes() {
            found.push(Difference {
                place: DiffersIn::Worktree,
                path,
                is_gone: false,
                detail: "the worktree has other bytes there, which Git stores as the same".into(),
            });
        }
    }
    Ok(found)
}

/// Returns what Git would add of the paths that no capture holds but that are there.
fn ignored_files(
    repository: &Repository,
    missing: &[&Change],
) -> Result<BTreeMap<BString, Item>, CommandError> {
    let Some(worktree) = repository.worktree() else {
        return Ok(BTreeMap::new());
    };
    let is_there = |change: &&&Change| {
        let path = Path::new(OsStr::from_bytes(&change.path));
        let mut folders = path.ancestors().skip(1);
        let about = |path: &Path| worktree.join(path).symlink_metadata();
        about(path).is_ok_and(|about| about.is_file() || about.is_symlink())
            && folders.all(|folder| about(folder).is_ok_and(|about| about.is_dir()))
    };
    let there: Vec<&[u8]> = missing
        .iter()
        .filter(is_there)
        .map(|change| change.path.as_slice())
        .collect();
    if there.is_empty() {
        return Ok(BTreeMap::new());
    }
    // An index and objects of its own: nothing of this is to stay.
    let scratch = Temporary::directory()?;
    let objects = scratch.path().join("objects");
    fs::create_dir(&objects)?;
    let git = |args: &[&str], input: &[u8]| {
        let mut command = repository.git().command(args);
        command
            .current_dir(worktree)
            .env("GIT_INDEX_FILE", scratch.path().join("index"))
            .env("GIT_OBJECT_DIRECTORY", &objects);
        git::run(command, input)
    };
    let add = [
        "--literal-pathspecs",
        "-c",
        "core.hooksPath=/dev/null",
        "-c",
        "core.fsmonitor=false",
        "-c",
        "core.splitIndex=false",
        "add",
        "--force",
        "--sparse",
        "--pathspec-from-file=-",
        "--pathspec-file-nul",
    ];
    // What Git cannot add stays missing.
    git(&add, &there.join(&0))?;
    let listed = git(&["ls-files", "--stage", "-z"], b"")?.stdout;
    let lines = listed.split(|byte| *byte == 0);
    Ok(lines
        .filter_map(|line| {
            let (about, path) = line.split_at(line.find_byte(b'\t')?);
            let mut words = about.split(|byte| *byte == b' ');
            Some((
                path[1..].into(),
                (words.next()?.into(), words.next()?.into()),
            ))
        })
        .collect())
}

/// Returns what stands at each path of a tree.
fn files(repository: &Repository, tree: Oid) -> Result<BTreeMap<BString, Item>, GitError> {
    let tree = tree.to_string();
    let said = repository
        .git()
        .output(["ls-tree", "-r", "-z", "--full-tree", &tree])?;
    let lines = said.split(|byte| *byte == 0);
    Ok(lines
        .filter_map(|line| {
            let (about, path) = line.split_at(line.find_byte(b'\t')?);
            let mut words = about.split(|byte| *byte == b' ');
            let (mode, _, id) = (words.next()?, words.next()?, words.next()?);
            Some((path[1..].into(), (mode.into(), id.into())))
        })
        .collect())
}
