//! Exit codes.

use store::error_code::ErrorCode;

/// Success.
pub(crate) const SUCCESS: u8 = 0;
/// I/O, Git missing, a bug.
pub(crate) const FAILURE: u8 = 1;
/// A command line that makes no sense.
pub(crate) const USAGE: u8 = 2;
/// Stale, or a lost race.
pub(crate) const STALE: u8 = 3;
/// An invalid or mismatching artifact.
pub(crate) const INVALID: u8 = 4;
/// Refused by policy.
pub(crate) const REFUSED: u8 = 5;
/// Absent.
pub(crate) const ABSENT: u8 = 6;
/// The remote cannot be reached.
pub(crate) const UNREACHABLE: u8 = 7;

/// The exit codes with their meanings.
pub(crate) const MEANINGS: [(u8, &str); 8] = [
    (SUCCESS, "success"),
    (
        FAILURE,
        "failure: the system, Git, or a fault of this program",
    ),
    (
        USAGE,
        "a command line that makes no sense, or something that must be configured first",
    ),
    (STALE, "stale, or a lost race"),
    (INVALID, "an invalid or mismatching artifact"),
    (REFUSED, "refused by policy"),
    (ABSENT, "absent"),
    (UNREACHABLE, "the remote cannot be reached"),
];

/// Returns the exit code that an error code leads to.
pub(crate) fn of(code: ErrorCode) -> u8 {
    use ErrorCode as C;
    match code {
        C::StaleCheckpoint
        | C::CasConflict
        | C::AlreadyAccepted
        | C::NonLinear
        | C::GenerationGap => STALE,
        C::UnsupportedVersion
        | C::MalformedManifest
        | C::DigestMismatch
        | C::TreeMismatch
        | C::PatchMismatch
        | C::MissingObject
        | C::MissingLfsObject
        | C::SubmoduleUnreachable
        | C::ReceiptMismatch
        | C::UnevidencedClaim
        | C::UndecidableDecision
        | C::InconsistentDisposition
        | C::BadCitation
        | C::ScopeMismatch
        | C::WorktreeChanged
        | C::UnsafePath
        | C::HeadIsRecord => INVALID,
        C::SecretDetected
        | C::ForbiddenAction
        | C::LeaseExpanded
        | C::OutOfScope
        | C::NotOwner
        | C::IdentityMismatch
        | C::Blocked
        | C::Frozen
        | C::RefOutsideNamespace
        | C::DeleteRefused
        | C::ScopeInvalid
        | C::ScopeCollision
        | C::LimitExceeded
        | C::DirectoryNotEmpty
        | C::Clock
        | C::Held => REFUSED,
        C::NotFound => ABSENT,
        C::Unreachable => UNREACHABLE,
        C::Usage | C::IdentityMissing | C::AmbiguousScope => USAGE,
        C::Internal | C::Io | C::GitFailed => FAILURE,
    }
}

/// Of several codes the lowest exit code from 3 counts, else the highest.
pub(crate) fn of_all(codes: impl IntoIterator<Item = ErrorCode>) -> u8 {
    let exits: Vec<u8> = codes.into_iter().map(of).collect();
    let from_three = exits.iter().filter(|exit| **exit >= STALE).min();
    from_three
        .or(exits.iter().max())
        .copied()
        .unwrap_or(SUCCESS)
}
