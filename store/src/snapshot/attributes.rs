//! The `.gitattributes` files that travel: those of the worktree tree.

use std::{collections::HashMap, io::Read};

use gix::{
    ObjectId,
    bstr::{BStr, BString},
    objs::{Data, Find, Kind},
    worktree::{
        Stack,
        stack::{State, state::Attributes, state::attributes::Source},
    },
};

use super::{SnapshotError, assembly::Assembly, disk::Root, error::Cause, scan::Candidate};
use crate::{new_objects::NewObjectsError, repository::Repository};

/// The `.gitattributes` files of the worktree tree.
pub(super) struct AttributeFiles {
    /// Path and id, by path.
    files: Vec<(BString, ObjectId)>,
    /// The content of those that are new.
    contents: HashMap<ObjectId, Vec<u8>>,
    /// Whether there is one on disk that cannot be read.
    pub(super) has_unread: bool,
}

/// Whose attributes count beside those of the files.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Others {
    /// Git's own macros alone.
    None,
    /// Also those of the system, the user and `info/attributes`.
    OfThisMachine,
}

impl AttributeFiles {
    /// Gathers the files that the worktree tree will have, where `candidates` are still to be read.
    pub(super) fn gather(
        repository: &Repository,
        root: &Root,
        candidates: &[Candidate],
        state: &Assembly<'_>,
    ) -> Result<Self, SnapshotError> {
        let is_one = |path: &BStr| {
            let folder = path.strip_suffix(b".gitattributes");
            folder.is_some_and(|folder| folder.is_empty() || folder.ends_with(b"/"))
        };
        let mut files = AttributeFiles {
            files: state.in_worktree_where(is_one),
            contents: HashMap::new(),
            has_unread: false,
        };
        for candidate in candidates {
            if !is_one(candidate.path.as_ref()) {
                continue;
            }
            let mut bytes = Vec::new();
            let read = root
                .file(candidate.path.as_ref())
                .and_then(|(mut file, _)| file.read_to_end(&mut bytes));
            if read.is_err() {
                files.has_unread = true;
                continue;
            }
            let id = gix::objs::compute_hash(repository.hash_kind(), Kind::Blob, &bytes)
                .map_err(|error| SnapshotError::from(NewObjectsError::Write(error.into())))?;
            files.files.retain(|(path, _)| *path != candidate.path);
            files.files.push((candidate.path.clone(), id));
            files.contents.insert(id, bytes);
        }
        files.files.sort_unstable();
        Ok(files)
    }

    /// Returns the path and id of each file, by path.
    pub(super) fn entries(&self) -> impl Iterator<Item = (BString, ObjectId)> {
        self.files.iter().cloned()
    }

    /// Returns a view of the repository's objects that has these files as well.
    pub(super) fn objects<'a>(&'a self, repo: &'a gix::Repository) -> WithNewFiles<'a> {
        WithNewFiles {
            contents: &self.contents,
            repo,
        }
    }

    /// Makes a stack that knows these files, and what `others` adds.
    pub(super) fn stack(&self, repo: &gix::Repository, others: Others) -> Result<Stack, Cause> {
        let (global, info) = match others {
            Others::None => (Vec::new(), None),
            Others::OfThisMachine => (
                repo.attribute_global_paths()?,
                Some(repo.common_dir().join("info/attributes")),
            ),
        };
        let mut buffer = Vec::new();
        let mut collection = Default::default();
        let known = gix::attrs::Search::new_globals(global, &mut buffer, &mut collection)?;
        let state = Attributes::new(known, info, Source::IdMapping, collection);
        Ok(Stack::new(
            repo.workdir().unwrap_or(repo.git_dir()),
            State::AttributesStack(state),
            gix::glob::pattern::Case::Sensitive,
            buffer,
            self.files.clone(),
        ))
    }

    /// Returns the file that says how the content of `path` is stored and whose own content is not here.
    pub(super) fn missing_above(
        &self,
        repo: &gix::Repository,
        path: &BStr,
    ) -> Option<(&BStr, ObjectId)> {
        let is_above = |file: &BStr| {
            let folder = file.strip_suffix(b".gitattributes");
            folder.is_some_and(|folder| path.starts_with(folder))
        };
        let is_missing = |id: &ObjectId| !self.contents.contains_key(id) && !repo.has_object(*id);
        let mut files = self.files.iter().map(|(file, id)| (file.as_ref(), *id));
        files.find(|(file, id)| is_above(file) && is_missing(id))
    }

    /// Tells whether the content of any file passes a test; of one that is missing, it is taken to.
    pub(super) fn any(&self, repo: &gix::Repository, test: impl Fn(&[u8]) -> bool) -> bool {
        let objects = self.objects(repo);
        let mut buffer = Vec::new();
        let mut ids = self.files.iter().map(|(_, id)| id);
        ids.any(|id| match objects.try_find(id, &mut buffer) {
            Ok(Some(found)) => test(found.data),
            _ => true,
        })
    }
}

/// Finds the attribute files that are new, and all other objects in the repository.
pub(super) struct WithNewFiles<'a> {
    contents: &'a HashMap<ObjectId, Vec<u8>>,
    repo: &'a gix::Repository,
}

impl Find for WithNewFiles<'_> {
    fn try_find<'a>(
        &self,
        id: &gix::oid,
        buffer: &'a mut Vec<u8>,
    ) -> Result<Option<Data<'a>>, gix::Error> {
        match self.contents.get(id) {
            Some(content) => {
                buffer.clear();
                buffer.extend_from_slice(content);
                Ok(Some(Data::new(buffer, Kind::Blob, id.kind())))
            }
            None => self.repo.objects.try_find(id, buffer),
        }
    }
}
