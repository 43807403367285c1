//! Who writes, accepts and owns: ids and the globs over them.

use std::{fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};

use crate::entry_id::is_word;

const MORE: &[u8] = b"._@:/+-";
const MAX_BYTES: usize = 200;

/// Id of a person, agent or service, e.g. `agent:codex-3`; compared byte for byte.
///
/// Invariant: `[A-Za-z0-9][A-Za-z0-9._@:/+-]{0,199}`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct ActorId(String);

/// Says that a text is no id of a person, agent or service.
#[derive(Debug, thiserror::Error)]
#[error(
    "`{0}` is not an id: a letter or digit, then at most 199 letters, digits or characters of `._@:/+-`"
)]
pub struct ActorIdError(String);

impl ActorId {
    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ActorId {
    type Err = ActorIdError;

    fn from_str(text: &str) -> Result<Self, ActorIdError> {
        if is_word(text, MORE, MAX_BYTES) {
            Ok(ActorId(text.into()))
        } else {
            Err(ActorIdError(text.chars().take(220).collect()))
        }
    }
}

impl fmt::Display for ActorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ActorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl<'de> Deserialize<'de> for ActorId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

/// Pattern over [`ActorId`]s, e.g. `agent:codex/*`: a `*` stands for any characters within one `/` component.
///
/// Invariant: the characters of an id and `*`, at most 200 bytes, and something besides `*` and `/`:
/// the pattern `*` would name everybody.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct ActorGlob(String);

/// Says that a text is no pattern over ids.
#[derive(Debug, thiserror::Error)]
#[error(
    "`{0}` is not an id pattern: characters of an id, and `*` for what varies within one component"
)]
pub struct ActorGlobError(String);

impl ActorGlob {
    /// Tells whether the pattern names `id`.
    pub fn matches(&self, id: &ActorId) -> bool {
        let (mut patterns, mut parts) = (self.0.split('/'), id.0.split('/'));
        loop {
            match (patterns.next(), parts.next()) {
                (None, None) => return true,
                (Some(pattern), Some(part)) if component_matches(pattern, part) => {}
                _ => return false,
            }
        }
    }

    /// Returns the pattern as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Matches one component, leftmost pieces first; linear in the length of `text` for each piece.
fn component_matches(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let Some(mut text) = text.strip_prefix(first) else {
        return false;
    };
    let mut pieces: Vec<&str> = rest.split('*').collect();
    let last = pieces.pop().unwrap_or_default();
    for piece in pieces {
        match text.find(piece) {
            Some(at) => text = &text[at + piece.len()..],
            None => return false,
        }
    }
    text.ends_with(last)
}

impl FromStr for ActorGlob {
    type Err = ActorGlobError;

    fn from_str(text: &str) -> Result<Self, ActorGlobError> {
        let sound = is_word(&text.replace('*', "x"), MORE, MAX_BYTES);
        let names_nobody_in_particular = text.bytes().all(|b| matches!(b, b'*' | b'/'));
        if sound && !names_nobody_in_particular {
            Ok(ActorGlob(text.into()))
        } else {
            Err(ActorGlobError(text.chars().take(220).collect()))
        }
    }
}

impl fmt::Display for ActorGlob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ActorGlob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl<'de> Deserialize<'de> for ActorGlob {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

/// What an actor is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ActorKind {
    /// A program that writes code.
    Agent,
    /// A human being.
    Person,
    /// A machine account, such as a CI job.
    Service,
}

impl FromStr for ActorKind {
    type Err = ActorKindError;

    fn from_str(text: &str) -> Result<Self, ActorKindError> {
        match text {
            "agent" => Ok(ActorKind::Agent),
            "person" => Ok(ActorKind::Person),
            "service" => Ok(ActorKind::Service),
            _ => Err(ActorKindError(text.chars().take(60).collect())),
        }
    }
}

/// Says that a text is no kind of actor.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not a kind: agent, person or service")]
pub struct ActorKindError(String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stays_within_one_component() {
        let matches = |glob: &str, id: &str| {
            glob.parse::<ActorGlob>()
                .unwrap()
                .matches(&id.parse::<ActorId>().unwrap())
        };
        assert!(matches("agent:codex-*", "agent:codex-3"));
        assert!(matches("agent:*/run", "agent:a/run"));
        assert!(!matches("agent:*", "agent:a/run"));
        assert!(matches("team/*", "team/ann"));
        assert!(!matches("a*a", "a"));
        assert!(matches("a*b*c", "aXbYbZc"));
    }

    #[test]
    fn a_star_never_stands_alone() {
        assert!("*".parse::<ActorGlob>().is_err());
        assert!("*/**".parse::<ActorGlob>().is_err());
    }
}
