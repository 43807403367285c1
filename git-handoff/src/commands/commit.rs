//! `git handoff commit`.

use gix::bstr::BString;
use store::{
    actor::ActorId,
    changed_paths,
    contract::Content,
    error_code::ErrorCode,
    lineage::Lineage,
    oid::Oid,
    record::NewCheckpoint,
    repository::Repository,
    scope::ScopeName,
    snapshot::{self, Snapshot},
    verify::{self, VerifiedPrepared},
};

use super::save;
use super::save::to_a_file;
use crate::{
    actor::Actor,
    authoring::{self, Author},
    checkpoint::{self, At, Saved},
    content,
    context::Context,
    error::{CommandError, Detail},
    exit, prepared,
    remote::Remote,
    scopes::Scopes,
    state::State,
    ui::Report,
    writer::warn_if_unsigned,
};

/// Append the prepared handoff of a scope as its next checkpoint
///
/// Nothing is captured anew: what was inspected is what is committed. Where the worktree or the scope has moved on since
/// it was prepared, nothing is written.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The scope; without one, the scope in use on this branch, else one of your own for it
    #[arg(value_name = "SCOPE")]
    scope: Option<ScopeName>,
    /// Who you are, instead of `handoff.id` or `user.email`
    #[arg(long = "as", value_name = "ID")]
    id: Option<ActorId>,
}

pub(crate) struct Outcome {
    saved: Saved,
    is_remote_in_reach: bool,
}

impl Report for Outcome {
    const NAME: &'static str = "commit";

    type Document<'a> = save::Document<'a>;

    fn document(&self) -> save::Document<'_> {
        let record = &self.saved.record;
        let content = &record.whole().content;
        save::Document {
            scope: record.scope(),
            generation: record.generation(),
            commit: record.id.into(),
            checkpoint_digest: Some(record.manifest.digest),
            content_digest: self.saved.content_digest,
            created: self.saved.created,
            pushed: save::PushedDocument::Known(false),
            worktree_tree: content.repository.worktree_tree,
            index_tree: content.repository.index_tree,
            omissions: content.omissions.inline(),
            blockers: content.blockers.inline(),
            warnings: save::warnings(&self.saved.warnings),
        }
    }

    fn text(&self) -> String {
        let record = &self.saved.record;
        let (scope, generation) = (record.scope(), record.generation());
        let digest = record.manifest.digest;
        match self.saved.created {
            true => format!("committed {scope}@{generation}  {digest}\n"),
            false => format!("{scope}@{generation} holds this state already  {digest}\n"),
        }
    }

    fn next_commands(&self) -> Vec<Vec<String>> {
        let scope = self.saved.record.scope().as_str();
        match self.is_remote_in_reach {
            true => vec![["git", "handoff", "push", scope].map(String::from).into()],
            false => vec![to_a_file(scope)],
        }
    }
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<u8, CommandError> {
    let repository = context.repository()?;
    let scopes = Scopes::new(context, &repository);
    let head = repository.head()?;
    let actor = Actor::find(context, &repository, args.id.as_ref())?;
    let scope = args.scope.clone().unwrap_or_else(|| scopes.to_save(&head));
    let prepared = prepared::find(&repository, &scope)?.ok_or_else(|| prepared::nothing(&scope))?;
    let view = scopes.view_if_any(&scope)?;
    let digest = authoring::content_digest(prepared.whole());
    let saved = match Saved::already(view.as_ref(), digest) {
        // Committed before, or saved in another way: once is enough.
        Some(saved) => saved,
        None => {
            prepared::refuse_moved(&prepared, view.as_ref())?;
            let author = Author {
                context,
                repository: &repository,
                scope: &scope,
                producer: actor.producer(),
                options: checkpoint::remembered_options(context, &repository, &[]),
                draft: None,
                objective: None,
                fallback: String::new(),
                attach: Vec::new(),
            };
            checkpoint::refuse_records(&repository, &head)?;
            let snapshot = snapshot::capture(&repository, &author.options)?;
            refuse_changed(&repository, &prepared, &snapshot)?;
            let before = view.as_ref().map(|view| &*view.tip);
            let origin = before.map(|before| &before.manifest.value.content.repository);
            let lineage = Lineage::find(&repository, &snapshot.head, origin)?;
            let content = prepared.whole().clone();
            let (receipts, attachments) = verify::files_of(repository.gix(), &prepared.root)
                .map_err(hooks::rejection::Rejection::from)?;
            let checkpoint = NewCheckpoint {
                manifest: author.manifest(content, &snapshot, &lineage, before)?,
                before: before.map(|before| before.id),
                receipts: &receipts,
                attachments: &attachments,
            };
            let saved = Saved::append(context, &repository, view.as_ref(), checkpoint)?;
            warn_if_unsigned(context, &repository, saved.record.id);
            saved
        }
    };
    At::of(&prepared).settle(&repository, &scope);
    save::tell(context, &saved.warnings);
    scopes.remember(&head, &saved.record);
    context.ui.report(&Outcome {
        saved,
        is_remote_in_reach: Remote::is_in_reach(&repository),
    })?;
    Ok(exit::SUCCESS)
}

