//! How strictly a server takes the rules: off, shadow, enforce, freeze.

use std::{collections::BTreeMap, fmt, str::FromStr};

use store::contract::{Document, Manifest};

use crate::config_files::{ConfigFiles, SettingError};

const EXPECTED: &str = "`off`, `shadow`, `enforce` or `freeze`";

/// How strictly the rules are taken, from the mildest to the strictest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Mode {
    /// Nothing is judged.
    Off,
    /// Everything is judged, logged and told the pusher; nothing is refused but the loss of an accept.
    Shadow,
    /// What breaks a rule is refused.
    Enforce,
    /// As enforced, and no new generation or accept is taken.
    Freeze,
}

impl Mode {
    /// All of them.
    pub const ALL: [Mode; 4] = [Mode::Off, Mode::Shadow, Mode::Enforce, Mode::Freeze];

    /// Returns the name of the mode.
    pub fn as_str(self) -> &'static str {
        match self {
            Mode::Off => "off",
            Mode::Shadow => "shadow",
            Mode::Enforce => "enforce",
            Mode::Freeze => "freeze",
        }
    }

    /// Tells whether what breaks a rule is refused.
    pub fn refuses(self) -> bool {
        self >= Mode::Enforce
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Says that a text is no mode.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not a mode: off, shadow, enforce or freeze")]
pub struct ModeError(String);

impl FromStr for Mode {
    type Err = ModeError;

    fn from_str(text: &str) -> Result<Self, ModeError> {
        let mode = Mode::ALL.into_iter().find(|mode| mode.as_str() == text);
        mode.ok_or_else(|| ModeError(text.chars().take(60).collect()))
    }
}

/// The modes of a repository.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Modes {
    /// `handoff.mode`.
    pub general: Mode,
    /// `handoff.<schema>.mode`, by the schema of the manifest.
    pub by_schema: BTreeMap<String, Mode>,
    /// `handoff.enforcePercent`: the share of the scopes that are enforced where the mode is enforce.
    pub percent: u64,
}

impl Modes {
    pub(crate) fn read(files: &ConfigFiles<'_>) -> Result<Self, SettingError> {
        let general = files.read("handoff.mode", EXPECTED, |value| value.parse().ok())?;
        let mut by_schema = BTreeMap::new();
        for (schema, value) in files.of_subsections("mode") {
            let Ok(mode) = value.parse() else {
                let key = format!("handoff.{schema}.mode");
                return Err(SettingError::new(key, value, EXPECTED));
            };
            by_schema.insert(schema, mode);
        }
        let percent = |value: &str| value.parse().ok().filter(|percent| *percent <= 100);
        let percent = files.read("handoff.enforcePercent", "a number from 0 to 100", percent)?;
        Ok(Modes {
            general: general.unwrap_or(Mode::Enforce),
            by_schema,
            percent: percent.unwrap_or(100),
        })
    }

    /// Returns the mode of records whose manifest is of `schema`.
    pub fn of(&self, schema: &str) -> Mode {
        self.by_schema.get(schema).copied().unwrap_or(self.general)
    }

    /// Returns the mode of records that this program can read.
    pub fn of_known(&self) -> Mode {
        self.of(Manifest::SCHEMA)
    }

    /// Tells whether no record is judged, whatever its schema.
    pub fn judge_nothing(&self) -> bool {
        self.general == Mode::Off && self.by_schema.values().all(|mode| *mode == Mode::Off)
    }
}
