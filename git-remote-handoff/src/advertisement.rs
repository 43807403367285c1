//! Reduces what a server says it has to the refs under `refs/handoff/`.
//!
//! Both forms are known: the advertisement of protocol version 0 and 1 (`gitprotocol-pack(5)`) and the answer to
//! `ls-refs` (`gitprotocol-v2(5)`). Nothing is hidden from anybody here: it is what a user wants to see.

use std::io::{self, Write};

use gix::bstr::{BStr, BString, ByteSlice};
use store::scope::RECORDS;

use crate::pkt_line::{self, Kind, Packet};

/// Filters the ref advertisement of `git-upload-pack`, packet by packet.
#[derive(Default)]
pub struct AdvertisementFilter {
    capabilities: Option<BString>,
    null_id: BString,
    has_shown: bool,
}

impl AdvertisementFilter {
    /// Takes one packet and writes what is left of it.
    ///
    /// Capabilities stand behind the first ref, so they move to the first one that is left, or to the
    /// `capabilities^{}` line of an empty repository. `symref=` capabilities, which tell of other refs, are dropped.
    ///
    /// # Errors
    ///
    /// Where `output` breaks.
    pub fn packet(&mut self, packet: &Packet<'_>, output: &mut impl Write) -> io::Result<()> {
        let line = packet.line();
        if packet.kind != Kind::Data || line.starts_with(b"shallow ") {
            self.write_without_ref(output)?;
            return output.write_all(packet.raw);
        }
        let (record, capabilities) = match line.find_byte(0) {
            Some(at) => (&line[..at], Some(&line[at + 1..])),
            None => (line, None),
        };
        let Some((id, name)) = record.split_once_str(" ").filter(|(id, _)| is_id(id)) else {
            return output.write_all(packet.raw);
        };
        if let Some(capabilities) = capabilities {
            self.capabilities = Some(without_symrefs(capabilities));
            self.null_id = vec![b'0'; id.len()].into();
        }
        if !name.starts_with(RECORDS.as_bytes()) {
            return Ok(());
        }
        self.has_shown = true;
        match self.capabilities.take() {
            Some(capabilities) => write_first(output, id, name, &capabilities),
            None => pkt_line::write_packet(output, &[record, b"\n"].concat()),
        }
    }

    /// Tells whether any ref was left.
    pub fn has_shown(&self) -> bool {
        self.has_shown
    }

    /// Writes the line that carries the capabilities where no ref has done so.
    fn write_without_ref(&mut self, output: &mut impl Write) -> io::Result<()> {
        match self.capabilities.take() {
            Some(capabilities) => {
                write_first(output, &self.null_id, b"capabilities^{}", &capabilities)
            }
            None => Ok(()),
        }
    }
}

/// Tells whether a line of an `ls-refs` answer is of a ref under `refs/handoff/`.
pub fn is_listed(line: &BStr) -> bool {
    line.split_once_str(" ")
        .is_some_and(|(_, rest)| rest.starts_with(RECORDS.as_bytes()))
}

/// Narrows the `ref-prefix` arguments of an `ls-refs` request to `refs/handoff/`, so that a server with many other
/// refs need not send them.
///
/// Takes the lines of one request and returns those to send in their place.
pub fn narrowed(lines: &[BString]) -> Vec<BString> {
    let mut kept = Vec::new();
    let mut prefixes = Vec::new();
    for line in lines {
        match prefix_argument(line) {
            None => kept.push(line.clone()),
            Some(prefix) if prefix.starts_with(RECORDS.as_bytes()) => prefixes.push(line.clone()),
            Some(_) => {}
        }
    }
    let broader = |line: &&BString| {
        prefix_argument(line).is_some_and(|prefix| RECORDS.as_bytes().starts_with(prefix))
    };
    if prefixes.is_empty() || lines.iter().any(|line| broader(&line)) {
        prefixes = vec![format!("ref-prefix {RECORDS}\n").into()];
    }
    kept.extend(prefixes);
    kept
}

/// Returns the prefix that a line of an `ls-refs` request asks for.
pub fn prefix_argument(line: &[u8]) -> Option<&[u8]> {
    let prefix = line.strip_prefix(b"ref-prefix ")?;
    Some(prefix.strip_suffix(b"\n").unwrap_or(prefix))
}

fn is_id(text: &[u8]) -> bool {
    matches!(text.len(), 40 | 64) && text.iter().all(u8::is_ascii_hexdigit)
}

fn without_symrefs(capabilities: &[u8]) -> BString {
    let kept = capabilities
        .split(|b| *b == b' ')
        .filter(|word| !word.is_empty() && !word.starts_with(b"symref="));
    bstr_join(kept)
}

fn bstr_join<'a>(words: impl Iterator<Item = &'a [u8]>) -> BString {
    words.collect::<Vec<_>>().join(&b' ').into()
}

