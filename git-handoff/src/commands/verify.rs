//! `git handoff verify`.

use std::path::Path;

use gix::ObjectId;
use hooks::{judge::Judge, policy::Policy, reader::ReadError, rejection::Rejection};
use schemars::JsonSchema;
use serde::Serialize;
use store::{
    artifacts,
    contract::Content,
    error_code::ErrorCode,
    generation::Generation,
    line,
    repository::Repository,
    scope::ScopeName,
    timestamp::Timestamp,
    verify::{self, Depth, Violation},
};

use crate::{
    clean_clone,
    context::Context,
    error::CommandError,
    exit,
    scopes::{ScopeArg, Scopes, Wanted},
    source::{self, Opened, Source},
    standing::{HandedOver, Standing, need_somebody_to_ask},
    temporary::Temporary,
    ui::{Report, count, terminal_safe},
    worktree_check,
};

/// Check a checkpoint, and the line it stands on
///
/// Makes every check again, whatever was found before: the record's shape, canonical bytes, digests, trees, paths and
/// objects, and the rules between each record of the scope and the next.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The scope, one of its generations, or a file; without one, the scope in use here
    #[arg(value_name = "SCOPE[@N|@prepared]|FILE", value_parser = Source::parser())]
    scope: Option<Source>,
    /// Also compare with the worktree as it is now
    #[arg(long)]
    worktree: bool,
    /// Also restore into a temporary directory by two routes, and compare them
    ///
    /// One route is the objects of the checkpoint. The other is what `git handoff export --artifacts` writes: bundle,
    /// patch and archive, in a clean clone without refs/handoff.
    #[arg(long)]
    clean_clone: bool,
    /// Also run the verification commands that the contract names, each after asking
    ///
    /// They run in the worktree here, where the checkpoint was restored. What passed makes evidence `ok` in `git handoff
    /// continue` as long as the worktree stays as it is; it is noted here alone, never in the record.
    #[arg(long)]
    run: bool,
}

pub(crate) struct Verified {
    scope: ScopeName,
    generation: Option<Generation>,
    commit: Option<String>,
    checks: Vec<Check>,
}

struct Check {
    name: String,
    violation: Option<Violation>,
}

impl From<clean_clone::Outcome> for Check {
    fn from((name, violation): clean_clone::Outcome) -> Self {
        Check { name, violation }
    }
}

impl Verified {
    fn codes(&self) -> impl Iterator<Item = ErrorCode> {
        self.checks
            .iter()
            .filter_map(|check| check.violation.as_ref())
            .map(|violation| violation.code)
    }
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Document<'a> {
    ok: bool,
    scope: &'a ScopeName,
    generation: Option<Generation>,
    commit: Option<&'a str>,
    checks: Vec<CheckDocument<'a>>,
    untrusted: bool,
}

#[derive(Serialize, JsonSchema)]
struct CheckDocument<'a> {
    name: &'a str,
    ok: bool,
    code: Option<ErrorCode>,
    /// What exactly is wrong: a path, an object, a document.
    artifact: Option<&'a str>,
    detail: Option<&'a str>,
}

impl Report for Verified {
    const NAME: &'static str = "verify";

    type Document<'a> = Document<'a>;

