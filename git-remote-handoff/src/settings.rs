//! The Git configuration that transports look at: `git-config(1)`.

use std::path::Path;

use gix::bstr::{BStr, BString, ByteSlice};
use store::git::{Git, GitError};

use crate::environment::Environment;

/// Keys that are asked for, in the form that `git config --get-regexp` matches.
const KEYS: &str = r"^(url\..*\.(insteadof|pushinsteadof)|protocol\.(.*\.allow|allow|version)|core\.(sshcommand|gitproxy)|ssh\.variant|remote\..*\.(fetch|push|pushurl))$";

/// Configuration values in Git's order, the one that counts last.
///
/// Git is asked, since it alone knows what `git -c` added.
#[derive(Default)]
pub(crate) struct Settings {
    entries: Vec<(BString, BString)>,
}

/// What a connection is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Direction {
    Fetch,
    Push,
}

/// Says that a transport may not be used.
#[derive(Debug, thiserror::Error)]
pub enum PermissionError {
    /// Configuration or environment forbids it.
    #[error("transport `{0}` is not allowed: `protocol.allow` in git-config(1)")]
    Forbidden(String),
    /// The configuration cannot be understood.
    #[error("`{value}` is no value of `{key}`: always, never or user")]
    Value {
        /// The configuration key or variable.
        key: String,
        /// What it holds.
        value: String,
    },
}

impl Settings {
    /// Asks Git for its configuration in `dir`.
    ///
    /// # Errors
    ///
    /// Where Git cannot read it.
    pub(crate) fn read(dir: &Path) -> Result<Self, GitError> {
        match Git::in_dir(dir).output(["config", "-z", "--get-regexp", KEYS]) {
            Ok(answer) => Ok(Self::parse(&answer)),
            // Nothing matches.
            Err(GitError::Failed { code: Some(1), .. }) => Ok(Self::parse(b"")),
            Err(error) => Err(error),
        }
    }

    /// Parses `key LF value NUL`, where a key without a value has no line feed.
    fn parse(answer: &[u8]) -> Self {
        let entries = answer.split(|b| *b == 0).filter(|entry| !entry.is_empty());
        let entries = entries.map(|entry| match entry.find_byte(b'\n') {
            Some(at) => (entry[..at].into(), entry[at + 1..].into()),
            None => (entry.into(), BString::default()),
        });
        Settings {
            entries: entries.collect(),
        }
    }

    /// Returns the value of a key; section and variable are in lower case.
    pub(crate) fn value(&self, key: &str) -> Option<&BStr> {
        let entry = self.entries.iter().rev().find(|entry| entry.0 == key);
        entry.map(|entry| entry.1.as_bstr())
    }

    /// Returns all values of a key.
    pub(crate) fn values<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a BStr> {
        let entries = self.entries.iter().filter(move |entry| entry.0 == key);
        entries.map(|entry| entry.1.as_bstr())
    }

    /// Returns the protocol version that is asked for: `protocol.version`, 2 where it is not set.
    pub(crate) fn protocol_version(&self) -> u8 {
        match self.value("protocol.version").map(|value| value.as_bytes()) {
            Some(b"0") => 0,
            Some(b"1") => 1,
            _ => 2,
        }
    }

    /// Applies `url.<base>.insteadOf`, and for a push `pushInsteadOf`, of which the longest match counts.
    ///
    /// As in Git, `pushInsteadOf` does not touch a URL that the remote names as its `pushurl`.
    pub(crate) fn rewritten(&self, url: &BStr, direction: Direction, remote: &BStr) -> BString {
        let push_url = format!("remote.{remote}.pushurl");
        let push = direction == Direction::Push && self.value(&push_url).is_none();
        let rewritten = push.then(|| self.longest_match(url, ".pushinsteadof"));
        rewritten
            .flatten()
            .or_else(|| self.longest_match(url, ".insteadof"))
            .unwrap_or_else(|| url.into())
    }

    fn longest_match(&self, url: &BStr, variable: &str) -> Option<BString> {
        let mut longest: Option<(&BStr, &[u8])> = None;
        for (key, prefix) in &self.entries {
            let base = key.strip_prefix(b"url.");
            let base = base.and_then(|key| key.strip_suffix(variable.as_bytes()));
            let Some(base) = base.filter(|_| url.starts_with(prefix)) else {
                continue;
            };
            if longest.is_none_or(|(other, _)| other.len() < prefix.len()) {
                longest = Some((prefix.as_bstr(), base));
            }
        }
        longest.map(|(prefix, base)| [base, &url[prefix.len()..]].concat().into())
    }

