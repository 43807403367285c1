//! Pointers from statements to their evidence.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use crate::{
    digest::Digest, entry_id::EntryId, generation::Generation, oid::Oid, repo_path::RepoPath,
    scope::ScopeName,
};

/// A pointer from a statement to its evidence.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Citation {
    /// `tree/worktree`: the worktree that is handed over.
    Worktree,
    /// `receipt/<id>`: a receipt of the checkpoint.
    Receipt(EntryId),
    /// `evidence/<id>`: an entry of `evidence`.
    Evidence(EntryId),
    /// `commit/<oid>`: a commit that head reaches.
    Commit(Oid),
    /// `file/<path>[#L1-L9]`: a file in `worktree/`, the path percent-encoded.
    File(RepoPath, Option<LineRange>),
    /// `checkpoint/<scope>@<n>#<digest>`: a checkpoint of any scope.
    Checkpoint(ScopeName, Generation, Digest),
    /// `bundle/<id>`: a Git bundle among the evidence.
    Bundle(EntryId),
    /// `url/<https…>`: a page; never fetched.
    Url(String),
}

impl Citation {
    /// Returns the id of the receipt that it points to, if it is one.
    pub fn receipt(&self) -> Option<&EntryId> {
        match self {
            Citation::Receipt(id) => Some(id),
            _ => None,
        }
    }
}

/// Lines of a file, from 1, both ends included.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct LineRange {
    /// First line.
    pub first: u32,
    /// Last line, not before the first.
    pub last: u32,
}

/// Says that a text is no citation.
#[derive(Debug, thiserror::Error)]
#[error(
    "`{0}` is not a citation: tree/worktree, receipt/<id>, evidence/<id>, commit/<oid>, file/<path>[#L1-L9], \
     checkpoint/<scope>@<n>#<digest>, bundle/<id> or url/<https…>"
)]
pub struct CitationError(String);

impl FromStr for Citation {
    type Err = CitationError;

    fn from_str(text: &str) -> Result<Self, CitationError> {
        let citation = parse(text).filter(|citation| citation.to_string() == text);
        citation.ok_or_else(|| CitationError(text.chars().take(200).collect()))
    }
}

fn parse(text: &str) -> Option<Citation> {
    let (kind, rest) = text.split_once('/')?;
    Some(match kind {
        "tree" if rest == "worktree" => Citation::Worktree,
        "receipt" => Citation::Receipt(rest.parse().ok()?),
        "evidence" => Citation::Evidence(rest.parse().ok()?),
        "bundle" => Citation::Bundle(rest.parse().ok()?),
        "commit" => Citation::Commit(rest.parse().ok()?),
        "url"
            if rest.starts_with("https://")
                && !rest.contains(|c: char| c.is_control() || c == ' ') =>
        {
            Citation::Url(rest.into())
        }
        "checkpoint" => {
            let (scope, rest) = rest.split_once('@')?;
            let (generation, digest) = rest.split_once('#')?;
            Citation::Checkpoint(
                scope.parse().ok()?,
                generation.parse().ok()?,
                digest.parse().ok()?,
            )
        }
        "file" => {
            let (path, lines) = match rest.split_once('#') {
                Some((path, lines)) => (path, Some(parse_lines(lines)?)),
                None => (rest, None),
            };
            Citation::File(RepoPath::from_bytes(&percent_decode(path)?).ok()?, lines)
        }
        _ => return None,
    })
}

fn parse_lines(text: &str) -> Option<LineRange> {
    let number = |text: &str| {
        text.strip_prefix('L')?
            .parse::<u32>()
            .ok()
            .filter(|n| *n > 0)
    };
    let (first, last) = match text.split_once('-') {
        Some((first, last)) => (number(first)?, number(last)?),
        None => (number(text)?, number(text)?),
    };
    (first <= last).then_some(LineRange { first, last })
}

/// Undoes percent-encoding, RFC 3986 §2.1.
fn percent_decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&byte, more)) = rest.split_first() {
        rest = more;
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let pair = rest.get(..2)?;
        rest = &rest[2..];
        bytes.push(u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?);
    }
    Some(bytes)
}

/// Writes a path with everything but RFC 3986's unreserved characters and `/` percent-encoded.
fn percent_encode(path: &RepoPath, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    path.as_bstr().iter().try_for_each(|&byte| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
            write!(f, "{}", byte as char)
        }
        _ => write!(f, "%{byte:02X}"),
    })
}

impl fmt::Display for Citation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Citation::Worktree => f.write_str("tree/worktree"),
            Citation::Receipt(id) => write!(f, "receipt/{id}"),
            Citation::Evidence(id) => write!(f, "evidence/{id}"),
            Citation::Commit(id) => write!(f, "commit/{id}"),
            Citation::File(path, lines) => {
                f.write_str("file/")?;
                percent_encode(path, f)?;
                match lines {
                    None => Ok(()),
                    Some(LineRange { first, last }) if first == last => write!(f, "#L{first}"),
                    Some(LineRange { first, last }) => write!(f, "#L{first}-L{last}"),
                }
            }
            Citation::Checkpoint(scope, generation, digest) => {
                write!(f, "checkpoint/{scope}@{generation}#{digest}")
            }
            Citation::Bundle(id) => write!(f, "bundle/{id}"),
            Citation::Url(url) => write!(f, "url/{url}"),
        }
    }
}

impl Serialize for Citation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Citation {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests;
