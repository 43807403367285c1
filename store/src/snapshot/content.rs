//! The content of the files that must be read: hashed, converted, collected.

use std::io::{self, Read, Write};

use gix::{
    ObjectId,
    bstr::{BStr, BString},
    index::entry::Mode,
    objs::Kind,
};
use rustix::fs::FileType;

use super::{
    SnapshotError,
    attributes::AttributeFiles,
    conversion::{Converter, Plan},
    disk::{DiskStat, Root},
    encoding,
    index::PrivateIndex,
    queue::Queue,
    repo_path,
    scan::{Candidate, LeftOut},
    tree::TreeItem,
    visit::why_unseen,
};
use crate::{
    git::Git,
    new_objects::{NewObjects, NewObjectsError},
};

/// Bytes of a file that is read whole.
const READ_WHOLE: u64 = 4 << 20;

/// Files that one thread takes at a time.
const BATCH: usize = 32;

/// What a path holds now.
pub(super) struct Content {
    pub(super) path: BString,
    pub(super) entry: Option<usize>,
    pub(super) stat: DiskStat,
    pub(super) item: TreeItem,
    pub(super) bytes: Bytes,
}

/// What becomes of the bytes on disk where the stored version does not bring them back.
#[derive(Default)]
pub(super) struct Bytes {
    /// A blob of them.
    pub(super) raw: Option<ObjectId>,
    /// The filter driver that keeps them out of the repository.
    pub(super) filtered: Option<BString>,
}

/// How the reading of a path ended.
pub(super) enum Outcome {
    Read(Content),
    /// It is not there any more.
    Vanished(Candidate),
    /// It changed while it was read.
    Changed(Candidate),
    LeftOut(LeftOut, Option<usize>),
}

/// What is found out about a file that the index vouches for.
pub(super) enum Checked {
    /// The stored version does not bring the bytes on disk back.
    Bytes(Bytes),
    /// The file is not any more what the index vouches for.
    Moved,
}

/// What readers share.
pub(super) struct Reading<'a> {
    pub(super) repo: gix::ThreadSafeRepository,
    pub(super) git: &'a Git,
    pub(super) root: &'a Root,
    pub(super) index: &'a PrivateIndex,
    pub(super) objects: &'a NewObjects,
    pub(super) files: &'a AttributeFiles,
    pub(super) converter: &'a Converter,
    pub(super) has_symlinks: bool,
    pub(super) trusts_executable_bit: bool,
    /// Filter drivers whose content travels.
    pub(super) carried: Vec<BString>,
}

struct Reader<'a> {
    shared: &'a Reading<'a>,
    repo: gix::Repository,
    converter: Converter,
}

impl Reading<'_> {
    /// Reads all candidates, on all processors.
    pub(super) fn read(&self, candidates: Vec<Candidate>) -> Result<Vec<Outcome>, SnapshotError> {
        self.in_batches(candidates, |reader, candidate| reader.read(candidate))
    }

    /// Looks at files that the index vouches for, and returns what there is to say of them.
    pub(super) fn check_unchanged(
        &self,
        entries: Vec<usize>,
    ) -> Result<Vec<(usize, Checked)>, SnapshotError> {
        if self.converter.is_inert() {
            return Ok(Vec::new());
        }
        let checked = self.in_batches(entries, |reader, entry| reader.check(entry))?;
        Ok(checked.into_iter().flatten().collect())
    }

    /// Returns those candidates that a capture would store as they lie on disk.
    pub(super) fn stored_whole<'c>(
        &self,
        candidates: &'c [Candidate],
    ) -> Result<Vec<&'c Candidate>, SnapshotError> {
        let judged = self.in_batches(candidates.iter().collect(), |reader, candidate| {
            let stored = reader.is_stored_whole(candidate)?;
            Ok(stored.then_some(candidate))
        })?;
        Ok(judged.into_iter().flatten().collect())
    }

    fn in_batches<T: Send, R: Send>(
        &self,
        items: Vec<T>,
        work: impl Fn(&mut Reader<'_>, T) -> Result<R, SnapshotError> + Sync,
    ) -> Result<Vec<R>, SnapshotError> {
        if items.is_empty() {
            return Ok(Vec::new());
        }
        let mut batches = Vec::new();
        let mut items = items.into_iter().peekable();
        while items.peek().is_some() {
            batches.push(items.by_ref().take(BATCH).collect::<Vec<T>>());
        }
        let queue = Queue::new(batches);
        let results = queue.run(|queue| -> Result<Vec<R>, SnapshotError> {
            let mut repo = self.repo.to_thread_local();
            repo.objects.refresh_never();
            let mut reader = Reader {
                shared: self,
                repo,
                converter: self.converter.clone(),
            };
            let mut results = Vec::new();
            queue.work(|batch, _| {
                for item in batch {
                    results.push(work(&mut reader, item)?);
                }
                Ok::<(), SnapshotError>(())
            })?;
            Ok(results)
        })?;
        Ok(results.into_iter().flatten().collect())
    }
}

