//! Walks the trees of a record: every name may be written, every mode is one that a capture makes.

use std::collections::{HashMap, HashSet};

use gix::{
    ObjectId,
    bstr::{BString, ByteSlice, ByteVec},
    objs::tree::{EntryKind, EntryMode},
};

use super::{
    Violation,
    lookup::{Lookup, Standing},
    paths::{self, MAX_PATH_BYTES},
};
use crate::{
    big_blob::{BlobStream, MAX_IN_MEMORY},
    error_code::ErrorCode,
    git::Git,
    record::{RecordError, SubTree},
};

/// Largest tree object that is read, in bytes.
const MAX_TREE_BYTES: u64 = 256 << 20;

/// Most paths that a tree may have; a few objects can make any number, where folders are equal.
pub(crate) const MAX_PATHS: u64 = 5_000_000;
/// Longest target of a link, in bytes: `PATH_MAX` counts a NUL.
const MAX_LINK_BYTES: u64 = 4_095;
/// Most unmerged paths and folders above them that an index may have.
const MAX_CONFLICTS: usize = 1_000_000;

/// How far a judgement of a record goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Depth {
    /// Documents alone: the trees were judged before.
    Documents,
    /// Trees alone; where their blobs must be there, somebody else has seen to it.
    Trees,
    /// Also reads every blob and tree, and sees that it is what its id says.
    Objects,
}

/// One walk over several trees; what was seen once is not looked at again.
pub(super) struct TreeWalk<'a> {
    objects: &'a gix::Repository,
    depth: Depth,
    seen: HashSet<ObjectId>,
    /// Whether the links of the tree are made on disk.
    makes_links: bool,
    /// How many paths the trees have that were walked to their end.
    paths: HashMap<ObjectId, u64>,
}

/// A step of a walk: a tree is judged, and once everything below it is, its paths are counted.
enum Visit {
    Enter(ObjectId, Option<ObjectId>, BString),
    Leave(ObjectId, u64, Vec<ObjectId>),
}

fn below(prefix: &BString, name: &BString) -> BString {
    let mut path = prefix.clone();
    if !path.is_empty() {
        path.push_byte(b'/');
    }
    path.push_str(name);
    path
}

impl<'a> TreeWalk<'a> {
    pub(super) fn new(objects: &'a gix::Repository, depth: Depth) -> Self {
        TreeWalk {
            objects,
            depth,
            seen: HashSet::new(),
            makes_links: false,
            paths: HashMap::new(),
        }
    }

    /// Judges the tree of the worktree as [`TreeWalk::judge`] does, and that each of its links can be made.
    pub(super) fn judge_worktree(
        &mut self,
        root: ObjectId,
        trusted: Option<ObjectId>,
    ) -> Result<(), Violation> {
        self.makes_links = true;
        let judged = self.judge(root, trusted);
        self.makes_links = false;
        judged
    }

    /// Judges a tree and everything below it, without what stands in the same place of a tree that was judged
    /// before.
    pub(super) fn judge(
        &mut self,
        root: ObjectId,
        trusted: Option<ObjectId>,
    ) -> Result<(), Violation> {
        let mut stack = vec![Visit::Enter(root, trusted, BString::default())];
        while let Some(visit) = stack.pop() {
            match visit {
                Visit::Enter(tree, trusted, prefix) => {
                    self.enter(tree, trusted, prefix, &mut stack)?
                }
                Visit::Leave(tree, own, folders) => {
                    let below = folders.iter().filter_map(|folder| self.paths.get(folder));
                    let paths = below.fold(own, |sum, paths| sum.saturating_add(*paths));
                    if paths > MAX_PATHS {
                        let detail = format!("more than {MAX_PATHS} paths");
                        return Err(Violation::new(
                            ErrorCode::LimitExceeded,
                            tree.to_string(),
                            detail,
                        ));
                    }
                    self.paths.insert(tree, paths);
                }
            }
        }
        Ok(())
    }