    fn document(&self) -> Document<'_> {
        let checks = self.checks.iter().map(|check| {
            let violation = check.violation.as_ref();
            CheckDocument {
                name: &check.name,
                ok: violation.is_none(),
                code: violation.map(|violation| violation.code),
                artifact: violation.map(|violation| violation.artifact.as_str()),
                detail: violation.map(|violation| violation.detail.as_str()),
            }
        });
        Document {
            ok: self.codes().next().is_none(),
            scope: &self.scope,
            generation: self.generation,
            commit: self.commit.as_deref(),
            checks: checks.collect(),
            untrusted: true,
        }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for check in &self.checks {
            match &check.violation {
                None => text.push_str(&format!("ok    {}\n", check.name)),
                Some(violation) => {
                    let what = terminal_safe(&violation.to_string());
                    text.push_str(&format!(
                        "FAIL  {}: {what} [{}]\n",
                        check.name, violation.code
                    ));
                }
            }
        }
        let failed = self.codes().count() as u64;
        let what = match (&self.commit, self.generation) {
            (Some(commit), _) => format!("{} at {commit}", self.scope),
            (None, Some(generation)) => format!("the artifacts of {}@{generation}", self.scope),
            (None, None) => format!("the artifacts of {}", self.scope),
        };
        match failed {
            0 => text.push_str(&format!("verified {what}\n")),
            _ => {
                let findings = count(failed, "finding");
                text.push_str(&format!("NOT verified {what}: {findings}\n"));
            }
        }
        text
    }
}

