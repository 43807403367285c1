//! The log of judgements, `<git-dir>/handoff/audit.jsonl`: one JSON document a line.
//!
//! No line holds anything of what was pushed besides ref names and object ids.

use std::{
    io::{self, Write},
    time::Duration,
};

use gix::{ObjectId, bstr::BStr};
use serde::Serialize;
use store::{error_code::ErrorCode, timestamp::Timestamp};

use crate::{mode::Mode, server_dir::ServerDir};

/// Name of the log below the hook's directory.
pub const FILE_NAME: &str = "audit.jsonl";

/// One judgement of one ref.
#[derive(Clone, Debug)]
pub struct Judgement<'a> {
    /// When it was made.
    pub time: Timestamp,
    /// The ref.
    pub name: &'a BStr,
    /// What the pusher took the ref to be; the null id for nothing.
    pub old: ObjectId,
    /// What the ref was to become; the null id for nothing.
    pub new: ObjectId,
    /// The authenticated user, where `handoff.identityEnv` names a variable.
    pub identity: Option<&'a str>,
    /// Whether somebody else's records were pushed, by one who may.
    pub relayed: bool,
    /// How strictly it was judged.
    pub mode: Mode,
    /// What came of it.
    pub outcome: Outcome,
    /// How long it took.
    pub duration: Duration,
}

/// What came of a judgement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// Every rule was kept, in every ref of the push.
    Good,
    /// Every rule was kept, but another ref of the push was refused.
    Held,
    /// A rule was broken that is in shadow.
    WouldRefuse(ErrorCode),
    /// A rule was broken.
    Refused(ErrorCode),
}

/// The document of a judgement, in the order in which its fields are written.
#[derive(Serialize)]
struct Line<'a> {
    time: Timestamp,
    #[serde(rename = "ref")]
    name: String,
    old: String,
    new: String,
    identity: Option<&'a str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    relayed: bool,
    mode: &'static str,
    outcome: &'static str,
    code: Option<ErrorCode>,
    #[serde(rename = "durationMs")]
    duration_ms: f64,
}

impl Judgement<'_> {
    fn line(&self) -> Line<'_> {
        let (outcome, code) = match self.outcome {
            Outcome::Good => ("good", None),
            Outcome::Held => ("held", Some(ErrorCode::Held)),
            Outcome::WouldRefuse(code) => ("would-refuse", Some(code)),
            Outcome::Refused(code) => ("refused", Some(code)),
        };
        Line {
            time: self.time,
            name: self.name.to_string(),
            old: self.old.to_string(),
            new: self.new.to_string(),
            identity: self.identity,
            relayed: self.relayed,
            mode: self.mode.as_str(),
            outcome,
            code,
            duration_ms: (self.duration.as_secs_f64() * 1e5).round() / 100.0,
        }
    }
}

/// Appends the judgements of one push to the log, in one write, so that pushes at the same time do not mix.
///
/// # Errors
///
/// Where the log cannot be written.
pub fn append(server_dir: &ServerDir, judgements: &[Judgement<'_>]) -> io::Result<()> {
    let mut lines = Vec::new();
    for judgement in judgements {
        serde_json::to_writer(&mut lines, &judgement.line())?;
        lines.push(b'\n');
    }
    server_dir.append(FILE_NAME)?.write_all(&lines)
}
