//! The JSON Schemas of all documents, each made from the type that is read or written.

use schemars::{JsonSchema, Schema};
use serde_json::{Value, json};
use store::{
    contract::{Accept, Document as _, Manifest, Receipt, Release, schema},
    draft,
};

use crate::{
    commands::{
        accept, allow, commit, completions, r#continue as continue_command, demo, diff, doctor,
        draft as draft_command, export, gate, help, import, list, log, man, prepare, push, release,
        restore, run, save, scan, schema as schema_command, show, snapshot, sync, uncommit, verify,
    },
    remote::Setup,
    ui::{self, ErrorDocument, Report},
};

/// Makes the schema of a document.
type Make = fn() -> Schema;

/// A document of a command: its name, its schema, and how it is printed.
type OfCommand = (&'static str, Make, Printed);

/// A document with a schema.
pub(crate) struct Described {
    /// What it is called on the command line: `manifest`, or `json/save`.
    pub(crate) name: String,
    make: Make,
    /// How it is printed, where it is one of a command's.
    printed: Option<Printed>,
}

/// How a document of a command is printed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Printed {
    /// One of them, with the commands that lead on.
    Alone,
    /// One a line.
    Row,
}

/// Returns all documents that have a schema: those of the contract, then those of the commands.
pub(crate) fn all() -> Vec<Described> {
    let contract: [(&str, Make); 5] = [
        ("draft", draft_schema),
        ("manifest", contract::<Manifest>),
        ("accept", contract::<Accept>),
        ("release", contract::<Release>),
        ("receipt", contract::<Receipt>),
    ];
    let contract = contract.into_iter().map(|(name, make)| Described {
        name: name.into(),
        make,
        printed: None,
    });
    contract.chain(of_commands()).collect()
}

fn of_commands() -> impl Iterator<Item = Described> {
    use Printed::{Alone, Row};
    let documents: [OfCommand; 31] = [
        one::<accept::Accepted>(),
        one::<allow::Answered>(),
        one::<commit::Outcome>(),
        one::<completions::Completions>(),
        one::<continue_command::Continued<'_>>(),
        one::<demo::Played>(),
        one::<diff::report::Compared>(),
        one::<doctor::Looked>(),
        one::<draft_command::Drafted>(),
        (ErrorDocument::NAME, schema::of::<ErrorDocument<'_>>, Alone),
        one::<export::Exported>(),
        one::<gate::Measured>(),
        one::<help::Help<'_>>(),
        one::<import::Imported>(),
        one::<Setup>(),
        ("list", schema::of::<list::Document<'_>>, Row),
        row::<log::Row<'_>>(),
        one::<man::Printed>(),
        one::<prepare::Outcome>(),
        one::<push::Outcome>(),
        one::<release::Released>(),
        one::<restore::report::Outcome>(),
        one::<run::Ran<'_>>(),
        one::<save::Outcome>(),
        row::<scan::Row<'_>>(),
        one::<schema_command::Printed>(),
        one::<show::Shown>(),
        one::<snapshot::Captured<'_>>(),
        one::<sync::Synced>(),
        one::<uncommit::Uncommitted>(),
        one::<verify::Verified>(),
    ];
    documents
        .into_iter()
        .map(|(name, make, printed)| Described {
            name: format!("json/{name}"),
            make,
            printed: Some(printed),
        })
}

fn one<R: Report + 'static>() -> OfCommand {
    (R::NAME, schema::of::<R::Document<'static>>, Printed::Alone)
}

fn row<R: Report + 'static>() -> OfCommand {
    (R::NAME, schema::of::<R::Document<'static>>, Printed::Row)
}

fn contract<D: store::contract::Document + JsonSchema>() -> Schema {
    let mut schema = schema::of::<D>();
    schema.insert("title".into(), D::SCHEMA.into());
    schema
}

fn draft_schema() -> Schema {
    let mut schema = draft::schema();
    let title = format!("draft of a {}", Manifest::SCHEMA);
    schema.insert("title".into(), title.into());
    schema
}

impl Described {
    /// Returns the schema.
    pub(crate) fn schema(&self) -> Schema {
        let mut schema = (self.make)();
        if let (Some(printed), Some(name)) = (self.printed, self.name.strip_prefix("json/")) {
            enclose(&mut schema, &ui::format_of(name), printed);
        }
        schema
    }

    /// Returns the fields of the document in one line: `scope, warnings: [{code, message}]`.
    pub(crate) fn fields(&self) -> String {
        let schema = Value::from(self.schema());
        outline(&schema, &schema["$defs"], 0)
    }
}

/// Adds what every document of a command has.
fn enclose(schema: &mut Schema, format: &str, printed: Printed) {
    schema.insert("title".into(), format.into());
    let mut added = vec![("format", json!({ "const": format }))];
    if printed == Printed::Alone {
        let command = json!({ "type": "array", "items": { "type": "string" } });
        let commands = json!({
            "description": "Commands that lead on.",
            "type": "array",
            "items": command,
        });
        added.push(("nextCommands", commands));
    }
    for (key, value) in added {
        let object = schema.ensure_object();
        let properties = object.entry("properties").or_insert_with(|| json!({}));
        properties[key] = value;
        let required = object.entry("required").or_insert_with(|| json!([]));
        if let Value::Array(required) = required {
            required.push(key.into());
        }
    }
}

/// How deep an outline goes.
const DEPTH: usize = 2;

/// Writes the fields of a schema, and those of its fields.
fn outline(schema: &Value, kinds: &Value, depth: usize) -> String {
    let schema = resolve(schema, kinds);
    let alternatives = schema["anyOf"].as_array().filter(|_| depth == 0);
    if let Some(alternatives) = alternatives {
        let lines = alternatives.iter();
        let lines = lines.map(|one| format!("{{{}}}", outline(one, kinds, depth)));
        return lines.collect::<Vec<_>>().join(" or ");
    }
    let mut fields: Vec<String> = Vec::new();
    let properties = schema["properties"].as_object();
    for (key, field) in properties.into_iter().flatten() {
        // These are said of all documents at once.
        if key.ends_with("Bytes")
            || depth == 0 && ["format", "nextCommands"].contains(&key.as_str())
        {
            continue;
        }
        let field = resolve(field, kinds);
        let (entry, is_list) = match &field["items"] {
            Value::Null => (field, false),
            items => (resolve(items, kinds), true),
        };
        let within = match depth + 1 < DEPTH {
            true => outline(entry, kinds, depth + 1),
            false => String::new(),
        };
        fields.push(match (within.is_empty(), is_list) {
            (true, true) => format!("{key}: […]"),
            (true, false) => key.clone(),
            (false, true) => format!("{key}: [{{{within}}}]"),
            (false, false) => format!("{key}: {{{within}}}"),
        });
    }
    fields.join(", ")
}

fn resolve<'a>(schema: &'a Value, kinds: &'a Value) -> &'a Value {
    let name = schema["$ref"].as_str().unwrap_or_default();
    match name.strip_prefix("#/$defs/") {
        Some(name) => &kinds[name],
        None => schema,
    }
}
