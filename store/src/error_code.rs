//! The codes that errors, rejections and checks carry.

use std::fmt;

use serde::{Serialize, Serializer};

macro_rules! error_codes {
    ($($(#[doc = $doc:literal])+ $variant:ident = $text:literal,)+) => {
        /// Code of an error, a rejection or a failed check; never renamed, never reused.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum ErrorCode {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl ErrorCode {
            /// All codes, in the order of the documentation.
            pub const ALL: &[ErrorCode] = &[$(ErrorCode::$variant),+];

            /// Returns the code as it is printed.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(ErrorCode::$variant => $text,)+
                }
            }

            /// Returns what the code means, in one line.
            pub fn meaning(self) -> &'static str {
                match self {
                    $(ErrorCode::$variant => concat!($($doc),+).trim_ascii(),)+
                }
            }
        }
    };
}

error_codes! {
    /// A reader was overtaken: the scope has a newer generation than the one named.
    StaleCheckpoint = "STALE_CHECKPOINT",
    /// A writer was overtaken: the ref is not what the update replaces.
    CasConflict = "CAS_CONFLICT",
    /// Somebody else has accepted, and the accept still holds.
    AlreadyAccepted = "ALREADY_ACCEPTED",
    /// The new tip does not continue the record line of the old one.
    NonLinear = "NON_LINEAR",
    /// A generation is not the previous one plus one.
    GenerationGap = "GENERATION_GAP",
    /// A document of a schema that this program does not know.
    UnsupportedVersion = "UNSUPPORTED_VERSION",
    /// A document or record that is not as the contract says.
    MalformedManifest = "MALFORMED_MANIFEST",
    /// A digest that differs from the bytes it stands for.
    DigestMismatch = "DIGEST_MISMATCH",
    /// A tree that differs from the one the manifest names.
    TreeMismatch = "TREE_MISMATCH",
    /// A patch that does not lead to the worktree tree.
    PatchMismatch = "PATCH_MISMATCH",
    /// An object that is missing or damaged.
    MissingObject = "MISSING_OBJECT",
    /// The content of an LFS pointer that is missing.
    MissingLfsObject = "MISSING_LFS_OBJECT",
    /// The commit of a submodule that no remote has.
    SubmoduleUnreachable = "SUBMODULE_UNREACHABLE",
    /// A receipt that does not cover the tree it is cited for.
    ReceiptMismatch = "RECEIPT_MISMATCH",
    /// A claim said to be evidenced without a receipt that covers the worktree tree.
    UnevidencedClaim = "UNEVIDENCED_CLAIM",
    /// A decision without owner, default or two to three options.
    UndecidableDecision = "UNDECIDABLE_DECISION",
    /// A disposition that the claims, decisions and blockers contradict.
    InconsistentDisposition = "INCONSISTENT_DISPOSITION",
    /// A citation that points to nothing.
    BadCitation = "BAD_CITATION",
    /// A document that belongs to another scope, task or repository.
    ScopeMismatch = "SCOPE_MISMATCH",
    /// The worktree changed while or after it was captured.
    WorktreeChanged = "WORKTREE_CHANGED",
    /// A path that must not be written.
    UnsafePath = "UNSAFE_PATH",
    /// `HEAD` is a record or reaches one.
    HeadIsRecord = "HEAD_IS_RECORD",
    /// A secret in what would be handed over.
    SecretDetected = "SECRET_DETECTED",
    /// An action or actor that the checkpoint does not permit.
    ForbiddenAction = "FORBIDDEN_ACTION",
    /// A path lease or task scope wider than the one before.
    LeaseExpanded = "LEASE_EXPANDED",
    /// A changed path outside the paths of this work.
    OutOfScope = "OUT_OF_SCOPE",
    /// Only the owner may do that.
    NotOwner = "NOT_OWNER",
    /// An identity other than the authenticated one.
    IdentityMismatch = "IDENTITY_MISMATCH",
    /// A blocker that was not acknowledged.
    Blocked = "BLOCKED",
    /// The server takes no new generations or accepts.
    Frozen = "FROZEN",
    /// A ref outside refs/handoff/, or in a spelling that folds onto it.
    RefOutsideNamespace = "REF_OUTSIDE_NAMESPACE",
    /// A scope is never deleted by a push.
    DeleteRefused = "DELETE_REFUSED",
    /// A name that is no scope name.
    ScopeInvalid = "SCOPE_INVALID",
    /// A scope that differs from another one in ASCII case only.
    ScopeCollision = "SCOPE_COLLISION",
    /// Something over a size limit.
    LimitExceeded = "LIMIT_EXCEEDED",
    /// A place where a restore would overwrite or remove something.
    DirectoryNotEmpty = "DIRECTORY_NOT_EMPTY",
    /// A time that is out of order, or ahead of the clock.
    Clock = "CLOCK",
    /// A good ref that was refused together with a bad one.
    Held = "HELD",
    /// There is no such scope, record, file or ref.
    NotFound = "NOT_FOUND",
    /// The remote could not be reached.
    Unreachable = "UNREACHABLE",
    /// A fault of this program.
    Internal = "INTERNAL",
    /// The system could not read or write.
    Io = "IO",
    /// Git is missing or failed.
    GitFailed = "GIT_FAILED",
    /// A command line that makes no sense.
    Usage = "USAGE",
    /// No identity is configured.
    IdentityMissing = "IDENTITY_MISSING",
    /// Several scopes could be meant.
    AmbiguousScope = "AMBIGUOUS_SCOPE",
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for ErrorCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}
