//! `git handoff export --artifacts`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use store::{artifacts, error_code::ErrorCode, verify::VerifiedRecord};

use super::{Args, Document, folder, named, not_named, sync_folder};
use crate::{
    context::Context,
    error::CommandError,
    exit, history,
    scopes::Scopes,
    source::{self, as_file},
    temporary::{Existing, Temporary},
    ui::{Report, terminal_safe},
};

struct Written {
    record: VerifiedRecord,
    dir: PathBuf,
}

impl Report for Written {
    const NAME: &'static str = "export";

    type Document<'a> = Document<'a>;

    fn document(&self) -> Document<'_> {
        let record = &self.record;
        Document {
            scope: record.scope(),
            generation: Some(record.generation()),
            commit: record.id.into(),
            checkpoint_digest: Some(record.manifest.digest),
            file: None,
            bytes: None,
            sha256: None,
            prerequisites: Vec::new(),
            artifacts: Some(self.dir.to_string_lossy().into_owned()),
        }
    }

    fn text(&self) -> String {
        let dir = self.dir.to_string_lossy();
        let record = &self.record;
        format!(
            "exported {}@{} to {}\n  files      {}, {}, {}, {}, {}\n  proved     the patch leads from head to the \
             worktree tree, in a clean clone\n",
            record.scope(),
            record.generation(),
            terminal_safe(&dir),
            artifacts::MANIFEST,
            artifacts::PATCH,
            artifacts::OBJECTS,
            artifacts::UNTRACKED,
            artifacts::CHECKSUMS,
        )
    }

    fn next_commands(&self) -> Vec<Vec<String>> {
        let dir = as_file(&self.dir);
        let bundle = as_file(&self.dir.join(artifacts::OBJECTS));
        vec![
            ["git", "handoff", "verify", &dir].map(String::from).into(),
            ["git", "clone", &bundle].map(String::from).into(),
        ]
    }
}

pub(super) fn run(args: &Args, dir: &Path, context: &Context) -> Result<u8, CommandError> {
    let target = context.path(dir);
    refuse_entries(&target)?;
    let opened = source::open(context, args.scope.as_ref())?;
    let scopes = Scopes::new(context, &opened.repository);
    let record = scopes.find(opened.scope.as_ref())?.record;
    let repository = history::whole(context, &scopes, record.scope(), record.id, None)?;
    let made = Temporary::directory_in(folder(&target)).map_err(|error| named(error, &target))?;
    let scratch = Temporary::directory()?;
    artifacts::write(
        &repository,
        &record,
        made.path(),
        &subfolder(&scratch, "write")?,
    )?;
    let checked = artifacts::check(made.path(), &subfolder(&scratch, "check")?)?;
    let found = checked
        .checks
        .into_iter()
        .flat_map(|check| check.violations)
        .next();
    if let Some(violation) = found {
        let error = CommandError::new(violation.code, violation.to_string());
        return Err(error
            .subject(record.scope().as_str())
            .hint("nothing was written: what was made does not stand for the checkpoint"));
    }
    made.keep_as(&target, Existing::Refuse)
        .map_err(|error| not_named(&target, error))?;
    sync_folder(&target)?;
    let dir = dir.to_owned();
    context.ui.report(&Written { record, dir })?;
    Ok(exit::SUCCESS)
}

/// Makes an empty directory in a temporary one.
pub(crate) fn subfolder(scratch: &Temporary, name: &str) -> Result<PathBuf, CommandError> {
    let path = scratch.path().join(name);
    fs::create_dir(&path)?;
    Ok(path)
}

fn refuse_entries(target: &Path) -> Result<(), CommandError> {
    let Ok(found) = fs::symlink_metadata(target) else {
        return Ok(());
    };
    let is_empty = found.is_dir() && fs::read_dir(target)?.next().is_none();
    if is_empty {
        return Ok(());
    }
    let message = format!("{} exists and is no empty directory", target.display());
    Err(CommandError::new(ErrorCode::DirectoryNotEmpty, message)
        .subject(target.display().to_string())
        .hint("give a new or empty directory"))
}

impl From<artifacts::ArtifactsError> for CommandError {
    fn from(error: artifacts::ArtifactsError) -> Self {
        use artifacts::ArtifactsError as E;
        match error {
            E::Git(error) => error.into(),
            E::Ref(error) => error.into(),
            E::Write(error) => error.into(),
            E::Bundle(error) => error.into(),
            E::Copy(error) => error.into(),
            E::Record(error) => hooks::rejection::Rejection::from(error).into(),
            E::Object { .. } | E::Conversion(_) => {
                Self::from_error(ErrorCode::MissingObject, &error)
                    .hint("`git fsck` names what is missing; a partial clone lacks objects: export in a whole one")
            }
            E::Io { .. } | E::Make(_) => Self::from_error(ErrorCode::Io, &error),
            E::Answer => Self::from_error(ErrorCode::GitFailed, &error),
        }
    }
}
