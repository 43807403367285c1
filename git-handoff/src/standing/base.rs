//! Where the code has gone since.

use gix::{
    ObjectId,
    bstr::{BStr, ByteSlice},
    refs::FullName,
};
use schemars::JsonSchema;
use serde::Serialize;
use store::{contract::Content, oid::Oid, repository::Repository};

use super::Found;

/// The commit that the work started from, and what came after it.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize)]
pub(crate) struct BaseNow {
    pub(crate) commit: Option<Oid>,
    /// The branch that it is compared with, as it is known here.
    pub(crate) upstream: Option<String>,
    /// What that is at.
    pub(crate) now: Option<Oid>,
    /// How many commits that has and the base has not; none where that cannot be told.
    pub(crate) commits: Option<u64>,
}

impl BaseNow {
    /// Compares with the upstream branch that was recorded, else with the head of `origin`.
    pub(crate) fn find(
        repository: &Repository,
        content: &Content,
        upstream: Option<&BStr>,
    ) -> Self {
        let recorded = upstream.map(ToString::to_string);
        let names = [recorded, Some("refs/remotes/origin/HEAD".into())];
        let found = names.into_iter().flatten().find_map(|name| {
            let full = FullName::try_from(name.as_str()).ok()?;
            // A symbolic ref is followed by Git alone.
            let args = [
                "rev-parse",
                "--quiet",
                "--verify",
                "--end-of-options",
                full.as_bstr().to_str().ok()?,
            ];
            let id = repository.git().line(args).ok()?;
            Some((name, ObjectId::from_hex(id.as_bytes()).ok()?))
        });
        let base = content.repository.base;
        let commits = base.zip(found.as_ref()).and_then(|(base, (_, now))| {
            let range = format!("{base}..{now}");
            let count = repository
                .git()
                .line(["rev-list", "--count", &range, "--"])
                .ok()?;
            count.parse().ok()
        });
        BaseNow {
            commit: base,
            upstream: found.as_ref().map(|(name, _)| name.clone()),
            now: found.map(|(_, id)| id.into()),
            commits,
        }
    }
}

/// The head commit that was handed over, and `HEAD` here.
#[derive(Clone, PartialEq, Eq, Debug, JsonSchema, Serialize)]
pub(crate) struct HeadNow {
    pub(crate) commit: Option<Oid>,
    pub(crate) here: Option<Oid>,
    /// `same`, `ahead` where commits were added since, `other` where it is none of these.
    pub(crate) relation: &'static str,
}

impl HeadNow {
    pub(crate) fn find(repository: &Repository, content: &Content, found: &Found) -> Self {
        let commit = content.repository.head;
        let relation = match commit.map(ObjectId::from) {
            head if head == found.head => "same",
            Some(head) if found.reaches(repository.gix(), head) => "ahead",
            None => "ahead",
            Some(_) => "other",
        };
        HeadNow {
            commit,
            here: found.head.map(Into::into),
            relation,
        }
    }
}
