//! Trees as sorted lists of files, and back.

use gix::{
    ObjectId,
    bstr::{BString, ByteSlice},
    objs::{
        Kind, TreeRefIter,
        tree::{EntryKind, EntryMode},
    },
};

use super::{RestoreError, disk::joined};
use crate::verify::MAX_PATHS;

/// A file, link or submodule of a tree.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct TreeItem {
    pub(super) path: BString,
    /// Never [`EntryKind::Tree`].
    pub(super) kind: EntryKind,
    pub(super) id: ObjectId,
}

/// Lists everything below a tree, sorted by path bytes.
pub(super) fn flatten(
    objects: &gix::Repository,
    root: ObjectId,
) -> Result<Vec<TreeItem>, RestoreError> {
    let mut found = Vec::new();
    let mut stack = vec![(root, BString::default())];
    while let Some((tree, prefix)) = stack.pop() {
        let missing = |source: gix::Error| RestoreError::Object {
            id: tree,
            source: source.into(),
        };
        let data = objects.find_object(tree).map_err(missing)?;
        if data.kind != Kind::Tree {
            let source = "it is no tree".into();
            return Err(RestoreError::Object { id: tree, source });
        }
        for entry in TreeRefIter::from_bytes(&data.data, objects.object_hash()) {
            let entry = entry.map_err(|source| RestoreError::Object {
                id: tree,
                source: source.into(),
            })?;
            let path = joined(prefix.as_bstr(), entry.filename);
            let id = entry.oid.to_owned();
            match EntryKind::from(entry.mode) {
                EntryKind::Tree => stack.push((id, path)),
                kind => found.push(TreeItem { path, kind, id }),
            }
            if (found.len() + stack.len()) as u64 > MAX_PATHS {
                return Err(RestoreError::TooManyPaths {
                    tree: root,
                    limit: MAX_PATHS,
                });
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// Computes the id of the tree that holds exactly `items`, which are sorted by path; nothing is written.
pub(super) fn tree_id(items: &[TreeItem], hash: gix::hash::Kind) -> gix::Result<ObjectId> {
    subtree_id(items, 0, hash)
}

/// Computes the id of the tree of items that share a prefix of that many bytes.
fn subtree_id(items: &[TreeItem], prefix: usize, hash: gix::hash::Kind) -> gix::Result<ObjectId> {
    let mut data = Vec::new();
    let mut rest = items;
    while let Some(first) = rest.first() {
        let below = &first.path[prefix..];
        let (name, kind, id, count) = match below.find_byte(b'/') {
            None => (below, first.kind, first.id, 1),
            Some(slash) => {
                let folder = &first.path[..=prefix + slash];
                let count = rest.partition_point(|item| item.path.starts_with(folder));
                let id = subtree_id(&rest[..count], folder.len(), hash)?;
                (&below[..slash], EntryKind::Tree, id, count)
            }
        };
        let mut mode = Default::default();
        data.extend_from_slice(EntryMode::from(kind).as_bytes(&mut mode));
        data.push(b' ');
        data.extend_from_slice(name);
        data.push(0);
        data.extend_from_slice(id.as_bytes());
        rest = &rest[count..];
    }
    gix::objs::compute_hash(hash, Kind::Tree, &data)
}
