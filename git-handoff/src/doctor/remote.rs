//! The handoff remote: how it is configured, whether it answers, and what it shows.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _, path::Path};

use gix::bstr::ByteSlice as _;
use hooks::install::{Forge, Hook, Site};
use remote_helper::url::InnerUrl;
use store::{
    error_code::ErrorCode,
    git::without_credentials,
    remote_url::without_credentials as without_password,
    repository::Repository,
    scope::{LOCAL, RECORDS, REMOTE, ScopeName},
};

use super::Finding;
use crate::{
    error::CommandError,
    origin,
    remote::{self, Remote},
    ui::count,
};

/// Compares the remote's settings with those that `init` would write.
pub(super) fn configuration(repository: &Repository, handoff: Option<&Remote>) -> Vec<Finding> {
    let name = "remote";
    let Some(handoff) = handoff else {
        let has_origin = repository.config("remote.origin.url").is_some();
        let init = ["git", "handoff", "init"].into_iter();
        return vec![
            match has_origin || repository.config("handoff.remote").is_some() {
                true => Finding::warned(
                    name,
                    "no handoff remote is set up yet; the first command that needs one does it",
                )
                .mend(init),
                false => Finding::warned(
                    name,
                    "there is no handoff remote, and no `origin` to make one of",
                )
                .mend(init.chain(["<url>"])),
            },
        ];
    };
    let remote = &handoff.name;
    let config = repository.gix().config_snapshot();
    let given = |field: &str| -> Vec<String> {
        let key = format!("remote.{remote}.{field}");
        let values = config.strings(key.as_str()).unwrap_or_default();
        values
            .iter()
            .map(|value| value.to_str_lossy().into_owned())
            .collect()
    };
    let url = given("url").pop().unwrap_or_default();
    let inner = url.strip_prefix("handoff::").unwrap_or(&url);
    let clean = format!("handoff::{}", without_password(inner.into()));
    let mut findings = Vec::new();
    for (field, expected) in remote::settings(remote, &clean) {
        let found = given(field);
        if found == [expected.clone()] {
            continue;
        }
        let key = format!("remote.{remote}.{field}");
        findings.push(match field {
            "url" if found.len() == 1 => Finding::warned(
                name,
                format!(
                    "the URL of `{remote}` holds credentials: they belong to a credential helper"
                ),
            )
            .mend(["git", "handoff", "init", "--remote", remote]),
            _ => {
                let found = match found.is_empty() {
                    true => "nothing".to_owned(),
                    false => without_credentials(&found.join(" and ")),
                };
                let detail = format!("{key} must be `{expected}` alone, and is {found}");
                Finding::failed(name, ErrorCode::Usage, detail).mend([
                    "git",
                    "config",
                    "--replace-all",
                    &key,
                    &expected,
                ])
            }
        });
    }
    if findings.is_empty() {
        findings.push(Finding::good(name, format!("`{remote}` at {clean}")));
    }
    findings
}

/// Looks for refspecs of any remote that reach into the refs of this program.
pub(super) fn other_refspecs(repository: &Repository) -> Vec<Finding> {
    let name = "refspecs";
    let config = repository.gix().config_snapshot();
    let mut findings = Vec::new();
    for remote in repository.gix().remote_names() {
        let remote = remote.to_str_lossy();
        let key = |field: &str| format!("remote.{remote}.{field}");
        let all = |field: &str| config.strings(key(field).as_str()).unwrap_or_default();
        let shown = |spec: &[u8]| spec.to_str_lossy().into_owned();
        for spec in all("fetch") {
            let to = spec.rsplit_str(":").next().unwrap_or_default();
            if spec.contains(&b':') && (reaches(to, RECORDS) || reaches(to, LOCAL)) {
                let detail = format!(
                    "a fetch from `{remote}` writes over scopes that were not sent yet: {}",
                    shown(&spec)
                );
                findings.push(
                    Finding::failed(name, ErrorCode::RefOutsideNamespace, detail).mend([
                        "git",
                        "config",
                        "--get-all",
                        &key("fetch"),
                    ]),
                );
            }
        }
        for spec in all("push") {
            let to = spec.rsplit_str(":").next().unwrap_or_default();
            if spec.starts_with(b"+")
                && reaches(to.trim_start_with(|c| c == '+').as_bstr(), RECORDS)
            {
                let detail = format!(
                    "a push to `{remote}` would not ask what it replaces: {}",
                    shown(&spec)
                );
                findings.push(
                    Finding::failed(name, ErrorCode::RefOutsideNamespace, detail).mend([
                        "git",
                        "config",
                        "--get-all",
                        &key("push"),
                    ]),
                );
            }
        }
        if config.boolean(key("mirror").as_str()) == Some(true) {
            let detail = format!(
                "`{remote}` is a mirror: a push sends, and deletes, what is this repository's own"
            );
            findings.push(
                Finding::failed(name, ErrorCode::RefOutsideNamespace, detail).mend([
                    "git",
                    "config",
                    "--unset-all",
                    &key("mirror"),
                ]),
            );
        }
    }
    if findings.is_empty() {
        findings.push(Finding::good(
            name,
            "none of any remote reaches into refs of handoffs",
        ));
    }
    findings
}

