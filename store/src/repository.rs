//! A repository as commands see it: where it lies, and both doors to it.

use std::{
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use gix::bstr::{BString, ByteSlice};

use crate::git::{self, Git, GitError};

/// A repository, opened as Git itself finds it.
pub struct Repository {
    gix: gix::Repository,
    git: Git,
    layout: Layout,
}

/// Where the parts of a repository lie, all paths absolute.
#[derive(Clone, Debug)]
struct Layout {
    git_dir: PathBuf,
    common_dir: PathBuf,
    worktree: Option<PathBuf>,
    index: PathBuf,
}

/// Says why a repository could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Git finds none, or refuses the one it finds.
    #[error("no repository can be used at {dir}: {message}")]
    NotFound {
        /// The directory that was asked about.
        dir: PathBuf,
        /// What Git said.
        message: String,
    },
    /// Git failed in another way.
    #[error(transparent)]
    Git(#[from] GitError),
    /// A path of the repository holds a line feed, which Git's answer cannot carry.
    #[error("the path of the repository at {0} holds a line feed")]
    LineFeed(PathBuf),
    /// The repository could not be read.
    #[error("repository at {git_dir} could not be opened")]
    Open {
        /// Its git directory.
        git_dir: PathBuf,
        /// What went wrong.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// Name of a worktree inside its repository: `main`, or `worktrees/<name>` of a linked one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WorktreeName(String);

impl WorktreeName {
    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Repository {
    /// Opens the repository that `git` finds from where it runs.
    ///
    /// `GIT_DIR`, `GIT_WORK_TREE` and `GIT_INDEX_FILE` count as Git takes them: the layout is the answer of one
    /// `git rev-parse`, and so is the judgement of `safe.directory`.
    ///
    /// # Errors
    ///
    /// [`OpenError::NotFound`] where Git finds none.
    pub fn discover(git: &Git) -> Result<Self, OpenError> {
        let layout = Layout::ask(git)?;
        Self::open(layout, git)
    }

    /// Opens a repository at its git directory, without asking Git.
    ///
    /// # Errors
    ///
    /// Where gix cannot read it.
    pub fn at_git_dir(git_dir: &Path) -> Result<Self, OpenError> {
        let git_dir = absolute(git_dir);
        let gix = open_gix(&git_dir, [])?;
        let layout = Layout {
            common_dir: absolute(gix.common_dir()),
            worktree: gix.workdir().map(absolute),
            index: git_dir.join("index"),
            git_dir: git_dir.clone(),
        };
        Ok(Repository {
            gix,
            git: Git::with_git_dir(&git_dir, &git_dir),
            layout,
        })
    }

    /// Opens the repository of a worktree that was just made, whatever worktree the environment names.
    ///
    /// # Errors
    ///
    /// Where gix cannot read it.
    pub fn at_worktree(top: &Path, git_dir: &Path) -> Result<Self, OpenError> {
        let top = absolute(top);
        let mut repository = Self::at_git_dir(git_dir)?;
        enter(&mut repository.gix, &top)?;
        repository.layout.worktree = Some(top);
        Ok(repository)
    }

    fn open(layout: Layout, git: &Git) -> Result<Self, OpenError> {
        let mut gix = open_gix(&layout.git_dir, command_line_config(git)?)?;
        match &layout.worktree {
            // Only Git knows the worktree where GIT_WORK_TREE names it, or where it is set for another repository.
            Some(worktree) if gix.workdir().map(absolute).as_deref() != Some(worktree) => {
                enter(&mut gix, worktree)?;
            }
            Some(_) | None => {}
        }
        let dir = layout.worktree.as_deref().unwrap_or(&layout.git_dir);
        let git = git.clone().moved_to(dir);
        let git = match &layout.worktree {
            // From the top of some worktrees Git finds no repository: `core.worktree` led there.
            Some(top) if !top.join(".git").exists() => git.on(&layout.git_dir),
            Some(_) | None => git,
        };
        Ok(Repository { gix, git, layout })
    }

    /// Returns gix's view of the repository.
    pub fn gix(&self) -> &gix::Repository {
        &self.gix
    }

    /// Returns gix's view of the repository, to be changed: its object memory, say.
    pub fn gix_mut(&mut self) -> &mut gix::Repository {
        &mut self.gix
    }

    /// Returns Git, running at the top of the worktree (in the git directory of a bare repository).
    pub fn git(&self) -> &Git {
        &self.git
    }

    /// Returns the git directory of this worktree.
    pub fn git_dir(&self) -> &Path {
        &self.layout.git_dir
    }

    /// Returns the directory that all worktrees share.
    pub fn common_dir(&self) -> &Path {
        &self.layout.common_dir
    }

    /// Returns the top of the worktree, or `None` in a bare repository.
    pub fn worktree(&self) -> Option<&Path> {
        self.layout.worktree.as_deref()
    }

    /// Returns the path of the index file in force.
    pub fn index_path(&self) -> &Path {
        &self.layout.index
    }

    /// Returns the name of this worktree.
    pub fn worktree_name(&self) -> WorktreeName {
        let name = self
            .layout
            .git_dir
            .strip_prefix(self.layout.common_dir.join("worktrees"));
        WorktreeName(match name {
            Ok(name) if !name.as_os_str().is_empty() => format!("worktrees/{}", name.display()),
            _ => "main".into(),
        })
    }

    /// Returns the hash function of the repository.
    pub fn hash_kind(&self) -> gix::hash::Kind {
        self.gix.object_hash()
    }

    /// Tells whether refs are kept in files, the one backend that gix can read.
    pub fn has_ref_files(&self) -> bool {
        let storage = self.gix.config_snapshot().string("extensions.refStorage");
        storage.is_none_or(|storage| storage.eq_ignore_ascii_case(b"files"))
    }

    /// Returns a configuration value as text.
    pub fn config(&self, key: &str) -> Option<String> {
        self.gix
            .config_snapshot()
            .string(key)
            .map(|value| value.to_str_lossy().into_owned())
    }
}

impl Layout {
    fn ask(git: &Git) -> Result<Self, OpenError> {
        const TOP: &str = "--show-toplevel";
        let basic = [
            "rev-parse",
            "--path-format=absolute",
            "--git-dir",
            "--git-common-dir",
            "--git-path",
            "index",
        ];
        // In a bare repository and inside a git directory, Git has printed the rest when it says that there is no top.
        let output = git::run(git.command(basic.iter().chain([&TOP])), &[])?;
        let layout = |git_dir, common_dir, index, worktree| Layout {
            git_dir: path(git_dir),
            common_dir: path(common_dir),
            index: path(index),
            worktree,
        };
        match (lines(&output.stdout).as_slice(), output.status.success()) {
            ([git_dir, common_dir, index, top], true) => {
                return Ok(layout(git_dir, common_dir, index, Some(path(top))));
            }
            ([git_dir, common_dir, index], false) => {
                return Ok(layout(git_dir, common_dir, index, None));
            }
            _ => {}
        }
        // Git finds no repository, or a path holds a line feed, as that of a worktree may.
        let answer = git.output(basic).map_err(|error| match error {
            GitError::Failed {
                message,
                code: Some(128),
                ..
            } => OpenError::NotFound {
                dir: git.dir().into(),
                message,
            },
            other => OpenError::Git(other),
        })?;
        let [git_dir, common_dir, index] = lines(&answer)[..] else {
            return Err(OpenError::LineFeed(git.dir().into()));
        };
        let top = git.output([basic[0], basic[1], TOP]).ok();
        let worktree = top.map(|top| path(top.strip_suffix(b"\n").unwrap_or(&top)));
        Ok(layout(git_dir, common_dir, index, worktree))
    }
}

fn lines(answer: &[u8]) -> Vec<&[u8]> {
    let answer = answer.strip_suffix(b"\n").unwrap_or(answer);
    answer.split(|b| *b == b'\n').collect()
}

fn path(bytes: &[u8]) -> PathBuf {
    std::ffi::OsStr::from_bytes(bytes).into()
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.into())
}

fn open_gix(
    git_dir: &Path,
    settings: impl IntoIterator<Item = BString>,
) -> Result<gix::Repository, OpenError> {
    // A replace ref could show another object than the one that an id names, git-replace(1).
    let plain = BString::from("core.useReplaceRefs=false");
    let settings = settings.into_iter().chain([plain]);
    let options = gix::open::Options::default().cli_overrides(settings);
    let opened = options
        .with(gix::sec::Trust::Full)
        .open_path_as_is(true)
        .open(git_dir);
    opened
        .map(|shared| shared.to_thread_local())
        .map_err(|source| OpenError::Open {
            git_dir: git_dir.into(),
            source: source.into(),
        })
}

fn enter(gix: &mut gix::Repository, worktree: &Path) -> Result<(), OpenError> {
    let entered = gix.set_workdir(worktree.to_owned());
    entered.map(drop).map_err(|source| OpenError::Open {
        git_dir: gix.git_dir().into(),
        source: source.into(),
    })
}

/// Returns what `git -c <key>=<value>` sets for this run, as `<key>=<value>`: gix does not read it by itself.
///
/// What makes a repository what it is, Git reads from its file alone.
fn command_line_config(git: &Git) -> Result<Vec<BString>, OpenError> {
    let layout = ["core.bare", "core.worktree", "core.repositoryformatversion"];
    let settings = git.command_line_config()?;
    let settings = settings.into_iter().filter(|(key, _)| {
        let is_fixed = layout.iter().any(|fixed| key == fixed) || key.starts_with(b"extensions.");
        // No setting that is read here is named by a URL, and gix could not tell where such a key ends.
        !is_fixed && !key.contains(&b'=')
    });
    let joined = settings.map(|(mut key, value)| {
        if let Some(value) = value {
            key.push(b'=');
            key.extend_from_slice(&value);
        }
        key
    });
    Ok(joined.collect())
}
