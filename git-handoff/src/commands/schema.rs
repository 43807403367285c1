//! `git handoff schema`.

use schemars::{JsonSchema, Schema};
use serde::Serialize;
use store::error_code::ErrorCode;

use crate::{context::Context, error::CommandError, exit, schemas, ui::Report};

/// Print the JSON Schema of a document
///
/// Documents are `draft`, `manifest`, `accept`, `release` and `receipt`, as JSON shows them, and `json/<command>`, what
/// a command prints with `--json`; `json/error` is the document of every error. Without a name, the names are listed.
/// The schemas are draft 2020-12 of JSON Schema. A document may have fields that its schema does not name yet.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Name of the document
    #[arg(value_name = "DOCUMENT")]
    name: Option<String>,
}

pub(crate) struct Printed {
    name: Option<String>,
    schema: Option<Schema>,
    names: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Document<'a> {
    name: Option<&'a str>,
    /// The schema, if one was asked for.
    schema: Option<&'a Schema>,
    /// The names of all documents that have one.
    names: &'a [String],
}

impl Report for Printed {
    const NAME: &'static str = "schema";

    type Document<'a> = Document<'a>;

    fn document(&self) -> Document<'_> {
        Document {
            name: self.name.as_deref(),
            schema: self.schema.as_ref(),
            names: &self.names,
        }
    }

    fn text(&self) -> String {
        match &self.schema {
            Some(schema) => format!("{:#}\n", schema.as_value()),
            None => self.names.iter().map(|name| format!("{name}\n")).collect(),
        }
    }
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<u8, CommandError> {
    let all = schemas::all();
    let schema = match &args.name {
        None => None,
        Some(name) => {
            let found = all.iter().find(|one| one.name == *name);
            let found = found.ok_or_else(|| {
                let message = format!("there is no schema of `{name}`");
                CommandError::new(ErrorCode::Usage, message)
                    .subject(name)
                    .hint("without a name, `git handoff schema` lists them")
                    .next(&["git", "handoff", "schema"])
            })?;
            Some(found.schema())
        }
    };
    context.ui.report(&Printed {
        name: args.name.clone(),
        schema,
        names: all.into_iter().map(|one| one.name).collect(),
    })?;
    Ok(exit::SUCCESS)
}
