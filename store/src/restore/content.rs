//! The bytes that belong on disk.

use std::{
    borrow::Cow,
    io::{self, Read},
};

use gix::{
    ObjectId,
    bstr::{BString, ByteSlice},
    objs::Kind,
};

use super::{RestoreError, plan::PlannedFile};
use crate::{
    big_blob::{BlobStream, MAX_IN_MEMORY},
    conversion::WorktreeConversion,
    git::Git,
};

/// Brings the content of planned files from the repository.
pub(super) struct Contents {
    objects: gix::Repository,
    git: Git,
    conversion: WorktreeConversion,
    buffer: Vec<u8>,
}

/// What a file holds, once it is on disk.
pub(super) struct Expected {
    /// Id of a blob of these bytes.
    pub(super) id: ObjectId,
    /// Whether a filter driver that is not run would make other bytes of it.
    pub(super) filtered: bool,
}

/// The bytes of a file, in memory or as they come from Git.
pub(super) enum Bytes<'a> {
    Here(Cow<'a, [u8]>),
    Streamed(BlobStream),
}

impl Contents {
    pub(super) fn new(objects: gix::Repository, git: Git, conversion: WorktreeConversion) -> Self {
        Contents {
            objects,
            git,
            conversion,
            buffer: Vec::new(),
        }
    }

    /// Tells what a file or link will hold; reads its blob only where that is converted.
    pub(super) fn expected(&mut self, file: &PlannedFile) -> Result<Expected, RestoreError> {
        let (converts, filtered) = self.treatment(file)?;
        let stored = file.raw.unwrap_or(file.id);
        if !converts {
            return Ok(Expected {
                id: stored,
                filtered,
            });
        }
        let bytes = self.converted(file)?;
        let id = gix::objs::compute_hash(stored.kind(), Kind::Blob, &bytes)
            .map_err(|source| object(stored, source))?;
        Ok(Expected { id, filtered })
    }

    /// Returns what a file or link will hold, and the bytes.
    pub(super) fn bytes(
        &mut self,
        file: &PlannedFile,
    ) -> Result<(Expected, Bytes<'_>), RestoreError> {
        let (converts, filtered) = self.treatment(file)?;
        let stored = file.raw.unwrap_or(file.id);
        if converts {
            let bytes = self.converted(file)?;
            let id = gix::objs::compute_hash(stored.kind(), Kind::Blob, &bytes)
                .map_err(|source| object(stored, source))?;
            return Ok((Expected { id, filtered }, Bytes::Here(bytes)));
        }
        let expected = Expected {
            id: stored,
            filtered,
        };
        let header = self
            .objects
            .find_header(stored)
            .map_err(|source| object(stored, source))?;
        if header.size() > MAX_IN_MEMORY && file.is_regular() {
            let stream = BlobStream::open(&self.git, stored);
            let stream = stream.map_err(|source| object(stored, source))?;
            return Ok((expected, Bytes::Streamed(stream)));
        }
        self.load(stored)?;
        Ok((expected, Bytes::Here(Cow::Borrowed(&self.buffer))))
    }

    /// Returns whether the content is converted, and whether a driver is left out.
    fn treatment(&mut self, file: &PlannedFile) -> Result<(bool, bool), RestoreError> {
        if !file.is_regular() || file.raw.is_some() || self.conversion.is_identity() {
            return Ok((false, false));
        }
        let found = self
            .conversion
            .at(file.path.as_bstr(), &self.objects.objects)?;
        Ok((found.converts, found.driver.is_some()))
    }

    fn converted(&mut self, file: &PlannedFile) -> Result<Cow<'_, [u8]>, RestoreError> {
        self.load(file.id)?;
        let objects = &self.objects.objects;
        Ok(self
            .conversion
            .to_worktree(file.path.as_bstr(), &self.buffer, objects)?)
    }

    fn load(&mut self, id: ObjectId) -> Result<(), RestoreError> {
        let found = gix::objs::Find::try_find(&self.objects.objects, &id, &mut self.buffer)
            .map_err(|source| object(id, source))?;
        match found {
            Some(data) if data.kind == Kind::Blob => Ok(()),
            Some(_) => Err(object(id, "it is no blob")),
            None => Err(object(id, "it is not in the repository")),
        }
    }
}

impl<'a> Bytes<'a> {
    /// Returns the bytes, all of them in memory.
    pub(super) fn into_memory(self) -> io::Result<Cow<'a, [u8]>> {
        match self {
            Bytes::Here(bytes) => Ok(bytes),
            streamed => {
                let mut bytes = Vec::new();
                streamed.write_to(&mut bytes)?;
                Ok(Cow::Owned(bytes))
            }
        }
    }

    /// Writes the bytes.
    pub(super) fn write_to(self, mut out: impl io::Write) -> io::Result<()> {
        match self {
            Bytes::Here(bytes) => out.write_all(&bytes),
            Bytes::Streamed(mut stream) => {
                io::copy(&mut stream, &mut out)?;
                stream.end()
            }
        }
    }

    /// Tells whether `found` ends before the bytes do and is equal to them up to there.
    pub(super) fn begins_with(self, found: impl Read) -> io::Result<bool> {
        match self {
            Bytes::Here(bytes) => is_beginning(found, &*bytes),
            Bytes::Streamed(stream) => is_beginning(found, stream),
        }
    }
}

fn is_beginning(mut found: impl Read, mut whole: impl Read) -> io::Result<bool> {
    let mut pieces = ([0; 8192], [0; 8192]);
    loop {
        let count = found.read(&mut pieces.0)?;
        if count == 0 {
            return Ok(true);
        }
        let beginning = &mut pieces.1[..count];
        match whole.read_exact(beginning) {
            Ok(()) if *beginning == pieces.0[..count] => {}
            Ok(()) => return Ok(false),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
            Err(error) => return Err(error),
        }
    }
}

fn object(id: ObjectId, source: impl Into<super::Cause>) -> RestoreError {
    RestoreError::Object {
        id,
        source: source.into(),
    }
}

/// Returns the file with its path as an error of the worktree names it.
pub(super) fn file_error(
    path: &BString,
    action: &'static str,
) -> impl FnOnce(io::Error) -> RestoreError {
    let path = path.clone();
    move |source| RestoreError::File {
        path,
        action,
        source,
    }
}
