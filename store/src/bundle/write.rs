//! Writes a bundle.

use std::{fs::File, io::Write, path::PathBuf};

use gix::{ObjectId, bstr::ByteSlice, refs::FullName};

use super::Header;
use crate::{git::GitError, repository::Repository};

/// Says why a bundle could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// Git could not list or pack the objects.
    #[error(transparent)]
    Git(#[from] GitError),
    /// Git answered with something that is no list of commits.
    #[error("git gave an answer about commits that cannot be read")]
    Answer,
    /// There is nothing to write: whoever has the commits that are left out has everything.
    #[error("nothing would be in the file: {0} has everything")]
    Empty(ObjectId),
    /// The file could not be written.
    #[error("{path} could not be written")]
    Io {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        #[source]
        source: std::io::Error,
    },
}

/// Writes a bundle of refs that need not exist under these names, with everything that they reach and `without` does
/// not; returns what its header says.
///
/// The file is not proved to be whole: that takes fetching it.
///
/// # Errors
///
/// [`WriteError::Empty`] where `without` reaches all of it.
pub fn write(
    repository: &Repository,
    refs: &[(FullName, ObjectId)],
    without: Option<ObjectId>,
    path: &std::path::Path,
    mut out: &File,
) -> Result<Header, WriteError> {
    let header = Header {
        hash: repository.hash_kind(),
        prerequisites: match without {
            Some(without) => boundary(repository, refs, without)?,
            None => Vec::new(),
        },
        refs: refs
            .iter()
            .map(|(name, id)| (name.as_bstr().into(), *id))
            .collect(),
    };
    let failed = |source| WriteError::Io {
        path: path.into(),
        source,
    };
    out.write_all(&header.to_bytes()).map_err(failed)?;
    let args = [
        "pack-objects",
        "--quiet",
        "--revs",
        "--stdout",
        "--thin",
        "--delta-base-offset",
    ];
    let mut input: String = refs.iter().map(|(_, id)| format!("{id}\n")).collect();
    let left_out = header.prerequisites.iter().map(|id| format!("^{id}\n"));
    input.extend(left_out);
    let pack = out.try_clone().map_err(failed)?;
    repository
        .git()
        .output_to_file(args, input.as_bytes(), pack)?;
    out.sync_all().map_err(failed)?;
    Ok(header)
}

/// Returns the commits at which the history is cut off.
fn boundary(
    repository: &Repository,
    refs: &[(FullName, ObjectId)],
    without: ObjectId,
) -> Result<Vec<ObjectId>, WriteError> {
    let mut args = vec!["rev-list".to_owned(), "--boundary".to_owned()];
    args.extend(refs.iter().map(|(_, id)| id.to_string()));
    args.push(format!("^{without}"));
    let listed = repository.git().output(&args)?;
    let mut found = Vec::new();
    for id in listed.lines().filter_map(|line| line.strip_prefix(b"-")) {
        found.push(ObjectId::from_hex(id).map_err(|_| WriteError::Answer)?);
    }
    if listed.is_empty() {
        return Err(WriteError::Empty(without));
    }
    Ok(found)
}
