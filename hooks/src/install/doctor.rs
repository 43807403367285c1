//! Sees whether the hook of a repository does its work.

use std::{ffi::OsStr, fs, os::unix::fs::MetadataExt, path::Path, process::Command};

use gix::bstr::ByteSlice;
use store::{
    git::{self, Git, GitError},
    repository::Repository,
    timestamp::Timestamp,
};

use super::{Forge, Found, Hook, Site, forge, hooks_directory, is_executable};
use crate::{
    pre_receive::{Server, Settings},
    quarantine::ObjectDirectories,
    server_dir::ServerDir,
};

mod accept_env;

/// Oldest Git that is supported.
const OLDEST_GIT: (u32, u32) = (2, 39);

/// One thing that was looked at.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Check {
    /// Its name.
    pub name: &'static str,
    /// How it stands.
    pub state: State,
    /// What was found.
    pub detail: String,
}

/// How a thing stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// All is well.
    Good,
    /// It works, and there is something to know.
    Warned,
    /// It does not work.
    Failed,
}

impl Check {
    fn of(name: &'static str, result: Result<String, String>) -> Self {
        let state = if result.is_ok() {
            State::Good
        } else {
            State::Failed
        };
        let detail = result.unwrap_or_else(|detail| detail);
        Check {
            name,
            state,
            detail,
        }
    }

    /// What is wrong with something that does not have to work.
    fn or_warned(self) -> Self {
        let state = match self.state {
            State::Failed => State::Warned,
            other => other,
        };
        Check { state, ..self }
    }
}

/// Looks at Git, the files of the hooks and the policy; changes nothing.
///
/// # Errors
///
/// Where Git cannot say where hooks are.
pub fn look(
    repository: &Repository,
    forge: Forge,
    now: Timestamp,
) -> Result<Vec<Check>, super::InstallError> {
    let sites = Site::of(repository, forge)?;
    let mut checks = vec![Check::of("git", git_version(repository.git()))];
    if forge == Forge::Gitea {
        checks.push(Check::of("dispatcher", dispatcher(repository)));
    }
    for site in &sites {
        match site.kind {
            Hook::PreReceive => {
                checks.push(Check::of("hook", hook(site)));
                checks.push(Check::of("program", program(site)));
            }
            // Without it the log does not say what moved, and nothing else is amiss.
            Hook::PostReceive => checks.push(Check::of("post-receive", hook(site)).or_warned()),
        }
    }
    checks.push(Check::of("policy", policy(repository, now)));
    checks.push(identity(repository));
    checks.push(Check::of("owner", owner(repository)));
    Ok(checks)
}

/// Returns what Git says of its version.
///
/// # Errors
///
/// What is wrong, in words, where there is no Git or where it is too old.
pub fn git_version(git: &Git) -> Result<String, String> {
    let said = git.line(["version"]).map_err(|error| error.to_string())?;
    let numbers = said.trim_start_matches("git version ").split('.');
    let mut numbers = numbers.map_while(|part| part.parse::<u32>().ok());
    match (numbers.next(), numbers.next()) {
        (Some(major), Some(minor)) if (major, minor) >= OLDEST_GIT => Ok(said),
        _ => Err(format!(
            "{said}; Git {}.{} or newer is needed",
            OLDEST_GIT.0, OLDEST_GIT.1
        )),
    }
}

/// The hook that Gitea and Forgejo write must be what Git runs.
fn dispatcher(repository: &Repository) -> Result<String, String> {
    let hooks = hooks_directory(repository).map_err(|error| error.to_string())?;
    let dispatcher = hooks.join(Hook::PreReceive.name());
    let shown = dispatcher.display();
    if !forge::is_generated(&dispatcher) {
        return Err(format!(
            "{shown} is not the one that Gitea or Forgejo writes: regenerate the hooks there"
        ));
    }
    match is_executable(&dispatcher) {
        true => Ok(shown.to_string()),
        false => Err(format!("{shown} is not executable, so Git does not run it")),
    }
}

fn hook(site: &Site) -> Result<String, String> {
    let hook = site.hook.display();
    match site.found().map_err(|error| error.to_string())? {
        Found::Nothing => Err(format!("there is no {hook}")),
        Found::Foreign { .. } => Err(format!("{hook} is not ours")),
        Found::Ours(_) | Found::Linked(_) if !is_executable(&site.hook) => {
            Err(format!("{hook} is not executable, so Git does not run it"))
        }
        Found::Ours(wrapper) | Found::Linked(wrapper) => match &site.previous {
            Some(previous) if wrapper.chains() && !is_executable(previous) => Err(format!(
                "{hook} also runs {}, which is not there or not executable",
                previous.display()
            )),
            _ => Ok(hook.to_string()),
        },
    }
}

/// Says who is known to push, and warns where a client could say who it is.
fn identity(repository: &Repository) -> Check {
    let name = "identity";
    let warned = |detail: String| Check {
        name,
        state: State::Warned,
        detail,
    };
    let Ok(settings) = Settings::read(repository.gix()) else {
        return Check::of(name, Err("the settings cannot be read".into()));
    };
    let Some(variable) = settings.identity.variable else {
        return warned("handoff.identityEnv is not set: who may push writes as anybody".into());
    };
    if variable.starts_with("HTTP_") {
        return warned(format!(
            "{variable} is a header of the request: its client sets it"
        ));
    }
    match accept_env::accepting(&variable) {
        Some(file) => warned(format!("{} lets a client set {variable}", file.display())),
        None => Check::of(name, Ok(variable)),
    }
}

