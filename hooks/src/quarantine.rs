//! Shows a repository the objects of a push that Git still holds in quarantine.
//!
//! Git names the quarantine in `GIT_OBJECT_DIRECTORY` and the repository's own objects in
//! `GIT_ALTERNATE_OBJECT_DIRECTORIES` (git-receive-pack(1)); gix looks at neither. So the objects are read through
//! a directory of ours whose `info/alternates` lists them all. Replacements (git-replace(1)) do not count there:
//! whoever can push a ref could otherwise make a hook read other objects than those it lets in.

use std::{
    ffi::{OsStr, OsString},
    fs, io,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
    time::Duration,
};

use gix::{
    bstr::{BString, ByteSlice},
    quote::ansi_c,
};
use store::repository::Repository;

use crate::server_dir::ServerDir;

/// How deep alternates of alternates are followed, as Git does.
const MAX_DEPTH: usize = 5;
/// Age of a view whose hook cannot be at work any more.
const LEFT_OVER: Duration = Duration::from_secs(24 * 60 * 60);

/// Where Git says that the objects are.
#[derive(Clone, Debug, Default)]
pub struct ObjectDirectories {
    /// `GIT_OBJECT_DIRECTORY`: the quarantine; without it, there is none.
    pub own: Option<OsString>,
    /// `GIT_ALTERNATE_OBJECT_DIRECTORIES`.
    pub alternates: Option<OsString>,
}