fn write_first(
    output: &mut impl Write,
    id: &[u8],
    name: &[u8],
    capabilities: &[u8],
) -> io::Result<()> {
    pkt_line::write_packet(
        output,
        &[id, b" ", name, b"\0", capabilities, b"\n"].concat(),
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::pkt_line::PacketReader;

    const ID: &str = "1111111111111111111111111111111111111111";

    fn filtered(bytes: &[u8]) -> Vec<u8> {
        let mut reader = PacketReader::new(bytes);
        let mut filter = AdvertisementFilter::default();
        let mut output = Vec::new();
        while let Ok(Some(packet)) = reader.read() {
            filter.packet(&packet, &mut output).unwrap();
        }
        output
    }

    fn packets(lines: &[&str]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for line in lines {
            pkt_line::write_packet(&mut bytes, line.as_bytes()).unwrap();
        }
        bytes.extend_from_slice(pkt_line::FLUSH);
        bytes
    }

    #[test]
    fn capabilities_move_to_the_first_ref_that_is_left() {
        let given = packets(&[
            &format!("{ID} HEAD\0multi_ack symref=HEAD:refs/heads/main agent=git/2\n"),
            &format!("{ID} refs/handoff/a\n"),
            &format!("{ID} refs/handoff/b\n"),
            &format!("{ID} refs/heads/main\n"),
        ]);
        let expected = packets(&[
            &format!("{ID} refs/handoff/a\0multi_ack agent=git/2\n"),
            &format!("{ID} refs/handoff/b\n"),
        ]);
        assert_eq!(filtered(&given).as_bstr(), expected.as_bstr());
    }

    #[test]
    fn an_advertisement_with_no_ref_left_is_that_of_an_empty_repository() {
        let given = packets(&[
            "version 1\n",
            &format!("{ID} HEAD\0multi_ack\n"),
            &format!("shallow {ID}\n"),
        ]);
        let expected = packets(&[
            "version 1\n",
            &format!("{} capabilities^{{}}\0multi_ack\n", "0".repeat(40)),
            &format!("shallow {ID}\n"),
        ]);
        assert_eq!(filtered(&given).as_bstr(), expected.as_bstr());
    }

    #[test]
    fn an_error_of_the_server_is_passed_on() {
        let given = packets(&["ERR access denied"]);
        assert_eq!(filtered(&given), given);
    }

    #[test]
    fn requests_are_narrowed_to_the_namespace() {
        let narrowed = |prefixes: &[&str]| {
            let mut lines = vec![BString::from("peel\n")];
            lines.extend(
                prefixes
                    .iter()
                    .map(|prefix| format!("ref-prefix {prefix}\n").into()),
            );
            let lines = super::narrowed(&lines);
            let lines = lines
                .iter()
                .skip(1)
                .map(|line| line.trim_end().as_bstr().to_string());
            lines.collect::<Vec<_>>().join(",")
        };
        assert_eq!(narrowed(&[]), "ref-prefix refs/handoff/");
        assert_eq!(
            narrowed(&["HEAD", "refs/heads/"]),
            "ref-prefix refs/handoff/"
        );
        assert_eq!(narrowed(&["refs/"]), "ref-prefix refs/handoff/");
        assert_eq!(
            narrowed(&["refs/handoff/a", "refs/tags/"]),
            "ref-prefix refs/handoff/a"
        );
    }

    #[test]
    fn answers_are_filtered_by_name() {
        let listed = |line: &str| is_listed(line.into());
        assert!(listed(&format!("{ID} refs/handoff/a")));
        assert!(!listed(&format!("{ID} refs/heads/main peeled:{ID}")));
        assert!(!listed("unborn HEAD symref-target:refs/handoff/x"));
        assert!(!listed(&format!("{ID} refs/handoff-local/a")));
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
            filtered(&bytes);
            let _ = is_listed(bytes.as_bstr());
            narrowed(&[bytes.into()]);
        }

        #[test]
        fn only_refs_of_the_namespace_are_left(
            names in prop::collection::vec("(refs/(handoff|heads|handoff-local)/[a-c]|HEAD|[a-z ]{1,9})", 0..8)
        ) {
            let lines: Vec<String> = names
                .iter()
                .enumerate()
                .map(|(i, name)| format!("{ID} {name}{}\n", if i == 0 { "\0caps" } else { "" }))
                .collect();
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            let output = filtered(&packets(&lines));
            let mut reader = PacketReader::new(output.as_slice());
            let mut left = Vec::new();
            let mut first = true;
            while let Some(packet) = reader.read().unwrap() {
                let line = packet.line().as_bstr().to_string();
                prop_assert_eq!(first && packet.kind == Kind::Data, line.contains('\0'));
                first = false;
                if let Some((_, name)) = line.split('\0').next().unwrap_or_default().split_once(' ') {
                    left.push(name.to_owned());
                }
            }
            let expected: Vec<&String> = names.iter().filter(|name| name.starts_with("refs/handoff/")).collect();
            if expected.is_empty() && !names.is_empty() {
                prop_assert_eq!(left, ["capabilities^{}"]);
            } else {
                prop_assert_eq!(left.iter().collect::<Vec<_>>(), expected);
            }
        }
    }
}
