//! How far the line of a scope was judged before, in `<git-dir>/handoff/verified/<scope>`.
//!
//! Two commits are kept: the tip that was judged, and the one that it was to replace. A push can still fail after
//! it was judged; the ref is then where it was, and what was judged there need not be judged again.

use std::{io::Write, path::PathBuf};

use gix::ObjectId;
use store::scope::ScopeName;

use crate::{own_file, server_dir::ServerDir};

/// Longest file that can be one of ours: two ids of 64 digits, a line each.
const MAX_BYTES: u64 = 130;

/// Records of one scope that were judged good.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Mark {
    /// What the ref was at the last good judgement.
    before: Option<ObjectId>,
    /// What it was to become.
    after: Option<ObjectId>,
}

impl Mark {
    /// Reads the mark of a scope; one that is damaged, or that somebody else wrote, is none.
    pub(super) fn read(server_dir: &ServerDir, scope: &ScopeName) -> Self {
        let bytes = own_file::read(&path(server_dir, scope), MAX_BYTES).unwrap_or_default();
        let text = String::from_utf8(bytes).unwrap_or_default();
        let mut ids = text
            .lines()
            .map(|line| ObjectId::from_hex(line.as_bytes()).ok());
        let (after, before) = (ids.next().flatten(), ids.next().flatten());
        Mark { before, after }
    }

    /// Returns the record from which a line need not be judged: best the one that the ref names now.
    pub(super) fn trusted(
        &self,
        objects: &gix::Repository,
        current: Option<ObjectId>,
    ) -> Option<ObjectId> {
        let mut known = self.before.into_iter().chain(self.after);
        let here = current.filter(|current| known.clone().any(|id| id == *current));
        here.or_else(|| known.find(|id| objects.has_object(id)))
    }

    /// Writes the mark of a scope whose line was judged from `before` to `after`.
    ///
    /// A mark that cannot be written costs time at the next push, nothing else.
    pub(super) fn write(
        server_dir: &ServerDir,
        scope: &ScopeName,
        before: Option<ObjectId>,
        after: ObjectId,
    ) {
        let write = || -> std::io::Result<()> {
            server_dir.directory("verified")?;
            // Not beside the marks: there may be one of each of many scopes.
            let mut file = server_dir.temporary()?;
            writeln!(file, "{after}")?;
            if let Some(before) = before {
                writeln!(file, "{before}")?;
            }
            server_dir.share(file.as_file())?;
            file.persist(path(server_dir, scope))?;
            Ok(())
        };
        let _ = write();
    }
}

fn path(server_dir: &ServerDir, scope: &ScopeName) -> PathBuf {
    server_dir.path().join("verified").join(scope.as_str())
}
