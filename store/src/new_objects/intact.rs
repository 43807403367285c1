//! Whether an object of the repository is what its id says.

use std::{
    collections::HashSet,
    fs,
    io::{self, Read},
    path::Path,
    process::Stdio,
};

use gix::{ObjectId, objs::Kind};

use crate::git::Git;

/// Bytes of an object that is read in memory; a bigger one is read through Git, piece by piece.
const IN_MEMORY: u64 = 32 << 20;

/// What a repository has of an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Standing {
    Whole,
    Absent,
    /// A crash or the disk left less of it, or something else.
    Damaged,
}

/// Reads an object to its end and compares it with its id.
pub(super) fn look(git: &Git, repo: &gix::Repository, id: &ObjectId) -> Standing {
    let header = match gix::odb::Header::try_header(&repo.objects, id) {
        Ok(Some(header)) => header,
        Ok(None) => return Standing::Absent,
        Err(_) => return Standing::Damaged,
    };
    let found = if header.size() > IN_MEMORY && header.kind() == Kind::Blob {
        streamed_id(git, id, header.size()).ok()
    } else {
        let object = repo.find_object(*id).ok();
        object.and_then(|object| gix::objs::compute_hash(id.kind(), object.kind, &object.data).ok())
    };
    match found {
        Some(found) if found == *id => Standing::Whole,
        _ => Standing::Damaged,
    }
}

/// Tells whether the file of an object below an object directory is what its id says.
pub(super) fn is_loose_whole(dir: &Path, id: &ObjectId) -> bool {
    let store = gix::odb::loose::Store::at(dir, id.kind());
    let mut buffer = Vec::new();
    match store.try_find(id, &mut buffer) {
        Ok(Some(found)) => {
            let hash = gix::objs::compute_hash(id.kind(), found.kind, found.data);
            hash.is_ok_and(|hash| hash == *id)
        }
        Ok(None) | Err(_) => false,
    }
}

/// Returns the objects below an object directory whose files have no byte, as a crash leaves them where the disk had the
/// name before the content.
pub(super) fn emptied(dir: &Path) -> HashSet<ObjectId> {
    let folders = (0..=u8::MAX).map(|first| format!("{first:02x}"));
    let in_folder = |folder: String| {
        let entries = fs::read_dir(dir.join(&folder))
            .into_iter()
            .flatten()
            .flatten();
        entries.filter_map(move |entry| {
            let name = entry.file_name();
            let id = ObjectId::from_hex(format!("{folder}{}", name.to_str()?).as_bytes()).ok()?;
            (entry.metadata().ok()?.len() == 0).then_some(id)
        })
    };
    folders.flat_map(in_folder).collect()
}

/// Returns the id of the content that Git reads for a blob.
fn streamed_id(git: &Git, id: &ObjectId, size: u64) -> io::Result<ObjectId> {
    let mut child = git
        .command(["cat-file", "blob", &id.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let mut hasher = gix::hash::hasher(id.kind());
    hasher.update(&gix::objs::encode::loose_header(Kind::Blob, size));
    let mut buffer = vec![0; 1 << 16];
    if let Some(mut content) = child.stdout.take() {
        loop {
            match content.read(&mut buffer)? {
                0 => break,
                count => hasher.update(&buffer[..count]),
            }
        }
    }
    child.wait()?;
    hasher.try_finalize().map_err(io::Error::other)
}
