//! Looks single paths up in a tree, and judges what stands there.

use std::collections::{HashMap, hash_map::Entry};

use gix::{
    ObjectId,
    bstr::{BStr, BString, ByteSlice},
};

use super::{Violation, trees::entries};
use crate::{contract::IntentToAdd, error_code::ErrorCode, repo_path::RepoPath};

/// What stands at a path of a tree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Standing {
    Nothing,
    Folder,
    File,
    /// A file, link or submodule stands in the place of a folder above.
    BelowFile,
}

/// Looks paths up in one tree.
pub(super) struct Lookup<'a> {
    objects: &'a gix::Repository,
    root: ObjectId,
    read: HashMap<ObjectId, HashMap<BString, (bool, ObjectId)>>,
}

impl<'a> Lookup<'a> {
    pub(super) fn new(objects: &'a gix::Repository, root: ObjectId) -> Self {
        Lookup {
            objects,
            root,
            read: HashMap::new(),
        }
    }

    pub(super) fn at(&mut self, path: &BStr) -> Result<Standing, Violation> {
        self.find(path).map(|(standing, _)| standing)
    }

    /// Returns the blob of the file or link at a path, if there is one.
    pub(super) fn file(&mut self, path: &BStr) -> Result<Option<ObjectId>, Violation> {
        let (standing, id) = self.find(path)?;
        let is_blob = |id: &ObjectId| {
            let header = self.objects.find_header(*id);
            header.is_ok_and(|header| header.kind() == gix::objs::Kind::Blob)
        };
        Ok(id.filter(|id| standing == Standing::File && is_blob(id)))
    }

    fn find(&mut self, path: &BStr) -> Result<(Standing, Option<ObjectId>), Violation> {
        let mut tree = self.root;
        let mut names = path.split(|b| *b == b'/').peekable();
        while let Some(name) = names.next() {
            if let Entry::Vacant(place) = self.read.entry(tree) {
                let entries = entries(self.objects, tree, &path.into())?;
                let named = entries
                    .0
                    .into_iter()
                    .map(|(name, mode, id)| (name, (mode.is_tree(), id)));
                place.insert(named.collect());
            }
            match (self.read[&tree].get(name.as_bstr()), names.peek()) {
                (None, _) => return Ok((Standing::Nothing, None)),
                (Some((true, id)), _) => tree = *id,
                (Some((false, id)), None) => return Ok((Standing::File, Some(*id))),
                (Some((false, _)), Some(_)) => return Ok((Standing::BelowFile, None)),
            }
        }
        Ok((Standing::Folder, None))
    }
}

/// Sees that no empty directory stands where the worktree has a file, link or submodule.
pub(super) fn judge_directories(
    worktree: &mut Lookup<'_>,
    directories: &[RepoPath],
) -> Result<(), Violation> {
    for directory in directories {
        if matches!(
            worktree.at(directory.as_bstr())?,
            Standing::File | Standing::BelowFile
        ) {
            let detail = "an empty directory in the place of a file";
            return Err(Violation::new(
                ErrorCode::UnsafePath,
                directory.to_string(),
                detail,
            ));
        }
    }
    Ok(())
}

/// Sees that what is only to be added is not in the index yet, nor above or below what is.
pub(super) fn judge_intents(
    index: &mut Lookup<'_>,
    intents: &[IntentToAdd],
) -> Result<(), Violation> {
    for intent in intents {
        if index.at(intent.path.as_bstr())? != Standing::Nothing {
            let detail = "it is to be added, and the index holds it, or something in its place";
            return Err(Violation::new(
                ErrorCode::MalformedManifest,
                intent.path.to_string(),
                detail,
            ));
        }
    }
    Ok(())
}
