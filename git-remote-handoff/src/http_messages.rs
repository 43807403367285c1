//! What `git remote-http(s)` prints: passed on at once, and read for the remarks of the server.

use std::{
    io::{self, Read},
    process::ChildStderr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
};

use gix::bstr::BStr;
use rustix::event::{PollFd, PollFlags, poll};

use crate::{messages::Messages, remarks::Remarks};

/// The standard error of the child.
#[derive(Clone)]
pub(crate) struct ChildMessages(Arc<Mutex<Said>>);

struct Said {
    /// Reading does not block, so that what was printed so far can be told from what comes later.
    stream: ChildStderr,
    remarks: Remarks,
    messages: Messages,
}

impl ChildMessages {
    /// Passes on what the child prints to `messages`, from now on and in a thread of its own.
    pub(crate) fn relay(stream: ChildStderr, messages: Messages) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&stream, true)?;
        let wake = rustix::io::dup(&stream)?;
        let said = ChildMessages(Arc::new(Mutex::new(Said {
            stream,
            remarks: Remarks::default(),
            messages,
        })));
        let relayed = said.clone();
        thread::spawn(move || {
            loop {
                let ready = poll(&mut [PollFd::new(&wake, PollFlags::IN)], None);
                let is_interrupted =
                    matches!(ready, Err(error) if error == rustix::io::Errno::INTR);
                if !is_interrupted && (ready.is_err() || !relayed.lock().read_on()) {
                    return;
                }
            }
        });
        Ok(said)
    }

    /// Passes on all that has been printed so far.
    pub(crate) fn settle(&self) {
        self.lock().read_on();
    }

    /// Returns the reason to show for a ref that the server refused with `reason`.
    ///
    /// The child has printed the remarks of the server before it reports, so they are all there to be read.
    pub(crate) fn reason(&self, name: &BStr, reason: &str) -> String {
        let mut said = self.lock();
        said.read_on();
        said.remarks.reason(name, reason)
    }

    /// Returns what to do about the refusals that were asked for.
    pub(crate) fn advice(&self) -> Option<&'static str> {
        self.lock().remarks.advice()
    }

    fn lock(&self) -> MutexGuard<'_, Said> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Said {
    /// Reads what is there; `false` where nothing more will come.
    fn read_on(&mut self) -> bool {
        let mut buffer = [0; 8 * 1024];
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) => return false,
                Ok(read) => {
                    self.messages.raw(&buffer[..read]);
                    self.remarks.feed(&buffer[..read]);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return error.kind() == io::ErrorKind::WouldBlock,
            }
        }
    }
}
