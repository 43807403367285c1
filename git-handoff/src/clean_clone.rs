//! Restores a checkpoint into a temporary directory by two routes, and compares: by its objects, and by artifacts.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use store::{
    artifacts,
    error_code::ErrorCode,
    git,
    oid::Oid,
    repository::Repository,
    restore::Flagging,
    verify::{self, VerifiedRecord, Violation},
};

use crate::{
    commands::export, context::Context, error::CommandError, origin, temporary::Temporary,
};

/// One check, and what is wrong where it failed.
pub(crate) type Outcome = (String, Option<Violation>);

/// What the names of these checks begin with.
const ROUTES: &str = "clean-clone.";

/// What came of both routes.
pub(crate) struct Checked {
    pub(crate) outcomes: Vec<Outcome>,
    /// How long it took to restore the objects; none where that failed.
    pub(crate) restored_in: Option<Duration>,
}

/// Makes both routes and compares what they lead to.
pub(crate) fn check(
    context: &Context,
    repository: &Repository,
    record: &VerifiedRecord,
) -> Result<Checked, CommandError> {
    let scratch = Temporary::directory()?;
    let mut outcomes = Vec::new();
    let started = Instant::now();
    let by_objects = match by_objects(context, repository, record, &scratch.path().join("clone")) {
        Ok(tree) => Some(tree),
        Err(error) if is_no_room(&error) => return Err(no_room(error)),
        Err(error) => {
            let subject = error.subject.clone();
            let artifact = subject.unwrap_or_else(|| record.id.to_string());
            let violation = Violation::new(error.code, artifact, error.message);
            outcomes.push((name("objects"), Some(violation)));
            None
        }
    };
    let restored_in = by_objects.map(|_| started.elapsed());
    if by_objects.is_some() {
        outcomes.push((name("objects"), None));
    }
    let dir = export::subfolder(&scratch, "artifacts")?;
    let written = artifacts::write(
        repository,
        record,
        &dir,
        &export::subfolder(&scratch, "write")?,
    );
    if let Err(error) = written.map_err(CommandError::from) {
        if is_no_room(&error) {
            return Err(no_room(error));
        }
        let violation = Violation::new(error.code, record.id.to_string(), error.message);
        outcomes.push((name("artifacts"), Some(violation)));
        return Ok(Checked {
            outcomes,
            restored_in,
        });
    }
    let checked = artifacts::check(&dir, &export::subfolder(&scratch, "check")?)?;
    outcomes.extend(
        checked
            .checks
            .into_iter()
            .flat_map(|check| named(check, ROUTES)),
    );
    if let (Some(one), Some(other)) = (by_objects, checked.worktree_tree) {
        let violation = (one != other).then(|| {
            let detail = format!("the objects lead to {one}, bundle and patch to {other}");
            Violation::new(ErrorCode::TreeMismatch, "worktree", detail)
        });
        outcomes.push((name("same"), violation));
    }
    Ok(Checked {
        outcomes,
        restored_in,
    })
}

/// Tells whether it is the disk that a route could not be made on, and nothing of the checkpoint.
fn is_no_room(error: &CommandError) -> bool {
    error.code == ErrorCode::Io || git::tells_no_room(&error.message)
}

fn no_room(error: CommandError) -> CommandError {
    CommandError::new(ErrorCode::Io, error.message)
        .hint("the routes are made among the temporary files: make room there, or set TMPDIR")
}

/// Restores into a new repository, and returns the worktree tree as it was recomputed from disk.
fn by_objects(
    context: &Context,
    repository: &Repository,
    record: &VerifiedRecord,
    dir: &Path,
) -> Result<Oid, CommandError> {
    let made = origin::copy(context, repository, record, dir)?;
    Ok(made.fill(record, Flagging::WhereEqual)?.worktree_tree)
}

fn name(part: &str) -> String {
    format!("{ROUTES}{part}")
}

/// Returns a line for each thing that a check found, or one that says that it found nothing.
pub(crate) fn named(check: verify::Check, prefix: &str) -> Vec<Outcome> {
    let name = format!("{prefix}{}", check.name);
    if check.violations.is_empty() {
        return vec![(name, None)];
    }
    let found = check.violations.into_iter();
    found
        .map(|violation| (name.clone(), Some(violation)))
        .collect()
}
