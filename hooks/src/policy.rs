//! What a repository's operator has set.

use store::contract::check;

use crate::config_files::{ConfigFiles, SettingError};

/// Settings that the rules look at; `handoff.*` in Git's configuration files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// `handoff.requireAccept`: a second producer needs an accept first.
    pub require_accept: bool,
    /// `handoff.maxAcceptFor`: longest time that an accept may hold, in seconds.
    pub max_accept_seconds: i64,
    /// Kinds of records that this program does not know and that may stand on a line all the same.
    pub unknown_kinds: UnknownKinds,
    /// Lines whose beginning a shallow history leaves out.
    pub cut_lines: CutLines,
}

/// Whether a line is judged whose beginning is not here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CutLines {
    /// From its oldest record on, which is judged by itself: a reader has asked for no more history.
    Taken,
    /// Never: a pusher must not say where a line begins.
    Refused,
}

/// Which records of an unknown kind pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnknownKinds {
    /// All of them: a reader shows them as unknown.
    Any,
    /// Those of `handoff.recordKind`, by their trailer `Handoff-Record`: a server takes what its operator listed.
    Listed(Vec<String>),
}

impl Default for Policy {
    fn default() -> Self {
        Policy {
            require_accept: false,
            max_accept_seconds: check::DEFAULT_MAX_ACCEPT_SECONDS,
            unknown_kinds: UnknownKinds::Any,
            cut_lines: CutLines::Taken,
        }
    }
}

impl Policy {
    pub(crate) fn read(files: &ConfigFiles<'_>) -> Result<Self, SettingError> {
        let default = Policy::default();
        let expected = "a duration such as 30d, 12h or 90m";
        let max_accept = files.read("handoff.maxAcceptFor", expected, duration_seconds)?;
        Ok(Policy {
            require_accept: files.boolean("handoff.requireAccept")?.unwrap_or_default(),
            max_accept_seconds: max_accept.unwrap_or(default.max_accept_seconds),
            unknown_kinds: UnknownKinds::Listed(files.all("handoff.recordKind")),
            cut_lines: CutLines::Refused,
        })
    }
}

/// Reads a duration: a number and `d`, `h`, `m` or `s`.
pub fn duration_seconds(text: &str) -> Option<i64> {
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let seconds = match unit {
        "d" => 86_400,
        "h" => 3_600,
        "m" => 60,
        "s" => 1,
        _ => return None,
    };
    let number: i64 = number
        .bytes()
        .all(|b| b.is_ascii_digit())
        .then(|| number.parse().ok())??;
    number.checked_mul(seconds).filter(|seconds| *seconds > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_a_number_and_a_unit() {
        assert_eq!(duration_seconds("2d"), Some(172_800));
        assert_eq!(duration_seconds("3h"), Some(10_800));
        assert_eq!(duration_seconds("5m"), Some(300));
        assert_eq!(duration_seconds("1s"), Some(1));
        for text in [
            "",
            "d",
            "0d",
            "-1d",
            "+1d",
            "1",
            "1w",
            "9223372036854775807d",
        ] {
            assert_eq!(duration_seconds(text), None, "{text}");
        }
    }
}
