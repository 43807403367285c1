//! The code commits that a state brings along: what each changes, its message, and who wrote it.

use gix::{ObjectId, bstr::ByteSlice};
use store::{contract::Repository, verify::VerifiedRecord};

use super::{History, Look, NewState, Rejection, Site, look::missing, trees};

/// How many commits that were not looked through are counted.
const MAX_COUNTED: usize = 100;
/// Headers of a commit that hold a signature, gitformat-signature(5).
const SIGNATURES: [&[u8]; 2] = [b"gpgsig", b"gpgsig-sha256"];

/// Looks through the commits from base to head that the record before did not have, and returns the tree of the base
/// where that is trusted.
///
/// Where it is not, these are all commits of head that no known ref reaches: what a record calls its base is its
/// writer's word.
pub(super) fn scan(
    look: &mut Look<'_>,
    before: Option<&VerifiedRecord>,
    state: &NewState<'_>,
) -> Result<Option<ObjectId>, Rejection> {
    let objects = look.objects;
    let repository = &state.content.repository;
    let before = before.map(|before| &before.manifest.value.content.repository);
    let base = repository.base.map(|base| base.id());
    let had_base = before.is_some_and(|before| before.base == repository.base);
    let trust = look.scan.trust;
    let trusted = match look.scan.history {
        History::Counted => base.filter(|base| had_base || trust.reaches(look.repository, *base)),
        History::Scanned => None,
    };
    let heads = heads_of(repository);
    let mut known: Vec<ObjectId> = before.map(heads_of).unwrap_or_default();
    match (look.scan.history, trusted) {
        (History::Scanned, _) => {}
        (History::Counted, Some(base)) => {
            let base_before = before.and_then(|before| before.base).map(|base| base.id());
            known.extend(base_before);
            known.push(base);
        }
        (History::Counted, None) if heads.iter().all(|head| known.contains(head)) => {}
        (History::Counted, None) => known.extend(trust.tips(look.repository).map_err(missing)?),
    }
    // A shallow history may lack some of them.
    known.retain(|id| objects.has_object(id));
    let new = heads.iter().filter(|head| !known.contains(head)).copied();
    let walk = objects
        .rev_walk(new)
        .with_hidden(known.iter().copied())
        .all()
        .map_err(missing)?;
    let mut looked_at = 0;
    for commit in walk {
        let commit = commit.map_err(missing)?;
        let parents = commit.parent_ids.iter();
        let parents: Vec<ObjectId> = parents
            .filter(|id| objects.has_object(*id))
            .map(|id| tree_of(objects, *id))
            .collect::<Result<_, _>>()?;
        let tree = tree_of(objects, commit.id)?;
        trees::scan_one(look, &Site::Commit(commit.id), tree, parents)?;
        message(look, commit.id, &Site::Message(commit.id))?;
        looked_at += 1;
    }
    if !had_base && look.scan.history == History::Counted {
        let all = objects.rev_walk(heads).all().map_err(missing)?;
        let all = all.take(looked_at + MAX_COUNTED).map_while(Result::ok);
        look.findings.unscanned_history = all.count().saturating_sub(looked_at);
    }
    let tree = trusted.filter(|id| objects.has_object(id));
    tree.map(|base| tree_of(objects, base)).transpose()
}

/// Returns the commits that a state stands on: its head, and those of an operation in progress.
fn heads_of(repository: &Repository) -> Vec<ObjectId> {
    let operation = repository.operation.iter();
    let heads = repository
        .head
        .iter()
        .chain(operation.flat_map(|running| &running.heads));
    heads.map(|head| head.id()).collect()
}

fn tree_of(objects: &gix::Repository, commit: ObjectId) -> Result<ObjectId, Rejection> {
    let commit = objects.find_commit(commit).map_err(missing)?;
    Ok(commit.tree_id().map_err(missing)?.detach())
}

/// Looks through what a commit says: its message, and who wrote it. Signatures are left out.
pub(super) fn message(look: &mut Look<'_>, id: ObjectId, site: &Site) -> Result<(), Rejection> {
    let commit = look.objects.find_commit(id).map_err(missing)?;
    let commit = commit.decode().map_err(missing)?;
    look.text(site, "the message".into(), commit.message);
    for person in [commit.author, commit.committer] {
        look.text(site, "the identity".into(), person);
    }
    for (name, value) in &commit.extra_headers {
        if !SIGNATURES.contains(&name.as_bytes()) {
            look.text(site, "the header".into(), value.as_bytes());
        }
    }
    Ok(())
}
