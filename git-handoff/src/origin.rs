//! The repository that a new directory gets: cloned from a URL, or copied from the one here.

use std::{
    fs,
    path::{Path, PathBuf},
};

use gix::{ObjectId, bstr::ByteSlice, refs::FullName};
use hooks::rejection::Rejection;
use remote_helper::url::{InnerUrl, UrlError};
use store::{
    credentials::Credentials,
    error_code::ErrorCode,
    git::{self, Git, GitError},
    remote_url::{absolute, without_credentials},
    repository::Repository,
    restore::{self, Flagging, Place, Restorable, RestoreError, Restored, Staging},
    scope::{RECORDS, ScopeName},
    verify::{self, Depth, VerifiedRecord},
};

use crate::{
    context::Context,
    error::CommandError,
    remote::{self, Remote},
    scopes::{ScopeArg, ambiguous},
    shallow::Shallow,
};

/// Why a scope may be there that is not shown.
pub(crate) const MAY_BE_HIDDEN: &str =
    "a server can hide refs/handoff/: `uploadpack.hideRefs`, `transfer.hideRefs` in git-config(1)";

/// URL of a repository, without `handoff::` in front and without credentials, which stand beside it.
pub(crate) struct Url {
    inner: String,
    credentials: Option<Credentials>,
    had_credentials: bool,
}

impl Url {
    pub(crate) fn parse(text: &str) -> Result<Self, CommandError> {
        let inner = text.strip_prefix("handoff::").unwrap_or(text);
        let why = match InnerUrl::parse(inner.into()) {
            _ if inner.starts_with('-') || inner.contains("::") => Some(String::new()),
            // `url.<base>.insteadOf` may give such a scheme a meaning.
            Ok(_) | Err(UrlError::Scheme(_)) => None,
            Err(UrlError::Empty) => Some(String::new()),
            Err(error) => Some(format!(": {error}")),
        };
        if let Some(why) = why {
            let shown = git::without_credentials(text);
            return Err(CommandError::new(
                ErrorCode::Usage,
                format!("`{shown}` is no URL of a Git repository{why}"),
            ));
        }
        let clean = without_credentials(inner.into()).to_string();
        Ok(Url {
            had_credentials: clean != inner,
            credentials: Credentials::of(inner.into()),
            inner: clean,
        })
    }

    /// Returns the URL as Git takes it.
    pub(crate) fn inner(&self) -> &str {
        &self.inner
    }

    /// Tells whether credentials were taken out of it.
    pub(crate) fn had_credentials(&self) -> bool {
        self.had_credentials
    }

    /// Returns Git, apart from every repository, with the credentials of the URL.
    fn git(&self, context: &Context) -> Git {
        let git = context.git(&context.dir).apart();
        git.with_credentials(self.credentials.clone())
    }
}

/// Returns the only scope at a URL.
pub(crate) fn only_scope(context: &Context, url: &Url) -> Result<ScopeName, CommandError> {
    let listed = url
        .git(context)
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
            CommandError::new(ErrorCode::NotFound, "the remote shows no scope")
                .hint("make one where the work is: git handoff save --push")
                .hint(MAY_BE_HIDDEN),
        ),
        1 => Ok(scopes.remove(0)),
        _ => Err(ambiguous(&scopes)),
    }
}

/// Fetches every scope at a URL into a new bare repository, as those of its remote `origin`.
pub(crate) fn fetch_all(
    context: &Context,
    url: &Url,
    dir: &Path,
) -> Result<Repository, CommandError> {
    let listed = url
        .git(context)
        .output(["ls-remote", url.inner(), "HEAD", "refs/handoff/*"])
        .map_err(unreachable)?;
    // Ids of SHA-256 have 64 digits.
    let is_sha256 = listed.find_byte(b'\t') == Some(64);
    let format = if is_sha256 { "sha256" } else { "sha1" };
    let git = url.git(context);
    git.output([
        "init",
        "-q",
        "--bare",
        "--template=",
        &format!("--object-format={format}"),
        &dir.to_string_lossy(),
    ])?;
    let args = [
        "-c",
        "core.hooksPath=/dev/null",
        "fetch",
        "-q",
        "--no-tags",
        "--no-write-fetch-head",
        "--no-auto-maintenance",
        "--recurse-submodules=no",
        url.inner(),
        "+refs/handoff/*:refs/handoff-remote/origin/*",
    ];
    let here = std::path::absolute(&context.dir)?;
    let inner = absolute(url.inner().into(), &here).to_string();
    let args = args.map(|arg| {
        if arg == url.inner() {
            inner.as_str()
        } else {
            arg
        }
    });
    git.moved_to(dir).output(args).map_err(unreachable)?;
    context.repository_at(dir)
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
    pub(crate) fn fill<'r>(
        &self,
        record: impl Into<Restorable<'r>>,
        flagging: Flagging,
    ) -> Result<Restored, CommandError> {
        let restored = restore::checkout(&self.repository, record, Place::NewRepository, flagging);
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

/// How much history a new repository gets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum History {
    /// All of it, as a clone has.
    Full,
    /// What the checkpoint needs.
    Shallow,
}

