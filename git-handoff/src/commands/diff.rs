//! `git handoff diff`.

mod contract;
pub(crate) mod report;

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
};

use gix::{ObjectId, bstr::ByteSlice};
use hooks::rejection::Rejection;
use report::{CodeCommit, Compared, FileChange, Side};
use store::{
    contract::codec,
    error_code::ErrorCode,
    line,
    record::Record,
    repo_path::RepoPath,
    repository::Repository,
    verify::{self, Depth, VerifiedRecord},
};

use crate::{
    context::Context,
    error::CommandError,
    exit, omitted,
    scopes::Scopes,
    source::{self, Opened, Source},
};

/// Show what differs between two checkpoints
///
/// Says which claims and decisions opened and closed and what else of the contract changed, which commits and files
/// differ, and which records lie between. `a@3..5` is short for two generations of one scope.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The checkpoint before: a scope, one of its generations, or a file
    #[arg(value_name = "SCOPE[@N]|FILE")]
    from: OsString,
    /// The checkpoint after
    #[arg(value_name = "SCOPE[@N]|FILE")]
    to: Option<OsString>,
    /// Show the files alone
    #[arg(long)]
    stat: bool,
    /// Show the contract alone
    #[arg(long)]
    contract: bool,
    /// Compare these files alone
    #[arg(last = true, value_name = "PATH")]
    paths: Vec<OsString>,
}

