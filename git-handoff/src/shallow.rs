//! A repository with no more history than one checkpoint needs.

use std::path::PathBuf;

use gix::ObjectId;
use store::{
    error_code::ErrorCode,
    git::{Git, GitError},
    line,
    repository::Repository,
    restore::Staging,
    scope::{RECORDS, ScopeName},
    verify::{self, Depth},
};

use crate::{
    error::CommandError,
    origin, remote,
    scopes::{ScopeArg, Wanted},
};

/// Brings a record, the one before it and its head commit.
const RECORD_AND_PARENTS: u32 = 2;
/// With this depth Git brings everything, shallow or not.
const EVERYTHING: u32 = i32::MAX as u32;

/// What is fetched, and how.
pub(crate) struct Shallow<'a> {
    /// Git, as it reaches the remote.
    pub(crate) git: Git,
    /// URL of the remote, absolute and without credentials.
    pub(crate) url: String,
    pub(crate) wanted: &'a ScopeArg,
}

impl Shallow<'_> {
    /// Makes the repository: the tip of the scope first, then as deep as the checkpoint that is wanted goes.
    ///
    /// # Errors
    ///
    /// What Git says where it cannot fetch.
    pub(crate) fn make(&self, staging: &Staging) -> Result<(), CommandError> {
        let mut repository = self.begin(staging)?;
        let mut depth = RECORD_AND_PARENTS;
        while let Some(needed) = self.needed(&repository, depth)
            && needed > depth
        {
            depth = needed;
            self.fetch(staging, depth)
                .map_err(|error| self.not_read(error))?;
            // What was deepened is seen by who opens the repository anew.
            repository = open(staging)?;
        }
        Ok(())
    }

    /// Makes a repository of the object format that the remote has, and fetches the tip.
    fn begin(&self, staging: &Staging) -> Result<Repository, CommandError> {
        self.init(staging, gix::hash::Kind::Sha1)?;
        match self.fetch(staging, RECORD_AND_PARENTS) {
            Err(GitError::Failed { message, .. }) if message.contains("mismatched algorithms") => {
                let made = staging.path().join(".git");
                std::fs::remove_dir_all(made)
                    .map_err(|error| CommandError::new(ErrorCode::Io, error.to_string()))?;
                self.init(staging, gix::hash::Kind::Sha256)?;
                self.fetch(staging, RECORD_AND_PARENTS)
            }
            other => other,
        }
        .map_err(|error| self.not_read(error))?;
        open(staging)
    }

    fn not_read(&self, error: GitError) -> CommandError {
        origin::not_read(error, &self.wanted.scope)
    }

    fn init(&self, staging: &Staging, hash: gix::hash::Kind) -> Result<(), CommandError> {
        let repository = staging.init(hash)?;
        let heads = "+refs/heads/*:refs/remotes/origin/*";
        for (key, value) in [("url", self.url.as_str()), ("fetch", heads)] {
            let key = format!("remote.origin.{key}");
            repository
                .git()
                .output(["config", "--local", &key, value])?;
        }
        Ok(())
    }

    fn fetch(&self, staging: &Staging, depth: u32) -> Result<(), GitError> {
        let scope = &self.wanted.scope;
        let tracking = tracking(scope);
        let depth = format!("--depth={depth}");
        let refspec = format!("+{RECORDS}{scope}:{tracking}");
        let args = [
            "-c",
            "core.hooksPath=/dev/null",
            "fetch",
            "-q",
            "--no-tags",
            "--no-write-fetch-head",
            "--recurse-submodules=no",
            "--no-auto-maintenance",
            &depth,
            "origin",
            &refspec,
        ];
        let git_dir: PathBuf = staging.path().join(".git");
        self.git.clone().on(git_dir).output(args).map(drop)
    }

    /// Returns the depth that brings the wanted checkpoint with its code from base to head; none where nobody knows,
    /// and where the whole line is here.
    fn needed(&self, repository: &Repository, depth: u32) -> Option<u32> {
        let objects = repository.gix();
        let tip = repository.find_ref(&tracking(&self.wanted.scope)).ok()??;
        let record: ObjectId = match self.wanted.generation {
            None | Some(Wanted::Prepared) => tip,
            Some(Wanted::Number(generation)) => {
                match line::find_generation(objects, tip, generation).ok()? {
                    Some(record) => record,
                    None if line::back_to(objects, tip, |_| false).ok()?.is_cut => {
                        return Some(depth.saturating_mul(4).min(EVERYTHING));
                    }
                    None => return None,
                }
            }
        };
        let above = line::back_to(objects, tip, |id| id == record)
            .ok()?
            .records
            .len();
        let scope = Some(&self.wanted.scope);
        let found = verify::record(objects, record, scope, None, Depth::Documents);
        let found = found.into_result().ok()?;
        let code = found.manifest.value.content.repository.depth.unwrap_or(0);
        let needed = (above as u64)
            .saturating_add(code)
            .saturating_add(RECORD_AND_PARENTS.into());
        Some(needed.min(EVERYTHING.into()) as u32)
    }
}

fn tracking(scope: &ScopeName) -> gix::refs::FullName {
    scope
        .to_remote_ref(remote::DEFAULT)
        .expect("the default remote has a valid name")
}

fn open(staging: &Staging) -> Result<Repository, CommandError> {
    Ok(Repository::at_git_dir(&staging.path().join(".git"))?)
}
