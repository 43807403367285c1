//! Reading that settles: what changes while it is read is read again, what is damaged is made anew.

use std::collections::{BTreeMap, HashSet};

use gix::{ObjectId, bstr::BString, index::entry::Mode};

use super::{
    SnapshotError,
    assembly::{Assembly, Trees},
    changes::Changes,
    content::{Checked, Content, Outcome, Reading},
    repo_path,
    scan::Candidate,
    tree::TreeItem,
};

/// How often a path that changes while it is read is read.
const ROUNDS: usize = 3;

/// Reads all candidates, and again those that change meanwhile, and puts them into the trees.
pub(super) fn read_until_still(
    reading: &Reading<'_>,
    candidates: Vec<Candidate>,
    state: &mut Assembly<'_>,
) -> Result<(), SnapshotError> {
    let mut pending = candidates;
    let mut contents: BTreeMap<BString, Content> = BTreeMap::new();
    for _ in 0..ROUNDS {
        let mut moved = Vec::new();
        for outcome in reading.read(std::mem::take(&mut pending))? {
            match outcome {
                Outcome::Read(content) => {
                    contents.insert(content.path.clone(), content);
                }
                Outcome::Changed(candidate) => moved.push((candidate.path, candidate.entry)),
                Outcome::Vanished(candidate) => state.replace(candidate.path.as_ref(), None),
                Outcome::LeftOut(left_out, entry) => {
                    if entry.is_some() {
                        state.keep_head(left_out.path.as_ref())?;
                    }
                    state.omit(left_out);
                }
            }
        }
        moved.extend(stale(reading, &mut contents));
        for (path, entry) in moved {
            match reading.root.stat(path.as_ref()) {
                Ok(stat) => pending.push(Candidate { path, entry, stat }),
                Err(_) => state.replace(path.as_ref(), None),
            }
        }
        if pending.is_empty() {
            break;
        }
    }
    if !pending.is_empty() {
        let paths = pending.iter().map(|file| repo_path(file.path.as_ref()));
        return Err(SnapshotError::Changed(paths.collect()));
    }
    for content in contents.into_values() {
        state.content(content);
    }
    Ok(())
}

/// Takes out the contents whose files are not any more as they were when they were opened.
fn stale(
    reading: &Reading<'_>,
    contents: &mut BTreeMap<BString, Content>,
) -> Vec<(BString, Option<usize>)> {
    let mut moved = Vec::new();
    contents.retain(|path, content| {
        let now = reading.root.stat(path.as_ref());
        let still = now.ok() == Some(content.stat);
        if !still {
            moved.push((path.clone(), content.entry));
        }
        still
    });
    moved
}

/// Sees that the bytes of the files that the index vouches for come back.
///
/// One that changes meanwhile is read like any other.
pub(super) fn check_unchanged(
    reading: &Reading<'_>,
    entries: Vec<usize>,
    state: &mut Assembly<'_>,
) -> Result<(), SnapshotError> {
    let mut moved = Vec::new();
    for (entry, checked) in reading.check_unchanged(entries)? {
        let path = reading.index.path(entry);
        match checked {
            Checked::Bytes(bytes) => {
                state.bytes(path, reading.index.entries()[entry].mode, bytes);
            }
            Checked::Moved => match reading.root.stat(path) {
                Ok(stat) => moved.push(Candidate {
                    path: path.into(),
                    entry: Some(entry),
                    stat,
                }),
                Err(_) => state.replace(path, None),
            },
        }
    }
    read_until_still(reading, moved, state)
}

/// Returns what the worktree tree has that head's has not, and sees that all of it is there and undamaged.
///
/// An object that the index names but a crash left damaged is made anew from the file that the index vouches for.
pub(super) fn mend(
    reading: &Reading<'_>,
    state: &mut Assembly<'_>,
    trees: &Trees,
) -> Result<Changes, SnapshotError> {
    let repo = reading.repo.to_thread_local();
    let changes = Changes::between(&repo, state.head_tree(), trees.worktree)?;
    let staged = Changes::between(&repo, state.head_tree(), trees.index)?;
    let is_damaged =
        |(_, id): &(BString, ObjectId)| !reading.objects.is_whole(reading.git, &repo, id);
    // What has not changed is read only where a crash has been: that would be to read everything.
    let emptied = reading.objects.emptied();
    let all_emptied = |tree| match emptied.is_empty() {
        true => Ok(Vec::new()),
        false => Changes::between(&repo, None, tree).map(|mut all| {
            all.items.retain(|(_, item)| emptied.contains(&item.id));
            all.items
        }),
    };
    let (unchanged, unchanged_staged) = (all_emptied(trees.worktree)?, all_emptied(trees.index)?);
    let mut seen = HashSet::new();
    let on_disk = blobs(&changes.items).chain(blobs(&unchanged));
    let mut on_disk: Vec<_> = on_disk.chain(state.raw()).collect();
    on_disk.retain(|item| seen.insert(item.1) && is_damaged(item));
    if !on_disk.is_empty() {
        let candidates = on_disk.iter().filter_map(|(path, _)| {
            let entry = reading.index.state().entry_index_by_path(path.as_ref());
            Some(Candidate {
                path: path.clone(),
                entry: entry.ok(),
                stat: reading.root.stat(path.as_ref()).ok()?,
            })
        });
        read_until_still(reading, candidates.collect(), state)?;
        state.write(reading.objects, None)?;
    }
    let in_index = blobs(&staged.items).chain(blobs(&unchanged_staged));
    let mut in_index = in_index.chain(reading.index.sides());
    let lost = on_disk.into_iter().find(is_damaged);
    match lost.or_else(|| in_index.find(|item| seen.insert(item.1) && is_damaged(item))) {
        None => Ok(changes),
        Some((path, id)) => Err(SnapshotError::Object {
            id,
            source: format!("it is the content of `{path}` in the index").into(),
        }),
    }
}

fn blobs(items: &[(BString, TreeItem)]) -> impl Iterator<Item = (BString, ObjectId)> {
    let blobs = items.iter().filter(|(_, item)| item.mode != Mode::COMMIT);
    blobs.map(|(path, item)| (path.clone(), item.id))
}
