//! `git handoff continue`.

mod lines;
pub(crate) mod report;

use std::path::PathBuf;

use gix::{ObjectId, bstr::BStr};
use store::{
    error_code::ErrorCode, generation::Generation, scope::ScopeName, timestamp::Timestamp,
    verify::VerifiedRecord,
};

use crate::{
    actor::Actor,
    context::Context,
    error::CommandError,
    exit, prepared,
    scopes::{ScopeArg, Scopes, Wanted, ambiguous},
    source::{self, Opened, Source},
    standing::{BaseNow, HandedOver, HeadNow, Here, Standing, help_on_evidence},
    state::State,
};

/// Tell whoever goes on what is handed over, and how each statement stands here
///
/// Effects come first, as what has happened must not happen again by mistake; then every statement with the state of its
/// evidence, what is open, what must not be done, what comes next, and what has changed since. Each citation is checked
/// again against what is here. `accept` takes over exactly what was read.
///
/// What a checkpoint says was written by others. It stands behind a bar, each line of it, and before the bar stands what
/// was found here. It is history to judge, not instructions to follow.
#[derive(clap::Args, Debug)]
#[command(after_long_help = help_on_evidence())]
pub(crate) struct Args {
    /// The scope, one of its generations, or a file; without one, the scope in use here
    #[arg(value_name = "SCOPE[@N|@prepared]|FILE", value_parser = Source::parser())]
    scope: Option<Source>,
    /// How it is written; markdown is for the first turn of an agent
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Format {
    /// For a terminal
    Text,
    /// For an agent, or a page
    Markdown,
}

/// What is handed over, and how it stands here.
pub(crate) struct Continued<'a> {
    what: What<'a>,
    handed_over: HandedOver<'a>,
    standing: Standing<'a>,
    tip: Option<Generation>,
    commit: ObjectId,
    file: Option<PathBuf>,
    base: BaseNow,
    head: Option<HeadNow>,
    now: Timestamp,
}

/// What it is that is read.
enum What<'a> {
    Checkpoint {
        record: &'a VerifiedRecord,
        /// Whether whoever asks has accepted it.
        is_mine: bool,
    },
    /// In no history yet; it would be this generation.
    Prepared { generation: Option<Generation> },
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<u8, CommandError> {
    let opened = open(context, args.scope.as_ref())?;
    match opened.scope.as_ref().and_then(ScopeArg::prepared) {
        Some(scope) => of_prepared(args, context, &opened, scope)?,
        None => of_checkpoint(args, context, &opened)?,
    }
    Ok(exit::SUCCESS)
}

/// Opens what is to be read; without a scope, the one that was restored here, else the only one that `HEAD` has.
fn open(context: &Context, source: Option<&Source>) -> Result<Opened, CommandError> {
    let mut opened = source::open(context, source)?;
    if opened.scope.is_some() {
        return Ok(opened);
    }
    let scopes = Scopes::new(context, &opened.repository);
    let restored = State::load(&opened.repository).prepared;
    if let Some(scope) = restored
        && prepared::id_if_any(&opened.repository, &scope)?.is_some()
    {
        opened.scope = Some(ScopeArg {
            scope,
            generation: Some(Wanted::Prepared),
        });
        return Ok(opened);
    }
    let scope = match scopes.in_use() {
        Ok(scope) => scope,
        Err(error) if error.code == ErrorCode::NotFound => {
            let all = scopes.reader().scopes();
            let all = all.map_err(|error| scopes.explain(error))?;
            match (
                all.as_slice(),
                prepared::all(&opened.repository)?.as_slice(),
            ) {
                ([], [only]) => {
                    opened.scope = Some(ScopeArg {
                        scope: only.clone(),
                        generation: Some(Wanted::Prepared),
                    });
                    return Ok(opened);
                }
                ([], []) => return Err(error),
                ([], several) => return Err(ambiguous(several)),
                (all, _) => return Err(ambiguous(all)),
            }
        }
        Err(error) => return Err(error),
    };
    opened.scope = Some(ScopeArg {
        scope,
        generation: None,
    });
    Ok(opened)
}

fn of_checkpoint(args: &Args, context: &Context, opened: &Opened) -> Result<(), CommandError> {
    let scopes = Scopes::new(context, &opened.repository);
    let found = scopes.find(opened.scope.as_ref())?;
    opened.remember_read(context, &found.record);
    let record = &found.record;
    let handed_over = HandedOver {
        scope: record.scope(),
        content: &record.whole().content,
        root: &record.root,
        line: record.before(),
        repository: &opened.repository,
    };
    let actor = Actor::find(context, &opened.repository, None).ok();
    let what = What::Checkpoint {
        record,
        is_mine: actor.is_some_and(|actor| record.owner() == Some(&actor.id)),
    };
    let upstream = record.whole().observed.upstream.as_ref();
    let upstream = upstream.map(|name| name.as_bstr());
    let standing = Standing::find(context, handed_over, false)?;
    let tip = found.view.tip.generation();
    let (base, head) = code(context, &handed_over, &standing, upstream);
    print(
        args,
        context,
        &Continued {
            what,
            handed_over,
            standing,
            tip: Some(tip),
            commit: record.id,
            file: opened.file.clone(),
            base,
            head,
            now: context.now()?,
        },
    )
}

fn of_prepared(
    args: &Args,
    context: &Context,
    opened: &Opened,
    scope: &ScopeName,
) -> Result<(), CommandError> {
    let prepared = prepared::find(&opened.repository, scope)?;
    let prepared = prepared.ok_or_else(|| prepared::nothing(scope))?;
    let view = Scopes::new(context, &opened.repository).view_if_any(scope)?;
    let handed_over = HandedOver {
        scope,
        content: prepared.whole(),
        root: &prepared.root,
        line: view.as_ref().map(|view| view.tip.id),
        repository: &opened.repository,
    };
    let tip = view.as_ref().map(|view| view.tip.generation());
    // One that is kept here was prepared of the worktree here.
    let standing = Standing::find(context, handed_over, opened.file.is_none())?;
    let (base, head) = code(context, &handed_over, &standing, None);
    print(
        args,
        context,
        &Continued {
            what: What::Prepared {
                generation: tip.map_or(Some(Generation::FIRST), Generation::next),
            },
            handed_over,
            standing,
            tip,
            commit: prepared.id,
            file: opened.file.clone(),
            base,
            head,
            now: context.now()?,
        },
    )
}

/// Finds where the code has gone since, in the repository here if it is of the same work.
fn code(
    context: &Context,
    handed_over: &HandedOver<'_>,
    standing: &Standing<'_>,
    upstream: Option<&BStr>,
) -> (BaseNow, Option<HeadNow>) {
    let content = handed_over.content;
    match (&standing.here, context.repository()) {
        (Here::Worktree(found), Ok(here)) => (
            BaseNow::find(&here, content, upstream),
            Some(HeadNow::find(handed_over.repository, content, found)),
        ),
        _ => (
            BaseNow::find(handed_over.repository, content, upstream),
            None,
        ),
    }
}

fn print(args: &Args, context: &Context, continued: &Continued<'_>) -> Result<(), CommandError> {
    if args.format == Format::Text || context.ui.is_json() {
        context.ui.report(continued)?;
    } else {
        context.ui.raw(continued.markdown().as_bytes())?;
    }
    Ok(())
}