/// Checks a directory of artifacts.
fn directory(context: &Context, path: &Path) -> Result<u8, CommandError> {
    let scratch = Temporary::directory()?;
    let checked = artifacts::check(&context.path(path), scratch.path())?;
    let named = checked
        .checks
        .into_iter()
        .flat_map(|check| clean_clone::named(check, ""));
    let checks: Vec<Check> = named.map(Check::from).collect();
    let Some(manifest) = checked.manifest else {
        let found = checks.into_iter().find_map(|check| check.violation);
        let found = found.map_or_else(|| "it has no manifest".into(), |found| found.to_string());
        let message = format!(
            "{} holds no artifacts of a checkpoint: {found}",
            path.display()
        );
        return Err(CommandError::new(ErrorCode::MalformedManifest, message)
            .subject(path.display().to_string())
            .hint("`git handoff export --artifacts <dir>` writes such a directory"));
    };
    let verified = Verified {
        scope: manifest.scope,
        generation: Some(manifest.generation),
        commit: None,
        checks,
    };
    context.ui.report(&verified)?;
    Ok(exit::of_all(verified.codes()))
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<u8, CommandError> {
    if args.run {
        let named = match &args.scope {
            Some(Source::Scope(arg)) => Some(&arg.scope),
            Some(Source::File(_)) | None => None,
        };
        need_somebody_to_ask(named)?;
    }
    if let Some(Source::File(path)) = &args.scope
        && context.path(path).is_dir()
    {
        return directory(context, path);
    }
    let opened = source::open(context, args.scope.as_ref())?;
    let repository = &opened.repository;
    let scopes = Scopes::new(context, repository);
    let scope = match &opened.scope {
        Some(arg) => arg.scope.clone(),
        None => scopes.in_use()?,
    };
    if let Some(scope) = opened.scope.as_ref().and_then(ScopeArg::prepared) {
        return prepared(args, context, &opened, scope);
    }
    let objects = repository.gix();
    let tip = scopes.newest_unjudged(&scope)?;
    let id = match opened.scope.as_ref().and_then(|arg| arg.generation) {
        None | Some(Wanted::Prepared) => tip,
        Some(Wanted::Number(generation)) => line::find_generation(objects, tip, generation)
            .map_err(Rejection::from)?
            .ok_or_else(|| {
                CommandError::new(
                    ErrorCode::NotFound,
                    format!("scope `{scope}` has no generation {generation}"),
                )
            })?,
    };
    let verification = verify::record(objects, id, Some(&scope), None, Depth::Objects);
    let mut checks: Vec<Check> = Vec::new();
    if opened.file.is_some() {
        // Git has taken it, and found all objects that it names.
        checks.push(Check {
            name: "file".into(),
            violation: None,
        });
    }
    let named = verification
        .checks
        .into_iter()
        .flat_map(|check| clean_clone::named(check, ""));
    checks.extend(named.map(Check::from));
    scopes.warn_where_cut(&scope, tip);
    let judge = Judge {
        objects,
        policy: Policy::default(),
        now: Timestamp::now(),
    };
    // What is wrong with the line itself comes before what is wrong with where it goes.
    let line =
        match (
            judge.line(&scope, tip, None, None),
            scopes.reader().look(&scope),
        ) {
            (Err(rejection), _) | (Ok(_), Err(ReadError::Rejected(rejection))) => Some(
                Violation::new(rejection.code, tip.to_string(), rejection.detail),
            ),
            (Ok(_), _) => None,
        };
    checks.push(Check {
        name: "line".into(),
        violation: line,
    });
    if let (Some(record), true) = (&verification.record, args.worktree) {
        checks.extend(compared(
            context,
            &context.repository()?,
            repository,
            &record.whole().content,
        )?);
    }
    if let (Some(record), true) = (&verification.record, args.clean_clone) {
        let outcomes = clean_clone::check(context, repository, record)?.outcomes;
        checks.extend(outcomes.into_iter().map(Check::from));
    }
    if let (Some(record), true) = (&verification.record, args.run) {
        let handed_over = HandedOver {
            scope: &scope,
            content: &record.whole().content,
            root: &record.root,
            line: record.before(),
            repository,
        };
        run_commands(context, handed_over, false, &mut checks)?;
    }
    let generation = verification
        .record
        .as_ref()
        .map(|record| record.generation());
    let verified = Verified {
        scope,
        generation,
        commit: Some(id.to_string()),
        checks,
    };
    context.ui.report(&verified)?;
    Ok(exit::of_all(verified.codes()))
}

/// Compares with the worktree here, as it is now; one line says that nothing differs.
fn compared(
    context: &Context,
    here: &Repository,
    objects: &Repository,
    content: &Content,
) -> Result<Vec<Check>, CommandError> {
    let found = worktree_check::differences(context, here, objects, content)?;
    let check = |violation| Check {
        name: "worktree".into(),
        violation,
    };
    Ok(match found.is_empty() {
        true => vec![check(None)],
        false => found.into_iter().map(Some).map(check).collect(),
    })
}

/// Runs the verification commands of what passed every check so far.
fn run_commands(
    context: &Context,
    handed_over: HandedOver<'_>,
    is_of_here: bool,
    checks: &mut Vec<Check>,
) -> Result<(), CommandError> {
    if checks.iter().any(|check| check.violation.is_some()) {
        context
            .ui
            .note("no command was run: the checks before found something");
        return Ok(());
    }
    let standing = Standing::find(context, handed_over, is_of_here)?;
    for (id, violation) in standing.run_commands(context)? {
        let name = format!("run.{id}");
        checks.push(Check { name, violation });
    }
    Ok(())
}

/// Makes every check of a prepared handoff.
fn prepared(
    args: &Args,
    context: &Context,
    opened: &Opened,
    scope: &ScopeName,
) -> Result<u8, CommandError> {
    let repository = &opened.repository;
    let id = crate::prepared::id(repository, scope)?;
    let verification = verify::prepared(repository.gix(), id, Some(scope), Depth::Objects);
    let named = verification.checks.into_iter();
    let named = named.flat_map(|check| clean_clone::named(check, ""));
    let mut checks: Vec<Check> = named.map(Check::from).collect();
    if let (Some(prepared), true) = (&verification.prepared, args.worktree) {
        checks.extend(compared(
            context,
            &context.repository()?,
            repository,
            prepared.whole(),
        )?);
    }
    if let (Some(prepared), true) = (&verification.prepared, args.run) {
        let handed_over = HandedOver {
            scope,
            content: prepared.whole(),
            root: &prepared.root,
            line: prepared.document.value.observed_tip.map(ObjectId::from),
            repository,
        };
        run_commands(context, handed_over, opened.file.is_none(), &mut checks)?;
    }
    let verified = Verified {
        scope: scope.clone(),
        generation: None,
        commit: Some(id.to_string()),
        checks,
    };
    context.ui.report(&verified)?;
    Ok(exit::of_all(verified.codes()))
}
