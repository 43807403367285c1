//! Judges the change of one ref: from where it is to where it would be.

use gix::{ObjectId, bstr::BStr};
use store::{
    error_code::ErrorCode,
    line,
    record::RecordError,
    ref_store::RefChange,
    scope::ScopeName,
    timestamp::Timestamp,
    verify::{self, Depth, VerifiedRecord},
};

use crate::{
    policy::{CutLines, Policy},
    rejection::{Rejection, non_linear},
    rules::{self, Step, namespace},
};

/// What all judgements of one run share.
pub struct Judge<'a> {
    /// Where objects are read from; in a hook, the quarantine first.
    pub objects: &'a gix::Repository,
    /// What the operator has set.
    pub policy: Policy,
    /// The clock.
    pub now: Timestamp,
}

/// A record that was found good.
pub struct Found<'r> {
    /// The record before; `None` at the start of the line.
    pub before: Option<&'r VerifiedRecord>,
    /// The record.
    pub record: &'r VerifiedRecord,
    /// How many records of the line are left.
    pub left: usize,
}

/// What is asked after each record.
pub type Watch<'w> = dyn FnMut(Found<'_>) -> Result<(), Rejection> + 'w;

/// A line of records of which every one was judged.
pub struct JudgedLine {
    /// The newest record.
    pub tip: VerifiedRecord,
    /// The records that were judged just now, oldest first.
    pub new_records: Vec<ObjectId>,
    /// The record that was judged before, where the line was met there.
    pub trusted: Option<ObjectId>,
}

impl JudgedLine {
    /// Tells whether the line was judged from `record` on.
    pub fn starts_after(&self, record: ObjectId) -> bool {
        self.trusted == Some(record)
    }
}

impl Judge<'_> {
    /// Judges a change of a ref.
    ///
    /// `trusted` is a record that was judged before, if one is known; `scopes` gives the other scopes of the store
    /// when a new one is made.
    ///
    /// # Errors
    ///
    /// The first rejection.
    pub fn change(
        &self,
        name: &BStr,
        change: RefChange,
        trusted: Option<ObjectId>,
        scopes: impl FnOnce() -> Result<Vec<ScopeName>, Rejection>,
    ) -> Result<JudgedLine, Rejection> {
        self.change_watched(name, change, trusted, scopes, &mut |_| Ok(()))
    }

    /// Judges a change of a ref as [`Judge::change`] does, and asks `watch` after each record that was found good.
    ///
    /// What `watch` refuses is refused.
    ///
    /// # Errors
    ///
    /// The first rejection.
    pub fn change_watched(
        &self,
        name: &BStr,
        change: RefChange,
        trusted: Option<ObjectId>,
        scopes: impl FnOnce() -> Result<Vec<ScopeName>, Rejection>,
        watch: &mut Watch<'_>,
    ) -> Result<JudgedLine, Rejection> {
        let scope = namespace::scope_of(name)?;
        let (old, new) = match change {
            RefChange::Create { new } => (None, new),
            RefChange::Advance { old, new } => (Some(old), new),
            RefChange::Delete { .. } => {
                let detail = format!("scope `{scope}` is never deleted by a push");
                return Err(Rejection::new(ErrorCode::DeleteRefused, detail));
            }
        };
        if old.is_none() {
            namespace::no_collision(&scope, &scopes()?)?;
        }
        self.line_watched(&scope, new, old, trusted, watch)
    }

    /// Judges every record from `trusted`, else from the start of the line, to `tip`; where a shallow history leaves
    /// out the start, from the oldest record that is here, as [`Policy::cut_lines`] says.
    ///
    /// # Errors
    ///
    /// `NON_LINEAR` where `old` is not on the record line of `tip`; else the first rejection.
    pub fn line(
        &self,
        scope: &ScopeName,
        tip: ObjectId,
        old: Option<ObjectId>,
        trusted: Option<ObjectId>,
    ) -> Result<JudgedLine, Rejection> {
        self.line_watched(scope, tip, old, trusted, &mut |_| Ok(()))
    }

    fn line_watched(
        &self,
        scope: &ScopeName,
        tip: ObjectId,
        old: Option<ObjectId>,
        trusted: Option<ObjectId>,
        watch: &mut Watch<'_>,
    ) -> Result<JudgedLine, Rejection> {
        let mut walk = match line::back_to(self.objects, tip, |id| Some(id) == trusted) {
            Ok(walk) => walk,
            Err(error) => return Err(self.broken_line(scope, tip, error)),
        };
        let oldest = self.oldest_of_cut(&walk)?;
        let met = |id: ObjectId| walk.records.contains(&id) || walk.stopped_at == Some(id);
        if let Some(old) = old
            && !met(old)
            && !self.is_below(walk.stopped_at, old)?
        {
            return Err(non_linear(
                scope,
                &format!("{tip} does not continue the record line of {old}"),
            ));
        }
        let by_itself = |id: ObjectId, depth: Depth| {
            verify::record(self.objects, id, Some(scope), None, depth).into_result()
        };
        let mut before = match (walk.stopped_at, oldest) {
            (Some(id), _) => Some(by_itself(id, Depth::Documents)?),
            (None, Some(id)) => {
                walk.records.pop();
                Some(by_itself(id, Depth::Trees)?)
            }
            (None, None) => None,
        };
        for (left, id) in walk.records.iter().enumerate().rev() {
            let after = verify::record(
                self.objects,
                *id,
                Some(scope),
                before.as_ref(),
                Depth::Trees,
            )
            .into_result()?;
            let step = Step {
                scope,
                before: before.as_ref(),
                after: &after,
                policy: &self.policy,
                now: self.now,
            };
            rules::judge(&step)?;
            rules::code_history::rule(self.objects, before.as_ref(), &after)?;
            rules::citations::rule(self.objects, scope, before.as_ref(), &after)?;
            watch(Found {
                before: before.as_ref(),
                record: &after,
                left,
            })?;
            before = Some(after);
        }
        let new_records = walk.records.iter().rev().copied().collect();
        match before {
            Some(tip) => Ok(JudgedLine {
                tip,
                new_records,
                trusted: walk.stopped_at,
            }),
            None => Err(non_linear(scope, "the line has no record")),
        }
    }

    /// Returns the oldest record that is here of a line whose beginning is not.
    fn oldest_of_cut(&self, walk: &line::Walk) -> Result<Option<ObjectId>, Rejection> {
        let Some(oldest) = walk.records.last().copied().filter(|_| walk.is_cut) else {
            return Ok(None);
        };
        match self.policy.cut_lines {
            CutLines::Taken => Ok(Some(oldest)),
            CutLines::Refused => {
                let detail =
                    format!("the record before {oldest} is not here: the history is shallow");
                Err(Rejection::new(ErrorCode::MissingObject, detail))
            }
        }
    }

    /// Says what is wrong with a line that leads to no record: best what is wrong with its tip.
    fn broken_line(&self, scope: &ScopeName, tip: ObjectId, error: RecordError) -> Rejection {
        let tip = verify::record(self.objects, tip, Some(scope), None, Depth::Documents);
        match tip.into_result() {
            Err(violation) => violation.into(),
            Ok(_) => error.into(),
        }
    }

    fn is_below(&self, from: Option<ObjectId>, old: ObjectId) -> Result<bool, Rejection> {
        match from {
            None => Ok(false),
            Some(from) => Ok(line::back_to(self.objects, from, |id| id == old)?
                .stopped_at
                .is_some()),
        }
    }
}
