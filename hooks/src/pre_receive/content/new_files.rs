//! Finds the files of a record that neither the record before nor the head commit has in the same place.

use std::collections::{HashMap, HashSet};

use gix::{
    ObjectId,
    bstr::{BString, ByteVec},
    objs::TreeRefIter,
};
use store::{error_code::ErrorCode, record::RootTree, verify::VerifiedRecord};

use crate::rejection::Rejection;

/// A file that a record brings along.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewFile {
    /// Its path in the record's tree, e.g. `worktree/src/parser.rs`.
    pub path: BString,
    /// The blob.
    pub id: ObjectId,
    /// Size in bytes.
    pub bytes: u64,
}

/// A tree that is looked at, and trees that stood in the same place before.
struct Place {
    path: BString,
    tree: ObjectId,
    known: Vec<ObjectId>,
}

/// Returns the new files of a record, each blob once.
///
/// # Errors
///
/// `MISSING_OBJECT` where an object is not there.
pub(super) fn of(
    objects: &gix::Repository,
    before: Option<&VerifiedRecord>,
    record: &VerifiedRecord,
) -> Result<Vec<NewFile>, Rejection> {
    let before = before.map(|before| &before.root);
    let repository = &record.manifest.value.content.repository;
    let head = match repository.head {
        Some(head) => Some(tree_of(objects, head.id())?),
        None => None,
    };
    let mut walk = Walk {
        objects,
        seen: HashSet::new(),
        found: Vec::new(),
    };
    for (name, tree, code) in roots(&record.root, head) {
        let known = before.and_then(|before| same_root(before, name));
        walk.look(Place {
            path: name.into(),
            tree,
            known: known.into_iter().chain(code).collect(),
        })?;
    }
    for (name, mode, id) in &record.root.unknown {
        let known = before.is_some_and(|before| before.unknown.iter().any(|(_, _, old)| old == id));
        if known || mode.is_commit() {
            continue;
        }
        if mode.is_tree() {
            walk.look(Place {
                path: name.clone(),
                tree: *id,
                known: Vec::new(),
            })?;
        } else {
            walk.add(name.clone(), *id)?;
        }
    }
    Ok(walk.found)
}

type Root = (&'static str, ObjectId, Option<ObjectId>);

fn roots(root: &RootTree, head: Option<ObjectId>) -> impl Iterator<Item = Root> {
    let optional = [
        ("raw", root.raw, head),
        ("index-conflicts", root.conflicts, None),
        ("receipts", root.receipts, None),
        ("lists", root.lists, None),
        ("attachments", root.attachments, None),
    ];
    let optional = optional
        .into_iter()
        .filter_map(|(name, tree, code)| Some((name, tree?, code)));
    [
        ("worktree", root.worktree, head),
        ("index", root.index, head),
    ]
    .into_iter()
    .chain(optional)
}

fn same_root(root: &RootTree, name: &str) -> Option<ObjectId> {
    let found = roots(root, None).find(|(other, _, _)| *other == name);
    found.map(|(_, tree, _)| tree)
}

fn tree_of(objects: &gix::Repository, commit: ObjectId) -> Result<ObjectId, Rejection> {
    let commit = objects.find_commit(commit).map_err(missing)?;
    Ok(commit.tree_id().map_err(missing)?.detach())
}

fn missing(error: impl std::fmt::Display) -> Rejection {
    Rejection::new(
        ErrorCode::MissingObject,
        format!("what the record brings along cannot be read: {error}"),
    )
}

struct Walk<'a> {
    objects: &'a gix::Repository,
    seen: HashSet<ObjectId>,
    found: Vec<NewFile>,
}

impl Walk<'_> {
    fn look(&mut self, root: Place) -> Result<(), Rejection> {
        let mut stack = vec![root];
        while let Some(place) = stack.pop() {
            if place.known.contains(&place.tree) || !self.seen.insert(place.tree) {
                continue;
            }
            let known = place.known.iter().map(|tree| self.entries(*tree));
            let known: Vec<HashMap<BString, ObjectId>> = known
                .map(|entries| {
                    let entries = entries?.into_iter();
                    Ok(entries.map(|(name, _, id)| (name, id)).collect())
                })
                .collect::<Result<_, Rejection>>()?;
            for (name, mode, id) in self.entries(place.tree)? {
                let here: Vec<ObjectId> = known
                    .iter()
                    .filter_map(|entries| entries.get(&name).copied())
                    .collect();
                if mode.is_commit() || here.contains(&id) {
                    continue;
                }
                let mut path = place.path.clone();
                path.push_byte(b'/');
                path.push_str(&name);
                if mode.is_tree() {
                    let known = here.into_iter().filter(|id| self.is_tree(*id)).collect();
                    stack.push(Place {
                        path,
                        tree: id,
                        known,
                    });
                } else {
                    self.add(path, id)?;
                }
            }
        }
        Ok(())
    }

    fn add(&mut self, path: BString, id: ObjectId) -> Result<(), Rejection> {
        if self.seen.insert(id) {
            let bytes = self.objects.find_header(id).map_err(missing)?.size();
            self.found.push(NewFile { path, id, bytes });
        }
        Ok(())
    }

    fn is_tree(&self, id: ObjectId) -> bool {
        let header = self.objects.find_header(id);
        header.is_ok_and(|header| header.kind().is_tree())
    }

    fn entries(
        &self,
        tree: ObjectId,
    ) -> Result<Vec<(BString, gix::objs::tree::EntryMode, ObjectId)>, Rejection> {
        let tree = self.objects.find_tree(tree).map_err(missing)?;
        let entries = TreeRefIter::from_bytes(&tree.data, self.objects.object_hash());
        let entry = |entry: gix::objs::tree::EntryRef<'_>| {
            (entry.filename.into(), entry.mode, entry.oid.into())
        };
        let entries = entries.map(|found| found.map(entry));
        entries.collect::<Result<_, _>>().map_err(missing)
    }
}