    fn enter(
        &mut self,
        tree: ObjectId,
        trusted: Option<ObjectId>,
        prefix: BString,
        stack: &mut Vec<Visit>,
    ) -> Result<(), Violation> {
        let trusted = trusted.filter(|_| self.depth != Depth::Objects);
        if trusted == Some(tree) || !self.seen.insert(tree) {
            return Ok(());
        }
        if self.depth == Depth::Objects {
            self.intact(tree, &prefix)?;
        }
        let known = match trusted {
            Some(id) => self.entries(id, &prefix)?,
            None => SubTree::default(),
        };
        let known = known.0.into_iter().filter(|(_, mode, _)| mode.is_tree());
        let known: HashMap<BString, ObjectId> = known.map(|(name, _, id)| (name, id)).collect();
        let (mut own, mut folders) = (0, Vec::new());
        for (name, mode, id) in self.entries(tree, &prefix)?.0 {
            let path = below(&prefix, &name);
            self.judge_entry(&name, mode, id, &path)?;
            if mode.is_tree() {
                folders.push((id, known.get(&name).copied(), path));
            } else {
                own += 1;
            }
        }
        stack.push(Visit::Leave(
            tree,
            own,
            folders.iter().map(|(id, _, _)| *id).collect(),
        ));
        stack.extend(
            folders
                .into_iter()
                .map(|(id, known, path)| Visit::Enter(id, known, path)),
        );
        Ok(())
    }

    fn judge_entry(
        &mut self,
        name: &BString,
        mode: gix::objs::tree::EntryMode,
        id: ObjectId,
        path: &BString,
    ) -> Result<(), Violation> {
        if path.len() > MAX_PATH_BYTES {
            let start = path[..64].as_bstr();
            return Err(Violation::new(
                ErrorCode::UnsafePath,
                start.to_string(),
                "the path is too long",
            ));
        }
        paths::component(name.as_bstr(), mode.is_link())
            .map_err(|why| Violation::new(ErrorCode::UnsafePath, path.to_string(), why))?;
        let canonical = EntryKind::from(mode);
        if mode != canonical.into() {
            return Err(Violation::new(
                ErrorCode::MalformedManifest,
                path.to_string(),
                "a mode that Git does not write",
            ));
        }
        if mode.is_link() && self.makes_links {
            self.judge_link(id, path)?;
        }
        let blob = !mode.is_tree() && !mode.is_commit();
        if blob && self.depth == Depth::Objects && self.seen.insert(id) {
            self.intact(id, path)?;
        }
        Ok(())
    }

    /// Sees that the target of a link is one that symlink(2) takes.
    fn judge_link(&self, id: ObjectId, path: &BString) -> Result<(), Violation> {
        // Whether the blob must be here is said by the depth.
        let Ok(header) = self.objects.find_header(id) else {
            return Ok(());
        };
        let is_sound = (1..=MAX_LINK_BYTES).contains(&header.size())
            && self
                .objects
                .find_object(id)
                .is_ok_and(|blob| !blob.data.contains(&0));
        if is_sound {
            return Ok(());
        }
        let detail = "a link to what no path can be";
        Err(Violation::new(
            ErrorCode::UnsafePath,
            path.to_string(),
            detail,
        ))
    }

    /// Sees that an object is there, can be read, and has bytes that give its id.
    fn intact(&self, id: ObjectId, path: &BString) -> Result<(), Violation> {
        let wrong = |what: &str| {
            let detail = format!("object {id} is {what}");
            Violation::new(ErrorCode::MissingObject, path.to_string(), detail)
        };
        if !self.objects.has_object(id) {
            return Err(wrong("missing"));
        }
        let damaged = || wrong("damaged");
        let header = self.objects.find_header(id).map_err(|_| damaged())?;
        if header.kind() == gix::objs::Kind::Blob && header.size() > MAX_IN_MEMORY {
            let git_dir = self.objects.git_dir();
            let stream = BlobStream::open(&Git::with_git_dir(git_dir, git_dir), id);
            let found = stream.and_then(|stream| stream.id(id.kind(), header.size()));
            return match found {
                Ok(found) if found == id => Ok(()),
                _ => Err(damaged()),
            };
        }
        let object = self.objects.find_object(id).map_err(|_| damaged())?;
        let found = gix::objs::compute_hash(id.kind(), object.kind, &object.data);
        match found {
            Ok(found) if found == id => Ok(()),
            _ => Err(damaged()),
        }
    }

