//! What every command is given: the place it runs in, the environment, and the way to print.

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
};

use store::{error_code::ErrorCode, git::Git, repository::Repository, timestamp::Timestamp};

use crate::{error::CommandError, ui::Ui};

/// The surroundings of one run.
pub(crate) struct Context {
    pub(crate) ui: Ui,
    /// The directory that the command works in: `-C`, else the current one.
    pub(crate) dir: PathBuf,
    pub(crate) environment: Environment,
}

/// The variables that commands look at, read once at start.
#[derive(Clone, Debug, Default)]
pub(crate) struct Environment {
    /// `HANDOFF_ID`: who is acting.
    pub(crate) id: Option<String>,
    /// `HANDOFF_KIND`: what that is.
    pub(crate) kind: Option<String>,
    /// `HANDOFF_RUN_ID`: the run it belongs to.
    pub(crate) run_id: Option<String>,
    /// `HANDOFF_JSON`: documents are asked for.
    pub(crate) json: bool,
    /// `GIT_COMMITTER_DATE`: the time that documents follow.
    pub(crate) committer_date: Option<String>,
    /// `PATH`, with the directory of this executable first: the remote helper lies beside it.
    pub(crate) path: Option<OsString>,
    /// `PATH` as it was: what Git finds where it is not this program that starts it.
    pub(crate) own_path: Option<OsString>,
    /// `HOME`.
    pub(crate) home: Option<PathBuf>,
    /// `XDG_DATA_HOME`.
    pub(crate) data_home: Option<PathBuf>,
    /// `MANPATH`.
    pub(crate) man_path: Option<OsString>,
}

impl Environment {
    pub(crate) fn read() -> Self {
        let given = |name| env::var_os(name).filter(|value| !value.is_empty());
        let text = |name| env::var(name).ok().filter(|value| !value.is_empty());
        Environment {
            id: text("HANDOFF_ID"),
            kind: text("HANDOFF_KIND"),
            run_id: text("HANDOFF_RUN_ID"),
            json: text("HANDOFF_JSON").is_some_and(|value| value != "0"),
            committer_date: text("GIT_COMMITTER_DATE"),
            path: path_with_helper(),
            own_path: env::var_os("PATH"),
            home: given("HOME").map(PathBuf::from),
            data_home: given("XDG_DATA_HOME").map(PathBuf::from),
            man_path: given("MANPATH"),
        }
    }
}

fn path_with_helper() -> Option<OsString> {
    let executable = env::current_exe().ok()?;
    let own = executable.parent()?.to_owned();
    let others = env::var_os("PATH").unwrap_or_default();
    env::join_paths(std::iter::once(own).chain(env::split_paths(&others))).ok()
}

impl Context {
    /// Sees that there is the directory that the command is to work in.
    pub(crate) fn see_directory(&self) -> Result<(), CommandError> {
        if self.dir.is_dir() {
            return Ok(());
        }
        let message = format!(
            "cannot work in `{}`: there is no such directory",
            self.dir.display()
        );
        Err(CommandError::new(ErrorCode::NotFound, message).subject(self.dir.display().to_string()))
    }

    /// Opens the repository of the directory that the command works in.
    pub(crate) fn repository(&self) -> Result<Repository, CommandError> {
        Ok(Repository::discover(&self.git(&self.dir))?)
    }

    /// Opens the repository of another directory, whatever repository the environment names.
    pub(crate) fn repository_at(&self, dir: &Path) -> Result<Repository, CommandError> {
        Ok(Repository::discover(&self.git(dir).apart())?)
    }

    /// Returns Git, running in a directory; it finds the remote helper that belongs to this executable.
    pub(crate) fn git(&self, dir: &Path) -> Git {
        let git = Git::in_dir(dir);
        match &self.environment.path {
            Some(path) => git.with_path(path.clone()),
            None => git,
        }
    }

    /// Returns the time that documents are given: `GIT_COMMITTER_DATE`, else the clock.
    pub(crate) fn now(&self) -> Result<Timestamp, CommandError> {
        let Some(date) = &self.environment.committer_date else {
            return Ok(Timestamp::now());
        };
        let time = gix::date::parse(date, None).ok();
        time.and_then(|time| Timestamp::from_unix_seconds(time.seconds).ok())
            .ok_or_else(|| {
                CommandError::new(
                    ErrorCode::Usage,
                    format!("GIT_COMMITTER_DATE is no date that can be read: `{date}`"),
                )
            })
    }

    /// Makes a path of the command line one from where this process runs.
    pub(crate) fn path(&self, path: &Path) -> PathBuf {
        if self.dir == Path::new(".") {
            path.to_owned()
        } else {
            self.dir.join(path)
        }
    }
}
