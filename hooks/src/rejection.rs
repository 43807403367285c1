//! What a rule says no with.

use gix::bstr::BString;
use store::{
    contract::message, error_code::ErrorCode, record::RecordError, scope::ScopeName,
    verify::Violation,
};

/// A refusal of one ref change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// Its code.
    pub code: ErrorCode,
    /// What is wrong, in one line of words.
    pub detail: String,
    /// What to do, a sentence each.
    pub hints: Vec<String>,
}

impl Rejection {
    /// Makes a rejection.
    pub fn new(code: ErrorCode, detail: impl Into<String>) -> Self {
        Rejection {
            code,
            detail: detail.into(),
            hints: Vec::new(),
        }
    }

    /// Adds a hint.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Returns the lines that a hook prints for the ref: `handoff: <CODE> <ref>: <detail>`, then the hints.
    ///
    /// Control characters, also the invisible ones of Unicode, are escaped, so that each is one line on every client.
    pub fn lines(&self, name: &BString) -> Vec<String> {
        let mut lines = vec![format!(
            "handoff: {} {}: {}",
            self.code,
            plain(&name.to_string()),
            plain(&self.detail)
        )];
        lines.extend(
            self.hints
                .iter()
                .map(|hint| format!("handoff:   hint: {}", plain(hint))),
        );
        lines
    }
}

/// Escapes what steers a terminal, hides text or ends a line.
fn plain(text: &str) -> String {
    let escaped = |c: char| {
        if message::is_control(c) {
            c.escape_unicode().to_string()
        } else {
            c.to_string()
        }
    };
    text.chars().map(escaped).collect()
}

impl std::fmt::Display for Rejection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.detail)
    }
}

impl std::error::Error for Rejection {}

impl From<Violation> for Rejection {
    fn from(violation: Violation) -> Self {
        let rejection = Rejection::new(violation.code, violation.to_string());
        match hint(violation.code) {
            Some(hint) => rejection.hint(hint),
            None => rejection,
        }
    }
}

impl From<RecordError> for Rejection {
    fn from(error: RecordError) -> Self {
        Rejection::new(error.code(), error.to_string())
    }
}

/// Says that a scope's line does not go on from where it is.
pub(crate) fn non_linear(scope: &ScopeName, detail: &str) -> Rejection {
    Rejection::new(ErrorCode::NonLinear, format!("scope `{scope}`: {detail}")).hint(format!(
        "fetch it and write a new generation: git handoff sync, then git handoff save {scope}"
    ))
}

/// What to do where a record breaks a rule of the contract.
fn hint(code: ErrorCode) -> Option<&'static str> {
    match code {
        ErrorCode::StaleCheckpoint => Some("read the newer generation first: git handoff continue"),
        ErrorCode::Blocked => Some(
            "deal with the blockers, or take over knowing of them: git handoff accept --acknowledge <kind>[:<path>]",
        ),
        ErrorCode::NotOwner => Some("only who has accepted the scope gives it back"),
        ErrorCode::UnsupportedVersion => Some("a newer git-handoff wrote it; upgrade this one"),
        ErrorCode::MissingObject => {
            Some("fetch again; if it stays missing, ask whoever wrote it to push again")
        }
        _ => None,
    }
}
