//! The repository that a new directory gets: cloned from a URL, or copied from the one here.

use std::{
    fs,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use gix::bstr::{BString, ByteSlice};
use hooks::rejection::Rejection;
use store::{
    error_code::ErrorCode,
    git::{self, GitError},
    remote_url::without_credentials,
    repository::Repository,
    restore::{self, Flagging, Place, RestoreError, Restored},
    scope::{RECORDS, ScopeName},
    verify::{self, Depth, VerifiedRecord},
};

use crate::{context::Context, error::CommandError, remote, scopes::ambiguous};

/// URL of a repository, without `handoff::` in front.
pub(crate) struct Url(String);

impl Url {
    pub(crate) fn parse(text: &str) -> Result<Self, CommandError> {
        let inner = text.strip_prefix("handoff::").unwrap_or(text);
        if inner.is_empty() || inner.starts_with('-') || inner.contains("::") {
            let shown = git::without_credentials(text);
            return Err(CommandError::new(
                ErrorCode::Usage,
                format!("`{shown}` is no URL of a Git repository"),
            ));
        }
        Ok(Url(inner.into()))
    }

    /// Returns the URL as Git takes it.
    pub(crate) fn inner(&self) -> &str {
        &self.0
    }
}

/// Returns the only scope at a URL.
pub(crate) fn only_scope(context: &Context, url: &Url) -> Result<ScopeName, CommandError> {
    let git = context.git(&context.dir).apart();
    let listed = git
        .output(["ls-remote", "--refs", url.inner(), "refs/handoff/*"])
        .map_err(unreachable)?;
    let names = listed
        .lines()
        .filter_map(|line| line.splitn(2, |b| *b == b'\t').nth(1));
    let mut scopes: Vec<ScopeName> = names
        .filter_map(|name| ScopeName::from_ref(name.as_bstr()).ok())
        .collect();
    match scopes.len() {
        0 => Err(
            CommandError::new(ErrorCode::NotFound, "there is no scope at the remote")
                .hint("make one where the work is: git handoff save --push"),
        ),
        1 => Ok(scopes.remove(0)),
        _ => Err(ambiguous(&scopes)),
    }
}

/// A repository that was made to restore into, without files yet.
pub(crate) struct NewRepository {
    pub(crate) repository: Repository,
    /// What an end without success removes: nothing where an interrupted restore was taken up again.
    made: Option<PathBuf>,
}

impl NewRepository {
    /// Restores a record into it; where the record is at fault, nothing of it stays.
    ///
    /// After any other error what was begun is left, for a second run to complete.
    pub(crate) fn fill(
        &self,
        repository: &Repository,
        record: &VerifiedRecord,
        flagging: Flagging,
    ) -> Result<Restored, CommandError> {
        let restored = restore::checkout(repository, record, Place::NewRepository, flagging);
        Ok(restored.inspect_err(|error| {
            let at_fault = matches!(
                error.code(),
                ErrorCode::MalformedManifest
                    | ErrorCode::MissingObject
                    | ErrorCode::UnsafePath
                    | ErrorCode::LimitExceeded
            );
            if at_fault {
                self.discard();
            }
        })?)
    }

    /// Removes what was made for it.
    pub(crate) fn discard(&self) {
        if let Some(made) = &self.made {
            // Best effort: what stays is named by the next run.
            let _ = fs::remove_dir_all(made);
        }
    }
}

/// Clones the repository at a URL with one scope, without checking anything out.
///
/// An interrupted restore into the directory is taken up again.
pub(crate) fn clone(
    context: &Context,
    url: &Url,
    scope: &ScopeName,
    dir: &Path,
) -> Result<NewRepository, CommandError> {
    if restore::is_begun(dir) {
        return Ok(NewRepository {
            repository: context.repository_at(dir)?,
            made: None,
        });
    }
    let made = refuse_entries(dir)?;
    let tracking = scope
        .to_remote_ref(remote::DEFAULT)
        .expect("the default remote has a valid name");
    let refspec = format!("remote.origin.fetch=+{RECORDS}{scope}:{tracking}");
    let git = context.git(&context.dir).apart();
    let args = [
        "-c",
        "core.hooksPath=/dev/null",
        "clone",
        "-q",
        "--no-checkout",
        "--no-recurse-submodules",
        "-c",
    ];
    let mut args: Vec<std::ffi::OsString> = args.map(Into::into).into();
    args.extend([refspec.into(), "--".into(), url.inner().into(), dir.into()]);
    if let Err(error) = git.output(&args) {
        if made == Made::New {
            let _ = fs::remove_dir_all(dir);
        }
        return Err(match error {
            GitError::Failed { ref message, .. }
                if message.contains("couldn't find remote ref") =>
            {
                CommandError::new(
                    ErrorCode::NotFound,
                    format!("there is no scope `{scope}` at the remote"),
                )
                .subject(scope.as_str())
            }
            error => unreachable(error),
        });
    }
    let repository = context.repository_at(dir)?;
    // The refspec was for this fetch alone: `origin` is for branches.
    let heads = "+refs/heads/*:refs/remotes/origin/*";
    repository.git().output([
        "config",
        "--local",
        "--replace-all",
        "remote.origin.fetch",
        heads,
    ])?;
    let recorded = repository.config("remote.origin.url").unwrap_or_default();
    let clean = without_credentials(recorded.as_str().into()).to_string();
    if clean != recorded {
        repository
            .git()
            .output(["config", "--local", "remote.origin.url", &clean])?;
        remote::warn_of_removed_credentials(context);
    }
    restore::begin(&repository)?;
    Ok(NewRepository {
        repository,
        made: Some(made.part_of(dir)),
    })
}

/// Makes a repository of its own with the commits of a record, and the remotes of this one.
pub(crate) fn copy(
    context: &Context,
    repository: &Repository,
    record: &VerifiedRecord,
    dir: &Path,
) -> Result<NewRepository, CommandError> {
    let made = match restore::is_begun(dir) {
        true => None,
        false => Some(refuse_entries(dir)?.part_of(dir)),
    };
    let target = restore::init(dir, repository.hash_kind())?;
    let target = NewRepository {
        repository: target,
        made,
    };
    let (name, mark) = (record.scope().to_ref(), record.scope().to_verified_ref());
    let commits = [(record.id, name), (record.id, mark)];
    if let Err(error) = restore::copy_objects(repository, &target.repository, &commits) {
        target.discard();
        return Err(incomplete(repository, record, error));
    }
    restore::copy_remotes(repository, &target.repository)?;
    Ok(NewRepository {
        repository: context.repository_at(dir)?,
        ..target
    })
}

/// Names what is missing or damaged, where Git could not copy a record.
fn incomplete(
    repository: &Repository,
    record: &VerifiedRecord,
    error: RestoreError,
) -> CommandError {
    let scope = Some(record.scope());
    let whole = verify::record(repository.gix(), record.id, scope, None, Depth::Objects);
    let made = match whole.into_result().map_err(Rejection::from) {
        Ok(_) => CommandError::from(error),
        Err(rejection) => rejection.into(),
    };
    let is_partial = repository.config("extensions.partialClone").is_some();
    if !is_partial {
        return made;
    }
    let message = "this repository is a partial clone, and lacks objects of the checkpoint";
    CommandError::new(ErrorCode::MissingObject, message).hint(format!(
        "{}: restore it from where the objects are, with --from <url>",
        made.message
    ))
}

/// What of a directory is ours.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Made {
    New,
    WasThere,
}

