//! The prepared handoff of a scope: read, written, and made a checkpoint.

use gix::ObjectId;
use hooks::{
    reader::ScopeView,
    rejection::Rejection,
    secret_scan::{NewState, SecretScan},
};
use store::{
    actor::ActorId,
    contract::{Content, Prepared, PreparedSchema},
    digest::Digest,
    error_code::ErrorCode,
    prepared,
    record::{self, NewPrepared, RecordKind},
    ref_store::{RefChange, RefError, RefUpdate},
    repository::Repository,
    scope::ScopeName,
    verify::{self, Depth, VerifiedPrepared, VerifiedRecord},
};

use crate::{
    authoring::{self, Author, Handoff, Warning},
    checkpoint::At,
    error::CommandError,
    safety,
    scopes::Scopes,
    secrets,
};

/// Notes at the end of the message: what it was made of.
const DRAFT: &str = "Handoff-Draft";
const KEPT: &str = "Handoff-Kept";

/// How often a ref that another process moves is tried.
const ATTEMPTS: usize = 20;

/// Writes a judged handoff as the prepared one of its scope; one that says the same is left as it is.
///
/// Returns it, whether it was written now, and what is to be said of what it holds.
pub(crate) fn write(
    author: &Author<'_>,
    handoff: &Handoff,
) -> Result<(VerifiedPrepared, bool, Vec<Warning>), CommandError> {
    let repository = author.repository;
    let document = Prepared {
        schema: PreparedSchema::V1,
        scope: author.scope.clone(),
        observed_tip: handoff.view.as_ref().map(|view| view.tip.id.into()),
        content: handoff.content.clone(),
    };
    if let Ok(Some(known)) = find(repository, author.scope)
        && known.whole() == &document.content
        && known.document.value.observed_tip == document.observed_tip
        && At::of(&known) == At::made_of(handoff)
    {
        return Ok((known, false, Vec::new()));
    }
    let at = At::made_of(handoff);
    let draft = at.draft.map(|digest| format!("{DRAFT}: {digest}"));
    let kept = at.kept.map(|kept| format!("{KEPT}: {kept}"));
    let notes: Vec<String> = draft.into_iter().chain(kept).collect();
    let new = NewPrepared {
        prepared: document,
        at: author.context.now()?,
        receipts: &handoff.receipts,
        attachments: &handoff.attachments,
        notes: &notes,
    };
    let id = record::write(repository, &new.compose(repository)?)?;
    let judged = judge(repository, author.scope, id)?;
    let scan = SecretScan::of_worktree(repository)?;
    let before = handoff.view.as_ref().map(|view| &view.tip);
    let found = scan.scan(repository, before, &NewState::of_prepared(&judged))?;
    scan.remember();
    let warnings = secrets::judge(author.context, repository, author.scope, &found)?;
    point(repository, author.scope, id)?;
    Ok((judged, true, warnings))
}

/// Makes a commit the prepared handoff of a scope.
pub(crate) fn point(
    repository: &Repository,
    scope: &ScopeName,
    id: ObjectId,
) -> Result<(), CommandError> {
    let name = prepared::name(repository, scope)?;
    for attempt in 1.. {
        let seen = repository.find_ref(&name)?;
        if seen == Some(id) {
            return Ok(());
        }
        let change = RefChange::from_seen(seen, id);
        let name = name.clone();
        match repository.update_refs(&[RefUpdate { name, change }]) {
            Err(RefError::Moved { .. }) if attempt < ATTEMPTS => {}
            result => return Ok(result?),
        }
    }
    unreachable!("the loop ends by returning")
}

/// Returns the commit of the prepared handoff of a scope, if there is one.
pub(crate) fn id_if_any(
    repository: &Repository,
    scope: &ScopeName,
) -> Result<Option<ObjectId>, CommandError> {
    Ok(repository.find_ref(&prepared::name(repository, scope)?)?)
}

