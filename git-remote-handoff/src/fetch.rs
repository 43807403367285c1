//! Relays a fetch from `git-upload-pack`, of which only the refs under `refs/handoff/` are shown.

use std::{
    io::{self, BufReader, Read, Write},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    thread,
};

use gix::bstr::{BString, ByteSlice};
use store::scope::RECORDS;

use crate::{
    advertisement::{self, AdvertisementFilter},
    connect::Service,
    messages::Messages,
    pkt_line::{FLUSH, Kind, PacketReader, write_packet},
    relay::{self, BUFFER_BYTES, Caller, Greeting, forward},
    report::{AnswerError, copy},
};

/// Most that one request for refs holds, in bytes.
const MAX_REQUEST_BYTES: usize = 16 * 1024 * 1024;

/// Says why a fetch could not be relayed.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The answer could not be passed on.
    #[error(transparent)]
    Answer(#[from] AnswerError),
    /// The program behind the service could not be waited for.
    #[error("lost touch with the server")]
    Wait(#[source] io::Error),
    /// The server went away before it said what it has.
    #[error("the server closed the connection without an answer")]
    NoAnswer,
}

/// Relays one fetch and returns the exit status of the service.
///
/// # Errors
///
/// Where one side breaks off.
pub(crate) fn relay<I: Read + Send + 'static>(
    service: Service,
    input: I,
    output: &mut impl Write,
    caller: &Caller,
    messages: &Messages,
) -> Result<u8, FetchError> {
    let Service {
        answers,
        requests,
        process,
    } = service;
    let answers = PacketReader::new(BufReader::with_capacity(BUFFER_BYTES, answers));
    match relay_streams(answers, requests, input, output)? {
        Outcome::NoAnswer => {
            return match process.wait().map_err(FetchError::Wait)? {
                0 => Err(FetchError::NoAnswer),
                code => Ok(code),
            };
        }
        outcome => outcome.warn(caller, messages),
    }
    process.wait().map_err(FetchError::Wait)
}

/// What became of a fetch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    /// The server went away before it had said what it has.
    NoAnswer,
    /// There is no scope to be seen.
    NothingShown,
    /// Git looked for refs that are not shown, and asked for nothing.
    NothingWanted,
    /// All that Git asked for was answered.
    Done,
}

impl Outcome {
    /// Says why nothing came, where there is something to say.
    pub(crate) fn warn(self, caller: &Caller, messages: &Messages) {
        match self {
            Outcome::NothingShown => caller.warn_of_list(false, messages),
            Outcome::NothingWanted => caller.warn_of_list(true, messages),
            Outcome::NoAnswer | Outcome::Done => {}
        }
    }
}

/// Relays between the streams of both sides until the server's ends.
pub(crate) fn relay_streams<I: Read + Send + 'static>(
    mut answers: PacketReader<impl Read>,
    requests: Box<dyn Write + Send>,
    input: I,
    output: &mut impl Write,
) -> Result<Outcome, FetchError> {
    let mut filter = AdvertisementFilter::default();
    let mut is_version_2 = false;
    let greeting = relay::greeting(&mut answers, |packet| {
        is_version_2 |= packet.line() == b"version 2";
        if is_version_2 {
            output.write_all(packet.raw)
        } else {
            filter.packet(packet, output)
        }
    })?;
    output.flush().map_err(AnswerError::Client)?;
    match greeting {
        Greeting::BrokenOff => return Ok(Outcome::NoAnswer),
        Greeting::Error => return Ok(Outcome::Done),
        Greeting::Complete if is_version_2 => {
            return Ok(relay_requests(answers, requests, input, output)?);
        }
        Greeting::Complete => {}
    }
    let sent = Arc::new(AtomicU64::new(0));
    let input = Counted {
        stream: input,
        count: Arc::clone(&sent),
    };
    thread::spawn(move || forward(Vec::new(), input, requests));
    copy(&mut answers.into_inner(), output)?;
    // Who wants nothing sends a flush and nothing else.
    let wanted = sent.load(Ordering::Relaxed) > FLUSH.len() as u64;
    Ok(match (wanted, filter.has_shown()) {
        (true, _) => Outcome::Done,
        (false, true) => Outcome::NothingWanted,
        (false, false) => Outcome::NothingShown,
    })
}

/// What a request for refs asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Asked {
    /// Other refs than ours.
    Elsewhere,
    /// Single scopes.
    Single,
    /// All that there are.
    All,
}

/// A request of protocol version 2.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Request {
    /// `ls-refs`
    ListRefs(Asked),
    Fetch,
    Other,
}

