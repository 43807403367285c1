//! The message of a record: a function of its documents, so that judges can compare it.
//!
//! `docs/handoff.v1.message.md` is the template. Text of authors appears in the subject alone, cleaned; nothing
//! of it can make a line or a trailer.

use std::{fmt, str::FromStr};

use gix::bstr::{BStr, ByteSlice};

use super::{Accept, ClaimState, Content, Manifest, Prepared, Release};
use crate::{digest::Digest, generation::Generation, scope::ScopeName};

/// Longest part of an objective in a subject, in characters (Unicode scalar values).
pub const MAX_SUMMARY_CHARS: usize = 60;

/// Kind of a record, as the trailer `Handoff-Record` names it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RecordKind {
    /// A new generation.
    Checkpoint,
    /// Somebody takes over the current generation, or renews.
    Accept,
    /// The owner gives it back without a new state.
    Release,
}

/// Says that a text names no kind of record that this program knows.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not a kind of record: checkpoint, accept or release")]
pub struct RecordKindError(String);

impl RecordKind {
    /// Returns the kind as the trailer spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            RecordKind::Checkpoint => "checkpoint",
            RecordKind::Accept => "accept",
            RecordKind::Release => "release",
        }
    }
}

impl FromStr for RecordKind {
    type Err = RecordKindError;

    fn from_str(text: &str) -> Result<Self, RecordKindError> {
        match text {
            "checkpoint" => Ok(RecordKind::Checkpoint),
            "accept" => Ok(RecordKind::Accept),
            "release" => Ok(RecordKind::Release),
            _ => Err(RecordKindError(text.chars().take(60).collect())),
        }
    }
}

impl fmt::Display for RecordKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What the trailers of a record say.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trailers {
    /// Value of `Handoff-Record`, which a later program may have written; [`Trailers::kind`] reads it.
    pub record: String,
    /// The scope.
    pub scope: ScopeName,
    /// The current generation.
    pub generation: Generation,
    /// Digest of the record's own document.
    pub digest: Digest,
}

impl Trailers {
    /// Returns the kind of the record, or `None` where this program does not know it.
    pub fn kind(&self) -> Option<RecordKind> {
        self.record.parse().ok()
    }
}

impl fmt::Display for Trailers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Handoff-Record: {}", self.record)?;
        writeln!(f, "Handoff-Scope: {}", self.scope)?;
        writeln!(f, "Handoff-Generation: {}", self.generation)?;
        writeln!(f, "Handoff-Digest: {}", self.digest)
    }
}

/// Returns the whole message of a checkpoint; `digest` is that of the manifest.
pub fn checkpoint_message(manifest: &Manifest, digest: Digest) -> String {
    let (scope, generation) = (&manifest.scope, manifest.generation);
    let summary = match summary(&manifest.content.objective) {
        summary if summary.is_empty() => summary,
        summary => format!(" – {summary}"),
    };
    message(
        &format!("checkpoint {generation}{summary}"),
        &checkpoint_body(&manifest.content),
        &trailers(RecordKind::Checkpoint, scope, generation, digest),
    )
}

/// Returns the whole message of an accept; `digest` is that of the accept.
pub fn accept_message(accept: &Accept, digest: Digest) -> String {
    let generation = accept.generation;
    let action = accept.action.as_ref().map_or("none", |id| id.as_str());
    message(
        &format!("accept {generation} by {}", accept.acceptor.id),
        &format!(
            "Action: {action}\nUntil: {}\nDelegates: {}\nAcknowledged blockers: {}\n",
            accept.until,
            accept.delegates.len(),
            accept.acknowledged.len()
        ),
        &trailers(RecordKind::Accept, &accept.scope, generation, digest),
    )
}

/// Returns the whole message of a release; `digest` is that of the release.
pub fn release_message(release: &Release, digest: Digest) -> String {
    let generation = release.generation;
    message(
        &format!("release {generation} by {}", release.by),
        "",
        &trailers(RecordKind::Release, &release.scope, generation, digest),
    )
}

