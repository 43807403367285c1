//! The one door to the `git` executable.
//!
//! Git does transports, filters, credentials, signing and ref transactions for us; nothing of that is imitated.
//! Nothing here knows handoff records.

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use gix::bstr::BString;

use crate::credentials::Credentials;

/// Runs `git` in one directory.
#[derive(Clone, Debug)]
pub struct Git {
    dir: PathBuf,
    git_dir: Option<PathBuf>,
    path: Option<OsString>,
    apart: bool,
    credentials: Option<Credentials>,
}

/// Variables that lead Git to a repository, git(1).
const LEADING_TO_A_REPOSITORY: [&str; 10] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_SHALLOW_FILE",
    "GIT_GRAFT_FILE",
];

/// Variable by which Git hands `-c <key>=<value>` on to the commands that it starts.
const COMMAND_LINE_CONFIG: &str = "GIT_CONFIG_PARAMETERS";

/// Says how a run of `git` failed.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// There is no `git` on the PATH, or it could not be started.
    #[error("git could not be started")]
    NotStarted(#[source] std::io::Error),
    /// The directory that Git was to run in cannot be entered.
    #[error("cannot work in `{}`", .dir.display())]
    NoDirectory {
        /// The directory.
        dir: PathBuf,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// Git could not be spoken to once it ran.
    #[error("lost touch with git {command}")]
    Pipe {
        /// The subcommand.
        command: String,
        /// What broke.
        #[source]
        source: std::io::Error,
    },
    /// Git ended with an error.
    #[error("git {command} failed: {message}")]
    Failed {
        /// The subcommand.
        command: String,
        /// Exit status, or none where a signal ended it.
        code: Option<i32>,
        /// What Git said last, without credentials.
        message: String,
    },
}

impl Git {
    /// Runs Git in `dir`, in the repository that Git finds from there.
    pub fn in_dir(dir: impl Into<PathBuf>) -> Self {
        Git {
            dir: dir.into(),
            git_dir: None,
            path: None,
            apart: false,
            credentials: None,
        }
    }

    /// Runs Git in `dir` on the repository at `git_dir`, wherever `dir` lies and whatever the environment names.
    pub fn with_git_dir(dir: impl Into<PathBuf>, git_dir: impl Into<PathBuf>) -> Self {
        Git {
            dir: dir.into(),
            git_dir: Some(git_dir.into()),
            path: None,
            apart: true,
            credentials: None,
        }
    }

    /// Runs Git on a repository, wherever it runs.
    pub fn on(self, git_dir: impl Into<PathBuf>) -> Self {
        Git {
            git_dir: Some(git_dir.into()),
            ..self
        }
    }

    /// Runs Git in another directory.
    pub fn moved_to(self, dir: impl Into<PathBuf>) -> Self {
        Git {
            dir: dir.into(),
            ..self
        }
    }

    /// Runs Git apart from the repository that the environment may name: in a clone, or in no repository at all.
    pub fn apart(self) -> Self {
        Git {
            apart: true,
            ..self
        }
    }

    /// Gives Git, and what Git starts, another `PATH`: remote helpers are found there.
    pub fn with_path(self, path: OsString) -> Self {
        Git {
            path: Some(path),
            ..self
        }
    }

    /// Gives Git credentials for one server, which are kept nowhere.
    pub fn with_credentials(self, credentials: Option<Credentials>) -> Self {
        Git {
            credentials,
            ..self
        }
    }

    /// Returns the directory that Git runs in.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Prepares a run whose streams the caller sets up.
    ///
    /// The user's index is not refreshed and messages are not translated.
    pub fn command<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new("git");
        command
            .arg("--no-optional-locks")
            .current_dir(&self.dir)
            .env("LC_ALL", "C")
            // What an id names is what is meant, git-replace(1).
            .env("GIT_NO_REPLACE_OBJECTS", "1");
        if self.apart {
            for variable in LEADING_TO_A_REPOSITORY {
                command.env_remove(variable);
            }
        }
        if let Some(git_dir) = &self.git_dir {
            command.env("GIT_DIR", git_dir);
        }
        if let Some(path) = &self.path {
            command.env("PATH", path);
        }
        if let Some(credentials) = &self.credentials {
            credentials.give_to(&mut command);
        }
        command.args(args);
        command
    }

    /// Runs Git and returns its standard output.
    ///
    /// # Errors
    ///
    /// [`GitError::Failed`] with what Git wrote to standard error where it exits with anything but 0.
    pub fn output<S: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
    ) -> Result<Vec<u8>, GitError> {
        self.output_with_input(args, &[])
    }

    /// Runs Git with `input` as its standard input and returns its standard output.
    ///
    /// # Errors
    ///
    /// As [`Git::output`].
    pub fn output_with_input<S: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
        input: &[u8],
    ) -> Result<Vec<u8>, GitError> {
        let args: Vec<OsString> = args
            .into_iter()
            .map(|arg| arg.as_ref().to_owned())
            .collect();
        let name = subcommand(&args);
        let output = run(self.command(&args), input).map_err(|error| error.named(&name))?;
        if output.status.success() {
            Ok(output.stdout)
        } else {
            Err(failure(name, &output))
        }
    }

    /// Runs Git with `input` as its standard input and `out` as its standard output.
    ///
    /// # Errors
    ///
    /// As [`Git::output`].
    pub fn output_to_file<S: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
        input: &[u8],
        out: File,
    ) -> Result<(), GitError> {
        let args: Vec<OsString> = args
            .into_iter()
            .map(|arg| arg.as_ref().to_owned())
            .collect();
        let name = subcommand(&args);
        let output =
            run_into(self.command(&args), input, out.into()).map_err(|error| error.named(&name))?;
        if output.status.success() {
            Ok(())
        } else {
            Err(failure(name, &output))
        }
    }

    /// Runs Git and returns one line of its standard output, without the line end.
    ///
    /// # Errors
    ///
    /// As [`Git::output`].
    pub fn line<S: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
    ) -> Result<String, GitError> {
        let output = self.output(args)?;
        Ok(String::from_utf8_lossy(&output)
            .trim_end_matches('\n')
            .to_owned())
    }

    /// Returns the settings of `git -c <key>=<value>` for this run; without a value where none was given.
    ///
    /// # Errors
    ///
    /// As [`Git::output`].
    pub fn command_line_config(&self) -> Result<Vec<(BString, Option<BString>)>, GitError> {
        if std::env::var_os(COMMAND_LINE_CONFIG).is_none() {
            return Ok(Vec::new());
        }
        let mut command = self.command(["config", "--list", "--show-scope", "-z"]);
        // It has the same scope.
        command.env_remove("GIT_CONFIG_COUNT");
        let output = run(command, &[]).map_err(|error| error.named("config"))?;
        if !output.status.success() {
            return Err(failure("config".into(), &output));
        }
        let mut fields = output.stdout.split(|b| *b == 0);
        let mut settings = Vec::new();
        while let (Some(scope), Some(setting)) = (fields.next(), fields.next()) {
            if scope == b"command" {
                let mut parts = setting.splitn(2, |b| *b == b'\n').map(BString::from);
                settings.push((parts.next().unwrap_or_default(), parts.next()));
            }
        }
        Ok(settings)
    }
}

