//! Reads a record from its commit.

use gix::{ObjectId, bstr::BString};

use super::{Record, RecordKind, RootTree, RootTreeError, Stored};
use crate::{
    contract::{
        Document,
        codec::{self, DecodeError},
        message,
    },
    digest::Digest,
    error_code::ErrorCode,
};

/// Largest commit and root tree that a record may have, in bytes.
const MAX_COMMIT_BYTES: u64 = 1 << 20;

/// Says why a commit is no record.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// An object is missing or cannot be read.
    #[error("object {id} cannot be read")]
    Object {
        /// The object.
        id: ObjectId,
        /// What went wrong.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// An object is of another kind than it must be.
    #[error("object {id} is a {found}, not a {expected}")]
    Kind {
        /// The object.
        id: ObjectId,
        /// The kind that it is.
        found: gix::objs::Kind,
        /// The kind that it must be.
        expected: gix::objs::Kind,
    },
    /// An object is larger than any that a record may have in its place.
    #[error("object {id} has {bytes} bytes, where {limit} are the most")]
    TooLarge {
        /// The object.
        id: ObjectId,
        /// Its size in bytes.
        bytes: u64,
        /// Largest size in bytes.
        limit: u64,
    },
    /// The commit object is malformed.
    #[error("commit {id} is malformed")]
    Commit {
        /// The commit.
        id: ObjectId,
    },
    /// The message has no trailers of a record.
    #[error("commit {id} is no record: its message has no Handoff trailers")]
    NoTrailers {
        /// The commit.
        id: ObjectId,
    },
    /// The tree is not that of a record.
    #[error("commit {id} is no record: {source}")]
    Tree {
        /// The commit.
        id: ObjectId,
        /// What is wrong with the tree.
        source: RootTreeError,
    },
    /// A document cannot be decoded.
    #[error("{name} of {id}: {source}")]
    Document {
        /// The commit.
        id: ObjectId,
        /// File name of the document.
        name: &'static str,
        /// What is wrong with it.
        source: DecodeError,
    },
}

impl RecordError {
    /// Returns the code that the error carries.
    pub fn code(&self) -> ErrorCode {
        match self {
            RecordError::Object { .. } => ErrorCode::MissingObject,
            RecordError::Document {
                source: DecodeError::UnsupportedVersion { .. },
                ..
            } => ErrorCode::UnsupportedVersion,
            _ => ErrorCode::MalformedManifest,
        }
    }
}

impl Record {
    /// Reads the record at a commit.
    ///
    /// # Errors
    ///
    /// Where an object is missing, the commit has not the shape of a record, or a document is not canonical.
    pub fn read(objects: &gix::Repository, id: ObjectId) -> Result<Self, RecordError> {
        let kind = objects.object_hash();
        let data = read_object(objects, id, gix::objs::Kind::Commit, MAX_COMMIT_BYTES)?;
        let malformed = || RecordError::Commit { id };
        let commit = gix::objs::CommitRef::from_bytes(&data, kind).map_err(|_| malformed())?;
        let seconds = |signature: gix::Result<gix::actor::SignatureRef<'_>>| {
            signature
                .ok()
                .and_then(|signature| signature.time().ok())
                .map(|time| time.seconds)
                .ok_or_else(malformed)
        };
        let times = (seconds(commit.author())?, seconds(commit.committer())?);
        let trailers =
            message::parse_trailers(commit.message).ok_or(RecordError::NoTrailers { id })?;
        let tree_id = commit.tree();
        let tree = read_object(objects, tree_id, gix::objs::Kind::Tree, MAX_COMMIT_BYTES)?;
        let root =
            RootTree::parse(&tree, kind).map_err(|source| RecordError::Tree { id, source })?;
        let manifest = read_document(objects, id, "manifest.cbor", root.manifest)?;
        let accept = root
            .accept
            .map(|blob| read_document(objects, id, "accept.cbor", blob))
            .transpose()?;
        let release = root
            .release
            .map(|blob| read_document(objects, id, "release.cbor", blob))
            .transpose()?;
        let kind = match trailers.record.as_str() {
            _ if !root.unknown.is_empty() => RecordKind::Unknown(trailers.record),
            "checkpoint" => RecordKind::Checkpoint,
            "accept" => RecordKind::Accept,
            "release" => RecordKind::Release,
            _ => RecordKind::Unknown(trailers.record),
        };
        let (parents, message) = (commit.parents().collect(), BString::from(commit.message));
        Ok(Record {
            id,
            parents,
            message,
            times,
            kind,
            root,
            manifest,
            accept,
            release,
        })
    }
}

/// Reads an object of a kind, after its size was looked at.
pub(crate) fn read_object(
    objects: &gix::Repository,
    id: ObjectId,
    kind: gix::objs::Kind,
    max_bytes: u64,
) -> Result<Vec<u8>, RecordError> {
    let failed = |source: gix::Error| RecordError::Object {
        id,
        source: source.into(),
    };
    let header = objects.find_header(id).map_err(failed)?;
    let (found, bytes) = (header.kind(), header.size());
    if found != kind {
        return Err(RecordError::Kind {
            id,
            found,
            expected: kind,
        });
    }
    if bytes > max_bytes {
        return Err(RecordError::TooLarge {
            id,
            bytes,
            limit: max_bytes,
        });
    }
    Ok(objects.find_object(id).map_err(failed)?.detach().data)
}

fn read_document<T: Document>(
    objects: &gix::Repository,
    id: ObjectId,
    name: &'static str,
    blob: ObjectId,
) -> Result<Stored<T>, RecordError> {
    let bytes = read_object(
        objects,
        blob,
        gix::objs::Kind::Blob,
        codec::MAX_BYTES as u64,
    )?;
    let value =
        codec::decode(&bytes).map_err(|source| RecordError::Document { id, name, source })?;
    Ok(Stored {
        value,
        digest: Digest::of(&bytes),
    })
}
