//! Turns errors into a code, a message and hints.

use store::error_code::ErrorCode;

/// An error as a user reads it.
#[derive(Debug)]
pub(crate) struct CommandError {
    pub(crate) code: ErrorCode,
    pub(crate) message: String,
    pub(crate) hints: Vec<String>,
    /// The scope, ref, path or file that it concerns.
    pub(crate) subject: Option<String>,
    /// The single errors, where several are reported at once.
    pub(crate) errors: Vec<Detail>,
    /// Commands that lead on.
    pub(crate) next_commands: Vec<Vec<String>>,
    closed_pipe: bool,
}

/// One of several errors that are reported at once.
#[derive(Debug, schemars::JsonSchema, serde::Serialize)]
pub(crate) struct Detail {
    pub(crate) code: ErrorCode,
    pub(crate) message: String,
    pub(crate) subject: Option<String>,
}

impl CommandError {
    /// Makes an error of a code and a message: lower case, no full stop.
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        CommandError {
            code,
            message: message.into(),
            hints: Vec::new(),
            subject: None,
            errors: Vec::new(),
            next_commands: Vec::new(),
            closed_pipe: false,
        }
    }

    /// Makes an error of a library's, with its causes in the message.
    pub(crate) fn from_error(code: ErrorCode, error: &dyn std::error::Error) -> Self {
        let mut message = error.to_string();
        let mut cause = error.source();
        while let Some(error) = cause {
            let text = error.to_string();
            if !message.contains(&text) {
                message.push_str(": ");
                message.push_str(&text);
            }
            cause = error.source();
        }
        Self::new(code, message)
    }

    /// Tells whether the reader of our output went away.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        self.closed_pipe
    }

    /// Adds a hint: what to do next, in one sentence.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Names what the error concerns.
    pub(crate) fn subject(mut self, subject: impl Into<String>) -> Self {
        self.subject = Some(subject.into());
        self
    }

    /// Names each path that the error concerns.
    fn paths(mut self, paths: &[store::repo_path::RepoPath]) -> Self {
        let code = self.code;
        let detail = |path: &store::repo_path::RepoPath| Detail {
            code,
            message: path.to_string(),
            subject: Some(path.to_string()),
        };
        self.errors.extend(paths.iter().map(detail));
        self
    }

    /// Adds a command that leads on.
    pub(crate) fn next(mut self, command: &[&str]) -> Self {
        self.next_commands
            .push(command.iter().map(ToString::to_string).collect());
        self
    }
}

impl From<store::git::GitError> for CommandError {
    fn from(error: store::git::GitError) -> Self {
        use store::git::GitError;
        match &error {
            GitError::NotStarted(_) => Self::from_error(ErrorCode::GitFailed, &error)
                .hint("install Git 2.39 or newer and see that it is on the PATH"),
            GitError::NoDirectory { dir, source } => {
                let code = match source.kind() {
                    std::io::ErrorKind::NotFound => ErrorCode::NotFound,
                    _ => ErrorCode::Io,
                };
                Self::from_error(code, &error).subject(dir.display().to_string())
            }
            GitError::Failed { message, .. } if store::git::tells_no_room(message) => {
                Self::from_error(ErrorCode::Io, &error)
                    .hint("make room on the disk, then run the command again")
            }
            GitError::Pipe { .. } | GitError::Failed { .. } => {
                Self::from_error(ErrorCode::GitFailed, &error)
            }
        }
    }
}

impl From<store::repository::OpenError> for CommandError {
    fn from(error: store::repository::OpenError) -> Self {
        use store::repository::OpenError;
        match error {
            OpenError::NotFound { ref message, .. } if message.contains("dubious ownership") => {
                Self::from_error(ErrorCode::GitFailed, &error)
                    .hint("the repository belongs to another user; git-config(1) says how safe.directory permits it")
            }
            OpenError::NotFound { .. } => Self::from_error(ErrorCode::NotFound, &error)
                .hint("run this inside a Git repository, or name one with `-C <dir>`"),
            OpenError::Git(error) => error.into(),
            OpenError::LineFeed(_) | OpenError::Open { .. } => {
                Self::from_error(ErrorCode::Io, &error)
            }
        }
    }
}

impl From<store::ref_store::RefError> for CommandError {
    fn from(error: store::ref_store::RefError) -> Self {
        use store::ref_store::RefError;
        match error {
            RefError::Moved { .. } => Self::from_error(ErrorCode::CasConflict, &error)
                .hint("another writer was faster; `git handoff sync` shows where the scope is now"),
            RefError::Symbolic { .. } => Self::from_error(ErrorCode::RefOutsideNamespace, &error)
                .hint("refs under refs/handoff point at commits; delete it with `git symbolic-ref --delete`"),
            RefError::Git(error) => error.into(),
            RefError::Unreadable { .. } | RefError::Answer(_) => Self::from_error(ErrorCode::Io, &error),
        }
    }
}

impl From<hooks::rejection::Rejection> for CommandError {
    fn from(rejection: hooks::rejection::Rejection) -> Self {
        let hints = rejection.hints;
        CommandError {
            hints,
            ..Self::new(rejection.code, rejection.detail)
        }
    }
}

