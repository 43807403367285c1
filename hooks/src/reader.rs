//! A scope as one repository sees it: its local ref, what a remote was last seen to hold, and what of it was
//! judged before.

use std::collections::{BTreeMap, btree_map};

use gix::{ObjectId, refs::FullName};
use store::{
    error_code::ErrorCode,
    line::{self, Relation},
    record::Outline,
    ref_store::{RefChange, RefError, RefUpdate},
    repository::Repository,
    scope::{RECORDS, REMOTE, SEEN, ScopeName, VERIFIED},
    timestamp::Timestamp,
    verify::{self, Depth, VerifiedRecord},
};

use crate::{
    judge::Judge,
    policy::Policy,
    rejection::{Rejection, non_linear},
    secret_scan::{NewState, SecretScan},
};

/// How many notes are written in one ref transaction.
const NOTES_AT_ONCE: usize = 1_000;

/// What the refs of a scope name.
#[derive(Clone, Copy, Default)]
struct ScopeRefs {
    /// `refs/handoff/<scope>`.
    local: Option<ObjectId>,
    /// What the remote was last fetched to hold.
    remote: Option<ObjectId>,
    /// The newest of the remote's records that was judged here.
    seen: Option<ObjectId>,
    /// How far the line was judged here.
    verified: Option<ObjectId>,
}

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

/// A scope as a list shows it.
pub struct ScopeGlance {
    /// The scope.
    pub scope: ScopeName,
    /// What its newer tip says.
    pub tip: Outline,
    /// Where the scope is.
    pub place: Place,
}

