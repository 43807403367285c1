//! Limits on how much a capture takes up, judged before anything is hashed.

use super::{SnapshotError, content::Reading, repo_path, scan::Candidate};
use crate::repository::Repository;

/// Bytes of one new or modified file.
const MAX_FILE: u64 = 50 << 20;

/// Bytes of all new and modified files together.
const MAX_TOTAL: u64 = 500 << 20;

/// How many of the biggest files are named.
const NAMED: usize = 10;

/// The limits in force.
pub(super) struct Limits {
    /// Bytes of one file.
    pub(super) file: u64,
    /// Bytes of all files together.
    total: u64,
}

impl Limits {
    /// Reads `handoff.maxFileBytes` and `handoff.maxTotalBytes`.
    pub(super) fn of(repository: &Repository) -> Self {
        let config = repository.gix().config_snapshot();
        let number = |key: &str, default| {
            let set = config.integer(key).and_then(|set| u64::try_from(set).ok());
            set.unwrap_or(default)
        };
        Limits {
            file: number("handoff.maxFileBytes", MAX_FILE),
            total: number("handoff.maxTotalBytes", MAX_TOTAL),
        }
    }

    /// Judges the files that would be stored.
    ///
    /// They are looked at more closely only where all candidates together are over a limit: one whose content is
    /// what the index has, or is left to a filter, takes up nothing.
    pub(super) fn judge(
        &self,
        reading: &Reading<'_>,
        candidates: &[Candidate],
    ) -> Result<(), SnapshotError> {
        let total: u64 = candidates.iter().map(|file| file.stat.size).sum();
        let fits = |file: &Candidate| file.stat.size <= self.file;
        if total <= self.total && candidates.iter().all(fits) {
            return Ok(());
        }
        let stored = reading.stored_whole(candidates)?;
        let named = |file: &&Candidate| (repo_path(file.path.as_ref()), file.stat.size);
        let over = stored.iter().filter(|file| !fits(file));
        let mut files: Vec<_> = over.map(named).collect();
        files.sort_unstable();
        if !files.is_empty() {
            return Err(SnapshotError::LimitExceeded { files, total: None });
        }
        let total: u64 = stored.iter().map(|file| file.stat.size).sum();
        if total > self.total {
            let mut files: Vec<_> = stored.iter().map(named).collect();
            files.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
            files.truncate(NAMED);
            let total = Some(total);
            return Err(SnapshotError::LimitExceeded { files, total });
        }
        Ok(())
    }
}
