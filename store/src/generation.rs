//! A checkpoint's place in its scope.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, de::Error as _};

/// Place of a checkpoint in its scope, from 1.
///
/// Invariant: between 1 and `i64::MAX`, since documents hold no larger integer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Generation(u64);

/// Says that a number or text is no generation.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not a generation: a whole number from 1")]
pub struct GenerationError(String);

impl Generation {
    /// The first generation of every scope.
    pub const FIRST: Generation = Generation(1);

    /// Returns the generation after this one, or `None` past the largest.
    pub fn next(self) -> Option<Generation> {
        Generation::try_from(self.0 + 1).ok()
    }

    /// Returns the number.
    pub fn get(self) -> u64 {
        self.0
    }
}

impl TryFrom<u64> for Generation {
    type Error = GenerationError;

    fn try_from(number: u64) -> Result<Self, GenerationError> {
        match i64::try_from(number) {
            Ok(1..) => Ok(Generation(number)),
            _ => Err(GenerationError(number.to_string())),
        }
    }
}

impl FromStr for Generation {
    type Err = GenerationError;

    fn from_str(text: &str) -> Result<Self, GenerationError> {
        let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let number = if digits {
            text.parse::<u64>().ok()
        } else {
            None
        };
        number
            .and_then(|n| Generation::try_from(n).ok())
            .ok_or_else(|| GenerationError(text.into()))
    }
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Generation({})", self.0)
    }
}

impl<'de> Deserialize<'de> for Generation {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Generation::try_from(u64::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}
