//! What a command reads: a scope of the repository here, or a file that holds one.
//!
//! The one place where a file is opened as a scope. It is taken into a repository of its own, so that every command
//! reads it as it reads any scope, and nothing of it comes into the repository here.

use std::{
    ffi::{OsStr, OsString},
    fs::{self, File},
    io::{self, Read, Write},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use clap::builder::{OsStringValueParser, TypedValueParser};
use gix::ObjectId;
use store::{
    bundle::{self, Beside, BundleError},
    error_code::ErrorCode,
    repository::Repository,
    scope::ScopeName,
    verify::VerifiedRecord,
};

use crate::{
    context::Context,
    error::CommandError,
    scopes::{ScopeArg, Scopes, Wanted, ambiguous},
    temporary::Temporary,
};

/// What a word on the command line means: one with a `/` is a file, any other a scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Scope(ScopeArg),
    File(PathBuf),
}

impl Source {
    /// Returns what reads a word of the command line.
    pub(crate) fn parser() -> impl TypedValueParser<Value = Source> {
        OsStringValueParser::new().try_map(|word: OsString| Self::parse(&word))
    }

    /// Reads a word of the command line.
    pub(crate) fn parse(word: &OsStr) -> Result<Self, String> {
        if word.as_bytes().contains(&b'/') {
            return Ok(Source::File(word.into()));
        }
        let word = word.to_string_lossy();
        let scope = word.parse::<ScopeArg>();
        scope
            .map(Source::Scope)
            .map_err(|error| format!("{error}; a file is named with a `/` in it, as in `./{word}`"))
    }
}

/// Writes a path so that it has a `/` in it.
pub(crate) fn as_file(path: &Path) -> String {
    let text = path.to_string_lossy();
    match text.contains('/') {
        true => text.into_owned(),
        false => format!("./{text}"),
    }
}

/// A repository with the scope that is to be read.
pub(crate) struct Opened {
    pub(crate) repository: Repository,
    /// The scope; none where the scope in use here is meant.
    pub(crate) scope: Option<ScopeArg>,
    /// The file that it comes from.
    pub(crate) file: Option<PathBuf>,
    /// Where the repository of a file lies.
    _directory: Option<Temporary>,
}

impl Opened {
    /// Remembers what was read of the scope; of a file, in the repository here, if there is one.
    pub(crate) fn remember_read(&self, context: &Context, record: &VerifiedRecord) {
        if self.file.is_none() {
            Scopes::new(context, &self.repository).remember_read(record);
        } else if let Ok(here) = context.repository() {
            Scopes::new(context, &here).remember_read(record);
        }
    }
}

/// Opens what a command reads; without a source, the repository here.
pub(crate) fn open(context: &Context, source: Option<&Source>) -> Result<Opened, CommandError> {
    let here = |scope: Option<&ScopeArg>| {
        Ok(Opened {
            repository: context.repository()?,
            scope: scope.cloned(),
            file: None,
            _directory: None,
        })
    };
    match source {
        None => here(None),
        Some(Source::Scope(scope)) => here(Some(scope)),
        Some(Source::File(path)) => open_scope(context, path),
    }
}

/// Opens a file that holds one scope.
///
/// What it builds on is taken from the repository here, if there is one.
fn open_scope(context: &Context, path: &Path) -> Result<Opened, CommandError> {
    let here = context.repository().ok();
    open_scope_beside(context, path, here.as_ref())
}

/// Opens a file that holds one scope, which may build on what another repository has.
pub(crate) fn open_scope_beside(
    context: &Context,
    path: &Path,
    beside: Option<&Repository>,
) -> Result<Opened, CommandError> {
    let file = open_file(context, path, beside)?;
    let all = file.scopes.iter().chain(&file.prepared);
    let mut names: Vec<ScopeName> = all.map(|(scope, _)| scope.clone()).collect();
    names.sort();
    names.dedup();
    let scope = match names.as_slice() {
        [scope] => scope.clone(),
        names => {
            let mut error = ambiguous(names).subject(path.display().to_string());
            error.hints.clear();
            error.next_commands.clear();
            return Err(error.hint("bring them here first, then name one").next(&[
                "git",
                "handoff",
                "import",
                &as_file(path),
            ]));
        }
    };
    // What is prepared is what the file is for; the scope is there for it to follow.
    let is_prepared = !file.prepared.is_empty();
    Ok(Opened {
        repository: file.repository,
        scope: Some(ScopeArg {
            scope,
            generation: is_prepared.then_some(Wanted::Prepared),
        }),
        file: Some(path.into()),
        _directory: Some(file.directory),
    })
}