/// Returns the scopes for which a handoff is prepared in this worktree.
pub(crate) fn all(repository: &Repository) -> Result<Vec<ScopeName>, CommandError> {
    let folder = format!(
        "{}{}/",
        prepared::PREPARED,
        repository.worktree_name().as_str()
    );
    let refs = repository.list_refs(&folder)?;
    let scope = |(name, _): &(_, _)| {
        let name: &gix::refs::FullName = name;
        let scope = name.as_bstr().strip_prefix(folder.as_bytes())?;
        std::str::from_utf8(scope).ok()?.parse().ok()
    };
    Ok(refs.iter().filter_map(scope).collect())
}

/// Reads the prepared handoff of a scope as far as its documents go, if there is one and it can be read.
pub(crate) fn glance(repository: &Repository, scope: &ScopeName) -> Option<VerifiedPrepared> {
    let id = id_if_any(repository, scope).ok()??;
    let read = verify::prepared(repository.gix(), id, Some(scope), Depth::Documents);
    read.into_result().ok()
}

/// Tells whether nothing is lost where a content takes the place of what is prepared: nothing is, it says the same, or
/// the checkpoint at `tip` says it.
pub(crate) fn is_free(
    repository: &Repository,
    scope: &ScopeName,
    tip: Option<&VerifiedRecord>,
    content: &Content,
) -> bool {
    match id_if_any(repository, scope) {
        Ok(None) => return true,
        Ok(Some(_)) => {}
        Err(_) => return false,
    }
    let Some(known) = glance(repository, scope) else {
        return false;
    };
    let known = authoring::content_digest(known.whole());
    known == authoring::content_digest(content)
        || tip.is_some_and(|tip| known == authoring::content_digest(&tip.whole().content))
}

/// Where a checkpoint is kept that was taken back.
pub(crate) enum TakenBack {
    /// It is the prepared handoff of its scope again.
    Prepared,
    /// As this safety record.
    Safety(u64),
}

impl TakenBack {
    /// Returns the number of the safety record.
    pub(crate) fn safety(&self) -> Option<u64> {
        match self {
            TakenBack::Prepared => None,
            TakenBack::Safety(number) => Some(*number),
        }
    }

    pub(crate) fn is_prepared(&self) -> bool {
        matches!(self, TakenBack::Prepared)
    }

    /// Says where it is.
    pub(crate) fn place(&self, scope: &ScopeName) -> String {
        match self {
            TakenBack::Prepared => format!("is prepared again as `{scope}@prepared`"),
            TakenBack::Safety(number) => format!("is kept as safety record {number}"),
        }
    }
}

/// Keeps a record that is taken back: a checkpoint of one's own goes back to prepared. Where that would take something
/// away – another prepared handoff, somebody else's name, an accept or release – it is kept whole as a safety record.
pub(crate) fn take_back(
    scopes: &Scopes<'_>,
    record: &VerifiedRecord,
    by: Option<&ActorId>,
) -> Result<TakenBack, CommandError> {
    let is_own = by == Some(&record.manifest.value.producer.id);
    if record.kind == RecordKind::Checkpoint && is_own && prepare_again(scopes, record)? {
        return Ok(TakenBack::Prepared);
    }
    Ok(TakenBack::Safety(safety::keep(
        scopes.repository,
        record.id,
    )?))
}

