//! The files of a state that neither the record before nor the trusted base has in the same place.

use std::collections::HashMap;

use gix::{
    ObjectId,
    bstr::BString,
    objs::{Kind, TreeRefIter, tree::EntryMode},
};
use store::{record::RootTree, verify::VerifiedRecord};

use super::{Look, NewState, Rejection, Site, look::missing};

/// Most entries of directories that were looked through elsewhere and are looked at again.
const MAX_AGAIN: usize = 20_000;

/// Looks through the trees of a state; those of `receipts/` and `lists/` are documents.
pub(super) fn scan(
    look: &mut Look<'_>,
    before: Option<&VerifiedRecord>,
    state: &NewState<'_>,
    base: Option<ObjectId>,
) -> Result<(), Rejection> {
    let before = before.map(|before| &before.root);
    for (site, of, has_code) in PLACES {
        let Some(tree) = of(state.root) else { continue };
        let known = before.and_then(of);
        let known = known.into_iter().chain(base.filter(|_| has_code));
        scan_one(look, &site, tree, known.collect())?;
    }
    if let Some(conflicts) = state.root.conflicts {
        let known = before.and_then(|before| before.conflicts);
        scan_stages(look, conflicts, known, base)?;
    }
    for (name, mode, id) in &state.root.unknown {
        let is_known = before.is_some_and(|before| before.unknown.iter().any(|old| old.2 == *id));
        match mode {
            _ if is_known || mode.is_commit() => {}
            mode if mode.is_tree() => scan_one(look, &Site::Attachment, *id, Vec::new())?,
            _ => look.file(&Site::Attachment, name.clone(), *id)?,
        }
    }
    Ok(())
}

type Part = fn(&RootTree) -> Option<ObjectId>;

/// The trees of files, and whether the code has files of the same paths.
const PLACES: [(Site, Part, bool); 4] = [
    (Site::Worktree, |root| Some(root.worktree), true),
    (Site::Worktree, |root| root.raw, false),
    (Site::Index, |root| Some(root.index), true),
    (Site::Attachment, |root| root.attachments, false),
];

/// The stages of an unmerged index, each a tree of its own.
fn scan_stages(
    look: &mut Look<'_>,
    conflicts: ObjectId,
    known: Option<ObjectId>,
    base: Option<ObjectId>,
) -> Result<(), Rejection> {
    let before = match known {
        Some(known) => entries(look, known)?,
        None => Vec::new(),
    };
    for (name, mode, stage) in entries(look, conflicts)? {
        let known = before.iter().filter(|(known, _, _)| *known == name);
        let known = known.map(|(_, _, id)| *id).chain(base);
        if mode.is_tree() {
            scan_one(look, &Site::Index, stage, known.collect())?;
        }
    }
    Ok(())
}

/// A directory that is looked through, and those that stood in the same place before.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Place {
    tree: ObjectId,
    known: Vec<ObjectId>,
}

/// Directories that were looked through.
#[derive(Default)]
pub(super) struct Seen {
    places: HashMap<Place, BString>,
    /// Entries of directories that stand in other places too, which were looked at again for the rules of paths.
    again: usize,
}

impl Seen {
    /// Tells whether a directory is to be looked through at a path.
    ///
    /// One that stands in two places says the same in both, but for rules of paths. A few objects can name millions
    /// of files that way, so not all places are gone to.
    fn is_news(&mut self, place: &Place, path: &BString, entries: usize) -> bool {
        match self.places.get(place) {
            None => {
                self.places.insert(place.clone(), path.clone());
                true
            }
            Some(known) if known == path => false,
            Some(_) => {
                self.again = self.again.saturating_add(entries);
                self.again <= MAX_AGAIN
            }
        }
    }
}

/// Looks through one tree.
pub(super) fn scan_one(
    look: &mut Look<'_>,
    site: &Site,
    tree: ObjectId,
    known: Vec<ObjectId>,
) -> Result<(), Rejection> {
    let mut stack = vec![(BString::default(), Place { tree, known })];
    while let Some((path, place)) = stack.pop() {
        if place.known.contains(&place.tree) {
            continue;
        }
        let all = entries(look, place.tree)?;
        if !look.seen.is_news(&place, &path, all.len()) {
            continue;
        }
        let mut known: HashMap<BString, Vec<(EntryMode, ObjectId)>> = HashMap::new();
        for tree in &place.known {
            for (name, mode, id) in entries(look, *tree)? {
                known.entry(name).or_default().push((mode, id));
            }
        }
        for (name, mode, id) in all {
            let here = known.remove(&name).unwrap_or_default();
            if mode.is_commit() || here.iter().any(|(_, known)| *known == id) {
                continue;
            }
            let path = below(&path, &name);
            if mode.is_tree() {
                let trees = here.iter().filter(|(mode, _)| mode.is_tree());
                let known = trees.map(|(_, id)| *id).collect();
                stack.push((path, Place { tree: id, known }));
            } else {
                look.file(site, path, id)?;
            }
        }
    }
    Ok(())
}

fn below(path: &BString, name: &BString) -> BString {
    let slash: &[u8] = if path.is_empty() { b"" } else { b"/" };
    [path, slash, name].concat().into()
}

fn entries(
    look: &Look<'_>,
    tree: ObjectId,
) -> Result<Vec<(BString, EntryMode, ObjectId)>, Rejection> {
    let data = look.object(tree, Kind::Tree)?;
    TreeRefIter::from_bytes(&data, look.objects.object_hash())
        .map(|entry| {
            let entry = entry.map_err(missing)?;
            Ok((entry.filename.into(), entry.mode, entry.oid.into()))
        })
        .collect()
}