/// Where a scope is: here, at the remote, or both.
#[derive(Clone, Copy, Debug)]
pub struct Place {
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
        let mut notes = Vec::new();
        let view = self.look_at(scope, &self.refs(scope)?, &mut notes);
        self.note(&notes);
        view
    }

    /// Looks at every scope that is here or at the remote, by name, as [`Reader::look`] does.
    ///
    /// # Errors
    ///
    /// Where the refs cannot be read.
    pub fn look_at_all(&self) -> Result<Looks<'_>, ReadError> {
        Ok(Looks {
            reader: self,
            left: self.all_refs()?.into_iter(),
            notes: Vec::new(),
            noted: 0,
        })
    }

    /// Adds to `notes` what is to be remembered of the look.
    fn look_at(
        &self,
        scope: &ScopeName,
        refs: &ScopeRefs,
        notes: &mut Vec<RefUpdate>,
    ) -> Result<ScopeView, ReadError> {
        let (tip, place) = self.place(scope, refs)?;
        let Place {
            local,
            remote,
            relation,
        } = place;
        let tip = self.judged_from(scope, tip, refs.verified, notes)?;
        let seen = self.remote.and_then(|remote| scope.to_seen_ref(remote));
        // The remote's line was judged with it, unless it goes another way.
        if let (Some(remote), Some(name), false) =
            (remote, seen, relation == Some(Relation::Diverged))
            && refs.seen != Some(remote)
        {
            let change = RefChange::from_seen(refs.seen, remote);
            notes.push(RefUpdate { name, change });
        }
        Ok(ScopeView {
            scope: scope.clone(),
            tip,
            local,
            remote,
            relation,
        })
    }

    /// Looks at a scope as [`Reader::look_at`] does; of a tip that was judged before, only messages are read.
    fn glance_at(
        &self,
        scope: &ScopeName,
        refs: &ScopeRefs,
        notes: &mut Vec<RefUpdate>,
    ) -> Result<ScopeGlance, ReadError> {
        let (tip, place) = self.place(scope, refs)?;
        let is_known = refs.verified == Some(tip) && refs.seen == place.remote;
        let outline = is_known.then(|| Outline::read(self.repository.gix(), scope, tip));
        Ok(ScopeGlance {
            scope: scope.clone(),
            place,
            tip: match outline.flatten() {
                Some(outline) => outline,
                None => Outline::of(&self.look_at(scope, refs, notes)?.tip),
            },
        })
    }

    /// Finds the newer tip of a scope, or the local one where the two have diverged.
    fn place(&self, scope: &ScopeName, refs: &ScopeRefs) -> Result<(ObjectId, Place), ReadError> {
        let (local, remote) = (refs.local, self.remote_of(scope, refs)?);
        let relation = match (local, remote) {
            (Some(local), Some(remote)) => {
                Some(line::compare(self.repository.gix(), local, remote).map_err(Rejection::from)?)
            }
            _ => None,
        };
        let tip = match relation {
            Some(Relation::Behind) => remote,
            _ => local.or(remote),
        };
        let tip = tip.ok_or_else(|| ReadError::NotFound(scope.clone()))?;
        let place = Place {
            local,
            remote,
            relation,
        };
        Ok((tip, place))
    }

    /// Returns what the remote was last fetched to hold.
    ///
    /// # Errors
    ///
    /// `NON_LINEAR` where that does not continue what it was seen to hold before.
    pub fn remote_tip(&self, scope: &ScopeName) -> Result<Option<ObjectId>, ReadError> {
        self.remote_of(scope, &self.refs(scope)?)
    }

    fn remote_of(
        &self,
        scope: &ScopeName,
        refs: &ScopeRefs,
    ) -> Result<Option<ObjectId>, ReadError> {
        let objects = self.repository.gix();
        if let (Some(remote), Some(tip), Some(seen)) = (self.remote, refs.remote, refs.seen)
            && tip != seen
            && objects.has_object(seen)
            && line::back_to(objects, tip, |id| id == seen)
                .map_err(Rejection::from)?
                .stopped_at
                .is_none()
        {
            let detail = format!(
                "the remote `{remote}` went back or aside: it holds {tip}, which does not continue {seen}"
            );
            return Err(self.astray(scope, &detail).into());
        }
        Ok(refs.remote)
    }

    /// Remembers what was looked at. A read must work where nothing can be written, and what is not remembered is
    /// judged again the next time.
    fn note(&self, notes: &[RefUpdate]) {
        if !notes.is_empty() {
            let _ = self.repository.update_refs(notes);
        }
    }

    fn refs(&self, scope: &ScopeName) -> Result<ScopeRefs, ReadError> {
        let find = |name: Option<FullName>| match name {
            Some(name) => self.repository.find_ref(&name),
            None => Ok(None),
        };
        let remote = |name: fn(&ScopeName, &str) -> Option<FullName>| {
            find(self.remote.and_then(|remote| name(scope, remote)))
        };
        Ok(ScopeRefs {
            local: find(Some(scope.to_ref()))?,
            remote: remote(ScopeName::to_remote_ref)?,
            seen: remote(ScopeName::to_seen_ref)?,
            verified: find(Some(scope.to_verified_ref()))?,
        })
    }

    /// Returns the refs of every scope that is here or at the remote, by name.
    fn all_refs(&self) -> Result<BTreeMap<ScopeName, ScopeRefs>, ReadError> {
        let mut all: BTreeMap<ScopeName, ScopeRefs> = BTreeMap::new();
        for (name, id) in self.repository.list_refs(RECORDS)? {
            if let Ok(scope) = ScopeName::from_ref(name.as_bstr()) {
                all.entry(scope).or_default().local = Some(id);
            }
        }
        if let Some(remote) = self.remote {
            for (scope, id) in scopes_at(self.repository, &format!("{REMOTE}{remote}/"))? {
                all.entry(scope).or_default().remote = Some(id);
            }
            for (scope, id) in scopes_at(self.repository, &format!("{SEEN}{remote}/"))? {
                all.entry(scope).and_modify(|refs| refs.seen = Some(id));
            }
        }
        for (scope, id) in scopes_at(self.repository, VERIFIED)? {
            all.entry(scope).and_modify(|refs| refs.verified = Some(id));
        }
        Ok(all)
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
        let mark = self.repository.find_ref(&scope.to_verified_ref())?;
        let mut notes = Vec::new();
        let judged = self.judged_from(scope, tip, mark, &mut notes);
        self.note(&notes);
        judged
    }

    fn judged_from(
        &self,
        scope: &ScopeName,
        tip: ObjectId,
        mark: Option<ObjectId>,
        notes: &mut Vec<RefUpdate>,
    ) -> Result<VerifiedRecord, ReadError> {
        let objects = self.repository.gix();
        let judge = Judge {
            objects,
            policy: Policy::default(),
            now: self.now,
        };
        // Where the mark's commit is gone, nothing was judged that still counts.
        let trusted = mark.filter(|mark| *mark == tip || objects.has_object(mark));
        let judged = judge.line(scope, tip, None, trusted)?;
        if trusted.is_some_and(|mark| mark != tip && !judged.starts_after(mark)) {
            let detail = format!("the line of {tip} went back or aside of what was read before");
            return Err(self.astray(scope, &detail).into());
        }
        if mark != Some(tip) {
            notes.push(RefUpdate {
                name: scope.to_verified_ref(),
                change: RefChange::from_seen(mark, tip),
            });
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
            let namespace = format!("{REMOTE}{remote}/");
            let known = scopes_at(self.repository, &namespace)?;
            scopes.extend(known.into_iter().map(|(scope, _)| scope));
        }
        scopes.sort();
        scopes.dedup();
        Ok(scopes)
    }
}