/// Says why the objects of a push cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum QuarantineError {
    /// The directory that lists the object directories cannot be made.
    #[error("no directory can be made in {dir}, so the objects of the push cannot be read")]
    View {
        /// Where it was to be made.
        dir: PathBuf,
        /// What went wrong.
        #[source]
        source: io::Error,
    },
    /// The list of alternates of an object directory cannot be read.
    #[error("the alternates of the object directory {dir} cannot be read")]
    Alternates {
        /// The object directory.
        dir: PathBuf,
        /// What went wrong.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The object directories cannot be opened.
    #[error("the objects of the push cannot be opened")]
    Open(#[source] io::Error),
}

/// Keeps the objects of a push visible; to be dropped after the repository was last read.
#[derive(Debug)]
#[must_use]
pub struct View {
    _directory: Option<tempfile::TempDir>,
}

/// Makes a repository read its objects from where Git says that they are, and nothing through a replacement.
///
/// # Errors
///
/// Where the objects cannot be opened; nothing may be judged then.
pub fn show(
    repository: &mut Repository,
    directories: &ObjectDirectories,
) -> Result<View, QuarantineError> {
    let objects = repository.common_dir().join("objects");
    let Some(quarantine) = &directories.own else {
        open(repository, &objects)?;
        return Ok(View { _directory: None });
    };
    let mut listed = Listed::default();
    listed.add(Path::new(quarantine).into(), 0)?;
    for path in split(directories.alternates.as_deref().unwrap_or_default()) {
        listed.add(path, 0)?;
    }
    let server_dir = ServerDir::of(repository.git_dir());
    let view = make_view(&server_dir, &listed.0).map_err(|source| QuarantineError::View {
        dir: server_dir.path().into(),
        source,
    })?;
    open(repository, view.path())?;
    Ok(View {
        _directory: Some(view),
    })
}

fn open(repository: &mut Repository, objects: &Path) -> Result<(), QuarantineError> {
    let kind = repository.hash_kind();
    let store = gix::odb::at(objects, kind).map_err(QuarantineError::Open)?;
    // No object is ever written through it: what a judgement makes stays in memory.
    repository.gix_mut().objects = gix::odb::memory::Proxy::new(store, kind);
    Ok(())
}

fn make_view(server_dir: &ServerDir, listed: &[PathBuf]) -> io::Result<tempfile::TempDir> {
    let views = server_dir.directory("views")?;
    remove_left_over(&views);
    let view = tempfile::Builder::new().prefix("push-").tempdir_in(views)?;
    let mut alternates = Vec::new();
    for path in listed {
        alternates.extend_from_slice(&quoted(path));
        alternates.push(b'\n');
    }
    fs::create_dir(view.path().join("info"))?;
    fs::write(view.path().join("info/alternates"), alternates)?;
    Ok(view)
}

/// Removes the views of hooks that were killed.
fn remove_left_over(views: &Path) {
    let old = |entry: &fs::DirEntry| {
        let made = entry.metadata().and_then(|found| found.modified());
        made.is_ok_and(|made| made.elapsed().is_ok_and(|age| age > LEFT_OVER))
    };
    for entry in fs::read_dir(views).into_iter().flatten().flatten() {
        if old(&entry) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Writes a path as a line of `info/alternates`: in C quotes where it needs them, or looks like a comment.
fn quoted(path: &Path) -> BString {
    let bytes = path.as_os_str().as_bytes().as_bstr();
    let quoted = ansi_c::quote(bytes).into_owned();
    if quoted.starts_with(b"#") {
        // Only a quotation tells it from a comment; nothing in it needs an escape.
        BString::from([b"\"", quoted.as_slice(), b"\""].concat())
    } else {
        quoted
    }
}

/// Object directories in the order in which they are looked at, none twice.
#[derive(Default)]
struct Listed(Vec<PathBuf>);

impl Listed {
    /// Adds a directory and its alternates: gix takes relative ones of an alternate for relative to the view.
    fn add(&mut self, path: PathBuf, depth: usize) -> Result<(), QuarantineError> {
        let path = std::path::absolute(&path).unwrap_or(path);
        if self.0.contains(&path) || depth > MAX_DEPTH {
            return Ok(());
        }
        self.0.push(path.clone());
        let failed = |source| QuarantineError::Alternates {
            dir: path.clone(),
            source,
        };
        let bytes = match fs::read(path.join("info/alternates")) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(failed(error.into())),
        };
        let alternates =
            gix::odb::alternate::parse(&bytes).map_err(|error| failed(error.into()))?;
        for alternate in alternates {
            self.add(path.join(alternate), depth + 1)?;
        }
        Ok(())
    }
}

/// Takes the paths of `GIT_ALTERNATE_OBJECT_DIRECTORIES` apart: `:` between them, one that begins with `"` is in C
/// quotes, one that begins with `#` is a comment (git(1), and `parse_alt_odb_entry` of Git).
fn split(value: &OsStr) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    let mut rest = value.as_bytes().as_bstr();
    while !rest.is_empty() {
        let end = rest.find_byte(b':').unwrap_or(rest.len());
        let (path, used) = match ansi_c::undo(rest) {
            Ok((path, used)) if rest.starts_with(b"\"") => (path.into_owned(), used),
            _ => (rest[..end].as_bstr().to_owned(), end),
        };
        if !path.is_empty() && !rest.starts_with(b"#") {
            paths.push(PathBuf::from(OsString::from_vec(path.into())));
        }
        rest = rest.get(used + 1..).unwrap_or_default().as_bstr();
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(value: &str) -> Vec<String> {
        let paths = split(value.as_ref()).into_iter();
        paths.map(|path| path.display().to_string()).collect()
    }

    #[test]
    fn alternates_are_taken_apart_as_git_does() {
        assert_eq!(paths("/a/objects:/b"), ["/a/objects", "/b"]);
        assert_eq!(paths(r#""/a:\"b\"\n":/c"#), ["/a:\"b\"\n", "/c"]);
        assert_eq!(paths("/a::#/b:/c:"), ["/a", "/c"]);
        // A quotation that does not end is no quotation.
        assert_eq!(paths("\"/a:/b"), ["\"/a", "/b"]);
        assert!(paths("").is_empty());
    }

    #[test]
    fn paths_read_back_as_they_were_written() {
        for path in ["/a b", "/a\nb", "#a", "/\"a\"", "/ä", "a\\b"] {
            let read = gix::odb::alternate::parse(&quoted(Path::new(path))).unwrap();
            assert_eq!(read, [PathBuf::from(path)]);
        }
    }
}
