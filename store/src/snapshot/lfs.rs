//! Git LFS pointer files: what they stand for, and whether that is here.

use std::path::PathBuf;

use gix::{
    bstr::ByteSlice,
    index::entry::Mode,
    objs::{FindExt, Kind},
};

use super::{SnapshotError, changes::Changes, repo_path};
use crate::{
    contract::{Blocker, BlockerKind, LfsPointer, LfsPresence},
    digest::Digest,
    repository::Repository,
};

/// Bytes of the longest pointer file, specification of Git LFS, `docs/spec.md`.
const LONGEST: u64 = 1024;

/// The pointers among the changes, and what is known of them, all by path.
#[derive(Default)]
pub(super) struct Lfs {
    pub(super) pointers: Vec<LfsPointer>,
    pub(super) presence: Vec<LfsPresence>,
    pub(super) blockers: Vec<Blocker>,
}

impl Lfs {
    /// Looks for pointers among the changed files.
    pub(super) fn find(repository: &Repository, changes: &Changes) -> Result<Self, SnapshotError> {
        let store = Store::of(repository);
        let mut lfs = Lfs::default();
        for pointer in pointers(repository.gix(), changes)? {
            let (path, LfsPointer { oid, size, .. }) = (&pointer.path, &pointer);
            let present = store.holds(oid, *size);
            if !present {
                lfs.blockers.push(Blocker {
                    kind: BlockerKind::LfsMissing,
                    path: Some(path.clone()),
                    detail: Some(format!("{oid} with {size} bytes is not here")),
                });
            }
            lfs.presence.push(LfsPresence {
                path: path.clone(),
                present,
            });
            lfs.pointers.push(pointer);
        }
        Ok(lfs)
    }
}

/// Returns the pointers among the changed files, by path.
pub(crate) fn pointers(
    repo: &gix::Repository,
    changes: &Changes,
) -> Result<Vec<LfsPointer>, SnapshotError> {
    let mut pointers = Vec::new();
    let mut buffer = Vec::new();
    for (path, item) in &changes.items {
        if !matches!(item.mode, Mode::FILE | Mode::FILE_EXECUTABLE) {
            continue;
        }
        let damaged = |source: gix::Error| SnapshotError::Object {
            id: item.id,
            source: source.into(),
        };
        let header = gix::odb::Header::try_header(&repo.objects, &item.id).map_err(damaged)?;
        // What a partial clone lacks is no pointer that was made here.
        let Some(header) = header else { continue };
        if header.size() >= LONGEST || header.kind() != Kind::Blob {
            continue;
        }
        let blob = repo.objects.find_blob(&item.id, &mut buffer);
        let blob = blob.map_err(damaged)?;
        if let Some((oid, size)) = parse(blob.data) {
            let path = repo_path(path.as_ref());
            pointers.push(LfsPointer { path, oid, size });
        }
    }
    Ok(pointers)
}

/// Where LFS keeps contents.
struct Store(PathBuf);

impl Store {
    fn of(repository: &Repository) -> Self {
        let common = repository.common_dir();
        let config = repository.gix().config_snapshot();
        let dir = config.trusted_path("lfs.storage").ok().flatten();
        Store(dir.map_or_else(|| common.join("lfs"), |dir| common.join(dir)))
    }

    fn holds(&self, oid: &Digest, size: u64) -> bool {
        let text = oid.to_string();
        let hex = text.trim_start_matches("sha256:");
        let file = self
            .0
            .join("objects")
            .join(&hex[..2])
            .join(&hex[2..4])
            .join(hex);
        std::fs::metadata(file).is_ok_and(|about| about.is_file() && about.len() == size)
    }
}

/// Reads a pointer file.
fn parse(text: &[u8]) -> Option<(Digest, u64)> {
    let mut lines = text.lines();
    let version = lines.next()?;
    if version != b"version https://git-lfs.github.com/spec/v1"
        && version != b"version https://hawser.github.com/spec/v1"
    {
        return None;
    }
    let (mut oid, mut size) = (None, None);
    for line in lines {
        let line = line.to_str().ok()?;
        if let Some(text) = line.strip_prefix("oid ") {
            oid = text.parse().ok();
        } else if let Some(text) = line.strip_prefix("size ") {
            size = text.parse().ok();
        }
    }
    oid.zip(size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_is_read_and_nothing_else_is_one() {
        let digest = format!("sha256:{}", "4d".repeat(32));
        let pointer =
            format!("version https://git-lfs.github.com/spec/v1\noid {digest}\nsize 12345\n");
        let (oid, size) = parse(pointer.as_bytes()).unwrap();
        assert_eq!((oid.to_string(), size), (digest, 12345));
        assert!(parse(b"version 1\n").is_none());
        assert!(
            parse(b"version https://git-lfs.github.com/spec/v1\noid sha256:12\nsize 1\n").is_none()
        );
        assert!(parse(b"").is_none());
    }
}
