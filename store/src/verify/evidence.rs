//! What a content says, against the trees and commits that it speaks of.
//!
//! A citation points to something that is there, and no path has changed that is none of this work's. Called for a
//! record, and for a content that is not in a record yet.

use std::collections::{BTreeMap, BTreeSet};

use gix::{
    ObjectId,
    bstr::{BString, ByteSlice},
};

use super::{Violation, lookup::Lookup};
use crate::{
    changed_paths::{self, PathPatterns},
    contract::{Citation, Content, LineRange, check},
    error_code::ErrorCode,
    oid::Oid,
    repo_path::RepoPath,
};

/// Most bytes of cited files whose lines are counted.
const MAX_CITED_BYTES: u64 = 256 << 20;

/// Finds citations of commits that head does not reach, and of files or lines that the worktree does not have.
///
/// The content holds all of its lists. Where history is cut short (a shallow repository), a commit that is not there
/// cannot be judged.
pub fn citations(objects: &gix::Repository, content: &Content) -> Vec<Violation> {
    let cited = check::citations(content);
    let mut found = Vec::new();
    let unreached = unreached(objects, content, &cited);
    let mut files = Files::new(objects, content.repository.worktree_tree.id());
    for (field, citation) in &cited {
        let wrong = match citation {
            Citation::Commit(id) if unreached.contains(&id.id()) => {
                Some("points to no commit that head reaches".to_owned())
            }
            Citation::File(path, lines) => files.wrong(path, *lines),
            _ => None,
        };
        if let Some(wrong) = wrong {
            let detail = format!("`{citation}` {wrong}");
            found.push(Violation::new(ErrorCode::BadCitation, field, detail));
        }
    }
    found
}

/// Returns the cited commits that head does not reach.
fn unreached(
    objects: &gix::Repository,
    content: &Content,
    cited: &[(String, Citation)],
) -> BTreeSet<ObjectId> {
    let commits = cited.iter().filter_map(|(_, citation)| match citation {
        Citation::Commit(id) => Some(id.id()),
        _ => None,
    });
    let mut left: BTreeSet<ObjectId> = commits.collect();
    let (false, Some(head)) = (left.is_empty(), content.repository.head) else {
        return left;
    };
    if let Ok(walk) = objects.rev_walk([head.id()]).all() {
        for commit in walk.map_while(Result::ok) {
            left.remove(&commit.id);
            if left.is_empty() {
                break;
            }
        }
    }
    if objects.is_shallow().unwrap_or(false) {
        left.retain(|id| objects.has_object(id));
    }
    left
}

/// The cited files of one tree.
struct Files<'a> {
    objects: &'a gix::Repository,
    lookup: Lookup<'a>,
    lines: BTreeMap<ObjectId, u64>,
    bytes_left: u64,
}

impl<'a> Files<'a> {
    fn new(objects: &'a gix::Repository, tree: ObjectId) -> Self {
        Files {
            objects,
            lookup: Lookup::new(objects, tree),
            lines: BTreeMap::new(),
            bytes_left: MAX_CITED_BYTES,
        }
    }

    /// Says what is wrong with a citation of a file.
    fn wrong(&mut self, path: &RepoPath, lines: Option<LineRange>) -> Option<String> {
        let blob = match self.lookup.file(path.as_bstr()) {
            Ok(Some(blob)) => blob,
            Ok(None) => return Some("points to no file of the worktree".into()),
            Err(violation) => return Some(format!("cannot be looked up: {violation}")),
        };
        let lines = lines?;
        match self.count(blob) {
            Ok(count) if u64::from(lines.last) <= count => None,
            Ok(count) => Some(format!(
                "points past the end of the file, which has {count} lines"
            )),
            Err(why) => Some(why),
        }
    }

