//! Times as documents hold them.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// A moment in whole seconds, written as RFC 3339 in UTC: `2026-11-30T10:12:00Z`.
///
/// Invariant: from the year 1970 to the 30th of December 9999.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

/// Says that a text or number is no time that a document can hold.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not a time of the form 2026-11-30T10:12:00Z")]
pub struct TimestampError(String);

impl Timestamp {
    /// The last second that can be written: late on the 30th of December 9999.
    const MAX_SECONDS: i64 = 253_402_207_200;

    /// Takes seconds since 1970-01-01T00:00:00Z.
    ///
    /// # Errors
    ///
    /// Before the year 1970 or after the 30th of December 9999.
    pub fn from_unix_seconds(seconds: i64) -> Result<Self, TimestampError> {
        if (0..=Self::MAX_SECONDS).contains(&seconds) {
            Ok(Timestamp(seconds))
        } else {
            Err(TimestampError(seconds.to_string()))
        }
    }

    /// Reads the system clock.
    pub fn now() -> Self {
        Timestamp(
            jiff::Timestamp::now()
                .as_second()
                .clamp(0, Self::MAX_SECONDS),
        )
    }

    /// Returns the seconds since 1970-01-01T00:00:00Z.
    pub fn unix_seconds(self) -> i64 {
        self.0
    }

    /// Returns the time `seconds` later, or the last one that a document can hold.
    pub fn saturating_add_seconds(self, seconds: i64) -> Self {
        Timestamp(self.0.saturating_add(seconds).clamp(0, Self::MAX_SECONDS))
    }
}

impl FromStr for Timestamp {
    type Err = TimestampError;

    fn from_str(text: &str) -> Result<Self, TimestampError> {
        let error = || TimestampError(text.chars().take(60).collect());
        let time: jiff::Timestamp = text.parse().map_err(|_| error())?;
        let found = Self::from_unix_seconds(time.as_second()).map_err(|_| error())?;
        // One spelling a moment: the parser also takes offsets, fractions and lower case.
        if found.to_string() == text {
            Ok(found)
        } else {
            Err(error())
        }
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_second(self.0) {
            Ok(time) => write!(f, "{}", time.strftime("%Y-%m-%dT%H:%M:%SZ")),
            Err(_) => Err(fmt::Error),
        }
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_time_can_be_written_and_read() {
        let last = Timestamp::now().saturating_add_seconds(i64::MAX);
        assert_eq!(last.to_string(), "9999-12-30T22:00:00Z");
        assert_eq!(last.to_string().parse::<Timestamp>().unwrap(), last);
        assert!(Timestamp::from_unix_seconds(last.unix_seconds() + 1).is_err());
    }
}
