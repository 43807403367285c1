//! The repositories that a command works on.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};
use store::{error_code::ErrorCode, git::Git, repository::Repository};

use super::{Printer, shown};
use crate::{error::CommandError, exit};

/// The repository that a command works on.
#[derive(clap::Args, Debug)]
pub(super) struct Target {
    /// Git directory of the repository; else that of the current directory
    #[arg(long, value_name = "DIR")]
    pub(super) git_dir: Option<PathBuf>,
}

/// The repositories that a command works on, one after the other.
#[derive(clap::Args, Debug)]
pub(super) struct Targets {
    #[command(flatten)]
    one: Target,
    /// All repositories below this directory
    #[arg(long, value_name = "DIR", conflicts_with = "git_dir")]
    all: Option<PathBuf>,
}

impl Target {
    pub(super) fn repository(&self) -> Result<Repository, CommandError> {
        let git = match &self.git_dir {
            Some(dir) => Git::in_dir(dir).apart(),
            None => Git::in_dir("."),
        };
        Ok(Repository::discover(&git)?)
    }
}

/// What a command says of one repository.
pub(super) struct Said {
    /// Fields of its document.
    pub(super) body: Value,
    /// The same in words.
    pub(super) text: String,
    /// Whether all is well.
    pub(super) ok: bool,
}

impl Targets {
    /// Runs a command for each repository and prints what it says of all of them; one that fails holds nobody back.
    pub(super) fn each(
        &self,
        command: &str,
        printer: &Printer,
        run: impl Fn(&Repository) -> Result<Said, CommandError>,
    ) -> Result<u8, CommandError> {
        let Some(root) = &self.all else {
            let said = run(&self.one.repository()?)?;
            return finish(command, printer, vec![said]);
        };
        let found = below(root)?;
        if found.is_empty() {
            let message = format!("there is no repository below {}", shown(root));
            return Err(CommandError::new(ErrorCode::NotFound, message));
        }
        let one = |dir: &PathBuf| {
            let repository = Repository::discover(&Git::in_dir(dir).apart())?;
            run(&repository)
        };
        let said = found.iter().map(|dir| {
            one(dir).unwrap_or_else(|error| Said {
                text: format!("{}: {}\n", shown(dir), error.message),
                body: json!({
                    "directory": shown(dir),
                    "code": error.code,
                    "message": error.message,
                }),
                ok: false,
            })
        });
        finish(command, printer, said.collect())
    }
}

fn finish(command: &str, printer: &Printer, said: Vec<Said>) -> Result<u8, CommandError> {
    let ok = said.iter().all(|said| said.ok);
    let text: String = said.iter().map(|said| said.text.as_str()).collect();
    let repositories: Vec<Value> = said.into_iter().map(|said| said.body).collect();
    let body = json!({"ok": ok, "repositories": repositories});
    printer.print(command, body, &text)?;
    Ok(if ok { exit::SUCCESS } else { exit::FAILURE })
}

/// Returns the Git directories below a directory, by path; links are not followed.
fn below(root: &Path) -> Result<Vec<PathBuf>, CommandError> {
    let (mut found, mut left) = (Vec::new(), vec![root.to_owned()]);
    while let Some(dir) = left.pop() {
        let is_repository =
            dir.join("HEAD").is_file() && dir.join("objects").is_dir() && dir.join("refs").is_dir();
        if is_repository {
            found.push(dir);
            continue;
        }
        for entry in fs::read_dir(&dir)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                left.push(entry.path());
            }
        }
    }
    found.sort();
    Ok(found)
}
