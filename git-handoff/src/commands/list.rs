//! `git handoff list`.

use hooks::reader::ScopeGlance;
use serde_json::{Value, json};
use store::{
    contract::Disposition,
    line::Relation,
    record::{Record, State},
    repository::Repository,
};

use crate::{
    context::Context,
    error::CommandError,
    exit, safety,
    scopes::Scopes,
    ui::{Report, terminal_safe, to_value},
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
    /// List the safety records instead: what commands set aside here
    #[arg(long, conflicts_with = "all")]
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

impl Report for Row {
    const NAME: &'static str = "list";

    fn json(&self) -> Value {
        let tip = &self.glance.tip;
        json!({
            "scope": self.glance.scope,
            "generation": tip.generation,
            "state": self.state.to_string(),
            "owner": tip.owner(),
            "disposition": to_value(&tip.disposition),
            "updatedAt": tip.at,
            "commit": tip.id.to_string(),
            "remote": self.remote(),
        })
    }

    fn text(&self) -> String {
        let tip = &self.glance.tip;
        let owner = tip.owner().map_or("-", |owner| owner.as_str());
        let disposition = to_value(&tip.disposition);
        format!(
            "{}@{}\t{}\t{}\t{}\t{}\t{}\n",
            self.glance.scope,
            tip.generation,
            self.state,
            owner,
            disposition.as_str().unwrap_or_default(),
            tip.at,
            self.remote(),
        )
    }
}

/// A state that a command set aside.
struct Aside {
    number: u64,
    record: Record,
}

impl Report for Aside {
    const NAME: &'static str = "list";

    fn json(&self) -> Value {
        let record = &self.record;
        json!({
            "safety": self.number,
            "commit": record.id.to_string(),
            "at": record.at(),
            "objective": record.manifest.value.content.objective,
            "untrusted": true,
        })
    }

    fn text(&self) -> String {
        let record = &self.record;
        let objective = terminal_safe(&record.manifest.value.content.objective);
        format!("{}\t{}\t{objective}\n", self.number, record.at())
    }
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<u8, CommandError> {
    let repository = context.repository()?;
    if args.safety {
        return set_aside(context, &repository);
    }
    let scopes = Scopes::new(context, &repository);
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
