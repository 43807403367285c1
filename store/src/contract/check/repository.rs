//! What a content says of the repository: object ids, conflicts, operations, URLs.

use gix::bstr::{BStr, ByteSlice};

use super::{
    super::{Content, OperationKind},
    Findings,
};
use crate::{error_code::ErrorCode, oid::Oid};

pub(super) fn check(content: &Content, found: &mut Findings) {
    object_ids(content, found);
    history(content, found);
    if !matches!(content.artifacts.conflicts.len(), 0 | 3) {
        found.malformed(
            "content.artifacts.conflicts",
            "there are three trees of conflict stages, or none",
        );
    }
    for (at, submodule) in content.worktree.submodules.inline().iter().enumerate() {
        if submodule
            .url
            .as_ref()
            .is_some_and(|url| credentials_in(url.as_bstr()))
        {
            found.add(
                ErrorCode::SecretDetected,
                format!("content.worktree.submodules[{at}].url"),
                "the URL holds credentials",
            );
        }
    }
}

/// Finds object ids of another hash function than the repository's.
fn object_ids(content: &Content, found: &mut Findings) {
    let repository = &content.repository;
    let mut need = |field: String, id: &Oid| {
        if !repository.object_format.fits(id) {
            found.malformed(
                format!("content.{field}"),
                format!("{id} is no id of the format that `objectFormat` says"),
            );
        }
    };
    need("repository.worktreeTree".into(), &repository.worktree_tree);
    need("repository.indexTree".into(), &repository.index_tree);
    if let Some(id) = &repository.base {
        need("repository.base".into(), id);
    }
    if let Some(id) = &repository.head {
        need("repository.head".into(), id);
    }
    let heads = repository.operation.iter().flat_map(|o| &o.heads);
    for (at, id) in heads.enumerate() {
        need(format!("repository.operation.heads[{at}]"), id);
    }
    if let Some(id) = &content.artifacts.raw {
        need("artifacts.raw".into(), id);
    }
    for (at, id) in content.artifacts.conflicts.iter().enumerate() {
        need(format!("artifacts.conflicts[{at}]"), id);
    }
    for (at, receipt) in content.receipts.inline().iter().enumerate() {
        need(format!("receipts[{at}].tree"), &receipt.tree);
    }
}

fn history(content: &Content, found: &mut Findings) {
    let repository = &content.repository;
    if repository.base.is_some() != repository.depth.is_some() {
        found.malformed(
            "content.repository.depth",
            "base and depth are both null, or neither is",
        );
    }
    if repository.head.is_none() && repository.base.is_some() {
        found.malformed("content.repository.base", "an unborn head has no base");
    }
    if repository.head.is_none() && repository.branch.is_none() {
        found.malformed("content.repository.branch", "an unborn head is on a branch");
    }
    if let Some(branch) = &repository.branch
        && !is_branch(branch.as_bstr())
    {
        found.malformed(
            "content.repository.branch",
            "it is no full name of a branch",
        );
    }
    if let Some(operation) = &repository.operation {
        let heads = &operation.heads;
        let good = match operation.kind {
            OperationKind::Merge => !heads.is_empty(),
            OperationKind::CherryPick | OperationKind::Revert => heads.len() == 1,
        };
        let twice = (1..heads.len()).any(|at| heads[..at].contains(&heads[at]));
        if !good || twice {
            found.malformed(
                "content.repository.operation.heads",
                "a merge has one or more heads, none twice; a cherry-pick or revert has one",
            );
        }
    }
}

/// Tells whether a name is that of a branch, git-check-ref-format(1).
fn is_branch(name: &BStr) -> bool {
    name.starts_with(b"refs/heads/") && gix::validate::reference::name(name).is_ok()
}

/// Tells whether a URL holds a password, or, where it is one of HTTP, anything before an `@`.
///
/// The user name of an SSH URL is part of the address: gitfaq(7) and git-clone(1) use `ssh://git@host/…`.
pub(super) fn credentials_in(url: &[u8]) -> bool {
    let Some((scheme, rest)) = url.split_once_str("://") else {
        return false;
    };
    let end = rest.find_byteset(b"/?#").unwrap_or(rest.len());
    let Some(at) = rest[..end].rfind_byte(b'@') else {
        return false;
    };
    let web = scheme.to_ascii_lowercase().ends_with(b"http")
        || scheme.to_ascii_lowercase().ends_with(b"https");
    web || rest[..at].contains(&b':')
}
