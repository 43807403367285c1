//! The conversions of a record as configuration, `core.autocrlf` and `core.eol`.

use std::{ffi::OsStr, path::Path};

use super::RestoreError;
use crate::{
    contract::{AutoCrlf, Conversions, Eol},
    conversion,
    repository::Repository,
};

/// Writes the recorded conversions into the configuration of a new repository.
pub(super) fn write_to_repository(
    repository: &Repository,
    conversions: &Conversions,
) -> Result<(), RestoreError> {
    for (key, value) in spelled(conversions) {
        repository.git().output(["config", "--local", key, value])?;
    }
    Ok(())
}

/// Sees that the recorded conversions are in force in a linked worktree.
///
/// The repository gets configuration per worktree only where that is needed.
pub(super) fn write_to_worktree(
    repository: &Repository,
    conversions: &Conversions,
) -> Result<(), RestoreError> {
    if conversion::in_force(repository.gix()) == *conversions {
        return Ok(());
    }
    enable_worktree_settings(repository)?;
    for (key, value) in spelled(conversions) {
        repository
            .git()
            .output(["config", "--worktree", key, value])?;
    }
    Ok(())
}

/// Gives each worktree of a repository its own configuration, as git-worktree(1), CONFIGURATION FILE, says.
fn enable_worktree_settings(repository: &Repository) -> Result<(), RestoreError> {
    let config = repository.gix().config_snapshot();
    if config.boolean("extensions.worktreeConfig") == Some(true) {
        return Ok(());
    }
    let git = repository.git();
    let shared = repository.common_dir().join("config");
    let main = repository.common_dir().join("config.worktree");
    // These two must not apply to the linked worktrees: they move to the file of the main one.
    for key in ["core.bare", "core.worktree"] {
        let in_file = |file: &Path, args: &[&OsStr]| {
            let file_args = ["config".as_ref(), "--file".as_ref(), file.as_os_str()];
            git.line(file_args.iter().chain(args))
        };
        let Ok(value) = in_file(&shared, &["--get".as_ref(), key.as_ref()]) else {
            continue;
        };
        if key == "core.worktree" || value == "true" {
            in_file(&main, &[key.as_ref(), value.as_ref()])?;
            in_file(&shared, &["--unset".as_ref(), key.as_ref()])?;
        }
    }
    git.output(["config", "--local", "extensions.worktreeConfig", "true"])?;
    Ok(())
}

fn spelled(conversions: &Conversions) -> [(&'static str, &'static str); 2] {
    let autocrlf = match conversions.autocrlf {
        AutoCrlf::True => "true",
        AutoCrlf::False => "false",
        AutoCrlf::Input => "input",
    };
    let eol = match conversions.eol {
        Eol::Lf => "lf",
        Eol::Crlf => "crlf",
        Eol::Native => "native",
    };
    [("core.autocrlf", autocrlf), ("core.eol", eol)]
}
