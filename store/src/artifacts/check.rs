//! Checks artifacts in a clean repository without refs/handoff.

use std::{
    fs::{self, File},
    io::{self, Read},
    path::Path,
};

use gix::{
    ObjectId,
    bstr::{BStr, ByteSlice},
};

use super::{
    ArtifactsError, CHECKSUMS, MANIFEST, OBJECTS, PATCH, SUMMED, UNTRACKED, archive,
    files::UntrackedFiles, patch, refs,
};
use crate::{
    bundle::{self, Beside, Header},
    contract::{Manifest, check, codec, lists::put_back_into_manifest},
    digest::Digest,
    error_code::ErrorCode,
    oid::Oid,
    repository::Repository,
    restore,
    verify::{Check, Violation, parts},
};

/// Largest file of checksums that is read, in bytes.
const MAX_CHECKSUMS_BYTES: u64 = 64 << 10;

/// What the checks of artifacts found.
pub struct Checked {
    /// The checks, in the order in which they were made; one that needs a failed one is left out.
    pub checks: Vec<Check>,
    /// The manifest, where it could be read.
    pub manifest: Option<Manifest>,
    /// The worktree tree that the patch leads to, where it applies.
    pub worktree_tree: Option<Oid>,
}

impl Checked {
    fn add(&mut self, name: &'static str, violations: Vec<Violation>) -> bool {
        let is_good = violations.is_empty();
        self.checks.push(Check { name, violations });
        is_good
    }
}

/// Checks the artifacts in `dir`: checksums, manifest, bundle, patch and archive.
///
/// `scratch` is an empty directory for two repositories: one takes the bundle, the other has the code alone, and there
/// the patch is applied.
///
/// # Errors
///
/// Where a check could not be made; what a check finds is no error.
pub fn check(dir: &Path, scratch: &Path) -> Result<Checked, ArtifactsError> {
    let mut checked = Checked {
        checks: Vec::new(),
        manifest: None,
        worktree_tree: None,
    };
    // A pipe by one of the names would be waited for.
    let streams: Vec<Violation> = SUMMED
        .iter()
        .chain([&CHECKSUMS])
        .filter(|name| fs::symlink_metadata(dir.join(name)).is_ok_and(|found| !found.is_file()))
        .map(|name| Violation::new(ErrorCode::Io, *name, "it is no regular file"))
        .collect();
    if !streams.is_empty() {
        checked.add("checksums", streams);
        return Ok(checked);
    }
    checked.add("checksums", checksums(dir)?);
    let manifest = match manifest(dir) {
        Ok(manifest) => manifest,
        Err(violation) => {
            checked.add("manifest", vec![violation]);
            return Ok(checked);
        }
    };
    checked.manifest = Some(manifest.clone());
    let folder = |name: &str| {
        let path = scratch.join(name);
        let made = fs::create_dir(&path).map_err(|source| ArtifactsError::Io {
            path: path.clone(),
            source,
        });
        made.map(|()| path)
    };
    let refspec = format!("+{0}*:{0}*", refs::NAMESPACE);
    let taken = bundle::open_refs(&dir.join(OBJECTS), &folder("bundle")?, &refspec);
    let (taken, header) = match taken {
        Ok(taken) => taken,
        Err(error) => {
            let violation = Violation::new(error.code(), OBJECTS, error.to_string());
            checked.add("bundle", vec![violation]);
            return Ok(checked);
        }
    };
    let mut violations = names(&taken, &manifest)?;
    violations.extend(code(&header, &manifest));
    if !checked.add("bundle", violations) {
        return Ok(checked);
    }
    let (whole, violations) = documents(&taken, &manifest)?;
    let (Some(whole), true) = (whole, checked.add("manifest", violations)) else {
        return Ok(checked);
    };
    let head = whole.content.repository.head;
    let clean = bundle::make(&folder("clean")?, taken.hash_kind(), Beside::Nothing);
    let clean = clean.map_err(ArtifactsError::Make)?;
    // The code alone: what the patch brings must come from it.
    let code: Vec<_> = head
        .iter()
        .map(|head| (head.id(), refs::name("head")))
        .collect();
    restore::copy_objects(&taken, &clean, &code)?;
    let found = patch::apply(&clean, head, &dir.join(PATCH))?;
    let expected = whole.content.repository.worktree_tree;
    let violation = match found {
        Ok(tree) if tree == expected.id() => {
            checked.worktree_tree = Some(expected);
            None
        }
        Ok(tree) => Some(format!("it leads to the tree {tree}, not to {expected}")),
        Err(message) => Some(format!("it does not apply to head: {message}")),
    };
    let violation = violation.map(|what| Violation::new(ErrorCode::PatchMismatch, PATCH, what));
    if !checked.add("patch", violation.into_iter().collect()) {
        return Ok(checked);
    }
    let rest: Vec<_> = refs::of_manifest(&whole.content)
        .into_iter()
        .map(|(name, id)| (id, name))
        .collect();
    restore::copy_objects(&taken, &clean, &rest)?;
    let clean = Repository::at_git_dir(clean.git_dir())
        .map_err(|error| ArtifactsError::Make(error.into()))?;
    let mut files = UntrackedFiles::find(&clean, &whole.content)?;
    let violation = match files.are(&whole.content.worktree.untracked) {
        true => archive::compare(&mut files, &dir.join(UNTRACKED))?,
        false => Some(Violation::new(
            ErrorCode::DigestMismatch,
            "content.worktree.untracked",
            "it does not count the files that are in the worktree and not in the index",
        )),
    };
    checked.add("archive", violation.into_iter().collect());
    Ok(checked)
}