impl From<store::snapshot::SnapshotError> for CommandError {
    fn from(error: store::snapshot::SnapshotError) -> Self {
        use store::snapshot::SnapshotError;
        let with = |code| Self::from_error(code, &error);
        match &error {
            SnapshotError::Bare(_) => with(ErrorCode::Usage),
            SnapshotError::Index { path, .. } => {
                let path = path.display().to_string();
                with(ErrorCode::Io)
                    .hint("a damaged index is rebuilt once it is moved away; what was staged is lost")
                    .next(&["mv", &path, &format!("{path}.damaged")])
                    .next(&["git", "read-tree", "HEAD"])
                    .subject(path)
            }
            SnapshotError::Filter { path, .. } => with(ErrorCode::GitFailed)
                .subject(path.to_string())
                .hint("run the filter by hand, or leave the path out with `--omit <path>`"),
            SnapshotError::LimitExceeded { files, .. } => {
                let mut made = with(ErrorCode::LimitExceeded);
                let omits = files.iter().map(|(path, _)| {
                    crate::ui::shell_line(&["--omit".into(), format!(":(top,literal){path}")])
                });
                let omits: Vec<String> = omits.collect();
                made.errors = files
                    .iter()
                    .map(|(path, size)| Detail {
                        code: ErrorCode::LimitExceeded,
                        message: format!("`{path}` has {size} bytes"),
                        subject: Some(path.to_string()),
                    })
                    .collect();
                made.hint(format!("go on without them: {}", omits.join(" ")))
                    .hint("`handoff.maxFileBytes` and `handoff.maxTotalBytes` set the limits")
            }
            SnapshotError::Changed(_) => with(ErrorCode::WorktreeChanged)
                .hint("stop what writes to the worktree, or leave the paths out with `--omit <path>`"),
            SnapshotError::UnsafePath(_) => with(ErrorCode::UnsafePath)
                .hint("servers that check objects refuse such paths; take them out of the index"),
            SnapshotError::Pathspec { .. } => with(ErrorCode::Usage),
            SnapshotError::Object { id, .. } => with(ErrorCode::MissingObject)
                .subject(id.to_string())
                .hint("`git fsck` names all that is missing or damaged; `git cat-file -t` fetches what a partial clone lacks")
                .hint("a damaged file below .git/objects gives way once it is moved away; `git add` makes the object anew")
                .next(&["git", "cat-file", "-t", &id.to_string()]),
            SnapshotError::Io { .. } | SnapshotError::Write(_) | SnapshotError::Config { .. } => {
                with(ErrorCode::Io)
            }
            SnapshotError::Git(_) => with(ErrorCode::GitFailed),
            SnapshotError::Ref(_) => with(ErrorCode::Io),
        }
    }
}

impl From<store::record::WriteError> for CommandError {
    fn from(error: store::record::WriteError) -> Self {
        use store::record::WriteError;
        match error {
            WriteError::Identity => Self::from_error(ErrorCode::IdentityMissing, &error)
                .hint("set them for this repository, or with --global for all")
                .next(&["git", "config", "user.name", "<name>"])
                .next(&["git", "config", "user.email", "<address>"]),
            WriteError::Git(error) => error.into(),
            WriteError::Answer => Self::from_error(ErrorCode::GitFailed, &error),
        }
    }
}

impl From<store::lineage::LineageError> for CommandError {
    fn from(error: store::lineage::LineageError) -> Self {
        use store::lineage::LineageError;
        match error {
            LineageError::Git(error) => error.into(),
            LineageError::History(..) => Self::from_error(ErrorCode::MissingObject, &error)
                .hint("`git fsck` names what is missing"),
            LineageError::Answer => Self::from_error(ErrorCode::GitFailed, &error),
        }
    }
}

impl From<store::restore::RestoreError> for CommandError {
    fn from(error: store::restore::RestoreError) -> Self {
        use store::restore::RestoreError as E;
        let made = Self::from_error(error.code(), &error);
        match &error {
            E::NotEmpty { dir, .. } => made
                .subject(dir.display().to_string())
                .hint("give a new or empty directory"),
            E::InTheWay(paths) => made
                .paths(paths)
                .hint("move these paths away, or restore into a new directory"),
            E::Changed(paths) | E::Mismatch { paths, .. } | E::Strays(paths) => made.paths(paths),
            E::Operation(_) | E::Born(_) => made.hint("or restore into a new directory"),
            E::Bare(dir) => made
                .subject(dir.display().to_string())
                .hint("restore into a new directory"),
            E::Locked(path) => made
                .subject(path.display().to_string())
                .hint("see that no other Git runs here, then remove the file"),
            E::Object { .. } => made.hint("`git fsck` names what is missing"),
            _ => made,
        }
    }
}

impl From<store::new_objects::NewObjectsError> for CommandError {
    fn from(error: store::new_objects::NewObjectsError) -> Self {
        Self::from_error(ErrorCode::Io, &error)
    }
}

impl From<std::io::Error> for CommandError {
    fn from(error: std::io::Error) -> Self {
        let closed_pipe = error.kind() == std::io::ErrorKind::BrokenPipe;
        CommandError {
            closed_pipe,
            ..Self::from_error(ErrorCode::Io, &error)
        }
    }
}
