//! What two repositories must agree in, so that one is the other restored.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs,
    os::unix::{ffi::OsStrExt, fs::PermissionsExt},
    path::Path,
    time::{Duration, SystemTime},
};

use crate::world::World;

/// What Git says of a worktree.
const QUESTIONS: [&[&str]; 5] = [
    &["ls-files", "-s", "-t", "-z"],
    &["status", "--porcelain=v2", "-uall", "-z"],
    &["diff", "--cached", "--raw", "--no-abbrev", "-z"],
    &["symbolic-ref", "-q", "HEAD"],
    &["rev-parse", "-q", "--verify", "HEAD"],
];

/// Refs and files of an operation in progress.
const OPERATION: [&str; 4] = ["MERGE_HEAD", "MERGE_MSG", "CHERRY_PICK_HEAD", "REVERT_HEAD"];

/// Everything that a restore must bring back, in words.
pub(crate) fn state(world: &World, dir: &Path) -> BTreeMap<String, String> {
    let mut state = BTreeMap::new();
    for question in QUESTIONS {
        let mut command = world.command("git", dir);
        let said = command.args(question).output().unwrap();
        state.insert(question.join(" "), said.stdout.escape_ascii().to_string());
    }
    let stopped = ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD"]
        .iter()
        .any(|name| dir.join(".git").join(name).exists());
    for name in OPERATION.iter().filter(|_| stopped) {
        let content = fs::read(dir.join(".git").join(name)).unwrap_or_default();
        state.insert((*name).into(), content.escape_ascii().to_string());
    }
    let known = ["ls-files", "-co", "--exclude-standard", "-z"];
    let known = world.git(dir, known).ok();
    for name in known
        .bytes()
        .split(|b| *b == 0)
        .filter(|name| !name.is_empty())
    {
        if let Some(text) = on_disk(&dir.join(OsStr::from_bytes(name))) {
            state.insert(format!("file {}", name.escape_ascii()), text);
        }
    }
    add_empty_directories(world, dir, dir, &mut state);
    state
}

/// Kind, owner's bits and content of a file or link.
fn on_disk(path: &Path) -> Option<String> {
    let about = fs::symlink_metadata(path).ok()?;
    if about.is_symlink() {
        return Some(format!("link to {:?}", fs::read_link(path).unwrap()));
    }
    let bits = about.permissions().mode() & 0o100;
    let content = about.is_file().then(|| fs::read(path).unwrap())?;
    Some(format!("{bits:o} {}", content.escape_ascii()))
}

/// Adds the directories with nothing in them that are not ignored.
fn add_empty_directories(
    world: &World,
    top: &Path,
    dir: &Path,
    state: &mut BTreeMap<String, String>,
) {
    for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if !entry.file_type().unwrap().is_dir() || entry.file_name() == ".git" {
            continue;
        }
        if fs::read_dir(&path).unwrap().next().is_some() {
            add_empty_directories(world, top, &path, state);
            continue;
        }
        let name = path.strip_prefix(top).unwrap().as_os_str();
        let ignored = ["check-ignore", "-q", "--no-index", "--"].map(OsStr::new);
        let ignored = world.git(top, ignored.into_iter().chain([name]));
        if ignored.exit_code() != Some(0) {
            let name = name.as_bytes().escape_ascii();
            state.insert(format!("file {name}"), "empty".into());
        }
    }
}

/// Gives all files a time that no index has.
pub(crate) fn forget_times(dir: &Path) {
    for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() && entry.file_name() != ".git" {
            forget_times(&entry.path());
        } else if kind.is_file() {
            let file = fs::File::open(entry.path()).unwrap();
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
            file.set_modified(time).unwrap();
        }
    }
}

/// Says what differs.
pub(crate) fn differences(
    was: &BTreeMap<String, String>,
    is: &BTreeMap<String, String>,
) -> Vec<String> {
    let mut names: Vec<&String> = was.keys().chain(is.keys()).collect();
    names.sort();
    names.dedup();
    let differ = names
        .into_iter()
        .filter(|name| was.get(*name) != is.get(*name));
    differ
        .map(|name| format!("{name}: was {:?}, is {:?}", was.get(name), is.get(name)))
        .collect()
}
