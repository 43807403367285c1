//! What both directions of a relay share: who called, and the way from Git to the server.

use std::io::{self, Read, Write};

use gix::bstr::{BStr, BString, ByteSlice};
use store::{
    git::Git,
    scope::{RECORDS, REMOTE},
};

use crate::{
    judge::ProposedUpdate,
    messages::Messages,
    pkt_line::{Kind, Packet, PacketReader, PktLineError},
    refs::RefLines,
    report::AnswerError,
    settings::{Direction, Settings},
};

/// How much is moved at once, in bytes: what a pipe holds.
pub(crate) const BUFFER_BYTES: usize = 64 * 1024;
/// Most refs that a suggested command names.
const MAX_NAMED_REFS: usize = 20;

/// The remote as Git names it to the helper.
pub(crate) struct Caller {
    /// Name of the remote, where Git was not given a bare URL.
    remote: Option<BString>,
    fetches_records: bool,
    pushes_records: bool,
}

impl Caller {
    /// Takes the remote from what Git called the helper with.
    pub(crate) fn new(remote: &BStr, settings: &Settings) -> Self {
        let covers = |variable: &str| {
            let key = format!("remote.{remote}.{variable}");
            settings.values(&key).any(covers_records)
        };
        Caller {
            // A remote without a name is called by its URL, which no name can be: `git-remote(1)`.
            remote: (!remote.contains_str("::")).then(|| remote.into()),
            fetches_records: covers("fetch"),
            pushes_records: covers("push"),
        }
    }

    /// Says that a named remote moves no scopes by itself, if that is so.
    pub(crate) fn warn_of_refspec(&self, direction: Direction, messages: &Messages) {
        let (covered, variable) = match direction {
            Direction::Fetch => (self.fetches_records, "fetch"),
            Direction::Push => (self.pushes_records, "push"),
        };
        let Some(remote) = self.remote.as_ref().filter(|_| !covered) else {
            return;
        };
        messages.warning(&format!(
            "remote `{remote}` has no {variable} refspec for {RECORDS}: run `git handoff init --remote {remote}`"
        ));
    }

    /// Says why a fetch that asked for nothing may have missed something.
    pub(crate) fn warn_of_list(&self, is_any_shown: bool, messages: &Messages) {
        self.warn_of_refspec(Direction::Fetch, messages);
        let Some(remote) = self.remote.as_ref() else {
            return;
        };
        if is_any_shown || !self.fetches_records || !has_shown_scopes(remote.as_bstr()) {
            return;
        }
        messages.warning(&format!(
            "remote `{remote}` shows no scope, and has shown some before: it hides {RECORDS} (`uploadpack.hideRefs`, `transfer.hideRefs` in git-config(1)), or they were removed"
        ));
    }

    /// Returns the command that asks for some updates again, where the remote has a name.
    pub(crate) fn push_command(&self, updates: &[ProposedUpdate]) -> Option<String> {
        let remote = self.remote.as_ref().filter(|_| !updates.is_empty())?;
        if updates.len() > MAX_NAMED_REFS {
            return Some("git handoff push".into());
        }
        let names: Vec<String> = updates
            .iter()
            .map(|update| update.name.to_string())
            .collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let refs = RefLines::of_this_repository(&names).unwrap_or_default();
        let here = refs.ids(updates.iter().map(|update| update.name.as_bstr()));
        let refspecs = updates
            .iter()
            .map(|update| match here.get(update.name.as_bstr()) {
                Some(tip) if *tip == update.new => update.name.clone(),
                _ => format!("{}:{}", update.new, update.name).into(),
            });
        let words = std::iter::once(remote.clone()).chain(refspecs);
        let words: Vec<String> = words.map(|word| quoted(word.as_bstr())).collect();
        Some(format!("git push {}", words.join(" ")))
    }
}

/// Tells whether scopes were ever fetched from a remote.
fn has_shown_scopes(remote: &BStr) -> bool {
    let tracked = format!("{REMOTE}{remote}/");
    let args = ["for-each-ref", "--count=1", &tracked];
    Git::in_dir(".")
        .output(args)
        .is_ok_and(|refs| !refs.is_empty())
}

/// Tells whether the source of a refspec names something under `refs/handoff/`.
fn covers_records(refspec: &BStr) -> bool {
    let refspec = refspec.strip_prefix(b"+").unwrap_or(refspec);
    refspec.starts_with(RECORDS.as_bytes()) || refspec.starts_with(b"refs/*")
}

fn quoted(word: &BStr) -> String {
    let is_plain = |b: &u8| b.is_ascii_alphanumeric() || b"_-./:=@%+,^~".contains(b);
    if word.iter().all(is_plain) {
        word.to_string()
    } else {
        format!("'{}'", word.to_string().replace('\'', r"'\''"))
    }
}

/// How a server began to speak.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Greeting {
    /// It said what it has, up to the flush.
    Complete,
    /// It said why it has nothing for us.
    Error,
    /// It went away in the middle.
    BrokenOff,
}

/// Gives each packet up to the first flush to `pass`.
pub(crate) fn greeting(
    answers: &mut PacketReader<impl Read>,
    mut pass: impl FnMut(&Packet<'_>) -> io::Result<()>,
) -> Result<Greeting, AnswerError> {
    let mut is_error = false;
    loop {
        let packet = match answers.read() {
            Ok(Some(packet)) => packet,
            Ok(None) | Err(PktLineError::Truncated) if is_error => return Ok(Greeting::Error),
            Ok(None) | Err(PktLineError::Truncated) => return Ok(Greeting::BrokenOff),
            Err(error) => return Err(AnswerError::Server(error)),
        };
        is_error |= packet.payload().starts_with(b"ERR ");
        pass(&packet).map_err(AnswerError::Client)?;
        if packet.kind == Kind::Flush {
            return Ok(Greeting::Complete);
        }
    }
}

/// Moves what Git sends to the server: `head` first, then `input` to its end, at which the server sees the end too.
///
/// Where the server has gone away the rest is read all the same, so that Git goes on to read its last words.
pub(crate) fn forward(head: Vec<u8>, mut input: impl Read, mut requests: Box<dyn Write + Send>) {
    let mut is_open = requests.write_all(&head).is_ok();
    drop(head);
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        match input.read(&mut buffer) {
            Ok(0) => return,
            Ok(read) if is_open => {
                let sent = requests.write_all(&buffer[..read]);
                is_open = sent.and_then(|()| requests.flush()).is_ok();
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refspec_of_scopes_is_told_from_one_of_branches() {
        let covers = |refspec: &str| covers_records(refspec.into());
        assert!(covers("+refs/handoff/*:refs/handoff-remote/handoff/*"));
        assert!(covers("refs/handoff/*:refs/handoff/*"));
        assert!(covers("+refs/*:refs/*"));
        assert!(!covers("+refs/heads/*:refs/remotes/origin/*"));
        assert!(!covers("refs/handoff-remote/*:refs/x/*"));
    }

    #[test]
    fn words_are_quoted_as_one_types_them() {
        assert_eq!(quoted("refs/handoff/a".into()), "refs/handoff/a");
        assert_eq!(quoted("it's".into()), r"'it'\''s'");
    }
}
