//! `git handoff man`.

use std::{
    env,
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use schemars::JsonSchema;
use serde::Serialize;
use store::error_code::ErrorCode;

use crate::{
    context::Context,
    error::CommandError,
    exit,
    manual::{self, Page},
    temporary::{Existing, Temporary},
    ui::{Report, count},
};

/// Print a man page, or install them all
///
/// Prints the page of `git handoff` or of one of its commands, as man(1) reads it. With `--install` it writes all pages
/// below `$XDG_DATA_HOME/man`, else `~/.local/share/man`, so that `git handoff --help` and `man git-handoff-save` work,
/// and says what finds them there.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The command; without one, `git handoff` itself
    #[arg(value_name = "COMMAND", conflicts_with = "install")]
    command: Option<String>,
    /// Write all pages to where man(1) looks for those of a user
    #[arg(long)]
    install: bool,
}

/// A page that is printed.
pub(crate) struct Printed(Page);

/// Pages that were written.
struct Installed {
    /// The directory of the pages.
    directory: PathBuf,
    pages: Vec<String>,
    found: bool,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Document<'a> {
    /// The page, where one was asked for.
    page: Option<String>,
    /// The directory that pages were written to.
    directory: Option<String>,
    /// The names of the pages.
    pages: Vec<&'a str>,
    /// Whether man(1) looks there, by MANPATH or by PATH; null where nothing was written.
    found: Option<bool>,
}

impl Report for Printed {
    const NAME: &'static str = "man";

    type Document<'a> = Document<'a>;

    fn document(&self) -> Document<'_> {
        Document {
            page: Some(self.text()),
            directory: None,
            pages: vec![&self.0.name],
            found: None,
        }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.source).into_owned()
    }
}

impl Installed {
    /// Returns the directory above, which is what MANPATH names.
    fn root(&self) -> &Path {
        self.directory.parent().unwrap_or(&self.directory)
    }
}

impl Report for Installed {
    const NAME: &'static str = "man";

    type Document<'a> = Document<'a>;

    fn document(&self) -> Document<'_> {
        Document {
            page: None,
            directory: Some(self.directory.to_string_lossy().into_owned()),
            pages: self.pages.iter().map(String::as_str).collect(),
            found: Some(self.found),
        }
    }

    fn text(&self) -> String {
        let mut text = format!(
            "installed {} in {}\n",
            count(self.pages.len() as u64, "man page"),
            self.directory.display()
        );
        match self.found {
            true => text.push_str("man(1) looks there: `git handoff --help` works\n"),
            false => text.push_str(&format!(
                "man(1) does not look there yet; in the profile of your shell:\n  export MANPATH=\"{}:$MANPATH\"\n",
                self.root().display()
            )),
        }
        text
    }

    fn next_commands(&self) -> Vec<Vec<String>> {
        match self.found {
            true => vec![["git", "handoff", "--help"].map(String::from).into()],
            false => Vec::new(),
        }
    }
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<u8, CommandError> {
    let pages = manual::pages()?;
    if args.install {
        context.ui.report(&install(&pages, context)?)?;
        return Ok(exit::SUCCESS);
    }
    let name = match args.command.as_deref() {
        None => "git-handoff".to_owned(),
        Some(command) => format!("git-handoff-{command}"),
    };
    let page = pages.into_iter().find(|page| page.name == name);
    let page = page.ok_or_else(|| {
        let message = format!("there is no man page {name}");
        CommandError::new(ErrorCode::Usage, message)
            .subject(&name)
            .next(&["git", "handoff", "help"])
    })?;
    context.ui.report(&Printed(page))?;
    Ok(exit::SUCCESS)
}

fn install(pages: &[Page], context: &Context) -> Result<Installed, CommandError> {
    let environment = &context.environment;
    let home = environment.home.as_ref();
    // A relative one is to be ignored, says the XDG Base Directory Specification.
    let data = environment
        .data_home
        .clone()
        .filter(|dir| dir.is_absolute());
    let data = data.or_else(|| Some(home?.join(".local/share")));
    let data = data.ok_or_else(|| {
        CommandError::new(
            ErrorCode::Usage,
            "nothing says where the man pages of a user are",
        )
        .hint("set HOME or XDG_DATA_HOME")
    })?;
    let root = data.join("man");
    let directory = root.join("man1");
    let written = (|| -> Result<(), CommandError> {
        fs::create_dir_all(&directory)?;
        for page in pages {
            let file = Temporary::file_in(&directory)?;
            fs::write(file.path(), &page.source)?;
            fs::set_permissions(file.path(), Permissions::from_mode(0o644))?;
            file.keep_as(
                &directory.join(format!("{}.1", page.name)),
                Existing::Replace,
            )?;
        }
        Ok(())
    })();
    written.map_err(|error| {
        let message = format!(
            "the man pages cannot be written to {}: {}",
            directory.display(),
            error.message
        );
        CommandError::new(error.code, message).subject(directory.display().to_string())
    })?;
    Ok(Installed {
        found: is_searched(&root, context),
        directory,
        pages: pages.iter().map(|page| page.name.clone()).collect(),
    })
}

/// Tells whether man(1) looks into a directory: MANPATH names it, or it lies beside a directory of the PATH as
/// `../man` or `../share/man`, manpath(1). A MANPATH without an empty part replaces what the PATH gives.
fn is_searched(root: &Path, context: &Context) -> bool {
    let same = |dir: &Path| match (dir.canonicalize(), root.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    };
    let named: Vec<PathBuf> = match &context.environment.man_path {
        Some(path) => env::split_paths(path).collect(),
        None => vec![PathBuf::new()],
    };
    if named.iter().any(|dir| same(dir)) {
        return true;
    }
    let by_path = named.iter().any(|dir| dir.as_os_str().is_empty());
    let path = context.environment.own_path.as_ref();
    let dirs = path.into_iter().flat_map(env::split_paths);
    by_path
        && dirs
            .filter_map(|dir| dir.parent().map(Path::to_owned))
            .any(|above| same(&above.join("man")) || same(&above.join("share/man")))
}
