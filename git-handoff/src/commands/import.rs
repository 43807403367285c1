//! `git handoff import`.

use std::path::{Path, PathBuf};

use gix::ObjectId;
use hooks::{judge::Judge, policy::Policy, reader, rejection::Rejection};
use schemars::JsonSchema;
use serde::Serialize;
use store::{
    bundle,
    error_code::ErrorCode,
    generation::Generation,
    line::{self, Relation},
    oid::Oid,
    ref_store::{RefChange, RefError, RefUpdate},
    repository::Repository,
    scope::ScopeName,
    timestamp::Timestamp,
    verify::{self, Depth},
};

use crate::{
    context::Context,
    error::CommandError,
    exit, prepared,
    scopes::{Scopes, ambiguous},
    source::{self, OpenedFile},
    ui::Report,
};

/// How often an import is judged anew because another writer was faster.
const ATTEMPTS: usize = 5;

/// Take the scopes of a file into this repository
///
/// The file is one that `git handoff export` wrote, or any Git bundle of refs/handoff/<scope>. What it brings obeys the
/// rules of a push: every record is judged before any of it comes into the repository, a scope goes forward or not at
/// all, and with one refusal nothing is imported. A prepared handoff becomes the one of the scope here, unless another is
/// prepared that is in no history yet.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The file; `-` is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// What an import brought.
pub(crate) struct Imported {
    file: PathBuf,
    scopes: Vec<ImportedScope>,
    prepared: Vec<ImportedHandoff>,
}

impl Imported {
    /// Tells whether a prepared handoff came.
    pub(crate) fn is_prepared(&self) -> bool {
        !self.prepared.is_empty()
    }

    /// Returns the scope that came, if it is one.
    pub(crate) fn only_scope(&self) -> Result<ScopeName, CommandError> {
        let records = self.scopes.iter().map(|one| &one.scope);
        let names = records.chain(self.prepared.iter().map(|one| &one.scope));
        let mut names: Vec<ScopeName> = names.cloned().collect();
        names.sort();
        names.dedup();
        match names.as_slice() {
            [only] => Ok(only.clone()),
            several => Err(ambiguous(several)),
        }
    }
}

/// A prepared handoff that a file brought.
struct ImportedHandoff {
    scope: ScopeName,
    commit: ObjectId,
    /// What was prepared before.
    before: Option<ObjectId>,
}

struct ImportedScope {
    scope: ScopeName,
    generation: Generation,
    commit: ObjectId,
    /// What the scope was at before.
    before: Option<ObjectId>,
}

impl ImportedScope {
    fn status(&self) -> &'static str {
        match self.before {
            Some(before) if before == self.commit => "up to date",
            Some(_) => "moved forward",
            None => "new",
        }
    }
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Document<'a> {
    file: String,
    scopes: Vec<ScopeDocument<'a>>,
    prepared: Vec<PreparedDocument<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct PreparedDocument<'a> {
    scope: &'a ScopeName,
    commit: Oid,
    /// What was prepared before.
    before: Option<Oid>,
}

#[derive(Serialize, JsonSchema)]
struct ScopeDocument<'a> {
    scope: &'a ScopeName,
    /// `new`, `moved forward` or `up to date`.
    status: &'static str,
    generation: Generation,
    commit: Oid,
    /// What the scope was at before.
    before: Option<Oid>,
}

impl Report for Imported {
    const NAME: &'static str = "import";

    type Document<'a> = Document<'a>;

    fn document(&self) -> Document<'_> {
        let scopes = self.scopes.iter().map(|one| ScopeDocument {
            scope: &one.scope,
            status: one.status(),
            generation: one.generation,
            commit: one.commit.into(),
            before: one.before.map(Oid::from),
        });
        let prepared = self.prepared.iter().map(|one| PreparedDocument {
            scope: &one.scope,
            commit: one.commit.into(),
            before: one.before.map(Oid::from),
        });
        Document {
            file: self.file.to_string_lossy().into_owned(),
            scopes: scopes.collect(),
            prepared: prepared.collect(),
        }
    }

    fn text(&self) -> String {
        let lines = self
            .scopes
            .iter()
            .map(|one| format!("{}@{}: {}\n", one.scope, one.generation, one.status()));
        let prepared = self.prepared.iter().map(|one| match one.before {
            Some(before) if before == one.commit => format!("{}@prepared: up to date\n", one.scope),
            _ => format!("{}@prepared: to be continued and committed\n", one.scope),
        });
        lines.chain(prepared).collect()
    }

    fn next_commands(&self) -> Vec<Vec<String>> {
        if let [only] = self.prepared.as_slice() {
            let prepared = format!("{}@prepared", only.scope);
            let of = |command: &str| {
                ["git", "handoff", command, &prepared]
                    .map(String::from)
                    .into()
            };
            return vec![of("continue"), of("restore")];
        }
        let [only] = self.scopes.as_slice() else {
            return vec![["git", "handoff", "list"].map(String::from).into()];
        };
        let scope = only.scope.as_str();
        let of = |command: &str| ["git", "handoff", command, scope].map(String::from).into();
        vec![of("continue"), of("restore")]
    }
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<u8, CommandError> {
    let repository = context.repository()?;
    context
        .ui
        .report(&import(context, &repository, &args.file)?)?;
    Ok(exit::SUCCESS)
}

