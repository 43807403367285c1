//! New objects, collected and written to the repository at once: as one pack, or a file each where they are few.
//!
//! Nothing reaches the repository before [`NewObjects::write`]. Objects that it has already are never collected.

mod intact;
mod loose;
mod pack;
mod quarantine;

use std::{
    collections::HashSet,
    fs,
    io::{self, Seek, Write},
    path::PathBuf,
    sync::Mutex,
};

use gix::{ObjectId, bstr::BString, hash::Hasher, objs::Kind, zlib};
use tempfile::{SpooledTempFile, spooled_tempfile_in};

pub(crate) use self::quarantine::remove_abandoned;
use self::{
    intact::Standing,
    pack::{Pack, Packed, level, pack_header, pack_object},
    quarantine::Then,
};
use crate::{
    git::{Git, GitError},
    repository::Repository,
};

/// Bytes of one object that are held in memory while it is packed.
const OBJECT_IN_MEMORY: usize = 4 << 20;

/// Says why objects could not be written.
#[derive(Debug, thiserror::Error)]
pub enum NewObjectsError {
    /// They could not be collected.
    #[error("the new objects could not be written")]
    Write(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// Git found some in error.
    #[error("git refuses some of the new objects")]
    Refused(Vec<ObjectId>, #[source] GitError),
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
}

/// New objects, each once; shared between the threads of a capture.
pub struct NewObjects {
    hash: gix::hash::Kind,
    /// Where temporary files without a name are made.
    dir: PathBuf,
    /// Whether the repository is a partial clone, which lacks objects that its remote has.
    others_promised: bool,
    pack: Mutex<Pack>,
}

/// A blob that is being written, hashed and packed as its bytes arrive.
pub struct BlobWriter {
    hasher: Hasher,
    packed: zlib::stream::deflate::Write<SpooledTempFile>,
    size: u64,
    written: u64,
}

impl NewObjects {
    /// Begins with none; temporary files are made in the object directory of the repository.
    pub fn new(repository: &Repository) -> Self {
        let dir = repository.gix().objects.store_ref().path().to_owned();
        NewObjects {
            others_promised: has_promisor(repository.gix()),
            hash: repository.hash_kind(),
            pack: Mutex::new(Pack::new(&dir)),
            dir,
        }
    }

    /// Tells whether an object is here, or in the repository as far as its header says.
    ///
    /// [`Self::is_whole`] says more: one that it has found damaged is not taken to be there.
    pub fn has(&self, repo: &gix::Repository, id: &ObjectId) -> bool {
        {
            let pack = self.lock();
            if pack.objects.contains_key(id) || pack.written.contains(id) {
                return true;
            }
            if pack.damaged.contains(id) {
                return false;
            }
        }
        gix::prelude::HeaderExt::header(&repo.objects, id).is_ok()
    }

    /// Adds an object that is in memory and returns its id.
    pub fn add(
        &self,
        repo: &gix::Repository,
        kind: Kind,
        data: &[u8],
    ) -> Result<ObjectId, NewObjectsError> {
        let id = gix::objs::compute_hash(self.hash, kind, data)
            .map_err(|error| NewObjectsError::Write(error.into()))?;
        if !self.has(repo, &id) {
            let mut packed = Vec::with_capacity(data.len() / 2 + 32);
            let written = pack_object(kind, data, &mut packed);
            written.map_err(write_error)?;
            let size = data.len() as u64;
            let appended = self.lock().append(id, kind, size, &mut packed.as_slice());
            appended.map_err(write_error)?;
        }
        Ok(id)
    }

    /// Begins a blob of `size` bytes that is too big to be held in memory.
    pub fn blob(&self, size: u64) -> Result<BlobWriter, NewObjectsError> {
        let mut packed = spooled_tempfile_in(OBJECT_IN_MEMORY, &self.dir);
        pack_header(Kind::Blob)
            .write_to(size, &mut packed)
            .map_err(write_error)?;
        let mut hasher = gix::hash::hasher(self.hash);
        hasher.update(&gix::objs::encode::loose_header(Kind::Blob, size));
        Ok(BlobWriter {
            hasher,
            packed: zlib::stream::deflate::Write::new(packed, level()),
            size,
            written: 0,
        })
    }

    /// Ends a blob; `None` where it did not get as many bytes as it was begun with.
    pub fn finish(
        &self,
        repo: &gix::Repository,
        mut blob: BlobWriter,
    ) -> Result<Option<ObjectId>, NewObjectsError> {
        if blob.written != blob.size {
            return Ok(None);
        }
        blob.packed.flush().map_err(write_error)?;
        let id = blob
            .hasher
            .try_finalize()
            .map_err(|error| NewObjectsError::Write(error.into()))?;
        if !self.has(repo, &id) {
            let mut packed = blob.packed.into_inner();
            packed.rewind().map_err(write_error)?;
            let appended = self.lock().append(id, Kind::Blob, blob.size, &mut packed);
            appended.map_err(write_error)?;
        }
        Ok(Some(id))
    }

    /// Forgets blobs that Git refuses, and all that is built of blobs, which is to be built anew.
    pub fn forget(&self, blobs: &[ObjectId]) {
        let keep =
            |id: &ObjectId, packed: &mut Packed| packed.kind == Kind::Blob && !blobs.contains(id);
        self.lock().objects.retain(keep);
    }

    /// Writes all objects into the repository, durably, once Git has found them good; none: nothing.
    ///
    /// Git is not asked where it would look at nothing.
    pub fn write(&self, repository: &Repository) -> Result<(), NewObjectsError> {
        let mut pack = self.lock();
        if pack.objects.is_empty() {
            return Ok(());
        }
        match pack.few(repository)? {
            Some(few) => {
                if !few.iter().all(loose::Object::is_plain) {
                    let file = pack.assemble(self.hash, &self.dir)?;
                    quarantine::check(repository, file, Then::Dropped)?;
                }
                loose::write(&self.dir, &few)?;
            }
            None => {
                let file = pack.assemble(self.hash, &self.dir)?;
                quarantine::check(repository, file, Then::Taken)?;
            }
        }
        let written = std::mem::take(&mut pack.objects);
        pack.written.extend(written.into_keys());
        Ok(())
    }

    /// Tells whether an object is in the repository and what its id says, or promised to a partial clone.
    ///
    /// One that is not is missed from then on, so that it can be added again; what a crash left of it gives way to
    /// its replacement.
    pub fn is_whole(&self, git: &Git, repo: &gix::Repository, id: &ObjectId) -> bool {
        if !self.lock().written.contains(id) {
            return match intact::look(git, repo, id) {
                Standing::Whole => true,
                Standing::Absent => self.others_promised,
                Standing::Damaged => {
                    self.lock().damaged.insert(*id);
                    false
                }
            };
        }
        let hex = id.to_string();
        let loose = self.dir.join(&hex[..2]).join(&hex[2..]);
        if loose.exists() && !intact::is_loose_whole(&self.dir, id) {
            // Gix and Git differ in which of two copies they read; what cannot be removed stays as it was.
            let _ = fs::remove_file(loose);
        }
        true
    }

    /// Returns the objects of the repository of which a crash left an empty file. Git tells of them only when it reads them.
    pub fn emptied(&self) -> HashSet<ObjectId> {
        intact::emptied(&self.dir)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Pack> {
        self.pack
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl From<io::Error> for NewObjectsError {
    fn from(error: io::Error) -> Self {
        write_error(error)
    }
}

impl Write for BlobWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.packed.write(bytes)?;
        self.hasher.update(&bytes[..count]);
        self.written += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Tells whether a remote has promised the objects that are not here, git-clone(1), `--filter`.
fn has_promisor(repo: &gix::Repository) -> bool {
    let config = repo.config_snapshot();
    let remotes = config.plumbing().sections_by_name("remote");
    let promised =
        |value: BString| gix::config::Boolean::try_from(value).is_ok_and(|value| value.0);
    remotes
        .into_iter()
        .flatten()
        .any(|remote| remote.value("promisor").is_some_and(promised))
}

fn write_error(error: io::Error) -> NewObjectsError {
    NewObjectsError::Write(error.into())
}
