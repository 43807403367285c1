//! Captured lists: their order, and which of them stand in blobs beside the manifest.
//!
//! Both are functions of the document, so that two programs that capture the same state write the same bytes.

use std::{cmp::Ordering, collections::BTreeMap};

use serde::{Serialize, de::DeserializeOwned};

use super::{
    Attachment, Blocker, BlockerKind, CapturedList, Content, Exclusion, Flags, IntentToAdd,
    LfsPointer, LfsPresence, ListDigest, Manifest, Observed, Omission, OmissionReason,
    ReceiptReference, Submodule, SubmoduleReach, codec,
};
use crate::{digest::Digest, repo_path::RepoPath};

/// Size of a content, and of a manifest, in bytes, over which its longest captured lists move to blobs.
pub const MAX_BYTES_INLINE: usize = 512 << 10;

/// An entry of a captured list. Its order is that of its key – a path, id, name or source – as bytes, null first,
/// then that of its canonical encoding.
pub trait CapturedEntry: Clone + Ord + Serialize + DeserializeOwned {
    /// Whether a list may hold several entries with one key.
    const KEY_REPEATS: bool = false;

    /// Tells whether two entries have one key.
    fn has_key_of(&self, other: &Self) -> bool;

    /// Tells whether a capture writes it, rather than an author; those come first in a list that mixes both.
    fn is_captured(&self) -> bool {
        true
    }
}

macro_rules! entries {
    ($($entry:ident by $key:ident { $($more:tt)* })+) => {$(
        impl Ord for $entry {
            fn cmp(&self, other: &Self) -> Ordering {
                self.$key
                    .cmp(&other.$key)
                    .then_with(|| codec::encode(self).cmp(&codec::encode(other)))
            }
        }

        impl PartialOrd for $entry {
            fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
                Some(self.cmp(other))
            }
        }

        impl CapturedEntry for $entry {
            fn has_key_of(&self, other: &Self) -> bool {
                self.$key == other.$key
            }

            $($more)*
        }
    )+};
}

entries! {
    IntentToAdd by path {}
    Flags by path {}
    Submodule by path {}
    LfsPointer by path {}
    Omission by path {
        const KEY_REPEATS: bool = true;

        fn is_captured(&self) -> bool {
            self.path.is_some() || self.reason.is_of_a_state()
        }
    }
    Blocker by path {
        const KEY_REPEATS: bool = true;

        fn is_captured(&self) -> bool {
            self.kind.is_captured()
        }
    }
    ReceiptReference by id {}
    Attachment by name {}
    Exclusion by source {
        const KEY_REPEATS: bool = true;
    }
    SubmoduleReach by path {}
    LfsPresence by path {}
}

impl CapturedEntry for RepoPath {
    fn has_key_of(&self, other: &Self) -> bool {
        self == other
    }
}

impl OmissionReason {
    /// Tells whether the reason is a state of the worktree as a whole, which a capture finds.
    pub fn is_of_a_state(self) -> bool {
        matches!(
            self,
            OmissionReason::OperationState | OmissionReason::SparsePatterns
        )
    }
}

impl BlockerKind {
    /// Tells whether a capture finds it, rather than an author.
    pub fn is_captured(self) -> bool {
        !matches!(
            self,
            BlockerKind::Generated | BlockerKind::Environment | BlockerKind::Access
        )
    }
}

/// The list blobs of a checkpoint: bytes by file name below `lists/`, e.g. `worktree.flags.cbor`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ListBlobs(BTreeMap<String, Vec<u8>>);

impl ListBlobs {
    /// Adds a blob.
    pub fn insert(&mut self, file_name: impl Into<String>, bytes: Vec<u8>) {
        self.0.insert(file_name.into(), bytes);
    }

    /// Returns the bytes of a blob.
    pub fn get(&self, file_name: &str) -> Option<&[u8]> {
        self.0.get(file_name).map(Vec::as_slice)
    }