/// Looks at one scope after the other; what is to be remembered is written in few transactions.
pub struct Looks<'a> {
    reader: &'a Reader<'a>,
    left: btree_map::IntoIter<ScopeName, ScopeRefs>,
    notes: Vec<RefUpdate>,
    /// How many notes were written.
    noted: usize,
}

/// A way to look at one scope.
type Look<'a, T> =
    fn(&Reader<'a>, &ScopeName, &ScopeRefs, &mut Vec<RefUpdate>) -> Result<T, ReadError>;

impl<'a> Looks<'a> {
    /// Goes on with what a list shows of each scope.
    pub fn glances(
        mut self,
    ) -> impl Iterator<Item = (ScopeName, Result<ScopeGlance, ReadError>)> + use<'a> {
        std::iter::from_fn(move || self.look_with(Reader::glance_at))
    }

    fn look_with<T>(&mut self, look: Look<'a, T>) -> Option<(ScopeName, Result<T, ReadError>)> {
        let (scope, refs) = self.left.next()?;
        let found = look(self.reader, &scope, &refs, &mut self.notes);
        if self.notes.len() >= NOTES_AT_ONCE {
            self.write_notes();
        }
        Some((scope, found))
    }

    fn write_notes(&mut self) {
        let notes = std::mem::take(&mut self.notes);
        self.reader.note(&notes);
        self.noted += notes.len();
    }
}

impl Iterator for Looks<'_> {
    type Item = (ScopeName, Result<ScopeView, ReadError>);

    fn next(&mut self) -> Option<Self::Item> {
        self.look_with(Reader::look_at)
    }
}

impl Drop for Looks<'_> {
    fn drop(&mut self) {
        self.write_notes();
        if self.noted >= NOTES_AT_ONCE {
            // So many files are slow to read; that they are not packed changes nothing else.
            let _ = self.reader.repository.git().output(["pack-refs", "--all"]);
        }
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
    let known = scopes_at(repository, REMOTE)?;
    scopes.extend(known.into_iter().map(|(scope, _)| scope));
    Ok(scopes)
}

/// Returns the scopes that the last components of the refs below a namespace name, and what those refs name.
fn scopes_at(
    repository: &Repository,
    namespace: &str,
) -> Result<Vec<(ScopeName, ObjectId)>, RefError> {
    let refs = repository.list_refs(namespace)?;
    let last = |(name, id): &(FullName, ObjectId)| {
        let last = name.as_bstr().rsplit(|b| *b == b'/').next()?;
        Some((std::str::from_utf8(last).ok()?.parse().ok()?, *id))
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
    secrets: &SecretScan,
) -> Result<(), Rejection> {
    let scope = crate::rules::namespace::scope_of(name)?;
    let objects = repository.gix();
    if let Some(old) = change.old().filter(|old| !objects.has_object(old)) {
        let detail = format!("the remote is at {old}, which is not here");
        return Err(Rejection::new(ErrorCode::CasConflict, detail)
            .hint("what was written here follows a STALE_CHECKPOINT; bring the newer one here first: git handoff sync"));
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
    judge.change(name, change, mark, || {
        known_scopes(repository).map_err(failed)
    })?;
    scan_outgoing(repository, &scope, change, secrets)
}

/// Looks for secrets in the records that the remote lacks, whoever judged them before.
fn scan_outgoing(
    repository: &Repository,
    scope: &ScopeName,
    change: RefChange,
    secrets: &SecretScan,
) -> Result<(), Rejection> {
    let Some(new) = change.target() else {
        return Ok(());
    };
    let objects = repository.gix();
    let walk = line::back_to(objects, new, |id| Some(id) == change.old())?;
    let read = |id, before: Option<&VerifiedRecord>| {
        verify::record(objects, id, Some(scope), before, Depth::Documents).into_result()
    };
    let mut before = match walk.stopped_at {
        Some(id) => Some(read(id, None)?),
        None => None,
    };
    for id in walk.records.iter().rev() {
        let record = read(*id, before.as_ref())?;
        let state = NewState::of_record(&record);
        let found = secrets.scan(repository, before.as_ref(), &state)?;
        if let Some(rejection) = found.rejection() {
            return Err(rejection);
        }
        before = Some(record);
    }
    secrets.remember();
    Ok(())
}
