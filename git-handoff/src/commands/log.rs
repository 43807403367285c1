//! `git handoff log`.

use schemars::JsonSchema;
use serde::Serialize;
use store::{
    actor::ActorId,
    digest::Digest,
    generation::Generation,
    line,
    oid::Oid,
    record::Record,
    scope::ScopeName,
    timestamp::Timestamp,
    verify::{self, Depth},
};

use crate::{
    context::Context,
    error::CommandError,
    exit,
    scopes::{ScopeArg, Scopes},
    ui::{Report, terminal_safe},
};

/// Show the records of a scope, newest first
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The scope; without one, the scope in use here
    #[arg(value_name = "SCOPE[@N]")]
    scope: Option<ScopeArg>,
}

pub(crate) struct Row<'a>(&'a Record);

impl Row<'_> {
    /// Returns the first line of the message, which is a function of the documents.
    fn summary(&self) -> String {
        let message = self.0.message.to_string();
        message.lines().next().unwrap_or_default().to_owned()
    }
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Document<'a> {
    /// `checkpoint`, `accept`, `release`, or `unknown (<name>)`.
    record: String,
    scope: &'a ScopeName,
    generation: Generation,
    commit: Oid,
    /// Digest of the record's own document.
    digest: Digest,
    at: Timestamp,
    by: &'a ActorId,
    summary: String,
    untrusted: bool,
}

impl Report for Row<'_> {
    const NAME: &'static str = "log";

    type Document<'a>
        = Document<'a>
    where
        Self: 'a;

    fn document(&self) -> Document<'_> {
        let record = self.0;
        Document {
            record: record.kind.to_string(),
            scope: record.scope(),
            generation: record.generation(),
            commit: record.id.into(),
            digest: record.digest(),
            at: record.at(),
            by: record.by(),
            summary: self.summary(),
            untrusted: true,
        }
    }

    fn text(&self) -> String {
        let record = self.0;
        let by = terminal_safe(record.by().as_str());
        format!(
            "{} {} {by} {}\n",
            record.id,
            record.at(),
            terminal_safe(&self.summary())
        )
    }
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<u8, CommandError> {
    let repository = context.repository()?;
    let scopes = Scopes::new(context, &repository);
    let found = scopes.find(args.scope.as_ref())?;
    let objects = repository.gix();
    let walk = line::back_to(objects, found.record.id, |_| false)
        .map_err(hooks::rejection::Rejection::from)?;
    for id in walk.records {
        let record = verify::record(objects, id, Some(&found.view.scope), None, Depth::Documents)
            .into_result();
        let record = record.map_err(hooks::rejection::Rejection::from)?;
        context.ui.row(&Row(&record))?;
    }
    Ok(exit::SUCCESS)
}
