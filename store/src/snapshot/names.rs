//! Names that strict Git servers refuse for ever.

use gix::{
    bstr::ByteSlice,
    validate::path::component::{self, Options},
};

const FOLDED: Options = Options {
    protect_windows: false,
    protect_hfs: true,
    protect_ntfs: true,
};

/// Tells whether `git fsck` finds the last component of a path in error: `.git` as HFS+ or NTFS fold it, also
/// behind a backslash, or a link named `.gitmodules`.
pub(super) fn is_refused(path: &[u8], is_link: bool) -> bool {
    let name = path.rsplit(|b| *b == b'/').next().unwrap_or(path);
    let mode = is_link.then_some(component::Mode::Symlink);
    let refused = |part: &[u8]| {
        matches!(
            gix::validate::path::component(part.as_bstr(), mode, FOLDED),
            Err(component::Error::DotGitDir | component::Error::SymlinkedGitModules)
        )
    };
    refused(name) || name.split(|b| *b == b'\\').skip(1).any(refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_fold_to_dot_git_are_refused() {
        for name in [
            ".GIT",
            "a/.git ",
            "git~1",
            ".g\u{200c}it",
            "x\\.git",
            ".git::$INDEX_ALLOCATION",
        ] {
            assert!(is_refused(name.as_bytes(), false), "{name}");
        }
        for name in [".github", ".gitignore", "git", ".gitmodules", "back\\slash"] {
            assert!(!is_refused(name.as_bytes(), false), "{name}");
        }
        assert!(is_refused(b"a/.gitmodules", true));
    }
}
