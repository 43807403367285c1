//! `git handoff export`.

mod artifacts;

use std::{
    fs::{self, File},
    io::{self, IsTerminal},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use gix::{ObjectId, refs::FullName};
use hooks::{judge::Judge, policy::Policy, rejection::Rejection};
use schemars::JsonSchema;
use serde::Serialize;
use store::{
    bundle::{self, Beside, Header},
    digest::Digest,
    error_code::ErrorCode,
    generation::Generation,
    oid::Oid,
    repository::Repository,
    scope::ScopeName,
    timestamp::Timestamp,
    verify::{self, Depth, VerifiedPrepared, VerifiedRecord},
};

pub(crate) use artifacts::subfolder;

use crate::{
    context::Context,
    error::CommandError,
    exit, history, prepared,
    scopes::{ScopeArg, Scopes},
    source::{self, Source, as_file},
    temporary::{Existing, Temporary},
    ui::{Report, count},
};

/// Write a scope to a file that Git itself can fetch from
///
/// The file is a Git bundle with all records of the scope up to the one named, and all commits that they build on. It
/// is proved before it gets its name: fetched into an empty repository and judged there. `git handoff import`, `show`,
/// `continue`, `verify` and `restore` take it, and so does `git fetch <file> 'refs/handoff/*:refs/handoff/*'`.
///
/// A prepared handoff, `<scope>@prepared`, travels in the same way, before it is in any history; it can be continued from
/// and committed wherever the file is restored or imported.
///
/// A file that exists is not replaced, unless --force says so.
///
/// With --artifacts the state travels without any ref of git-handoff: `git clone objects.bundle`, then `git apply
/// --index` of the patch. `git handoff verify <dir>/` checks such a directory.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The scope, or one of its generations; without one, the scope in use here
    #[arg(value_name = "SCOPE[@N|@prepared]|FILE", value_parser = Source::parser())]
    scope: Option<Source>,
    /// The file to write; `-` is standard output
    #[arg(
        short,
        long,
        value_name = "FILE",
        required_unless_present = "artifacts"
    )]
    output: Option<PathBuf>,
    /// Leave out what <COMMIT> reaches; whoever takes the file must have it
    #[arg(long, value_name = "COMMIT")]
    base: Option<String>,
    /// Replace a file that exists
    #[arg(long)]
    force: bool,
    /// Write a directory with manifest, patch, bundle, archive and checksums instead
    #[arg(long, value_name = "DIR", conflicts_with_all = ["output", "base", "force"])]
    artifacts: Option<PathBuf>,
}

/// What is written to a file.
enum Subject {
    Record(Box<VerifiedRecord>),
    Prepared {
        prepared: Box<VerifiedPrepared>,
        /// The record that it follows.
        tip: Option<Box<VerifiedRecord>>,
    },
}

impl Subject {
    /// Finds what is named.
    fn find(scopes: &Scopes<'_>, arg: Option<&ScopeArg>) -> Result<Self, CommandError> {
        let Some(scope) = arg.and_then(ScopeArg::prepared) else {
            return Ok(Subject::Record(Box::new(scopes.find(arg)?.record)));
        };
        let prepared = prepared::find(scopes.repository, scope)?;
        let prepared = prepared.ok_or_else(|| prepared::nothing(scope))?;
        let view = scopes.view_if_any(scope)?;
        // Elsewhere it could be committed no more than here.
        prepared::refuse_moved(&prepared, view.as_ref())?;
        Ok(Subject::Prepared {
            prepared: Box::new(prepared),
            tip: view.map(|view| Box::new(view.tip)),
        })
    }

    fn scope(&self) -> &ScopeName {
        match self {
            Subject::Record(record) => record.scope(),
            Subject::Prepared { prepared, .. } => &prepared.document.value.scope,
        }
    }

    fn commit(&self) -> ObjectId {
        match self {
            Subject::Record(record) => record.id,
            Subject::Prepared { prepared, .. } => prepared.id,
        }
    }

    /// Returns the generation that it is, or would be.
    fn generation(&self) -> Option<Generation> {
        match self {
            Subject::Record(record) => Some(record.generation()),
            Subject::Prepared { tip, .. } => match tip {
                Some(tip) => tip.generation().next(),
                None => Some(Generation::FIRST),
            },
        }
    }

    fn refs(&self) -> Vec<(FullName, ObjectId)> {
        match self {
            Subject::Record(record) => vec![(record.scope().to_ref(), record.id)],
            Subject::Prepared { prepared, tip } => {
                let scope = self.scope();
                let name = store::prepared::name_of_main(scope);
                let tip = tip.iter().map(|tip| (scope.to_ref(), tip.id));
                tip.chain([(name, prepared.id)]).collect()
            }
        }
    }

