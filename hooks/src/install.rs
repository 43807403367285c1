//! Puts our hooks into a repository, beside hooks that are there already, and takes them out again.
//!
//! Where they go is the server's to say, see [`Forge`].
//!
//! Git lets a push in where the hook is a dangling link or not executable, so what is installed is a small script
//! for `/bin/sh` that runs the program by its absolute path: without the program it fails, and the push with it.

pub mod doctor;
mod forge;
mod wrapper;

use std::{
    fs, io,
    os::unix::{
        ffi::OsStringExt,
        fs::{MetadataExt, PermissionsExt, symlink},
    },
    path::{Path, PathBuf},
};

use store::{
    git::{Git, GitError},
    repository::Repository,
};

pub use forge::{Forge, ForgeError};
pub use wrapper::{Hook, Wrapper};

/// Name of our file where a server runs all files of a directory.
const OUR_NAME: &str = "handoff";

/// Where one hook of ours lies.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Site {
    /// The hook of Git.
    pub kind: Hook,
    /// The file.
    pub hook: PathBuf,
    /// Where a hook is kept that was there before; none where the server runs all files of a directory.
    pub previous: Option<PathBuf>,
}

/// What is found at the place of the hook.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Found {
    /// No hook.
    Nothing,
    /// Somebody else's hook; Git runs it only where it is executable.
    Foreign {
        /// Whether Git runs it.
        runs: bool,
    },
    /// Ours.
    Ours(Wrapper),
    /// Ours, through a link to a script that other repositories may run too: gitolite links its common hooks so.
    Linked(Wrapper),
}

impl Found {
    /// Returns our script, if it is what Git runs.
    pub fn wrapper(&self) -> Option<&Wrapper> {
        match self {
            Found::Ours(wrapper) | Found::Linked(wrapper) => Some(wrapper),
            Found::Nothing | Found::Foreign { .. } => None,
        }
    }
}

/// One change of the files; a list of them is a plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Change {
    /// Keeps the hook that is there under another name.
    Keep,
    /// Writes our hook over what is there.
    Write(Wrapper),
    /// Brings back the hook that was there before, over ours.
    BringBack,
    /// Removes our hook.
    Remove,
}

/// Says why the hook could not be installed or taken out.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// Git could not say where hooks are.
    #[error(transparent)]
    Git(#[from] GitError),
    /// A file could not be read or changed.
    #[error("{path} cannot be read or changed")]
    File {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        #[source]
        source: io::Error,
    },
    /// Somebody has replaced our hook, and the one before it is still kept.
    #[error("{hook} is not ours any more, and {previous} is still there")]
    Replaced {
        /// The hook.
        hook: PathBuf,
        /// The hook that was kept.
        previous: PathBuf,
    },
    /// The hook that was there before is gone.
    #[error("the hook that was there before is missing: {0}")]
    PreviousMissing(PathBuf),
    /// The hook that is there is not ours.
    #[error("{0} is not ours")]
    NotOurs(PathBuf),
    /// The hook is a link to our script, which belongs to other repositories too.
    #[error("{hook} is a link to {script}, which other repositories may run too")]
    Linked {
        /// The hook.
        hook: PathBuf,
        /// What it links to.
        script: PathBuf,
    },
    /// The program's own path cannot stand in a script.
    #[error("{0} cannot be run from a script: its path must be absolute, without a line feed")]
    Executable(PathBuf),
}

impl Site {
    /// Finds the places of our hooks in a repository; `core.hooksPath` counts as Git takes it.
    ///
    /// # Errors
    ///
    /// Where Git cannot say.
    pub fn of(repository: &Repository, forge: Forge) -> Result<Vec<Self>, InstallError> {
        let directory = match forge {
            Forge::Gitlab => repository.git_dir().join("custom_hooks"),
            Forge::Plain | Forge::Gitolite | Forge::Gitea => hooks_directory(repository)?,
        };
        Ok(Self::in_directory(&directory, forge))
    }

