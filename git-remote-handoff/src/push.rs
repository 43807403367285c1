//! Relays a push to `git-receive-pack`: nothing is forwarded before every command has been judged.

use std::{
    io::{self, BufReader, Read, Write},
    thread,
};

use gix::bstr::{BString, ByteSlice};
use store::error_code::ErrorCode;

use crate::{
    command_list::{CommandList, CommandListError, MAX_BYTES},
    connect::Service,
    judge::{Judge, ProposedUpdate, Verdict},
    messages::Messages,
    pkt_line::{FLUSH, PacketReader},
    refs::{RefLines, warn_of_overtaken},
    relay::{self, BUFFER_BYTES, Caller, Greeting, forward},
    remarks::Remarks,
    report::{AnswerError, ReportFormat},
    settings::Direction,
};

/// Says why a push could not be relayed.
#[derive(Debug, thiserror::Error)]
pub enum PushError {
    /// The command list could not be judged.
    #[error(transparent)]
    Commands(#[from] CommandListError),
    /// The answer could not be passed on.
    #[error(transparent)]
    Answer(#[from] AnswerError),
    /// The program behind the service could not be waited for.
    #[error("lost touch with the server")]
    Wait(#[source] io::Error),
    /// The server went away before it had said what it has.
    #[error("the server closed the connection without an answer")]
    NoAnswer,
    /// A push was refused, and Git did not ask to be told why.
    #[error("nothing was sent: {0}")]
    Unreported(String),
}

/// Relays one push and returns the exit status of the service.
///
/// # Errors
///
/// Where one side breaks off, or Git sends what cannot be judged.
pub(crate) fn relay<I: Read + Send + 'static>(
    service: Service,
    input: I,
    output: &mut impl Write,
    judge: &mut Judge<'_>,
    caller: &Caller,
    messages: &Messages,
) -> Result<u8, PushError> {
    let Service {
        answers,
        requests,
        process,
    } = service;
    let mut answers = PacketReader::new(BufReader::with_capacity(BUFFER_BYTES, answers));
    let mut remote_refs = RefLines::default();
    let greeting = relay::greeting(&mut answers, |packet| {
        remote_refs.push_advertised(packet.line());
        output.write_all(packet.raw)
    })?;
    output.flush().map_err(AnswerError::Client)?;
    if greeting != Greeting::Complete {
        let code = process.wait().map_err(PushError::Wait)?;
        return match (greeting, code) {
            (Greeting::BrokenOff, 0) => Err(PushError::NoAnswer),
            _ => Ok(code),
        };
    }
    let mut commands = PacketReader::new(input);
    let list = CommandList::read(&mut commands)?;
    let input = commands.into_inner();
    let refused = list.as_ref().and_then(|list| refusal(list, judge));
    match (list, refused) {
        (None, _) => drop(requests),
        (Some(list), None) => {
            let format = ReportFormat::of(&list);
            let sent = list
                .updates
                .iter()
                .map(|update| update.name.clone())
                .collect();
            thread::spawn(move || forward(list.raw, input, requests));
            let told = messages.clone();
            // Git is asked while the server works.
            let advice = thread::spawn(move || warn_of_overtaken(&remote_refs, &sent, &told));
            let mut remarks = Remarks::default();
            format.relay(answers, output, &mut remarks)?;
            if let Some(hint) = remarks.advice() {
                messages.hint(hint);
            }
            // Whether there was advice to give changes nothing.
            let _ = advice.join();
        }
        (Some(list), Some(refused)) => {
            send_nothing(requests);
            if list.has_pack() {
                drain(input);
            }
            refused.explain(caller, messages);
            refused.report(ReportFormat::of(&list), output)?;
        }
    }
    process.wait().map_err(PushError::Wait)
}

/// Tells the server that nothing will be pushed. That it has gone away changes nothing.
fn send_nothing(mut requests: Box<dyn Write + Send>) {
    let _ = requests.write_all(FLUSH).and_then(|()| requests.flush());
}

/// Reads the pack that nobody will get, so that Git goes on to read the report.
fn drain(mut input: impl Read) {
    // An end in an error is an end.
    let _ = io::copy(&mut input, &mut io::sink());
}

/// A push of which nothing is sent.
struct RefusedPush {
    /// What is reported of the pack.
    unpack: String,
    /// What is reported of each ref.
    reasons: Vec<(BString, String)>,
    hints: Vec<String>,
    /// The updates that may be sent without the others.
    good: Vec<ProposedUpdate>,
    /// A ref was refused for lying outside the namespace.
    is_outside: bool,
}

/// Judges a command list; `None` where it may be sent.
fn refusal(list: &CommandList, judge: &mut Judge<'_>) -> Option<RefusedPush> {
    if list.is_too_long {
        let reason = format!(
            "{}: a command list over {MAX_BYTES} bytes is not judged",
            ErrorCode::LimitExceeded
        );
        let hints = vec!["push fewer refs at once".into()];
        return Some(RefusedPush::whole(list, &reason, hints, &reason));
    }
    if list.is_signed {
        let reason = format!(
            "{}: push certificates are not relayed, use --no-signed",
            ErrorCode::Usage
        );
        let hints = vec!["push again with `--no-signed`, or unset `push.gpgSign`".into()];
        return Some(RefusedPush::whole(list, "ok", hints, &reason));
    }
    let verdict = Verdict::ask(judge, &list.updates);
    if verdict.is_good() {
        return None;
    }
    let names = list.updates.iter().map(|update| update.name.clone());
    Some(RefusedPush {
        unpack: "ok".into(),
        reasons: names
            .map(|name| (name.clone(), verdict.reason(name.as_bstr())))
            .collect(),
        hints: verdict.hints(),
        good: list
            .updates
            .iter()
            .filter(|update| verdict.allows(update.name.as_bstr()))
            .cloned()
            .collect(),
        is_outside: verdict.is_outside(),
    })
}

impl RefusedPush {
    /// Refuses all refs of a push for one reason.
    fn whole(list: &CommandList, unpack: &str, hints: Vec<String>, reason: &str) -> Self {
        let names = list.updates.iter().map(|update| update.name.clone());
        RefusedPush {
            unpack: unpack.into(),
            reasons: names.map(|name| (name, reason.to_owned())).collect(),
            hints,
            good: Vec::new(),
            is_outside: false,
        }
    }

    /// Reports to Git, ref by ref.
    fn report(&self, format: ReportFormat, output: &mut impl Write) -> Result<(), PushError> {
        if !format.is_wanted() {
            let reason = |(name, reason): &(BString, String)| format!("{name}: {reason}");
            let first = self.reasons.first().map(reason);
            return Err(PushError::Unreported(first.unwrap_or(self.unpack.clone())));
        }
        let written = format.write_refusal(output, &self.unpack, &self.reasons);
        Ok(written.map_err(AnswerError::Client)?)
    }

    /// Says on standard error what to do about it.
    fn explain(&self, caller: &Caller, messages: &Messages) {
        for hint in &self.hints {
            messages.hint(hint);
        }
        if self.is_outside {
            caller.warn_of_refspec(Direction::Push, messages);
        }
        if let Some(command) = caller.push_command(&self.good) {
            messages.hint(&format!("the other refs can be sent by `{command}`"));
        }
    }
}
