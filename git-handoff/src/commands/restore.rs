//! `git handoff restore`.

pub(crate) mod report;

use std::{
    path::{Path, PathBuf},
    time::Instant,
};

use hooks::rejection::Rejection;
use report::{Outcome, What};
use store::{
    error_code::ErrorCode,
    generation::Generation,
    ref_store::Head,
    repository::Repository,
    restore::{self, Flagging, Place, Restorable, Restored, RestoredBranch},
    scope::ScopeName,
    verify::{self, Depth, VerifiedRecord},
};

use crate::{
    actor::Actor,
    checkpoint,
    commands::import,
    context::Context,
    error::CommandError,
    exit,
    origin::{self, History},
    prepared,
    remote::Remote,
    safety,
    scopes::{Found, ScopeArg, Scopes, Wanted, ambiguous},
    source::{self, Source},
    state::{State, Unfilled},
};

/// Put a checkpoint back on disk, byte for byte
///
/// Restores into a new or empty directory (default `./<scope>`), into a linked worktree, or over the current worktree.
/// With `--from`, nothing but the URL is needed: it behaves like a clone. Nothing that is here is lost, no branch moves
/// but forward, and no program that the checkpoint names is run.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The scope, one of its generations, or a file; without one, the scope in use here
    #[arg(value_name = "SCOPE[@N|@prepared]|FILE", value_parser = Source::parser())]
    scope: Option<Source>,
    /// The new or empty directory
    #[arg(value_name = "DIR", conflicts_with = "in_place")]
    dir: Option<PathBuf>,
    /// Clone the repository at <URL> and restore from it
    #[arg(long, value_name = "URL", conflicts_with_all = ["worktree", "in_place", "safety"])]
    from: Option<String>,
    /// Bring no more history than the checkpoint needs
    #[arg(long, requires = "from")]
    shallow: bool,
    /// Restore into a linked worktree of this repository
    #[arg(long, conflicts_with = "in_place")]
    worktree: bool,
    /// Restore over the current worktree; what it holds is kept as a safety record
    #[arg(long)]
    in_place: bool,
    /// Set all index flags, also of paths whose edits they would hide
    #[arg(long)]
    flags: bool,
    /// Restore safety record <N> instead of a scope: git handoff restore --safety <N> [--into <DIR>]
    #[arg(long, value_name = "N", conflicts_with_all = ["scope", "dir"])]
    safety: Option<u64>,
    /// The new or empty directory for a safety record
    #[arg(
        long,
        value_name = "DIR",
        requires = "safety",
        conflicts_with = "in_place"
    )]
    into: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<u8, CommandError> {
    let started = Instant::now();
    let mut outcome = match (&args.from, args.safety, &args.scope) {
        (Some(_), _, Some(Source::File(_))) => {
            let message = "a file holds all that is needed: --from is for a scope";
            return Err(CommandError::new(ErrorCode::Usage, message));
        }
        (Some(url), _, _) => from_url(args, context, url)?,
        (None, Some(number), _) => from_safety(args, context, number)?,
        (None, None, Some(Source::File(file))) => from_file(args, context, file)?,
        (None, None, _) => from_here(args, context)?,
    };
    outcome.elapsed_ms = started.elapsed().as_millis().try_into().unwrap_or(u64::MAX);
    context.ui.report(&outcome)?;
    Ok(exit::SUCCESS)
}

/// Clones a repository and restores into the clone.
fn from_url(args: &Args, context: &Context, url: &str) -> Result<Outcome, CommandError> {
    let url = origin::Url::parse(url)?;
    let scope = match scope_arg(args) {
        Some(arg) => arg.scope.clone(),
        None => origin::only_scope(context, &url)?,
    };
    let dir = directory(args, context, &scope);
    let wanted = wanted(args, scope);
    let history = match args.shallow {
        true => History::Shallow,
        false => History::Full,
    };
    let cloned = origin::clone(context, &url, &wanted, history, &dir)?;
    let repository = &cloned.repository;
    let scopes = Scopes::new(context, repository);
    let found = scopes
        .find(Some(&wanted))
        .inspect_err(|_| cloned.discard())?;
    if args.shallow {
        scopes.warn_where_cut(&wanted.scope, found.view.tip.id);
    }
    let restored = cloned.fill(&found.record, flagging(args))?;
    remember_submodules(context, repository, &restored);
    Ok(finish(&scopes, found, dir, restored, None))
}

/// Remembers which commits the submodules had, as far as the index does not say: the next capture asks for them.
fn remember_submodules(context: &Context, repository: &Repository, restored: &Restored) {
    State::update(context, repository, |state| {
        state.unfilled = Unfilled::of(restored);
    });
}

