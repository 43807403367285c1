//! Git, and the executables of this program where Git and its users find them.

use std::{
    env,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use hooks::install::doctor::git_version;
use store::error_code::ErrorCode;

use super::Finding;
use crate::context::Context;

/// Name of the finding on Git itself.
pub(super) const GIT: &str = "git";

/// The executables, and who looks for them.
const EXECUTABLES: [&str; 3] = ["git-handoff", "git-remote-handoff", "handoff-hooks"];

pub(super) fn look(context: &Context) -> Vec<Finding> {
    let git = context.git(&context.dir);
    let mut findings = vec![match git_version(&git) {
        Ok(version) => Finding::good(GIT, version),
        Err(why) => Finding::failed(GIT, ErrorCode::GitFailed, why),
    }];
    // Git looks into a directory of its own first.
    let own = git.line(["--exec-path"]).ok().map(PathBuf::from);
    let path = context.environment.own_path.as_ref();
    let dirs: Vec<PathBuf> = own
        .into_iter()
        .chain(path.into_iter().flat_map(env::split_paths))
        .collect();
    findings.extend(EXECUTABLES.map(|name| executable(name, &dirs)));
    findings
}

fn executable(name: &'static str, dirs: &[PathBuf]) -> Finding {
    let beside = env::current_exe().ok();
    let beside = beside.as_deref().and_then(Path::parent);
    let found = dirs.iter().map(|dir| dir.join(name));
    let Some(found) = found.into_iter().find(|path| is_executable(path)) else {
        let add = match beside.filter(|dir| is_executable(&dir.join(name))) {
            Some(dir) => format!("; add {} to the PATH of your shell", dir.display()),
            None => "; install it beside this program".to_owned(),
        };
        return match name {
            "git-remote-handoff" => {
                let detail = format!("Git does not find it for `handoff::` URLs{add}");
                Finding::failed(name, ErrorCode::NotFound, detail)
            }
            "git-handoff" => Finding::warned(
                name,
                format!("it is not on the PATH, so `git handoff` is no command{add}"),
            ),
            _ => Finding::good(name, "it is not on the PATH; servers alone need it"),
        };
    };
    let shown = found.display();
    match version(&found) {
        Some(version) if version == env!("CARGO_PKG_VERSION") => {
            Finding::good(name, format!("{version} at {shown}"))
        }
        Some(version) => Finding::failed(
            name,
            ErrorCode::UnsupportedVersion,
            format!(
                "{shown} is of version {version}, this program is {}: install all of them from one place",
                env!("CARGO_PKG_VERSION")
            ),
        ),
        None => Finding::failed(
            name,
            ErrorCode::Io,
            format!("{shown} does not say its version: it is another program, or damaged"),
        ),
    }
}

/// Returns the last word of what a program says of its version.
fn version(path: &Path) -> Option<String> {
    let mut command = Command::new(path);
    command.arg("--version").stdin(Stdio::null());
    let output = command.output().ok().filter(|said| said.status.success())?;
    let said = std::str::from_utf8(&output.stdout).ok()?;
    let word = said.split_whitespace().last()?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ".-+".contains(c);
    word.chars().all(is_plain).then(|| word.to_owned())
}

fn is_executable(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}
