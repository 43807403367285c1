//! A checkpoint by an independent route: files that stand for it without any ref of ours.
//!
//! `objects.bundle` has the commits of the code and the trees that the manifest names besides the worktree, `patch`
//! leads from head to the worktree tree, `untracked.tar.gz` has the untracked files as they are on disk. They are
//! checked in a repository that knows nothing of records.

mod archive;
mod check;
mod error;
mod files;
mod patch;
mod refs;
mod write;

pub use check::{Checked, check};
pub use error::ArtifactsError;
pub use write::write;

/// File name of the manifest.
pub const MANIFEST: &str = "manifest.cbor";
/// File name of the patch from head to the worktree tree.
pub const PATCH: &str = "patch";
/// File name of the bundle.
pub const OBJECTS: &str = "objects.bundle";
/// File name of the archive of untracked files.
pub const UNTRACKED: &str = "untracked.tar.gz";
/// File name of the checksums, as sha256sum(1) reads them.
pub const CHECKSUMS: &str = "SHA256SUMS";

/// The files that have a checksum, in the order in which these stand.
const SUMMED: [&str; 4] = [MANIFEST, OBJECTS, PATCH, UNTRACKED];
