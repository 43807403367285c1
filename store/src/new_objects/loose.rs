//! Writes few objects into the repository, a file each, as Git does with what it makes or receives in small numbers
//! (`fetch.unpackLimit` in git-config(1)): every pack costs each later command that opens the repository.
//!
//! A file is complete and durable before it gets its name; what an object names gets its name first.

use std::{
    collections::BTreeSet,
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use gix::{
    ObjectId,
    objs::{Kind, TreeRefIter, tree::EntryKind},
    odb::loose::Store,
    zlib::stream::deflate,
};

use super::{level, quarantine::Quarantine};

/// An object with its content.
pub(super) struct Object {
    pub(super) id: ObjectId,
    pub(super) kind: Kind,
    pub(super) data: Vec<u8>,
}

impl Object {
    /// Tells whether Git would look at nothing but the object's form, git-fsck(1): that of the trees made here is sound.
    ///
    /// What Git looks at more closely stands in a tree under a name that some file system takes for one of Git's own,
    /// or is a link.
    pub(super) fn is_plain(&self) -> bool {
        let mut entries = TreeRefIter::from_bytes(&self.data, self.id.kind());
        let is_plain = |name: &[u8], kind: EntryKind| {
            let is_own = name
                .get(..4)
                .is_some_and(|start| start.eq_ignore_ascii_case(b".git"));
            let is_odd = |b: &u8| !b.is_ascii_graphic() && *b != b' ' || b"\\~:/".contains(b);
            let is_known = name == b".gitignore" || name == b".github";
            kind != EntryKind::Link && (!is_own || is_known) && !name.iter().any(is_odd)
        };
        self.kind != Kind::Tree
            || entries
                .all(|entry| entry.is_ok_and(|entry| is_plain(entry.filename, entry.mode.kind())))
    }
}

/// Writes objects, of which each comes after those that it names, without a look at what they are.
pub(super) fn write(objects: &Path, few: &[Object]) -> io::Result<()> {
    let quarantine = Quarantine::make(objects)?;
    let unnamed = |id: &ObjectId| quarantine.path().join(id.to_string());
    for Object { id, kind, data } in few {
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o444)
            .open(unnamed(id))?;
        let mut packed = deflate::Write::new(file, level());
        packed.write_all(&gix::objs::encode::loose_header(*kind, data.len() as u64))?;
        packed.write_all(data)?;
        packed.flush()?;
        packed.into_inner().sync_all()?;
    }
    let mut changed = BTreeSet::new();
    for Object { id, .. } in few {
        let named = Store::at(objects, id.kind()).object_path(id);
        let dir = named.parent().unwrap_or(objects);
        match fs::create_dir(dir) {
            Ok(()) => drop(changed.insert(objects.to_owned())),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
        fs::rename(unnamed(id), &named)?;
        changed.insert(dir.to_owned());
    }
    for dir in changed {
        File::open(dir)?.sync_all()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use gix::bstr::ByteSlice;

    use super::*;

    /// Returns a tree of one file, or link, of a name.
    fn tree(mode: &str, name: &[u8]) -> Object {
        let data = [mode.as_bytes(), b" ", name, b"\0", &[1; 20]].concat();
        let id = ObjectId::null(gix::hash::Kind::Sha1);
        let kind = Kind::Tree;
        Object { id, kind, data }
    }

    #[test]
    fn git_is_asked_about_names_that_some_file_system_takes_for_its_own() {
        let asked: [&[u8]; 9] = [
            b".git",
            b".GIT ",
            b".gitmodules",
            b".gitattributes",
            b"git~1",
            b"GI7EBA~1",
            b"a\\.git",
            // U+200C, which HFS+ does not see.
            "\u{200c}.git".as_bytes(),
            b".mailmap",
        ];
        for name in asked {
            let mode = if name == b".mailmap" {
                "120000"
            } else {
                "100644"
            };
            assert!(!tree(mode, name).is_plain(), "{:?}", name.as_bstr());
        }
        for name in [
            "a",
            "read me.md",
            ".gitignore",
            ".mailmap",
            "x.git",
            "[a]-(b)+c",
        ] {
            assert!(tree("100644", name.as_bytes()).is_plain(), "{name}");
        }
    }

    #[test]
    fn a_tree_that_cannot_be_read_is_not_plain() {
        let mut broken = tree("100644", b"a");
        broken.data.truncate(20);
        assert!(!broken.is_plain());
    }
}
