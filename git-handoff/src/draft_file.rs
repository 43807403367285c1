//! Where drafts are read from: `-f`, else `<git-dir>/handoff/draft/<scope>.yaml`.

use std::{
    fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use store::{digest::Digest, error_code::ErrorCode, repository::Repository, scope::ScopeName};

use crate::{context::Context, error::CommandError};

/// Most bytes of a draft that are read; one that has more is refused by its reader.
const MAX_BYTES: u64 = 2 << 20;

/// The bytes of a draft.
#[derive(Debug)]
pub(crate) struct DraftFile {
    /// What people call it: its path, or `standard input`.
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
}

impl DraftFile {
    /// Reads the draft that `-f` names, else the one at its own place, if there is one.
    pub(crate) fn find(
        context: &Context,
        repository: &Repository,
        scope: &ScopeName,
        named: Option<&Path>,
    ) -> Result<Option<Self>, CommandError> {
        let path = match named {
            Some(path) if path == Path::new("-") => {
                let mut bytes = Vec::new();
                io::stdin().take(MAX_BYTES).read_to_end(&mut bytes)?;
                let name = "standard input".into();
                return Ok(Some(DraftFile { name, bytes }));
            }
            Some(path) => context.path(path),
            None => path(repository, scope),
        };
        match fs::File::open(&path).and_then(|file| {
            let mut bytes = Vec::new();
            file.take(MAX_BYTES).read_to_end(&mut bytes)?;
            Ok(bytes)
        }) {
            Ok(bytes) => Ok(Some(DraftFile {
                name: path.display().to_string(),
                bytes,
            })),
            Err(error) if error.kind() == io::ErrorKind::NotFound && named.is_none() => Ok(None),
            Err(error) => {
                let code = match error.kind() {
                    io::ErrorKind::NotFound => ErrorCode::NotFound,
                    _ => ErrorCode::Io,
                };
                let message = format!("the draft {} cannot be read: {error}", path.display());
                Err(CommandError::new(code, message).subject(path.display().to_string()))
            }
        }
    }

    pub(crate) fn digest(&self) -> Digest {
        Digest::of(&self.bytes)
    }
}

/// Returns the place of a scope's draft.
pub(crate) fn path(repository: &Repository, scope: &ScopeName) -> PathBuf {
    let folder = repository.git_dir().join("handoff").join("draft");
    folder.join(format!("{scope}.yaml"))
}

/// Puts the draft of a scope aside once a checkpoint says what it said, unless it was changed since; it is kept as
/// `<scope>.yaml~`.
pub(crate) fn put_aside(repository: &Repository, scope: &ScopeName, digest: Digest) {
    let path = path(repository, scope);
    if fs::read(&path).is_ok_and(|bytes| Digest::of(&bytes) == digest) {
        // Where it cannot be moved, the next draft begins with what it says.
        let _ = fs::rename(&path, aside(&path));
    }
}

/// Puts a draft back in its place that was put aside, unless another one is there.
pub(crate) fn put_back(repository: &Repository, scope: &ScopeName, digest: Digest) {
    let path = path(repository, scope);
    let aside = aside(&path);
    if !path.exists() && fs::read(&aside).is_ok_and(|bytes| Digest::of(&bytes) == digest) {
        // Where it cannot be moved, it is still there under its other name.
        let _ = fs::rename(&aside, &path);
    }
}

/// Returns where a draft is kept that was put aside.
pub(crate) fn aside(path: &Path) -> PathBuf {
    let mut aside = path.as_os_str().to_owned();
    aside.push("~");
    aside.into()
}
