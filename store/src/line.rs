//! The record line of a scope: from its tip back to the first generation.

use gix::ObjectId;

use crate::{
    contract::message,
    generation::Generation,
    record::{RecordError, read_object},
};

/// Largest commit that a record may be, in bytes.
const MAX_COMMIT_BYTES: u64 = 1 << 20;

/// What a commit says of its place in a line.
///
/// Taken from its message alone: where that lies, the record is refused when it is verified.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// The generation that is current at the record.
    pub generation: Generation,
    /// The record before, or `None` at the start of the line, or where the history here is cut.
    pub before: Option<ObjectId>,
    /// Whether there is a record before that the shallow history here leaves out.
    pub is_cut: bool,
}

/// Returns the place of the record at a commit.
///
/// # Errors
///
/// Where the commit is missing, or is no record.
pub fn place(objects: &gix::Repository, id: ObjectId) -> Result<Place, RecordError> {
    let data = read_object(objects, id, gix::objs::Kind::Commit, MAX_COMMIT_BYTES)?;
    let malformed = || RecordError::Commit { id };
    let commit =
        gix::objs::CommitRef::from_bytes(&data, objects.object_hash()).map_err(|_| malformed())?;
    let trailers = message::parse_trailers(commit.message).ok_or(RecordError::NoTrailers { id })?;
    let starts = trailers.record == "checkpoint" && trailers.generation == Generation::FIRST;
    let before = match commit.parents().next() {
        _ if starts => None,
        Some(parent) => Some(parent),
        None => return Err(malformed()),
    };
    let is_cut = before.is_some() && is_shallow_at(objects, id);
    Ok(Place {
        generation: trailers.generation,
        before: before.filter(|_| !is_cut),
        is_cut,
    })
}

/// Tells whether the history here ends at a commit that has parents.
fn is_shallow_at(objects: &gix::Repository, id: ObjectId) -> bool {
    // Where the boundary cannot be read, the missing commit behind it is the error.
    let shallow = objects.shallow_commits().ok().flatten();
    shallow.is_some_and(|commits| commits.contains(&id))
}

fn before(objects: &gix::Repository, id: ObjectId) -> Result<Option<ObjectId>, RecordError> {
    place(objects, id).map(|place| place.before)
}

/// Returns the newest record of a generation on the line of `tip`, or `None` where the line has none.
///
/// # Errors
///
/// Where a commit on the way is missing, or is no record.
pub fn find_generation(
    objects: &gix::Repository,
    tip: ObjectId,
    generation: Generation,
) -> Result<Option<ObjectId>, RecordError> {
    let mut next = Some(tip);
    while let Some(id) = next {
        let place = place(objects, id)?;
        if place.generation <= generation {
            return Ok((place.generation == generation).then_some(id));
        }
        next = place.before;
    }
    Ok(None)
}

/// Tells whether a commit says of itself that it is a record.
///
/// A code commit may be of any size and age: one that cannot be parsed is none.
///
/// # Errors
///
/// Where the commit is missing.
pub fn is_record(objects: &gix::Repository, id: ObjectId) -> Result<bool, RecordError> {
    let data = read_object(objects, id, gix::objs::Kind::Commit, u64::MAX)?;
    let commit = gix::objs::CommitRef::from_bytes(&data, objects.object_hash());
    Ok(commit.is_ok_and(|commit| message::parse_trailers(commit.message).is_some()))
}

/// Where one tip of a scope stands to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Relation {
    /// They are the same.
    Same,
    /// The first continues the line of the second.
    Ahead,
    /// The second continues the line of the first.
    Behind,
    /// Neither continues the other.
    Diverged,
}

/// Compares two tips by their record lines, walking both back step by step.
///
/// # Errors
///
/// Where a commit on the way is missing, or is no record.
pub fn compare(
    objects: &gix::Repository,
    one: ObjectId,
    other: ObjectId,
) -> Result<Relation, RecordError> {
    if one == other {
        return Ok(Relation::Same);
    }
    let (mut down_one, mut down_other) = (Some(one), Some(other));
    while down_one.is_some() || down_other.is_some() {
        down_one = down_one
            .map(|id| before(objects, id))
            .transpose()?
            .flatten();
        if down_one == Some(other) {
            return Ok(Relation::Ahead);
        }
        down_other = down_other
            .map(|id| before(objects, id))
            .transpose()?
            .flatten();
        if down_other == Some(one) {
            return Ok(Relation::Behind);
        }
    }
    Ok(Relation::Diverged)
}

/// Returns the records from `tip` back to `stop`, newest first, without `stop`; where it is not met, to the start of
/// the line, or to where the history here is cut.
///
/// # Errors
///
/// Where a commit on the way is missing, or is no record.
pub fn back_to(
    objects: &gix::Repository,
    tip: ObjectId,
    stop: impl Fn(ObjectId) -> bool,
) -> Result<Walk, RecordError> {
    let mut walk = Walk {
        records: Vec::new(),
        stopped_at: None,
        is_cut: false,
    };
    let mut next = Some(tip);
    while let Some(id) = next {
        if stop(id) {
            walk.stopped_at = Some(id);
            break;
        }
        let place = place(objects, id)?;
        (next, walk.is_cut) = (place.before, place.is_cut);
        walk.records.push(id);
    }
    Ok(walk)
}

/// What [`back_to`] met.
#[derive(Clone, Debug)]
pub struct Walk {
    /// The records, newest first.
    pub records: Vec<ObjectId>,
    /// The record that ended the walk, or `None` where the line began or is cut.
    pub stopped_at: Option<ObjectId>,
    /// Whether records before the last one are left out by the shallow history here.
    pub is_cut: bool,
}
