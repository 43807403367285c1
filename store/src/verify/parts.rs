//! The small trees of blobs in a record: receipts and attachments.

use std::collections::{BTreeMap, BTreeSet};

use gix::{
    ObjectId,
    bstr::{BString, ByteSlice},
    objs::tree::{EntryKind, EntryMode},
};

use super::Violation;
use crate::{
    contract::{Content, Receipt, check, codec, lists::ListBlobs},
    digest::Digest,
    entry_id::EntryId,
    error_code::ErrorCode,
    record::{RootTree, SubTree, read_object},
};

/// Largest tree of receipts, lists or attachments, in bytes.
const MAX_SUB_TREE_BYTES: u64 = 16 << 20;
/// Most bytes that the lists, or the receipts, of one record may have together.
const MAX_DOCUMENTS_BYTES: u64 = 64 << 20;
/// Most bytes that the attachments of one record may have together.
const MAX_ATTACHMENTS_BYTES: u64 = 256 << 20;
/// Most lists that a manifest can name.
const MAX_LISTS: usize = 16;

/// Reads blobs as long as they are within a limit together.
struct Allowance<'a> {
    objects: &'a gix::Repository,
    bytes_left: u64,
}

impl Allowance<'_> {
    fn read(&mut self, id: ObjectId, artifact: &str) -> Result<Vec<u8>, Violation> {
        let size = self.objects.find_header(id).map(|header| header.size());
        if size.is_ok_and(|size| size > self.bytes_left) {
            let detail = "the files beside it leave no room for it";
            return Err(Violation::new(ErrorCode::LimitExceeded, artifact, detail));
        }
        let bytes = read_object(self.objects, id, gix::objs::Kind::Blob, self.bytes_left)
            .map_err(|error| Violation::from_record_error(&error, artifact))?;
        self.bytes_left -= bytes.len() as u64;
        Ok(bytes)
    }
}

/// Returns the files of a tree that holds nothing else; none where there is no tree.
fn files(
    objects: &gix::Repository,
    tree: Option<ObjectId>,
    name: &str,
) -> Result<Vec<(BString, EntryMode, ObjectId)>, Violation> {
    tree.map_or(Ok(Vec::new()), |tree| Ok(sub_tree(objects, tree, name)?.0))
}

fn sub_tree(objects: &gix::Repository, tree: ObjectId, name: &str) -> Result<SubTree, Violation> {
    let data = read_object(objects, tree, gix::objs::Kind::Tree, MAX_SUB_TREE_BYTES)
        .map_err(|error| Violation::from_record_error(&error, name))?;
    let malformed = |detail| Violation::new(ErrorCode::MalformedManifest, name, detail);
    let found = SubTree::parse(&data, objects.object_hash())
        .map_err(|_| malformed("the tree is malformed"))?;
    if found.0.is_empty() {
        return Err(malformed("an empty tree must be left out"));
    }
    match found
        .0
        .iter()
        .find(|(_, mode, _)| *mode != EntryMode::from(EntryKind::Blob))
    {
        Some(_) => Err(malformed("an entry that is no regular file")),
        None => Ok(found),
    }
}

/// Reads the list blobs of a record.
pub(crate) fn lists(
    objects: &gix::Repository,
    tree: Option<ObjectId>,
) -> Result<ListBlobs, Violation> {
    let mut blobs = ListBlobs::default();
    let mut allowance = Allowance {
        objects,
        bytes_left: MAX_DOCUMENTS_BYTES,
    };
    let found = files(objects, tree, "lists")?;
    if found.len() > MAX_LISTS {
        let detail = "more lists than a manifest can name";
        return Err(Violation::new(
            ErrorCode::MalformedManifest,
            "lists",
            detail,
        ));
    }
    for (name, _, id) in found {
        let bytes = allowance.read(id, &format!("lists/{name}"))?;
        blobs.insert(name.to_string(), bytes);
    }
    Ok(blobs)
}

/// Sees that `receipts/` holds exactly the receipts that the manifest refers to, and that they say the same.
pub(crate) fn receipts(
    objects: &gix::Repository,
    whole: &Content,
    tree: Option<ObjectId>,
) -> Vec<Violation> {
    match read_receipts(objects, whole, tree) {
        Ok(blobs) => check::receipts(whole, &blobs)
            .into_iter()
            .map(Violation::from)
            .collect(),
        Err(violation) => vec![violation],
    }
}

