//! What a tree has that head's tree has not.

use gix::{
    ObjectId,
    bstr::{BStr, BString, ByteSlice},
    diff::tree::{Recorder, recorder::Change},
    index::entry::Mode,
    objs::{FindExt, TreeRefIter},
};

use super::{SnapshotError, disk::Root, tree::TreeItem};
use crate::timestamp::Timestamp;

/// Paths that are new or differ, with what the newer tree has there, by path.
pub(crate) struct Changes {
    pub(crate) items: Vec<(BString, TreeItem)>,
    /// Paths that are gone.
    pub(crate) gone: usize,
}

impl Changes {
    /// Compares two trees of the repository; no older tree is an empty one.
    pub(crate) fn between(
        repo: &gix::Repository,
        older: Option<ObjectId>,
        newer: ObjectId,
    ) -> Result<Self, SnapshotError> {
        let read = |id: ObjectId| {
            let mut buffer = Vec::new();
            match repo.objects.find_tree_iter(&id, &mut buffer) {
                Ok(_) => Ok(buffer),
                Err(source) => Err(damaged(id, source.into())),
            }
        };
        let older = older.map(read).transpose()?.unwrap_or_default();
        let newer_bytes = read(newer)?;
        let mut recorder = Recorder::default();
        gix::diff::tree(
            TreeRefIter::from_bytes(&older, newer.kind()),
            TreeRefIter::from_bytes(&newer_bytes, newer.kind()),
            gix::diff::tree::State::default(),
            &repo.objects,
            &mut recorder,
        )
        .map_err(|source| damaged(newer, source.into()))?;
        let mut changes = Changes {
            items: Vec::new(),
            gone: 0,
        };
        for record in recorder.records {
            match record {
                Change::Addition {
                    entry_mode,
                    oid,
                    path,
                    ..
                }
                | Change::Modification {
                    entry_mode,
                    oid,
                    path,
                    ..
                } if !entry_mode.is_tree() => {
                    let mode = Mode::from(entry_mode);
                    changes.items.push((path, TreeItem { mode, id: oid }));
                }
                Change::Deletion { entry_mode, .. } if !entry_mode.is_tree() => changes.gone += 1,
                _ => {}
            }
        }
        changes.items.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        Ok(changes)
    }

    /// Returns the newest modification time of the files among them.
    pub(super) fn last_edit(&self, root: &Root) -> Option<Timestamp> {
        let times = self
            .items
            .iter()
            .filter(|(_, item)| item.mode != Mode::COMMIT);
        let times = times.filter_map(|(path, _)| root.stat(path.as_ref()).ok());
        let newest = times.map(|stat| stat.mtime.0).max()?;
        Timestamp::from_unix_seconds(newest).ok()
    }

    /// Tells whether a path is among them.
    pub(crate) fn has(&self, path: &BStr) -> bool {
        let found = self
            .items
            .binary_search_by(|(known, _)| known.as_bstr().cmp(path));
        found.is_ok()
    }
}

fn damaged(id: ObjectId, source: super::error::Cause) -> SnapshotError {
    SnapshotError::Object { id, source }
}