/// Restores the scope of a file: into a new directory from the file alone, else after it was imported.
fn from_file(args: &Args, context: &Context, file: &Path) -> Result<Outcome, CommandError> {
    if args.in_place || args.worktree {
        let repository = context.repository()?;
        let imported = import::import(context, &repository, file)?;
        let scope = imported.only_scope()?;
        if imported.is_prepared() {
            return from_prepared(args, context, &repository, &scope);
        }
        let scopes = Scopes::new(context, &repository);
        let found = scopes.find(Some(&wanted(args, scope.clone())))?;
        return place(args, context, &scopes, found, &scope);
    }
    let opened = source::open(context, args.scope.as_ref())?;
    if let Some(scope) = opened.scope.as_ref().and_then(ScopeArg::prepared) {
        return from_prepared(args, context, &opened.repository, scope);
    }
    let scopes = Scopes::new(context, &opened.repository);
    let found = scopes.find(opened.scope.as_ref())?;
    let scope = found.view.scope.clone();
    place(args, context, &scopes, found, &scope)
}

/// Restores the prepared handoff of a scope.
fn from_prepared(
    args: &Args,
    context: &Context,
    repository: &Repository,
    scope: &ScopeName,
) -> Result<Outcome, CommandError> {
    let scopes = Scopes::new(context, repository);
    let prepared = prepared::find(repository, scope)?.ok_or_else(|| prepared::nothing(scope))?;
    let view = scopes.view_if_any(scope)?;
    let (dir, restored, kept) = if args.in_place {
        let state = Restorable::from(&prepared);
        put_in_place(args, context, &scopes, state, kept_already(&scopes, None))?
    } else if args.worktree {
        let (dir, restored) = put_in_worktree(args, context, repository, &prepared, scope)?;
        (dir, restored, None)
    } else {
        let dir = free_directory(args, context, scope)?;
        let mut commits = vec![(prepared.id, store::prepared::name_of_main(scope))];
        if let Some(view) = &view {
            commits.push((view.tip.id, scope.to_ref()));
            commits.push((view.tip.id, scope.to_verified_ref()));
        }
        let made = origin::copy_commits(context, repository, &commits, &dir, CommandError::from)?;
        let restored = made.fill(&prepared, flagging(args))?;
        remember_submodules(context, &made.repository, &restored);
        (dir, restored, None)
    };
    let there = context.repository_at(&dir)?;
    prepared::point(&there, scope, prepared.id)?;
    State::update(context, &there, |state| {
        state.prepared = Some(scope.clone());
    });
    let tip = view.map(|view| view.tip.generation());
    let generation = tip.and_then(Generation::next).unwrap_or(Generation::FIRST);
    Ok(Outcome {
        directory: dir,
        scope: scope.clone(),
        generation,
        tip: tip.unwrap_or(generation),
        restored,
        safety: kept,
        elapsed_ms: 0,
        what: What::Prepared,
        branch_is_free: false,
    })
}

/// Restores a scope of the repository that the command runs in.
fn from_here(args: &Args, context: &Context) -> Result<Outcome, CommandError> {
    if let Some(scope) = scope_arg(args).and_then(ScopeArg::prepared) {
        return from_prepared(args, context, &context.repository()?, scope);
    }
    let mut repository = context.repository()?;
    let missing = fetch(args, context, &mut repository)?;
    let scopes = Scopes::new(context, &repository);
    let scope = match scope_arg(args) {
        Some(arg) => arg.scope.clone(),
        None => in_use_or_own(context, &scopes)?,
    };
    let found = match scopes.find(Some(&wanted(args, scope.clone()))) {
        Ok(found) => found,
        // That the remote could not be asked is the reason, not that the scope is unknown.
        Err(error) if error.code == ErrorCode::NotFound => return Err(missing.unwrap_or(error)),
        Err(error) => return Err(error),
    };
    if let Some(error) = missing {
        context.ui.warn(
            error.code.as_str(),
            &format!("{}; what was last fetched is restored", error.message),
        );
    }
    place(args, context, &scopes, found, &scope)
}

/// Fetches what may be restored; what kept it from being fetched is returned.
fn fetch(
    args: &Args,
    context: &Context,
    repository: &mut Repository,
) -> Result<Option<CommandError>, CommandError> {
    let has_remote = Remote::find(repository, None).is_some()
        || repository.config("remote.origin.url").is_some();
    if !has_remote {
        return Ok(None);
    }
    let remote = Remote::find_or_set_up(context, repository, None)?;
    match remote.fetch(repository, scope_arg(args).map(|arg| &arg.scope)) {
        Ok(_) => Ok(None),
        Err(error) if matches!(error.code, ErrorCode::NotFound | ErrorCode::Unreachable) => {
            Ok(Some(error))
        }
        Err(error) => Err(error),
    }
}

