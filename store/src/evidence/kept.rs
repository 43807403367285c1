//! Receipts that no checkpoint holds yet, in the chain of commits that keeps what was captured.

use std::collections::BTreeMap;

use gix::{
    ObjectId,
    bstr::{BString, ByteSlice},
    objs::Kind,
};

use crate::{
    contract::{Receipt, codec},
    entry_id::EntryId,
    new_objects::NewObjects,
    record::{SubTree, read_object},
    ref_store::RefError,
    repository::Repository,
    snapshot::{
        Snapshot, SnapshotError,
        keep::{Chain, Receipts},
    },
};

/// How often a chain that another process lengthens is tried.
const ATTEMPTS: usize = 20;

/// A receipt with its canonical bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeptReceipt {
    /// The receipt.
    pub receipt: Receipt,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// What is kept for the next checkpoint.
#[derive(Clone, Debug, Default)]
pub struct Kept {
    /// Where the chain stands.
    pub tip: Option<ObjectId>,
    /// The receipts, in the order in which their commands were started.
    pub receipts: Vec<KeptReceipt>,
    /// Which receipt was made for which claim.
    pub claims: BTreeMap<EntryId, EntryId>,
}

/// Reads the receipts that are kept for the worktree at hand.
///
/// # Errors
///
/// Where the chain cannot be read.
pub fn kept(repository: &Repository) -> Result<Kept, SnapshotError> {
    let chain = Chain::read(repository)?;
    Ok(read(repository.gix(), chain.last(), chain.receipts())?.0)
}

/// The blobs of receipts by id.
type Files = BTreeMap<EntryId, ObjectId>;

fn read(
    repo: &gix::Repository,
    tip: Option<ObjectId>,
    receipts: Receipts,
) -> Result<(Kept, Files), SnapshotError> {
    let failed = |id: ObjectId| {
        move |source: Box<dyn std::error::Error + Send + Sync>| SnapshotError::Object { id, source }
    };
    let object = |id: ObjectId, kind: Kind| {
        read_object(repo, id, kind, 64 << 20).map_err(|error| failed(id)(error.into()))
    };
    let mut files = Files::new();
    let mut found = Vec::new();
    if let Some(tree) = receipts.files {
        let entries = SubTree::parse(&object(tree, Kind::Tree)?, repo.object_hash())
            .map_err(|error| failed(tree)(error.into()))?;
        for (_, _, blob) in entries.0 {
            let bytes = object(blob, Kind::Blob)?;
            let receipt: Receipt =
                codec::decode(&bytes).map_err(|error| failed(blob)(error.into()))?;
            files.insert(receipt.id.clone(), blob);
            found.push(KeptReceipt { receipt, bytes });
        }
    }
    found.sort_by(|a, b| {
        // R2 is before R10 where the clock does not tell.
        let key = |kept: &KeptReceipt| {
            let id = kept.receipt.id.as_str();
            (kept.receipt.started_at, id.len(), id.to_owned())
        };
        key(a).cmp(&key(b))
    });
    let claims = match receipts.claims {
        None => BTreeMap::new(),
        Some(blob) => serde_json::from_slice(&object(blob, Kind::Blob)?)
            .map_err(|error| failed(blob)(error.into()))?,
    };
    let kept = Kept {
        tip,
        receipts: found,
        claims,
    };
    Ok((kept, files))
}

/// Keeps a receipt, and the trees of the snapshot that was made after its command; one with the same id is replaced.
///
/// `make` is asked for the receipt, given what is kept already: more than once, where another process is faster.
/// `claim` is what it was made for.
///
/// # Errors
///
/// Where the chain cannot be read or moved.
pub fn keep_receipt(
    repository: &Repository,
    snapshot: &Snapshot,
    claim: Option<&EntryId>,
    make: impl Fn(&Kept) -> Receipt,
) -> Result<KeptReceipt, SnapshotError> {
    let repo = repository.gix();
    for attempt in 1.. {
        let chain = Chain::read(repository)?;
        let (mut kept, mut files) = read(repo, chain.last(), chain.receipts())?;
        let receipt = make(&kept);
        let bytes = codec::encode(&receipt);
        let objects = NewObjects::new(repository);
        files.insert(receipt.id.clone(), objects.add(repo, Kind::Blob, &bytes)?);
        if let Some(claim) = claim {
            kept.claims.insert(claim.clone(), receipt.id.clone());
        }
        let receipts = write(repo, &objects, &files, &kept.claims)?;
        match chain.keep(repository, &objects, snapshot, receipts) {
            Err(SnapshotError::Ref(RefError::Moved { .. })) if attempt < ATTEMPTS => {}
            result => return result.map(|()| KeptReceipt { receipt, bytes }),
        }
    }
    unreachable!("the loop ends by returning")
}

fn write(
    repo: &gix::Repository,
    objects: &NewObjects,
    files: &Files,
    claims: &BTreeMap<EntryId, EntryId>,
) -> Result<Receipts, SnapshotError> {
    let name = |id: &EntryId| BString::from(format!("{id}.cbor"));
    let files: Vec<(BString, ObjectId)> =
        files.iter().map(|(id, blob)| (name(id), *blob)).collect();
    let mut receipts = Receipts::default();
    if !files.is_empty() {
        let tree = SubTree::of_blobs(files).to_bytes();
        receipts.files = Some(objects.add(repo, Kind::Tree, &tree)?);
    }
    if !claims.is_empty() {
        let text = serde_json::to_vec(claims).expect("ids are text");
        receipts.claims = Some(objects.add(repo, Kind::Blob, text.as_bstr())?);
    }
    Ok(receipts)
}

/// Lets go of what was kept up to `seen`, a commit of the chain; what came later is kept.
///
/// # Errors
///
/// Where the chain cannot be read or moved.
pub fn cut(repository: &Repository, seen: ObjectId) -> Result<(), SnapshotError> {
    let repo = repository.gix();
    for attempt in 1.. {
        let chain = Chain::read(repository)?;
        let Some(last) = chain.last() else {
            return Ok(());
        };
        let objects = NewObjects::new(repository);
        let left = if last == seen {
            Receipts::default()
        } else {
            // Where it is gone, it was cut already, and all that is kept came later.
            let Ok(old) = Receipts::of(repo, seen) else {
                return Ok(());
            };
            let (old, old_files) = read(repo, Some(seen), old)?;
            let (mut kept, mut files) = read(repo, Some(last), chain.receipts())?;
            files.retain(|id, blob| old_files.get(id) != Some(blob));
            kept.claims
                .retain(|claim, id| old.claims.get(claim) != Some(id) || files.contains_key(id));
            write(repo, &objects, &files, &kept.claims)?
        };
        match chain.cut(repository, &objects, left) {
            Err(SnapshotError::Ref(RefError::Moved { .. })) if attempt < ATTEMPTS => {}
            result => return result,
        }
    }
    unreachable!("the loop ends by returning")
}
