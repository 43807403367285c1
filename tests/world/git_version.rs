//! The Gits of the machine.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

/// A Git and its version.
#[derive(Clone, Debug)]
pub(crate) struct GitVersion {
    executable: PathBuf,
    version: String,
}

impl GitVersion {
    /// Returns the directory of the executable.
    pub(crate) fn directory(&self) -> &Path {
        self.executable.parent().unwrap()
    }

    /// Returns the version, such as `2.47.3`.
    pub(crate) fn version(&self) -> &str {
        &self.version
    }

    fn of(executable: PathBuf) -> Option<Self> {
        let output = Command::new(&executable).arg("--version").output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        let version = text.trim().strip_prefix("git version ")?.into();
        Some(GitVersion {
            executable,
            version,
        })
    }
}

/// Returns one Git of each version, in the order of the PATH; at least one.
pub(super) fn all() -> Vec<GitVersion> {
    static FOUND: OnceLock<Vec<GitVersion>> = OnceLock::new();
    FOUND.get_or_init(find).clone()
}

fn find() -> Vec<GitVersion> {
    let mut found: Vec<GitVersion> = Vec::new();
    let path = env::var_os("PATH").unwrap_or_default();
    for git in env::split_paths(&path).filter_map(|dir| GitVersion::of(dir.join("git"))) {
        if found.iter().all(|other| other.version != git.version) {
            found.push(git);
        }
    }
    assert!(!found.is_empty(), "there is no git on the PATH");
    found
}
