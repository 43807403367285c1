//! What every capture of a worktree leaves out on request: `--omit` is remembered, `--forget` takes it back.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use gix::bstr::{BString, ByteSlice};
use store::{
    error_code::ErrorCode,
    repository::Repository,
    snapshot::{self, CaptureOptions, SnapshotError},
};

use crate::{
    context::Context,
    error::CommandError,
    state::{Bytes, State, Unfilled},
    ui,
};

/// What a capture is to leave out from now on, and what no longer.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct Omit {
    /// Leave out what the pathspec matches, now and in every later capture here
    #[arg(long, value_name = "PATHSPEC")]
    omit: Vec<OsString>,
    /// Capture again what an earlier `--omit` of the pathspec leaves out
    #[arg(long, value_name = "PATHSPEC")]
    forget: Vec<OsString>,
}

impl Omit {
    /// Remembers what is asked for, and returns what a capture is told.
    pub(crate) fn apply(
        &self,
        context: &Context,
        repository: &Repository,
    ) -> Result<CaptureOptions, CommandError> {
        let place = Place::of(context, repository.worktree());
        let known = remembered(repository);
        let forgotten: Vec<BString> = self.forget.iter().map(|spec| place.name(spec)).collect();
        if let Some(unknown) = forgotten.iter().find(|spec| !known.contains(spec)) {
            return Err(nothing_to_forget(unknown, &known));
        }
        let omitted: Vec<BString> = self.omit.iter().map(|spec| place.name(spec)).collect();
        for spec in &omitted {
            place.check(spec)?;
        }
        Ok(change(context, repository, &omitted, &forgotten))
    }
}

/// Returns the pathspecs that every capture here leaves out.
pub(crate) fn remembered(repository: &Repository) -> Vec<BString> {
    let omit = State::load(repository).omit;
    omit.into_iter().map(|Bytes(spec)| spec).collect()
}

/// Adds pathspecs, relative to where the command runs, to what every capture of the worktree leaves out.
///
/// One that is none is not remembered; the capture says what is wrong with it.
pub(crate) fn options(
    context: &Context,
    repository: &Repository,
    omit: &[OsString],
) -> CaptureOptions {
    let place = Place::of(context, repository.worktree());
    let named: Vec<BString> = omit.iter().map(|spec| place.name(spec)).collect();
    let is_good = |spec: &&BString| place.check(spec).is_ok();
    let good: Vec<BString> = named.iter().filter(is_good).cloned().collect();
    let mut options = change(context, repository, &good, &[]);
    options.omit.extend(named);
    options
}

/// Makes pathspecs, relative to where the command runs, mean the same at the top of a worktree.
pub(crate) fn from_here(
    context: &Context,
    worktree: Option<&Path>,
    specs: &[OsString],
) -> Vec<BString> {
    let place = Place::of(context, worktree);
    specs.iter().map(|spec| place.name(spec)).collect()
}

fn change(
    context: &Context,
    repository: &Repository,
    omitted: &[BString],
    forgotten: &[BString],
) -> CaptureOptions {
    let apply = |omit: &mut Vec<Bytes>| {
        omit.retain(|Bytes(spec)| !forgotten.contains(spec));
        omit.extend(omitted.iter().cloned().map(Bytes));
        omit.sort();
        omit.dedup();
    };
    State::update(context, repository, |state| apply(&mut state.omit));
    let mut state = State::load(repository);
    // Also where nothing can be remembered.
    apply(&mut state.omit);
    CaptureOptions {
        omit: state.omit.into_iter().map(|Bytes(spec)| spec).collect(),
        secret: state.secret.into_iter().map(|Bytes(path)| path).collect(),
        prefix: PathBuf::new(),
        unfilled: state.unfilled.iter().map(Unfilled::to_capture).collect(),
    }
}

fn nothing_to_forget(spec: &BString, known: &[BString]) -> CommandError {
    let message = format!("`{spec}` is not among what captures here leave out");
    let error = CommandError::new(ErrorCode::Usage, message);
    if known.is_empty() {
        return error.hint("nothing is left out here on request");
    }
    let words: Vec<String> = known.iter().map(ToString::to_string).collect();
    error.hint(format!("left out here: {}", ui::shell_line(&words)))
}

/// Where in the worktree a command runs.
struct Place<'a> {
    /// The top; empty where there is none.
    worktree: &'a Path,
    /// Relative to the top; empty there.
    below: BString,
}

impl<'a> Place<'a> {
    fn of(context: &Context, worktree: Option<&'a Path>) -> Self {
        let dir = context.dir.canonicalize().unwrap_or_default();
        let worktree = worktree.unwrap_or(Path::new(""));
        let below = dir.strip_prefix(worktree).unwrap_or(Path::new(""));
        Place {
            worktree,
            below: below.as_os_str().as_bytes().into(),
        }
    }

    fn check(&self, spec: &BString) -> Result<(), SnapshotError> {
        snapshot::check_pathspec(spec.as_bstr(), self.worktree)
    }

    /// Makes a pathspec mean the same at the top of the worktree, gitglossary(7).
    fn name(&self, spec: &OsStr) -> BString {
        let spec = spec.as_bytes();
        let joined = |magic: &[u8], path: &[u8]| {
            let separator: &[u8] = if self.below.is_empty() { b"" } else { b"/" };
            [magic, &self.below, separator, path].concat().into()
        };
        if spec.starts_with(b":/") || spec.starts_with(b":(top") {
            return spec.into();
        }
        match spec.strip_prefix(b":(") {
            Some(rest) => match rest.find_byte(b')') {
                Some(end) => joined(&[b":(top,", &rest[..end], b")"].concat(), &rest[end + 1..]),
                None => spec.into(),
            },
            // Short magic other than `:/` is rare and says itself where it applies.
            None if spec.starts_with(b":") => spec.into(),
            None => joined(b":(top)", spec),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pathspec_is_remembered_from_the_top() {
        let named = |below: &str, spec: &str| {
            let (worktree, below) = (Path::new("/"), below.into());
            Place { worktree, below }.name(OsStr::new(spec))
        };
        assert_eq!(named("", "a"), ":(top)a");
        assert_eq!(named("src/x", "*.log"), ":(top)src/x/*.log");
        assert_eq!(named("src", ":(glob)**/a"), ":(top,glob)src/**/a");
        assert_eq!(named("src", ":/a"), ":/a");
    }
}
