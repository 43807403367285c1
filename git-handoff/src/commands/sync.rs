//! `git handoff sync`.

use gix::ObjectId;
use hooks::reader::ScopeView;
use schemars::JsonSchema;
use serde::Serialize;
use store::{
    line::Relation,
    ref_store::{RefChange, RefUpdate},
    scope::ScopeName,
    verify::{self, Depth, VerifiedRecord},
};

use crate::{
    actor::Actor,
    context::Context,
    error::CommandError,
    exit,
    prepared::{self, TakenBack},
    remote::Remote,
    safety,
    scopes::Scopes,
    ui::Report,
};

/// Fetch from the handoff remote and settle what differs
///
/// Moves scopes that are behind forward. Where the local line of a scope has diverged from the remote one, the remote
/// line becomes the scope. A checkpoint of your own that was alone on the local side goes back to prepared; anything more
/// is set aside as a safety record. Nothing is lost.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Name of the remote
    #[arg(value_name = "REMOTE")]
    remote: Option<String>,
}

pub(crate) struct Synced {
    remote: String,
    scopes: Vec<(ScopeName, Settled)>,
}

/// What was done with one scope.
enum Settled {
    Same,
    Ahead,
    MovedForward,
    /// The local tip was set aside.
    SetAside(TakenBack),
    New,
}

impl Settled {
    fn status(&self) -> &'static str {
        match self {
            Settled::Same => "same",
            Settled::Ahead => "ahead",
            Settled::MovedForward => "moved forward",
            Settled::SetAside(TakenBack::Safety(_)) => "set aside",
            Settled::SetAside(TakenBack::Prepared) => "back to prepared",
            Settled::New => "at the remote",
        }
    }
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Document<'a> {
    remote: &'a str,
    scopes: Vec<ScopeDocument<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct ScopeDocument<'a> {
    scope: &'a ScopeName,
    /// `same`, `ahead`, `moved forward`, `set aside`, `back to prepared`, or `at the remote` alone.
    status: &'static str,
    /// Number of the safety record that holds what was set aside.
    safety: Option<u64>,
    /// Whether it is the prepared handoff of its scope again.
    prepared: bool,
}

impl Report for Synced {
    const NAME: &'static str = "sync";

    type Document<'a> = Document<'a>;

    fn document(&self) -> Document<'_> {
        let scopes = self.scopes.iter().map(|(scope, settled)| {
            let kept = match settled {
                Settled::SetAside(kept) => Some(kept),
                _ => None,
            };
            ScopeDocument {
                scope,
                status: settled.status(),
                safety: kept.and_then(TakenBack::safety),
                prepared: kept.is_some_and(TakenBack::is_prepared),
            }
        });
        Document {
            remote: &self.remote,
            scopes: scopes.collect(),
        }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for (scope, settled) in &self.scopes {
            text.push_str(&format!("{scope}: {}", settled.status()));
            match settled {
                Settled::SetAside(TakenBack::Safety(number)) => text.push_str(&format!(
                    " as safety record {number}; the remote line is now the scope"
                )),
                Settled::SetAside(TakenBack::Prepared) => {
                    text.push_str("; the remote line is now the scope");
                }
                _ => {}
            }
            text.push('\n');
        }
        if self.scopes.is_empty() {
            let remote = &self.remote;
            text.push_str(&format!(
                "no scopes: `{remote}` shows none, and there is none here\n"
            ));
        }
        text
    }

    fn next_commands(&self) -> Vec<Vec<String>> {
        let mut next = Vec::new();
        let words = |words: &[&str]| words.iter().map(ToString::to_string).collect();
        for (scope, settled) in &self.scopes {
            if let Settled::SetAside(TakenBack::Prepared) = settled {
                let scope = scope.as_str();
                next.push(words(&["git", "handoff", "continue", scope]));
                next.push(words(&[
                    "git",
                    "handoff",
                    "show",
                    &format!("{scope}@prepared"),
                ]));
                next.push(words(&["git", "handoff", "prepare", scope]));
            }
            if let Settled::SetAside(TakenBack::Safety(number)) = settled {
                let number = number.to_string();
                next.push(
                    [
                        "git",
                        "handoff",
                        "restore",
                        "--safety",
                        &number,
                        "--in-place",
                    ]
                    .map(String::from)
                    .into(),
                );
            }
        }
        if self
            .scopes
            .iter()
            .any(|(_, settled)| matches!(settled, Settled::Ahead))
        {
            next.push(["git", "handoff", "push"].map(String::from).into());
        }
        next
    }
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<u8, CommandError> {
    let mut repository = context.repository()?;
    let remote = Remote::find_or_set_up(context, &mut repository, args.remote.as_deref())?;
    for warning in remote.fetch(&repository, None)? {
        context.ui.note(&format!("warning: {warning}"));
    }
    let mut scopes = Scopes::new(context, &repository);
    scopes.remote = Some(remote.clone());
    let mut synced = Synced {
        remote: remote.name,
        scopes: Vec::new(),
    };
    let mut broken = Vec::new();
    for scope in scopes
        .reader()
        .scopes()
        .map_err(|error| scopes.explain(error))?
    {
        match settle(&scopes, &scope) {
            Ok(settled) => synced.scopes.push((scope, settled)),
            Err(error) => {
                context.ui.warn(
                    error.code.as_str(),
                    &format!("scope `{scope}`: {}", error.message),
                );
                broken.push(error.code);
            }
        }
    }
    context.ui.report(&synced)?;
    Ok(exit::of_all(broken))
}