/// Takes the two words apart, or the short form of one.
fn sources(args: &Args) -> Result<(Source, Source), CommandError> {
    let usage = |message: String| CommandError::new(ErrorCode::Usage, message);
    if let Some(to) = &args.to {
        let (from, to) = (Source::parse(&args.from), Source::parse(to));
        return Ok((from.map_err(usage)?, to.map_err(usage)?));
    }
    let word = args.from.to_string_lossy();
    let short = word.split_once("..").and_then(|(from, to)| {
        let (scope, _) = from.split_once('@')?;
        let is_scope = !scope.contains('/') && !to.is_empty();
        is_scope.then(|| (from.to_owned(), format!("{scope}@{to}")))
    });
    let (from, to) = short.ok_or_else(|| {
        usage("two checkpoints are compared, and one was named".into())
            .hint("git handoff diff <a> <b>, or <scope>@<n>..<m>")
    })?;
    Ok((
        Source::parse(from.as_ref()).map_err(usage)?,
        Source::parse(to.as_ref()).map_err(usage)?,
    ))
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<u8, CommandError> {
    let (from, to) = sources(args)?;
    let before = source::open(context, Some(&from))?;
    // One repository must see both: that of a file sees what lies beside it.
    let after = match &to {
        Source::File(path) => source::open_scope_beside(context, path, Some(&before.repository))?,
        Source::Scope(_) => source::open(context, Some(&to))?,
    };
    let one = find(context, &before)?;
    let other = find(context, &after)?;
    let objects = match (&before.file, &after.file) {
        (Some(_), None) => &before.repository,
        _ => &after.repository,
    };
    if objects.hash_kind() != before.repository.hash_kind() {
        let message = "the two are of repositories with ids of different kinds";
        return Err(CommandError::new(ErrorCode::ScopeMismatch, message));
    }
    let (old, new) = (&one.whole().content, &other.whole().content);
    let compared = Compared {
        contract: contract::changes(&codec::to_json(old), &codec::to_json(new)),
        commits: commits(objects, &one, &other)?,
        files: files(context, objects, &one, &other, &args.paths)?,
        records: records(objects, &one, &other)?,
        from: Side::of(&one, before.file),
        to: Side::of(&other, after.file),
        show_contract: args.contract || !args.stat,
        show_files: args.stat || !args.contract,
        show_rest: args.stat == args.contract,
    };
    context.ui.report(&compared)?;
    Ok(exit::SUCCESS)
}

fn find(context: &Context, opened: &Opened) -> Result<VerifiedRecord, CommandError> {
    let scopes = Scopes::new(context, &opened.repository);
    Ok(scopes.find(opened.scope.as_ref())?.record)
}

/// Returns the commits of the code that only one of the two has.
fn commits(
    objects: &Repository,
    one: &Record,
    other: &Record,
) -> Result<Vec<CodeCommit>, CommandError> {
    let head = |record: &Record| record.manifest.value.content.repository.head;
    let (old, new) = (head(one), head(other));
    let mut args: Vec<String> = [
        "log",
        "--no-decorate",
        "--no-show-signature",
        "--no-color",
        "-z",
    ]
    .map(String::from)
    .into();
    args.extend(["--left-right".into(), "--format=%m%H %s".into()]);
    match (old, new) {
        (None, None) => return Ok(Vec::new()),
        (Some(old), Some(new)) => args.push(format!("{old}...{new}")),
        (Some(old), None) => args.extend([old.to_string()]),
        (None, Some(new)) => args.extend([new.to_string()]),
    }
    let listed = objects.git().output(&args)?;
    let lines = listed.split(|b| *b == 0).filter(|line| !line.is_empty());
    let commits = lines.filter_map(|line| {
        let (mark, rest) = line.split_first()?;
        let (commit, summary) = rest.split_once_str(" ").unwrap_or((rest, b""));
        Some(CodeCommit {
            is_new: new.is_some() && (old.is_none() || *mark == b'>'),
            commit: commit.to_str_lossy().into_owned(),
            summary: summary.to_str_lossy().into_owned(),
        })
    });
    Ok(commits.collect())
}

/// Returns the files of the worktree that differ, with their lines counted.
fn files(
    context: &Context,
    objects: &Repository,
    one: &Record,
    other: &Record,
    paths: &[OsString],
) -> Result<Vec<FileChange>, CommandError> {
    let tree = |record: &Record| record.root.worktree.to_string();
    let (old, new) = (tree(one), tree(other));
    let here = context.repository().ok();
    let worktree = here.as_ref().and_then(Repository::worktree);
    let specs = omitted::from_here(context, worktree, paths);
    let list = |form: &str| {
        let mut args: Vec<OsString> = [
            "diff-tree",
            "-r",
            "-z",
            "--no-renames",
            "--no-ext-diff",
            "--no-textconv",
            "--ignore-submodules=none",
            form,
            &old,
            &new,
            "--",
        ]
        .map(Into::into)
        .into();
        args.extend(specs.iter().map(|spec| OsStr::from_bytes(spec).to_owned()));
        objects.git().output(&args)
    };
    let raw = list("--raw")?;
    let mut fields = raw.split(|b| *b == 0);
    let mut changes = Vec::new();
    while let (Some(what), Some(path)) = (fields.next(), fields.next()) {
        let words: Vec<&str> = what.to_str().unwrap_or_default().split(' ').collect();
        let ([old_mode, new_mode, .., status], Ok(path)) =
            (words.as_slice(), RepoPath::from_bytes(path))
        else {
            return Err(unreadable());
        };
        changes.push(FileChange::new(path, status, old_mode, new_mode));
    }
    let counted = list("--numstat")?;
    let counts = counted.split(|b| *b == 0).filter(|line| !line.is_empty());
    for (change, line) in changes.iter_mut().zip(counts) {
        let mut words = line.splitn(3, |b| *b == b'\t');
        let mut number = || words.next()?.to_str().ok()?.parse().ok();
        (change.added, change.deleted) = (number(), number());
        if words.next() != Some(change.path.as_bstr()) {
            return Err(unreadable());
        }
    }
    Ok(changes)
}

fn unreadable() -> CommandError {
    let message = "git gave an answer about files that cannot be read";
    CommandError::new(ErrorCode::GitFailed, message)
}

/// Returns the records after one and up to the other, where they stand on one line; oldest first.
fn records(
    objects: &Repository,
    one: &Record,
    other: &Record,
) -> Result<Vec<VerifiedRecord>, CommandError> {
    if one.scope() != other.scope() {
        return Ok(Vec::new());
    }
    let gix = objects.gix();
    let walk = |from: ObjectId, to: ObjectId| line::back_to(gix, from, |id| id == to);
    let mut between = walk(other.id, one.id).map_err(Rejection::from)?;
    if between.stopped_at.is_none() {
        between = walk(one.id, other.id).map_err(Rejection::from)?;
    }
    if between.stopped_at.is_none() {
        return Ok(Vec::new());
    }
    let read = |id: &ObjectId| {
        let record = verify::record(gix, *id, Some(one.scope()), None, Depth::Documents);
        Ok(record.into_result().map_err(Rejection::from)?)
    };
    between.records.iter().rev().map(read).collect()
}