    /// Judges what has come into another repository.
    fn judge(&self, objects: &gix::Repository) -> Result<(), CommandError> {
        let line = match self {
            Subject::Record(record) => Some(record),
            Subject::Prepared { prepared, tip } => {
                let scope = Some(self.scope());
                let judged = verify::prepared(objects, prepared.id, scope, Depth::Objects);
                judged.into_result().map_err(Rejection::from)?;
                tip.as_ref()
            }
        };
        if let Some(record) = line {
            let judge = Judge {
                objects,
                policy: Policy::default(),
                now: Timestamp::now(),
            };
            judge.line(record.scope(), record.id, None, None)?;
        }
        Ok(())
    }
}

pub(crate) struct Exported {
    subject: Subject,
    file: PathBuf,
    bytes: u64,
    sha256: Digest,
    prerequisites: Vec<ObjectId>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Document<'a> {
    scope: &'a ScopeName,
    generation: Option<Generation>,
    commit: Oid,
    /// Digest of the manifest; null before there is one.
    checkpoint_digest: Option<Digest>,
    /// The file, where one was written.
    file: Option<String>,
    bytes: Option<u64>,
    sha256: Option<Digest>,
    /// Commits that whoever reads the file must have.
    prerequisites: Vec<Oid>,
    /// The directory of artifacts, where one was written.
    artifacts: Option<String>,
}

impl Report for Exported {
    const NAME: &'static str = "export";

    type Document<'a> = Document<'a>;

    fn document(&self) -> Document<'_> {
        let digest = match &self.subject {
            Subject::Record(record) => Some(record.manifest.digest),
            Subject::Prepared { .. } => None,
        };
        Document {
            scope: self.subject.scope(),
            generation: self.subject.generation(),
            commit: self.subject.commit().into(),
            checkpoint_digest: digest,
            file: Some(self.file.to_string_lossy().into_owned()),
            bytes: Some(self.bytes),
            sha256: Some(self.sha256),
            prerequisites: self.prerequisites.iter().copied().map(Oid::from).collect(),
            artifacts: None,
        }
    }

    fn text(&self) -> String {
        let (generation, kind) = match &self.subject {
            Subject::Record(record) => (record.generation().to_string(), "record  "),
            Subject::Prepared { .. } => ("prepared".to_owned(), "prepared"),
        };
        let mut text = format!(
            "exported {}@{generation} to {}\n  {kind}   {}\n  file       {}, {}\n  proved     fetched into an empty \
             repository, every record judged there\n",
            self.subject.scope(),
            crate::ui::terminal_safe(&self.file.to_string_lossy()),
            self.subject.commit(),
            count(self.bytes, "byte"),
            self.sha256,
        );
        for id in &self.prerequisites {
            text.push_str(&format!("  needs      {id}\n"));
        }
        text
    }

    fn next_commands(&self) -> Vec<Vec<String>> {
        let word = as_file(&self.file);
        let of = |command: &str| vec!["git".into(), "handoff".into(), command.into(), word.clone()];
        vec![of("restore"), of("import")]
    }
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<u8, CommandError> {
    let output = match (&args.output, &args.artifacts) {
        (Some(output), _) => output,
        (None, Some(dir)) => return artifacts::run(args, dir, context),
        // The command line is refused before.
        (None, None) => Path::new("-"),
    };
    let to_stdout = output.as_os_str() == "-";
    if to_stdout && context.ui.is_json() {
        let message = "standard output cannot hold both the file and a document";
        return Err(CommandError::new(ErrorCode::Usage, message).hint("name a file with -o"));
    }
    if to_stdout && io::stdout().is_terminal() {
        let message = "a file is not for a terminal";
        return Err(CommandError::new(ErrorCode::Usage, message)
            .hint("name a file with -o, or send standard output somewhere"));
    }
    let target = context.path(output);
    let existing = match args.force {
        true => Existing::Replace,
        false => Existing::Refuse,
    };
    if !to_stdout {
        refuse_existing(&target, existing)?;
    }
    let opened = source::open(context, args.scope.as_ref())?;
    let repository = &opened.repository;
    let scopes = Scopes::new(context, repository);
    let subject = Subject::find(&scopes, opened.scope.as_ref())?;
    let base = match &args.base {
        Some(name) => Some(commit(repository, name)?),
        None => None,
    };
    let mut repository = None;
    for (_, commit) in subject.refs() {
        let whole = history::whole(context, &scopes, subject.scope(), commit, base)?;
        repository = Some(whole);
    }
    let repository = repository.as_ref().unwrap_or(scopes.repository);
    let made = match to_stdout {
        true => {
            let directory = Temporary::directory()?;
            let file = directory.path().join("bundle");
            let made = make(repository, &subject, base, &file)?;
            io::copy(&mut File::open(&file)?, &mut io::stdout().lock())?;
            made
        }
        false => {
            let file =
                Temporary::file_in(folder(&target)).map_err(|error| named(error, &target))?;
            let made = make(repository, &subject, base, file.path())?;
            file.keep_as(&target, existing)
                .map_err(|error| not_named(&target, error))?;
            sync_folder(&target)?;
            made
        }
    };
    let exported = Exported {
        subject,
        file: output.to_owned(),
        bytes: made.bytes,
        sha256: made.sha256,
        prerequisites: made.header.prerequisites,
    };
    if to_stdout {
        context.ui.note(&exported.text());
    } else {
        context.ui.report(&exported)?;
    }
    Ok(exit::SUCCESS)
}

