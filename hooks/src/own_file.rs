//! Small files that this user alone writes: what anybody else has put in their place counts for nothing.

use std::{fs::File, io::Read, path::Path};

use rustix::fs::{FileType, Mode, OFlags};

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
