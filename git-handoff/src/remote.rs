//! The handoff remote: its configuration, and what is fetched from it and pushed to it.

use std::{collections::BTreeMap, process::Stdio};

use gix::bstr::ByteSlice;
use store::{
    error_code::ErrorCode,
    git::{self, GitError},
    remote_url::{absolute, without_credentials},
    repository::Repository,
    scope::ScopeName,
};

use crate::{context::Context, error::CommandError, origin::Url};

/// Name of the remote where none is given.
pub(crate) const DEFAULT: &str = "handoff";

/// A configured handoff remote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Remote {
    pub(crate) name: String,
}

/// What came of setting up a remote.
pub(crate) struct Setup {
    pub(crate) remote: Remote,
    pub(crate) url: String,
    /// Whether anything was changed.
    pub(crate) changed: bool,
    /// Whether credentials were taken out of the URL.
    pub(crate) credentials_removed: bool,
}

/// What came of pushing one scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Pushed {
    /// The remote has it now.
    Sent,
    /// The remote had it already.
    UpToDate,
    /// It was refused.
    Refused { code: ErrorCode, message: String },
}

/// What the remote answered to a push.
pub(crate) struct Answer {
    pub(crate) scopes: BTreeMap<ScopeName, Pushed>,
    /// What helper and server say of what they refused, a sentence each.
    pub(crate) hints: Vec<String>,
}

impl Setup {
    /// Says where credentials belong, if any were taken out of the URL.
    pub(crate) fn warn(&self, context: &Context) {
        if self.credentials_removed {
            warn_of_removed_credentials(context);
        }
    }
}

/// Says that credentials were taken out of a URL, and where they belong.
pub(crate) fn warn_of_removed_credentials(context: &Context) {
    let text = "credentials were taken out of the URL; let Git's credential helper hold them: gitcredentials(7)";
    context.ui.warn("CREDENTIALS_REMOVED", text);
}

impl Remote {
    /// Returns the handoff remote of a repository: the one named, else `handoff`, else the only one of its kind.
    pub(crate) fn find(repository: &Repository, named: Option<&str>) -> Option<Self> {
        let config = repository.gix().config_snapshot();
        let of = |name: &str| {
            let url = config.string(format!("remote.{name}.url").as_str())?;
            url.starts_with(b"handoff::")
                .then(|| Remote { name: name.into() })
        };
        if let Some(name) = named {
            return of(name);
        }
        if let Some(remote) = of(DEFAULT) {
            return Some(remote);
        }
        let mut all = repository
            .gix()
            .remote_names()
            .into_iter()
            .filter_map(|name| of(&name.to_str_lossy()));
        match (all.next(), all.next()) {
            (Some(only), None) => Some(only),
            _ => None,
        }
    }

    /// Tells whether there is a handoff remote, or could be: a command that sends something would find one.
    pub(crate) fn is_in_reach(repository: &Repository) -> bool {
        let keys = ["handoff.remote", "remote.origin.url"];
        Self::find(repository, None).is_some()
            || keys.iter().any(|key| repository.config(key).is_some())
    }

    /// Returns where it is, as one who has nothing else must name it.
    pub(crate) fn url_for_others(&self, repository: &Repository) -> Option<String> {
        let url = repository.config(&format!("remote.{}.url", self.name))?;
        let inner = url.strip_prefix("handoff::").unwrap_or(&url);
        Some(without_credentials(inner.into()).to_string())
    }

    /// Returns the handoff remote, and sets it up from `origin` where there is none.
    pub(crate) fn find_or_set_up(
        context: &Context,
        repository: &mut Repository,
        named: Option<&str>,
    ) -> Result<Self, CommandError> {
        if let Some(remote) = Self::find(repository, named) {
            return Ok(remote);
        }
        if let Some(name) = named.filter(|name| *name != DEFAULT) {
            let message = format!("there is no handoff remote `{name}`");
            let error = CommandError::new(ErrorCode::NotFound, message).subject(name);
            let key = format!("remote.{name}.url");
            let can_be_made = is_name(name) && repository.config(&key).is_none();
            return Err(match can_be_made {
                true => error.next(&["git", "handoff", "init", "--remote", name]),
                false => error.next(&["git", "remote", "-v"]),
            });
        }
        let setup = Self::set_up(repository, DEFAULT, None)?;
        *repository = context.repository()?;
        context.ui.note(&format!(
            "set up remote `{}` at {}",
            setup.remote.name, setup.url
        ));
        setup.warn(context);
        Ok(setup.remote)
    }