    /// Names the places of our hooks in a directory of hooks.
    pub fn in_directory(directory: &Path, forge: Forge) -> Vec<Self> {
        let of = |kind: Hook| match forge {
            Forge::Plain | Forge::Gitolite => Site {
                kind,
                hook: directory.join(kind.name()),
                previous: Some(directory.join(kind.previous())),
            },
            Forge::Gitea | Forge::Gitlab => Site {
                kind,
                hook: directory.join(format!("{}.d", kind.name())).join(OUR_NAME),
                previous: None,
            },
        };
        Hook::ALL.map(of).into()
    }

    /// Looks at what is there.
    ///
    /// # Errors
    ///
    /// Where it cannot be read.
    pub fn found(&self) -> Result<Found, InstallError> {
        let failed = |source| file_error(&self.hook, source);
        match fs::symlink_metadata(&self.hook) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Nothing),
            Err(error) => return Err(failed(error)),
            Ok(found) if found.is_file() => {
                let bytes = fs::read(&self.hook).map_err(failed)?;
                if let Some(wrapper) = Wrapper::parse(&bytes) {
                    return Ok(Found::Ours(wrapper));
                }
            }
            Ok(found) if found.is_symlink() && self.hook.is_file() => {
                let bytes = fs::read(&self.hook).map_err(failed)?;
                if let Some(wrapper) = Wrapper::parse(&bytes) {
                    return Ok(Found::Linked(wrapper));
                }
            }
            Ok(_) => {}
        }
        let runs = fs::metadata(&self.hook)
            .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0);
        Ok(Found::Foreign { runs })
    }

    /// Plans what makes `executable` the hook; nothing, where it is.
    ///
    /// # Errors
    ///
    /// [`InstallError::Replaced`] where it is not clear which of two hooks was there before, [`InstallError::Linked`]
    /// where a script would have to change that other repositories run too.
    pub fn plan_install(&self, executable: &Path) -> Result<Vec<Change>, InstallError> {
        let wrapper = |chains| {
            let made = Wrapper::new(self.kind, executable, chains);
            made.ok_or_else(|| InstallError::Executable(executable.into()))
        };
        match self.found()? {
            Found::Nothing => Ok(vec![Change::Write(wrapper(false)?)]),
            Found::Ours(found) => {
                let wanted = wrapper(found.chains())?;
                let runs = is_executable(&self.hook);
                Ok((found != wanted || !runs)
                    .then_some(Change::Write(wanted))
                    .into_iter()
                    .collect())
            }
            Found::Linked(found) => {
                let is_wanted = found == wrapper(found.chains())? && is_executable(&self.hook);
                is_wanted.then(Vec::new).ok_or_else(|| self.linked())
            }
            Found::Foreign { .. } if self.previous.is_none() => {
                Err(InstallError::NotOurs(self.hook.clone()))
            }
            // What Git did not run before is not run from now on.
            Found::Foreign { runs } if !self.has_previous() => {
                Ok(vec![Change::Keep, Change::Write(wrapper(runs)?)])
            }
            // An installation that was interrupted has kept it.
            Found::Foreign { runs } if self.is_kept() => Ok(vec![Change::Write(wrapper(runs)?)]),
            Found::Foreign { .. } => Err(InstallError::Replaced {
                hook: self.hook.clone(),
                previous: self.previous.clone().unwrap_or_default(),
            }),
        }
    }

    /// Plans what brings back the state before; nothing, where our hook is not there.
    ///
    /// # Errors
    ///
    /// [`InstallError::NotOurs`] where another hook is there, [`InstallError::PreviousMissing`] where the one that
    /// was there is gone, [`InstallError::Linked`] where other repositories may run our script too.
    pub fn plan_uninstall(&self) -> Result<Vec<Change>, InstallError> {
        match self.found()? {
            Found::Nothing => Ok(Vec::new()),
            Found::Foreign { .. } => Err(InstallError::NotOurs(self.hook.clone())),
            Found::Linked(_) => Err(self.linked()),
            Found::Ours(_) if self.has_previous() => Ok(vec![Change::BringBack]),
            Found::Ours(wrapper) if wrapper.chains() => {
                let previous = self.previous.clone().unwrap_or_default();
                Err(InstallError::PreviousMissing(previous))
            }
            Found::Ours(_) => Ok(vec![Change::Remove]),
        }
    }

    /// Makes the changes of a plan; at every moment Git finds the hook before or the one after.
    ///
    /// # Errors
    ///
    /// Where a file cannot be changed.
    pub fn apply(&self, plan: &[Change]) -> Result<(), InstallError> {
        plan.iter().try_for_each(|change| {
            let done = || match change {
                Change::Keep => self.keep(),
                Change::Write(wrapper) => self.write(wrapper),
                Change::BringBack => fs::rename(self.kept()?, &self.hook),
                Change::Remove => self.remove(),
            };
            done().map_err(|source| file_error(&self.hook, source))
        })
    }

    fn linked(&self) -> InstallError {
        InstallError::Linked {
            script: fs::canonicalize(&self.hook).unwrap_or_else(|_| self.hook.clone()),
            hook: self.hook.clone(),
        }
    }

    /// Returns where a hook that was there is kept.
    fn kept(&self) -> io::Result<&Path> {
        let missing = || io::Error::other("no hook is kept here");
        self.previous.as_deref().ok_or_else(missing)
    }

    fn has_previous(&self) -> bool {
        let previous = self.previous.as_ref();
        previous.is_some_and(|previous| fs::symlink_metadata(previous).is_ok())
    }

    /// Tells whether the hook that is there is the one that is kept.
    fn is_kept(&self) -> bool {
        let Some(previous) = &self.previous else {
            return false;
        };
        let file = |path| fs::symlink_metadata(path).map(|found| (found.dev(), found.ino()));
        let same_file = file(&self.hook).ok() == file(previous).ok();
        let same_link = || match (fs::read_link(&self.hook), fs::read_link(previous)) {
            (Ok(hook), Ok(previous)) => hook == previous,
            _ => false,
        };
        same_file || same_link()
    }

    fn keep(&self) -> io::Result<()> {
        let previous = self.kept()?;
        if fs::symlink_metadata(&self.hook)?.is_symlink() {
            return symlink(fs::read_link(&self.hook)?, previous);
        }
        fs::hard_link(&self.hook, previous)
    }

    /// Removes our hook, and the directories that hold nothing else where they were made for it.
    fn remove(&self) -> io::Result<()> {
        fs::remove_file(&self.hook)?;
        if self.previous.is_none() {
            for directory in self.hook.ancestors().skip(1).take(2) {
                // One that is not empty stays.
                if fs::remove_dir(directory).is_err() {
                    break;
                }
            }
        }
        Ok(())
    }

    fn write(&self, wrapper: &Wrapper) -> io::Result<()> {
        let directory = self.hook.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(directory)?;
        let mut file = tempfile::NamedTempFile::new_in(directory)?;
        io::Write::write_all(&mut file, &wrapper.to_bytes())?;
        let file_mode = fs::Permissions::from_mode(0o755);
        file.as_file().set_permissions(file_mode)?;
        // A hook that a crash leaves empty is one that lets everything in.
        file.as_file().sync_all()?;
        file.persist(&self.hook)?;
        Ok(())
    }
}

/// Returns the directory in which Git looks for hooks.
fn hooks_directory(repository: &Repository) -> Result<PathBuf, InstallError> {
    let git = Git::in_dir(repository.git_dir()).apart();
    let args = ["rev-parse", "--path-format=absolute", "--git-path", "hooks"];
    let mut answer = git.output(args)?;
    // Git ends its answer in a line feed; any other white space belongs to the path.
    answer.truncate(answer.len().saturating_sub(1));
    Ok(PathBuf::from(std::ffi::OsString::from_vec(answer)))
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.permissions().mode() & 0o111 != 0)
}

fn file_error(path: &Path, source: io::Error) -> InstallError {
    InstallError::File {
        path: path.into(),
        source,
    }
}