/// Refuses where the worktree, the index or `HEAD` are not what they were when the handoff was prepared.
fn refuse_changed(
    repository: &Repository,
    prepared: &VerifiedPrepared,
    snapshot: &Snapshot,
) -> Result<(), CommandError> {
    let old = prepared.whole();
    let mut new = content::recaptured(old, snapshot);
    let scope = &prepared.document.value.scope;
    if State::load(repository).prepared.as_ref() == Some(scope) {
        new = content::as_restored(new, old);
    }
    if *old == new {
        return Ok(());
    }
    let paths = changed(repository, old, &new)?;
    let what = match paths.as_slice() {
        [] => moved(old, &new),
        paths => authoring::names(paths),
    };
    let mut error = CommandError::new(
        ErrorCode::WorktreeChanged,
        format!(
            "the worktree has changed since the handoff of scope `{scope}` was prepared: {what}"
        ),
    )
    .subject(scope.as_str())
    .hint("the prepared handoff stays as it is; prepare anew what is there now")
    .next(&["git", "handoff", "prepare", scope.as_str()]);
    error.errors = paths
        .iter()
        .map(|path| Detail {
            code: ErrorCode::WorktreeChanged,
            message: path.to_string(),
            subject: Some(path.to_string()),
        })
        .collect();
    Err(error)
}

/// Returns the paths that differ in the worktree, or in the index.
fn changed(
    repository: &Repository,
    old: &Content,
    new: &Content,
) -> Result<Vec<BString>, CommandError> {
    let between = |old: Oid, new: Oid| {
        changed_paths::between(repository.gix(), Some(old.id()), Some(new.id()))
            .map_err(hooks::rejection::Rejection::from)
    };
    let (old, new) = (&old.repository, &new.repository);
    let mut paths = between(old.worktree_tree, new.worktree_tree)?;
    paths.extend(between(old.index_tree, new.index_tree)?);
    paths.sort_unstable();
    paths.dedup();
    Ok(paths)
}

/// Says what has changed where the trees have not.
fn moved(old: &Content, new: &Content) -> String {
    let (before, after) = (&old.repository, &new.repository);
    let shown = |head: &Option<Oid>| head.map_or_else(|| "no commit".into(), |id| id.to_string());
    if before.head != after.head {
        return format!(
            "HEAD is {}, and was {}",
            shown(&after.head),
            shown(&before.head)
        );
    }
    let what = [
        (before.branch != after.branch, "the branch"),
        (
            before.operation != after.operation,
            "the operation in progress",
        ),
        (
            old.worktree.intent_to_add != new.worktree.intent_to_add,
            "what is to be added",
        ),
        (old.worktree.flags != new.worktree.flags, "index flags"),
        (
            old.worktree.empty_directories != new.worktree.empty_directories,
            "empty directories",
        ),
        (
            old.worktree.untracked != new.worktree.untracked,
            "untracked files",
        ),
        (
            old.worktree.submodules != new.worktree.submodules,
            "submodules",
        ),
        (
            old.worktree.conversions != new.worktree.conversions,
            "conversions",
        ),
        (
            old.artifacts != new.artifacts,
            "conflict stages or raw bytes",
        ),
        (old.omissions != new.omissions, "what is left out"),
        (old.blockers != new.blockers, "what is in the way"),
    ];
    let what: Vec<&str> = what
        .into_iter()
        .filter(|(differs, _)| *differs)
        .map(|(_, what)| what)
        .collect();
    what.join(", ")
}
