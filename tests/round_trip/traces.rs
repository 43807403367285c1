//! What a run leaves behind that was stopped.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Kills a run, with all that it has started.
pub(crate) fn kill_group(leader: u32) {
    let group = format!("-{leader}");
    let killed = Command::new("kill").args(["-KILL", "--", &group]).output();
    assert!(killed.is_ok());
}

/// Waits until all that a killed run has started is done.
pub(crate) fn wait_for_group(leader: u32) {
    let group = format!("-{leader}");
    let is_there = || {
        let asked = Command::new("kill").args(["-0", "--", &group]).output();
        asked.is_ok_and(|asked| asked.status.success())
    };
    while is_there() {
        std::thread::yield_now();
    }
}

/// Returns the temporary files and locks below a directory; the objects that a killed Git was writing are left to
/// git-gc(1).
pub(crate) fn leftovers(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    add(dir, &mut found);
    found.sort();
    found
}

fn add(dir: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(dir) else {
        return;
    };
    for entry in entries.map_while(Result::ok) {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_temporary = name.starts_with("tmp_objdir-")
            || name.starts_with(".tmp")
            || name.starts_with(".handoff-")
            || name.starts_with(".new-")
            || name.ends_with(".lock");
        if is_temporary {
            found.push(entry.path());
        } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            add(&entry.path(), found);
        }
    }
}
