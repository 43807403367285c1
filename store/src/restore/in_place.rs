//! Replaces what is in the current worktree, after it was captured.
//!
//! What may be overwritten or removed is what the capture holds, and nothing else: whatever is ignored or was left
//! out is not in it.

use gix::bstr::{BString, ByteSlice};

use super::{
    Capture, RestoreError,
    content::Expected,
    marker::{Interrupted, Marker},
    parallel,
    present::{Present, kind_at},
    recompute::{self, Found},
    replacement::{Replacement, remove_leftover},
    session::{Laid, READ_BYTES, Session, repo_path},
};
use crate::new_objects;

/// What was found out before anything is changed.
struct Survey {
    /// When the capture began.
    since: (i64, i64),
    present: Present,
    /// What each planned file must hold.
    expected: Vec<Expected>,
    /// What is at each of their paths.
    found: Vec<Option<Found>>,
}

/// What is to be done.
struct Changes {
    /// Files to be written, by their place in the plan.
    writes: Vec<usize>,
    /// What is captured and not in the plan, by path.
    removals: Vec<BString>,
    /// What is captured, not in the plan, and stays.
    kept: Vec<BString>,
}

/// Captures what is there, then brings about the planned files and directories.
///
/// Each file is written beside its place and moved there, so that an interrupted run leaves no half of one.
pub(super) fn replace(
    session: &Session<'_>,
    marker: &Marker,
    interrupted: Option<Interrupted>,
    capture: &mut Capture<'_>,
) -> Result<Laid, RestoreError> {
    remove_leftover(session, marker, interrupted)?;
    new_objects::remove_abandoned(session.objects().objects.store_ref().path());
    marker.set(Some(session.state.id))?;
    let prepared = Survey::make(session, marker, capture)
        .and_then(|survey| Ok((survey.changes(session)?, survey)));
    let (changes, survey) = prepared.or_else(|error| {
        // Nothing was changed: the note goes back to what it was.
        marker.put_back(interrupted)?;
        Err(error)
    })?;
    let mut replacement = Replacement::new(session, marker, survey.since);
    replacement.remove(&changes.removals)?;
    replacement.write(&changes.writes)?;
    // Only now: a directory that gets new files stays the one that somebody may be in.
    replacement.remove_directories(&changes.removals, &survey.present.empty_directories);
    replacement.make_directories()?;
    Ok(survey.into_laid(changes))
}

/// Plans what a sparse checkout left out wherever something is here: only what is absent may stay so.
pub(super) fn fill_what_is_there(session: &mut Session<'_>) -> Result<(), RestoreError> {
    let mut disk = session.disk.another();
    for file in session.plan.files.iter_mut().filter(|file| file.sparse) {
        file.sparse = kind_at(&mut disk, file.path.as_bstr())?.is_none();
    }
    Ok(())
}

impl Survey {
    fn make(
        session: &Session<'_>,
        marker: &Marker,
        capture: &mut Capture<'_>,
    ) -> Result<Self, RestoreError> {
        let since = marker.time()?;
        let captured = capture().map_err(|error| RestoreError::Capture {
            code: error.code,
            source: error.source,
        })?;
        let present = Present::read(session, captured)?;
        let start = || {
            let buffer = vec![0; READ_BYTES];
            Ok((session.contents(), session.disk.another(), buffer))
        };
        let compared = parallel::map(
            &session.plan.files,
            start,
            |(contents, disk, buffer), _, file| -> Result<_, RestoreError> {
                let expected = contents.expected(file)?;
                let found = recompute::look(disk, file, session.traits, None, buffer)?;
                Ok((expected, found))
            },
        )?;
        let (expected, found) = compared.into_iter().unzip();
        let mut survey = Survey {
            since,
            present,
            expected,
            found,
        };
        survey.keep_filled_in(session);
        Ok(survey)
    }

    /// Takes files that a filter driver has filled in here as they are, where the capture made the planned stored
    /// version of them.
    fn keep_filled_in(&mut self, session: &Session<'_>) {
        let found = self.found.iter();
        for ((file, expected), found) in
            session.plan.files.iter().zip(&mut self.expected).zip(found)
        {
            if let Some(found) = found
                && expected.filtered
                && found.id != expected.id
                && found.changed_at <= self.since
                && self.present.holds(file)
            {
                *expected = Expected {
                    id: found.id,
                    filtered: false,
                };
            }
        }
    }

    /// Says what is to be done, or names everything that must not be overwritten or removed for it.
    fn changes(&self, session: &Session<'_>) -> Result<Changes, RestoreError> {
        let files = &session.plan.files;
        let is_there = |at: usize| {
            let found = self.found[at].as_ref();
            found.is_some_and(|found| {
                recompute::is_as_planned(&files[at], &self.expected[at].id, found)
            })
        };
        let writes = (0..files.len()).filter(|at| !files[*at].sparse && !is_there(*at));
        let writes: Vec<usize> = writes.collect();
        let mut disk = session.disk.another();
        let mut in_the_way = Vec::new();
        for &at in &writes {
            let path = files[at].path.as_bstr();
            self.present.judge_write(&mut disk, path, &mut in_the_way)?;
        }
        let (mut removals, mut kept) = (Vec::new(), Vec::new());
        for item in &self.present.items {
            let path = item.path.as_bstr();
            if session.plan.has(path) {
                continue;
            }
            if self.present.keeps(path) && !session.plan.has_around(path) {
                kept.push(item.path.clone());
            } else if self
                .present
                .judge_removal(&mut disk, item, &mut in_the_way)?
            {
                removals.push(item.path.clone());
            }
        }
        if in_the_way.is_empty() {
            return Ok(Changes {
                writes,
                removals,
                kept,
            });
        }
        in_the_way.sort();
        in_the_way.dedup();
        Err(RestoreError::InTheWay(
            in_the_way.iter().filter_map(repo_path).collect(),
        ))
    }

    fn into_laid(self, changes: Changes) -> Laid {
        let mut known = self.found;
        for &at in &changes.writes {
            known[at] = None;
        }
        // Only what was last changed before the capture began is sure to change its time with its content.
        for found in &mut known {
            *found = found.filter(|found| found.changed_at < self.since);
        }
        Laid {
            expected: self.expected,
            known,
            kept: changes.kept,
        }
    }
}
