//! Runs a command, passes its output on as it comes, and says how it ended.
//!
//! Output is hashed as it is passed on; memory does not grow with it. The command shares our process group and
//! terminal, so that it behaves as if it had been started by itself; we outlive the signals that end it.

use std::{
    ffi::OsString,
    fs::File,
    io::{self, PipeReader, Read, Write},
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::{net::UnixStream, process::ExitStatusExt},
    },
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, Signal, WaitId, WaitIdOptions, getpgrp, kill_process, waitid},
};
use sha2::{Digest as _, Sha256};
use signal_hook::{
    SigId,
    consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM},
    low_level,
};

use crate::{contract::OutputDigest, digest::Digest};

/// How long a command that was told to end has to do so.
const GRACE: Duration = Duration::from_secs(10);
/// Bytes that are passed on at once.
const CHUNK: usize = 64 << 10;

/// Where the output of a command goes.
pub struct Outputs<'a> {
    /// What it writes to standard output.
    pub stdout: &'a mut dyn Write,
    /// What it writes to standard error.
    pub stderr: &'a mut dyn Write,
}

/// How a command ended.
#[derive(Debug)]
pub struct Ended {
    /// Its exit status.
    pub status: ExitStatus,
    /// How long it ran.
    pub duration: Duration,
    /// What it wrote to standard output.
    pub stdout: OutputDigest,
    /// What it wrote to standard error.
    pub stderr: OutputDigest,
    /// Whether processes that it started still held its output when it ended.
    pub left_behind: bool,
    /// Whether it was ended because its time was over.
    pub timed_out: bool,
    /// What kept its output from being passed on, but for a reader that went away.
    pub lost: Option<io::Error>,
}

impl Ended {
    /// Returns the exit status as a shell does: 128 and the signal where one ended it.
    pub fn exit_code(&self) -> u8 {
        let signal = self.status.signal().map(|signal| signal + 128);
        let code = self.status.code().or(signal);
        code.and_then(|code| u8::try_from(code).ok())
            .unwrap_or(u8::MAX)
    }
}

/// Says why a command could not be run.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// There is no such program.
    #[error("there is no command `{}`", .0.display())]
    NotFound(OsString),
    /// The program cannot be started.
    #[error("`{}` cannot be started", .program.display())]
    NotStarted {
        /// The program.
        program: OsString,
        /// What went wrong.
        #[source]
        source: io::Error,
    },
    /// It was started, but could not be followed.
    #[error("lost touch with the command")]
    Lost(#[source] io::Error),
}

/// Runs a command to its end.
///
/// # Errors
///
/// Where it could not be started.
pub fn run(
    mut command: Command,
    outputs: Outputs<'_>,
    timeout: Option<Duration>,
) -> Result<Ended, CommandError> {
    let signals = Signals::listen().map_err(CommandError::Lost)?;
    let started = Instant::now();
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|source| {
        let program = command.get_program().to_owned();
        match source.kind() {
            io::ErrorKind::NotFound => CommandError::NotFound(program),
            _ => CommandError::NotStarted { program, source },
        }
    })?;
    let followed = follow(
        &mut child,
        outputs,
        &signals,
        timeout.map(|time| started + time),
    );
    if followed.is_err() {
        // It would wait for a reader for ever.
        let _ = child.kill();
    }
    let status = child.wait().map_err(CommandError::Lost)?;
    let followed = followed.map_err(CommandError::Lost)?;
    let [stdout, stderr] = followed.streams;
    let left_behind = stdout.is_open() || stderr.is_open();
    Ok(Ended {
        status,
        duration: started.elapsed(),
        left_behind,
        timed_out: followed.timed_out,
        lost: [stdout.lost.as_ref(), stderr.lost.as_ref()]
            .into_iter()
            .flatten()
            .next()
            .map(|error| io::Error::new(error.kind(), error.to_string())),
        stdout: stdout.digest(),
        stderr: stderr.digest(),
    })
}

/// One output of a command on its way.
struct Stream<'a> {
    from: Option<OwnedFd>,
    to: &'a mut dyn Write,
    hasher: Sha256,
    size: u64,
    lost: Option<io::Error>,
}

impl<'a> Stream<'a> {
    fn new(from: Option<impl Into<OwnedFd>>, to: &'a mut dyn Write) -> Self {
        Stream {
            from: from.map(Into::into),
            to,
            hasher: Sha256::new(),
            size: 0,
            lost: None,
        }
    }

    fn is_open(&self) -> bool {
        self.from.is_some()
    }

    /// Passes on what is there, up to `most` bytes; returns how many they were.
    fn pass(&mut self, buffer: &mut [u8], most: usize) -> io::Result<usize> {
        let Some(from) = &self.from else { return Ok(0) };
        let most = most.min(buffer.len());
        let read = match rustix::io::read(from, &mut buffer[..most]) {
            Err(rustix::io::Errno::INTR) => return Ok(0),
            read => read?,
        };
        if read == 0 {
            self.from = None;
            return Ok(0);
        }
        self.hasher.update(&buffer[..read]);
        self.size += read as u64;
        let written = self
            .to
            .write_all(&buffer[..read])
            .and_then(|()| self.to.flush());
        if let Err(error) = written {
            // The command finds its output closed, as it would without us.
            self.from = None;
            if error.kind() != io::ErrorKind::BrokenPipe {
                self.lost = Some(error);
            }
        }
        Ok(read)
    }

