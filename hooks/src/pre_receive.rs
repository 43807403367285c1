//! The server hook `pre-receive`: judges the handoff refs of a push, and leaves all others alone.
//!
//! Git refuses the whole push where one ref is refused. Whatever goes wrong in here refuses the handoff refs: a
//! push that was not judged is never let in.

mod content;
mod guard;
mod identity;
mod mark;
mod namesakes;
mod report;
mod server;
mod settings;
mod signature;
mod update;
mod worker;

use std::{ffi::OsString, io, path::PathBuf};

use gix::bstr::BString;
use store::{error_code::ErrorCode, timestamp::Timestamp};

pub use content::{Limits, NewFile};
pub use identity::{Authorship, IdentityPolicy, MapLine, Pusher};
pub use server::{Decision, Server, Verdict};
pub use settings::Settings;
pub use update::{Update, UpdateError};

use crate::{
    audit::{Entry, Log, Outcome},
    mode::Mode,
    quarantine::ObjectDirectories,
    rejection::Rejection,
    rules::namespace,
    server_dir::ServerDir,
};
use worker::Work;

/// What Git tells the hook besides the ref changes.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// The repository that is pushed to.
    pub git_dir: PathBuf,
    /// Where the objects of the push are.
    pub objects: ObjectDirectories,
    /// Reads an environment variable.
    pub variable: fn(&str) -> Option<OsString>,
    /// The clock.
    pub now: Timestamp,
}

/// What the hook answers; the lines go to standard error.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// The push may go on; the lines say what would be refused were it enforced.
    Pass(Vec<String>),
    /// It may not; the lines say why.
    Refuse(Vec<String>),
}

/// Judges a push; `input` is all of the hook's standard input.
///
/// Past the deadline a thread may still be at work when this returns; the process should end soon.
pub fn run(input: &[u8], surroundings: &Surroundings) -> Answer {
    let updates = match Update::parse_all(input) {
        Ok(updates) => updates,
        Err(error) => {
            let rejection = Rejection::new(ErrorCode::Io, error.to_string());
            return Answer::Refuse(rejection.lines(&BString::from("-")));
        }
    };
    let (ours, others): (Vec<Update>, Vec<Update>) = updates
        .into_iter()
        .partition(|update| namespace::is_judged(update.name.as_ref()));
    if ours.is_empty() {
        return Answer::Pass(Vec::new());
    }
    let mut work = worker::judge(&ours, surroundings);
    if let Err(error) = log(&ours, &work, surroundings) {
        let detail = format!("the audit log cannot be written: {error}");
        for one in &mut work.judged {
            if one.verdict == Verdict::Good {
                let rejection = Rejection::new(ErrorCode::Io, detail.clone());
                one.verdict = match one.mode {
                    Mode::Shadow => Verdict::WouldRefuse(rejection),
                    _ => Verdict::Refused(rejection),
                };
            }
        }
    }
    answer(&ours, &work, &others)
}

fn answer(ours: &[Update], work: &Work, others: &[Update]) -> Answer {
    let (mut refused, mut in_shadow, mut good) = (Vec::new(), Vec::new(), Vec::new());
    for (update, one) in ours.iter().zip(&work.judged) {
        match &one.verdict {
            Verdict::Refused(rejection) => refused.push((update, rejection)),
            Verdict::WouldRefuse(rejection) => {
                in_shadow.extend(report::in_shadow(update, rejection));
                good.push(update);
            }
            Verdict::Good | Verdict::Unjudged => good.push(update),
        }
    }
    if refused.is_empty() {
        return Answer::Pass(in_shadow);
    }
    good.extend(others);
    let mut lines = report::lines(&refused, &good);
    lines.extend(in_shadow);
    Answer::Refuse(lines)
}

fn log(ours: &[Update], work: &Work, surroundings: &Surroundings) -> io::Result<()> {
    let is_refused = |one: &worker::Judged| matches!(one.verdict, Verdict::Refused(_));
    let none_refused = !work.judged.iter().any(is_refused);
    let entries: Vec<Entry<'_>> = ours
        .iter()
        .zip(&work.judged)
        .filter_map(|(update, one)| {
            let outcome = match &one.verdict {
                Verdict::Unjudged => return None,
                Verdict::Refused(rejection) => Outcome::Refused(rejection.code),
                _ if !none_refused => Outcome::Held,
                Verdict::Good => Outcome::Good,
                Verdict::WouldRefuse(rejection) => Outcome::WouldRefuse(rejection.code),
            };
            Some(Entry {
                time: surroundings.now,
                name: update.name.as_ref(),
                old: update.old,
                new: update.new,
                identity: work.user.as_deref(),
                relayed: one.relayed,
                secrets: Some(&one.secrets),
                mode: one.mode,
                outcome,
                duration: Some(one.duration),
            })
        })
        .collect();
    if entries.is_empty() {
        return Ok(());
    }
    Log::of(&ServerDir::of(&surroundings.git_dir), work.audit_bytes).append(&entries)
}
