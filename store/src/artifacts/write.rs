//! Writes the artifacts of a checkpoint.

use std::{
    fs::{self, File},
    io::Write,
    path::Path,
};

use super::{
    ArtifactsError, CHECKSUMS, MANIFEST, OBJECTS, PATCH, SUMMED, UNTRACKED, archive,
    files::UntrackedFiles, patch, refs,
};
use crate::{
    bundle::{self, Beside},
    contract::codec,
    digest::Digest,
    record::read_object,
    repository::Repository,
    verify::VerifiedRecord,
};

/// Writes the artifacts of a checkpoint into the empty directory `dir`, and makes them durable.
///
/// `scratch` is an empty directory for what is needed on the way. That the files stand for the checkpoint is not proved
/// here: [`super::check`] does that.
///
/// # Errors
///
/// Where an object is missing, or a file cannot be written.
pub fn write(
    repository: &Repository,
    record: &VerifiedRecord,
    dir: &Path,
    scratch: &Path,
) -> Result<(), ArtifactsError> {
    let content = &record.whole().content;
    let objects = repository.gix();
    let manifest = read_object(
        objects,
        record.root.manifest,
        gix::objs::Kind::Blob,
        codec::MAX_BYTES as u64,
    )?;
    in_file(dir, MANIFEST, |_, mut out| {
        out.write_all(&manifest)
            .map_err(io_error(&dir.join(MANIFEST)))
    })?;
    in_file(dir, OBJECTS, |path, out| {
        let refs = refs::of_bundle(content, &record.root);
        bundle::write(repository, &refs, None, path, out)?;
        Ok(())
    })?;
    let apart = bundle::make(scratch, repository.hash_kind(), Beside::Seen(repository));
    let apart = apart.map_err(ArtifactsError::Make)?;
    let origin = &content.repository;
    in_file(dir, PATCH, |path, out| {
        let out = out.try_clone().map_err(io_error(path))?;
        Ok(patch::write(
            &apart,
            origin.head,
            origin.worktree_tree,
            out,
        )?)
    })?;
    let mut files = UntrackedFiles::find(repository, content)?;
    in_file(dir, UNTRACKED, |path, out| {
        archive::write(&mut files, path, out)
    })?;
    let mut sums = String::new();
    for name in SUMMED {
        let path = dir.join(name);
        let sum = File::open(&path).and_then(Digest::of_reader);
        let (digest, _) = sum.map_err(io_error(&path))?;
        sums.push_str(&format!("{}  {name}\n", digest.hex()));
    }
    in_file(dir, CHECKSUMS, |path, mut out| {
        out.write_all(sums.as_bytes()).map_err(io_error(path))
    })?;
    File::open(dir)
        .and_then(|dir| dir.sync_all())
        .map_err(io_error(dir))
}

fn in_file(
    dir: &Path,
    name: &str,
    fill: impl FnOnce(&Path, &File) -> Result<(), ArtifactsError>,
) -> Result<(), ArtifactsError> {
    let path = dir.join(name);
    let out = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .open(&path)
        .map_err(io_error(&path))?;
    fill(&path, &out)?;
    out.sync_all().map_err(io_error(&path))
}

fn io_error(path: &Path) -> impl FnOnce(std::io::Error) -> ArtifactsError {
    let path = path.to_owned();
    move |source| ArtifactsError::Io { path, source }
}
