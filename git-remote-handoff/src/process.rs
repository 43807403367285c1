//! Programs that are started in a user's name, and their end.

use std::{
    ffi::{OsStr, OsString},
    io,
    os::unix::{ffi::OsStrExt, process::ExitStatusExt},
    process::{Child, Command, ExitStatus},
};

/// Variables that speak of the repository at hand and must not reach the service: `git rev-parse --local-env-vars`.
const LOCAL_VARIABLES: [&str; 15] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_CONFIG",
    "GIT_CONFIG_PARAMETERS",
    "GIT_CONFIG_COUNT",
    "GIT_OBJECT_DIRECTORY",
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_GRAFT_FILE",
    "GIT_INDEX_FILE",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_REPLACE_REF_BASE",
    "GIT_PREFIX",
    "GIT_SHALLOW_FILE",
    "GIT_COMMON_DIR",
];

/// The program behind a service, ended when this is dropped.
pub(crate) struct Process(Option<Child>);

impl Process {
    /// Takes charge of a program.
    pub(crate) fn new(child: Child) -> Self {
        Process(Some(child))
    }

    /// Stands for a service without a program of this machine.
    pub(crate) fn none() -> Self {
        Process(None)
    }

    /// Waits for the end and returns the exit status as a shell does; 0 where there is no program.
    pub(crate) fn wait(mut self) -> io::Result<u8> {
        let Some(child) = &mut self.0 else {
            return Ok(0);
        };
        let status = child.wait()?;
        self.0 = None;
        Ok(exit_code(status))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            // Both fail only where the program has ended.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Returns an exit status as a shell does: 128 and the signal where one ended the program.
fn exit_code(status: ExitStatus) -> u8 {
    let code = status
        .code()
        .or_else(|| status.signal().map(|signal| signal + 128));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

/// Takes the variables of the repository at hand out of a command's environment.
pub(crate) fn without_local_variables(command: &mut Command) {
    for name in LOCAL_VARIABLES {
        command.env_remove(name);
    }
}

/// Makes a command that a shell runs with `args` behind it, as Git runs what users configure.
pub(crate) fn shell_command(line: &OsStr, args: &[OsString]) -> Command {
    let mut command = Command::new("sh");
    command.arg("-c");
    if args.is_empty() {
        command.arg(line);
    } else {
        let mut script = line.to_owned();
        script.push(" \"$@\"");
        command.arg(script).arg(line).args(args);
    }
    command
}

/// Takes bytes for what the system calls a string.
pub(crate) fn os(bytes: &[u8]) -> &OsStr {
    OsStr::from_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use gix::bstr::ByteSlice;
    use store::git::Git;

    use super::*;

    #[test]
    fn no_variable_of_the_repository_at_hand_reaches_a_service() {
        let names = Git::in_dir("/")
            .output(["rev-parse", "--local-env-vars"])
            .unwrap();
        for name in names.to_str().unwrap().lines() {
            assert!(LOCAL_VARIABLES.contains(&name), "{name}");
        }
    }
}