/// Makes the prepared handoff of a scope of a checkpoint; tells whether its place was free.
fn prepare_again(scopes: &Scopes<'_>, record: &VerifiedRecord) -> Result<bool, CommandError> {
    let (repository, scope) = (scopes.repository, record.scope());
    let content = &record.whole().content;
    let seen = id_if_any(repository, scope)?;
    let before = record.before().and_then(|before| {
        let objects = repository.gix();
        let read = verify::record(objects, before, Some(scope), None, Depth::Documents);
        read.into_result().ok()
    });
    if !is_free(repository, scope, before.as_ref(), content) {
        return Ok(false);
    }
    let (receipts, attachments) =
        verify::files_of(repository.gix(), &record.root).map_err(Rejection::from)?;
    let new = NewPrepared {
        prepared: Prepared {
            schema: PreparedSchema::V1,
            scope: scope.clone(),
            observed_tip: record.before().map(Into::into),
            content: content.clone(),
        },
        at: scopes.context.now()?,
        receipts: &receipts,
        attachments: &attachments,
        notes: &[],
    };
    let id = record::write(repository, &new.compose(repository)?)?;
    judge(repository, scope, id)?;
    let name = prepared::name(repository, scope)?;
    let change = RefChange::from_seen(seen, id);
    match repository.update_refs(&[RefUpdate { name, change }]) {
        Ok(()) => Ok(true),
        // Something was prepared meanwhile.
        Err(RefError::Moved { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn judge(
    repository: &Repository,
    scope: &ScopeName,
    id: ObjectId,
) -> Result<VerifiedPrepared, CommandError> {
    let judged = verify::prepared(repository.gix(), id, Some(scope), Depth::Trees);
    Ok(judged.into_result().map_err(Rejection::from)?)
}

/// Reads and judges the prepared handoff of a scope, if there is one.
pub(crate) fn find(
    repository: &Repository,
    scope: &ScopeName,
) -> Result<Option<VerifiedPrepared>, CommandError> {
    let id = repository.find_ref(&prepared::name(repository, scope)?)?;
    id.map(|id| judge(repository, scope, id)).transpose()
}

/// Returns the commit of the prepared handoff of a scope.
pub(crate) fn id(repository: &Repository, scope: &ScopeName) -> Result<ObjectId, CommandError> {
    let id = repository.find_ref(&prepared::name(repository, scope)?)?;
    id.ok_or_else(|| nothing(scope))
}

/// Says that nothing is prepared.
pub(crate) fn nothing(scope: &ScopeName) -> CommandError {
    CommandError::new(
        ErrorCode::NotFound,
        format!("nothing is prepared for scope `{scope}` here"),
    )
    .subject(scope.as_str())
    .next(&["git", "handoff", "prepare", scope.as_str()])
}

/// Refuses where the scope is not where it was when the handoff was prepared.
pub(crate) fn refuse_moved(
    prepared: &VerifiedPrepared,
    view: Option<&ScopeView>,
) -> Result<(), CommandError> {
    let seen = prepared.document.value.observed_tip.map(|tip| tip.id());
    let found = view.map(|view| view.tip.id);
    if seen == found {
        return Ok(());
    }
    let scope = &prepared.document.value.scope;
    let was = seen.map_or_else(|| "before it began".to_owned(), |tip| format!("on {tip}"));
    let is = view.map_or_else(
        || "gone from here".to_owned(),
        |view| {
            let tip = &view.tip;
            let (generation, by) = (tip.generation(), tip.by());
            format!(
                "at generation {generation} ({} {}, written by {by})",
                tip.kind, tip.id
            )
        },
    );
    Err(CommandError::new(
        ErrorCode::CasConflict,
        format!(
            "scope `{scope}` has moved on: the handoff was prepared {was}, and the scope is {is}"
        ),
    )
    .subject(scope.as_str())
    .hint("the prepared handoff stays as it is; read what came meanwhile, then prepare anew")
    .next(&["git", "handoff", "continue", scope.as_str()])
    .next(&["git", "handoff", "show", &format!("{scope}@prepared")])
    .next(&["git", "handoff", "prepare", scope.as_str()]))
}

impl At {
    fn made_of(handoff: &Handoff) -> Self {
        At {
            draft: handoff.draft().map(|(_, digest)| *digest),
            kept: handoff.kept.tip,
        }
    }

    /// Returns what a prepared handoff was made of.
    pub(crate) fn of(prepared: &VerifiedPrepared) -> Self {
        let draft = prepared.note(DRAFT);
        let kept = prepared.note(KEPT);
        At {
            draft: draft.and_then(|digest| digest.parse::<Digest>().ok()),
            kept: kept.and_then(|id| ObjectId::from_hex(id.as_bytes()).ok()),
        }
    }
}