/// Tells whether a ref name or pattern covers something of a namespace.
fn reaches(pattern: &[u8], namespace: &str) -> bool {
    let pattern = pattern.to_ascii_lowercase();
    match pattern.split_once_str("*") {
        Some((before, _)) => {
            let shorter = before.len().min(namespace.len());
            before[..shorter] == namespace.as_bytes()[..shorter]
        }
        None => pattern.starts_with(namespace.as_bytes()),
    }
}

/// Asks the remote what it shows, and compares with what it was last seen to hold.
pub(super) fn reach(
    repository: &Repository,
    handoff: &Remote,
) -> Result<Vec<Finding>, CommandError> {
    let name = "reached";
    let remote = &handoff.name;
    let listed = match repository
        .git()
        .output(["ls-remote", "--refs", remote, "refs/handoff/*"])
    {
        Ok(listed) => listed,
        Err(error) => {
            let error = CommandError::from_error(ErrorCode::Unreachable, &error);
            let detail = format!(
                "`{remote}` does not answer: {}",
                without_credentials(&error.message)
            );
            return Ok(vec![
                Finding::failed(name, ErrorCode::Unreachable, detail).mend([
                    "git",
                    "ls-remote",
                    remote,
                ]),
            ]);
        }
    };
    let names = listed.lines().filter_map(|line| line.split_once_str("\t"));
    let shown: Vec<ScopeName> = names
        .filter_map(|(_, name)| ScopeName::from_ref(name.as_bstr()).ok())
        .collect();
    let namespace = format!("{REMOTE}{remote}/");
    let seen = repository.list_refs(&namespace)?;
    let seen: Vec<String> = seen
        .iter()
        .filter_map(|(name, _)| name.as_bstr().strip_prefix(namespace.as_bytes()))
        .map(|name| name.to_str_lossy().into_owned())
        .collect();
    let is_gone = |name: &&String| !shown.iter().any(|scope| scope.as_str() == name.as_str());
    let gone: Vec<&String> = seen.iter().filter(is_gone).collect();
    let scopes = count(shown.len() as u64, "scope");
    let mut findings = vec![match gone.first() {
        None => Finding::good(name, format!("`{remote}` shows {scopes}")),
        Some(first) => Finding::warned(
            name,
            format!(
                "`{remote}` shows {scopes}, and {} no longer that it had, `{first}` first: deleted there, or hidden; {}",
                gone.len(),
                origin::MAY_BE_HIDDEN
            ),
        )
        .mend(["git", "ls-remote", remote.as_str()]),
    }];
    findings.push(hook(repository, remote));
    Ok(findings)
}

/// Says whether the hook guards the remote, where that can be seen without a push.
fn hook(repository: &Repository, remote: &str) -> Finding {
    let name = "hook";
    let url = repository.config(&format!("remote.{remote}.url"));
    let url = url.unwrap_or_default();
    let inner = url.strip_prefix("handoff::").unwrap_or(&url);
    let path = match InnerUrl::parse(inner.into()) {
        Ok(InnerUrl::Local { path }) => path,
        _ => {
            return Finding::good(
                name,
                "it cannot be seen from here; on the server, `handoff-hooks doctor --live` tries it",
            );
        }
    };
    let dir = Path::new(OsStr::from_bytes(&path));
    match is_guarded(repository, dir) {
        Ok(true) => Finding::good(name, format!("it is installed in {}", dir.display())),
        Ok(false) => Finding::warned(
            name,
            format!(
                "{} is not guarded: Git alone lets scopes be rewound and deleted",
                dir.display()
            ),
        )
        .mend([
            "handoff-hooks",
            "install",
            "--git-dir",
            &dir.to_string_lossy(),
        ]),
        Err(error) => Finding::warned(
            name,
            format!("{} was not read: {}", dir.display(), error.message),
        ),
    }
}

fn is_guarded(here: &Repository, dir: &Path) -> Result<bool, CommandError> {
    let git = here.git().clone().moved_to(dir).apart();
    let server = Repository::discover(&git)?;
    let guarded = || -> Result<bool, hooks::install::InstallError> {
        let forge = Forge::of(&server)?;
        let sites = Site::of(&server, forge)?;
        let mut sites = sites
            .into_iter()
            .filter(|site| site.kind == Hook::PreReceive);
        sites.try_fold(false, |any, site| {
            Ok(any || site.found()?.wrapper().is_some())
        })
    };
    guarded().map_err(|error| CommandError::from_error(ErrorCode::Io, &error))
}
