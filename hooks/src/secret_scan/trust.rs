//! Which commits are known to the code, so that nothing of them is brought along by a handoff.

use std::collections::HashSet;

use gix::{ObjectId, bstr::ByteSlice, objs::Kind};
use store::{git::GitError, repository::Repository};

use crate::rules::namespace;

/// Commits that are walked from the branch of `HEAD` before Git is asked of all refs.
const NEAR: usize = 256;

/// The refs that make a commit known: those outside the namespaces of handoffs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Trust {
    /// On a server, all of them: they are what was pushed as code.
    Server,
    /// In a clone, remote-tracking branches, since no server has what only a branch here has; all of them where there is
    /// no such branch.
    Clone,
}

impl Trust {
    /// Tells whether a known ref reaches a commit. One that Git cannot tell of is not reached.
    pub(super) fn reaches(self, repository: &Repository, commit: ObjectId) -> bool {
        match self {
            Trust::Server => {
                is_near_head(repository.gix(), commit) || is_behind(repository, commit, &ALL)
            }
            Trust::Clone => {
                is_behind(repository, commit, &["--remotes"])
                    || !has_remote_refs(repository) && is_behind(repository, commit, &ALL)
            }
        }
    }

    /// Returns the commits that known refs name.
    pub(super) fn tips(self, repository: &Repository) -> Result<Vec<ObjectId>, GitError> {
        let mut args = vec![
            "for-each-ref",
            "--format=%(objectname) %(*objectname) %(refname)",
        ];
        if self == Trust::Clone && has_remote_refs(repository) {
            args.push("refs/remotes");
        }
        let answer = repository.git().output(args)?;
        let mut tips = HashSet::new();
        for line in answer.lines() {
            let mut fields = line.splitn(3, |b| *b == b' ');
            let ids: Vec<&[u8]> = fields.by_ref().take(2).collect();
            let name = fields.next().unwrap_or_default().as_bstr();
            if !namespace::is_judged(name) {
                tips.extend(ids.iter().filter_map(|id| ObjectId::from_hex(id).ok()));
            }
        }
        let is_commit = |id: &ObjectId| {
            let header = repository.gix().find_header(*id);
            header.is_ok_and(|header| header.kind() == Kind::Commit)
        };
        Ok(tips.into_iter().filter(is_commit).collect())
    }
}

/// All refs but those of handoffs, git-rev-list(1).
const ALL: [&str; 4] = [
    "--exclude=refs/handoff/*",
    "--exclude=refs/handoff-local/*",
    "--exclude=refs/handoff-remote/*",
    "--all",
];

/// Tells whether one of the refs reaches a commit. Git does not see the objects of a push: a commit that only these
/// have is an error, and so is not reached.
fn is_behind(repository: &Repository, commit: ObjectId, refs: &[&str]) -> bool {
    let commit = commit.to_string();
    let args = ["rev-list", "--max-count=1", &commit, "--not"];
    let answer = repository.git().output(args.iter().chain(refs));
    answer.is_ok_and(|answer| answer.is_empty())
}

fn has_remote_refs(repository: &Repository) -> bool {
    let args = [
        "for-each-ref",
        "--count=1",
        "--format=%(refname)",
        "refs/remotes",
    ];
    let answer = repository.git().output(args);
    answer.is_ok_and(|answer| !answer.is_empty())
}

/// Tells whether the branch that `HEAD` is on has a commit among its newest.
fn is_near_head(objects: &gix::Repository, commit: ObjectId) -> bool {
    let Ok(Some(head)) = objects.head_name() else {
        return false;
    };
    if namespace::is_judged(head.as_bstr()) {
        return false;
    }
    let Ok(tip) = objects.head_id() else {
        return false;
    };
    let Ok(walk) = objects.rev_walk([tip]).all() else {
        return false;
    };
    walk.take(NEAR)
        .map_while(Result::ok)
        .any(|found| found.id == commit)
}