    fn entries(&self, tree: ObjectId, prefix: &BString) -> Result<SubTree, Violation> {
        entries(self.objects, tree, prefix)
    }

    /// Sees that no path of a conflict stage is in the index as merged.
    pub(super) fn judge_stage(
        &self,
        stage: ObjectId,
        index: &mut Lookup<'_>,
    ) -> Result<(), Violation> {
        let mut stack = vec![(stage, BString::default())];
        let mut looked_at = 0;
        while let Some((tree, prefix)) = stack.pop() {
            for (name, mode, id) in self.entries(tree, &prefix)?.0 {
                let path = below(&prefix, &name);
                looked_at += 1;
                if looked_at > MAX_CONFLICTS {
                    let detail = "more unmerged paths than an index has";
                    return Err(Violation::new(
                        ErrorCode::LimitExceeded,
                        "index-conflicts",
                        detail,
                    ));
                }
                if mode.is_tree() {
                    stack.push((id, path));
                } else if index.at(path.as_bstr())? == Standing::File {
                    let detail = "it is unmerged, and the index holds it as merged";
                    return Err(Violation::new(
                        ErrorCode::MalformedManifest,
                        path.to_string(),
                        detail,
                    ));
                }
            }
        }
        Ok(())
    }

    /// Sees that each path of `raw/` is a regular file of `worktree/` with the same mode.
    pub(super) fn judge_raw(&self, raw: ObjectId, worktree: ObjectId) -> Result<(), Violation> {
        let mut stack = vec![(raw, worktree, BString::default())];
        let mut seen: HashSet<(ObjectId, ObjectId)> = HashSet::new();
        while let Some((raw, worktree, prefix)) = stack.pop() {
            if !seen.insert((raw, worktree)) {
                continue;
            }
            let files = self.entries(worktree, &prefix)?.0.into_iter();
            let files: HashMap<BString, (EntryMode, ObjectId)> =
                files.map(|(name, mode, id)| (name, (mode, id))).collect();
            let entries = self.entries(raw, &prefix)?;
            if entries.0.is_empty() {
                return Err(Violation::new(
                    ErrorCode::MalformedManifest,
                    prefix.to_string(),
                    "an empty tree in raw/",
                ));
            }
            for (name, mode, id) in entries.0 {
                let path = below(&prefix, &name);
                let file = files.get(&name).filter(|(other, _)| *other == mode);
                match file {
                    Some((_, file)) if mode.is_tree() => stack.push((id, *file, path)),
                    Some(_) if mode.is_blob() => {}
                    _ => {
                        let detail =
                            "raw/ has a path that is no file of worktree/ with the same mode";
                        return Err(Violation::new(
                            ErrorCode::UnsafePath,
                            path.to_string(),
                            detail,
                        ));
                    }
                }
            }
        }
        Ok(())
    }
}

/// Reads the entries of a tree, which must be well-formed; `place` is its path, for the message.
pub(crate) fn entries(
    objects: &gix::Repository,
    tree: ObjectId,
    place: &BString,
) -> Result<SubTree, Violation> {
    let place = || {
        if place.is_empty() {
            tree.to_string()
        } else {
            place.to_string()
        }
    };
    let data = crate::record::read_object(objects, tree, gix::objs::Kind::Tree, MAX_TREE_BYTES)
        .map_err(|error| Violation::from_record_error(&error, place()))?;
    SubTree::parse(&data, objects.object_hash()).map_err(|_| {
        Violation::new(
            ErrorCode::MalformedManifest,
            place(),
            "its entries are not in order, or one stands twice",
        )
    })
}

impl Violation {
    /// Makes the violation of a record or object that could not be read.
    pub(super) fn from_record_error(error: &RecordError, artifact: impl Into<String>) -> Self {
        Violation::new(error.code(), artifact.into(), error.to_string())
    }
}
