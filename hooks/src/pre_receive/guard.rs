//! What is refused although the rules are in shadow.
//!
//! A scope whose line holds an accept is neither deleted nor taken back, in every mode in which anything is judged. Where
//! the mode of the server is enforce or freeze, and this scope alone is not enforced, so are its namespace and who
//! wrote its records: these say whose a scope is, and a trial must not give that away.

use std::collections::BTreeSet;

use gix::ObjectId;
use store::{
    error_code::ErrorCode,
    line,
    record::{Record, RecordError},
    ref_store::RefChange,
    scope::ScopeName,
};

use super::{Server, Update};
use crate::{
    rejection::{Rejection, non_linear},
    rules::namespace,
};

impl Server {
    /// Sees that a change which is not enforced takes nothing away that must stay.
    pub(super) fn guard(
        &self,
        update: &Update,
        created: &BTreeSet<ScopeName>,
    ) -> Result<(), Rejection> {
        let strict = self.settings.modes.general.refuses();
        let scope = match namespace::scope_of(update.name.as_ref()) {
            Ok(scope) => scope,
            Err(rejection) => return strict.then_some(rejection).map_or(Ok(()), Err),
        };
        let current = match self.current_tip(&scope) {
            Ok(current) => current,
            Err(rejection) if strict || rejection.code == ErrorCode::Io => return Err(rejection),
            Err(_) => return Ok(()),
        };
        let Some(change) = RefChange::from_ids(update.old, update.new) else {
            return strict.then(|| deletion(&scope)).map_or(Ok(()), Err);
        };
        let objects = self.repository.gix();
        let way = match change.target() {
            Some(new) => Some(Way::back(objects, new, current)?),
            None => None,
        };
        let stays = way.as_ref().is_some_and(|way| way.meets_old);
        if strict && way.is_none() {
            return Err(deletion(&scope));
        }
        if let Some(current) = current.filter(|_| !stays)
            && let Some(accept) = accept_below(objects, current)?
        {
            return Err(match change.target() {
                None => deletion(&scope),
                Some(new) => non_linear(
                    &scope,
                    &format!("{new} does not continue the line that holds the accept {accept}"),
                ),
            });
        }
        if !strict {
            return Ok(());
        }
        self.pusher.is_known(&self.settings.identity)?;
        if current.is_none() {
            namespace::no_collision(&scope, &self.namesakes(&scope, created)?)?;
        }
        let new_records = way.into_iter().flat_map(|way| way.records);
        for id in new_records {
            // What cannot be read as a record names nobody, and no reader takes it for anybody's.
            if let Ok(record) = Record::read(objects, id) {
                self.judge_author(&record)?;
            }
        }
        Ok(())
    }
}

/// Makes the rejection of a deletion.
pub(super) fn deletion(scope: &ScopeName) -> Rejection {
    let detail = format!("scope `{scope}` is never deleted by a push");
    Rejection::new(ErrorCode::DeleteRefused, detail)
        .hint("whoever runs the server can: handoff-hooks purge <ref> --reason <text>")
}

/// The commits from a new tip back to the old one, as far as they can be followed.
struct Way {
    records: Vec<ObjectId>,
    meets_old: bool,
}

impl Way {
    fn back(
        objects: &gix::Repository,
        new: ObjectId,
        old: Option<ObjectId>,
    ) -> Result<Self, Rejection> {
        let mut way = Way {
            records: Vec::new(),
            meets_old: false,
        };
        let mut next = Some(new);
        while let Some(id) = next {
            way.meets_old = Some(id) == old;
            if way.meets_old {
                break;
            }
            way.records.push(id);
            next = before(objects, id)?;
        }
        Ok(way)
    }
}

/// Returns the newest accept on the line of a tip, as far as it can be followed.
fn accept_below(objects: &gix::Repository, tip: ObjectId) -> Result<Option<ObjectId>, Rejection> {
    let mut next = Some(tip);
    while let Some(id) = next {
        if Record::read(objects, id).is_ok_and(|record| record.accept.is_some()) {
            return Ok(Some(id));
        }
        next = before(objects, id)?;
    }
    Ok(None)
}

/// Returns the record before one; none where the line begins, or what stands there is no record.
fn before(objects: &gix::Repository, id: ObjectId) -> Result<Option<ObjectId>, Rejection> {
    match line::place(objects, id) {
        Ok(place) => Ok(place.before),
        Err(error @ RecordError::Object { .. }) => Err(error.into()),
        Err(_) => Ok(None),
    }
}