/// A file of scopes in a repository of its own; nothing of it was judged.
pub(crate) struct OpenedFile {
    pub(crate) repository: Repository,
    pub(crate) scopes: Vec<(ScopeName, ObjectId)>,
    pub(crate) prepared: Vec<(ScopeName, ObjectId)>,
    directory: Temporary,
}

/// Opens a file of scopes, which may build on what another repository has; `-` is standard input.
pub(crate) fn open_file(
    context: &Context,
    path: &Path,
    beside: Option<&Repository>,
) -> Result<OpenedFile, CommandError> {
    let directory = Temporary::directory()?;
    let named = |path: &Path| context.path(path);
    let file = match path.as_os_str().as_bytes() {
        b"-" => spool(io::stdin().lock(), &directory)?,
        _ if is_stream(&named(path)) => spool(File::open(named(path))?, &directory)?,
        _ => named(path),
    };
    let git_dir = directory.path().join("repository");
    fs::create_dir(&git_dir)?;
    let beside = beside.map_or(Beside::Nothing, Beside::Seen);
    let opened = bundle::open(&file, &git_dir, beside)?;
    Ok(OpenedFile {
        repository: opened.repository,
        scopes: opened.scopes,
        prepared: opened.prepared,
        directory,
    })
}

/// Tells whether what is at a path can be read only once: a pipe, say.
fn is_stream(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir())
}

/// What every bundle begins with: gitformat-bundle(5).
const BUNDLE: &[u8] = b"# v";

/// Copies what is read into a file, because Git goes back and forth in it.
fn spool(mut from: impl io::Read, directory: &Temporary) -> Result<PathBuf, CommandError> {
    let path = directory.path().join("input");
    let (mut file, mut head) = (File::create(&path)?, Vec::new());
    from.by_ref()
        .take(BUNDLE.len() as u64)
        .read_to_end(&mut head)?;
    file.write_all(&head)?;
    // What is no bundle may have no end.
    if head == BUNDLE {
        io::copy(&mut from, &mut file)?;
    }
    Ok(path)
}

impl From<BundleError> for CommandError {
    fn from(error: BundleError) -> Self {
        let made = Self::from_error(error.code(), &error);
        match &error {
            BundleError::Foreign { .. } => {
                made.hint("a file of scopes holds refs/handoff/<scope> alone; `git fetch` takes others")
            }
            BundleError::Prerequisite { id, .. } => made.subject(id.to_string()).hint(
                "run this in a clone that has the commit, or ask for a file that was exported without --base",
            ),
            BundleError::Damaged { .. } if error.code() == ErrorCode::Io => {
                made.hint("make room on the disk, then run the command again")
            }
            BundleError::Damaged { .. } if error.code() == ErrorCode::MissingObject => {
                made.hint("the file is damaged or was not copied whole; get it again")
            }
            BundleError::Header { .. } if error.code() == ErrorCode::MissingObject => {
                made.hint("the file was not copied whole; get it again")
            }
            BundleError::Header { .. } if error.code() == ErrorCode::UnsupportedVersion => {
                made.hint("a newer program or a filter wrote it; upgrade this one, or ask for a whole file")
            }
            _ => made,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_with_a_slash_is_a_file_and_any_other_a_scope() {
        let file = Source::parse(OsStr::new("./work")).unwrap();
        assert_eq!(file, Source::File("./work".into()));
        let bytes = OsStr::from_bytes(b"dir/\xff");
        assert_eq!(Source::parse(bytes).unwrap(), Source::File(bytes.into()));
        assert!(matches!(
            Source::parse(OsStr::new("work@2")),
            Ok(Source::Scope(ScopeArg {
                generation: Some(_),
                ..
            }))
        ));
        let refused = Source::parse(OsStr::new("two words")).unwrap_err();
        assert!(refused.ends_with("as in `./two words`"), "{refused}");
    }
}
