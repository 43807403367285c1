//! The documents of a scope: `handoff.v1` and its companions, as `docs/handoff.v1.cddl` defines them.
//!
//! Types and pure rules only, no I/O. [`codec`] alone knows the encoding.

mod accept;
#[cfg(test)]
pub(crate) mod arbitrary;
mod captured;
pub mod check;
mod citation;
pub mod codec;
mod content;
#[cfg(test)]
mod golden;
pub mod lists;
mod manifest;
pub mod message;
mod prepared;
mod receipt;
mod release;
mod repository;
#[cfg(test)]
mod sample;
pub mod schema;
mod value;

pub use accept::{Accept, AcceptSchema, Acceptor, Acknowledged};
pub use captured::{
    Attachment, Blocker, BlockerKind, CapturedList, Conclusion, ExcludedReason, Exclusion, Flags,
    IntentToAdd, LfsPointer, LfsPresence, ListDigest, Omission, OmissionReason, Reachable,
    ReceiptReference, ReceiptRole, Submodule, SubmoduleReach,
};
pub use citation::{Citation, CitationError, LineRange};
pub use content::{
    Allow, Assumption, Change, Claim, ClaimState, Content, Decision, DecisionDefault,
    DecisionOption, Disposition, Effect, EffectKind, Evidence, EvidenceKind, Lifted, NextStep,
    PathLease, Runner, Statement, Task, TaskAcceptor, TaskRole, TaskScope, Unexecuted,
    Verification,
};
pub use manifest::{BaseFrom, Manifest, ManifestSchema, Observed, Previous, Producer};
pub use prepared::{Prepared, PreparedSchema};
pub use receipt::{Environment, OutputDigest, Receipt, ReceiptSchema, Tool};
pub use release::{Release, ReleaseSchema};
pub use repository::{
    Artifacts, AutoCrlf, Conversions, Eol, FileMode, ObjectFormat, Operation, OperationKind,
    Repository, Untracked, Worktree,
};
pub use value::Value;

/// A kind of document with a schema name of its own.
pub trait Document: serde::Serialize + serde::de::DeserializeOwned {
    /// Value of the field `schema`.
    const SCHEMA: &'static str;
}

/// Reads a key that must be there, also where its value is null.
fn required<'de, D: serde::Deserializer<'de>, T: serde::Deserialize<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    T::deserialize(deserializer)
}

/// Shows each of the enumerations as documents spell it.
macro_rules! displayed_as_written {
    ($($kind:ty),+ $(,)?) => {$(
        impl std::fmt::Display for $kind {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                serde::Serialize::serialize(self, f)
            }
        }
    )+};
}

displayed_as_written!(
    crate::actor::ActorKind,
    AutoCrlf,
    BaseFrom,
    BlockerKind,
    ClaimState,
    Conclusion,
    Disposition,
    EffectKind,
    Eol,
    EvidenceKind,
    FileMode,
    ObjectFormat,
    OmissionReason,
    OperationKind,
    Reachable,
    ReceiptRole,
    TaskRole,
);
