//! Scopes of a store whose names differ from a new one in ASCII case alone.
//!
//! A store can have a hundred thousand scopes: refs are looked at by name here, never read one by one.

use std::{fs, io};

use gix::bstr::{BStr, ByteSlice};
use store::{
    ref_store::RefError,
    repository::Repository,
    scope::{RECORDS, ScopeName},
};

/// Returns the scopes with a ref whose name equals `scope`, ASCII case ignored.
///
/// # Errors
///
/// Where the refs cannot be read.
pub(super) fn of(repository: &Repository, scope: &ScopeName) -> Result<Vec<ScopeName>, RefError> {
    let found = if repository.has_ref_files() {
        in_files(repository, scope).map_err(|source| RefError::Unreadable {
            name: RECORDS.into(),
            source: source.into(),
        })?
    } else {
        let pattern = scope.to_ref().to_string();
        let args = [
            "for-each-ref",
            "--ignore-case",
            "--format=%(refname)",
            &pattern,
        ];
        let listed = repository.git().output(args)?;
        listed.lines().filter_map(scope_of).collect()
    };
    let same = |other: &ScopeName| other.as_str().eq_ignore_ascii_case(scope.as_str());
    Ok(found.into_iter().filter(same).collect())
}

fn scope_of(name: &[u8]) -> Option<ScopeName> {
    ScopeName::from_ref(BStr::new(name)).ok()
}

/// Looks at the names of loose refs, then of packed ones: a ref that is being packed is in one of the two places at
/// every moment, git-pack-refs(1).
fn in_files(repository: &Repository, scope: &ScopeName) -> io::Result<Vec<ScopeName>> {
    let common_dir = repository.common_dir();
    let mut found = Vec::new();
    if let Some(loose) = present(fs::read_dir(common_dir.join(RECORDS)))? {
        for entry in loose {
            let name = entry?.file_name();
            found.extend(name.to_str().and_then(|name| name.parse().ok()));
        }
    }
    if let Some(packed) = present(fs::read(common_dir.join("packed-refs")))? {
        let length = RECORDS.len() + scope.as_str().len();
        // `<id> SP <name> LF`; lines of another length cannot name it.
        let names = packed.lines().filter_map(|line| {
            let (rest, name) = line.split_at_checked(line.len().checked_sub(length)?)?;
            rest.ends_with(b" ").then_some(name)
        });
        found.extend(names.filter_map(scope_of));
    }
    Ok(found)
}

fn present<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