/// Judges what a file holds, brings it here, and moves its scopes, all or none.
pub(crate) fn import(
    context: &Context,
    repository: &Repository,
    path: &Path,
) -> Result<Imported, CommandError> {
    let file = source::open_file(context, path, Some(repository))?;
    if file.repository.hash_kind() != repository.hash_kind() {
        let error = bundle::BundleError::Hash {
            path: path.into(),
            expected: repository.hash_kind(),
            found: file.repository.hash_kind(),
        };
        return Err(error.into());
    }
    let scopes = Scopes::new(context, repository);
    let mut copied = false;
    for attempt in 1.. {
        let mut updates = Vec::new();
        let mut imported = Vec::new();
        for (scope, tip) in &file.scopes {
            imported.push(judge(&scopes, &file, scope, *tip, &mut updates)?);
        }
        let mut handoffs = Vec::new();
        for (scope, id) in &file.prepared {
            handoffs.push(judge_prepared(&scopes, &file, scope, *id, &mut updates)?);
        }
        if !updates.is_empty() && !copied {
            let all = file.scopes.iter().chain(&file.prepared);
            let tips = all.map(|(_, tip)| *tip);
            bundle::copy_to(&file.repository, repository, tips)?;
            copied = true;
        }
        match repository.update_refs(&updates) {
            Ok(()) => {
                return Ok(Imported {
                    file: path.into(),
                    scopes: imported,
                    prepared: handoffs,
                });
            }
            // Another writer was faster: what the rules say of it is seen in the next round.
            Err(RefError::Moved { .. }) if attempt < ATTEMPTS => {}
            Err(error) => return Err(error.into()),
        }
    }
    unreachable!("the loop ends by returning")
}

/// Judges one scope of a file against what is here, and adds what is to be moved.
fn judge(
    scopes: &Scopes<'_>,
    file: &OpenedFile,
    scope: &ScopeName,
    new: ObjectId,
    updates: &mut Vec<RefUpdate>,
) -> Result<ImportedScope, CommandError> {
    let repository = scopes.repository;
    let view = scopes.view_if_any(scope)?;
    let (old, local) = match &view {
        Some(view) => (Some(view.tip.id), view.local),
        None => (None, None),
    };
    let objects = file.repository.gix();
    let relation = old.map(|old| line::compare(objects, new, old)).transpose();
    if let (Some(view), Some(Relation::Behind)) = (&view, relation.map_err(Rejection::from)?) {
        let message = format!(
            "scope `{scope}` is at generation {} here, which the file does not have",
            view.tip.generation()
        );
        return Err(CommandError::new(ErrorCode::CasConflict, message)
            .subject(scope.as_str())
            .hint("the file is older; nothing was imported")
            .next(&["git", "handoff", "log", scope.as_str()]));
    }
    let mark = repository
        .find_ref(&scope.to_verified_ref())?
        .filter(|mark| objects.has_object(mark));
    let judge = Judge {
        objects,
        policy: Policy::default(),
        now: Timestamp::now(),
    };
    let others = || {
        let known = reader::known_scopes(repository);
        known.map_err(|error| Rejection::new(ErrorCode::Io, error.to_string()))
    };
    let change = RefChange::from_seen(old, new);
    let judged = judge
        .change(scope.to_ref().as_bstr(), change, mark, others)
        .map_err(|rejection| refused(scope, rejection))?;
    if let Some(mark) = mark.filter(|mark| *mark != new && !judged.starts_after(*mark)) {
        let detail = format!("{new} does not continue {mark}, which was read here before");
        return Err(refused(scope, Rejection::new(ErrorCode::NonLinear, detail)));
    }
    if local != Some(new) {
        updates.push(RefUpdate {
            name: scope.to_ref(),
            change: RefChange::from_seen(local, new),
        });
    }
    let mark = repository.find_ref(&scope.to_verified_ref())?;
    if mark != Some(new) {
        updates.push(RefUpdate {
            name: scope.to_verified_ref(),
            change: RefChange::from_seen(mark, new),
        });
    }
    Ok(ImportedScope {
        scope: scope.clone(),
        generation: judged.tip.generation(),
        commit: new,
        before: old,
    })
}

/// Judges a prepared handoff of a file, and adds what is to be moved.
fn judge_prepared(
    scopes: &Scopes<'_>,
    file: &OpenedFile,
    scope: &ScopeName,
    new: ObjectId,
    updates: &mut Vec<RefUpdate>,
) -> Result<ImportedHandoff, CommandError> {
    let repository = scopes.repository;
    let judged = verify::prepared(file.repository.gix(), new, Some(scope), Depth::Objects);
    let judged = judged.into_result();
    let judged = judged.map_err(|violation| refused(scope, violation.into()))?;
    let before = prepared::id_if_any(repository, scope)?;
    let imported = ImportedHandoff {
        scope: scope.clone(),
        commit: new,
        before,
    };
    if before == Some(new) {
        return Ok(imported);
    }
    let view = scopes.view_if_any(scope)?;
    let tip = view.as_ref().map(|view| &view.tip);
    if !prepared::is_free(repository, scope, tip, judged.whole()) {
        let message = format!(
            "another handoff of scope `{scope}` is prepared here, and it is in no history yet"
        );
        return Err(CommandError::new(ErrorCode::CasConflict, message)
            .subject(scope.as_str())
            .hint("nothing was imported; commit the one that is here, or import into another worktree")
            .next(&["git", "handoff", "show", &format!("{scope}@prepared")]));
    }
    updates.push(RefUpdate {
        name: store::prepared::name(repository, scope)?,
        change: RefChange::from_seen(before, new),
    });
    Ok(imported)
}

/// Says which scope was refused, and that nothing has come of it.
fn refused(scope: &ScopeName, rejection: Rejection) -> CommandError {
    let is_aside = rejection.code == ErrorCode::NonLinear;
    let mut error = CommandError::from(rejection).subject(scope.as_str());
    if !is_aside {
        return error.hint("nothing was imported");
    }
    // What a push would have to do does not help here.
    error.hints.clear();
    error.hint("the file goes another way than the scope here; nothing was imported")
}
