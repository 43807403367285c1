//! `git handoff init`.

use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    context::Context,
    error::CommandError,
    exit,
    remote::{self, Remote, Setup},
    ui::Report,
};

/// Set up the handoff remote of this repository
///
/// Adds a remote whose URL is the one given, else `handoff.remote`, else that of `origin`. Running it again changes
/// nothing. Credentials in a URL are taken out: they belong to Git's credential helper.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// URL of the repository that holds the scopes
    #[arg(value_name = "URL")]
    url: Option<String>,
    /// Name of the remote
    #[arg(long, value_name = "NAME", default_value = remote::DEFAULT)]
    remote: String,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Document<'a> {
    remote: &'a str,
    url: &'a str,
    changed: bool,
}

impl Report for Setup {
    const NAME: &'static str = "init";

    type Document<'a> = Document<'a>;

    fn document(&self) -> Document<'_> {
        Document {
            remote: &self.remote.name,
            url: &self.url,
            changed: self.changed,
        }
    }

    fn text(&self) -> String {
        let what = if self.changed {
            "set up"
        } else {
            "is set up already"
        };
        match self.changed {
            true => format!("{what} remote `{}` at {}\n", self.remote.name, self.url),
            false => format!("remote `{}` {what} at {}\n", self.remote.name, self.url),
        }
    }

    fn next_commands(&self) -> Vec<Vec<String>> {
        vec![["git", "fetch", &self.remote.name].map(String::from).into()]
    }
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<u8, CommandError> {
    let repository = context.repository()?;
    let setup = Remote::set_up(&repository, &args.remote, args.url.as_deref())?;
    setup.warn(context);
    context.ui.report(&setup)?;
    Ok(exit::SUCCESS)
}
