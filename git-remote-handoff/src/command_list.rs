//! The command list of a push, which stands before the pack: `gitprotocol-pack(5)`.

use std::io::Read;

use gix::{
    ObjectId,
    bstr::{BString, ByteSlice},
};

use crate::{
    judge::ProposedUpdate,
    pkt_line::{Kind, Packet, PacketReader, PktLineError},
};

/// Longest command list that is judged, push options included, in bytes.
pub const MAX_BYTES: usize = 16 * 1024 * 1024;

/// What a client asks of `git-receive-pack`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CommandList {
    /// The bytes as they came, up to the flush that the pack follows.
    pub raw: Vec<u8>,
    /// The updates that are asked for, in their order.
    pub updates: Vec<ProposedUpdate>,
    /// What the client wants of the protocol, from the first command.
    pub capabilities: Vec<BString>,
    /// The list is a push certificate.
    pub is_signed: bool,
    /// The list is longer than [`MAX_BYTES`]; `raw` and `updates` are cut.
    pub is_too_long: bool,
}

/// Says why a command list cannot be judged.
#[derive(Debug, thiserror::Error)]
pub enum CommandListError {
    /// It is not made of packets.
    #[error("git sent a broken command list")]
    Packet(#[source] PktLineError),
    /// The connection ended within it.
    #[error("git sent a command list without an end")]
    Truncated,
    /// A line is none that a command list has.
    #[error("git sent `{0}`, which is no command of a push")]
    Line(String),
}

impl CommandList {
    /// Reads a command list and the push options behind it, or `None` where the client went away instead.
    ///
    /// # Errors
    ///
    /// Where a line is not understood: what is not understood cannot be judged.
    pub fn read(
        stream: &mut PacketReader<impl Read>,
    ) -> Result<Option<CommandList>, CommandListError> {
        let mut list = CommandList::default();
        let mut certificate = Certificate::None;
        let Some(mut packet) = stream.read().map_err(CommandListError::Packet)? else {
            return Ok(None);
        };
        while packet.kind != Kind::Flush {
            list.keep(&packet);
            list.line(&packet, &mut certificate)?;
            packet = next(stream)?;
        }
        list.keep(&packet);
        if list.has("push-options") {
            loop {
                let packet = next(stream)?;
                list.keep(&packet);
                if packet.kind == Kind::Flush {
                    break;
                }
            }
        }
        Ok(Some(list))
    }

    /// Tells whether the client asked for a capability.
    pub fn has(&self, capability: &str) -> bool {
        self.capabilities.iter().any(|word| word == capability)
    }

    /// Tells whether a pack follows: a push that only deletes has none.
    pub fn has_pack(&self) -> bool {
        self.is_too_long || self.updates.iter().any(|update| !update.new.is_null())
    }

    fn keep(&mut self, packet: &Packet<'_>) {
        if self.raw.len() + packet.raw.len() > MAX_BYTES {
            self.is_too_long = true;
        } else {
            self.raw.extend_from_slice(packet.raw);
        }
    }

    fn line(
        &mut self,
        packet: &Packet<'_>,
        certificate: &mut Certificate,
    ) -> Result<(), CommandListError> {
        if self.is_too_long {
            return Ok(());
        }
        let broken = || {
            let shown = packet.payload().escape_ascii().to_string();
            CommandListError::Line(shown.chars().take(200).collect())
        };
        if packet.kind != Kind::Data {
            return Err(broken());
        }
        let (line, capabilities) = match packet.line().find_byte(0) {
            Some(at) => (&packet.line()[..at], Some(&packet.line()[at + 1..])),
            None => (packet.line(), None),
        };
        if let Some(words) = capabilities.filter(|_| self.capabilities.is_empty()) {
            let words = words.split(|b| matches!(b, b' ' | b'\n'));
            let words = words.filter(|word| !word.is_empty()).map(BString::from);
            self.capabilities = words.collect();
        }
        if line == b"push-cert" {
            self.is_signed = true;
        }
        match certificate.next(line) {
            Section::Command => self.updates.push(update(line).ok_or_else(broken)?),
            Section::Other => {}
        }
        Ok(())
    }
}

/// Where the lines of a push certificate have got to; its commands stand between header and signature.
enum Certificate {
    None,
    Header,
    Commands,
    Signature,
}

enum Section {
    Command,
    Other,
}

impl Certificate {
    /// Tells what a line is.
    fn next(&mut self, line: &[u8]) -> Section {
        let next = match (&self, line) {
            (Certificate::None, b"push-cert") => Certificate::Header,
            (Certificate::None, _) if line.starts_with(b"shallow ") => return Section::Other,
            (Certificate::None, _) => return Section::Command,
            (_, b"push-cert-end") => Certificate::None,
            (Certificate::Header, b"") => Certificate::Commands,
            (Certificate::Commands, _) if line.starts_with(b"-----BEGIN ") => {
                Certificate::Signature
            }
            (Certificate::Commands, _) => return Section::Command,
            (Certificate::Header | Certificate::Signature, _) => return Section::Other,
        };
        *self = next;
        Section::Other
    }
}

fn next<R: Read>(stream: &mut PacketReader<R>) -> Result<Packet<'_>, CommandListError> {
    let packet = stream.read().map_err(CommandListError::Packet)?;
    packet.ok_or(CommandListError::Truncated)
}

