//! The repository itself, and the values of `handoff.*`.

use std::str::FromStr as _;

use gix::bstr::ByteSlice as _;
use hooks::policy::duration_seconds;
use store::{
    actor::ActorId, contract::ObjectFormat, digest::Digest, error_code::ErrorCode,
    git::without_credentials, repository::Repository, timestamp::Timestamp,
};

use super::Finding;
use crate::{error::CommandError, origin::Url, ui::count};

/// What a value must be.
#[derive(Clone, Copy)]
enum Kind {
    Id,
    Url,
    Ending,
    Bytes,
    Truth,
    Digest,
    Anything,
}

/// The settings that commands read; the others are the server's, in a repository that is pushed to.
const READ: [(&str, Kind); 8] = [
    ("id", Kind::Id),
    ("remote", Kind::Url),
    ("acceptfor", Kind::Ending),
    ("maxfilebytes", Kind::Bytes),
    ("maxtotalbytes", Kind::Bytes),
    ("carryexcludes", Kind::Truth),
    ("repositoryid", Kind::Digest),
    ("carryfiltered", Kind::Anything),
];

/// The settings that the server hook reads.
const READ_BY_HOOK: [&str; 17] = [
    "allowby",
    "allowreason",
    "auditbytes",
    "deadline",
    "enforcepercent",
    "identityenv",
    "identitymap",
    "identityscope",
    "maxacceptfor",
    "maxrefs",
    "mode",
    "recordkind",
    "relayer",
    "requireaccept",
    "requiresigned",
    "scanhistory",
    "secretrules",
];

impl Kind {
    /// Returns what a value must be, where it is something else.
    fn refuse(self, value: &str) -> Option<&'static str> {
        let (fits, expected) = match self {
            Kind::Id => (ActorId::from_str(value).is_ok(), "an id"),
            Kind::Url => (Url::parse(value).is_ok(), "the URL of a Git repository"),
            Kind::Ending => (
                duration_seconds(value).is_some() || Timestamp::from_str(value).is_ok(),
                "a duration such as 2d, or a time",
            ),
            Kind::Bytes => (
                gix::config::Integer::try_from(value.as_bytes().as_bstr())
                    .is_ok_and(|value| value.to_decimal().is_some_and(|value| value >= 0)),
                "a number of bytes, such as 50m",
            ),
            Kind::Truth => (
                gix::config::Boolean::try_from(value.as_bytes().as_bstr()).is_ok(),
                "true or false",
            ),
            Kind::Digest => (Digest::from_str(value).is_ok(), "a digest"),
            Kind::Anything => (true, ""),
        };
        (!fits).then_some(expected)
    }
}

/// Says what kind of repository it is.
pub(super) fn repository(repository: &Repository) -> Finding {
    let format = ObjectFormat::from(repository.hash_kind());
    let refs = repository
        .config("extensions.refStorage")
        .unwrap_or_else(|| "files".into());
    let place = match repository.worktree() {
        Some(top) => top.display().to_string(),
        None => format!(
            "{}, which is bare: nothing can be saved here",
            repository.git_dir().display()
        ),
    };
    Finding::good(
        "repository",
        format!("objects by {format}, refs in {refs}, at {place}"),
    )
}

/// Looks at every value of `handoff.*`; each setting is told of once.
pub(super) fn values(repository: &Repository) -> Result<Vec<Finding>, CommandError> {
    let name = "settings";
    let listed = repository
        .git()
        .output(["config", "--null", "--list"])
        .map_err(CommandError::from)?;
    let mut findings = Vec::new();
    let mut read = 0;
    for entry in listed.split_str("\0") {
        let (key, value) = entry.split_once_str("\n").unwrap_or((entry, b"true"));
        let Some(setting) = key.strip_prefix(b"handoff.") else {
            continue;
        };
        let (setting, value) = (setting.to_str_lossy(), value.to_str_lossy());
        let key = format!("handoff.{setting}");
        let lower = setting.to_ascii_lowercase();
        if let Some((_, kind)) = READ.iter().find(|(known, _)| *known == lower) {
            read += 1;
            if let Some(expected) = kind.refuse(&value) {
                let shown = without_credentials(&value);
                let detail = format!("{key} must be {expected}, and is `{shown}`");
                findings.push(
                    Finding::failed(name, ErrorCode::Usage, detail)
                        .mend(["git", "config", "--show-origin", "--get-all", &key])
                        .mend(["git", "config", "--unset-all", &key]),
                );
            }
        } else if !READ_BY_HOOK.contains(&lower.as_str()) && !lower.contains('.') {
            findings.push(Finding::warned(name, format!("nothing reads {key}")).mend([
                "git",
                "config",
                "--show-origin",
                "--get-all",
                &key,
            ]));
        }
    }
    if findings.is_empty() {
        let detail = format!("{} of handoff.*, all of them sound", count(read, "value"));
        findings.push(Finding::good(name, detail));
    }
    Ok(findings)
}