    /// Passes on what the command has written before it ended, and nothing that comes later.
    fn drain(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        let Some(from) = &self.from else {
            return Ok(());
        };
        let mut left = usize::try_from(rustix::io::ioctl_fionread(from)?).unwrap_or(usize::MAX);
        while left > 0 && self.is_open() {
            left -= self.pass(buffer, left)?;
        }
        // Once it is empty, it is at its end unless somebody else holds it.
        while let Some(from) = &self.from {
            let mut fds = [PollFd::new(from, PollFlags::IN)];
            poll(&mut fds, Some(&Timespec::default()))?;
            let state = fds[0].revents();
            if state.contains(PollFlags::HUP) && !state.contains(PollFlags::IN) {
                self.from = None;
            } else {
                break;
            }
        }
        Ok(())
    }

    fn digest(&self) -> OutputDigest {
        OutputDigest {
            sha256: Digest::from_sha256(self.hasher.clone().finalize().into()),
            size: self.size,
        }
    }
}

/// What was seen of a command up to its end.
struct Followed<'a> {
    streams: [Stream<'a>; 2],
    timed_out: bool,
}

/// Passes output on until the command has ended.
fn follow<'a>(
    child: &mut Child,
    outputs: Outputs<'a>,
    signals: &Signals,
    deadline: Option<Instant>,
) -> io::Result<Followed<'a>> {
    let pid = Pid::from_child(child);
    let ended = watch(pid)?;
    let mut streams = [
        Stream::new(child.stdout.take(), outputs.stdout),
        Stream::new(child.stderr.take(), outputs.stderr),
    ];
    let mut buffer = vec![0; CHUNK];
    let (mut deadline, mut timed_out) = (deadline, false);
    loop {
        let ready = wait(&streams, &ended, signals, deadline)?;
        for signal in signals.received() {
            let _ = kill_process(pid, signal);
        }
        if ready.ended {
            break;
        }
        for (stream, _) in streams
            .iter_mut()
            .zip(ready.streams)
            .filter(|(_, ready)| *ready)
        {
            stream.pass(&mut buffer, CHUNK)?;
        }
        if deadline.is_some_and(|deadline| deadline <= Instant::now()) {
            let signal = if timed_out {
                Signal::KILL
            } else {
                Signal::TERM
            };
            let _ = kill_process(pid, signal);
            (deadline, timed_out) = ((!timed_out).then(|| Instant::now() + GRACE), true);
        }
    }
    for stream in &mut streams {
        stream.drain(&mut buffer)?;
    }
    Ok(Followed { streams, timed_out })
}

/// Returns a pipe that is closed when a process ends; the process is not reaped.
fn watch(pid: Pid) -> io::Result<PipeReader> {
    let (reader, writer) = io::pipe()?;
    thread::Builder::new().spawn(move || {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(pid), options) {}
        drop(writer);
    })?;
    Ok(reader)
}

/// What there is to do.
struct Ready {
    streams: [bool; 2],
    ended: bool,
}

/// Waits for output, the end, a signal, or the deadline.
fn wait(
    streams: &[Stream<'_>; 2],
    ended: &PipeReader,
    signals: &Signals,
    deadline: Option<Instant>,
) -> io::Result<Ready> {
    let mut fds = vec![PollFd::new(ended, PollFlags::IN)];
    let open = streams.each_ref().map(|stream| stream.from.as_ref());
    let places = open.map(|from| {
        let from = from?;
        fds.push(PollFd::new(from, PollFlags::IN));
        Some(fds.len() - 1)
    });
    fds.extend(
        signals
            .fds()
            .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)),
    );
    let timeout = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
    let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
    match poll(&mut fds, timeout.as_ref()) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    let is_ready = |at: usize| !fds[at].revents().is_empty();
    Ok(Ready {
        streams: places.map(|place| place.is_some_and(is_ready)),
        ended: is_ready(0),
    })
}

/// The signals that would end us while a command runs; listened to as long as this lives.
struct Signals {
    listeners: Vec<(Signal, UnixStream, SigId)>,
}

impl Signals {
    fn listen() -> io::Result<Self> {
        let mut signals = Signals {
            listeners: Vec::new(),
        };
        for (number, signal) in [
            (SIGINT, Signal::INT),
            (SIGQUIT, Signal::QUIT),
            (SIGTERM, Signal::TERM),
            (SIGHUP, Signal::HUP),
        ] {
            let (ours, theirs) = UnixStream::pair()?;
            ours.set_nonblocking(true)?;
            let id = low_level::pipe::register(number, theirs)?;
            signals.listeners.push((signal, ours, id));
        }
        Ok(signals)
    }

    fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.listeners.iter().map(|(_, stream, _)| stream.as_fd())
    }

    /// Returns the signals that came since the last time and that the command did not get by itself.
    fn received(&self) -> Vec<Signal> {
        let came = self.listeners.iter().filter(|(_, stream, _)| {
            let mut stream = stream;
            stream.read(&mut [0; 64]).is_ok_and(|read| read > 0)
        });
        let came: Vec<Signal> = came.map(|(signal, ..)| *signal).collect();
        let of_keys = |signal: &Signal| matches!(*signal, Signal::INT | Signal::QUIT);
        let shared = came.iter().any(of_keys) && has_terminal();
        came.into_iter()
            .filter(|signal| !(shared && of_keys(signal)))
            .collect()
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for (_, _, id) in &self.listeners {
            low_level::unregister(*id);
        }
    }
}

/// Tells whether the keys of a terminal reach us, and with us the command, termios(3).
fn has_terminal() -> bool {
    let terminal = File::open("/dev/tty").ok();
    let group = terminal.and_then(|terminal| rustix::termios::tcgetpgrp(terminal).ok());
    group == Some(getpgrp())
}