fn settle(scopes: &Scopes<'_>, scope: &ScopeName) -> Result<Settled, CommandError> {
    let (local, remote) = scopes.tips(scope)?;
    let (Some(local), Some(remote)) = (local, remote) else {
        // What was never read before is judged before it is believed.
        scopes.view(scope)?;
        return Ok(match local {
            Some(_) => Settled::Ahead,
            None => Settled::New,
        });
    };
    match store::line::compare(scopes.repository.gix(), local, remote)
        .map_err(hooks::rejection::Rejection::from)?
    {
        Relation::Same => Ok(Settled::Same),
        Relation::Ahead => Ok(Settled::Ahead),
        Relation::Behind => {
            scopes.view(scope)?;
            Ok(Settled::MovedForward)
        }
        Relation::Diverged => set_aside(scopes, scope, local, remote),
    }
}

/// Judges the remote line from its start, keeps the local tip, and moves the scope over.
fn set_aside(
    scopes: &Scopes<'_>,
    scope: &ScopeName,
    local: ObjectId,
    remote: ObjectId,
) -> Result<Settled, CommandError> {
    let repository = scopes.repository;
    scopes.judge_from_start(scope, remote)?;
    let kept = keep_aside(scopes, scope, local, remote)?;
    let mut updates = vec![RefUpdate {
        name: scope.to_ref(),
        change: RefChange::Advance {
            old: local,
            new: remote,
        },
    }];
    let mark = repository.find_ref(&scope.to_verified_ref())?;
    if mark != Some(remote) {
        updates.push(RefUpdate {
            name: scope.to_verified_ref(),
            change: RefChange::from_seen(mark, remote),
        });
    }
    repository.update_refs(&updates)?;
    let _: ScopeView = scopes.view(scope)?;
    Ok(Settled::SetAside(kept))
}

/// Keeps the local line: its only checkpoint as prepared, if that is one's own, else all of it.
fn keep_aside(
    scopes: &Scopes<'_>,
    scope: &ScopeName,
    local: ObjectId,
    remote: ObjectId,
) -> Result<TakenBack, CommandError> {
    let (repository, objects) = (scopes.repository, scopes.repository.gix());
    // What does not pass the judge any more is kept as it is.
    let read = verify::record(objects, local, Some(scope), None, Depth::Trees).into_result();
    let alone = |record: &VerifiedRecord| match record.before() {
        None => true,
        Some(before) => matches!(
            store::line::compare(objects, before, remote),
            Ok(Relation::Same | Relation::Behind)
        ),
    };
    match read.ok().filter(alone) {
        Some(record) => {
            let actor = Actor::find(scopes.context, repository, None).ok();
            prepared::take_back(scopes, &record, actor.as_ref().map(|actor| &actor.id))
        }
        None => Ok(TakenBack::Safety(safety::keep(repository, local)?)),
    }
}