    /// Configures a remote: its URL is the one given, else `handoff.remote`, else that of `origin`.
    pub(crate) fn set_up(
        repository: &Repository,
        name: &str,
        url: Option<&str>,
    ) -> Result<Setup, CommandError> {
        if !is_name(name) {
            return Err(CommandError::new(
                ErrorCode::Usage,
                format!("`{name}` is no name for a remote"),
            ));
        }
        let config = repository.gix().config_snapshot();
        let key = |field: &str| format!("remote.{name}.{field}");
        let existing = config
            .string(key("url").as_str())
            .map(|url| url.to_string());
        if let Some(existing) = existing
            .as_deref()
            .filter(|existing| !existing.starts_with("handoff::"))
        {
            let shown = git::without_credentials(existing);
            let message = format!("the remote `{name}` exists and is no handoff remote: {shown}");
            return Err(CommandError::new(ErrorCode::Usage, message)
                .hint("give another name with --remote"));
        }
        let origin = config
            .string("remote.origin.url")
            .map(|url| url.to_string());
        let wanted = url
            .map(String::from)
            .or(repository.config("handoff.remote"))
            .or(match &existing {
                Some(_) => None,
                None => origin,
            });
        let wanted = match (wanted, &existing) {
            (Some(wanted), _) => wanted,
            (None, Some(existing)) => existing.clone(),
            (None, None) => {
                let message =
                    "there is no URL for the handoff remote: no `origin`, and none was given";
                return Err(CommandError::new(ErrorCode::Usage, message)
                    .next(&["git", "handoff", "init", "<url>"]));
            }
        };
        let wanted = Url::parse(&wanted)?;
        let base = repository.worktree().unwrap_or(repository.common_dir());
        let clean = absolute(wanted.inner().into(), base).to_string();
        let full = format!("handoff::{clean}");
        let settings = settings(name, &full);
        let mut changed = false;
        for (field, value) in &settings {
            let key = key(field);
            let current = config.string(key.as_str());
            if current.is_none_or(|current| current.as_slice() != value.as_bytes()) {
                repository
                    .git()
                    .output(["config", "--local", "--replace-all", &key, value])?;
                changed = true;
            }
        }
        Ok(Setup {
            remote: Remote { name: name.into() },
            url: full,
            changed,
            credentials_removed: wanted.had_credentials(),
        })
    }

    /// Fetches every scope, or one, into `refs/handoff-remote/<name>/`, and returns what there is to warn of.
    pub(crate) fn fetch(
        &self,
        repository: &Repository,
        scope: Option<&ScopeName>,
    ) -> Result<Vec<String>, CommandError> {
        let name = &self.name;
        let refspec = match scope {
            None => format!("+refs/handoff/*:refs/handoff-remote/{name}/*"),
            Some(scope) => format!("+refs/handoff/{scope}:refs/handoff-remote/{name}/{scope}"),
        };
        let args = [
            "-c",
            "core.hooksPath=/dev/null",
            "fetch",
            "-q",
            "--no-tags",
            "--no-write-fetch-head",
            "--recurse-submodules=no",
            "--no-auto-maintenance",
        ];
        let mut args: Vec<&str> = args.into();
        args.extend([name.as_str(), refspec.as_str()]);
        let output = git::run(repository.git().command(&args), &[])?;
        if output.status.success() {
            return Ok(said(&output.stderr, &["warning: "]));
        }
        match git::failure("fetch".into(), &output) {
            GitError::Failed { message, .. } if message.contains("couldn't find remote ref") => {
                let what = scope.map_or_else(
                    || "no scope".to_owned(),
                    |scope| format!("no scope `{scope}`"),
                );
                Err(CommandError::new(
                    ErrorCode::NotFound,
                    format!("the remote `{name}` shows {what}"),
                ))
            }
            GitError::Failed { message, .. } if message.contains("No space left on device") => {
                let message =
                    format!("what the remote `{name}` sent could not be written: {message}");
                Err(CommandError::new(ErrorCode::Io, message)
                    .hint("make room on the disk, then run the command again"))
            }
            GitError::Failed { message, .. } => {
                let message = format!("the remote `{name}` could not be read: {message}");
                Err(CommandError::new(ErrorCode::Unreachable, message)
                    .hint("see that the URL is right and the server can be reached")
                    .next(&["git", "ls-remote", name]))
            }
            error => Err(error.into()),
        }
    }

