//! Relays the helper protocol to `git remote-http(s)`, so that credentials, proxies and redirects stay Git's own.
//!
//! A push is judged line by line: here a refused ref holds nobody back, unless the push is atomic.

use std::{
    ffi::OsStr,
    io::{self, BufReader, Read, Write},
    process::{ChildStdin, ChildStdout, Command, Stdio},
};

use gix::bstr::{BStr, BString, ByteSlice};
use store::{
    git::{Git, GitError},
    scope::RECORDS,
};

use crate::{
    fetch::{self, FetchError, Outcome},
    http_messages::ChildMessages,
    messages::Messages,
    pkt_line::PacketReader,
    process::{Process, os},
    protocol::{self, read_line},
    refs::RefLines,
    relay::BUFFER_BYTES,
    url::HttpScheme,
};

/// What of the child's capabilities is announced to Git.
const CAPABILITIES: [&str; 6] = [
    "stateless-connect",
    "fetch",
    "option",
    "push",
    "check-connectivity",
    "object-format",
];

/// A running `git remote-http(s)`.
pub(crate) struct HttpHelper {
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
    process: Process,
    messages: ChildMessages,
    capabilities: Vec<BString>,
    remote_refs: RefLines,
    /// The refs were listed for a push.
    is_listed: bool,
    is_atomic: bool,
}