fn program(site: &Site) -> Result<String, String> {
    let found = site.found().ok();
    let wrapper = found.as_ref().and_then(Found::wrapper);
    let wrapper = wrapper.ok_or("no hook of ours names it")?;
    let program = wrapper.executable();
    let failed = |why: String| format!("{}: {why}", program.display());
    let output = Command::new(program)
        .arg("--version")
        .output()
        .map_err(|error| failed(error.to_string()))?;
    let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if output.status.success() {
        Ok(format!("{} ({said})", program.display()))
    } else {
        Err(failed(output.status.to_string()))
    }
}

fn policy(repository: &Repository, now: Timestamp) -> Result<String, String> {
    let none = ObjectDirectories::default();
    match Server::open(repository.git_dir(), &none, now) {
        Ok(_) => Ok("readable".into()),
        Err(rejection) => Err(rejection.detail),
    }
}

/// What somebody else's process writes below `<git-dir>/handoff/`, the server cannot.
fn owner(repository: &Repository) -> Result<String, String> {
    let uid = |path: &Path| fs::metadata(path).map(|found| found.uid());
    let git_dir = repository.git_dir();
    let owner = uid(git_dir).map_err(|error| format!("{}: {error}", git_dir.display()))?;
    let ours = ServerDir::of(git_dir);
    match uid(ours.path()) {
        Ok(found) if found != owner => Err(format!(
            "{} belongs to user {found}, the repository to user {owner}",
            ours.path().display()
        )),
        _ => Ok(format!("user {owner}")),
    }
}

/// Pushes a commit that is no record to a scope of its own, and sees that the hook refuses it.
///
/// Without a `url` it is pushed to the repository's directory, where Git alone runs the hooks.
pub fn live(repository: &Repository, forge: Forge, url: Option<&OsStr>) -> Check {
    let pushed = match (forge, url) {
        (Forge::Gitlab, None) => Err(
            "GitLab runs its hooks for pushes through it alone: give the URL of the project with --url"
                .into(),
        ),
        _ => push_what_must_be_refused(repository, url),
    };
    match pushed {
        Ok(Pushed::InShadow) => Check {
            name: "live",
            state: State::Warned,
            detail: "the mode is shadow: a push that breaks the rules is told so, and taken".into(),
        },
        Ok(Pushed::Refused) => {
            Check::of("live", Ok("a push that breaks the rules is refused".into()))
        }
        Err(detail) => Check::of("live", Err(detail)),
    }
}

/// What became of a push that breaks the rules.
enum Pushed {
    Refused,
    InShadow,
}

fn push_what_must_be_refused(
    repository: &Repository,
    url: Option<&OsStr>,
) -> Result<Pushed, String> {
    let git_dir = repository.git_dir();
    let uid = fs::metadata(git_dir).map(|found| found.uid());
    let own = rustix::process::geteuid().as_raw();
    if let Ok(owner) = uid
        && owner != own
        && url.is_none()
    {
        return Err(format!(
            "run this as the owner of the repository, user {owner}, not as user {own}"
        ));
    }
    let scratch = tempfile::tempdir().map_err(|error| error.to_string())?;
    let said = |error: GitError| error.to_string();
    let git = Git::in_dir(scratch.path()).apart();
    let format = if repository.hash_kind().len_in_bytes() == 32 {
        "--object-format=sha256"
    } else {
        "--object-format=sha1"
    };
    git.output(["init", "-q", "--bare", format]).map_err(said)?;
    let tree = git.line(["mktree"]).map_err(said)?;
    let who = [
        "-c",
        "user.name=handoff-hooks",
        "-c",
        "user.email=doctor@localhost",
    ];
    let what = [
        "commit-tree",
        "--no-gpg-sign",
        "-m",
        "This must be refused",
        &tree,
    ];
    let commit = git.line([&who[..], &what[..]].concat()).map_err(said)?;
    // Distinct each time: the last digits of the commit, which holds the time.
    let name = format!("refs/handoff/doctor-{}", &commit[..12]);
    let refspec = format!("{commit}:{name}");
    let target = url.unwrap_or(git_dir.as_os_str());
    let pushed = git.command([
        "push".as_ref(),
        "--no-verify".as_ref(),
        target,
        refspec.as_ref(),
    ]);
    let pushed = git::run(pushed, &[]).map_err(said)?;
    // What our hook says, as Git shows what a server says: git-push(1).
    let refused = format!(" {name}: ");
    let lines = pushed.stderr.lines();
    let mut ours = lines.filter_map(|line| line.strip_prefix(b"remote: handoff: "));
    match pushed.status.success() {
        false if ours.any(|line| line.contains_str(&refused)) => Ok(Pushed::Refused),
        false => Err(format!(
            "the push failed, but not by the hook: {}",
            git::failure("push".into(), &pushed)
        )),
        true => {
            let removed = repository
                .git()
                .output(["update-ref", "-d", &name, &commit]);
            let left = match removed {
                Ok(_) => String::new(),
                Err(error) => format!("; it could not be removed again: {error}"),
            };
            if ours.any(|line| line.starts_with(b"would refuse: ") && line.contains_str(&refused))
                && left.is_empty()
            {
                return Ok(Pushed::InShadow);
            }
            Err(format!(
                "a push that breaks the rules was taken as {name}{left}"
            ))
        }
    }
}
