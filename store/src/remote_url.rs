//! URLs of remotes, as they may be written down.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt, path::Path};

use gix::bstr::{BStr, BString, ByteSlice};

/// Returns a URL whose path, where it is relative, is relative to `base`, as one that is not.
pub fn absolute(url: &BStr, base: &Path) -> BString {
    let (helpers, inner) = split_helpers(url);
    if !is_relative_path(inner) {
        return url.into();
    }
    let path = base.join(OsStr::from_bytes(inner));
    [helpers, path.as_os_str().as_bytes()].concat().into()
}

/// Splits off what names remote helpers: everything up to the last `::` that ends such a name.
fn split_helpers(url: &[u8]) -> (&[u8], &[u8]) {
    let mut rest = url;
    while let Some((helper, inner)) = rest.split_once_str("::") {
        if helper.is_empty()
            || !helper
                .iter()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'+' | b'.'))
        {
            break;
        }
        rest = inner;
    }
    url.split_at(url.len() - rest.len())
}

/// Returns a URL that Git takes, without password, and without user name but for ssh, which needs it.
///
/// What stands before `::` names a remote helper and stays.
pub fn without_credentials(url: &BStr) -> BString {
    let (helpers, rest) = split_helpers(url);
    let mut clean = BString::from(helpers);
    match rest.split_once_str("://") {
        Some((scheme, after)) => {
            let end = after.find_byteset(b"/?#").unwrap_or(after.len());
            let (authority, path) = after.split_at(end);
            let (user, host) = match authority.rsplit_once_str("@") {
                Some((user, host)) => (Some(user), host),
                None => (None, authority),
            };
            clean.extend_from_slice(scheme);
            clean.extend_from_slice(b"://");
            if let Some(user) =
                user.filter(|_| scheme.ends_with_str("ssh") || scheme.starts_with_str("ssh"))
            {
                clean.extend_from_slice(user.split_str(":").next().unwrap_or_default());
                clean.push(b'@');
            }
            clean.extend_from_slice(host);
            clean.extend_from_slice(path);
        }
        None => clean.extend_from_slice(rest),
    }
    clean
}

/// Tells a path from `host:path`, as git-fetch(1), GIT URLS does: no colon before the first slash.
fn is_relative_path(url: &[u8]) -> bool {
    let first = url.find_byteset(b":/").map(|at| url[at]);
    !url.is_empty() && !url.starts_with(b"/") && first != Some(b':')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_lose_their_credentials_and_nothing_else() {
        let cases = [
            (
                "https://me:token@host.example/x.git",
                "https://host.example/x.git",
            ),
            (
                "https://token@host.example:8443/x@y.git",
                "https://host.example:8443/x@y.git",
            ),
            (
                "handoff::https://me:a@b@host.example/x",
                "handoff::https://host.example/x",
            ),
            (
                "ssh://git:secret@host.example/x",
                "ssh://git@host.example/x",
            ),
            (
                "handoff::git@host.example:x/y.git",
                "handoff::git@host.example:x/y.git",
            ),
            ("git@host.example:x::y", "git@host.example:x::y"),
            ("/srv/x.git", "/srv/x.git"),
            ("../x.git", "../x.git"),
            ("file:///srv/x.git", "file:///srv/x.git"),
        ];
        for (url, clean) in cases {
            assert_eq!(without_credentials(url.into()), clean, "{url}");
        }
    }

    #[test]
    fn relative_paths_become_absolute() {
        let cases = [
            ("../x.git", "/base/../x.git"),
            ("handoff::x", "handoff::/base/x"),
            ("/srv/x.git", "/srv/x.git"),
            ("git@host.example:x", "git@host.example:x"),
            ("https://host.example/x", "https://host.example/x"),
        ];
        for (url, full) in cases {
            assert_eq!(absolute(url.into(), Path::new("/base")), full, "{url}");
        }
    }
}