/// Returns the message of a prepared handoff, which is no record: it ends where notes may follow.
pub fn prepared_message(prepared: &Prepared) -> String {
    let (scope, content) = (&prepared.scope, &prepared.content);
    let body = checkpoint_body(content);
    let what = match summary(&content.objective) {
        summary if summary.is_empty() => "prepared".to_owned(),
        summary => format!("prepared – {summary}"),
    };
    format!("handoff({scope}): {what}\n\n{body}\nHandoff-Prepared: {scope}\n")
}

/// Puts a message together from the subject's second part, body lines and trailers.
fn message(what: &str, body: &str, trailers: &Trailers) -> String {
    let scope = &trailers.scope;
    let restore = format!(
        "Restore with: git handoff restore {scope}@{}\n",
        trailers.generation
    );
    format!("handoff({scope}): {what}\n\n{body}{restore}\n{trailers}")
}

fn trailers(
    kind: RecordKind,
    scope: &ScopeName,
    generation: Generation,
    digest: Digest,
) -> Trailers {
    Trailers {
        record: kind.as_str().into(),
        scope: scope.clone(),
        generation,
        digest,
    }
}

fn checkpoint_body(content: &Content) -> String {
    let next = content
        .next
        .as_ref()
        .map_or("none", |next| next.action.as_str());
    let claims = |state| {
        content
            .claims
            .iter()
            .filter(|claim| claim.state == state)
            .count()
    };
    format!(
        "Disposition: {}\n\
         Next action: {next}\n\
         Claims: {} evidenced, {} open, {} failed\n\
         Decisions: {}\n\
         Omissions: {}\n\
         Blockers: {}\n",
        content.disposition,
        claims(ClaimState::Evidenced),
        claims(ClaimState::Open),
        claims(ClaimState::Failed),
        content.decisions.len(),
        content.omissions.count(),
        content.blockers.count(),
    )
}

/// Returns the part of an objective that stands in a subject: its first line without control characters and
/// without spaces around it, cut to [`MAX_SUMMARY_CHARS`].
pub fn summary(objective: &str) -> String {
    let line = objective.split('\n').next().unwrap_or_default();
    let clean: String = line.chars().filter(|c| !is_control(*c)).collect();
    let cut: String = clean
        .trim_matches(' ')
        .chars()
        .take(MAX_SUMMARY_CHARS)
        .collect();
    cut.trim_end_matches(' ').into()
}

/// Tells whether a character steers a terminal, the direction of text or where lines end, or hides text.
///
/// These are the controls of ASCII and Latin-1, and the invisible characters of Unicode's General Punctuation,
/// Arabic letter mark, byte order mark and tags.
pub fn is_control(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
            | '\u{e0000}'..='\u{e007f}')
}

/// Reads the trailers of a record from the last paragraph of its message.
///
/// Returns `None` where one of the four is missing, stands twice or holds no value of its type. Other lines of
/// the paragraph do not count: judges compare the whole message of the kinds they know.
pub fn parse_trailers(message: &BStr) -> Option<Trailers> {
    let message = message.trim_end_with(|c| c == '\n');
    let paragraph = message.rfind("\n\n").map(|at| &message[at + 2..])?;
    let value = |key: &str| {
        let mut values = paragraph
            .split(|b| *b == b'\n')
            .filter_map(|line| line.strip_prefix(key.as_bytes())?.strip_prefix(b": "));
        let value = values.next()?.to_str().ok()?;
        values.next().is_none().then_some(value)
    };
    let record = value("Handoff-Record")?;
    Some(Trailers {
        record: record.into(),
        scope: value("Handoff-Scope")?.parse().ok()?,
        generation: value("Handoff-Generation")?.parse().ok()?,
        digest: value("Handoff-Digest")?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests;