/// Makes a repository with one scope of that at a URL, without files, and sets up its remotes.
///
/// An interrupted restore into the directory is taken up again.
pub(crate) fn clone(
    context: &Context,
    url: &Url,
    wanted: &ScopeArg,
    history: History,
    dir: &Path,
) -> Result<NewRepository, CommandError> {
    if restore::is_begun(dir) {
        return Ok(NewRepository {
            repository: context.repository_at(dir)?,
            made: None,
        });
    }
    let staging = Staging::begin(dir)?;
    let made = staging.made();
    match history {
        History::Full => clone_all(context, url, &wanted.scope, &staging)?,
        History::Shallow => {
            let base = std::path::absolute(&context.dir).unwrap_or_else(|_| context.dir.clone());
            let shallow = Shallow {
                git: url.git(context),
                url: absolute(url.inner().into(), &base).to_string(),
                wanted,
            };
            shallow.make(&staging)?;
        }
    }
    let repository = context.repository_at(staging.path())?;
    Remote::set_up(&repository, remote::DEFAULT, None)?;
    if url.had_credentials {
        remote::warn_of_removed_credentials(context);
    }
    staging.finish()?;
    Ok(NewRepository {
        repository: context.repository_at(dir)?,
        made: Some(made),
    })
}

fn clone_all(
    context: &Context,
    url: &Url,
    scope: &ScopeName,
    staging: &Staging,
) -> Result<(), CommandError> {
    let tracking = scope
        .to_remote_ref(remote::DEFAULT)
        .expect("the default remote has a valid name");
    let refspec = format!("remote.origin.fetch=+{RECORDS}{scope}:{tracking}");
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
    let into = staging.path().into();
    args.extend([refspec.into(), "--".into(), url.inner().into(), into]);
    let cloned = url.git(context).output(&args);
    cloned.map_err(|error| not_read(error, scope))?;
    // The refspec was for this fetch alone: `origin` is for branches.
    let heads = "+refs/heads/*:refs/remotes/origin/*";
    let args = [
        "config",
        "--local",
        "--replace-all",
        "remote.origin.fetch",
        heads,
    ];
    context.git(staging.path()).apart().output(args)?;
    Ok(())
}

/// Says why a scope could not be brought here.
pub(crate) fn not_read(error: GitError, scope: &ScopeName) -> CommandError {
    match error {
        GitError::Failed { ref message, .. } if message.contains("couldn't find remote ref") => {
            let message = format!("the remote shows no scope `{scope}`");
            CommandError::new(ErrorCode::NotFound, message)
                .subject(scope.as_str())
                .hint(MAY_BE_HIDDEN)
        }
        error => unreachable(error),
    }
}

/// Makes a repository of its own with the commits of a record, and the remotes of this one.
pub(crate) fn copy(
    context: &Context,
    repository: &Repository,
    record: &VerifiedRecord,
    dir: &Path,
) -> Result<NewRepository, CommandError> {
    let (name, mark) = (record.scope().to_ref(), record.scope().to_verified_ref());
    let commits = [(record.id, name), (record.id, mark)];
    let explain = |error| incomplete(repository, record, error);
    copy_commits(context, repository, &commits, dir, explain)
}

/// Makes a repository of its own with some commits and the refs that name them, and the remotes of this one.
pub(crate) fn copy_commits(
    context: &Context,
    repository: &Repository,
    commits: &[(ObjectId, FullName)],
    dir: &Path,
    explain: impl Fn(RestoreError) -> CommandError,
) -> Result<NewRepository, CommandError> {
    let fill =
        |target: &Repository| restore::copy_objects(repository, target, commits).map_err(&explain);
    if restore::is_begun(dir) {
        let target = context.repository_at(dir)?;
        fill(&target)?;
        return Ok(NewRepository {
            repository: target,
            made: None,
        });
    }
    let staging = Staging::begin(dir)?;
    let made = Some(staging.made());
    let target = staging.init(repository.hash_kind())?;
    fill(&target)?;
    restore::copy_remotes(repository, &target)?;
    staging.finish()?;
    Ok(NewRepository {
        repository: context.repository_at(dir)?,
        made,
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