/// A bundle that was written and proved.
struct Made {
    header: Header,
    bytes: u64,
    sha256: Digest,
}

/// Writes a bundle, then fetches it into an empty repository and judges what has come there.
fn make(
    repository: &Repository,
    subject: &Subject,
    base: Option<ObjectId>,
    path: &Path,
) -> Result<Made, CommandError> {
    let file = File::create(path)?;
    let header = bundle::write(repository, &subject.refs(), base, path, &file)?;
    let directory = Temporary::directory()?;
    let git_dir = directory.path().join("proof");
    fs::create_dir(&git_dir)?;
    let beside = match header.prerequisites.is_empty() {
        true => Beside::Nothing,
        false => Beside::Copied(repository),
    };
    let proof = bundle::open(path, &git_dir, beside)?;
    subject.judge(proof.repository.gix())?;
    let (sha256, bytes) = Digest::of_reader(File::open(path)?)?;
    Ok(Made {
        header,
        bytes,
        sha256,
    })
}

/// Returns the commit that a revision names.
fn commit(repository: &Repository, name: &str) -> Result<ObjectId, CommandError> {
    let revision = format!("{name}^{{commit}}");
    let args = [
        "rev-parse",
        "--quiet",
        "--verify",
        "--end-of-options",
        &revision,
    ];
    let found = repository.git().line(args).ok();
    found
        .and_then(|id| ObjectId::from_hex(id.as_bytes()).ok())
        .ok_or_else(|| {
            let message = format!("there is no commit `{name}` here");
            CommandError::new(ErrorCode::NotFound, message).subject(name)
        })
}

/// Refuses to write where something is, before any work is done.
pub(crate) fn refuse_existing(target: &Path, existing: Existing) -> Result<(), CommandError> {
    let Ok(found) = fs::symlink_metadata(target) else {
        return Ok(());
    };
    if existing == Existing::Replace && found.is_file() {
        return Ok(());
    }
    Err(exists(target, found.is_file()))
}

fn exists(target: &Path, is_file: bool) -> CommandError {
    let message = format!("{} exists", target.display());
    let error = CommandError::new(ErrorCode::DirectoryNotEmpty, message)
        .subject(target.display().to_string());
    match is_file {
        true => error.hint("give another name, or replace it with --force"),
        false => error.hint("give another name; nothing but a file is replaced"),
    }
}

/// Returns the directory that a path lies in.
pub(crate) fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().as_bytes().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Says for which file something could not be made.
pub(crate) fn named(error: CommandError, target: &Path) -> CommandError {
    let message = format!(
        "{} could not be written: {}",
        target.display(),
        error.message
    );
    CommandError::new(error.code, message).subject(target.display().to_string())
}

/// Says why a file that was made could not get its name.
pub(crate) fn not_named(target: &Path, error: io::Error) -> CommandError {
    match error.kind() {
        io::ErrorKind::AlreadyExists => exists(target, true),
        io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::NotADirectory => exists(target, false),
        _ => named(error.into(), target),
    }
}

/// Sees that a name that was given stays after a crash.
pub(crate) fn sync_folder(target: &Path) -> Result<(), CommandError> {
    Ok(File::open(folder(target))?.sync_all()?)
}

impl From<bundle::WriteError> for CommandError {
    fn from(error: bundle::WriteError) -> Self {
        use bundle::WriteError;
        match error {
            WriteError::Git(error) => error.into(),
            WriteError::Answer => Self::from_error(ErrorCode::GitFailed, &error),
            WriteError::Empty(_) => Self::from_error(ErrorCode::Usage, &error)
                .hint("name a commit before the work with --base"),
            WriteError::Io { .. } => Self::from_error(ErrorCode::Io, &error),
        }
    }
}