    /// Judges whether a transport may be used: `protocol.allow`, `GIT_ALLOW_PROTOCOL`, `GIT_PROTOCOL_FROM_USER`.
    ///
    /// # Errors
    ///
    /// Where it may not, or a setting has a value that Git does not know.
    pub(crate) fn check_allowed(
        &self,
        protocol: &str,
        environment: &Environment,
    ) -> Result<(), PermissionError> {
        let allowed = match &environment.allow_protocol {
            Some(list) => list.split(':').any(|name| name == protocol),
            None => match self.policy(protocol)? {
                Policy::Always => true,
                Policy::Never => false,
                Policy::User => is_from_user(environment)?,
            },
        };
        match allowed {
            true => Ok(()),
            false => Err(PermissionError::Forbidden(protocol.into())),
        }
    }

    fn policy(&self, protocol: &str) -> Result<Policy, PermissionError> {
        for key in [
            format!("protocol.{protocol}.allow"),
            "protocol.allow".into(),
        ] {
            let Some(value) = self.value(&key) else {
                continue;
            };
            return match value.to_ascii_lowercase().as_slice() {
                b"always" => Ok(Policy::Always),
                b"never" => Ok(Policy::Never),
                b"user" => Ok(Policy::User),
                _ => Err(PermissionError::Value {
                    key,
                    value: value.to_string(),
                }),
            };
        }
        Ok(match protocol {
            "http" | "https" | "git" | "ssh" => Policy::Always,
            _ => Policy::User,
        })
    }
}

enum Policy {
    Always,
    Never,
    User,
}

fn is_from_user(environment: &Environment) -> Result<bool, PermissionError> {
    let Some(value) = &environment.protocol_from_user else {
        return Ok(true);
    };
    match value.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" => Ok(true),
        "" | "false" | "no" | "off" => Ok(false),
        number => number
            .parse::<i64>()
            .map(|number| number != 0)
            .map_err(|_| PermissionError::Value {
                key: "GIT_PROTOCOL_FROM_USER".into(),
                value: value.clone(),
            }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(entries: &[(&str, &str)]) -> Settings {
        let entries = entries
            .iter()
            .map(|(key, value)| ((*key).into(), (*value).into()));
        Settings {
            entries: entries.collect(),
        }
    }

    fn allows(entries: &[(&str, &str)], environment: &Environment, protocol: &str) -> bool {
        settings(entries)
            .check_allowed(protocol, environment)
            .is_ok()
    }

    #[test]
    fn the_answer_of_git_is_read_as_it_is_written() {
        let settings = Settings::parse(b"protocol.version\n1\0ssh.variant\0protocol.version\n1\0");
        assert_eq!(settings.protocol_version(), 1);
        assert_eq!(settings.value("ssh.variant"), Some("".into()));
        assert_eq!(settings.value("core.sshcommand"), None);
    }

    #[test]
    fn the_longest_prefix_is_replaced() {
        let settings = settings(&[
            ("url.ssh://git@a.example/.insteadof", "https://a.example/"),
            ("url./srv/.insteadof", "https://a.example/local/"),
            ("url.git@a.example:.pushinsteadof", "https://a.example/"),
            ("remote.fixed.pushurl", "handoff::https://a.example/x"),
        ]);
        let rewritten = |url: &str, direction, remote: &str| {
            settings
                .rewritten(url.into(), direction, remote.into())
                .to_string()
        };
        use Direction::{Fetch, Push};
        assert_eq!(
            rewritten("https://a.example/x", Fetch, "o"),
            "ssh://git@a.example/x"
        );
        assert_eq!(rewritten("https://a.example/local/x", Fetch, "o"), "/srv/x");
        assert_eq!(
            rewritten("https://a.example/x", Push, "o"),
            "git@a.example:x"
        );
        assert_eq!(
            rewritten("https://a.example/x", Push, "fixed"),
            "ssh://git@a.example/x"
        );
        assert_eq!(
            rewritten("https://b.example/x", Push, "o"),
            "https://b.example/x"
        );
    }

    #[test]
    fn protocols_are_allowed_as_git_allows_them() {
        let plain = Environment::default();
        let not_user = Environment {
            protocol_from_user: Some("0".into()),
            ..Environment::default()
        };
        let listed = Environment {
            allow_protocol: Some("ssh:https".into()),
            ..Environment::default()
        };
        assert!(allows(&[], &plain, "file"));
        assert!(!allows(&[], &not_user, "file"));
        assert!(allows(&[], &not_user, "ssh"));
        assert!(allows(
            &[("protocol.file.allow", "always")],
            &not_user,
            "file"
        ));
        assert!(!allows(&[("protocol.allow", "never")], &plain, "https"));
        assert!(!allows(&[("protocol.allow", "user")], &not_user, "https"));
        assert!(!allows(
            &[("protocol.ssh.allow", "sometimes")],
            &plain,
            "ssh"
        ));
        assert!(allows(&[("protocol.allow", "never")], &listed, "ssh"));
        assert!(!allows(&[], &listed, "file"));
    }
}