/// Returns the scope in use, else one's own for this branch, else the only open one that one has written.
fn in_use_or_own(context: &Context, scopes: &Scopes<'_>) -> Result<ScopeName, CommandError> {
    let head = scopes.repository.head()?;
    if let Ok(scope) = scopes.in_use() {
        return Ok(scope);
    }
    let all = scopes
        .reader()
        .scopes()
        .map_err(|error| scopes.explain(error))?;
    let own = scopes.own(&head);
    if all.contains(&own) {
        return Ok(own);
    }
    let actor = Actor::find(context, scopes.repository, None)?;
    let mut written = Vec::new();
    for scope in &all {
        let view = scopes
            .reader()
            .look(scope)
            .map_err(|error| scopes.explain(error))?;
        if view.tip.manifest.value.producer.id == actor.id && view.tip.owner().is_none() {
            written.push(scope.clone());
        }
    }
    match (written.as_slice(), all.as_slice()) {
        ([only], _) => Ok(only.clone()),
        (_, []) => Err(
            CommandError::new(ErrorCode::NotFound, "there is no scope to restore")
                .hint("make one where the work is")
                .next(&["git", "handoff", "save", "--push"]),
        ),
        (_, all) => Err(ambiguous(all)),
    }
}

fn from_safety(args: &Args, context: &Context, number: u64) -> Result<Outcome, CommandError> {
    let repository = context.repository()?;
    let scopes = Scopes::new(context, &repository);
    let commit = safety::find(&repository, number)?;
    let record = verify::record(repository.gix(), commit, None, None, Depth::Trees).into_result();
    let record = record.map_err(Rejection::from)?;
    let scope: ScopeName = record.scope().clone();
    let name = ScopeName::from_task_id(&format!("safety.{number}"));
    let (dir, restored, kept) = put(args, context, &scopes, &record, &name)?;
    Ok(Outcome {
        directory: dir,
        scope,
        generation: record.generation(),
        tip: record.generation(),
        restored,
        safety: kept,
        elapsed_ms: 0,
        what: What::Safety,
        branch_is_free: false,
    })
}

fn place(
    args: &Args,
    context: &Context,
    scopes: &Scopes<'_>,
    found: Found,
    scope: &ScopeName,
) -> Result<Outcome, CommandError> {
    let (dir, restored, kept) = put(args, context, scopes, &found.record, scope)?;
    if args.in_place {
        return Ok(finish(scopes, found, dir, restored, kept));
    }
    let repository = context.repository_at(&dir)?;
    let there = Scopes::new(context, &repository);
    Ok(finish(&there, found, dir, restored, kept))
}

/// Restores a record into the place that the arguments name.
fn put(
    args: &Args,
    context: &Context,
    scopes: &Scopes<'_>,
    record: &VerifiedRecord,
    name: &ScopeName,
) -> Result<(PathBuf, Restored, Option<u64>), CommandError> {
    let repository = scopes.repository;
    if args.in_place {
        warn_of_other_history(context, repository, record)?;
        let records = kept_already(scopes, Some(record));
        return put_in_place(args, context, scopes, record.into(), records);
    }
    if args.worktree {
        let (dir, restored) = put_in_worktree(args, context, repository, record, name)?;
        return Ok((dir, restored, None));
    }
    let dir = free_directory(args, context, name)?;
    let made = origin::copy(context, repository, record, &dir)?;
    let restored = made.fill(record, flagging(args))?;
    remember_submodules(context, &made.repository, &restored);
    Ok((dir, restored, None))
}

/// Restores a state over the current worktree; `records` have what need not be kept.
fn put_in_place(
    args: &Args,
    context: &Context,
    scopes: &Scopes<'_>,
    state: Restorable<'_>,
    records: Vec<VerifiedRecord>,
) -> Result<(PathBuf, Restored, Option<u64>), CommandError> {
    let repository = scopes.repository;
    let mut kept = None;
    let mut capture = || checkpoint::keep_what_is_here(context, repository, &records, &mut kept);
    let place = Place::InPlace(&mut capture);
    let restored = restore::checkout(repository, state, place, flagging(args));
    let restored = restored.map_err(|error| with_safety(error.into(), kept))?;
    remember_submodules(context, repository, &restored);
    let dir = repository.worktree().unwrap_or(repository.git_dir());
    Ok((dir.to_owned(), restored, kept))
}

