//! Trees from index entries and what replaces them.

use gix::{
    ObjectId,
    bstr::{BStr, BString, ByteSlice},
    index::{Entry, State, entry::Mode, extension::Tree as CachedTree},
    objs::Kind,
};

use super::SnapshotError;
use crate::new_objects::NewObjects;

/// What stands at a path in a tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TreeItem {
    pub(crate) mode: Mode,
    pub(crate) id: ObjectId,
}

/// A path, and what replaces the index entry there; `None` removes it.
pub(super) type Replacement = (BString, Option<TreeItem>);

/// Builds trees of index entries, reusing the trees that the index remembers.
pub(super) struct TreeBuilder<'a> {
    pub(super) index: &'a State,
    pub(super) objects: &'a NewObjects,
    pub(super) repo: &'a gix::Repository,
}

impl TreeBuilder<'_> {
    /// Builds the tree of `base` with `replacements` over it, both sorted by path.
    ///
    /// `cached` is what the index remembers of the root; only nodes that cover exactly the entries of `base`
    /// count, and only if their tree is there.
    pub(super) fn build(
        &self,
        base: &[&Entry],
        replacements: &[Replacement],
        cached: Option<&CachedTree>,
    ) -> Result<ObjectId, SnapshotError> {
        let root = self.subtree(0, base, replacements, cached)?;
        match root {
            Some(id) => Ok(id),
            None => Ok(self.objects.add(self.repo, Kind::Tree, &[])?),
        }
    }

    /// Builds the tree whose paths all begin with the same `prefix` bytes; `None` where it would be empty.
    fn subtree(
        &self,
        prefix: usize,
        mut base: &[&Entry],
        mut replacements: &[Replacement],
        cached: Option<&CachedTree>,
    ) -> Result<Option<ObjectId>, SnapshotError> {
        if replacements.is_empty()
            && let Some(id) = self.reusable(cached, base.len())
        {
            return Ok(Some(id));
        }
        let mut tree = Vec::new();
        loop {
            let from_base = base.first().map(|entry| entry.path(self.index));
            let replaced = replacements.first().map(|(path, _)| path.as_bstr());
            let path = match (from_base, replaced) {
                (None, None) => break,
                (Some(path), None) | (None, Some(path)) => path,
                (Some(a), Some(b)) => a.min(b),
            };
            let rest = &path[prefix..];
            let slash = rest.find_byte(b'/');
            if let Some(slash) = slash {
                let folder = &path[..prefix + slash + 1];
                let entries = split_below(&mut base, |e| e.path(self.index).starts_with(folder));
                let over = split_below(&mut replacements, |(path, _)| path.starts_with(folder));
                let name = rest[..slash].as_bstr();
                let child = cached.and_then(|tree| child(tree, name));
                if let Some(id) = self.subtree(folder.len(), entries, over, child)? {
                    push(&mut tree, name, Mode::DIR, id);
                }
                continue;
            }
            let mut item = None;
            if from_base == Some(path) {
                let (entry, others) = base.split_first().expect("it has a first path");
                item = Some(TreeItem {
                    mode: entry.mode,
                    id: entry.id,
                });
                base = others;
            }
            if replaced == Some(path) {
                let ((_, replacement), others) =
                    replacements.split_first().expect("it has a first path");
                item = *replacement;
                replacements = others;
            }
            if let Some(item) = item {
                push(&mut tree, rest.as_bstr(), item.mode, item.id);
            }
        }
        if tree.is_empty() {
            return Ok(None);
        }
        Ok(Some(self.objects.add(self.repo, Kind::Tree, &tree)?))
    }

    fn reusable(&self, cached: Option<&CachedTree>, entries: usize) -> Option<ObjectId> {
        let cached = cached.filter(|tree| tree.num_entries == u32::try_from(entries).ok())?;
        (entries > 0 && self.objects.has(self.repo, &cached.id)).then_some(cached.id)
    }
}

/// Takes the leading items that lie below a folder off the list.
fn split_below<'a, T>(list: &mut &'a [T], is_below: impl Fn(&T) -> bool) -> &'a [T] {
    let count = list.partition_point(is_below);
    let (below, rest) = list.split_at(count);
    *list = rest;
    below
}

fn child<'a>(tree: &'a CachedTree, name: &BStr) -> Option<&'a CachedTree> {
    tree.children
        .iter()
        .find(|child| child.name.as_slice() == name.as_bytes())
}

fn push(tree: &mut Vec<u8>, name: &BStr, mode: Mode, id: ObjectId) {
    tree.extend_from_slice(format!("{:o} ", mode.bits()).as_bytes());
    tree.extend_from_slice(name);
    tree.push(0);
    tree.extend_from_slice(id.as_bytes());
}