/// Says why `git remote-http(s)` could not be used.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// It could not be started.
    #[error("git remote-{scheme} could not be started")]
    NotStarted {
        /// The scheme that it serves.
        scheme: &'static str,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// It ended before its time; it has said why.
    #[error("git remote-http ended too early")]
    Ended,
    /// What a push is to send could not be found out.
    #[error(transparent)]
    Source(#[from] GitError),
    /// The fetch broke off.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// Git does not listen any more.
    #[error("git went away")]
    Output(#[source] io::Error),
}

/// What is to be started.
pub(crate) struct Wanted<'a> {
    pub(crate) scheme: HttpScheme,
    pub(crate) remote: &'a BStr,
    pub(crate) url: &'a BStr,
    /// Refs are to be listed by the child itself, which it cannot do in version 2 of the protocol.
    pub(crate) lists: bool,
}

impl HttpHelper {
    /// Starts the child and asks for its capabilities.
    pub(crate) fn start(wanted: &Wanted<'_>, messages: &Messages) -> Result<Self, HttpError> {
        let scheme = wanted.scheme.as_str();
        let not_started = |source| HttpError::NotStarted { scheme, source };
        let mut child = command(wanted)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(not_started)?;
        let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let process = Process::new(child);
        let (Some(requests), Some(answers), Some(said)) = streams else {
            return Err(not_started(io::ErrorKind::BrokenPipe.into()));
        };
        let mut helper = HttpHelper {
            requests,
            answers: BufReader::with_capacity(BUFFER_BYTES, answers),
            process,
            messages: ChildMessages::relay(said, messages.clone()).map_err(not_started)?,
            capabilities: Vec::new(),
            remote_refs: RefLines::default(),
            is_listed: false,
            is_atomic: false,
        };
        helper.send(b"capabilities")?;
        helper.capabilities = helper.batch()?;
        Ok(helper)
    }

    /// Returns what of its capabilities Git is told.
    pub(crate) fn capabilities(&self) -> impl Iterator<Item = &BStr> {
        let known = |word: &&BString| CAPABILITIES.iter().any(|known| word == known);
        self.capabilities
            .iter()
            .filter(known)
            .map(|word| word.as_bstr())
    }

    /// Passes on an option and returns the answer.
    pub(crate) fn option(
        &mut self,
        name: &str,
        value: &BStr,
        line: &[u8],
    ) -> Result<BString, HttpError> {
        self.send(line)?;
        let answer = self.line()?;
        if name == "atomic" && answer == "ok" {
            self.is_atomic = value == "true";
        }
        Ok(answer)
    }

    /// Tells an option once more that another child has been told.
    pub(crate) fn repeat_option(&mut self, line: &[u8]) -> Result<(), HttpError> {
        if let Ok(protocol::Command::Option { name, value }) = protocol::Command::parse(line) {
            self.option(&name, value.as_bstr(), line)?;
        }
        Ok(())
    }

    /// Passes on the list of refs: those of scopes for a fetch, all for a push, which are remembered.
    ///
    /// Returns whether there is any scope.
    pub(crate) fn list(
        &mut self,
        for_push: bool,
        output: &mut impl Write,
    ) -> Result<bool, HttpError> {
        let command: &[u8] = if for_push { b"list for-push" } else { b"list" };
        self.send(command)?;
        self.remote_refs = RefLines::default();
        self.is_listed = for_push;
        let mut is_any = false;
        for line in self.batch()? {
            let (value, rest) = line.split_once_str(" ").unwrap_or((&line, b""));
            let name = rest.split(|b| *b == b' ').next().unwrap_or_default();
            if for_push && matches!(value.len(), 40 | 64) {
                self.remote_refs.push(value, name);
            }
            let is_scope = name.starts_with(RECORDS.as_bytes());
            is_any |= is_scope;
            // A line that begins with a colon is no ref.
            if for_push || value.starts_with(b":") || is_scope {
                write_line(output, &line)?;
            }
        }
        end_batch(output)?;
        Ok(is_any)
    }

    /// Passes on a batch of `fetch` lines, and what is answered.
    pub(crate) fn fetch(
        &mut self,
        lines: &[Vec<u8>],
        output: &mut impl Write,
    ) -> Result<(), HttpError> {
        for line in lines {
            self.send(line)?;
        }
        self.send(b"")?;
        for line in self.batch()? {
            write_line(output, &line)?;
        }
        end_batch(output)
    }

    /// Asks the child to connect to a service that answers request by request, and passes on its answer.
    ///
    /// Returns whether the connection stands; [`HttpHelper::relay`] is next then.
    pub(crate) fn connect(
        &mut self,
        line: &[u8],
        output: &mut impl Write,
    ) -> Result<bool, HttpError> {
        self.send(line)?;
        let answer = self.line()?;
        write_line(output, &answer)?;
        output.flush().map_err(HttpError::Output)?;
        Ok(answer.is_empty())
    }

    /// Relays requests and answers of a connection that stands, and returns the child's exit status.
    pub(crate) fn relay(
        self,
        input: impl Read + Send + 'static,
        output: &mut impl Write,
    ) -> Result<(u8, Outcome), HttpError> {
        let answers = PacketReader::new(self.answers);
        let outcome = fetch::relay_streams(answers, Box::new(self.requests), input, output)?;
        let code = self.process.wait().map_err(|_| HttpError::Ended)?;
        self.messages.settle();
        Ok((code, outcome))
    }

    /// Returns the refs of the remote as they were listed for a push.
    pub(crate) fn remote_refs(&self) -> &RefLines {
        &self.remote_refs
    }

    /// Has the refs listed where Git did not ask for that, so that what is replaced is known.
    pub(crate) fn list_before_push(&mut self) -> Result<(), HttpError> {
        if !self.is_listed {
            self.list(true, &mut io::sink())?;
        }
        Ok(())
    }

    /// Tells whether Git asked for all refs of a push or none.
    pub(crate) fn is_atomic(&self) -> bool {
        self.is_atomic
    }

    /// Returns the reason to show for a ref that the server refused with `reason`.
    pub(crate) fn reason(&self, name: &BStr, reason: &str) -> String {
        self.messages.reason(name, reason)
    }

    /// Returns what to do about the refusals that were asked for.
    pub(crate) fn advice(&self) -> Option<&'static str> {
        self.messages.advice()
    }

    /// Ends the child and returns its exit status.
    pub(crate) fn end(mut self) -> Result<u8, HttpError> {
        // The child takes an end without an empty line for a failure; it may have gone away already.
        let _ = self.send(b"");
        drop(self.requests);
        let code = self.process.wait().map_err(|_| HttpError::Ended)?;
        self.messages.settle();
        Ok(code)
    }

    /// Sends one line.
    pub(crate) fn send(&mut self, line: &[u8]) -> Result<(), HttpError> {
        let line = [line, b"\n"].concat();
        self.requests.write_all(&line).map_err(|_| HttpError::Ended)
    }

    fn line(&mut self) -> Result<BString, HttpError> {
        match read_line(&mut self.answers) {
            Ok(Some(line)) => Ok(line.into()),
            Ok(None) | Err(_) => Err(HttpError::Ended),
        }
    }

    /// Reads lines up to an empty one.
    pub(crate) fn batch(&mut self) -> Result<Vec<BString>, HttpError> {
        let mut lines = Vec::new();
        loop {
            match self.line()? {
                line if line.is_empty() => return Ok(lines),
                line => lines.push(line),
            }
        }
    }
}

/// Writes one line to Git.
pub(crate) fn write_line(output: &mut impl Write, line: &[u8]) -> Result<(), HttpError> {
    let line = [line, b"\n"].concat();
    output.write_all(&line).map_err(HttpError::Output)
}

/// Tells Git that a batch of answers is complete.
pub(crate) fn end_batch(output: &mut impl Write) -> Result<(), HttpError> {
    write_line(output, b"")?;
    output.flush().map_err(HttpError::Output)
}

fn command(wanted: &Wanted<'_>) -> Command {
    let program = format!("remote-{}", wanted.scheme.as_str());
    let mut args: Vec<&OsStr> = Vec::new();
    if wanted.lists {
        args.extend(["-c", "protocol.version=0"].map(OsStr::new));
    }
    args.extend([OsStr::new(&program), os(wanted.remote), os(wanted.url)]);
    Git::in_dir(".").command(args)
}