/// Every file is there, and has the checksum that is named for it.
fn checksums(dir: &Path) -> Result<Vec<Violation>, ArtifactsError> {
    let path = dir.join(CHECKSUMS);
    let mut text = Vec::new();
    let read =
        File::open(&path).and_then(|file| file.take(MAX_CHECKSUMS_BYTES).read_to_end(&mut text));
    if let Err(violation) = readable(CHECKSUMS, read.map(drop)) {
        return Ok(vec![violation]);
    }
    let mut violations = Vec::new();
    let lines: Vec<&[u8]> = text.lines().collect();
    for name in SUMMED {
        let end = format!("  {name}");
        let named = lines
            .iter()
            .find_map(|line| line.strip_suffix(end.as_bytes()));
        let path = dir.join(name);
        let sum = match File::open(&path).and_then(Digest::of_reader) {
            Ok((digest, _)) => digest.hex(),
            Err(error) => {
                violations.extend(readable(name, Err(error)).err());
                continue;
            }
        };
        match named {
            Some(named) if named == sum.as_bytes() => {}
            Some(_) => {
                let detail = format!("its checksum is {sum}, not the one that {CHECKSUMS} has");
                violations.push(Violation::new(ErrorCode::DigestMismatch, name, detail));
            }
            None => {
                let detail = format!("{CHECKSUMS} does not have it");
                violations.push(Violation::new(ErrorCode::DigestMismatch, name, detail));
            }
        }
    }
    Ok(violations)
}

/// Names a file that cannot be read.
fn readable(name: &str, read: io::Result<()>) -> Result<(), Violation> {
    read.map_err(|error| {
        let code = match error.kind() {
            io::ErrorKind::NotFound => ErrorCode::MissingObject,
            _ => ErrorCode::Io,
        };
        Violation::new(code, name, format!("it cannot be read: {error}"))
    })
}

fn manifest(dir: &Path) -> Result<Manifest, Violation> {
    let mut bytes = Vec::new();
    let most = codec::MAX_BYTES as u64 + 1;
    let read =
        File::open(dir.join(MANIFEST)).and_then(|file| file.take(most).read_to_end(&mut bytes));
    readable(MANIFEST, read.map(drop))?;
    codec::decode(&bytes).map_err(|error| Violation::new(error.code(), MANIFEST, error.to_string()))
}

/// The refs of the bundle name what the manifest names.
fn names(taken: &Repository, manifest: &Manifest) -> Result<Vec<Violation>, ArtifactsError> {
    let mut violations = Vec::new();
    for (name, id) in refs::of_manifest(&manifest.content) {
        let found = taken.find_ref(&name)?;
        if found != Some(id) {
            let artifact = format!("{OBJECTS}: {}", name.as_bstr());
            let detail = match found {
                Some(found) => format!("it is {found}, where the manifest has {id}"),
                None => format!("it is not there; the manifest has {id}"),
            };
            violations.push(Violation::new(ErrorCode::MissingObject, artifact, detail));
        }
    }
    Ok(violations)
}

/// The bundle leads git-clone(1) to the code of the manifest, and to nothing else.
fn code(header: &Header, manifest: &Manifest) -> Vec<Violation> {
    let code = refs::of_code(&manifest.content);
    let mut free = refs::of_manifest(&manifest.content);
    free.extend(code.iter().cloned());
    let mut documents = refs::of_documents().to_vec();
    let mut violations = Vec::new();
    let mut wrong = |name: &BStr, detail: String| {
        let artifact = format!("{OBJECTS}: {name}");
        violations.push(Violation::new(ErrorCode::MissingObject, artifact, detail));
    };
    for (name, id) in &header.refs {
        // Each but once: Git takes the last, or the first.
        if let Some(at) = documents.iter().position(|known| known.as_bstr() == name) {
            documents.swap_remove(at);
        } else if let Some(at) = free.iter().position(|(known, _)| known.as_bstr() == name) {
            let (_, expected) = free.swap_remove(at);
            if expected != *id {
                wrong(
                    name.as_bstr(),
                    format!("it is {id}, where the manifest has {expected}"),
                );
            }
        } else {
            wrong(
                name.as_bstr(),
                "it is no ref of the checkpoint, or stands there twice".into(),
            );
        }
    }
    for (name, id) in code.iter().filter(|missing| free.contains(missing)) {
        wrong(
            name.as_bstr(),
            format!("it is not there; the manifest has {id}"),
        );
    }
    violations
}

/// The manifest is consistent, and the documents that it names are there; returns it with all lists in it.
fn documents(
    taken: &Repository,
    manifest: &Manifest,
) -> Result<(Option<Manifest>, Vec<Violation>), ArtifactsError> {
    let objects = taken.gix();
    let tree = |part: &str| -> Result<Option<ObjectId>, ArtifactsError> {
        Ok(taken.find_ref(&refs::name(part))?)
    };
    let blobs = match parts::lists(objects, tree("lists")?) {
        Ok(blobs) => blobs,
        Err(violation) => return Ok((None, vec![violation])),
    };
    let found = check::manifest(manifest, &blobs);
    let mut violations: Vec<Violation> = found.into_iter().map(Violation::from).collect();
    let Ok(whole) = put_back_into_manifest(manifest, &blobs) else {
        return Ok((None, violations));
    };
    violations.extend(parts::receipts(objects, &whole.content, tree("receipts")?));
    let attachments = parts::attachments(objects, &manifest.content, tree("attachments")?);
    violations.extend(attachments.err());
    Ok((Some(whole), violations))
}
