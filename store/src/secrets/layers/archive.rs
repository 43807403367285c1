//! Packed files: gzip, zlib, zip, tar.

use std::io::Read;

use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use gix::bstr::BString;
use rawzip::CompressionMethod;

/// Bit of a zip entry's flags that says that it is encrypted.
const ENCRYPTED: u16 = 1;

/// How bytes are packed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in super::super) enum Kind {
    Gzip,
    Zlib,
    Zip,
    Tar,
}

/// Tells how bytes are packed, by how they begin.
pub(in super::super) fn kind(bytes: &[u8]) -> Option<Kind> {
    match bytes {
        [0x1f, 0x8b, 8, ..] => Some(Kind::Gzip),
        // RFC 1950: method 8, a window of 32 KiB, and a header that is a multiple of 31.
        [0x78, flags @ (0x01 | 0x5e | 0x9c | 0xda), ..]
            if (0x7800 + u16::from(*flags)).is_multiple_of(31) =>
        {
            Some(Kind::Zlib)
        }
        [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => Some(Kind::Zip),
        _ if bytes.get(257..262) == Some(b"ustar") => Some(Kind::Tar),
        _ => None,
    }
}

/// What may still be unpacked.
pub(in super::super) struct Allowance {
    /// Bytes.
    pub(in super::super) bytes: usize,
    /// Members.
    pub(in super::super) members: usize,
}

/// A file in a packed file.
pub(in super::super) struct Member {
    /// Its name; empty for a packed file without one.
    pub(in super::super) name: BString,
    /// What it holds.
    pub(in super::super) bytes: Vec<u8>,
}

/// Says why a packed file was not looked into.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in super::super) enum Refusal {
    /// It holds more than is allowed.
    TooMuch,
    /// It is encrypted, or packed by a method that is not known.
    Unknown,
    /// It is none, or broken.
    Broken,
}

/// Calls `each` with the members of a packed file.
pub(in super::super) fn unpack(
    bytes: &[u8],
    kind: Kind,
    allowance: &mut Allowance,
    each: &mut dyn FnMut(Member, &mut Allowance),
) -> Result<(), Refusal> {
    let nameless = |bytes| Member {
        name: BString::default(),
        bytes,
    };
    match kind {
        Kind::Gzip => inflate(MultiGzDecoder::new(bytes), allowance)
            .map(|bytes| each(nameless(bytes), allowance)),
        Kind::Zlib => inflate(ZlibDecoder::new(bytes), allowance)
            .map(|bytes| each(nameless(bytes), allowance)),
        Kind::Zip => unzip(bytes, allowance, each),
        Kind::Tar => untar(bytes, allowance, each),
    }
}

/// Reads to the end, but no more than is allowed; a broken end keeps what came before it.
fn inflate(reader: impl Read, allowance: &mut Allowance) -> Result<Vec<u8>, Refusal> {
    let mut bytes = Vec::new();
    let read = reader
        .take(allowance.bytes as u64 + 1)
        .read_to_end(&mut bytes);
    if bytes.len() > allowance.bytes {
        return Err(Refusal::TooMuch);
    }
    if read.is_err() && bytes.is_empty() {
        return Err(Refusal::Broken);
    }
    allowance.bytes -= bytes.len();
    Ok(bytes)
}

fn count(allowance: &mut Allowance) -> Result<(), Refusal> {
    allowance.members = allowance.members.checked_sub(1).ok_or(Refusal::TooMuch)?;
    Ok(())
}

fn unzip(
    bytes: &[u8],
    allowance: &mut Allowance,
    each: &mut dyn FnMut(Member, &mut Allowance),
) -> Result<(), Refusal> {
    let archive = rawzip::ZipArchive::from_slice(bytes).map_err(|_| Refusal::Broken)?;
    let mut result = Ok(());
    for record in archive.entries() {
        let record = record.map_err(|_| Refusal::Broken)?;
        if record.is_dir() {
            continue;
        }
        count(allowance)?;
        let entry = archive
            .get_entry(record.wayfinder())
            .map_err(|_| Refusal::Broken)?;
        let member = match record.compression_method() {
            _ if record.flags().bits() & ENCRYPTED != 0 => Err(Refusal::Unknown),
            CompressionMethod::STORE => inflate(entry.data(), allowance),
            CompressionMethod::DEFLATE => inflate(DeflateDecoder::new(entry.data()), allowance),
            _ => Err(Refusal::Unknown),
        };
        match member {
            Ok(bytes) => each(
                Member {
                    name: record.file_path().as_ref().into(),
                    bytes,
                },
                allowance,
            ),
            Err(Refusal::TooMuch) => return Err(Refusal::TooMuch),
            Err(refusal) => result = Err(refusal),
        }
    }
    result
}

fn untar(
    bytes: &[u8],
    allowance: &mut Allowance,
    each: &mut dyn FnMut(Member, &mut Allowance),
) -> Result<(), Refusal> {
    let mut archive = tar::Archive::new(bytes);
    for entry in archive.entries().map_err(|_| Refusal::Broken)? {
        let mut entry = entry.map_err(|_| Refusal::Broken)?;
        count(allowance)?;
        let name = entry.path_bytes().into_owned().into();
        let bytes = inflate(&mut entry, allowance)?;
        each(Member { name, bytes }, allowance);
    }
    Ok(())
}
