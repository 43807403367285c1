//! Takes a pack into the repository, once Git has found everything in it good.
//!
//! `git index-pack` moves a pack into place before its last checks (of `.gitmodules`, say). So it runs in a
//! directory of its own, as it does for `git receive-pack`, and the pack moves over when all is well.

use std::{
    fs::{self, File},
    io::{self, Seek},
    os::unix::ffi::OsStrExt,
    path::Path,
    process::Output,
};

use gix::{ObjectId, bstr::ByteSlice};
use tempfile::{SpooledData, SpooledTempFile, TempDir};

use super::NewObjectsError;
use crate::{git, repository::Repository};

/// How the names of quarantines begin: Git removes directories with such names too, once they are old.
const PREFIX: &str = "tmp_objdir-handoff-";

/// Whether Git sees the objects of the repository while it checks the pack.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Others {
    Seen,
    Hidden,
}

/// What is done with a pack that Git has found good.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    /// It is taken into the repository, durably.
    Taken,
    /// It goes: its objects are written in another way.
    Dropped,
}

/// Has Git look at all objects of a pack, which has some.
pub(super) fn check(
    repository: &Repository,
    pack: SpooledTempFile,
    then: Then,
) -> Result<(), NewObjectsError> {
    let objects = repository.gix().objects.store_ref().path();
    let pack = pack.into_inner();
    let mut failed = None;
    // An object that a crash left damaged may stand in the way of its own replacement.
    for others in [Others::Seen, Others::Hidden] {
        let quarantine = Quarantine::make(objects)?;
        if others == Others::Seen {
            let mut alternates = objects.as_os_str().as_bytes().to_vec();
            alternates.push(b'\n');
            fs::create_dir(quarantine.path().join("info"))?;
            fs::write(quarantine.path().join("info/alternates"), alternates)?;
        }
        let output = index_pack(repository, quarantine.path(), others, then, &pack)?;
        if output.status.success() {
            return match then {
                Then::Taken => Ok(migrate(quarantine.path(), objects)?),
                Then::Dropped => Ok(()),
            };
        }
        let error = git::failure("index-pack".into(), &output);
        if output.stderr.contains_str("fsck error") {
            let hash = repository.hash_kind();
            return Err(NewObjectsError::Refused(
                named_objects(&output.stderr, hash),
                error,
            ));
        }
        failed.get_or_insert(error);
    }
    Err(match failed {
        Some(error) => error.into(),
        None => NewObjectsError::Write("git index-pack did not run".into()),
    })
}

/// A directory for objects that are not checked yet, locked as long as somebody uses it.
pub(super) struct Quarantine {
    dir: TempDir,
    _lock: File,
}

impl Quarantine {
    pub(super) fn make(objects: &Path) -> io::Result<Self> {
        remove_abandoned(objects);
        loop {
            let dir = tempfile::Builder::new()
                .prefix(PREFIX)
                .tempdir_in(objects)?;
            let Ok(lock) = File::open(dir.path()) else {
                continue;
            };
            // Where there are no locks, nobody can take it for abandoned.
            let _ = lock.lock();
            // Another run may have done so before it was locked.
            if dir.path().is_dir() {
                return Ok(Quarantine { dir, _lock: lock });
            }
        }
    }

    pub(super) fn path(&self) -> &Path {
        self.dir.path()
    }
}

/// Removes what runs have left that were killed; what cannot be removed stays.
pub(crate) fn remove_abandoned(objects: &Path) {
    let entries = fs::read_dir(objects).into_iter().flatten();
    for entry in entries.map_while(Result::ok) {
        if entry.file_name().as_bytes().starts_with(PREFIX.as_bytes())
            && let Ok(dir) = File::open(entry.path())
            && dir.try_lock().is_ok()
        {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn index_pack(
    repository: &Repository,
    quarantine: &Path,
    others: Others,
    then: Then,
    pack: &SpooledData,
) -> Result<Output, NewObjectsError> {
    let durable = match then {
        Then::Taken => "core.fsync=pack,pack-metadata",
        Then::Dropped => "core.fsync=none",
    };
    let args = ["-c", durable, "index-pack", "--stdin", "--fsck-objects"];
    let mut command = repository.git().command(args);
    command.env("GIT_OBJECT_DIRECTORY", quarantine);
    if others == Others::Hidden {
        command.env_remove("GIT_ALTERNATE_OBJECT_DIRECTORIES");
    }
    let output = match pack {
        SpooledData::InMemory(bytes) => git::run(command, bytes.get_ref()),
        SpooledData::OnDisk(file) => {
            let mut file = file.try_clone()?;
            file.rewind()?;
            git::run_on(command, file)
        }
    };
    Ok(output?)
}

/// Moves the pack over, its index last: with the index, Git sees the pack.
fn migrate(quarantine: &Path, objects: &Path) -> io::Result<()> {
    let target = objects.join("pack");
    fs::create_dir_all(&target)?;
    let mut files = Vec::new();
    for file in fs::read_dir(quarantine.join("pack"))? {
        files.push(file?.file_name());
    }
    files.sort_by_key(|name| name.as_bytes().ends_with(b".idx"));
    for name in files {
        let to = target.join(&name);
        if !to.exists() {
            fs::rename(quarantine.join("pack").join(&name), to)?;
        }
    }
    File::open(&target)?.sync_all()
}

/// Returns the objects that Git found in error, by what it wrote to standard error.
fn named_objects(stderr: &[u8], hash: gix::hash::Kind) -> Vec<ObjectId> {
    let mut ids: Vec<ObjectId> = stderr
        .lines()
        .filter(|line| line.starts_with(b"error: object ") || line.starts_with(b"error in "))
        .flat_map(|line| line.split(|b| !b.is_ascii_hexdigit()))
        .filter(|word| word.len() == hash.len_in_hex())
        .filter_map(|word| ObjectId::from_hex(word).ok())
        .collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}
