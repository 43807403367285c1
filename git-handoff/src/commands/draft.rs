//! `git handoff draft`.

use std::{
    fs::{self, File},
    io::Write as _,
    path::{Path, PathBuf},
};

use schemars::JsonSchema;
use serde::Serialize;
use store::{
    draft::{Draft, template},
    error_code::ErrorCode,
    scope::ScopeName,
};

use crate::{
    context::Context,
    draft_file,
    error::CommandError,
    exit,
    scopes::Scopes,
    ui::{Report, shell_line},
};

/// Begin a draft of the next checkpoint, and print it
///
/// A draft is YAML with a comment on every field. It begins with what the last generation left open, and lies in the Git
/// directory, never among your files: `git handoff prepare` and `git handoff save` take it from there. One that is there
/// already is printed as it is.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The scope; without one, the scope in use on this branch, else one of your own for it
    #[arg(value_name = "SCOPE")]
    scope: Option<ScopeName>,
    /// Begin anew; a draft that is there is kept as `<scope>.yaml~`
    #[arg(long)]
    new: bool,
    /// Print a new draft and write nothing
    #[arg(long, conflicts_with = "new")]
    print: bool,
}

pub(crate) struct Drafted {
    scope: ScopeName,
    /// Where it lies; none where it was only printed.
    path: Option<PathBuf>,
    created: bool,
    text: String,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Document<'a> {
    scope: &'a ScopeName,
    /// Where it lies; null where it was only printed.
    path: Option<String>,
    created: bool,
    /// The text.
    draft: &'a str,
    untrusted: bool,
}

impl Report for Drafted {
    const NAME: &'static str = "draft";

    type Document<'a> = Document<'a>;

    fn document(&self) -> Document<'_> {
        Document {
            scope: &self.scope,
            path: self.path.as_ref().map(|path| path.display().to_string()),
            created: self.created,
            draft: &self.text,
            untrusted: true,
        }
    }

    fn text(&self) -> String {
        self.text.clone()
    }

    fn next_commands(&self) -> Vec<Vec<String>> {
        let scope = self.scope.as_str();
        let mut words = vec!["git", "handoff", "prepare", scope];
        if self.path.is_none() {
            words.extend(["-f", "<draft>"]);
        }
        vec![words.into_iter().map(String::from).collect()]
    }
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<u8, CommandError> {
    let repository = context.repository()?;
    let scopes = Scopes::new(context, &repository);
    let head = repository.head()?;
    let scope = args.scope.clone().unwrap_or_else(|| scopes.to_save(&head));
    let path = draft_file::path(&repository, &scope);
    let fresh = || -> Result<String, CommandError> {
        let view = scopes.view_if_any(&scope)?;
        let left = match &view {
            None => Draft::default(),
            Some(view) => {
                let content = &view.tip.whole().content;
                let leases = match &view.tip.accept {
                    Some(accept) => accept.value.leases.as_deref(),
                    None => content.leases.as_deref(),
                };
                Draft::left_open(content, leases)
            }
        };
        Ok(template(&scope, &left))
    };
    let drafted = if args.print {
        Drafted {
            text: fresh()?,
            path: None,
            created: false,
            scope,
        }
    } else {
        let (text, created) = match read(&path)? {
            Some(text) if !args.new => (text, false),
            there => {
                let text = fresh()?;
                if there.is_some() {
                    fs::rename(&path, draft_file::aside(&path))
                        .map_err(|error| failed(&path, &error))?;
                }
                write(&path, &text).map_err(|error| failed(&path, &error))?;
                (text, true)
            }
        };
        Drafted {
            scope,
            path: Some(path),
            created,
            text,
        }
    };
    if context.ui.is_json() {
        context.ui.report(&drafted)?;
        return Ok(exit::SUCCESS);
    }
    // Standard output is the draft and nothing else.
    context.ui.raw(drafted.text.as_bytes())?;
    if let Some(path) = &drafted.path {
        let verb = if drafted.created {
            "the draft is"
        } else {
            "the draft was there already,"
        };
        context.ui.note(&format!("{verb} at {}", path.display()));
    }
    for command in drafted.next_commands() {
        context.ui.note(&format!("next: {}", shell_line(&command)));
    }
    Ok(exit::SUCCESS)
}

fn read(path: &Path) -> Result<Option<String>, CommandError> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(path, &error)),
    }
}

/// Writes a new file whole, or none.
fn write(path: &Path, text: &str) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut file = File::create_new(path)?;
    let written = file
        .write_all(text.as_bytes())
        .and_then(|()| file.sync_all());
    written.inspect_err(|_| _ = fs::remove_file(path))
}

fn failed(path: &Path, error: &std::io::Error) -> CommandError {
    let message = format!("the draft {}: {error}", path.display());
    CommandError::new(ErrorCode::Io, message).subject(path.display().to_string())
}