    /// Tells whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns file names and bytes, in the order of a Git tree.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.0
            .iter()
            .map(|(name, bytes)| (name.as_str(), bytes.as_slice()))
    }
}

/// Returns the file name of a list below `lists/`.
pub fn file_name(list: &str) -> String {
    format!("{list}.cbor")
}

/// Says why the lists of a document cannot be put back into it.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ListError {
    /// The blob is not there.
    #[error("lists/{list}.cbor is missing")]
    Missing {
        /// Name of the list, `<section>.<field>`.
        list: &'static str,
    },
    /// The blob has another digest or number of entries than the document says.
    #[error("lists/{list}.cbor is not the list that the manifest names")]
    Mismatch {
        /// Name of the list.
        list: &'static str,
    },
    /// The blob is not canonical.
    #[error("lists/{list}.cbor cannot be read")]
    Decode {
        /// Name of the list.
        list: &'static str,
        /// What is wrong with it.
        #[source]
        source: codec::DecodeError,
    },
}

impl ListError {
    /// Returns the name of the list, `<section>.<field>`.
    pub fn list(&self) -> &'static str {
        match self {
            ListError::Missing { list }
            | ListError::Mismatch { list }
            | ListError::Decode { list, .. } => list,
        }
    }
}

/// Something done to each captured list of a document.
pub(super) trait Visitor {
    /// Takes one list with its name, `<section>.<field>`.
    fn list<T: CapturedEntry>(&mut self, name: &'static str, list: &mut CapturedList<T>);
}

/// Visits the captured lists of a content, in the order of the contract.
pub(super) fn visit_content(content: &mut Content, visitor: &mut impl Visitor) {
    visitor.list("content.omissions", &mut content.omissions);
    visitor.list("content.blockers", &mut content.blockers);
    visitor.list("content.receipts", &mut content.receipts);
    let worktree = &mut content.worktree;
    visitor.list("worktree.intentToAdd", &mut worktree.intent_to_add);
    visitor.list("worktree.flags", &mut worktree.flags);
    visitor.list("worktree.emptyDirectories", &mut worktree.empty_directories);
    visitor.list("worktree.submodules", &mut worktree.submodules);
    visitor.list("worktree.lfs", &mut worktree.lfs);
}

/// Visits the captured lists of the observed facts, in the order of the contract.
pub(super) fn visit_observed(observed: &mut Observed, visitor: &mut impl Visitor) {
    visitor.list("observed.excluded", &mut observed.excluded);
    visitor.list("observed.submodules", &mut observed.submodules);
    visitor.list("observed.lfs", &mut observed.lfs);
}

/// Moves lists of a content to blobs: those of more than [`CapturedList::MAX_INLINE`] entries, then, while the
/// content is over [`MAX_BYTES_INLINE`], the one with the longest encoding.
///
/// The result depends on the content alone, so `contentDigest` does.
pub fn move_out_of_content(content: &mut Content) -> ListBlobs {
    let size = |content: &Content| codec::encode(content).len();
    move_out(content, visit_content, size)
}

/// Moves lists of a manifest to blobs: first those of its content, then those of `observed` in the same way while
/// the manifest is over [`MAX_BYTES_INLINE`].
pub fn move_out_of_manifest(manifest: &mut Manifest) -> ListBlobs {
    let mut blobs = move_out_of_content(&mut manifest.content);
    let visit = |manifest: &mut Manifest, pass: &mut MoveOut| {
        visit_observed(&mut manifest.observed, pass);
    };
    let size = |manifest: &Manifest| codec::encode(manifest).len();
    blobs.0.extend(move_out(manifest, visit, size).0);
    blobs
}

fn move_out<D>(
    document: &mut D,
    visit: impl Fn(&mut D, &mut MoveOut),
    size: impl Fn(&D) -> usize,
) -> ListBlobs {
    let mut pass = MoveOut {
        which: Which::TooManyEntries,
        longest: None,
        blobs: ListBlobs::default(),
    };
    visit(document, &mut pass);
    while size(document) > MAX_BYTES_INLINE {
        let Some((_, name)) = pass.longest.take() else {
            break;
        };
        pass.which = Which::Named(name);
        visit(document, &mut pass);
    }
    pass.blobs
}

/// Which lists a pass moves.
#[derive(Clone, Copy)]
enum Which {
    /// Those of more entries than may stand in a document.
    TooManyEntries,
    /// The one of that name.
    Named(&'static str),
}

/// A pass that moves some lists to blobs, and finds the longest of those that stay.
struct MoveOut {
    which: Which,
    longest: Option<(usize, &'static str)>,
    blobs: ListBlobs,
}

impl Visitor for MoveOut {
    fn list<T: CapturedEntry>(&mut self, name: &'static str, list: &mut CapturedList<T>) {
        let CapturedList::Inline(entries) = &*list else {
            return;
        };
        let bytes = codec::encode(entries);
        let moved = CapturedList::Elsewhere(ListDigest {
            count: entries.len() as u64,
            sha256: Digest::of(&bytes),
        });
        let moves = match self.which {
            Which::TooManyEntries => entries.len() > CapturedList::<T>::MAX_INLINE,
            Which::Named(named) => named == name,
        };
        if moves {
            *list = moved;
            self.blobs.insert(file_name(name), bytes);
        } else if bytes.len() > codec::encode(&moved).len()
            && self.longest.is_none_or(|(length, _)| bytes.len() > length)
        {
            // Of equally long lists the first of the contract moves.
            self.longest = Some((bytes.len(), name));
        }
    }
}

/// Returns the content with all of its lists in it.
///
/// # Errors
///
/// Every list whose blob is missing, damaged or another one.
pub fn put_back_into_content(
    content: &Content,
    blobs: &ListBlobs,
) -> Result<Content, Vec<ListError>> {
    let mut whole = content.clone();
    let mut pass = PutBack::new(blobs);
    visit_content(&mut whole, &mut pass);
    pass.finish(whole)
}

/// Returns the manifest with all of its lists in it.
///
/// # Errors
///
/// Every list whose blob is missing, damaged or another one.
pub fn put_back_into_manifest(
    manifest: &Manifest,
    blobs: &ListBlobs,
) -> Result<Manifest, Vec<ListError>> {
    let mut whole = manifest.clone();
    let mut pass = PutBack::new(blobs);
    visit_content(&mut whole.content, &mut pass);
    visit_observed(&mut whole.observed, &mut pass);
    pass.finish(whole)
}

struct PutBack<'a> {
    blobs: &'a ListBlobs,
    errors: Vec<ListError>,
}

impl<'a> PutBack<'a> {
    fn new(blobs: &'a ListBlobs) -> Self {
        PutBack {
            blobs,
            errors: Vec::new(),
        }
    }

    fn finish<D>(self, document: D) -> Result<D, Vec<ListError>> {
        if self.errors.is_empty() {
            Ok(document)
        } else {
            Err(self.errors)
        }
    }
}

impl Visitor for PutBack<'_> {
    fn list<T: CapturedEntry>(&mut self, name: &'static str, list: &mut CapturedList<T>) {
        if let CapturedList::Elsewhere(expected) = list {
            match read::<T>(name, expected, self.blobs) {
                Ok(entries) => *list = CapturedList::Inline(entries),
                Err(error) => self.errors.push(error),
            }
        }
    }
}

fn read<T: CapturedEntry>(
    list: &'static str,
    expected: &ListDigest,
    blobs: &ListBlobs,
) -> Result<Vec<T>, ListError> {
    let bytes = blobs
        .get(&file_name(list))
        .ok_or(ListError::Missing { list })?;
    if Digest::of(bytes) != expected.sha256 {
        return Err(ListError::Mismatch { list });
    }
    let entries: Vec<T> =
        codec::decode_list(bytes).map_err(|source| ListError::Decode { list, source })?;
    if entries.len() as u64 == expected.count {
        Ok(entries)
    } else {
        Err(ListError::Mismatch { list })
    }
}

#[cfg(test)]
mod tests;
