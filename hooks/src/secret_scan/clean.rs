//! Files that were looked through and found clean, so that the next look at them is short.
//!
//! An entry stands for one blob at one path, under the rules, marks and version of the engine that found nothing. It
//! is a digest of these, so that a torn file stands for nothing more; a file that another user wrote is not read. Losing
//! the file costs time, nothing else.

use std::{
    collections::BTreeSet,
    fs,
    io::Write,
    path::{Path, PathBuf},
};

use gix::{ObjectId, bstr::BStr};
use store::digest::Digest;

use crate::own_file;

/// Bytes of an entry.
const ENTRY: usize = 16;
/// Most entries that are remembered.
const MAX_ENTRIES: usize = 1 << 16;

type Entry = [u8; ENTRY];

/// What is remembered, and what a look adds to it.
#[derive(Default)]
pub(super) struct CleanFiles {
    path: Option<PathBuf>,
    /// What entries are made under: engine, marks, rules.
    under: Vec<u8>,
    /// In order; read when first asked for.
    known: Option<Vec<Entry>>,
    new: BTreeSet<Entry>,
}

impl CleanFiles {
    /// Remembers in a file of this user in a directory.
    pub(super) fn in_dir(dir: &Path, under: &[u8]) -> Self {
        let user = rustix::process::geteuid().as_raw();
        CleanFiles {
            path: Some(dir.join(format!("clean-{user}"))),
            under: under.to_owned(),
            ..CleanFiles::default()
        }
    }

    /// Tells whether a blob was found clean at a path.
    pub(super) fn has(&mut self, id: ObjectId, path: &BStr) -> bool {
        let entry = self.entry(id, path);
        let known = self.known.get_or_insert_with(|| read(self.path.as_deref()));
        known.binary_search(&entry).is_ok() || self.new.contains(&entry)
    }

    /// Adds a blob that was found clean.
    pub(super) fn add(&mut self, id: ObjectId, path: &BStr) {
        if self.path.is_some() && self.new.len() < MAX_ENTRIES {
            self.new.insert(self.entry(id, path));
        }
    }

    fn entry(&self, id: ObjectId, path: &BStr) -> Entry {
        let bytes = [&self.under, id.as_slice(), path.as_ref()].concat();
        let digest = Digest::of(&bytes);
        *digest.as_bytes().first_chunk().expect("32 bytes are more")
    }

    /// Writes what was added; a file that is full begins anew with it.
    pub(super) fn store(&mut self) {
        let Some(path) = self.path.as_deref().filter(|_| !self.new.is_empty()) else {
            return;
        };
        // Another process may have written meanwhile; what it found is kept where there is room.
        let mut all = read(Some(path));
        if all.len() + self.new.len() > MAX_ENTRIES {
            all.clear();
        }
        all.extend(std::mem::take(&mut self.new));
        all.sort_unstable();
        all.dedup();
        let _ = write(path, &all);
        self.known = Some(all);
    }
}

fn read(path: Option<&Path>) -> Vec<Entry> {
    let bytes = path.and_then(|path| own_file::read(path, (MAX_ENTRIES * ENTRY) as u64));
    let bytes = bytes.unwrap_or_default();
    let (entries, _) = bytes.as_chunks::<ENTRY>();
    let mut entries = entries.to_vec();
    // Ours is in order; another one must not lead the search astray.
    if !entries.is_sorted() {
        entries.sort_unstable();
    }
    entries
}

fn write(path: &Path, entries: &[Entry]) -> std::io::Result<()> {
    let dir = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(dir)?;
    let mut file = own_file::new_in(dir)?;
    file.write_all(entries.as_flattened())?;
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(digit: &str) -> ObjectId {
        ObjectId::from_hex(digit.repeat(40).as_bytes()).unwrap()
    }

    #[test]
    fn what_was_found_clean_is_so_at_its_path_and_under_its_rules_alone() {
        let dir = tempfile::tempdir().unwrap();
        let below = dir.path().join("below");
        let mut first = CleanFiles::in_dir(&below, b"rules");
        assert!(!first.has(id("1"), "a".into()));
        first.add(id("1"), "a".into());
        first.store();
        let has = |under: &str, digit: &str, path: &str| {
            CleanFiles::in_dir(&below, under.as_bytes()).has(id(digit), path.into())
        };
        assert!(has("rules", "1", "a"));
        for (under, digit, path) in [
            ("others", "1", "a"),
            ("rules", "2", "a"),
            ("rules", "1", "b"),
        ] {
            assert!(!has(under, digit, path), "{under} {digit} {path}");
        }
    }

    #[test]
    fn a_file_that_is_torn_stands_for_nothing_more() {
        let dir = tempfile::tempdir().unwrap();
        let mut known = CleanFiles::in_dir(dir.path(), b"rules");
        for digit in ["1", "2", "3", "4"] {
            known.add(id(digit), "a".into());
        }
        known.store();
        let file = known.path.clone().unwrap();
        let whole = fs::read(&file).unwrap();
        assert_eq!(whole.len(), 4 * ENTRY);
        for cut in 0..whole.len() {
            fs::write(&file, &whole[cut..]).unwrap();
            let mut read = CleanFiles::in_dir(dir.path(), b"rules");
            assert!(!read.has(id("5"), "a".into()), "cut at {cut}");
            let found = ["1", "2", "3", "4"].map(|digit| read.has(id(digit), "a".into()));
            let expected = if cut % ENTRY == 0 { 4 - cut / ENTRY } else { 0 };
            let found = found.iter().filter(|found| **found).count();
            assert_eq!(found, expected, "cut at {cut}");
        }
    }

    #[test]
    fn a_link_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (real, link) = (dir.path().join("real"), dir.path().join("link"));
        let mut known = CleanFiles::in_dir(&real, &[]);
        known.add(id("1"), "a".into());
        known.store();
        fs::create_dir(&link).unwrap();
        let name = known.path.as_deref().and_then(Path::file_name).unwrap();
        std::os::unix::fs::symlink(real.join(name), link.join(name)).unwrap();
        assert!(CleanFiles::in_dir(&real, &[]).has(id("1"), "a".into()));
        assert!(!CleanFiles::in_dir(&link, &[]).has(id("1"), "a".into()));
    }
}