/// Runs a prepared command to its end, feeding it `input` while its output is read.
///
/// # Errors
///
/// Where the program cannot be started or its streams break; not for its exit status.
pub fn run(command: Command, input: &[u8]) -> Result<Output, GitError> {
    run_into(command, input, Stdio::piped())
}

fn run_into(mut command: Command, input: &[u8], stdout: Stdio) -> Result<Output, GitError> {
    let stdin = if input.is_empty() {
        Stdio::null()
    } else {
        Stdio::piped()
    };
    let mut child = command
        .stdin(stdin)
        .stdout(stdout)
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| not_started(&command, error))?;
    let stdin = child.stdin.take();
    let (written, output) = std::thread::scope(|scope| {
        let writer = scope.spawn(move || stdin.map_or(Ok(()), |mut pipe| pipe.write_all(input)));
        let output = child.wait_with_output();
        (writer.join(), output)
    });
    let pipe = |source| GitError::Pipe {
        command: String::new(),
        source,
    };
    let output = output.map_err(pipe)?;
    match written {
        // A child that stops reading early says why by its exit status.
        Ok(Err(error)) if output.status.success() => Err(pipe(error)),
        _ => Ok(output),
    }
}

/// Runs a prepared command to its end, with a file as its standard input.
///
/// # Errors
///
/// As [`run`].
pub fn run_on(mut command: Command, input: std::fs::File) -> Result<Output, GitError> {
    let output = command.stdin(Stdio::from(input)).output();
    output.map_err(|error| not_started(&command, error))
}