impl Made {
    /// Returns what is removed where nothing comes of it.
    fn part_of(self, dir: &Path) -> PathBuf {
        match self {
            Made::New => dir.to_owned(),
            Made::WasThere => dir.join(".git"),
        }
    }
}

fn refuse_entries(dir: &Path) -> Result<Made, CommandError> {
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Made::New),
        other => other.and_then(Iterator::collect::<Result<Vec<_>, _>>),
    };
    let entries = entries.map_err(|error| {
        let message = format!("{}: {error}", dir.display());
        CommandError::new(ErrorCode::Io, message)
    })?;
    if entries.is_empty() {
        return Ok(Made::WasThere);
    }
    let mut entries: Vec<BString> = entries
        .iter()
        .map(|entry| entry.file_name().as_bytes().into())
        .collect();
    entries.sort();
    let dir = dir.to_owned();
    Err(RestoreError::NotEmpty { dir, entries }.into())
}

fn unreachable(error: GitError) -> CommandError {
    match error {
        GitError::Failed { message, .. } if message.contains("No space left on device") => {
            CommandError::new(
                ErrorCode::Io,
                format!("the repository could not be written: {message}"),
            )
            .hint("make room on the disk, then run the command again")
        }
        GitError::Failed { message, .. } => CommandError::new(
            ErrorCode::Unreachable,
            format!("the repository could not be read: {message}"),
        )
        .hint("see that the URL is right and the server can be reached"),
        other => other.into(),
    }
}
