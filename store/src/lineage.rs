//! Where a worktree comes from: the repository's id, the base of the work, how far head is from it.

use std::{collections::HashMap, ffi::OsStr, os::unix::ffi::OsStrExt};

use gix::{ObjectId, bstr::ByteSlice};

use crate::{
    byte_text::ByteText,
    contract::{self, BaseFrom},
    digest::Digest,
    git::GitError,
    oid::Oid,
    ref_store::Head,
    repository::Repository,
};

/// Configuration key that remembers the repository's id.
const ID_KEY: &str = "handoff.repositoryId";

/// Where a worktree comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lineage {
    /// Digest over the sorted root commit ids; `None` where they cannot be known.
    pub id: Option<Digest>,
    /// Commit that the work started from; `None` on an unborn branch.
    pub base: Option<Oid>,
    /// Commits on the longest path from base to head.
    pub depth: Option<u64>,
    /// How the base was found.
    pub base_from: Option<BaseFrom>,
    /// Full name of the upstream branch.
    pub upstream: Option<ByteText>,
}

/// Says why the lineage could not be found.
#[derive(Debug, thiserror::Error)]
pub enum LineageError {
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The commits between base and head could not be compared.
    #[error("the history of {0} could not be walked")]
    History(ObjectId, #[source] Box<dyn std::error::Error + Send + Sync>),
    /// Git answered with something that is no object id.
    #[error("git gave an answer about commits that cannot be read")]
    Answer,
}

impl Lineage {
    /// Finds the lineage of `head`; id and base are those of the generation before where that still holds.
    ///
    /// # Errors
    ///
    /// Where the history cannot be read.
    pub fn find(
        repository: &Repository,
        head: &Head,
        previous: Option<&contract::Repository>,
    ) -> Result<Self, LineageError> {
        let id = match previous.and_then(|previous| previous.id) {
            Some(id) => Some(id),
            None => repository_id(repository, head.commit)?,
        };
        let upstream = upstream(repository, head)?;
        let Some(commit) = head.commit else {
            return Ok(Lineage {
                id,
                base: None,
                depth: None,
                base_from: None,
                upstream,
            });
        };
        let kept = match previous.and_then(|previous| previous.base) {
            Some(base) if is_ancestor(repository, base.id(), commit)? => {
                Some((base.id(), BaseFrom::Previous))
            }
            _ => None,
        };
        let (base, from) = match kept {
            Some(kept) => kept,
            None => find_base(repository, head, commit, upstream.as_ref())?,
        };
        let depth = longest_path(repository, base, commit)?;
        Ok(Lineage {
            id,
            base: Some(base.into()),
            depth: Some(depth),
            base_from: Some(from),
            upstream,
        })
    }
}

fn is_ancestor(
    repository: &Repository,
    base: ObjectId,
    head: ObjectId,
) -> Result<bool, LineageError> {
    Ok(base == head
        || (repository.gix().has_object(base) && merge_base(repository, base, head)? == Some(base)))
}

fn merge_base(
    repository: &Repository,
    one: ObjectId,
    other: ObjectId,
) -> Result<Option<ObjectId>, LineageError> {
    let found = repository.gix().merge_base(one, other);
    let found = found.map_err(|error| LineageError::History(other, error.into()))?;
    Ok(found.map(|id| id.detach()))
}

fn find_base(
    repository: &Repository,
    head: &Head,
    commit: ObjectId,
    upstream: Option<&ByteText>,
) -> Result<(ObjectId, BaseFrom), LineageError> {
    let remote = branch_remote(repository, head);
    let candidates = [
        (
            upstream.map(|name| name.as_bstr().to_str_lossy().into_owned()),
            BaseFrom::Upstream,
        ),
        (
            Some(format!("refs/remotes/{remote}/HEAD")),
            BaseFrom::RemoteHead,
        ),
    ];
    for (name, from) in candidates {
        if let Some(name) = name
            && let Some(tip) = quiet(
                repository,
                &["rev-parse", "-q", "--verify", &format!("{name}^{{commit}}")],
            )?
            && let Some(base) = merge_base(repository, commit, parse(&tip)?)?
        {
            return Ok((base, from));
        }
    }
    let roots = [
        "rev-list",
        "--first-parent",
        "--max-parents=0",
        &commit.to_string(),
    ]
    .map(String::from);
    let root = repository.git().line(roots)?;
    Ok((
        parse(root.lines().next_back().unwrap_or_default())?,
        BaseFrom::Root,
    ))
}

/// Returns the full name of the upstream branch, git-for-each-ref(1).
fn upstream(repository: &Repository, head: &Head) -> Result<Option<ByteText>, LineageError> {
    let Some(branch) = &head.branch else {
        return Ok(None);
    };
    // What is not configured need not be asked for, git-config(1), `branch.<name>.merge`.
    let merge = format!("branch.{}.merge", branch.shorten());
    if repository.config(&merge).is_none() {
        return Ok(None);
    }
    let name = OsStr::from_bytes(branch.as_bstr());
    let answer = repository.git().output([
        OsStr::new("for-each-ref"),
        OsStr::new("--format=%(upstream)"),
        name,
    ])?;
    let line = answer.lines().next().unwrap_or_default();
    Ok((!line.is_empty()).then(|| ByteText::from(line.as_bstr())))
}

fn branch_remote(repository: &Repository, head: &Head) -> String {
    let short = head
        .branch
        .as_ref()
        .map(|branch| branch.shorten().to_string())
        .unwrap_or_default();
    let config = repository.gix().config_snapshot();
    let remote = config.string(format!("branch.{short}.remote").as_str());
    remote.map_or_else(|| "origin".into(), |remote| remote.to_string())
}

/// Returns the digest over the sorted root commits, which is computed once and then remembered.
fn repository_id(
    repository: &Repository,
    head: Option<ObjectId>,
) -> Result<Option<Digest>, LineageError> {
    if let Some(id) = repository.config(ID_KEY).and_then(|id| id.parse().ok()) {
        return Ok(Some(id));
    }
    let Some(head) = head.filter(|_| !repository.gix().is_shallow().unwrap_or(true)) else {
        return Ok(None);
    };
    let roots = repository
        .git()
        .line(["rev-list", "--max-parents=0", &head.to_string()])?;
    let mut roots: Vec<&str> = roots.lines().collect();
    roots.sort_unstable();
    let text: String = roots.iter().flat_map(|root| [root, "\n"]).collect();
    let id = Digest::of(text.as_bytes());
    // Where it cannot be remembered it is computed again the next time.
    let _ = repository
        .git()
        .output(["config", "--local", ID_KEY, &id.to_string()]);
    Ok(Some(id))
}

/// Counts the commits on the longest path from base to head, base not counted.
fn longest_path(
    repository: &Repository,
    base: ObjectId,
    head: ObjectId,
) -> Result<u64, LineageError> {
    if base == head {
        return Ok(0);
    }
    let range = [
        "rev-list",
        "--topo-order",
        "--reverse",
        "--parents",
        &head.to_string(),
        &format!("^{base}"),
    ]
    .map(String::from);
    let listed = repository.git().line(range)?;
    let mut depths: HashMap<&str, u64> = HashMap::new();
    let mut deepest = 0;
    for line in listed.lines() {
        let mut ids = line.split(' ');
        let commit = ids.next().unwrap_or_default();
        deepest = 1 + ids
            .filter_map(|parent| depths.get(parent))
            .max()
            .copied()
            .unwrap_or_default();
        depths.insert(commit, deepest);
    }
    // The last line is head, which every other commit leads to.
    Ok(deepest)
}

fn quiet(repository: &Repository, args: &[&str]) -> Result<Option<String>, LineageError> {
    match repository.git().line(args) {
        Ok(line) => Ok(Some(line)),
        Err(GitError::Failed { code: Some(1), .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn parse(id: &str) -> Result<ObjectId, LineageError> {
    ObjectId::from_hex(id.as_bytes()).map_err(|_| LineageError::Answer)
}
