//! A scope as one repository sees it: its local ref, what a remote was last seen to hold, and what of it was
//! judged before.

use gix::{ObjectId, refs::FullName};
use store::{
    error_code::ErrorCode,
    line::{self, Relation},
    ref_store::{RefChange, RefError, RefUpdate},
    repository::Repository,
    scope::{RECORDS, REMOTE, ScopeName},
    timestamp::Timestamp,
    verify::VerifiedRecord,
};

use crate::{
    judge::Judge,
    policy::Policy,
    rejection::{Rejection, non_linear},
};

/// A scope with its tip, judged.
pub struct ScopeView {
    /// The scope.
    pub scope: ScopeName,
    /// The newer of the local and the remote tip.
    pub tip: VerifiedRecord,
    /// What `refs/handoff/<scope>` names.
    pub local: Option<ObjectId>,
    /// What the remote was last seen to hold.
    pub remote: Option<ObjectId>,
    /// Where the local tip stands to the remote one, where there are both.
    pub relation: Option<Relation>,
}

/// Says why a scope cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// There is no such scope, neither here nor in what a remote was last seen to hold.
    #[error("there is no scope `{0}`")]
    NotFound(ScopeName),
    /// Its records break a rule.
    #[error(transparent)]
    Rejected(#[from] Rejection),
    /// A ref cannot be read or moved.
    #[error(transparent)]
    Ref(#[from] RefError),
}

/// Reads scopes of one repository.
pub struct Reader<'a> {
    /// The repository.
    pub repository: &'a Repository,
    /// The remote whose refs count, if there is one.
    pub remote: Option<&'a str>,
    /// The clock.
    pub now: Timestamp,
}

