//! What a new record brings along besides its documents: files that were not there before.
//!
//! All else of the record is known to be in order then; what the files say is looked at after this.

mod new_files;

use store::{error_code::ErrorCode, verify::VerifiedRecord};

pub use new_files::NewFile;

use crate::{
    config_files::{ConfigFiles, SettingError},
    rejection::Rejection,
};

/// How much a push may hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Limits {
    /// `handoff.maxRefs`: handoff refs in one push.
    pub refs: u64,
    /// `handoff.maxFileBytes`: bytes of one new or modified file.
    pub file_bytes: u64,
    /// `handoff.maxTotalBytes`: bytes of all new and modified files of one record.
    pub total_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            refs: 5_000,
            file_bytes: 50 << 20,
            total_bytes: 500 << 20,
        }
    }
}

impl Limits {
    pub(crate) fn read(files: &ConfigFiles<'_>) -> Result<Self, SettingError> {
        let default = Limits::default();
        Ok(Limits {
            refs: files.number("handoff.maxRefs")?.unwrap_or(default.refs),
            file_bytes: files
                .number("handoff.maxFileBytes")?
                .unwrap_or(default.file_bytes),
            total_bytes: files
                .number("handoff.maxTotalBytes")?
                .unwrap_or(default.total_bytes),
        })
    }

    /// Sees that a push does not change too many handoff refs.
    ///
    /// # Errors
    ///
    /// `LIMIT_EXCEEDED`.
    pub(super) fn judge_count(&self, count: usize) -> Result<(), Rejection> {
        if count as u64 <= self.refs {
            return Ok(());
        }
        let detail = format!(
            "the push changes {count} handoff refs, handoff.maxRefs allows {}",
            self.refs
        );
        Err(Rejection::new(ErrorCode::LimitExceeded, detail).hint("push fewer scopes at once"))
    }

    fn judge_files(&self, files: &[NewFile]) -> Result<(), Rejection> {
        let mut total: u64 = 0;
        for file in files {
            if file.bytes > self.file_bytes {
                let detail = format!(
                    "{} has {} bytes, handoff.maxFileBytes allows {}",
                    file.path, file.bytes, self.file_bytes
                );
                return Err(Rejection::new(ErrorCode::LimitExceeded, detail)
                    .hint("leave it out: git handoff save --omit <path>"));
            }
            total = total.saturating_add(file.bytes);
        }
        if total <= self.total_bytes {
            return Ok(());
        }
        let detail = format!(
            "its new files have {total} bytes together, handoff.maxTotalBytes allows {}",
            self.total_bytes
        );
        Err(Rejection::new(ErrorCode::LimitExceeded, detail)
            .hint("leave some out: git handoff save --omit <path>"))
    }
}

/// Judges the files that a record brings along.
///
/// # Errors
///
/// `LIMIT_EXCEEDED` where they are too large, `MISSING_OBJECT` where one is not there.
pub(super) fn judge(
    objects: &gix::Repository,
    before: Option<&VerifiedRecord>,
    record: &VerifiedRecord,
    limits: &Limits,
) -> Result<(), Rejection> {
    let files = new_files::of(objects, before, record)?;
    limits.judge_files(&files)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(bytes: u64) -> NewFile {
        NewFile {
            path: "worktree/a".into(),
            id: gix::ObjectId::null(gix::hash::Kind::Sha1),
            bytes,
        }
    }

    #[test]
    fn what_is_at_a_limit_passes_and_what_is_over_does_not() {
        let limits = Limits {
            refs: 2,
            file_bytes: 10,
            total_bytes: 15,
        };
        assert!(limits.judge_count(2).is_ok());
        assert!(limits.judge_files(&[file(10), file(5)]).is_ok());
        for rejection in [
            limits.judge_count(3).unwrap_err(),
            limits.judge_files(&[file(11)]).unwrap_err(),
            limits.judge_files(&[file(10), file(6)]).unwrap_err(),
            limits.judge_files(&[file(u64::MAX - 1)]).unwrap_err(),
        ] {
            assert_eq!(rejection.code, ErrorCode::LimitExceeded);
        }
    }
}
