//! Entries of a content: ids without duplicates, well-formed names and patterns.

use std::collections::BTreeSet;

use super::{
    super::{CapturedList, Content, PathLease, Task},
    Findings,
};
use crate::{actor::ActorId, error_code::ErrorCode};

pub(super) fn check(content: &Content, producer: Option<&ActorId>, found: &mut Findings) {
    ids_are_unique(content, found);
    omissions(content, found);
    for (at, lease) in content.leases.iter().flatten().enumerate() {
        patterns(&format!("content.leases[{at}].paths"), &lease.paths, found);
    }
    if let Some(task) = &content.task {
        self::task(task, producer, found);
    }
    for (at, command) in content.verification.iter().enumerate() {
        if command.timeout_seconds == Some(0) {
            found.malformed(
                format!("content.verification[{at}].timeoutSeconds"),
                "a command needs at least one second",
            );
        }
    }
    let attachments = content.artifacts.attachments.len();
    if attachments > CapturedList::<()>::MAX_INLINE {
        found.add(
            ErrorCode::LimitExceeded,
            "content.artifacts.attachments",
            format!("{attachments} attachments are more than 1,000"),
        );
    }
    extensions(content, found);
}

/// Finds entries of one kind that have the same id.
pub(super) fn unique<T: Ord + std::fmt::Display>(
    field: &str,
    key: &str,
    ids: impl IntoIterator<Item = T>,
    found: &mut Findings,
) {
    let mut seen = BTreeSet::new();
    for (at, id) in ids.into_iter().enumerate() {
        let message = format!("`{id}` stands twice");
        if !seen.insert(id) {
            found.malformed(format!("{field}[{at}]{key}"), message);
        }
    }
}

fn ids_are_unique(content: &Content, found: &mut Findings) {
    let c = content;
    unique("content.forbidden", "", &c.forbidden, found);
    unique(
        "content.claims",
        ".id",
        c.claims.iter().map(|e| &e.id),
        found,
    );
    unique(
        "content.decisions",
        ".id",
        c.decisions.iter().map(|e| &e.id),
        found,
    );
    unique(
        "content.assumptions",
        ".id",
        c.assumptions.iter().map(|e| &e.id),
        found,
    );
    unique(
        "content.effects",
        ".id",
        c.effects.iter().map(|e| &e.id),
        found,
    );
    unique(
        "content.verification",
        ".id",
        c.verification.iter().map(|e| &e.id),
        found,
    );
    unique(
        "content.evidence",
        ".id",
        c.evidence.iter().map(|e| &e.id),
        found,
    );
    unique(
        "content.lifted",
        ".action",
        c.lifted.iter().map(|e| &e.action),
        found,
    );
    leases_are_unique("content.leases", c.leases.as_deref(), found);
}

/// Finds leases that have the same id.
pub(super) fn leases_are_unique(field: &str, leases: Option<&[PathLease]>, found: &mut Findings) {
    let ids = leases.into_iter().flatten().map(|lease| &lease.id);
    unique(field, ".id", ids, found);
}

fn omissions(content: &Content, found: &mut Findings) {
    for (at, omission) in content.omissions.inline().iter().enumerate() {
        if omission.path.is_some() == omission.text.is_some() {
            found.malformed(
                format!("content.omissions[{at}]"),
                "an omission has either a path or a text",
            );
        }
    }
}

fn task(task: &Task, producer: Option<&ActorId>, found: &mut Findings) {
    let scope = &task.scope;
    let allowed = scope.allowed.as_deref().unwrap_or_default();
    patterns("content.task.scope.allowed", allowed, found);
    patterns("content.task.scope.excluded", &scope.excluded, found);
    for (at, acceptor) in task.acceptors.iter().enumerate() {
        let at = format!("content.task.acceptors[{at}].id");
        if Some(&acceptor.id) == producer {
            found.add(
                ErrorCode::ForbiddenAction,
                at,
                format!("`{}` is the producer, who does not accept", acceptor.id),
            );
        }
    }
    for (at, acceptor) in task.acceptors.iter().enumerate() {
        if task.acceptors[..at].contains(acceptor) {
            found.malformed(
                format!("content.task.acceptors[{at}]"),
                format!("`{}` stands twice in that role", acceptor.id),
            );
        }
    }
}

/// Finds texts that are no pathspec relative to the top of the worktree.
fn patterns(field: &str, patterns: &[String], found: &mut Findings) {
    for (at, pattern) in patterns.iter().enumerate() {
        let good = !pattern.is_empty()
            && !pattern.contains('\0')
            && !pattern.starts_with('/')
            && pattern.split('/').all(|part| part != "..");
        if !good {
            found.malformed(
                format!("{field}[{at}]"),
                format!("`{pattern}` is no pattern for paths below the top of the worktree"),
            );
        }
    }
}

fn extensions(content: &Content, found: &mut Findings) {
    for name in content.extensions.keys() {
        if !is_extension_name(name) {
            let name: String = name.chars().take(120).collect();
            found.malformed(
                "content.extensions",
                format!("`{name}` is not a name of the form <name>.v<k>"),
            );
        }
    }
}

/// Tells whether a name is `<name>.v<k>`: an id, and a version from 1.
fn is_extension_name(text: &str) -> bool {
    text.len() <= 100
        && text.rsplit_once(".v").is_some_and(|(name, version)| {
            let number = version.bytes().all(|b| b.is_ascii_digit()) && !version.starts_with('0');
            name.parse::<crate::entry_id::EntryId>().is_ok() && number && !version.is_empty()
        })
}
