//! Small files that this user alone writes: what anybody else has put in their place counts for nothing.

use std::{
    fs::{self, File},
    io::{self, Read},
    os::unix::ffi::OsStrExt,
    path::Path,
};

use rustix::fs::{FileType, Mode, OFlags};
use tempfile::NamedTempFile;

/// How the names of files begin that are written beside the one they replace.
const PREFIX: &str = ".new-";

/// Reads a regular file of at most `max_bytes` bytes that belongs to the user this process runs as.
pub(crate) fn read(path: &Path, max_bytes: u64) -> Option<Vec<u8>> {
    // NONBLOCK: a FIFO must not hold us up.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
    let found = rustix::fs::fstat(&file).ok()?;
    let is_regular = FileType::from_raw_mode(found.st_mode).is_file();
    if !is_regular || found.st_uid != rustix::process::geteuid().as_raw() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(max_bytes).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Makes a file that is to replace another of its directory, and removes what runs have left there that were killed.
///
/// # Errors
///
/// Where it cannot be made.
pub(crate) fn new_in(dir: &Path) -> io::Result<NamedTempFile> {
    remove_abandoned(dir);
    loop {
        let file = tempfile::Builder::new().prefix(PREFIX).tempfile_in(dir)?;
        // Where there are no locks, nobody can take it for abandoned.
        let _ = file.as_file().lock();
        // Another run may have done so before it was locked.
        if file.path().exists() {
            return Ok(file);
        }
    }
}

/// Removes the files of `new_in` that no living run holds; what cannot be removed stays.
fn remove_abandoned(dir: &Path) {
    let entries = fs::read_dir(dir).into_iter().flatten();
    for entry in entries.map_while(Result::ok) {
        if entry.file_name().as_bytes().starts_with(PREFIX.as_bytes())
            && entry.file_type().is_ok_and(|kind| kind.is_file())
            && let Ok(file) = File::open(entry.path())
            && file.try_lock().is_ok()
        {
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_run_left_goes_and_what_a_living_one_writes_stays() {
        let dir = tempfile::tempdir().unwrap();
        let left = dir.path().join(".new-left");
        fs::write(&left, "half").unwrap();
        fs::write(dir.path().join("other"), "other").unwrap();
        let living = new_in(dir.path()).unwrap();
        assert!(!left.exists());
        let second = new_in(dir.path()).unwrap();
        assert!(living.path().exists() && second.path().exists());
        drop((living, second));
        let names = fs::read_dir(dir.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name());
        assert_eq!(names.collect::<Vec<_>>(), ["other"]);
    }
}