impl Reader<'_> {
    /// Reads a scope and judges what of it was not judged before.
    ///
    /// A local ref that is strictly behind the remote one is moved forward.
    ///
    /// # Errors
    ///
    /// [`ReadError::NotFound`], or the first rejection; `NON_LINEAR` where the two tips have diverged.
    pub fn read(&self, scope: &ScopeName) -> Result<ScopeView, ReadError> {
        let mut view = self.look(scope)?;
        if view.relation == Some(Relation::Diverged) {
            let detail = "the local line and the remote one have diverged";
            return Err(non_linear(scope, detail).into());
        }
        if let (Some(old), Some(Relation::Behind)) = (view.local, view.relation) {
            let new = view.tip.id;
            let change = RefChange::Advance { old, new };
            let update = RefUpdate {
                name: scope.to_ref(),
                change,
            };
            match self.repository.update_refs(&[update]) {
                Ok(()) => view.local = Some(new),
                // Somebody else has moved it meanwhile: what was looked at is no longer what is there.
                Err(RefError::Moved { .. }) => return self.read(scope),
                // A read must work where nothing can be written.
                Err(RefError::Git(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(view)
    }

    /// Reads a scope as [`Reader::read`] does, moves nothing, and takes the local tip where the two have diverged.
    ///
    /// # Errors
    ///
    /// [`ReadError::NotFound`], or the first rejection.
    pub fn look(&self, scope: &ScopeName) -> Result<ScopeView, ReadError> {
        let objects = self.repository.gix();
        let local = self.repository.find_ref(&scope.to_ref())?;
        let remote = self.remote_tip(scope)?;
        let relation = match (local, remote) {
            (Some(local), Some(remote)) => {
                Some(line::compare(objects, local, remote).map_err(Rejection::from)?)
            }
            _ => None,
        };
        let tip = match relation {
            Some(Relation::Behind) => remote,
            _ => local.or(remote),
        };
        let tip = tip.ok_or_else(|| ReadError::NotFound(scope.clone()))?;
        let tip = self.judged(scope, tip)?;
        // The remote's line was judged with it, unless it goes another way.
        if let (Some(remote), false) = (remote, relation == Some(Relation::Diverged)) {
            self.note_seen(scope, remote)?;
        }
        Ok(ScopeView {
            scope: scope.clone(),
            tip,
            local,
            remote,
            relation,
        })
    }

    /// Returns what the remote was last fetched to hold.
    ///
    /// # Errors
    ///
    /// `NON_LINEAR` where that does not continue what it was seen to hold before.
    pub fn remote_tip(&self, scope: &ScopeName) -> Result<Option<ObjectId>, ReadError> {
        let Some(remote) = self.remote else {
            return Ok(None);
        };
        let find = |name: Option<FullName>| match name {
            Some(name) => self.repository.find_ref(&name),
            None => Ok(None),
        };
        let tip = find(scope.to_remote_ref(remote))?;
        let seen =
            find(scope.to_seen_ref(remote))?.filter(|seen| self.repository.gix().has_object(seen));
        if let (Some(tip), Some(seen)) = (tip, seen)
            && tip != seen
            && line::back_to(self.repository.gix(), tip, |id| id == seen)
                .map_err(Rejection::from)?
                .stopped_at
                .is_none()
        {
            let detail = format!(
                "the remote `{remote}` went back or aside: it holds {tip}, which does not continue {seen}"
            );
            return Err(self.astray(scope, &detail).into());
        }
        Ok(tip)
    }

    fn note_seen(&self, scope: &ScopeName, tip: ObjectId) -> Result<(), ReadError> {
        let Some(name) = self.remote.and_then(|remote| scope.to_seen_ref(remote)) else {
            return Ok(());
        };
        let seen = self.repository.find_ref(&name)?;
        if seen != Some(tip) {
            let change = RefChange::from_seen(seen, tip);
            // A read must work where nothing can be written.
            let _ = self.repository.update_refs(&[RefUpdate { name, change }]);
        }
        Ok(())
    }

    /// Refuses a line that does not go on from what was read of it, and says how to begin anew with it.
    fn astray(&self, scope: &ScopeName, detail: &str) -> Rejection {
        let seen = self.remote.and_then(|remote| scope.to_seen_ref(remote));
        let marks = std::iter::once(scope.to_verified_ref()).chain(seen);
        let forget = marks
            .map(|name| format!("git update-ref -d {name}"))
            .collect::<Vec<_>>()
            .join(" && ");
        Rejection::new(ErrorCode::NonLinear, format!("scope `{scope}`: {detail}"))
            .hint("nothing was taken over; ask who runs the server what happened to the scope")
            .hint(format!(
                "if it was done on purpose, forget what was read: {forget}"
            ))
    }

    /// Judges the line of a tip from what was judged before, and remembers how far it came.
    ///
    /// # Errors
    ///
    /// The first rejection; `NON_LINEAR` where the line does not go through what was judged before.
    pub fn judged(&self, scope: &ScopeName, tip: ObjectId) -> Result<VerifiedRecord, ReadError> {
        let objects = self.repository.gix();
        let mark = self.repository.find_ref(&scope.to_verified_ref())?;
        // Where the mark's commit is gone, nothing was judged that still counts.
        let mark = mark.filter(|mark| objects.has_object(mark));
        let judge = Judge {
            objects,
            policy: Policy::default(),
            now: self.now,
        };
        let judged = judge.line(scope, tip, None, mark)?;
        let on_line = mark.is_none_or(|mark| mark == tip || judged.starts_after(mark));
        if !on_line {
            let detail = format!("the line of {tip} went back or aside of what was read before");
            return Err(self.astray(scope, &detail).into());
        }
        if mark != Some(tip) {
            let change = RefChange::from_seen(mark, tip);
            // A mark that cannot be written costs time the next time, nothing else.
            let _ = self.repository.update_refs(&[RefUpdate {
                name: scope.to_verified_ref(),
                change,
            }]);
        }
        Ok(judged.tip)
    }

    /// Returns all scopes that are here or at the remote, by name.
    ///
    /// # Errors
    ///
    /// Where the refs cannot be read, or one is no scope's.
    pub fn scopes(&self) -> Result<Vec<ScopeName>, ReadError> {
        let mut scopes = local_scopes(self.repository)?;
        if let Some(remote) = self.remote {
            scopes.extend(scopes_at(self.repository, &format!("{REMOTE}{remote}/"))?);
        }
        scopes.sort();
        scopes.dedup();
        Ok(scopes)
    }
}

/// Returns the scopes with a local ref, by name; refs below `refs/handoff/` with other names are left out.
///
/// # Errors
///
/// Where the refs cannot be read.
pub fn local_scopes(repository: &Repository) -> Result<Vec<ScopeName>, RefError> {
    let refs = repository.list_refs(RECORDS)?;
    Ok(refs
        .iter()
        .filter_map(|(name, _)| ScopeName::from_ref(name.as_bstr()).ok())
        .collect())
}

/// Returns the scopes with a local ref, and those that any remote was last seen to hold.
///
/// # Errors
///
/// Where the refs cannot be read.
pub fn known_scopes(repository: &Repository) -> Result<Vec<ScopeName>, RefError> {
    let mut scopes = local_scopes(repository)?;
    scopes.extend(scopes_at(repository, REMOTE)?);
    Ok(scopes)
}

/// Returns the scopes that the last components of the refs below a namespace name.
fn scopes_at(repository: &Repository, namespace: &str) -> Result<Vec<ScopeName>, RefError> {
    let refs = repository.list_refs(namespace)?;
    let last = |(name, _): &(FullName, ObjectId)| {
        let last = name.as_bstr().rsplit(|b| *b == b'/').next()?;
        std::str::from_utf8(last).ok()?.parse().ok()
    };
    Ok(refs.iter().filter_map(last).collect())
}

/// Judges one ref change before it is sent from a repository.
///
/// # Errors
///
/// The first rejection; `CAS_CONFLICT` where the remote's tip is not here.
pub fn judge_outgoing(
    repository: &Repository,
    name: &gix::bstr::BStr,
    change: RefChange,
    now: Timestamp,
) -> Result<(), Rejection> {
    let scope = crate::rules::namespace::scope_of(name)?;
    let objects = repository.gix();
    if let Some(old) = change.old().filter(|old| !objects.has_object(old)) {
        let detail = format!("the remote is at {old}, which is not here");
        return Err(Rejection::new(ErrorCode::CasConflict, detail)
            .hint("bring it here first: git handoff sync"));
    }
    let failed = |error: RefError| Rejection::new(ErrorCode::Io, error.to_string());
    let mark = repository
        .find_ref(&scope.to_verified_ref())
        .map_err(failed)?;
    let mark = mark.filter(|mark| objects.has_object(mark));
    let judge = Judge {
        objects,
        policy: Policy::default(),
        now,
    };
    judge
        .change(name, change, mark, || {
            known_scopes(repository).map_err(failed)
        })
        .map(|_| ())
}
