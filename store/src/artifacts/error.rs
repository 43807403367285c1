//! Says why artifacts could not be written.

use std::{io, path::PathBuf};

use gix::ObjectId;

use crate::{
    bundle::{BundleError, WriteError},
    conversion::ConversionError,
    git::GitError,
    record::RecordError,
    ref_store::RefError,
    restore::RestoreError,
};

/// Says why artifacts could not be written, or a check of them not be made.
#[derive(Debug, thiserror::Error)]
pub enum ArtifactsError {
    /// A file could not be read or written.
    #[error("{path} could not be read or written")]
    Io {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        #[source]
        source: io::Error,
    },
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
    /// A ref could not be read.
    #[error(transparent)]
    Ref(#[from] RefError),
    /// The bundle could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The bundle could not be taken.
    #[error(transparent)]
    Bundle(#[from] BundleError),
    /// Objects could not be copied.
    #[error(transparent)]
    Copy(#[from] RestoreError),
    /// A document could not be read.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A file could not be converted to what is on disk.
    #[error(transparent)]
    Conversion(#[from] ConversionError),
    /// An object could not be read.
    #[error("object {id} cannot be read")]
    Object {
        /// The object.
        id: ObjectId,
        /// What went wrong.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Git listed a tree in a way that cannot be read.
    #[error("git gave an answer about a tree that cannot be read")]
    Answer,
    /// A repository for the work could not be made.
    #[error("a temporary repository could not be made")]
    Make(#[source] Box<dyn std::error::Error + Send + Sync>),
}
