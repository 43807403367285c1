//! Judges in a thread of its own, so that the deadline holds whatever a record makes the judgement do.

use std::{
    collections::BTreeSet,
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    thread,
    time::{Duration, Instant},
};

use gix::ObjectId;
use store::{error_code::ErrorCode, scope::ScopeName};

use super::{Server, Surroundings, Update, Verdict};
use crate::{audit, mode::Mode, rejection::Rejection, rules::namespace, secret_scan::SecretNotes};

/// How long it may take until the settings, and the deadline in them, are read.
const OPENING: Duration = Duration::from_secs(60);
/// Stack of the judging thread, in bytes: that of a main thread.
const STACK_BYTES: usize = 8 << 20;

/// A judgement of one ref, and how long it took.
pub(super) struct Judged {
    pub(super) mode: Mode,
    pub(super) verdict: Verdict,
    pub(super) relayed: bool,
    pub(super) secrets: SecretNotes,
    pub(super) duration: Duration,
}

/// What came of a push.
pub(super) struct Work {
    /// The mode of the server; until it is known, the one that is assumed.
    pub(super) mode: Mode,
    /// The judgements, in the order of the refs.
    pub(super) judged: Vec<Judged>,
    /// The authenticated user, where one is known.
    pub(super) user: Option<String>,
    /// Bytes from which on the log of judgements is full.
    pub(super) audit_bytes: u64,
}

/// What the judging thread tells.
enum Message {
    /// The settings are read.
    Opened {
        mode: Mode,
        deadline: Duration,
        user: Option<String>,
        audit_bytes: u64,
    },
    /// A record was found good, and so many are left of its ref.
    Record { id: ObjectId, left: usize },
    /// The next ref is judged.
    Judged(Judged),
    /// Nothing can be judged.
    Failed(Rejection),
}

/// Judges ref changes one after the other; those that are not judged at the deadline are refused.
pub(super) fn judge(updates: &[Update], surroundings: &Surroundings) -> Work {
    let started = Instant::now();
    let (sender, receiver) = channel();
    let mut work = Work::new();
    let thread = thread::Builder::new()
        .name("judge".into())
        .stack_size(STACK_BYTES);
    let (theirs, its) = (updates.to_vec(), surroundings.clone());
    let rejection = match thread.spawn(move || run(&theirs, &its, &sender)) {
        Ok(_) => work.collect(&receiver, updates.len(), started),
        Err(error) => Some(super::server::failed(&error)),
    };
    if let Some(rejection) = rejection {
        let left = &updates[work.judged.len()..];
        let (mode, duration) = (work.mode, started.elapsed());
        work.judged.extend(left.iter().map(|update| Judged {
            mode,
            verdict: unfinished(mode, update, rejection.clone()),
            relayed: false,
            secrets: SecretNotes::default(),
            duration,
        }));
    }
    work
}

/// What becomes of a ref that was not judged to its end. In shadow, a new scope takes nothing away; of the others
/// nobody has seen whether they take back an accept.
fn unfinished(mode: Mode, update: &Update, rejection: Rejection) -> Verdict {
    match mode {
        Mode::Shadow if update.old.is_null() => Verdict::WouldRefuse(rejection),
        _ => Verdict::Refused(rejection),
    }
}

impl Work {
    fn new() -> Self {
        Work {
            mode: Mode::Enforce,
            judged: Vec::new(),
            user: None,
            audit_bytes: audit::DEFAULT_BYTES,
        }
    }

    /// Takes in what the thread tells until it ends; returns the rejection of the refs that are not judged, if some
    /// are not.
    fn collect(
        &mut self,
        receiver: &Receiver<Message>,
        count: usize,
        started: Instant,
    ) -> Option<Rejection> {
        let mut deadline = OPENING;
        let (mut last, mut failed) = (None, None);
        loop {
            let left = deadline.saturating_sub(started.elapsed());
            let message = match left.is_zero() {
                true => Err(RecvTimeoutError::Timeout),
                false => receiver.recv_timeout(left),
            };
            let all = self.judged.len() == count;
            match message {
                Ok(Message::Opened {
                    mode,
                    deadline: set,
                    user,
                    audit_bytes,
                }) => {
                    deadline = set;
                    (self.mode, self.user, self.audit_bytes) = (mode, user, audit_bytes);
                }
                Ok(Message::Record { id, left }) => last = Some((id, left)),
                Ok(Message::Judged(judged)) => {
                    self.judged.push(judged);
                    last = None;
                }
                Ok(Message::Failed(rejection)) => failed = Some(rejection),
                Err(RecvTimeoutError::Timeout) => return (!all).then(|| late(deadline, last)),
                // A thread that ends before it has said all has met a fault.
                Err(RecvTimeoutError::Disconnected) => {
                    return failed.or_else(|| (!all).then(fault));
                }
            }
        }
    }
}

