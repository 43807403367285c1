//! What a capture must leave as it was.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

/// Every file of a sandbox but what a capture may write: kind and mode, size, time, content.
pub(crate) fn state(sandbox: &Path) -> BTreeMap<PathBuf, String> {
    let mut state = BTreeMap::new();
    add(sandbox, &mut state);
    state
}

/// Says what differs between two states.
pub(crate) fn differences(
    before: &BTreeMap<PathBuf, String>,
    after: &BTreeMap<PathBuf, String>,
) -> Vec<String> {
    let mut found = Vec::new();
    for path in before.keys().chain(after.keys()) {
        let (before, after) = (before.get(path), after.get(path));
        if before != after {
            found.push(format!("{}: {before:?} became {after:?}", path.display()));
        }
    }
    found.dedup();
    found
}

fn add(dir: &Path, state: &mut BTreeMap<PathBuf, String>) {
    // A directory that nobody may read cannot be written to either.
    let Ok(entries) = fs::read_dir(dir) else {
        return;
    };
    for entry in entries {
        let path = entry.unwrap().path();
        if may_change(&path) {
            continue;
        }
        let about = fs::symlink_metadata(&path).unwrap();
        let mut text = format!("{:o}", about.mode());
        if about.is_dir() {
            add(&path, state);
        } else if path.ends_with("config") {
            // The id of a repository is computed once, and kept there.
            let content = fs::read_to_string(&path).unwrap();
            text.push_str(content.split("[handoff]").next().unwrap());
            state.insert(path, text);
            continue;
        } else {
            text.push_str(&format!(
                " {} bytes at {}.{:09}",
                about.size(),
                about.mtime(),
                about.mtime_nsec()
            ));
        }
        if about.is_file()
            && let Ok(content) = fs::read(&path)
        {
            text.push_str(&format!(" {:x}", fingerprint(&content)));
        }
        state.insert(path, text);
    }
}

/// Tells whether a capture or save may write there: objects, and the tool's own refs and state.
fn may_change(path: &Path) -> bool {
    let text = path.to_string_lossy();
    [
        "/objects",
        "/refs/handoff",
        "/refs/handoff-local",
        "/logs/refs/handoff-local",
        "/handoff",
    ]
    .iter()
    .any(|end| text.ends_with(end))
}

fn fingerprint(bytes: &[u8]) -> u64 {
    use std::hash::{DefaultHasher, Hasher};
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}