impl Reader<'_> {
    fn read(&mut self, candidate: Candidate) -> Result<Outcome, SnapshotError> {
        let result = match candidate.stat.kind {
            FileType::Symlink => self.link(&candidate),
            _ => self.file(&candidate),
        };
        match result {
            Ok(Some(content)) => Ok(Outcome::Read(content)),
            Ok(None) => Ok(Outcome::Changed(candidate)),
            Err(Failure::Capture(error)) => Err(error),
            Err(Failure::Disk(error)) => Ok(match why_unseen(&error) {
                None => Outcome::Vanished(candidate),
                Some(reason) => Outcome::LeftOut(
                    LeftOut {
                        path: candidate.path,
                        reason,
                        detail: Some(error.to_string()),
                    },
                    candidate.entry,
                ),
            }),
        }
    }

    fn link(&self, candidate: &Candidate) -> Result<Option<Content>, Failure> {
        let path = candidate.path.as_ref();
        let target = match self.shared.root.link(path) {
            Ok(target) => target,
            // It is no link any more.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let id = self.shared.objects.add(&self.repo, Kind::Blob, &target)?;
        Ok(Some(self.content(candidate, candidate.stat, id)))
    }

    fn file(&mut self, candidate: &Candidate) -> Result<Option<Content>, Failure> {
        let path: &BStr = candidate.path.as_ref();
        let (mut file, stat) = self.shared.root.file(path)?;
        if stat.kind != FileType::RegularFile {
            return Ok(None);
        }
        let plan = self.plan(path)?;
        if plan == Plan::Verbatim && stat.size > READ_WHOLE {
            let mut blob = self.shared.objects.blob(stat.size)?;
            copy(&mut file, &mut blob)?;
            let id = self.shared.objects.finish(&self.repo, blob)?;
            return Ok(id.map(|id| self.content(candidate, stat, id)));
        }
        let mut disk = Vec::with_capacity(stat.size as usize + 1);
        file.read_to_end(&mut disk)?;
        if plan == Plan::Verbatim {
            let id = self.shared.objects.add(&self.repo, Kind::Blob, &disk)?;
            return Ok(Some(self.content(candidate, stat, id)));
        }
        let stored = candidate
            .entry
            .map(|entry| self.shared.index.entries()[entry].id);
        let blob = self.clean(&plan, path, &disk, stored)?;
        let id = self.shared.objects.add(&self.repo, Kind::Blob, &blob)?;
        let mut content = self.content(candidate, stat, id);
        content.bytes = self.bytes(path, plan, &blob, &disk)?;
        Ok(Some(content))
    }

    /// Converts bytes on disk to what the repository stores.
    fn clean(
        &mut self,
        plan: &Plan,
        path: &BStr,
        disk: &[u8],
        stored: Option<ObjectId>,
    ) -> Result<Vec<u8>, SnapshotError> {
        let (git, files) = (self.shared.git, self.shared.files);
        let by_git = |driver| encoding::to_git(git, &self.repo, driver, path, disk);
        let may_ask_git = self.converter.is_gits_to_ask();
        let converted = match plan {
            Plan::Converted { encoded: true, .. } if may_ask_git => by_git(None),
            Plan::Converted { encoded: true, .. } => {
                Err("a .gitattributes file beside it cannot be read".into())
            }
            Plan::Filtered(driver) if may_ask_git => self
                .converter
                .clean(&self.repo, files, path, disk, stored)
                // It may have left a part of its input unread.
                .or_else(|_| by_git(Some(driver))),
            _ => self.converter.clean(&self.repo, files, path, disk, stored),
        };
        converted.map_err(|source| SnapshotError::Filter {
            path: repo_path(path),
            source,
        })
    }

    /// Decides what becomes of the bytes on disk at a path where they differ from what a receiver would get.
    fn bytes(
        &mut self,
        path: &BStr,
        plan: Plan,
        blob: &[u8],
        disk: &[u8],
    ) -> Result<Bytes, Failure> {
        let files = self.shared.files;
        let mut bytes = Bytes::default();
        let carried = match plan {
            Plan::Verbatim => false,
            Plan::Filtered(_) if blob == disk => false,
            Plan::Filtered(driver) => {
                let carried = self.shared.carried.contains(&driver);
                bytes.filtered = (!carried).then_some(driver);
                carried
            }
            Plan::Converted { .. } => {
                let converter = &mut self.converter;
                !converter.comes_back(&self.repo, files, path, blob, disk)
            }
        };
        if carried {
            bytes.raw = Some(self.shared.objects.add(&self.repo, Kind::Blob, disk)?);
        }
        Ok(bytes)
    }

    /// Tells whether a candidate's bytes would be stored: neither left to a filter nor what the index has.
    fn is_stored_whole(&mut self, candidate: &Candidate) -> Result<bool, SnapshotError> {
        let path: &BStr = candidate.path.as_ref();
        let plan = self.plan(path)?;
        let judged = (|| -> io::Result<bool> {
            let carried = |driver: &BString| self.shared.carried.contains(driver);
            if let Plan::Filtered(driver) = &plan {
                return Ok(carried(driver));
            }
            let known = candidate
                .entry
                .map(|entry| &self.shared.index.entries()[entry]);
            let Some(known) = known.filter(|known| known.stat.size == candidate.stat.size as u32)
            else {
                return Ok(true);
            };
            if plan != Plan::Verbatim || candidate.stat.kind != FileType::RegularFile {
                return Ok(true);
            }
            let (mut file, stat) = self.shared.root.file(path)?;
            let hash = gix::objs::compute_stream_hash(
                known.id.kind(),
                Kind::Blob,
                &mut file,
                stat.size,
                &mut gix::progress::Discard,
                &Default::default(),
            );
            Ok(hash.is_ok_and(|hash| hash != known.id))
        })();
        // What cannot be read is not stored; the reading itself says why.
        Ok(judged.unwrap_or(false))
    }

    /// Looks at a file that the index vouches for; `None` where the stored version brings it back.
    fn check(&mut self, entry: usize) -> Result<Option<(usize, Checked)>, SnapshotError> {
        let known = &self.shared.index.entries()[entry];
        if !matches!(known.mode, Mode::FILE | Mode::FILE_EXECUTABLE) {
            return Ok(None);
        }
        let path = self.shared.index.path(entry);
        let checked = self.plan(path).map_err(Failure::Capture).and_then(|plan| {
            // Going in, line ends only get shorter: equal sizes mean equal bytes.
            let same_size = || {
                self.stored_size(&known.id)
                    .map(|size| size as u32 == known.stat.size)
            };
            match &plan {
                Plan::Verbatim => return Ok(Bytes::default()),
                Plan::Converted { identity_there, .. } if *identity_there && same_size()? => {
                    return Ok(Bytes::default());
                }
                Plan::Filtered(driver)
                    if !self.shared.carried.contains(driver) && !same_size()? =>
                {
                    let filtered = Some(driver.clone());
                    return Ok(Bytes {
                        raw: None,
                        filtered,
                    });
                }
                _ => {}
            }
            let blob = self.stored(known.id)?;
            let mut disk = Vec::new();
            let (mut file, stat) = self.shared.root.file(path)?;
            file.read_to_end(&mut disk)?;
            let now = self.shared.root.stat(path)?;
            if now != stat || self.shared.index.may_differ(known, &stat) {
                return Err(io::Error::from(io::ErrorKind::NotFound).into());
            }
            self.bytes(path, plan, &blob, &disk)
        });
        match checked {
            Ok(bytes) if bytes.raw.is_none() && bytes.filtered.is_none() => Ok(None),
            Ok(bytes) => Ok(Some((entry, Checked::Bytes(bytes)))),
            // The reading of a changed file says why it cannot be read.
            Err(Failure::Disk(_)) => Ok(Some((entry, Checked::Moved))),
            Err(Failure::Capture(error)) => Err(error),
        }
    }

    fn stored_size(&self, id: &gix::oid) -> Result<u64, SnapshotError> {
        let header = gix::odb::HeaderExt::header(&self.repo.objects, id);
        header
            .map(|header| header.size())
            .map_err(|source| missing(id, source))
    }

    fn stored(&self, id: ObjectId) -> Result<Vec<u8>, SnapshotError> {
        let found = self.repo.find_object(id);
        found
            .map(|found| found.detach().data)
            .map_err(|source| missing(&id, source))
    }

    fn plan(&mut self, path: &BStr) -> Result<Plan, SnapshotError> {
        let files = self.shared.files;
        let plan = self.converter.plan(&self.repo, files, path);
        plan.map_err(|source| match files.missing_above(&self.repo, path) {
            Some((file, id)) => SnapshotError::Object {
                id,
                source: format!("it is `{file}`, which says how `{path}` is stored").into(),
            },
            None => SnapshotError::Filter {
                path: repo_path(path),
                source,
            },
        })
    }

    fn content(&self, candidate: &Candidate, stat: DiskStat, id: ObjectId) -> Content {
        Content {
            path: candidate.path.clone(),
            entry: candidate.entry,
            stat,
            item: TreeItem {
                mode: self.mode(candidate.entry, &stat),
                id,
            },
            bytes: Bytes::default(),
        }
    }

    /// Returns the mode that Git would give a file: `ce_mode_from_stat` in read-cache.h.
    fn mode(&self, entry: Option<usize>, stat: &DiskStat) -> Mode {
        let known = entry.map(|entry| self.shared.index.entries()[entry].mode);
        if stat.kind == FileType::Symlink {
            return Mode::SYMLINK;
        }
        if !self.shared.has_symlinks && known == Some(Mode::SYMLINK) {
            return Mode::SYMLINK;
        }
        let executable = if self.shared.trusts_executable_bit {
            stat.is_executable()
        } else {
            known == Some(Mode::FILE_EXECUTABLE)
        };
        if executable {
            Mode::FILE_EXECUTABLE
        } else {
            Mode::FILE
        }
    }
}

/// Why a path could not be read.
enum Failure {
    /// The system did not let us.
    Disk(io::Error),
    /// The capture as a whole fails.
    Capture(SnapshotError),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::Disk(error)
    }
}

impl From<NewObjectsError> for Failure {
    fn from(error: NewObjectsError) -> Self {
        SnapshotError::from(error).into()
    }
}

impl From<SnapshotError> for Failure {
    fn from(error: SnapshotError) -> Self {
        Failure::Capture(error)
    }
}

fn copy(from: &mut impl Read, to: &mut impl Write) -> Result<(), Failure> {
    let mut buffer = vec![0; 1 << 16];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => to
                .write_all(&buffer[..count])
                .map_err(|error| SnapshotError::from(NewObjectsError::Write(error.into())))?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn missing(id: &gix::oid, source: gix::Error) -> SnapshotError {
    SnapshotError::Object {
        id: id.to_owned(),
        source: source.into(),
    }
}