fn late(deadline: Duration, last: Option<(ObjectId, usize)>) -> Rejection {
    let what = match last {
        Some((id, left)) => format!("{left} records after {id} were not judged"),
        None => "it was not judged".into(),
    };
    let seconds = deadline.as_secs();
    let detail = format!("{what} within the {seconds} s that handoff.deadline allows");
    Rejection::new(ErrorCode::LimitExceeded, detail)
        .hint("push fewer scopes or fewer generations at once")
}

fn fault() -> Rejection {
    Rejection::new(
        ErrorCode::Internal,
        "a fault of the hook ended the judgement",
    )
    .hint("report it, with the place that the line above names")
}

/// Judges in the thread; whoever listens may have gone, so what cannot be told is lost.
fn run(updates: &[Update], surroundings: &Surroundings, sender: &Sender<Message>) {
    let tell = |message| {
        let _ = sender.send(message);
    };
    let opened = Server::open(
        &surroundings.git_dir,
        &surroundings.objects,
        surroundings.now,
    );
    let server = match opened {
        Ok(server) => server.with_environment(surroundings.variable),
        Err(rejection) => return tell(Message::Failed(rejection)),
    };
    let mode = server.settings().modes.general;
    tell(Message::Opened {
        mode,
        deadline: server.deadline(),
        user: server.user().map(ToOwned::to_owned),
        audit_bytes: server.settings().audit_bytes,
    });
    if mode.refuses()
        && let Err(rejection) = server.settings().limits.judge_count(updates.len())
    {
        return tell(Message::Failed(rejection));
    }
    let mut created: BTreeSet<ScopeName> = BTreeSet::new();
    for update in updates {
        let started = Instant::now();
        let decision = server.decide(update, &created, &mut |found| {
            tell(Message::Record {
                id: found.record.id,
                left: found.left,
            });
            Ok(())
        });
        if decision.verdict == Verdict::Good {
            server.remember(update);
            let scope = namespace::scope_of(update.name.as_ref()).ok();
            created.extend(scope.filter(|_| update.old.is_null()));
        }
        tell(Message::Judged(Judged {
            mode: decision.mode,
            verdict: decision.verdict,
            relayed: decision.relayed,
            secrets: decision.secrets,
            duration: started.elapsed(),
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(digit: &str) -> ObjectId {
        ObjectId::from_hex(digit.repeat(40).as_bytes()).unwrap()
    }

    fn opened(seconds: u64) -> Message {
        Message::Opened {
            mode: Mode::Enforce,
            deadline: Duration::from_secs(seconds),
            user: None,
            audit_bytes: 0,
        }
    }

    fn good() -> Message {
        Message::Judged(Judged {
            mode: Mode::Enforce,
            verdict: Verdict::Good,
            relayed: false,
            secrets: SecretNotes::default(),
            duration: Duration::ZERO,
        })
    }

    #[test]
    fn at_the_deadline_the_rest_is_refused_and_named() {
        let (sender, receiver) = channel();
        for message in [
            opened(3600),
            good(),
            Message::Record {
                id: id("1"),
                left: 7,
            },
            opened(0),
        ] {
            sender.send(message).unwrap();
        }
        let mut work = Work::new();
        let rejection = work.collect(&receiver, 2, Instant::now()).unwrap();
        assert_eq!(work.judged.len(), 1);
        assert_eq!(rejection.code, ErrorCode::LimitExceeded);
        let expected = format!("7 records after {} were not judged within the 0 s", id("1"));
        assert!(rejection.detail.starts_with(&expected), "{rejection}");
    }

    #[test]
    fn a_thread_that_ends_too_early_refuses_the_rest() {
        let (sender, receiver) = channel();
        sender.send(opened(3600)).unwrap();
        sender.send(good()).unwrap();
        drop(sender);
        let mut work = Work::new();
        let rejection = work.collect(&receiver, 2, Instant::now()).unwrap();
        assert_eq!(
            (work.judged.len(), rejection.code),
            (1, ErrorCode::Internal)
        );
    }

    #[test]
    fn what_is_judged_in_time_is_not_refused() {
        let (sender, receiver) = channel();
        sender.send(opened(3600)).unwrap();
        sender.send(good()).unwrap();
        drop(sender);
        assert_eq!(Work::new().collect(&receiver, 1, Instant::now()), None);
    }

    #[test]
    fn what_was_not_judged_is_refused_but_for_a_new_scope_in_shadow() {
        let null = ObjectId::null(gix::hash::Kind::Sha1);
        let outcome = |mode, old| {
            let update = Update {
                old,
                new: id("2"),
                name: "refs/handoff/x".into(),
            };
            unfinished(mode, &update, fault())
        };
        let refused = Verdict::Refused(fault());
        assert_eq!(outcome(Mode::Shadow, null), Verdict::WouldRefuse(fault()));
        assert_eq!(outcome(Mode::Shadow, id("1")), refused);
        assert_eq!(outcome(Mode::Enforce, null), refused);
        assert_eq!(outcome(Mode::Freeze, null), refused);
    }
}
