//! Paths that are left out on request.

use std::path::Path;

use gix::{
    bstr::{BStr, BString},
    pathspec::{Defaults, Search},
};

use super::{SnapshotError, error::Cause};

/// Sees that a pathspec of gitglossary(7) can say what is left out of a worktree.
///
/// # Errors
///
/// [`SnapshotError::Pathspec`] where it is none, or leads out of the worktree.
pub fn check_pathspec(pathspec: &BStr, worktree: &Path) -> Result<(), SnapshotError> {
    Omit::new(&[pathspec.into()], Path::new(""), worktree).map(drop)
}

/// Pathspecs of gitglossary(7) that name what is left out; none match nothing.
#[derive(Clone)]
pub(super) struct Omit {
    search: Option<Search>,
}

impl Omit {
    /// Parses pathspecs that are relative to `prefix`, a directory below the worktree.
    pub(super) fn new(
        pathspecs: &[BString],
        prefix: &Path,
        worktree: &Path,
    ) -> Result<Self, SnapshotError> {
        if pathspecs.is_empty() {
            return Ok(Omit { search: None });
        }
        let mut patterns = Vec::new();
        for pathspec in pathspecs {
            let failed = |source: Cause| SnapshotError::Pathspec {
                pathspec: pathspec.clone(),
                source,
            };
            let pattern = gix::pathspec::parse(pathspec, Defaults::default());
            let pattern = pattern.map_err(|source| failed(source.into()))?;
            if !pattern.attributes.is_empty() {
                return Err(failed("paths are not left out by attributes".into()));
            }
            patterns.push(pattern);
        }
        let search = Search::from_specs(patterns, Some(prefix), worktree);
        let search = search.map_err(|source| SnapshotError::Pathspec {
            pathspec: pathspecs.first().cloned().unwrap_or_default(),
            source: source.into(),
        })?;
        Ok(Omit {
            search: Some(search),
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.search.is_none()
    }

    /// Tells whether a path is to be left out.
    pub(super) fn matches(&mut self, path: &BStr, is_dir: bool) -> bool {
        self.search.as_mut().is_some_and(|search| {
            search
                .pattern_matching_relative_path(path, Some(is_dir), &mut |_, _, _, _| false)
                .is_some_and(|found| !found.is_excluded())
        })
    }
}
