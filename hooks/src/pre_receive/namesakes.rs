//! Scopes of a store whose names differ from a new one in ASCII case alone.
//!
//! A store can have a hundred thousand scopes: refs are looked at by name here, never read one by one.

use std::{fs, io};

use gix::{
    bstr::{BStr, BString, ByteSlice},
    refs::packed::Buffer,
};
use store::{
    ref_store::RefError,
    repository::Repository,
    scope::{RECORDS, ScopeName},
};

/// Most beginnings that are looked up among packed refs before all scopes are read.
const MOST_LOOKS: usize = 2_000;

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
    let packed = repository.gix().refs.open_packed_buffer();
    if let Some(packed) = packed.map_err(io::Error::other)? {
        found.extend(in_packed(&packed, scope)?);
    }
    Ok(found)
}

/// Looks in the sorted names of packed refs, letter by letter: of the names that begin as `scope` does, ASCII case
/// ignored, each beginning is looked up once.
fn in_packed(packed: &Buffer, scope: &ScopeName) -> io::Result<Vec<ScopeName>> {
    let mut beginnings = vec![BString::from(RECORDS)];
    let mut looks = 0;
    for letter in scope.as_str().bytes() {
        let (lower, upper) = (letter.to_ascii_lowercase(), letter.to_ascii_uppercase());
        let mut longer = Vec::new();
        for beginning in beginnings {
            for letter in [Some(lower), Some(upper).filter(|upper| *upper != lower)] {
                let Some(letter) = letter else { continue };
                let mut name = beginning.clone();
                name.push(letter);
                if first_of(packed, &name)?.is_some() {
                    longer.push(name);
                }
                looks += 1;
            }
        }
        beginnings = longer;
        if looks > MOST_LOOKS {
            return all_of(packed);
        }
    }
    let mut found = Vec::new();
    for name in beginnings {
        // Of the names that begin with it, the name itself comes first.
        let first = first_of(packed, &name)?.filter(|first| *first == name);
        found.extend(first.and_then(|name| scope_of(&name)));
    }
    Ok(found)
}

fn first_of(packed: &Buffer, beginning: &BString) -> io::Result<Option<BString>> {
    let mut refs = packed
        .iter_prefixed(beginning.clone())
        .map_err(io::Error::other)?;
    let first = refs.next().transpose().map_err(io::Error::other)?;
    Ok(first.map(|found| found.name.as_bstr().to_owned()))
}

fn all_of(packed: &Buffer) -> io::Result<Vec<ScopeName>> {
    let refs = packed
        .iter_prefixed(RECORDS.into())
        .map_err(io::Error::other)?;
    let mut found = Vec::new();
    for entry in refs {
        found.extend(scope_of(entry.map_err(io::Error::other)?.name.as_bstr()));
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
