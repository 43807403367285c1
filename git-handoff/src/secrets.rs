//! What a scan for secrets means to whoever makes a record: a refusal that says how to go on, or warnings.

use std::{ffi::OsString, os::unix::ffi::OsStrExt};

use gix::bstr::BString;
use hooks::{
    rejection::Rejection,
    secret_scan::{Findings, Located, SecretScan},
};
use store::{
    contract::{Allow, Content},
    error_code::ErrorCode,
    repository::Repository,
    scope::ScopeName,
};

use crate::{
    authoring::Warning,
    context::Context,
    error::{CommandError, Detail},
    state::{Bytes, FoundSecret, State},
    ui,
};

/// Refuses where something blocks, and remembers what does; else returns what is to be said.
pub(crate) fn judge(
    context: &Context,
    repository: &Repository,
    scope: &ScopeName,
    found: &Findings,
) -> Result<Vec<Warning>, CommandError> {
    let Some(rejection) = found.rejection() else {
        let allowed = found.allowed().map(|entry| Warning {
            code: "SECRET_ALLOWED",
            message: format!(
                "{} lets {} through: {} (says {})",
                entry.fingerprint, entry.rule, entry.reason, entry.by
            ),
        });
        let warnings = found.warnings().map(|found| Warning {
            code: "POSSIBLE_SECRET",
            message: found.to_string(),
        });
        return Ok(allowed.chain(warnings).collect());
    };
    remember(context, repository, scope, found);
    let mut error = CommandError::from(rejection);
    error.errors = found.blocking().map(detail).collect();
    let files = found.files();
    if files.is_empty() {
        return Err(error);
    }
    let omits: Vec<String> = files
        .iter()
        .map(|path| ui::shell_line(&["--omit".into(), format!(":(top,literal){path}")]))
        .collect();
    Err(error.hint(format!("go on without them: {}", omits.join(" "))))
}

fn detail(found: &Located) -> Detail {
    let message = match &found.finding.fingerprint {
        Some(fingerprint) => format!("{found} ({})", fingerprint.as_str()),
        None => found.to_string(),
    };
    Detail {
        code: ErrorCode::SecretDetected,
        message,
        subject: Some(found.finding.path.to_string()),
    }
}

/// Remembers which files block, for the reason of an omission, and by which value, for `git handoff allow`.
fn remember(context: &Context, repository: &Repository, scope: &ScopeName, found: &Findings) {
    let files: Vec<Bytes> = found
        .files()
        .iter()
        .map(|path| Bytes(BString::from(path.as_bstr())))
        .collect();
    let values = found.blocking().filter_map(|found| {
        Some(FoundSecret {
            scope: scope.clone(),
            rule: found.finding.rule.to_string(),
            fingerprint: found.finding.fingerprint.clone()?.as_str().to_owned(),
        })
    });
    let values: Vec<FoundSecret> = values.collect();
    State::update(context, repository, |state| {
        state.secret.extend(files);
        state.secret.sort();
        state.secret.dedup();
        state.note_found(values);
    });
}

/// Finds what blocks in the text of a content, before anything of it is written: each with its field.
pub(crate) fn in_content(
    context: &Context,
    repository: &Repository,
    scope: &ScopeName,
    content: &Content,
) -> Result<Vec<(String, Rejection)>, CommandError> {
    let found = SecretScan::of_worktree(repository)?.scan_content(repository, scope, content);
    let Some(all) = found.rejection() else {
        return Ok(Vec::new());
    };
    remember(context, repository, scope, &found);
    let problem = |found: &Located| {
        let detail = format!("{} in it, which looks like a secret", found.finding.rule);
        let rejection = Rejection::new(ErrorCode::SecretDetected, detail);
        let hints = all.hints.clone();
        let field = found.finding.path.to_string();
        (
            format!("content.{}", field.trim_start_matches("content.")),
            Rejection { hints, ..rejection },
        )
    };
    Ok(found.blocking().map(problem).collect())
}

/// Refuses a command line that holds a secret: its receipt would hand it over.
pub(crate) fn refuse_in_command(
    repository: &Repository,
    scope: &ScopeName,
    argv: &[OsString],
) -> Result<(), CommandError> {
    let words: Vec<&[u8]> = argv.iter().map(|word| word.as_bytes()).collect();
    let found = SecretScan::of_worktree(repository)?.scan_command(repository, scope, &words);
    let Some(first) = found.blocking().next() else {
        return Ok(());
    };
    let message = format!(
        "the command line holds what looks like a secret ({}), and its receipt would hand it over",
        first.finding.rule
    );
    let mut error = CommandError::new(ErrorCode::SecretDetected, message)
        .hint("give it to the command by the environment, a file, or standard input")
        .hint("nothing ran, so there is no receipt");
    error.errors = found.blocking().map(detail).collect();
    Err(error)
}

/// Returns the allow entries of the next checkpoint: those of the generation before, and those that were made here.
pub(crate) fn allow_entries(
    repository: &Repository,
    scope: &ScopeName,
    before: Option<&Content>,
) -> Vec<Allow> {
    let mut entries = before.map_or_else(Vec::new, |before| before.allow.clone());
    for made in State::load(repository).allow {
        if made.scope != *scope {
            continue;
        }
        entries.retain(|known| {
            (&known.rule, &known.fingerprint) != (&made.entry.rule, &made.entry.fingerprint)
        });
        entries.push(made.entry);
    }
    entries
}
