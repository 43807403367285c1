//! Starts the service of a remote as Git would: a program of this machine, ssh, or a `git://` server.
//!
//! What the service says is not looked at here.

use std::{
    ffi::OsStr,
    io::{self, Read, Write},
    process::{Command, Stdio},
};

use gix::bstr::{BStr, BString, ByteSlice};
use store::git::Git;

use crate::{
    environment::Environment,
    git_server,
    process::{Process, os, shell_command, without_local_variables},
    settings::{Direction, Settings},
    ssh::{self, SshError},
    url::InnerUrl,
};

/// The service that is asked for.
pub(crate) struct Wanted<'a> {
    pub(crate) direction: Direction,
    /// The program that the user named in its place: `--upload-pack`, `remote.<name>.receivepack`.
    pub(crate) program: Option<&'a BStr>,
}

/// A running service.
pub(crate) struct Service {
    /// What it says.
    pub(crate) answers: Box<dyn Read + Send>,
    /// What it is told; the service sees the end when this is dropped.
    pub(crate) requests: Box<dyn Write + Send>,
    /// The program, where it is one of this machine.
    pub(crate) process: Process,
}

/// Says why a service could not be started.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The program could not be started.
    #[error("`{program}` could not be started")]
    NotStarted {
        /// The program.
        program: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The server could not be reached.
    #[error("cannot connect to {host}:{port}")]
    Unreachable {
        /// Host.
        host: String,
        /// Port.
        port: u16,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The ssh program cannot do what the URL asks for.
    #[error(transparent)]
    Ssh(#[from] SshError),
    /// An http URL is not connected to in this way.
    #[error("an http URL has no service to connect to")]
    Http,
}

impl Wanted<'_> {
    /// Returns the version of the protocol to ask for; a push knows none above 1.
    fn version(&self, settings: &Settings) -> u8 {
        match (settings.protocol_version(), self.direction) {
            (2, Direction::Push) => 0,
            (version, _) => version,
        }
    }

    fn name(&self) -> &'static str {
        match self.direction {
            Direction::Fetch => "git-upload-pack",
            Direction::Push => "git-receive-pack",
        }
    }

    fn program(&self) -> &BStr {
        self.program.unwrap_or(self.name().into())
    }

    /// Returns the command line that a shell at the remote is to run.
    fn shell_line(&self, path: &BStr) -> BString {
        [self.program().as_bytes(), b" ", &shell_quoted(path)]
            .concat()
            .into()
    }
}

/// Starts the service that `wanted` names at `url`.
///
/// # Errors
///
/// Where the program cannot be started or the server cannot be reached.
pub(crate) fn start(
    url: &InnerUrl,
    wanted: &Wanted<'_>,
    settings: &Settings,
    environment: &Environment,
) -> Result<Service, ConnectError> {
    let version = wanted.version(settings);
    let command = match url {
        InnerUrl::Local { path } => {
            let mut command = local_command(path.as_bstr(), wanted);
            ask_for_version(&mut command, version);
            command
        }
        InnerUrl::Ssh(url) => {
            let line = wanted.shell_line(url.path.as_bstr());
            ssh::command(url, line.as_bstr(), version, settings, environment)?
        }
        InnerUrl::Git(url) => {
            return git_server::connect(url, wanted.program(), version, settings, environment);
        }
        InnerUrl::Http { .. } => return Err(ConnectError::Http),
    };
    spawn(command)
}

/// Asks the service for a version of the protocol: `GIT_PROTOCOL` in `git(1)`.
pub(crate) fn ask_for_version(command: &mut Command, version: u8) {
    match version {
        0 => command.env_remove("GIT_PROTOCOL"),
        version => command.env("GIT_PROTOCOL", format!("version={version}")),
    };
}

fn local_command(path: &BStr, wanted: &Wanted<'_>) -> Command {
    match wanted.program {
        Some(_) => shell_command(os(&wanted.shell_line(path)), &[]),
        None => {
            let name = wanted.name().trim_start_matches("git-");
            Git::in_dir(".").command([OsStr::new(name), os(path)])
        }
    }
}

/// Starts a program that speaks for a service.
pub(crate) fn spawn(mut command: Command) -> Result<Service, ConnectError> {
    without_local_variables(&mut command);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let not_started = |source, command: &Command| ConnectError::NotStarted {
        program: command.get_program().to_string_lossy().into_owned(),
        source,
    };
    let mut child = command
        .spawn()
        .map_err(|source| not_started(source, &command))?;
    let (Some(answers), Some(requests)) = (child.stdout.take(), child.stdin.take()) else {
        return Err(not_started(io::ErrorKind::BrokenPipe.into(), &command));
    };
    Ok(Service {
        answers: Box::new(answers),
        requests: Box::new(requests),
        process: Process::new(child),
    })
}

/// Quotes a word for a shell as Git does, `!` included for the sake of csh.
fn shell_quoted(word: &BStr) -> BString {
    let mut quoted = BString::from("'");
    for byte in word.iter() {
        match byte {
            b'\'' | b'!' => quoted.extend_from_slice(&[b'\'', b'\\', *byte, b'\'']),
            _ => quoted.push(*byte),
        }
    }
    quoted.push(b'\'');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_quoted_for_the_shell_at_the_remote() {
        assert_eq!(shell_quoted("a b".into()), "'a b'");
        assert_eq!(shell_quoted("it's!".into()), r"'it'\''s'\!''");
    }
}