    fn count(&mut self, blob: ObjectId) -> Result<u64, String> {
        if let Some(count) = self.lines.get(&blob) {
            return Ok(*count);
        }
        let unreadable = |error: gix::Error| format!("cannot be read: {error}");
        let size = self.objects.find_header(blob).map_err(unreadable)?.size();
        self.bytes_left = self
            .bytes_left
            .checked_sub(size)
            .ok_or("cites more bytes than are looked at")?;
        let data = self.objects.find_object(blob).map_err(unreadable)?;
        let feeds = data.data.find_iter(b"\n").count() as u64;
        let rest = u64::from(data.data.last().is_some_and(|last| *last != b'\n'));
        self.lines.insert(blob, feeds + rest);
        Ok(feeds + rest)
    }
}

/// Finds changed paths that are outside the leases or the scope of the task, unless they are omitted.
///
/// The content holds all of its lists.
pub fn changes(objects: &gix::Repository, content: &Content) -> Vec<Violation> {
    match outside(objects, content) {
        Ok(found) => found,
        Err(violation) => vec![violation],
    }
}

fn outside(objects: &gix::Repository, content: &Content) -> Result<Vec<Violation>, Violation> {
    let scope = content.task.as_ref().map(|task| &task.scope);
    let allowed = scope.and_then(|scope| scope.allowed.as_ref());
    let excluded = scope.map_or(&[][..], |scope| &scope.excluded);
    if content.leases.is_none() && allowed.is_none() && excluded.is_empty() {
        return Ok(Vec::new());
    }
    let leased = content
        .leases
        .iter()
        .flatten()
        .flat_map(|lease| &lease.paths);
    let mut leased = patterns("content.leases", leased)?;
    let mut allowed_paths = patterns("content.task.scope.allowed", allowed.into_iter().flatten())?;
    let mut excluded = patterns("content.task.scope.excluded", excluded)?;
    let mut found = Vec::new();
    for path in changed(objects, content)? {
        let why = if content.leases.is_some() && !leased.cover(&path) {
            "it has changed, and no lease covers it"
        } else if allowed.is_some() && !allowed_paths.cover(&path) {
            "it has changed, and task.scope.allowed does not cover it"
        } else if excluded.cover(&path) {
            "it has changed, and task.scope.excluded covers it"
        } else {
            continue;
        };
        found.push(Violation::new(ErrorCode::OutOfScope, path.to_string(), why));
    }
    Ok(found)
}

fn patterns<'a>(
    field: &str,
    patterns: impl IntoIterator<Item = &'a String>,
) -> Result<PathPatterns, Violation> {
    PathPatterns::new(patterns.into_iter().map(String::as_str)).map_err(|pattern| {
        let detail = format!("`{pattern}` is no pattern that Git can read");
        Violation::new(ErrorCode::MalformedManifest, field, detail)
    })
}

/// Returns the paths that differ between base and worktree, or base and index, without those that are omitted.
fn changed(objects: &gix::Repository, content: &Content) -> Result<Vec<BString>, Violation> {
    let repository = &content.repository;
    let base = match repository.base {
        None => None,
        Some(base) => match tree_of(objects, base) {
            Ok(tree) => Some(tree),
            // Where history is cut short, what lies behind the cut cannot be judged.
            Err(_) if objects.is_shallow().unwrap_or(false) => return Ok(Vec::new()),
            Err(violation) => return Err(violation),
        },
    };
    let mut changed = changed_paths::between(objects, base, Some(repository.worktree_tree.id()))?;
    changed.extend(changed_paths::between(
        objects,
        base,
        Some(repository.index_tree.id()),
    )?);
    changed.sort_unstable();
    changed.dedup();
    let omitted = content.omissions.inline().iter();
    let omitted: Vec<&RepoPath> = omitted
        .filter_map(|omission| omission.path.as_ref())
        .collect();
    changed.retain(|path| {
        RepoPath::from_bytes(path)
            .is_ok_and(|path| !omitted.iter().any(|folder| path.is_within(folder)))
    });
    Ok(changed)
}

fn tree_of(objects: &gix::Repository, commit: Oid) -> Result<ObjectId, Violation> {
    let tree = objects
        .find_commit(commit.id())
        .and_then(|commit| Ok(commit.tree_id()?.detach()));
    tree.map_err(|error| {
        Violation::new(
            ErrorCode::MissingObject,
            commit.to_string(),
            error.to_string(),
        )
    })
}
