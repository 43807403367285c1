//! Sees whether the hook of a repository does its work.

use std::{fs, os::unix::fs::MetadataExt, path::Path, process::Command};

use gix::bstr::ByteSlice;
use store::{
    git::{self, Git, GitError},
    repository::Repository,
    timestamp::Timestamp,
};

use super::{Found, Site, is_executable};
use crate::{pre_receive::Server, quarantine::ObjectDirectories, server_dir::ServerDir};

/// Oldest Git that is supported.
const OLDEST_GIT: (u32, u32) = (2, 39);

/// One thing that was looked at.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Check {
    /// Its name.
    pub name: &'static str,
    /// Whether all is well.
    pub ok: bool,
    /// What was found.
    pub detail: String,
}

impl Check {
    fn of(name: &'static str, result: Result<String, String>) -> Self {
        let ok = result.is_ok();
        let detail = result.unwrap_or_else(|detail| detail);
        Check { name, ok, detail }
    }
}

/// Looks at Git, the hook's files and the policy; changes nothing.
pub fn look(repository: &Repository, now: Timestamp) -> Vec<Check> {
    vec![
        Check::of("git", git_version(repository.git())),
        Check::of("hook", hook(repository)),
        Check::of("program", program(repository)),
        Check::of("policy", policy(repository, now)),
        Check::of("owner", owner(repository)),
    ]
}

fn git_version(git: &Git) -> Result<String, String> {
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

fn hook(repository: &Repository) -> Result<String, String> {
    let site = Site::of(repository).map_err(|error| error.to_string())?;
    let hook = site.hook.display();
    match site.found().map_err(|error| error.to_string())? {
        Found::Nothing => Err(format!("there is no {hook}")),
        Found::Foreign { .. } => Err(format!("{hook} is not ours")),
        Found::Ours(_) | Found::Linked(_) if !is_executable(&site.hook) => {
            Err(format!("{hook} is not executable, so Git does not run it"))
        }
        Found::Ours(wrapper) | Found::Linked(wrapper)
            if wrapper.chains() && !is_executable(&site.previous) =>
        {
            Err(format!(
                "{hook} also runs {}, which is not there or not executable",
                site.previous.display()
            ))
        }
        Found::Ours(_) | Found::Linked(_) => Ok(hook.to_string()),
    }
}

fn program(repository: &Repository) -> Result<String, String> {
    let site = Site::of(repository).map_err(|error| error.to_string())?;
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
pub fn live(repository: &Repository) -> Check {
    Check::of("live", push_what_must_be_refused(repository))
}

fn push_what_must_be_refused(repository: &Repository) -> Result<String, String> {
    let git_dir = repository.git_dir();
    let uid = fs::metadata(git_dir).map(|found| found.uid());
    let own = rustix::process::geteuid().as_raw();
    if let Ok(owner) = uid
        && owner != own
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
    let target = git_dir.as_os_str();
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
        false if ours.any(|line| line.contains_str(&refused)) => {
            Ok("a push that breaks the rules is refused".into())
        }
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
            Err(format!(
                "a push that breaks the rules was taken as {name}{left}"
            ))
        }
    }
}