/// Restores a state into a linked worktree that is made for it.
fn put_in_worktree<'r>(
    args: &Args,
    context: &Context,
    repository: &Repository,
    state: impl Into<Restorable<'r>>,
    name: &ScopeName,
) -> Result<(PathBuf, Restored), CommandError> {
    let state = state.into();
    let dir = free_directory(args, context, name)?;
    let Some(head) = state.content().repository.head else {
        let message = "a checkpoint without a commit cannot be restored into a linked worktree";
        return Err(
            CommandError::new(ErrorCode::Usage, message).hint("restore it into a new directory")
        );
    };
    let target = restore::add_worktree(repository, &dir, head.id())?;
    let restored = restore::checkout(&target, state, Place::NewWorktree, flagging(args))?;
    remember_submodules(context, &target, &restored);
    Ok((dir, restored))
}

/// Returns the directory that is restored into, where it is not a file.
fn free_directory(
    args: &Args,
    context: &Context,
    name: &ScopeName,
) -> Result<PathBuf, CommandError> {
    let dir = directory(args, context, name);
    if dir.exists() && !dir.is_dir() {
        let message = format!("{} is there and is no directory", dir.display());
        return Err(CommandError::new(ErrorCode::DirectoryNotEmpty, message)
            .subject(dir.display().to_string())
            .hint("give a new or empty directory"));
    }
    Ok(dir)
}

/// Says that a checkpoint comes from another history than what is checked out: nothing is lost, but it may be a mistake.
fn warn_of_other_history(
    context: &Context,
    repository: &Repository,
    record: &VerifiedRecord,
) -> Result<(), CommandError> {
    let recorded = record.manifest.value.content.repository.head;
    let (Some(here), Some(there)) = (repository.head()?.commit, recorded) else {
        return Ok(());
    };
    // History that cannot be read, because it is shallow, say, tells nothing.
    if let Ok(None) = repository.gix().merge_base(here, there.id()) {
        let text = format!("the checkpoint's history has no commit in common with HEAD, {here}");
        context.ui.warn("UNRELATED_HISTORY", &text);
    }
    Ok(())
}

/// Says where the work is that a restore in place was to replace, and did not in the end.
fn with_safety(error: CommandError, kept: Option<u64>) -> CommandError {
    let Some(number) = kept else {
        return error;
    };
    let words = number.to_string();
    error
        .hint(format!("what was here is safety record {number}"))
        .next(&[
            "git",
            "handoff",
            "restore",
            "--safety",
            &words,
            "--in-place",
        ])
}

/// Returns the record, and the generations of all scopes that were last saved or read here: where the worktree is as
/// one of them says, nothing would be lost.
fn kept_already(scopes: &Scopes<'_>, record: Option<&VerifiedRecord>) -> Vec<VerifiedRecord> {
    let read = State::load(scopes.repository).read;
    let known = read.into_iter().filter_map(|(scope, read)| {
        let arg = ScopeArg {
            scope,
            generation: Some(Wanted::Number(read.generation)),
        };
        let found = scopes.find(Some(&arg)).ok()?.record;
        (found.manifest.digest == read.digest).then_some(found)
    });
    record.cloned().into_iter().chain(known).collect()
}

fn finish(
    scopes: &Scopes<'_>,
    found: Found,
    directory: PathBuf,
    restored: Restored,
    safety: Option<u64>,
) -> Outcome {
    let head = scopes.repository.head().unwrap_or(Head {
        branch: None,
        commit: None,
    });
    scopes.remember(&head, &found.record);
    let branch_is_free = match &restored.branch {
        RestoredBranch::Beside(name) => matches!(scopes.repository.find_ref(name), Ok(None)),
        RestoredBranch::On(_) | RestoredBranch::Detached => false,
    };
    Outcome {
        branch_is_free,
        directory,
        scope: found.view.scope,
        generation: found.record.generation(),
        tip: found.view.tip.generation(),
        restored,
        safety,
        elapsed_ms: 0,
        what: What::Checkpoint,
    }
}

fn wanted(args: &Args, scope: ScopeName) -> ScopeArg {
    ScopeArg {
        scope,
        generation: scope_arg(args).and_then(|arg| arg.generation),
    }
}

/// Returns the scope that the command line names.
fn scope_arg(args: &Args) -> Option<&ScopeArg> {
    match &args.scope {
        Some(Source::Scope(scope)) => Some(scope),
        Some(Source::File(_)) | None => None,
    }
}

fn flagging(args: &Args) -> Flagging {
    if args.flags {
        Flagging::Always
    } else {
        Flagging::WhereEqual
    }
}

fn directory(args: &Args, context: &Context, scope: &ScopeName) -> PathBuf {
    let dir = args
        .dir
        .clone()
        .or(args.into.clone())
        .unwrap_or_else(|| Path::new(scope.as_str()).to_owned());
    context.path(&dir)
}
