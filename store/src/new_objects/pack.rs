//! Objects in the form of a pack, in memory or in a file without a name.

use std::{
    collections::{HashMap, HashSet},
    io::{self, Read, Seek, SeekFrom, Write},
    path::Path,
};

use flate2::read::ZlibDecoder;
use gix::{ObjectId, objs::Kind, zlib};
use tempfile::{SpooledTempFile, spooled_tempfile_in};

use super::loose;
use crate::repository::Repository;

/// Bytes of packed objects that are held in memory before they spill into a file.
const IN_MEMORY: usize = 64 << 20;

/// Most objects that are written a file each: each is to be made durable by itself.
const FEW: usize = 32;

/// Most bytes that such objects have together.
const FEW_BYTES: u64 = 4 << 20;

/// Packed objects without header and trailer of a pack, and where each lies.
pub(super) struct Pack {
    entries: SpooledTempFile,
    length: u64,
    pub(super) objects: HashMap<ObjectId, Packed>,
    /// Objects that went into the repository.
    pub(super) written: HashSet<ObjectId>,
    /// Objects of the repository that are not what their ids say.
    pub(super) damaged: HashSet<ObjectId>,
}

/// Where an object lies among the packed ones.
#[derive(Clone, Copy)]
pub(super) struct Packed {
    pub(super) kind: Kind,
    /// Bytes of its content.
    size: u64,
    start: u64,
    length: u64,
}

impl Pack {
    /// Begins with no objects; `dir` is where a file is made once memory is not enough.
    pub(super) fn new(dir: &Path) -> Self {
        Pack {
            entries: spooled_tempfile_in(IN_MEMORY, dir),
            length: 0,
            objects: HashMap::new(),
            written: HashSet::new(),
            damaged: HashSet::new(),
        }
    }

    /// Adds an object of `size` bytes as it lies in a pack, unless it is here.
    pub(super) fn append(
        &mut self,
        id: ObjectId,
        kind: Kind,
        size: u64,
        packed: &mut dyn Read,
    ) -> io::Result<()> {
        if self.objects.contains_key(&id) {
            return Ok(());
        }
        let length = io::copy(packed, &mut self.entries)?;
        let start = self.length;
        self.objects.insert(
            id,
            Packed {
                kind,
                size,
                start,
                length,
            },
        );
        self.length += length;
        Ok(())
    }

    /// Returns the objects, in the order in which they came, where they can be written a file each.
    pub(super) fn few(
        &mut self,
        repository: &Repository,
    ) -> io::Result<Option<Vec<loose::Object>>> {
        let bytes: u64 = self.objects.values().map(|packed| packed.size).sum();
        // What is damaged may lie in a pack, which a file would not come before; modes are Git's business.
        let fits = self.objects.len() <= FEW && bytes <= FEW_BYTES && self.damaged.is_empty();
        if !fits || is_shared(repository) {
            return Ok(None);
        }
        let mut order: Vec<(ObjectId, Packed)> =
            self.objects.iter().map(|(id, at)| (*id, *at)).collect();
        order.sort_unstable_by_key(|(_, packed)| packed.start);
        let mut few = Vec::with_capacity(order.len());
        for (
            id,
            Packed {
                kind,
                size,
                start,
                length,
            },
        ) in order
        {
            let mut header = Vec::new();
            pack_header(kind).write_to(size, &mut header)?;
            let skipped = header.len() as u64;
            self.entries.seek(SeekFrom::Start(start + skipped))?;
            let packed = (&mut self.entries).take(length - skipped);
            let mut data = Vec::new();
            ZlibDecoder::new(packed).read_to_end(&mut data)?;
            if data.len() as u64 != size {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            few.push(loose::Object { id, kind, data });
        }
        self.entries.seek(SeekFrom::Start(self.length))?;
        Ok(Some(few))
    }

    /// Puts the objects into a pack file, in the order in which they came.
    pub(super) fn assemble(
        &mut self,
        hash: gix::hash::Kind,
        dir: &Path,
    ) -> io::Result<SpooledTempFile> {
        let count = u32::try_from(self.objects.len()).map_err(io::Error::other)?;
        let mut order: Vec<Packed> = self.objects.values().copied().collect();
        order.sort_unstable_by_key(|packed| packed.start);
        let pack = spooled_tempfile_in(IN_MEMORY, dir);
        let mut pack = gix::hash::io::Write::new(pack, hash);
        let version = gix_pack::data::Version::V2;
        pack.write_all(&gix_pack::data::header::encode(version, count))?;
        for Packed { start, length, .. } in order {
            self.entries.seek(SeekFrom::Start(start))?;
            let copied = io::copy(&mut (&mut self.entries).take(length), &mut pack)?;
            if copied != length {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        self.entries.seek(SeekFrom::Start(self.length))?;
        let trailer = pack.hash.try_finalize().map_err(io::Error::other)?;
        let mut pack = pack.inner;
        pack.write_all(trailer.as_slice())?;
        pack.rewind()?;
        Ok(pack)
    }
}

/// Tells whether files of the repository get other modes than the user's, `core.sharedRepository` in git-config(1).
fn is_shared(repository: &Repository) -> bool {
    let value = repository.config("core.sharedRepository");
    value.is_some_and(|value| !["umask", "false", "no", "off", "0"].contains(&value.as_str()))
}

pub(super) fn pack_object(kind: Kind, data: &[u8], packed: &mut Vec<u8>) -> io::Result<()> {
    pack_header(kind).write_to(data.len() as u64, packed)?;
    let mut deflate = zlib::stream::deflate::Write::new(packed, level());
    deflate.write_all(data)?;
    deflate.flush()
}

pub(super) fn pack_header(kind: Kind) -> gix_pack::data::entry::Header {
    use gix_pack::data::entry::Header;
    match kind {
        Kind::Tree => Header::Tree,
        Kind::Blob => Header::Blob,
        Kind::Commit => Header::Commit,
        Kind::Tag => Header::Tag,
    }
}

/// The fastest compression: packs that travel are made anew by Git.
pub(super) fn level() -> zlib::Compression {
    zlib::Compression::BEST_SPEED
}
