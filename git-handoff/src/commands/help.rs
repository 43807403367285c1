//! `git handoff help`.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Serialize;
use store::error_code::ErrorCode;

use crate::{
    cli,
    context::Context,
    error::CommandError,
    examples, exit, schemas,
    ui::{self, Report},
};

/// Explain a command, the error codes, or the JSON documents
///
/// `git handoff help` lists the commands, `git handoff help <command>` explains one, `git handoff help codes` lists
/// error codes with their exit codes, and `git handoff help json` the documents that `--json` prints.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// A command, `codes` or `json`
    #[arg(value_name = "TOPIC")]
    topic: Option<String>,
}

/// What is explained.
pub(crate) struct Help<'a> {
    topic: Option<&'a str>,
    text: String,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Document<'a> {
    topic: Option<&'a str>,
    text: &'a str,
}

impl Report for Help<'_> {
    const NAME: &'static str = "help";

    type Document<'a>
        = Document<'a>
    where
        Self: 'a;

    fn document(&self) -> Document<'_> {
        Document {
            topic: self.topic,
            text: &self.text,
        }
    }

    fn text(&self) -> String {
        self.text.clone()
    }
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<u8, CommandError> {
    let mut root = cli::command();
    let text = match args.topic.as_deref() {
        None => root.render_long_help().to_string(),
        Some("codes") => codes(),
        Some("json") => documents(),
        Some(topic) => match root.find_subcommand_mut(topic) {
            Some(command) => {
                let command = command.clone().bin_name(format!("git handoff {topic}"));
                let help = command.clone().render_long_help();
                match examples::of(command.get_name()) {
                    [] => help.to_string(),
                    examples => format!("{help}\n{}", examples::text(examples)),
                }
            }
            None => {
                let message = format!("there is no help on `{topic}`");
                return Err(
                    CommandError::new(ErrorCode::Usage, message).next(&["git", "handoff", "help"])
                );
            }
        },
    };
    let topic = args.topic.as_deref();
    context.ui.report(&Help { topic, text })?;
    Ok(exit::SUCCESS)
}

fn codes() -> String {
    let mut text = String::from("Exit codes:\n");
    for (exit, meaning) in exit::MEANINGS {
        let _ = writeln!(text, "  {exit}  {meaning}");
    }
    text.push_str("\nError codes, each with the exit code it leads to:\n");
    for code in ErrorCode::ALL {
        let _ = writeln!(
            text,
            "  {}  {:<26} {}",
            exit::of(*code),
            code.as_str(),
            code.meaning()
        );
    }
    text
}

fn documents() -> String {
    let mut text = String::from(
        "With --json (or HANDOFF_JSON=1) a command prints one document on standard output. Every document has\n\
         `format`, which is handoff-cli.<name>.v1, and those that are one document have `nextCommands`, a list of\n\
         commands that lead on. A path that is not UTF-8 has its bytes beside it, in base64, as <field>Bytes.\n\
         `untrusted: true` says that text of a checkpoint is in the document. `git handoff schema json/<name>` prints\n\
         the JSON Schema of a document. Of `list`, `log` and `scan` there is one document a line; that of `run` follows\n\
         the output of the command.\n\n",
    );
    let documents = schemas::all().into_iter();
    for document in documents.filter(|document| document.name.starts_with("json/")) {
        let name = document.name.trim_start_matches("json/");
        let fields = document.fields();
        let _ = writeln!(text, "{}\n  {fields}\n", ui::format_of(name));
    }
    text
}