/// Parses `<old> SP <new> SP <ref>`.
fn update(line: &[u8]) -> Option<ProposedUpdate> {
    let (old, rest) = line.split_once_str(" ")?;
    let (new, name) = rest.split_once_str(" ")?;
    let old = ObjectId::from_hex(old).ok()?;
    let new = ObjectId::from_hex(new).ok()?;
    let is_good = old.kind() == new.kind() && !name.is_empty();
    is_good.then(|| ProposedUpdate {
        name: name.into(),
        old,
        new,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::pkt_line;

    const A: &str = "1111111111111111111111111111111111111111";
    const B: &str = "2222222222222222222222222222222222222222";

    fn packets(lines: &[&str]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for line in lines {
            match *line {
                "" => bytes.extend_from_slice(pkt_line::FLUSH),
                line => pkt_line::write_packet(&mut bytes, line.as_bytes()).unwrap(),
            }
        }
        bytes
    }

    fn read(bytes: &[u8]) -> Result<Option<CommandList>, CommandListError> {
        CommandList::read(&mut PacketReader::new(bytes))
    }

    fn names(list: &CommandList) -> Vec<String> {
        list.updates
            .iter()
            .map(|update| update.name.to_string())
            .collect()
    }

    #[test]
    fn commands_options_and_shallow_lines_are_read_up_to_the_pack() {
        let bytes = packets(&[
            &format!("shallow {A}"),
            &format!("{A} {B} refs/handoff/a\0 report-status push-options agent=git/2"),
            &format!("{A} {B} refs/handoff/b"),
            "",
            "ci.skip",
            "",
            "PACK",
        ]);
        let list = read(&bytes).unwrap().unwrap();
        assert_eq!(names(&list), ["refs/handoff/a", "refs/handoff/b"]);
        assert_eq!(
            list.capabilities,
            ["report-status", "push-options", "agent=git/2"]
        );
        assert_eq!(list.raw, bytes[..bytes.len() - 8]);
        assert!(list.has_pack());
    }

    #[test]
    fn the_refs_of_a_push_certificate_are_found() {
        let bytes = packets(&[
            "push-cert\0report-status\n",
            "certificate version 0.1\n",
            "pusher me\n",
            "\n",
            &format!("{A} {B} refs/handoff/a\n"),
            "-----BEGIN PGP SIGNATURE-----\n",
            "abc\n",
            "push-cert-end\n",
            "",
        ]);
        let list = read(&bytes).unwrap().unwrap();
        assert!(list.is_signed);
        assert_eq!(names(&list), ["refs/handoff/a"]);
    }

    #[test]
    fn what_is_no_command_list_is_an_error() {
        assert!(read(b"").unwrap().is_none());
        for lines in [
            vec!["hello", ""],
            vec!["0 0 refs/handoff/a", ""],
            vec!["push-options"],
        ] {
            assert!(read(&packets(&lines)).is_err(), "{lines:?}");
        }
        let line = format!("{A} {B} refs/handoff/a\0 push-options");
        assert!(read(&packets(&[&line, ""])).is_err());
        assert!(read(b"0001").is_err());
    }

    #[test]
    fn a_list_over_the_limit_is_read_to_its_end() {
        let line = format!("{A} {B} refs/handoff/{}", "x".repeat(60_000));
        let mut lines = vec![line.as_str(); MAX_BYTES / 60_000 + 2];
        lines.push("");
        let bytes = packets(&lines);
        let mut stream = PacketReader::new(bytes.as_slice());
        let list = CommandList::read(&mut stream).unwrap().unwrap();
        assert!(list.is_too_long && list.raw.len() <= MAX_BYTES);
        assert!(stream.read().unwrap().is_none());
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let _ = read(&bytes);
            let mut list = packets(&["x"]);
            list.extend_from_slice(&bytes);
            let _ = read(&list);
        }
    }
}
