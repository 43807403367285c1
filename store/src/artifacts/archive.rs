//! The archive of untracked files: sorted, and without anything of the machine that wrote it.

use std::{
    fs::File,
    io::{self, BufReader, Read},
    os::unix::ffi::OsStrExt,
    path::Path,
};

use flate2::{Compression, GzBuilder, read::MultiGzDecoder, write::GzEncoder};
use gix::{bstr::ByteSlice, objs::tree::EntryKind};
use tar::{Archive, Builder, EntryType, Header};

use super::{
    ArtifactsError, UNTRACKED,
    files::{UntrackedFile, UntrackedFiles},
};
use crate::{error_code::ErrorCode, verify::Violation};

/// Longest target that a link can have in a header itself, in bytes.
const MAX_TARGET_BYTES: usize = 100;
/// Bytes that the headers of one entry take at most, besides its names.
const MAX_HEADERS_BYTES: u64 = 8 * 512;

/// Writes the archive.
pub(super) fn write(
    files: &mut UntrackedFiles,
    path: &Path,
    out: &File,
) -> Result<(), ArtifactsError> {
    let failed = |source| ArtifactsError::Io {
        path: path.into(),
        source,
    };
    // No name, no time: gzip(1) puts both in unless it is told not to.
    let gzip = GzBuilder::new().mtime(0).write(out, Compression::default());
    let mut archive = Builder::new(gzip);
    for at in 0..files.files.len() {
        let bytes = files.bytes(at)?;
        append(&mut archive, &files.files[at], &bytes).map_err(failed)?;
    }
    let gzip = archive.into_inner().map_err(failed)?;
    gzip.finish().map_err(failed)?;
    Ok(())
}

fn append(
    archive: &mut Builder<GzEncoder<&File>>,
    file: &UntrackedFile,
    bytes: &[u8],
) -> io::Result<()> {
    let mut header = Header::new_gnu();
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mode(mode(file.kind));
    let path = Path::new(std::ffi::OsStr::from_bytes(&file.path));
    if file.kind != EntryKind::Link {
        header.set_entry_type(EntryType::Regular);
        header.set_size(bytes.len() as u64);
        return archive.append_data(&mut header, path, bytes);
    }
    header.set_entry_type(EntryType::Symlink);
    header.set_size(0);
    if bytes.len() <= MAX_TARGET_BYTES {
        header.set_link_name_literal(bytes)?;
    } else {
        // The target goes before, byte for byte: other ways of setting it fold `//` and `./`.
        let mut long = Header::new_gnu();
        long.set_path("././@LongLink")
            .or_else(|_| long.set_path("@LongLink"))?;
        long.set_mode(0o644);
        long.set_uid(0);
        long.set_gid(0);
        long.set_mtime(0);
        long.set_size(bytes.len() as u64 + 1);
        long.set_entry_type(EntryType::GNULongLink);
        long.set_cksum();
        archive.append(&long, bytes.chain(&b"\0"[..]))?;
        header.set_link_name_literal(&bytes[..MAX_TARGET_BYTES])?;
    }
    archive.append_data(&mut header, path, io::empty())
}

/// Returns the permissions that a file has in the archive.
fn mode(kind: EntryKind) -> u32 {
    match kind {
        EntryKind::Link => 0o777,
        EntryKind::BlobExecutable => 0o755,
        _ => 0o644,
    }
}

/// Compares an archive with the files that it must hold, and nothing else; nothing is written.
pub(super) fn compare(
    files: &mut UntrackedFiles,
    path: &Path,
) -> Result<Option<Violation>, ArtifactsError> {
    let file = File::open(path).map_err(|source| ArtifactsError::Io {
        path: path.into(),
        source,
    })?;
    let mut most = 4 * MAX_HEADERS_BYTES;
    for at in 0..files.files.len() {
        let names = files.files[at].path.len() as u64;
        most += files.bytes(at)?.len() as u64 + 2 * names + MAX_HEADERS_BYTES;
    }
    let mut archive = Archive::new(MultiGzDecoder::new(BufReader::new(file)).take(most));
    let found = differs(files, &mut archive).and_then(|violation| match violation {
        Some(violation) => Ok(Some(violation)),
        None => ends(archive.into_inner()).map_err(Unread::Archive),
    });
    Ok(match found {
        Ok(violation) => violation,
        Err(Unread::Ours(error)) => return Err(error),
        Err(Unread::Archive(error)) => {
            let detail = format!("the archive cannot be read: {error}");
            Some(Violation::new(ErrorCode::MissingObject, UNTRACKED, detail))
        }
    })
}

/// Reads what stands behind the entries: nothing but padding, and the checksum of the whole.
fn ends(mut rest: io::Take<impl Read>) -> io::Result<Option<Violation>> {
    let mut bytes = Vec::new();
    rest.read_to_end(&mut bytes)?;
    let is_padding = rest.limit() > 0 && bytes.iter().all(|byte| *byte == 0);
    Ok((!is_padding).then(|| {
        let detail = "the archive goes on behind its last entry";
        Violation::new(ErrorCode::TreeMismatch, UNTRACKED, detail)
    }))
}

/// Says what could not be read.
enum Unread {
    Ours(ArtifactsError),
    Archive(io::Error),
}

fn differs(
    files: &mut UntrackedFiles,
    archive: &mut Archive<impl Read>,
) -> Result<Option<Violation>, Unread> {
    let mut at = 0;
    for entry in archive.entries().map_err(Unread::Archive)? {
        let mut entry = entry.map_err(Unread::Archive)?;
        let path = entry.path_bytes().as_bstr().to_owned();
        let wrong = |what: &str| {
            let artifact = format!("{UNTRACKED}: {path}");
            Ok(Some(Violation::new(
                ErrorCode::TreeMismatch,
                artifact,
                what,
            )))
        };
        match files.files.get(at) {
            Some(file) if file.path == path => {}
            Some(file) if file.path < path => {
                let artifact = format!("{UNTRACKED}: {}", file.path);
                let detail = "it is missing in the archive";
                return Ok(Some(Violation::new(
                    ErrorCode::TreeMismatch,
                    artifact,
                    detail,
                )));
            }
            _ => return wrong("it is no untracked file of the checkpoint"),
        }
        let kind = files.files[at].kind;
        let is_link = entry.header().entry_type() == EntryType::Symlink;
        let mode = entry.header().mode().map_err(Unread::Archive)?;
        if is_link != (kind == EntryKind::Link)
            || !(is_link || entry.header().entry_type() == EntryType::Regular)
            || (!is_link && mode & 0o7777 != self::mode(kind))
        {
            return wrong("it has another kind or mode than in the checkpoint");
        }
        let expected = files.bytes(at).map_err(Unread::Ours)?;
        let same = if is_link {
            entry
                .link_name_bytes()
                .is_some_and(|target| *target == *expected)
        } else {
            entry.size() == expected.len() as u64 && {
                let mut bytes = Vec::with_capacity(expected.len());
                entry.read_to_end(&mut bytes).map_err(Unread::Archive)?;
                bytes == expected
            }
        };
        if !same {
            return wrong("its content is not that of the checkpoint");
        }
        at += 1;
    }
    let missing = files.files.get(at).map(|file| {
        let artifact = format!("{UNTRACKED}: {}", file.path);
        Violation::new(
            ErrorCode::TreeMismatch,
            artifact,
            "it is missing in the archive",
        )
    });
    Ok(missing)
}