/// Tells a Git that is missing from a directory that is: the system says the same of both.
fn not_started(command: &Command, error: std::io::Error) -> GitError {
    let entered = command.get_current_dir().map(|dir| (dir, dir.read_dir()));
    match entered {
        Some((dir, Err(source))) if source.kind() == error.kind() => GitError::NoDirectory {
            dir: dir.into(),
            source,
        },
        _ => GitError::NotStarted(error),
    }
}

impl GitError {
    fn named(self, name: &str) -> Self {
        match self {
            GitError::Pipe { source, .. } => GitError::Pipe {
                command: name.into(),
                source,
            },
            other => other,
        }
    }
}

fn subcommand(args: &[OsString]) -> String {
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.to_str() {
            Some("-c" | "-C") => drop(args.next()),
            Some(option) if option.starts_with('-') => {}
            _ => return arg.to_string_lossy().into_owned(),
        }
    }
    String::new()
}

/// Makes the error of a run that exited with anything but 0.
pub fn failure(command: String, output: &Output) -> GitError {
    let said = without_credentials(&String::from_utf8_lossy(&output.stderr));
    let lines: Vec<&str> = said
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    let from = lines
        .iter()
        .position(|line| line.starts_with("fatal:") || line.starts_with("error:"))
        .unwrap_or(0);
    let message = lines[from..]
        .iter()
        .take(8)
        .map(|line| line.trim_start_matches("fatal: "))
        .collect::<Vec<_>>();
    let message = if message.is_empty() {
        output.status.to_string()
    } else {
        message.join("; ")
    };
    GitError::Failed {
        command,
        code: output.status.code(),
        message,
    }
}

/// Tells whether Git says that it could not write for want of room: on the disk, or in what a file may grow to.
pub fn tells_no_room(message: &str) -> bool {
    let phrases = [
        "No space left on device",
        "File too large",
        "Out of diskspace",
        "unknown write failure on standard output",
        // The signal of that limit, setrlimit(2), where it ends Git or what Git has started.
        "(SIGXFSZ)",
        "died of signal 25",
    ];
    phrases.iter().any(|phrase| message.contains(phrase))
}

/// Replaces user name and password in every URL of a text by `***`.
pub fn without_credentials(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        clean.push_str(before);
        let end =
            after.find(|c: char| c.is_whitespace() || matches!(c, '/' | '\'' | '"' | '?' | '#'));
        let authority = &after[..end.unwrap_or(after.len())];
        rest = match authority.rfind('@') {
            Some(at) => {
                clean.push_str("***");
                &after[at..]
            }
            None => after,
        };
    }
    clean.push_str(rest);
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_taken_out_of_messages() {
        assert_eq!(
            without_credentials("To https://me:to@ken@host.example/x.git and ssh://git@host/y"),
            "To https://***@host.example/x.git and ssh://***@host/y"
        );
        assert_eq!(without_credentials("https://host/a@b"), "https://host/a@b");
    }

    #[test]
    fn a_directory_that_is_missing_is_not_taken_for_a_git_that_is() {
        let error = Git::in_dir("/no/such/directory").output(["version"]);
        let error = error.unwrap_err().to_string();
        assert_eq!(error, "cannot work in `/no/such/directory`");
    }

    #[test]
    fn a_failure_names_the_subcommand_and_what_git_said() {
        let error = Git::in_dir("/")
            .output(["-c", "a.b=c", "rev-parse", "--verify", "no-such-thing"])
            .unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with("git rev-parse failed: "), "{text}");
    }
}
