//! Records: the commits on a scope's line.
//!
//! [`Record::read`] takes a commit apart and decodes its documents; whether what they say is true is judged in
//! [`crate::verify`], and whether a ref may move to it in the crate `hooks`.

mod compose;
mod outline;
mod read;
mod root_tree;
mod write;

use std::fmt;

use gix::{ObjectId, bstr::BString};
use schemars::JsonSchema;
use serde::Serialize;

pub use compose::{NewCheckpoint, NewPrepared, compose_accept, compose_release};
pub use outline::Outline;
pub use read::RecordError;
pub(crate) use read::read_object;
pub use root_tree::{RootTree, RootTreeError, SubTree};
pub use write::{NewRecord, WriteError, write};

use crate::{
    actor::ActorId,
    contract::{Accept, Manifest, Release},
    digest::Digest,
    generation::Generation,
    scope::ScopeName,
    timestamp::Timestamp,
};

/// A document with the digest of the bytes that it was read from.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored<T> {
    /// The document.
    pub value: T,
    /// Digest of its bytes.
    pub digest: Digest,
}

/// Kind of a record: its trailer `Handoff-Record`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RecordKind {
    /// A new generation.
    Checkpoint,
    /// Somebody takes over, or renews.
    Accept,
    /// The owner gives the scope back.
    Release,
    /// A kind that this program does not know; never confirmation of anything.
    Unknown(String),
}

impl fmt::Display for RecordKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecordKind::Checkpoint => f.write_str("checkpoint"),
            RecordKind::Accept => f.write_str("accept"),
            RecordKind::Release => f.write_str("release"),
            RecordKind::Unknown(name) => write!(f, "unknown ({name})"),
        }
    }
}

/// One commit on a scope's line, taken apart.
#[derive(Clone, Debug)]
pub struct Record {
    /// Id of the commit.
    pub id: ObjectId,
    /// Its parents: the record before, if any, then head and the heads of an operation.
    pub parents: Vec<ObjectId>,
    /// The message.
    pub message: BString,
    /// Author and committer time, in seconds since 1970.
    pub times: (i64, i64),
    /// What the trailer `Handoff-Record` says.
    pub kind: RecordKind,
    /// The entries of its tree.
    pub root: RootTree,
    /// The manifest of the current generation.
    pub manifest: Stored<Manifest>,
    /// The accept of this generation, if any.
    pub accept: Option<Stored<Accept>>,
    /// The release of this generation, if any.
    pub release: Option<Stored<Release>>,
}

/// Where a scope stands, as its tip's tree says.
#[derive(Clone, Copy, PartialEq, Eq, Debug, JsonSchema, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Nobody has taken over.
    Open,
    /// Somebody has, and the accept still holds.
    Accepted,
    /// Somebody has, and the accept's time is over.
    Overdue,
    /// The owner has given it back.
    Released,
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            State::Open => "open",
            State::Accepted => "accepted",
            State::Overdue => "overdue",
            State::Released => "released",
        })
    }
}

impl Record {
    /// Returns the scope that the manifest names.
    pub fn scope(&self) -> &ScopeName {
        &self.manifest.value.scope
    }

    /// Returns the current generation.
    pub fn generation(&self) -> Generation {
        self.manifest.value.generation
    }

    /// Returns the record before, or `None` at the start of the line.
    pub fn before(&self) -> Option<ObjectId> {
        let starts = self.kind == RecordKind::Checkpoint && self.manifest.value.previous.is_none();
        if starts {
            None
        } else {
            self.parents.first().copied()
        }
    }

    /// Returns where the scope stands at `now` if this is its tip.
    pub fn state(&self, now: Timestamp) -> State {
        match (&self.accept, &self.release) {
            (_, Some(_)) => State::Released,
            (Some(accept), None) if accept.value.until <= now => State::Overdue,
            (Some(_), None) => State::Accepted,
            (None, None) => State::Open,
        }
    }

    /// Returns the head commit of the current generation, or `None` where it was made on an unborn branch.
    pub fn head_commit_id(&self) -> Option<ObjectId> {
        let head = self.manifest.value.content.repository.head;
        head.map(ObjectId::from)
    }

    /// Returns who owns the scope if this is its tip.
    pub fn owner(&self) -> Option<&ActorId> {
        match (&self.accept, &self.release) {
            (Some(accept), None) => Some(&accept.value.acceptor.id),
            _ => None,
        }
    }

    /// Returns the time of the record's own document; of an unknown kind, the latest that it holds.
    pub fn at(&self) -> Timestamp {
        let created = self.manifest.value.created_at;
        let accepted = self.accept.as_ref().map(|accept| accept.value.accepted_at);
        let released = self.release.as_ref().map(|release| release.value.at);
        match (&self.kind, accepted, released) {
            (RecordKind::Accept, Some(accepted), _) => accepted,
            (RecordKind::Release, _, Some(released)) => released,
            (RecordKind::Unknown(_), _, _) => created
                .max(accepted.unwrap_or(created))
                .max(released.unwrap_or(created)),
            _ => created,
        }
    }

    /// Returns who the record's own document names as its author.
    pub fn by(&self) -> &ActorId {
        match (&self.kind, &self.accept, &self.release) {
            (RecordKind::Accept, Some(accept), _) => &accept.value.acceptor.id,
            (RecordKind::Release, _, Some(release)) => &release.value.by,
            _ => &self.manifest.value.producer.id,
        }
    }

    /// Returns the digest of the record's own document.
    pub fn digest(&self) -> Digest {
        match (&self.kind, &self.accept, &self.release) {
            (RecordKind::Accept, Some(accept), _) => accept.digest,
            (RecordKind::Release, _, Some(release)) => release.digest,
            _ => self.manifest.digest,
        }
    }
}
