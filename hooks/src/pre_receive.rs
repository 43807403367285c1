//! The server hook `pre-receive`: judges the handoff refs of a push, and leaves all others alone.
//!
//! Git refuses the whole push where one ref is refused. Whatever goes wrong in here refuses the handoff refs: a
//! push that was not judged is never let in.

mod identity;
mod mark;
mod namesakes;
mod report;
mod server;
mod settings;
mod update;
mod worker;

use std::{ffi::OsString, io, path::PathBuf};

use gix::bstr::BString;
use store::{error_code::ErrorCode, timestamp::Timestamp};

pub use identity::Pusher;
pub use server::Server;
pub use settings::Settings;
pub use update::{Update, UpdateError};

use crate::{
    audit::{self, Judgement, Outcome},
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

/// What the hook answers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// The push may go on.
    Pass,
    /// It may not; the lines say why, and go to standard error.
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
        return Answer::Pass;
    }
    let mut work = worker::judge(&ours, surroundings);
    if let Err(error) = log(&ours, &work, surroundings) {
        let detail = format!("the audit log cannot be written: {error}");
        for one in work.judged.iter_mut().filter(|one| one.verdict.is_ok()) {
            one.verdict = Err(Rejection::new(ErrorCode::Io, detail.clone()));
        }
    }
    answer(&ours, &work, &others)
}

fn answer(ours: &[Update], work: &Work, others: &[Update]) -> Answer {
    let (mut refused, mut good) = (Vec::new(), Vec::new());
    for (update, one) in ours.iter().zip(&work.judged) {
        match &one.verdict {
            Ok(()) => good.push(update),
            Err(rejection) => refused.push((update, rejection)),
        }
    }
    if refused.is_empty() {
        return Answer::Pass;
    }
    good.extend(others);
    Answer::Refuse(report::lines(&refused, &good))
}

fn log(ours: &[Update], work: &Work, surroundings: &Surroundings) -> io::Result<()> {
    let all_good = work.judged.iter().all(|one| one.verdict.is_ok());
    let judgements: Vec<Judgement<'_>> = ours
        .iter()
        .zip(&work.judged)
        .map(|(update, one)| Judgement {
            time: surroundings.now,
            name: update.name.as_ref(),
            old: update.old,
            new: update.new,
            identity: work.user.as_deref(),
            outcome: match &one.verdict {
                Ok(()) if all_good => Outcome::Good,
                Ok(()) => Outcome::Held,
                Err(rejection) => Outcome::Refused(rejection.code),
            },
            duration: one.duration,
        })
        .collect();
    audit::append(&ServerDir::of(&surroundings.git_dir), &judgements)
}
