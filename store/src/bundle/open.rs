//! Takes a bundle into a repository of its own.

use std::{
    ffi::OsString,
    fs::{self, File},
    io::{self, BufReader},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use gix::{
    ObjectId,
    bstr::{BString, ByteSlice},
    refs::FullName,
};

use super::{Header, HeaderError};
use crate::{
    error_code::ErrorCode,
    git::{self, Git, GitError},
    prepared::{self, PREPARED},
    ref_store::{RefChange, RefUpdate},
    repository::Repository,
    restore,
    scope::{RECORDS, ScopeName},
};

/// Where commits are that a bundle does not hold itself.
#[derive(Clone, Copy)]
pub enum Beside<'a> {
    /// Nowhere: the bundle must be whole.
    Nothing,
    /// In a repository, whose objects are seen as long as it is there.
    Seen(&'a Repository),
    /// In a repository, from which those that the bundle names, and no others, are copied.
    Copied(&'a Repository),
}

/// A bundle in a repository of its own; nothing in it was judged.
pub struct Opened {
    /// The repository, with a ref for each scope.
    pub repository: Repository,
    /// The scopes, by name, and their tips.
    pub scopes: Vec<(ScopeName, ObjectId)>,
    /// The prepared handoffs, by scope, as those of the repository's main worktree.
    pub prepared: Vec<(ScopeName, ObjectId)>,
}

/// Says why a file cannot be taken.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// It cannot be opened.
    #[error("{path} could not be read")]
    Read {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        #[source]
        source: io::Error,
    },
    /// It does not begin as a bundle does.
    #[error("{path} cannot be taken: {source}")]
    Header {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: HeaderError,
    },
    /// It holds a ref that is no scope's.
    #[error("{path} holds `{name}`, which is no scope")]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The ref.
        name: BString,
    },
    /// It holds no ref, or one twice.
    #[error("{path} holds {} `{RECORDS}`", if *.several { "a scope twice below" } else { "no ref below" })]
    Refs {
        /// The file.
        path: PathBuf,
        /// Whether it holds a ref more than once.
        several: bool,
    },
    /// Its objects are not of the repository's hash function.
    #[error("{path} is of a repository with {found} ids, this one has {expected}")]
    Hash {
        /// The file.
        path: PathBuf,
        /// Hash function of the repository.
        expected: gix::hash::Kind,
        /// Hash function of the file.
        found: gix::hash::Kind,
    },
    /// A commit that it builds on is not here.
    #[error("{path} builds on commit {id}, which is not here")]
    Prerequisite {
        /// The file.
        path: PathBuf,
        /// The commit.
        id: ObjectId,
    },
    /// Git could not take its objects.
    #[error("{path} cannot be taken: {message}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What Git said.
        message: String,
    },
    /// The repository for it could not be made.
    #[error("the repository for {path} could not be made")]
    Make {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl BundleError {
    /// Returns the code that the error carries.
    pub fn code(&self) -> ErrorCode {
        match self {
            BundleError::Read { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                ErrorCode::NotFound
            }
            BundleError::Read { .. } | BundleError::Make { .. } => ErrorCode::Io,
            BundleError::Header { source, .. } => match source {
                HeaderError::Unsupported(_) => ErrorCode::UnsupportedVersion,
                HeaderError::TooLarge => ErrorCode::LimitExceeded,
                HeaderError::Io(_) => ErrorCode::Io,
                HeaderError::NoBundle | HeaderError::Line(_) => ErrorCode::MalformedManifest,
                HeaderError::Truncated => ErrorCode::MissingObject,
            },
            BundleError::Foreign { .. } => ErrorCode::RefOutsideNamespace,
            BundleError::Refs { .. } => ErrorCode::MalformedManifest,
            BundleError::Hash { .. } => ErrorCode::ScopeMismatch,
            BundleError::Prerequisite { .. } => ErrorCode::MissingObject,
            BundleError::Damaged { message, .. } if git::tells_no_room(message) => ErrorCode::Io,
            BundleError::Damaged { .. } => ErrorCode::MissingObject,
        }
    }
}

/// Takes a bundle of scopes into a new bare repository in the empty directory `dir`.
///
/// Git reads it, and sees that nothing is missing of what its refs reach.
///
/// # Errors
///
/// Where it is no whole bundle of scopes; what is in `dir` then is of no use.
pub fn open(path: &Path, dir: &Path, beside: Beside<'_>) -> Result<Opened, BundleError> {
    let header = read_header(path)?;
    let (scopes, handoffs) = refs(path, &header)?;
    let made = |source: Box<dyn std::error::Error + Send + Sync>| BundleError::Make {
        path: path.into(),
        source,
    };
    let repository = make(dir, header.hash, beside).map_err(made)?;
    bring_prerequisites(path, &header, &repository, beside)?;
    let handoff = format!("+{PREPARED}main/*:{PREPARED}main/*");
    fetch(
        path,
        &repository,
        &["+refs/handoff/*:refs/handoff/*", &handoff],
    )?;
    let named = |(scope, id): &(ScopeName, ObjectId)| (scope.clone(), scope.to_ref(), *id);
    let of_prepared = |(scope, id): &(ScopeName, ObjectId)| {
        let name = prepared::name_of_main(scope);
        (scope.clone(), name, *id)
    };
    let all = scopes.iter().map(named);
    for (scope, name, id) in all.chain(handoffs.iter().map(of_prepared)) {
        let found = repository
            .find_ref(&name)
            .map_err(|error| made(error.into()))?;
        if found != Some(id) {
            // Somebody has written to it since its header was read.
            let message = format!("scope `{scope}` is not what its header says");
            return Err(BundleError::Damaged {
                path: path.into(),
                message,
            });
        }
    }
    Ok(Opened {
        repository,
        scopes,
        prepared: handoffs,
    })
}

/// Takes those refs of a bundle that match a refspec into a new bare repository in the empty directory `dir`.
///
/// The bundle must be whole.
///
/// # Errors
///
/// As [`open`].
pub(crate) fn open_refs(
    path: &Path,
    dir: &Path,
    refspec: &str,
) -> Result<(Repository, Header), BundleError> {
    let header = read_header(path)?;
    let repository =
        make(dir, header.hash, Beside::Nothing).map_err(|source| BundleError::Make {
            path: path.into(),
            source,
        })?;
    bring_prerequisites(path, &header, &repository, Beside::Nothing)?;
    fetch(path, &repository, &[refspec])?;
    Ok((repository, header))
}

fn read_header(path: &Path) -> Result<Header, BundleError> {
    let read = |source| BundleError::Read {
        path: path.into(),
        source,
    };
    let file = File::open(path).map_err(read)?;
    if file.metadata().map_err(read)?.is_dir() {
        return Err(read(io::Error::from(io::ErrorKind::IsADirectory)));
    }
    Header::read(&mut BufReader::new(file)).map_err(|source| BundleError::Header {
        path: path.into(),
        source,
    })
}

/// Scopes with what their refs name.
type Scopes = Vec<(ScopeName, ObjectId)>;

/// Returns the scopes and the prepared handoffs of a bundle, which must hold nothing else.
fn refs(path: &Path, header: &Header) -> Result<(Scopes, Scopes), BundleError> {
    let (mut scopes, mut handoffs) = (Scopes::new(), Scopes::new());
    for (name, id) in &header.refs {
        if let Some(scope) = prepared::scope_of_main(name.as_bstr()) {
            handoffs.push((scope, *id));
            continue;
        }
        let scope = ScopeName::from_ref(name.as_bstr()).map_err(|_| BundleError::Foreign {
            path: path.into(),
            name: name.clone(),
        })?;
        scopes.push((scope, *id));
    }
    scopes.sort();
    handoffs.sort();
    let twice = |refs: &Scopes| refs.windows(2).any(|pair| pair[0].0 == pair[1].0);
    let several = twice(&scopes) || twice(&handoffs);
    if several || scopes.is_empty() && handoffs.is_empty() {
        return Err(BundleError::Refs {
            path: path.into(),
            several,
        });
    }
    Ok((scopes, handoffs))
}

/// Makes a bare repository without hooks.
pub(crate) fn make(
    dir: &Path,
    hash: gix::hash::Kind,
    beside: Beside<'_>,
) -> Result<Repository, Box<dyn std::error::Error + Send + Sync>> {
    let format = format!("--object-format={hash}");
    let args = ["init", "--quiet", "--bare", "--template=", &format, "."];
    Git::in_dir(dir).apart().output(args)?;
    if let Beside::Seen(other) = beside
        && other.hash_kind() == hash
    {
        let info = dir.join("objects/info");
        fs::create_dir_all(&info)?;
        let objects = other.common_dir().join("objects");
        let line = [objects.as_os_str().as_bytes(), b"\n"].concat();
        fs::write(info.join("alternates"), line)?;
        match fs::copy(other.common_dir().join("shallow"), dir.join("shallow")) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Repository::at_git_dir(dir)?)
}

/// Gives the commits that the bundle builds on a name: Git asks that refs reach them.
fn bring_prerequisites(
    path: &Path,
    header: &Header,
    repository: &Repository,
    beside: Beside<'_>,
) -> Result<(), BundleError> {
    let named: Vec<(ObjectId, FullName)> = header
        .prerequisites
        .iter()
        .map(|id| {
            let name = format!("refs/prerequisites/{id}");
            (
                *id,
                FullName::try_from(name).expect("an id is a valid component"),
            )
        })
        .collect();
    if let Some((id, _)) = named.first()
        && matches!(beside, Beside::Nothing)
    {
        return Err(BundleError::Prerequisite {
            path: path.into(),
            id: *id,
        });
    }
    if let Beside::Seen(other) | Beside::Copied(other) = beside {
        if other.hash_kind() != header.hash && !named.is_empty() {
            return Err(BundleError::Hash {
                path: path.into(),
                expected: other.hash_kind(),
                found: header.hash,
            });
        }
        let absent = |(id, _): &&(ObjectId, FullName)| !other.gix().has_object(id);
        if let Some((id, _)) = named.iter().find(absent) {
            return Err(BundleError::Prerequisite {
                path: path.into(),
                id: *id,
            });
        }
    }
    type Cause = Box<dyn std::error::Error + Send + Sync>;
    let brought = match beside {
        Beside::Copied(other) => {
            restore::copy_objects(other, repository, &named).map_err(Cause::from)
        }
        Beside::Seen(_) if !named.is_empty() => {
            let update = |(id, name)| RefUpdate {
                name,
                change: RefChange::Create { new: id },
            };
            let updates: Vec<RefUpdate> = named.into_iter().map(update).collect();
            repository.update_refs(&updates).map_err(Cause::from)
        }
        Beside::Nothing | Beside::Seen(_) => Ok(()),
    };
    brought.map_err(|source| BundleError::Make {
        path: path.into(),
        source,
    })
}

/// Lets Git take the objects and refs of a bundle.
fn fetch(path: &Path, repository: &Repository, refspecs: &[&str]) -> Result<(), BundleError> {
    let absolute = std::path::absolute(path).map_err(|source| BundleError::Read {
        path: path.into(),
        source,
    })?;
    let options = [
        "-c",
        "protocol.file.allow=always",
        "-c",
        "core.hooksPath=/dev/null",
        "-c",
        "fetch.unpackLimit=1",
        "fetch",
        "--quiet",
        "--no-tags",
        "--no-write-fetch-head",
        "--no-auto-maintenance",
        "--recurse-submodules=no",
        "--",
    ];
    let mut args: Vec<OsString> = options.map(Into::into).into();
    args.push(absolute.into());
    args.extend(refspecs.iter().map(Into::into));
    match repository.git().output(&args) {
        Ok(_) => Ok(()),
        Err(GitError::Failed { message, .. }) => Err(BundleError::Damaged {
            path: path.into(),
            message,
        }),
        Err(error) => Err(BundleError::Make {
            path: path.into(),
            source: error.into(),
        }),
    }
}
