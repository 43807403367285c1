//! Paths that would show a change though nothing was edited, because other conversions are in force here.

use gix::{bstr::ByteSlice, objs::Kind};

use super::{
    RestoreError,
    content::{Contents, file_error},
    parallel,
    plan::PlannedFile,
    session::Session,
};
use crate::{contract::Conversions, conversion::WorktreeConversion, repo_path::RepoPath};

/// Returns the unchanged paths whose bytes on disk Git would not store as they are stored, under `in_force`.
pub(super) fn paths(
    session: &Session<'_>,
    in_force: &Conversions,
) -> Result<Vec<RepoPath>, RestoreError> {
    if in_force == session.conversions() {
        return Ok(Vec::new());
    }
    let start = || {
        let conversion = session.plan.conversion(in_force, session.hash);
        Ok((session.contents(), conversion, session.objects()))
    };
    let shown = parallel::map(
        &session.plan.files,
        start,
        |(contents, conversion, objects), _, file| {
            if file.is_regular() && !file.sparse && is_staged(session, file) {
                shows_change(file, contents, conversion, objects)
            } else {
                Ok(false)
            }
        },
    )?;
    Ok(session.paths_where(|at, _| shown[at]))
}

fn is_staged(session: &Session<'_>, file: &PlannedFile) -> bool {
    let index = &session.plan.index;
    let found = index.binary_search_by(|item| item.path.cmp(&file.path));
    found.is_ok_and(|at| index[at].id == file.id)
}

fn shows_change(
    file: &PlannedFile,
    contents: &mut Contents,
    conversion: &mut WorktreeConversion,
    objects: &gix::Repository,
) -> Result<bool, RestoreError> {
    let (_, bytes) = contents.bytes(file)?;
    let bytes = bytes
        .into_memory()
        .map_err(file_error(&file.path, "read"))?;
    // Line ends are what the settings decide.
    if !bytes.contains_str("\r\n") {
        return Ok(false);
    }
    let stored = conversion.to_git(file.path.as_bstr(), &bytes, file.id, &objects.objects)?;
    let id = gix::objs::compute_hash(file.id.kind(), Kind::Blob, &stored).map_err(|source| {
        RestoreError::Object {
            id: file.id,
            source: source.into(),
        }
    })?;
    Ok(id != file.id)
}
