//! `git handoff prepare`.

use std::path::PathBuf;

use store::{
    actor::ActorId, digest::Digest, generation::Generation, scope::ScopeName,
    verify::VerifiedPrepared,
};

use super::save;
use crate::{
    actor::Actor,
    authoring::{self, Author, Warning},
    context::Context,
    draft_file::DraftFile,
    error::CommandError,
    exit,
    omitted::Omit,
    prepared, receipts,
    scopes::Scopes,
    ui::{Report, count},
};

/// Make the next checkpoint of a scope ready to be inspected, without a change of history
///
/// Captures the worktree, reads the draft, and reports all that is wrong at once. What comes of it is kept as the prepared
/// handoff of the scope, `<scope>@prepared`, until `git handoff commit` appends it.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The scope; without one, the scope in use on this branch, else one of your own for it
    #[arg(value_name = "SCOPE")]
    scope: Option<ScopeName>,
    /// The draft, in YAML or JSON; `-` is standard input; without it, the one of `git handoff draft`, if there is one
    #[arg(short = 'f', long = "file", value_name = "DRAFT")]
    draft: Option<PathBuf>,
    /// What the work is to reach, whatever the draft says
    #[arg(short = 'm', long = "message", value_name = "OBJECTIVE", value_parser = save::objective)]
    objective: Option<String>,
    /// Run the commands again whose receipts claims name and that do not cover the worktree any more
    #[arg(long)]
    rerun: bool,
    /// Add a small file to the checkpoint
    #[arg(long, value_name = "FILE")]
    attach: Vec<PathBuf>,
    #[command(flatten)]
    omit: Omit,
    /// Who you are, instead of `handoff.id` or `user.email`
    #[arg(long = "as", value_name = "ID")]
    id: Option<ActorId>,
}

pub(crate) struct Outcome {
    prepared: VerifiedPrepared,
    generation: Generation,
    content_digest: Digest,
    created: bool,
    /// Whether the current generation says the same already.
    is_current: bool,
    warnings: Vec<Warning>,
}

impl Report for Outcome {
    const NAME: &'static str = "prepare";

    type Document<'a> = save::Document<'a>;

    fn document(&self) -> save::Document<'_> {
        let content = self.prepared.whole();
        save::Document {
            scope: &self.prepared.document.value.scope,
            generation: self.generation,
            commit: self.prepared.id.into(),
            checkpoint_digest: None,
            content_digest: self.content_digest,
            created: self.created,
            pushed: save::PushedDocument::Known(false),
            worktree_tree: content.repository.worktree_tree,
            index_tree: content.repository.index_tree,
            omissions: content.omissions.inline(),
            blockers: content.blockers.inline(),
            warnings: save::warnings(&self.warnings),
        }
    }

    fn text(&self) -> String {
        let scope = &self.prepared.document.value.scope;
        let content = self.prepared.whole();
        let mut text = match self.is_current {
            true => format!("{scope}@{} holds this state already\n", self.generation),
            false => format!(
                "prepared {scope}@{}  {}\n",
                self.generation, self.content_digest
            ),
        };
        let claims = |state| {
            let claims = content.claims.iter();
            claims.filter(|claim| claim.state == state).count()
        };
        use store::contract::ClaimState as State;
        text.push_str(&format!(
            "  claims    {} evidenced, {} open, {} failed\n",
            claims(State::Evidenced),
            claims(State::Open),
            claims(State::Failed)
        ));
        text.push_str(&format!(
            "  receipts  {}\n",
            count(content.receipts.count(), "receipt")
        ));
        text.push_str(&super::snapshot::left_out(
            content.omissions.inline(),
            content.blockers.inline(),
        ));
        text
    }

    fn next_commands(&self) -> Vec<Vec<String>> {
        let scope = &self.prepared.document.value.scope;
        let words = |words: &[&str]| words.iter().map(ToString::to_string).collect();
        match self.is_current {
            true => vec![words(&["git", "handoff", "show", scope.as_str()])],
            false => vec![
                words(&["git", "handoff", "show", &format!("{scope}@prepared")]),
                words(&["git", "handoff", "commit", scope.as_str()]),
            ],
        }
    }
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<u8, CommandError> {
    let repository = context.repository()?;
    let scopes = Scopes::new(context, &repository);
    let head = repository.head()?;
    let actor = Actor::find(context, &repository, args.id.as_ref())?;
    let scope = args.scope.clone().unwrap_or_else(|| scopes.to_save(&head));
    let author = Author {
        context,
        repository: &repository,
        scope: &scope,
        producer: actor.producer(),
        options: args.omit.apply(context, &repository)?,
        draft: DraftFile::find(context, &repository, &scope, args.draft.as_deref())?,
        objective: args.objective.clone(),
        fallback: format!("wip: {}", save::branch(&head)),
        attach: args.attach.clone(),
    };
    let mut handoff = author.capture(&scopes)?;
    if args.rerun && handoff.is_read() {
        let outdated = handoff.outdated(&repository);
        for receipt in &outdated {
            receipts::run_again(context, &repository, &author.options, receipt)?;
        }
        if !outdated.is_empty() {
            handoff = author.capture(&scopes)?;
        }
    }
    author.judge(&mut handoff)?;
    let mut warnings = handoff.warnings();
    let (prepared, created, secrets) = prepared::write(&author, &handoff)?;
    warnings.extend(secrets);
    save::tell(context, &warnings);
    let content_digest = authoring::content_digest(&handoff.content);
    let current = handoff.view.as_ref();
    let is_current = current
        .is_some_and(|view| authoring::content_digest(&view.tip.whole().content) == content_digest);
    let generation = match current.map(|view| view.tip.generation()) {
        None => Generation::FIRST,
        Some(current) if is_current => current,
        // The judge has seen that there is a next one, or commit does.
        Some(current) => current.next().unwrap_or(current),
    };
    context.ui.report(&Outcome {
        prepared,
        generation,
        content_digest,
        created,
        is_current,
        warnings,
    })?;
    Ok(exit::SUCCESS)
}
