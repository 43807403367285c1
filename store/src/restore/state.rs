//! The state that a restore brings about.

use gix::ObjectId;

use crate::{
    contract::Content,
    verify::{VerifiedPrepared, VerifiedRecord},
};

/// A state that was verified; nothing else is restored.
///
/// Invariant: only what `verify` judged makes one.
#[derive(Clone, Debug)]
pub struct Restorable<'a> {
    /// The commit that holds it.
    pub(crate) id: ObjectId,
    /// What people call it: `<scope>@<generation>`.
    pub(crate) name: String,
    pub(crate) worktree: ObjectId,
    pub(crate) raw: Option<ObjectId>,
    pub(crate) index: ObjectId,
    /// With all captured lists in it.
    pub(crate) content: &'a Content,
}

impl Restorable<'_> {
    /// Returns what is said of the state, with all captured lists in it.
    pub fn content(&self) -> &Content {
        self.content
    }
}

impl<'a> From<&'a VerifiedRecord> for Restorable<'a> {
    fn from(record: &'a VerifiedRecord) -> Self {
        Restorable {
            id: record.id,
            name: format!("{}@{}", record.scope(), record.generation()),
            worktree: record.root.worktree,
            raw: record.root.raw,
            index: record.root.index,
            content: &record.whole().content,
        }
    }
}

impl<'a> From<&'a VerifiedPrepared> for Restorable<'a> {
    fn from(prepared: &'a VerifiedPrepared) -> Self {
        Restorable {
            id: prepared.id,
            name: format!("{}@prepared", prepared.document.value.scope),
            worktree: prepared.root.worktree,
            raw: prepared.root.raw,
            index: prepared.root.index,
            content: prepared.whole(),
        }
    }
}
