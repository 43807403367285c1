//! `git handoff uncommit`.

use gix::ObjectId;
use schemars::JsonSchema;
use serde::Serialize;
use store::{error_code::ErrorCode, line::Relation, oid::Oid, scope::ScopeName};

use crate::{
    actor::Actor,
    context::Context,
    error::CommandError,
    exit,
    prepared::{self, TakenBack},
    scopes::Scopes,
    ui::Report,
    writer::Writer,
};

/// Take back the newest record of a scope, if no remote has seen it
///
/// Asks the remote first. A checkpoint of your own goes back to prepared, so that `git handoff commit` appends it again;
/// where another handoff is prepared, or the record is none of yours, it is kept as a safety record.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The scope; without one, the scope in use here
    #[arg(value_name = "SCOPE")]
    scope: Option<ScopeName>,
}

pub(crate) struct Uncommitted {
    scope: ScopeName,
    commit: ObjectId,
    now: Option<ObjectId>,
    kept: TakenBack,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Document<'a> {
    scope: &'a ScopeName,
    /// The record that was taken back.
    commit: Oid,
    /// The scope's newest record now; null where the scope is gone.
    tip: Option<Oid>,
    /// Number of the safety record that holds it.
    safety: Option<u64>,
    /// Whether it is the prepared handoff of its scope again.
    prepared: bool,
}

impl Report for Uncommitted {
    const NAME: &'static str = "uncommit";

    type Document<'a> = Document<'a>;

    fn document(&self) -> Document<'_> {
        Document {
            scope: &self.scope,
            commit: self.commit.into(),
            tip: self.now.map(Oid::from),
            safety: self.kept.safety(),
            prepared: self.kept.is_prepared(),
        }
    }

    fn text(&self) -> String {
        let now = self.now.map_or_else(
            || "the scope is gone".into(),
            |id| format!("the scope is at {id}"),
        );
        format!(
            "took back {}; {now}\nit {}\n",
            self.commit,
            self.kept.place(&self.scope)
        )
    }

    fn next_commands(&self) -> Vec<Vec<String>> {
        let words = |words: &[&str]| words.iter().map(ToString::to_string).collect();
        let scope = self.scope.as_str();
        match self.kept {
            TakenBack::Prepared => vec![
                words(&["git", "handoff", "show", &format!("{scope}@prepared")]),
                words(&["git", "handoff", "commit", scope]),
            ],
            TakenBack::Safety(_) => vec![words(&["git", "handoff", "list", "--safety"])],
        }
    }
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<u8, CommandError> {
    let repository = context.repository()?;
    let scopes = Scopes::new(context, &repository);
    let scope = args.scope.clone().map_or_else(|| scopes.in_use(), Ok)?;
    if let Some(remote) = &scopes.remote {
        match remote.fetch(&repository, Some(&scope)) {
            Err(error) if error.code != ErrorCode::NotFound => {
                return Err(error.hint(
                    "a record can be taken back only when the remote says that it has not seen it",
                ));
            }
            _ => {}
        }
    }
    let view = scopes.view(&scope)?;
    let seen = matches!(view.relation, Some(Relation::Same | Relation::Behind))
        || view.local != Some(view.tip.id);
    if seen {
        let message = format!(
            "the newest record of scope `{scope}` is at the remote; a record that was seen stays"
        );
        return Err(CommandError::new(ErrorCode::NonLinear, message)
            .subject(scope.as_str())
            .hint("write another generation instead")
            .next(&["git", "handoff", "save", scope.as_str()]));
    }
    let actor = Actor::find(context, &repository, None).ok();
    let kept = prepared::take_back(&scopes, &view.tip, actor.as_ref().map(|actor| &actor.id))?;
    let now = view.tip.before();
    let writer = Writer {
        context,
        repository: &repository,
        scope: &scope,
    };
    // Where the record before is the remote's, the local ref was made for this record alone.
    let to = now.filter(|now| view.remote != Some(*now) || view.relation.is_some());
    writer.take_back(view.tip.id, to, now)?;
    context.ui.report(&Uncommitted {
        scope,
        commit: view.tip.id,
        now,
        kept,
    })?;
    Ok(exit::SUCCESS)
}
