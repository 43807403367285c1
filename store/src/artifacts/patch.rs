//! The patch from head to the worktree tree.

use std::{fs::File, path::Path};

use gix::ObjectId;

use super::ArtifactsError;
use crate::{git::GitError, oid::Oid, repository::Repository};

/// Configuration under which a patch is the same on every machine, and is applied as it stands.
const CONFIGURATION: [&str; 5] = [
    "core.attributesFile=/dev/null",
    "core.quotePath=true",
    "diff.suppressBlankEmpty=false",
    "apply.whitespace=nowarn",
    "apply.ignoreWhitespace=no",
];

fn with_configuration(args: &[&str]) -> Vec<String> {
    let settings = CONFIGURATION.iter().flat_map(|setting| ["-c", setting]);
    settings
        .chain(args.iter().copied())
        .map(String::from)
        .collect()
}

/// Writes the patch; `apart` is a bare repository that sees the objects and has no attributes of its own.
pub(super) fn write(
    apart: &Repository,
    head: Option<Oid>,
    worktree: Oid,
    out: File,
) -> Result<(), GitError> {
    let from = match head {
        Some(head) => format!("{head}^{{tree}}"),
        None => ObjectId::empty_tree(worktree.kind()).to_string(),
    };
    let worktree = worktree.to_string();
    let args = with_configuration(&[
        "diff-tree",
        "-p",
        "--binary",
        "--full-index",
        "--no-renames",
        "--no-ext-diff",
        "--no-textconv",
        // The rest is what Git does where nobody has configured it otherwise.
        "--no-color",
        "--src-prefix=a/",
        "--dst-prefix=b/",
        "--unified=3",
        "--inter-hunk-context=0",
        "--diff-algorithm=myers",
        "--submodule=short",
        "--ignore-submodules=none",
        &from,
        &worktree,
    ]);
    apart.git().output_to_file(args, &[], out)
}

/// Applies the patch to head in a bare repository that has it, and returns the tree that it leads to.
///
/// Nothing is written but the repository's objects and index.
///
/// # Errors
///
/// What Git says where the patch does not apply.
pub(super) fn apply(
    clean: &Repository,
    head: Option<Oid>,
    patch: &Path,
) -> Result<Result<ObjectId, String>, ArtifactsError> {
    let git = clean.git();
    match head {
        Some(head) => git.output(["read-tree", &head.to_string()])?,
        None => git.output(["read-tree", "--empty"])?,
    };
    let patch = std::path::absolute(patch).map_err(|source| ArtifactsError::Io {
        path: patch.into(),
        source,
    })?;
    let args = [
        "apply",
        "--cached",
        "-p1",
        "--allow-empty",
        "--no-ignore-whitespace",
    ];
    let mut command = git.command(with_configuration(&args));
    command.arg("--").arg(patch);
    let output = crate::git::run(command, &[])?;
    if !output.status.success() {
        return Ok(match crate::git::failure("apply".into(), &output) {
            GitError::Failed { message, .. } => Err(message),
            error => return Err(error.into()),
        });
    }
    let tree = git.line(["write-tree"])?;
    let tree = ObjectId::from_hex(tree.as_bytes()).map_err(|_| ArtifactsError::Answer)?;
    Ok(Ok(tree))
}
