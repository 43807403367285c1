//! `git handoff list`.

use hooks::reader::ScopeGlance;
use schemars::JsonSchema;
use serde::Serialize;
use store::{
    actor::ActorId,
    contract::Disposition,
    generation::Generation,
    line::Relation,
    oid::Oid,
    record::{Record, State},
    repository::Repository,
    scope::ScopeName,
    timestamp::Timestamp,
};

use crate::{
    context::Context,
    error::CommandError,
    exit,
    origin::{self, Url},
    remote::Remote,
    safety,
    scopes::Scopes,
    temporary::Temporary,
    ui::{Report, terminal_safe},
};

/// List the scopes, one a line
///
/// Shows generation, state, owner, disposition, when the newest record was written, and where the local line stands
/// to the remote one as it was last fetched: same, ahead, behind, diverged, or unknown.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Also list scopes whose work is completed
    #[arg(long)]
    all: bool,
    /// List what is at a URL; no repository is needed here
    ///
    /// All records there are fetched into a temporary repository and judged as those of any remote.
    #[arg(long, value_name = "URL")]
    from: Option<String>,
    /// List the safety records instead: what commands set aside here
    #[arg(long, conflicts_with_all = ["all", "from"])]
    safety: bool,
}

struct Row {
    glance: ScopeGlance,
    state: State,
}

impl Row {
    fn remote(&self) -> &'static str {
        let place = self.glance.place;
        match (place.local, place.remote, place.relation) {
            (_, _, Some(Relation::Same)) => "same",
            (_, _, Some(Relation::Ahead)) => "ahead",
            (_, _, Some(Relation::Behind)) => "behind",
            (_, _, Some(Relation::Diverged)) => "diverged",
            // It was read there and was never taken over here: nothing local differs from it.
            (None, Some(_), None) => "same",
            _ => "unknown",
        }
    }
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ScopeDocument<'a> {
    scope: &'a ScopeName,
    generation: Generation,
    state: State,
    owner: Option<&'a ActorId>,
    disposition: Disposition,
    updated_at: Timestamp,
    commit: Oid,
    /// Where the local line stands to the remote one: `same`, `ahead`, `behind`, `diverged` or `unknown`.
    remote: &'static str,
}

impl Report for Row {
    const NAME: &'static str = "list";

    type Document<'a> = ScopeDocument<'a>;

    fn document(&self) -> ScopeDocument<'_> {
        let tip = &self.glance.tip;
        ScopeDocument {
            scope: &self.glance.scope,
            generation: tip.generation,
            state: self.state,
            owner: tip.owner(),
            disposition: tip.disposition,
            updated_at: tip.at,
            commit: tip.id.into(),
            remote: self.remote(),
        }
    }

    fn text(&self) -> String {
        let tip = &self.glance.tip;
        let owner = tip.owner().map_or("-", |owner| owner.as_str());
        format!(
            "{}@{}\t{}\t{}\t{}\t{}\t{}\n",
            self.glance.scope,
            tip.generation,
            self.state,
            owner,
            tip.disposition,
            tip.at,
            self.remote(),
        )
    }
}

/// A line of the list.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
#[expect(
    dead_code,
    reason = "it is there for its schema: each row is written as what it is"
)]
pub(crate) enum Document<'a> {
    /// A scope.
    Scope(ScopeDocument<'a>),
    /// With `--safety`, a state that was set aside.
    Safety(SafetyDocument<'a>),
}

/// A state that a command set aside.
struct Aside {
    number: u64,
    record: Record,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct SafetyDocument<'a> {
    /// Number of the safety record.
    safety: u64,
    commit: Oid,
    at: Timestamp,
    objective: &'a str,
    untrusted: bool,
}

impl Report for Aside {
    const NAME: &'static str = "list";

    type Document<'a> = SafetyDocument<'a>;

    fn document(&self) -> SafetyDocument<'_> {
        let record = &self.record;
        SafetyDocument {
            safety: self.number,
            commit: record.id.into(),
            at: record.at(),
            objective: &record.manifest.value.content.objective,
            untrusted: true,
        }
    }

    fn text(&self) -> String {
        let record = &self.record;
        let objective = terminal_safe(&record.manifest.value.content.objective);
        format!("{}\t{}\t{objective}\n", self.number, record.at())
    }
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<u8, CommandError> {
    if let Some(url) = &args.from {
        let url = Url::parse(url)?;
        let directory = Temporary::directory()?;
        let repository = origin::fetch_all(context, &url, &directory.path().join("there.git"))?;
        let remote = Some(Remote {
            name: "origin".into(),
        });
        let scopes = Scopes {
            context,
            repository: &repository,
            remote,
        };
        let code = list(args, &scopes)?;
        if scopes.reader().scopes().is_ok_and(|names| names.is_empty()) {
            let none = format!("the remote shows no scope; {}", origin::MAY_BE_HIDDEN);
            context.ui.note(&none);
        }
        return Ok(code);
    }
    let repository = context.repository()?;
    match args.safety {
        true => set_aside(context, &repository),
        false => list(args, &Scopes::new(context, &repository)),
    }
}

/// Lists scopes in the order of their names.
fn list(args: &Args, scopes: &Scopes<'_>) -> Result<u8, CommandError> {
    let context = scopes.context;
    let now = context.now()?;
    let mut broken = Vec::new();
    let reader = scopes.reader();
    let looks = reader
        .look_at_all()
        .map_err(|error| scopes.explain(error))?;
    for (scope, glance) in looks.glances() {
        match glance {
            Ok(glance) if args.all || is_live(&glance) => {
                let state = glance.tip.state(now);
                context.ui.row(&Row { glance, state })?;
            }
            Ok(_) => {}
            Err(error) => {
                let error = scopes.explain(error);
                context.ui.warn(
                    error.code.as_str(),
                    &format!("scope `{scope}`: {}", error.message),
                );
                broken.push(error.code);
            }
        }
    }
    Ok(exit::of_all(broken))
}

/// Lists the safety records, oldest first.
fn set_aside(context: &Context, repository: &Repository) -> Result<u8, CommandError> {
    let mut broken = Vec::new();
    for (number, commit) in safety::list(repository)? {
        match Record::read(repository.gix(), commit) {
            Ok(record) => context.ui.row(&Aside { number, record })?,
            Err(error) => {
                let code = error.code();
                let error = CommandError::from_error(code, &error);
                let text = format!("safety record {number}: {}", error.message);
                context.ui.warn(code.as_str(), &text);
                broken.push(code);
            }
        }
    }
    Ok(exit::of_all(broken))
}

/// A scope is live unless its work is completed and nobody holds it.
fn is_live(glance: &ScopeGlance) -> bool {
    let completed = glance.tip.disposition == Disposition::Completed;
    !completed || glance.tip.owner().is_some()
}
