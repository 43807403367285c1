//! Which names may be written to disk.

use gix::bstr::{BStr, BString, ByteSlice};

use crate::repo_path::RepoPath;

/// Longest path that a tree may hold, in bytes; a system allows 4,096 with the directory above.
pub(crate) const MAX_PATH_BYTES: usize = 4_096;

/// Says why a path must not be written.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum UnsafePath {
    /// A component is or folds to `.git`, or is a link that folds to `.gitmodules`, or no file name at all.
    #[error("`{path}` has a component that must never be written: {why}")]
    Component {
        /// The path.
        path: BString,
        /// What is wrong with it.
        why: String,
    },
    /// The path is longer than a system allows.
    #[error("a path below `{0}` is too long")]
    TooLong(BString),
}

/// Judges one file name: `.git` in any spelling that HFS+ or NTFS folds, `..`, an empty name.
///
/// Source: `git-fsck(1)`, `hasDotgit` and its kin; NTFS takes a backslash for a separator.
pub(crate) fn component(name: &BStr, is_link: bool) -> Result<(), String> {
    let options = gix::validate::path::component::Options {
        protect_windows: false,
        protect_hfs: true,
        protect_ntfs: true,
    };
    let mode = is_link.then_some(gix::validate::path::component::Mode::Symlink);
    let pieces = std::iter::once(name).chain(name.split(|b| *b == b'\\').map(ByteSlice::as_bstr));
    if name.contains(&0) {
        return Err("it holds a NUL".into());
    }
    pieces
        .filter(|piece| !piece.is_empty() || piece.len() == name.len())
        .filter(|piece| piece.len() == name.len() || !matches!(piece.as_bytes(), b"." | b".."))
        .try_for_each(|piece| gix::validate::path::component(piece, mode, options).map(|_| ()))
        .map_err(|error| error.to_string())
}

/// Judges every component of a path of the manifest.
///
/// # Errors
///
/// Where the path must not be written.
pub fn path(path: &RepoPath, is_link: bool) -> Result<(), UnsafePath> {
    if path.as_bstr().len() > MAX_PATH_BYTES {
        return Err(UnsafePath::TooLong(path.as_bstr()[..64].as_bstr().into()));
    }
    let last = path.components().count() - 1;
    path.components().enumerate().try_for_each(|(at, name)| {
        component(name, is_link && at == last).map_err(|why| UnsafePath::Component {
            path: path.as_bstr().into(),
            why,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_dot_git_is_refused() {
        let names: [&[u8]; 9] = [
            b".git",
            b".GIT",
            b"git~1",
            b".git ",
            b".git.",
            b"a\\.git",
            b".git\\a",
            b".g\xe2\x80\x8cit",
            b".git::$INDEX_ALLOCATION",
        ];
        for name in names {
            assert!(
                component(name.as_bstr(), false).is_err(),
                "{}",
                name.as_bstr()
            );
        }
    }

    #[test]
    fn a_link_must_not_be_named_gitmodules() {
        assert!(component(b".gitmodules".as_bstr(), true).is_err());
        assert!(component(b".gitmodules".as_bstr(), false).is_ok());
    }

    #[test]
    fn odd_but_legal_names_pass() {
        for name in [
            &b"a\\b"[..],
            b"\xff\xfe",
            b"-rf",
            b"a\nb",
            b"con",
            b"\\",
            b"a\\..\\b",
        ] {
            assert!(
                component(name.as_bstr(), false).is_ok(),
                "{}",
                name.as_bstr()
            );
        }
    }
}