    /// Pushes scopes, each from its local ref; what Git reports is returned scope by scope.
    ///
    /// Where the history here is shallow and the remote lacks what is behind it, the rest is fetched from `origin`
    /// first.
    ///
    /// # Errors
    ///
    /// `UNREACHABLE` where there was no report: nobody knows then what the remote has.
    pub(crate) fn push(
        &self,
        repository: &Repository,
        scopes: &[ScopeName],
    ) -> Result<Answer, CommandError> {
        let refspecs = scopes
            .iter()
            .map(|scope| format!("refs/handoff/{scope}:refs/handoff/{scope}"));
        let mut args: Vec<String> = [
            // Git's own advice is for branches.
            "-c",
            "advice.pushUpdateRejected=false",
            "push",
            "--porcelain",
            "--no-follow-tags",
            "--recurse-submodules=no",
            "--no-signed",
        ]
        .map(String::from)
        .into();
        args.push(self.name.clone());
        args.extend(refspecs);
        let mut command = repository.git().command(&args);
        command.stdin(Stdio::null());
        let mut output = git::run(command, &[])?;
        let mut pushed = report(&output.stdout.to_str_lossy());
        if pushed.values().any(is_too_shallow) && deepen(repository, scopes)? {
            let mut command = repository.git().command(&args);
            command.stdin(Stdio::null());
            output = git::run(command, &[])?;
            pushed = report(&output.stdout.to_str_lossy());
        }
        if pushed.is_empty() {
            let message = match git::failure("push".into(), &output) {
                // Where the server cannot be spoken to, Git dies (128) and says why.
                GitError::Failed {
                    message,
                    code: Some(1),
                    ..
                } if message.starts_with("error: failed to push some refs") => {
                    let mut why = "a pre-push hook of this repository refused it".to_owned();
                    let said = git::without_credentials(&output.stderr.to_str_lossy());
                    let lines = said.lines().take_while(|line| !message.starts_with(line));
                    for line in lines.take(8) {
                        why.push_str("; ");
                        why.push_str(line.trim());
                    }
                    let message = format!("git sent nothing: {why}");
                    return Err(CommandError::new(ErrorCode::GitFailed, message)
                        .hint("githooks(5) says where the hook is: `git config core.hooksPath`, else .git/hooks"));
                }
                GitError::Failed { message, .. } => message,
                other => other.to_string(),
            };
            let message = format!("the remote `{}` gave no answer: {message}", self.name);
            return Err(CommandError::new(ErrorCode::Unreachable, message)
                .hint("see that the server can be reached, then push again: what it has, it has")
                .next(&["git", "handoff", "push"]));
        }
        Ok(Answer {
            scopes: pushed,
            hints: said(&output.stderr, &["hint: ", "remote: handoff:   hint: "]),
        })
    }
}

/// Returns the lines of a program's standard error that begin in one of some ways, each once and without that.
fn said(stderr: &[u8], beginnings: &[&str]) -> Vec<String> {
    let mut said: Vec<String> = Vec::new();
    for line in git::without_credentials(&stderr.to_str_lossy()).lines() {
        let text = beginnings.iter().find_map(|begin| line.strip_prefix(begin));
        if let Some(text) = text.map(str::trim_end)
            && !said.iter().any(|other| other == text)
        {
            said.push(text.to_owned());
        }
    }
    said
}

/// Tells whether the remote would have to become shallow itself, which Git does not let it, git-config(1),
/// `receive.shallowUpdate`.
fn is_too_shallow(pushed: &Pushed) -> bool {
    matches!(pushed, Pushed::Refused { message, .. } if message.contains("shallow update not allowed"))
}

