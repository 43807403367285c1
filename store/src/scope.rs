//! Names of lines of handoff work, and the refs they stand for.

use std::{fmt, str::FromStr};

use gix::bstr::{BStr, ByteSlice};
use gix::refs::{FullName, FullNameRef};
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};

use crate::{digest::Digest, entry_id::is_word};

/// The namespace of the records: `refs/handoff/<scope>`.
pub const RECORDS: &str = "refs/handoff/";
/// The namespace of refs that never leave the repository.
pub const LOCAL: &str = "refs/handoff-local/";
/// The namespace of what remotes were last seen to hold: `refs/handoff-remote/<remote>/<scope>`.
pub const REMOTE: &str = "refs/handoff-remote/";
/// The namespace of how far lines were judged here: `refs/handoff-local/verified/<scope>`.
pub const VERIFIED: &str = "refs/handoff-local/verified/";
/// The namespace of the remotes' newest records that were judged here: `refs/handoff-local/seen/<remote>/<scope>`.
pub const SEEN: &str = "refs/handoff-local/seen/";

/// Name of a line of handoff work, e.g. `DEV-1842`.
///
/// Invariant: one component of at most [`ScopeName::MAX_BYTES`] bytes of `A-Z`, `a-z`, `0-9`, `.`, `_`, `-`
/// that begins with a letter or digit, and `refs/handoff/<name>` is a valid Git ref name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct ScopeName(String);

/// Says why a text is no scope name.
#[derive(Debug, thiserror::Error)]
pub enum ScopeNameError {
    /// The text has a character or a length that names do not have.
    #[error(
        "`{0}` is not a scope name: a letter or digit, then at most 99 letters, digits, `.`, `_` or `-`"
    )]
    Form(String),
    /// Git refuses a ref of that name: `git-check-ref-format(1)`.
    #[error(
        "`{0}` is not a scope name: Git allows no ref that ends in `.lock` or `.`, or holds `..`"
    )]
    Ref(String),
    /// The ref is not directly below `refs/handoff/`.
    #[error("`{0}` is not directly below refs/handoff/")]
    Namespace(String),
}

impl ScopeName {
    /// Longest name, in bytes.
    pub const MAX_BYTES: usize = 100;

    /// Takes the scope of a ref of the form `refs/handoff/<scope>`.
    ///
    /// # Errors
    ///
    /// Where the ref is elsewhere, or what follows is no scope name.
    pub fn from_ref(name: &BStr) -> Result<Self, ScopeNameError> {
        match name.strip_prefix(RECORDS.as_bytes()) {
            Some(rest) => rest.to_str_lossy().parse(),
            None => Err(ScopeNameError::Namespace(name.to_string())),
        }
    }

    /// Returns `refs/handoff/<scope>`.
    pub fn to_ref(&self) -> FullName {
        self.below(RECORDS)
    }

    /// Returns `refs/handoff-remote/<remote>/<scope>`, or `None` where the remote's name makes no valid ref.
    pub fn to_remote_ref(&self, remote: &str) -> Option<FullName> {
        FullName::try_from(format!("{REMOTE}{remote}/{}", self.0)).ok()
    }

    /// Returns `refs/handoff-local/seen/<remote>/<scope>`: the newest of the remote's records that was judged here;
    /// `None` where the remote's name makes no valid ref.
    pub fn to_seen_ref(&self, remote: &str) -> Option<FullName> {
        FullName::try_from(format!("{SEEN}{remote}/{}", self.0)).ok()
    }

    /// Returns `refs/handoff-local/verified/<scope>`.
    pub fn to_verified_ref(&self) -> FullName {
        self.below(VERIFIED)
    }

    fn below(&self, namespace: &str) -> FullName {
        FullName::try_from(format!("{namespace}{}", self.0))
            .expect("a scope name is a valid ref component")
    }

    /// Makes a scope of a task id: runs of other characters become one `.`, ends are trimmed; what is then no
    /// scope name becomes `t-` and 12 hexadecimal digits of the id's SHA-256.
    pub fn from_task_id(task_id: &str) -> Self {
        let mut name = String::new();
        for c in task_id.chars() {
            if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') {
                name.push(c);
            } else if !name.ends_with('.') {
                name.push('.');
            }
        }
        let name = name.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        name.parse().unwrap_or_else(|_| {
            let digest = Digest::of(task_id.as_bytes()).to_string();
            ScopeName(format!("t-{}", &digest["sha256:".len()..][..12]))
        })
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Tells whether a ref lies in a namespace of ours when ASCII case is ignored, but is none that records may use.
///
/// Such a ref folds onto `refs/handoff/…` on a file system that ignores case, or never leaves its repository.
pub fn is_reserved_ref(name: &BStr) -> bool {
    let folded = name.to_ascii_lowercase();
    let ours = [RECORDS, LOCAL, REMOTE].iter().any(|namespace| {
        folded.starts_with(namespace.as_bytes())
            || folded.as_slice() == namespace.trim_end_matches('/').as_bytes()
    });
    ours && !name.starts_with(RECORDS.as_bytes())
}

/// Tells whether a full ref name lies directly or deeply below `refs/handoff/`.
pub fn is_record_ref(name: &FullNameRef) -> bool {
    name.as_bstr().starts_with(RECORDS.as_bytes())
}

impl FromStr for ScopeName {
    type Err = ScopeNameError;

    fn from_str(text: &str) -> Result<Self, ScopeNameError> {
        let shown = || text.chars().take(120).collect();
        if !is_word(text, b"._-", Self::MAX_BYTES) {
            return Err(ScopeNameError::Form(shown()));
        }
        match FullName::try_from(format!("{RECORDS}{text}")) {
            Ok(_) => Ok(ScopeName(text.into())),
            Err(_) => Err(ScopeNameError::Ref(shown())),
        }
    }
}

impl fmt::Display for ScopeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ScopeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl<'de> Deserialize<'de> for ScopeName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_id_becomes_a_scope() {
        let scope = |id| ScopeName::from_task_id(id).to_string();
        assert_eq!(scope("DEV-1842"), "DEV-1842");
        assert_eq!(scope("payments / retry: v2"), "payments.retry.v2");
        assert_eq!(scope("..a.."), "a");
        assert_eq!(scope("a..b"), ScopeName::from_task_id("a..b").to_string());
        assert!(scope("a..b").starts_with("t-"));
        assert_eq!(scope("…").len(), 14);
    }

    #[test]
    fn names_that_git_refuses_are_refused() {
        for name in ["", "-a", ".a", "a/b", "a..b", "a.lock", "a.", "ä", "a b"] {
            assert!(name.parse::<ScopeName>().is_err(), "{name}");
        }
    }

    #[test]
    fn refs_that_fold_onto_the_namespaces_are_reserved() {
        for name in [
            "refs/Handoff/a",
            "refs/handoff-local/x",
            "refs/HANDOFF-remote/o/a",
            "refs/HANDOFF",
        ] {
            assert!(is_reserved_ref(name.into()), "{name}");
        }
        for name in ["refs/handoff/a", "refs/heads/handoff", "refs/handoffs/a"] {
            assert!(!is_reserved_ref(name.into()), "{name}");
        }
    }
}
