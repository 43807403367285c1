//! What a list shows of a scope, read from messages alone: there may be very many scopes.

use gix::{
    ObjectId,
    bstr::{BStr, ByteSlice},
    objs::{CommitRef, Kind},
};

use super::{Record, State};
use crate::{
    actor::ActorId,
    contract::{
        Disposition,
        message::{self, RecordKind, Trailers},
    },
    generation::Generation,
    scope::ScopeName,
    timestamp::Timestamp,
};

/// What a list shows of a scope's tip.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outline {
    /// The tip.
    pub id: ObjectId,
    /// The current generation.
    pub generation: Generation,
    /// Time of the tip's own document.
    pub at: Timestamp,
    /// Where the work stands, in the author's word.
    pub disposition: Disposition,
    held: Held,
}

/// Who has taken over the current generation.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Held {
    Nobody,
    By { owner: ActorId, until: Timestamp },
    GivenBack,
}

impl Outline {
    /// Takes the outline from a whole record.
    pub fn of(record: &Record) -> Self {
        Outline {
            id: record.id,
            generation: record.generation(),
            at: record.at(),
            disposition: record.manifest.value.content.disposition,
            held: match (&record.accept, &record.release) {
                (_, Some(_)) => Held::GivenBack,
                (Some(accept), None) => Held::By {
                    owner: accept.value.acceptor.id.clone(),
                    until: accept.value.until,
                },
                (None, None) => Held::Nobody,
            },
        }
    }

    /// Reads the outline of a tip whose line was judged before: its messages say then what its documents do.
    ///
    /// Returns `None` where they do not say it all; the record itself is to be read then.
    pub fn read(objects: &gix::Repository, scope: &ScopeName, tip: ObjectId) -> Option<Self> {
        let said = Said::read(objects, scope, tip)?;
        let held = match said.kind {
            RecordKind::Checkpoint => Held::Nobody,
            RecordKind::Accept => said.holder()?,
            RecordKind::Release => Held::GivenBack,
        };
        let (generation, at) = (said.trailers.generation, said.at);
        let mut checkpoint = said;
        while checkpoint.kind != RecordKind::Checkpoint {
            checkpoint = Said::read(objects, scope, checkpoint.before?)?;
            if checkpoint.trailers.generation != generation {
                return None;
            }
        }
        Some(Outline {
            id: tip,
            generation,
            at,
            disposition: checkpoint.disposition()?,
            held,
        })
    }

    /// Returns who owns the scope.
    pub fn owner(&self) -> Option<&ActorId> {
        match &self.held {
            Held::By { owner, .. } => Some(owner),
            Held::Nobody | Held::GivenBack => None,
        }
    }

    /// Returns where the scope stands at `now`.
    pub fn state(&self, now: Timestamp) -> State {
        match &self.held {
            Held::GivenBack => State::Released,
            Held::By { until, .. } if *until <= now => State::Overdue,
            Held::By { .. } => State::Accepted,
            Held::Nobody => State::Open,
        }
    }
}

/// What the commit of a record says by itself.
struct Said {
    kind: RecordKind,
    trailers: Trailers,
    at: Timestamp,
    before: Option<ObjectId>,
    /// The message up to its trailers.
    text: Vec<u8>,
}

impl Said {
    fn read(objects: &gix::Repository, scope: &ScopeName, id: ObjectId) -> Option<Self> {
        let object = objects.find_object(id).ok()?;
        if object.kind != Kind::Commit {
            return None;
        }
        let commit = CommitRef::from_bytes(&object.data, objects.object_hash()).ok()?;
        let trailers = message::parse_trailers(commit.message)?;
        let at = commit.committer().ok()?.seconds();
        Some(Said {
            kind: trailers.kind().filter(|_| trailers.scope == *scope)?,
            trailers,
            at: Timestamp::from_unix_seconds(at).ok()?,
            before: commit.parents().next(),
            text: commit.message.to_vec(),
        })
    }

    /// Returns what follows `key` in a line of the message, counted from 0: its place is fixed.
    fn value(&self, line: usize, key: &str) -> Option<&str> {
        let line: &BStr = self.text.lines().nth(line)?.as_bstr();
        line.strip_prefix(key.as_bytes())?.to_str().ok()
    }

    fn disposition(&self) -> Option<Disposition> {
        let named = self.value(2, "Disposition: ")?;
        let all = [
            Disposition::Continuable,
            Disposition::Completed,
            Disposition::Blocked,
        ];
        all.into_iter().find(|known| known.to_string() == named)
    }

    fn holder(&self) -> Option<Held> {
        let Trailers {
            scope, generation, ..
        } = &self.trailers;
        let subject = format!("handoff({scope}): accept {generation} by ");
        Some(Held::By {
            owner: self.value(0, &subject)?.parse().ok()?,
            until: self.value(3, "Until: ")?.parse().ok()?,
        })
    }
}
