//! What a repository's operator has set.

use gix::bstr::ByteSlice;
use store::contract::check;

/// Settings that the rules look at; `handoff.*` in Git's configuration files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// `handoff.requireAccept`: a second producer needs an accept first.
    pub require_accept: bool,
    /// `handoff.maxAcceptFor`: longest time that an accept may hold, in seconds.
    pub max_accept_seconds: i64,
    /// Kinds of records that this program does not know and that may stand on a line all the same.
    pub unknown_kinds: UnknownKinds,
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
        }
    }
}

/// Says that a setting makes no sense.
#[derive(Debug, thiserror::Error)]
#[error("the setting {key} has the value `{value}`, which is not {expected}")]
pub struct PolicyError {
    /// Name of the setting.
    pub key: &'static str,
    /// What it is set to.
    pub value: String,
    /// What it can be.
    pub expected: &'static str,
}

impl Policy {
    /// Reads the settings of a repository, from files only: what the environment sets may come from a pusher.
    ///
    /// # Errors
    ///
    /// Where a setting makes no sense; a policy that cannot be read must not be taken for none.
    pub fn read(repository: &gix::Repository) -> Result<Self, PolicyError> {
        let mut policy = Policy {
            unknown_kinds: UnknownKinds::Listed(all_from_files(repository, "handoff.recordKind")),
            ..Policy::default()
        };
        if let Some(value) = from_files(repository, "handoff.requireAccept") {
            policy.require_accept = boolean("handoff.requireAccept", &value)?;
        }
        if let Some(value) = from_files(repository, "handoff.maxAcceptFor") {
            policy.max_accept_seconds = duration_seconds(&value).ok_or(PolicyError {
                key: "handoff.maxAcceptFor",
                value,
                expected: "a duration such as 30d, 12h or 90m",
            })?;
        }
        Ok(policy)
    }
}

/// Returns a setting as the configuration files give it; the empty text where it stands without `=`.
pub(crate) fn from_files(repository: &gix::Repository, key: &str) -> Option<String> {
    let config = repository.config_snapshot();
    let value = config
        .plumbing()
        .string_implicit_filter(key, is_of_a_file)?;
    Some(value.unwrap_or_default().to_str_lossy().into_owned())
}

fn all_from_files(repository: &gix::Repository, key: &str) -> Vec<String> {
    let config = repository.config_snapshot();
    let values = config.plumbing().strings_filter(key, is_of_a_file);
    let values = values.into_iter().flatten();
    values
        .map(|value| value.to_str_lossy().into_owned())
        .collect()
}

fn is_of_a_file(meta: &gix::config::file::Metadata) -> bool {
    meta.path.is_some()
}

fn boolean(key: &'static str, value: &str) -> Result<bool, PolicyError> {
    match value.to_ascii_lowercase().as_str() {
        "" | "true" | "yes" | "on" | "1" => Ok(true),
        "false" | "no" | "off" | "0" => Ok(false),
        _ => Err(PolicyError {
            key,
            value: value.into(),
            expected: "true or false",
        }),
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