/// Fetches the history behind scopes that is not here yet from `origin`, which they were restored from; tells whether
/// it had it.
fn deepen(repository: &Repository, scopes: &[ScopeName]) -> Result<bool, CommandError> {
    let args = [
        "-c",
        "core.hooksPath=/dev/null",
        "fetch",
        "-q",
        "--unshallow",
        "--no-tags",
        "--no-write-fetch-head",
        "--recurse-submodules=no",
        "--no-auto-maintenance",
        "origin",
    ];
    let names = scopes.iter().map(|scope| format!("refs/handoff/{scope}"));
    let args: Vec<String> = args.into_iter().map(String::from).chain(names).collect();
    match repository.git().output(args) {
        Ok(_) => Ok(true),
        Err(GitError::Failed { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Returns what is configured for a remote, by the last part of its key.
pub(crate) fn settings(name: &str, url: &str) -> [(&'static str, String); 5] {
    [
        ("url", url.to_owned()),
        (
            "fetch",
            format!("+refs/handoff/*:refs/handoff-remote/{name}/*"),
        ),
        ("push", "refs/handoff/*:refs/handoff/*".to_owned()),
        ("tagOpt", "--no-tags".to_owned()),
        ("skipFetchAll", "true".to_owned()),
    ]
}

/// Tells whether a handoff remote can have a name.
fn is_name(name: &str) -> bool {
    gix::remote::name::validated(name).is_ok() && !name.contains('/')
}

/// Reads the answer of `git push --porcelain`, git-push(1): `<flag> TAB <from>:<to> TAB <summary> (<reason>)`.
fn report(text: &str) -> BTreeMap<ScopeName, Pushed> {
    let mut report = BTreeMap::new();
    for line in text.lines() {
        let mut fields = line.splitn(3, '\t');
        let (Some(flag), Some(refs), Some(summary)) = (fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        let scope = refs
            .rsplit(':')
            .next()
            .and_then(|name| ScopeName::from_ref(name.into()).ok());
        let Some(scope) = scope else {
            continue;
        };
        let outcome = match flag {
            "=" => Pushed::UpToDate,
            "!" => refusal(summary),
            _ => Pushed::Sent,
        };
        report.insert(scope, outcome);
    }
    report
}

/// Takes code and words out of `[remote rejected] (CODE: words)`; Git's own reasons become codes.
fn refusal(summary: &str) -> Pushed {
    let reason = summary
        .split_once('(')
        .map_or(summary, |(_, reason)| reason.trim_end_matches(')'));
    let coded = reason.split_once(": ").and_then(|(code, words)| {
        let code = ErrorCode::ALL.iter().find(|known| known.as_str() == code)?;
        Some((*code, words.to_owned()))
    });
    let lost = [
        "fetch first",
        "stale info",
        "non-fast-forward",
        "failed to update ref",
        "already exists",
        "cannot lock",
    ];
    let (code, message) = coded.unwrap_or_else(|| {
        let lost = lost.iter().any(|text| summary.contains(text));
        let code = if lost {
            ErrorCode::CasConflict
        } else {
            ErrorCode::GitFailed
        };
        (code, format!("the remote refused it: {summary}"))
    });
    Pushed::Refused { code, message }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_carry_their_code() {
        let text = "To x\n!\trefs/handoff/a:refs/handoff/a\t[remote rejected] (NOT_OWNER: ann has it)\n\
                    *\trefs/handoff/b:refs/handoff/b\t[new reference]\n\
                    !\trefs/handoff/c:refs/handoff/c\t[rejected] (fetch first)\nDone\n";
        let report = report(text);
        let of = |scope: &str| report[&scope.parse::<ScopeName>().unwrap()].clone();
        assert_eq!(
            of("a"),
            Pushed::Refused {
                code: ErrorCode::NotOwner,
                message: "ann has it".into()
            }
        );
        assert_eq!(of("b"), Pushed::Sent);
        assert!(matches!(
            of("c"),
            Pushed::Refused {
                code: ErrorCode::CasConflict,
                ..
            }
        ));
    }
}