/// Relays requests and answers of protocol version 2, which take turns.
fn relay_requests<I: Read + Send + 'static>(
    mut answers: PacketReader<impl Read>,
    requests: Box<dyn Write + Send>,
    input: I,
    output: &mut impl Write,
) -> Result<Outcome, AnswerError> {
    let (sender, kinds) = mpsc::channel();
    thread::spawn(move || forward_requests(PacketReader::new(input), requests, &sender));
    let mut current = None;
    let mut outcome = Outcome::Done;
    let mut has_listed = false;
    while let Some(packet) = answers.read().map_err(AnswerError::Server)? {
        let request = match (current, packet.kind) {
            // Ends the answer before, on a stateless connection.
            (None, Kind::ResponseEnd) => Request::Other,
            // A request is announced before it is sent, so an answer without one is the server's own word.
            (None, _) => kinds.try_recv().unwrap_or(Request::Other),
            (Some(request), _) => request,
        };
        let is_end = packet.kind != Kind::Data && packet.kind != Kind::Delimiter;
        current = (!is_end).then_some(request);
        let is_shown = !matches!(request, Request::ListRefs(_))
            || packet.kind != Kind::Data
            || packet.line().starts_with(b"ERR ")
            || advertisement::is_listed(packet.line().as_bstr());
        outcome = match request {
            Request::ListRefs(Asked::Elsewhere) => Outcome::NothingWanted,
            Request::ListRefs(Asked::All) if is_end && !has_listed => Outcome::NothingShown,
            Request::Fetch => Outcome::Done,
            _ => outcome,
        };
        has_listed = !is_end && (has_listed || is_shown);
        if is_shown {
            output.write_all(packet.raw).map_err(AnswerError::Client)?;
        }
        // Progress must not wait for more of the pack.
        if is_end || request == Request::Fetch {
            output.flush().map_err(AnswerError::Client)?;
        }
    }
    output.flush().map_err(AnswerError::Client)?;
    Ok(outcome)
}

/// Moves requests to the server, announcing each; a broken side ends it, and the server's answers tell why.
fn forward_requests(
    mut input: PacketReader<impl Read>,
    mut requests: Box<dyn Write + Send>,
    announce: &mpsc::Sender<Request>,
) {
    while let Ok(Some(packet)) = input.read() {
        let command = packet.line().strip_prefix(b"command=");
        let sent = match command {
            Some(b"ls-refs") => {
                let first = packet.raw.to_vec();
                forward_list_request(&mut input, &mut requests, first, announce)
            }
            command => {
                let request = match command {
                    Some(b"fetch") => Request::Fetch,
                    _ => Request::Other,
                };
                // A flush alone ends the conversation and gets no answer.
                if packet.kind == Kind::Data && announce.send(request).is_err() {
                    return;
                }
                forward_request(&mut input, &mut requests)
            }
        };
        if sent.is_err() {
            break;
        }
    }
    drop(requests);
    // Read on, so that Git goes on to read the server's last words.
    let _ = io::copy(&mut input.into_inner(), &mut io::sink());
}

/// Moves the packet read last and those after it up to a flush.
fn forward_request(
    input: &mut PacketReader<impl Read>,
    requests: &mut impl Write,
) -> io::Result<()> {
    let mut packet = input.last();
    loop {
        requests.write_all(packet.raw)?;
        if packet.kind == Kind::Flush {
            return requests.flush();
        }
        packet = match input.read() {
            Ok(Some(packet)) => packet,
            Ok(None) | Err(_) => return Err(io::ErrorKind::UnexpectedEof.into()),
        };
    }
}

/// Moves a request for refs, narrowed to those that are shown.
fn forward_list_request(
    input: &mut PacketReader<impl Read>,
    requests: &mut impl Write,
    first: Vec<u8>,
    announce: &mpsc::Sender<Request>,
) -> io::Result<()> {
    let broken = || io::Error::from(io::ErrorKind::UnexpectedEof);
    let mut head = first;
    let mut arguments: Vec<BString> = Vec::new();
    let mut size = 0;
    let mut is_head = true;
    loop {
        let packet = input.read().ok().flatten().ok_or_else(broken)?;
        size += packet.raw.len();
        if size > MAX_REQUEST_BYTES {
            return Err(broken());
        }
        match packet.kind {
            Kind::Flush => break,
            Kind::Data if !is_head => arguments.push(packet.payload().into()),
            kind => {
                is_head = is_head && kind != Kind::Delimiter;
                head.extend_from_slice(packet.raw);
            }
        }
    }
    let mut prefixes = arguments
        .iter()
        .filter_map(|line| advertisement::prefix_argument(line))
        .peekable();
    let is_asked = prefixes.peek().is_some();
    let elsewhere = is_asked && !prefixes.any(|prefix| prefix.starts_with(RECORDS.as_bytes()));
    let narrowed = advertisement::narrowed(&arguments);
    let mut prefixes = narrowed
        .iter()
        .filter_map(|line| advertisement::prefix_argument(line));
    let asked = match elsewhere {
        true => Asked::Elsewhere,
        false if prefixes.any(|prefix| prefix == RECORDS.as_bytes()) => Asked::All,
        false => Asked::Single,
    };
    announce
        .send(Request::ListRefs(asked))
        .map_err(|_| broken())?;
    requests.write_all(&head)?;
    if is_head {
        // Arguments stand behind a delimiter, of which there was none.
        requests.write_all(b"0001")?;
    }
    for line in narrowed {
        write_packet(requests, &line)?;
    }
    requests.write_all(FLUSH)?;
    requests.flush()
}

/// Counts what is read from a stream.
struct Counted<I> {
    stream: I,
    count: Arc<AtomicU64>,
}

impl<I: Read> Read for Counted<I> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.stream.read(buffer)?;
        self.count.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}
