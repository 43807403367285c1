//! One run of the helper: what is announced, and where each command of Git leads.

use std::{
    collections::BTreeSet,
    io::{BufReader, BufWriter, Read, Write},
    path::Path,
};

use gix::bstr::{BStr, BString, ByteSlice};

use crate::{
    connect::{self, Wanted},
    environment::Environment,
    error::HelperError,
    fetch,
    http::{self, HttpError, HttpHelper},
    http_push,
    judge::Judge,
    messages::Messages,
    protocol::{Command, ProtocolError, read_line},
    push,
    refs::warn_of_overtaken,
    relay::{BUFFER_BYTES, Caller},
    settings::{Direction, Settings},
    url::InnerUrl,
};

/// What Git calls the helper with: `git-remote-handoff <remote> <url>`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Invocation {
    /// Name of the remote, or its URL where it has no name.
    pub remote: BString,
    /// What follows `handoff::` in the URL.
    pub url: BString,
}

/// The streams to Git and to the user.
pub struct Streams {
    /// What Git says.
    pub input: Box<dyn Read + Send>,
    /// What Git is told.
    pub output: Box<dyn Write + Send>,
    /// What the user is told.
    pub messages: Messages,
}

/// Serves one run of Git and returns the exit status for it.
///
/// Every update of a push is put before `judge` before a byte of it is sent.
///
/// # Errors
///
/// Where the URL is refused, Git or the server break off, or Git sends what cannot be understood.
pub fn run(
    invocation: &Invocation,
    environment: &Environment,
    streams: Streams,
    judge: &mut Judge<'_>,
) -> Result<u8, HelperError> {
    let settings = Settings::read(Path::new("."))?;
    let caller = Caller::new(invocation.remote.as_bstr(), &settings);
    let session = Session {
        invocation,
        environment,
        settings: &settings,
        caller: &caller,
        messages: streams.messages,
    };
    let input = BufReader::with_capacity(BUFFER_BYTES, streams.input);
    let output = BufWriter::with_capacity(BUFFER_BYTES, streams.output);
    session.serve(input, output, judge)
}

struct Session<'a> {
    invocation: &'a Invocation,
    environment: &'a Environment,
    settings: &'a Settings,
    caller: &'a Caller,
    messages: Messages,
}

type Input = BufReader<Box<dyn Read + Send>>;
type Output = BufWriter<Box<dyn Write + Send>>;

/// What Git has told so far.
#[derive(Default)]
struct State {
    /// `git remote-http(s)`, once it is needed, and the URL that it serves.
    http: Option<(HttpHelper, BString)>,
    /// The `option` lines, to be told to a child that is started later.
    options: Vec<Vec<u8>>,
    /// The program that is to be run in place of the service.
    program: Option<BString>,
    is_listed: bool,
    /// The list has shown no scope.
    is_bare: bool,
    is_fetched: bool,
    /// The refs that Git asked to push, where it did so line by line.
    pushed: BTreeSet<BString>,
}

