//! Paths inside a repository.

use std::fmt;

use gix::bstr::{BStr, BString, ByteSlice};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use crate::byte_text::{deserialize_bytes, serialize_bytes};

/// Path of a file relative to the top of its worktree, as Git stores it: bytes with `/` between components.
///
/// Invariant: not empty, no NUL, no component that is empty, `.` or `..`, no leading or trailing `/`.
/// Whether a path is safe to write to disk (`.git` in any spelling, say) is judged where it is written.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RepoPath(BString);

/// Says why bytes are no path inside a repository.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not a path inside a repository")]
pub struct RepoPathError(BString);

impl RepoPath {
    /// Parses bytes as Git stores them in a tree or index.
    ///
    /// # Errors
    ///
    /// Where the invariant of the type does not hold.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, RepoPathError> {
        let good = !bytes.contains(&0)
            && bytes
                .split(|b| *b == b'/')
                .all(|part| !matches!(part, b"" | b"." | b".."));
        if good {
            Ok(RepoPath(bytes.into()))
        } else {
            Err(RepoPathError(bytes.into()))
        }
    }

    /// Returns the bytes of the path.
    pub fn as_bstr(&self) -> &BStr {
        self.0.as_bstr()
    }

    /// Returns the components, outermost first.
    pub fn components(&self) -> impl DoubleEndedIterator<Item = &BStr> {
        self.0.split(|b| *b == b'/').map(ByteSlice::as_bstr)
    }

    /// Tells whether the path is `folder` itself or lies below it.
    pub fn is_within(&self, folder: &RepoPath) -> bool {
        self.0
            .strip_prefix(folder.0.as_slice())
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
    }
}

/// Shows the path as text, with U+FFFD for what is not UTF-8; control characters are left as they are.
impl fmt::Display for RepoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for RepoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl Serialize for RepoPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize_bytes(self.as_bstr(), serializer)
    }
}

impl<'de> Deserialize<'de> for RepoPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        RepoPath::from_bytes(&deserialize_bytes(deserializer)?).map_err(D::Error::custom)
    }
}
