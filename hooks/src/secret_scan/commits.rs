//! The code commits that a state brings along: what each changes, its message, and who wrote it.

use gix::{ObjectId, bstr::ByteSlice};
use store::verify::VerifiedRecord;

use super::{Look, NewState, Rejection, Site, missing, trees};

/// Namespaces whose refs make a commit known; a handoff never does.
const TRUSTED: [&str; 3] = ["refs/heads", "refs/tags", "refs/remotes"];

/// Looks through the commits from base to head that the record before did not have, and returns the tree of the base
/// where that is trusted.
///
/// Where it is not, these are all commits of head that no branch or tag reaches: what a record calls its base is
/// its writer's word.
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
    let is_trusted = match base {
        Some(base) => had_base || is_reached(look, base),
        None => false,
    };
    let heads: Vec<ObjectId> = repository
        .head
        .iter()
        .chain(
            repository
                .operation
                .iter()
                .flat_map(|running| &running.heads),
        )
        .map(|head| head.id())
        .collect();
    let mut known: Vec<ObjectId> = before
        .iter()
        .flat_map(|before| {
            let operation = before.operation.iter().flat_map(|running| &running.heads);
            before
                .head
                .iter()
                .chain(before.base.iter())
                .chain(operation)
        })
        .map(|id| id.id())
        .collect();
    match base.filter(|_| is_trusted) {
        Some(base) => known.push(base),
        None if heads.iter().all(|head| known.contains(head)) => {}
        None => known.extend(trusted_tips(look)?),
    }
    // A shallow history may lack some of them.
    known.retain(|id| objects.has_object(id));
    let new = heads.into_iter().filter(|head| !known.contains(head));
    let walk = objects
        .rev_walk(new)
        .with_hidden(known.iter().copied())
        .all()
        .map_err(missing)?;
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
    }
    let tree = base
        .filter(|_| is_trusted)
        .filter(|id| objects.has_object(id));
    tree.map(|base| tree_of(objects, base)).transpose()
}

fn tree_of(objects: &gix::Repository, commit: ObjectId) -> Result<ObjectId, Rejection> {
    let commit = objects.find_commit(commit).map_err(missing)?;
    Ok(commit.tree_id().map_err(missing)?.detach())
}

/// Tells whether a branch or tag reaches a commit; one that Git cannot tell of is not reached.
fn is_reached(look: &Look<'_>, commit: ObjectId) -> bool {
    let contains = format!("--contains={commit}");
    let args = [
        "for-each-ref",
        "--count=1",
        "--format=%(refname)",
        &contains,
    ];
    let answer = look
        .repository
        .git()
        .output(args.into_iter().chain(TRUSTED));
    answer.is_ok_and(|answer| !answer.is_empty())
}

fn trusted_tips(look: &Look<'_>) -> Result<Vec<ObjectId>, Rejection> {
    let args = ["for-each-ref", "--format=%(objectname) %(*objectname)"];
    let answer = look
        .repository
        .git()
        .output(args.into_iter().chain(TRUSTED))
        .map_err(missing)?;
    let words = answer
        .fields()
        .filter_map(|word| ObjectId::from_hex(word).ok());
    let is_commit = |id: &ObjectId| look.objects.find_commit(*id).is_ok();
    Ok(words.filter(is_commit).collect())
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
        if !name.starts_with(b"gpgsig") {
            look.text(site, "the header".into(), value.as_bytes());
        }
    }
    Ok(())
}