impl Session<'_> {
    fn serve(
        &self,
        input: Input,
        output: Output,
        judge: &mut Judge<'_>,
    ) -> Result<u8, HelperError> {
        let mut state = State::default();
        let served = self.serve_commands(&mut state, input, output, judge);
        match (served, state.http) {
            (Err(HelperError::Http(HttpError::Ended)), Some((http, _))) => match http.end()? {
                0 => Err(HttpError::Ended.into()),
                // It has said why.
                code => Ok(code),
            },
            (Ok(Some(code)), _) => Ok(code),
            (Ok(None), http) => {
                if state.is_listed && !state.is_fetched {
                    self.caller.warn_of_list(!state.is_bare, &self.messages);
                }
                let Some((http, _)) = http else {
                    return Ok(0);
                };
                warn_of_overtaken(http.remote_refs(), &state.pushed, &self.messages);
                Ok(http.end()?)
            }
            (Err(error), _) => Err(error),
        }
    }

    /// Serves commands to the end, and returns the exit status where one of them took over the connection.
    fn serve_commands(
        &self,
        state: &mut State,
        mut input: Input,
        mut output: Output,
        judge: &mut Judge<'_>,
    ) -> Result<Option<u8>, HelperError> {
        while let Some(line) = read_line(&mut input)? {
            match Command::parse(&line)? {
                Command::End => break,
                Command::Capabilities => self.announce(state, &mut output)?,
                Command::Option { name, value } => {
                    self.option(state, &name, value, line, &mut output)?;
                }
                Command::Connect(service) => match self.service(&service) {
                    Some(direction) => {
                        let program = state.program.as_ref().map(|program| program.as_bstr());
                        return self
                            .connect(direction, program, input, output, judge)
                            .map(Some);
                    }
                    None => answer(&mut output, "fallback\n")?,
                },
                Command::StatelessConnect(service) if service == "git-upload-pack" => {
                    let http = self.http(state, Direction::Fetch, &line)?;
                    let is_connected = http.connect(&line, &mut output)?;
                    if is_connected && let Some((http, _)) = state.http.take() {
                        return self.relay_http(http, input, &mut output).map(Some);
                    }
                }
                Command::StatelessConnect(_) => answer(&mut output, "fallback\n")?,
                Command::List { for_push: false } => {
                    state.is_listed = true;
                    let http = self.http(state, Direction::Fetch, &line)?;
                    state.is_bare = !http.list(false, &mut output)?;
                }
                Command::List { for_push: true } => {
                    let http = self.http(state, Direction::Push, &line)?;
                    http.list(true, &mut output)?;
                }
                Command::Fetch => {
                    state.is_fetched = true;
                    let lines = batch(line, &mut input)?;
                    self.http(state, Direction::Fetch, &lines[0])?
                        .fetch(&lines, &mut output)?;
                }
                Command::Push(_) => {
                    let lines = batch(line, &mut input)?;
                    self.push(state, &lines, judge, &mut output)?;
                }
            }
        }
        Ok(None)
    }

    /// Relays a fetch over a connection of the child that stands.
    fn relay_http(
        &self,
        http: HttpHelper,
        input: Input,
        output: &mut Output,
    ) -> Result<u8, HelperError> {
        let (code, outcome) = http.relay(input, output)?;
        outcome.warn(self.caller, &self.messages);
        Ok(code)
    }

    /// Tells Git what can be done: `connect` where a direction leads to a service, and what the child can where one
    /// leads to http.
    fn announce(&self, state: &mut State, output: &mut Output) -> Result<(), HelperError> {
        let (fetch, push) = (self.url(Direction::Fetch), self.url(Direction::Push));
        let mut words: Vec<BString> = Vec::new();
        let direction = match (is_http(&fetch), is_http(&push)) {
            (true, _) => Some(Direction::Fetch),
            (_, true) => Some(Direction::Push),
            _ => {
                // What is wrong with one direction alone is said when that one is taken.
                fetch.or(push)?;
                words.push("option".into());
                None
            }
        };
        if let Some(direction) = direction {
            let http = self.http(state, direction, b"capabilities")?;
            words.extend(http.capabilities().map(BString::from));
        }
        if !self.is_http_alone() {
            // Git asks for `connect` first, and for this only where that is not announced.
            words.retain(|word| word != "stateless-connect");
            words.push("connect".into());
        }
        words.sort();
        let words: String = words.iter().map(|word| format!("{word}\n")).collect();
        answer(output, &format!("{words}\n"))
    }

    fn is_http_alone(&self) -> bool {
        is_http(&self.url(Direction::Fetch)) && is_http(&self.url(Direction::Push))
    }

    fn option(
        &self,
        state: &mut State,
        name: &str,
        value: BString,
        line: Vec<u8>,
        output: &mut Output,
    ) -> Result<(), HelperError> {
        if name == "pushcert" && value != "false" {
            self.messages
                .hint("push certificates are not relayed: push again with `--no-signed`");
            return answer(output, "unsupported\n");
        }
        let mut reply = BString::from("unsupported");
        if let Some((http, _)) = &mut state.http {
            reply = http.option(name, value.as_bstr(), &line)?;
            state.options.push(line);
        }
        if name == "servpath" && !self.is_http_alone() {
            state.program = Some(value);
            reply = "ok".into();
        }
        answer(output, &format!("{reply}\n"))
    }

    fn push(
        &self,
        state: &mut State,
        lines: &[Vec<u8>],
        judge: &mut Judge<'_>,
        output: &mut Output,
    ) -> Result<(), HelperError> {
        let mut parsed = Vec::new();
        for line in lines {
            match Command::parse(line)? {
                Command::Push(line) => {
                    state.pushed.insert(line.destination.clone());
                    parsed.push(line);
                }
                _ => return Err(ProtocolError::unexpected(line).into()),
            }
        }
        let http = self.http(state, Direction::Push, &lines[0])?;
        let verdict = http_push::push(http, &parsed, judge, output)?;
        for hint in verdict.hints() {
            self.messages.hint(&hint);
        }
        if let Some(hint) = http.advice() {
            self.messages.hint(hint);
        }
        if verdict.is_outside() {
            self.caller.warn_of_refspec(Direction::Push, &self.messages);
        }
        Ok(())
    }

    /// Returns the child that serves one direction, or says that `line` needs one and there is none.
    fn http<'s>(
        &self,
        state: &'s mut State,
        direction: Direction,
        line: &[u8],
    ) -> Result<&'s mut HttpHelper, HelperError> {
        let InnerUrl::Http { scheme, url } = self.url(direction)? else {
            return Err(ProtocolError::unexpected(line).into());
        };
        if state.http.as_ref().is_none_or(|(_, served)| *served != url) {
            let wanted = http::Wanted {
                scheme,
                remote: self.invocation.remote.as_bstr(),
                url: url.as_bstr(),
                lists: !self.is_http_alone(),
            };
            let mut http = HttpHelper::start(&wanted, &self.messages)?;
            for line in &state.options {
                http.repeat_option(line)?;
            }
            state.http = None;
            return Ok(&mut state.http.insert((http, url)).0);
        }
        match &mut state.http {
            Some((http, _)) => Ok(http),
            None => Err(ProtocolError::unexpected(line).into()),
        }
    }

    /// Returns which way a service lies, where it is one that can be connected to.
    fn service(&self, service: &str) -> Option<Direction> {
        let direction = match service {
            "git-upload-pack" => Direction::Fetch,
            "git-receive-pack" => Direction::Push,
            _ => return None,
        };
        (!is_http(&self.url(direction))).then_some(direction)
    }

    fn connect(
        &self,
        direction: Direction,
        program: Option<&BStr>,
        input: Input,
        mut output: Output,
        judge: &mut Judge<'_>,
    ) -> Result<u8, HelperError> {
        let url = self.url(direction)?;
        let wanted = Wanted { direction, program };
        let service = connect::start(&url, &wanted, self.settings, self.environment)?;
        answer(&mut output, "\n")?;
        let (caller, messages) = (self.caller, &self.messages);
        Ok(match direction {
            Direction::Fetch => fetch::relay(service, input, &mut output, caller, messages)?,
            Direction::Push => push::relay(service, input, &mut output, judge, caller, messages)?,
        })
    }

    /// Returns the URL for one direction, if it may be used.
    fn url(&self, direction: Direction) -> Result<InnerUrl, HelperError> {
        let Invocation { remote, url } = self.invocation;
        let url = self
            .settings
            .rewritten(url.as_bstr(), direction, remote.as_bstr());
        let url = InnerUrl::parse(url.as_bstr())?;
        self.settings
            .check_allowed(url.protocol(), self.environment)?;
        Ok(url)
    }
}

fn is_http(url: &Result<InnerUrl, HelperError>) -> bool {
    matches!(url, Ok(InnerUrl::Http { .. }))
}

/// Reads the lines of a batch, of which the first has been read.
fn batch(first: Vec<u8>, input: &mut Input) -> Result<Vec<Vec<u8>>, ProtocolError> {
    let mut lines = vec![first];
    loop {
        match read_line(input)? {
            Some(line) if line.is_empty() => return Ok(lines),
            Some(line) => lines.push(line),
            None => return Err(ProtocolError::Truncated),
        }
    }
}

fn answer(output: &mut impl Write, text: &str) -> Result<(), HelperError> {
    output
        .write_all(text.as_bytes())
        .and_then(|()| output.flush())
        .map_err(HelperError::Output)
}