fn read_receipts(
    objects: &gix::Repository,
    whole: &Content,
    tree: Option<ObjectId>,
) -> Result<BTreeMap<EntryId, Vec<u8>>, Violation> {
    let mut blobs = BTreeMap::new();
    let mut allowance = Allowance {
        objects,
        bytes_left: MAX_DOCUMENTS_BYTES,
    };
    let named: BTreeSet<&EntryId> = whole
        .receipts
        .inline()
        .iter()
        .map(|receipt| &receipt.id)
        .collect();
    for entry in files(objects, tree, "receipts")? {
        let stem = entry
            .0
            .strip_suffix(b".cbor")
            .and_then(|stem| stem.to_str().ok()?.parse().ok());
        match stem.filter(|stem| named.contains(stem)) {
            Some(stem) => {
                let bytes = allowance.read(entry.2, &format!("receipts/{}", entry.0))?;
                blobs.insert(stem, bytes);
            }
            None => unclaimed("receipts", Some(&entry))?,
        }
    }
    Ok(blobs)
}

/// Reads the receipts of a state that was verified.
///
/// # Errors
///
/// Where one cannot be read.
pub fn receipts_of(
    objects: &gix::Repository,
    root: &RootTree,
) -> Result<Vec<(Vec<u8>, Receipt)>, Violation> {
    let mut allowance = Allowance {
        objects,
        bytes_left: MAX_DOCUMENTS_BYTES,
    };
    let mut found = Vec::new();
    for (name, _, id) in files(objects, root.receipts, "receipts")? {
        let artifact = format!("receipts/{name}");
        let bytes = allowance.read(id, &artifact)?;
        let receipt = codec::decode(&bytes)
            .map_err(|error| Violation::new(error.code(), artifact, error.to_string()))?;
        found.push((bytes, receipt));
    }
    Ok(found)
}

/// The receipts and the attachments of a state by name, as their bytes.
pub type Files = (Vec<(String, Vec<u8>)>, Vec<(String, Vec<u8>)>);

/// Reads the receipts, by id, and the attachments of a state that was verified.
///
/// # Errors
///
/// Where one cannot be read.
pub fn files_of(objects: &gix::Repository, root: &RootTree) -> Result<Files, Violation> {
    let read = |tree, folder: &str, most, suffix: &str| -> Result<Vec<_>, Violation> {
        let mut allowance = Allowance {
            objects,
            bytes_left: most,
        };
        let mut found = Vec::new();
        for (name, _, id) in files(objects, tree, folder)? {
            let bytes = allowance.read(id, &format!("{folder}/{name}"))?;
            let name = name.to_string();
            let stem = name.strip_suffix(suffix).unwrap_or(&name);
            found.push((stem.to_owned(), bytes));
        }
        Ok(found)
    };
    Ok((
        read(root.receipts, "receipts", MAX_DOCUMENTS_BYTES, ".cbor")?,
        read(root.attachments, "attachments", MAX_ATTACHMENTS_BYTES, "")?,
    ))
}

/// Sees that `attachments/` holds exactly the files that the manifest names, with their digests and sizes.
pub(crate) fn attachments(
    objects: &gix::Repository,
    content: &Content,
    tree: Option<ObjectId>,
) -> Result<(), Violation> {
    let mut left = files(objects, tree, "attachments")?;
    let mut allowance = Allowance {
        objects,
        bytes_left: MAX_ATTACHMENTS_BYTES,
    };
    for attachment in &content.artifacts.attachments {
        let artifact = format!("attachments/{}", attachment.name);
        let at = left
            .iter()
            .position(|(name, _, _)| *name == attachment.name.as_str());
        let Some(at) = at else {
            let detail = "the attachment is missing";
            return Err(Violation::new(ErrorCode::MissingObject, artifact, detail));
        };
        let bytes = allowance.read(left.remove(at).2, &artifact)?;
        if bytes.len() as u64 != attachment.size || Digest::of(&bytes) != attachment.sha256 {
            let detail = "size or digest differ from the manifest's";
            return Err(Violation::new(ErrorCode::DigestMismatch, artifact, detail));
        }
    }
    unclaimed("attachments", left.first())
}

fn unclaimed(
    folder: &str,
    left: Option<&(gix::bstr::BString, EntryMode, ObjectId)>,
) -> Result<(), Violation> {
    match left {
        None => Ok(()),
        Some((name, _, _)) => {
            let detail = "a file that the manifest does not name";
            Err(Violation::new(
                ErrorCode::MalformedManifest,
                format!("{folder}/{name}"),
                detail,
            ))
        }
    }
}
