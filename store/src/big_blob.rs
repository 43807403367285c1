//! Blobs that are too big for memory, as they come from Git.

use std::{
    io::{self, Read},
    process::{Child, ChildStdout, Stdio},
};

use gix::{
    ObjectId,
    hash::hasher,
    objs::{Kind, encode::loose_header},
};

use crate::git::Git;

/// Largest blob that is held in memory where nothing converts it, in bytes.
pub(crate) const MAX_IN_MEMORY: u64 = 16 << 20;
/// Bytes that are read at a time.
const PIECE: usize = 64 << 10;

/// A blob that Git writes into a pipe.
pub(crate) struct BlobStream {
    child: Child,
    stdout: ChildStdout,
}

impl BlobStream {
    /// Has Git write a blob.
    pub(crate) fn open(git: &Git, id: ObjectId) -> io::Result<Self> {
        // Git holds a packed blob in memory up to this size, git-config(1).
        let args = ["-c", "core.bigFileThreshold=1m", "cat-file", "blob"];
        let mut command = git.command(args);
        command.arg(id.to_string()).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        let stdout = child.stdout.take();
        let stdout = stdout.ok_or_else(|| io::Error::other("git has no output"))?;
        Ok(BlobStream { child, stdout })
    }

    /// Sees that Git has written the whole blob.
    pub(crate) fn end(mut self) -> io::Result<()> {
        let status = self.child.wait()?;
        match status.success() {
            true => Ok(()),
            false => Err(io::Error::other(format!("git cat-file: {status}"))),
        }
    }

    /// Reads the blob to its end and returns the id of what was read, which must have `size` bytes.
    pub(crate) fn id(mut self, hash: gix::hash::Kind, size: u64) -> io::Result<ObjectId> {
        let mut hasher = hasher(hash);
        hasher.update(&loose_header(Kind::Blob, size));
        let mut piece = vec![0; PIECE];
        let mut left = size;
        loop {
            let count = self.stdout.read(&mut piece)?;
            if count == 0 {
                break;
            }
            left = left
                .checked_sub(count as u64)
                .ok_or_else(|| io::Error::other("it is longer than its header says"))?;
            hasher.update(&piece[..count]);
        }
        self.end()?;
        if left > 0 {
            return Err(io::Error::other("it is shorter than its header says"));
        }
        let id = hasher.try_finalize();
        id.map_err(|error| io::Error::other(error.to_string()))
    }
}

impl Read for BlobStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stdout.read(buffer)
    }
}

/// Ends Git where nobody waits for the rest.
impl Drop for BlobStream {
    fn drop(&mut self) {
        // An error means that it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
