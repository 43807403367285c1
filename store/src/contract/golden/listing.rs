//! A listing of CBOR that a person can read: one item a line, offset, bytes and diagnostic notation.

use std::fmt::Write;

/// Lists canonical bytes; RFC 8949 §8 is the notation.
pub(super) fn of(bytes: &[u8]) -> String {
    let mut listing = Listing {
        bytes,
        at: 0,
        text: String::new(),
    };
    listing.item(0);
    assert_eq!(listing.at, bytes.len());
    listing.text
}

struct Listing<'a> {
    bytes: &'a [u8],
    at: usize,
    text: String,
}

impl Listing<'_> {
    fn item(&mut self, depth: usize) {
        let start = self.at;
        let (major, argument) = self.head();
        let length = argument as usize;
        let (mut items, note) = match major {
            0 => (0, argument.to_string()),
            1 => (0, (-1 - argument as i128).to_string()),
            2 => (0, format!("h'{}'", hex(self.take(length)))),
            3 => (
                0,
                format!("{:?}", std::str::from_utf8(self.take(length)).unwrap()),
            ),
            4 => (length, format!("array of {length}")),
            5 => (2 * length, format!("map of {length}")),
            _ => (0, ["false", "true", "null"][length - 20].to_string()),
        };
        let raw = hex(&self.bytes[start..self.at]);
        let indent = "  ".repeat(depth);
        writeln!(self.text, "{start:6}  {indent}{note}  # {raw}").unwrap();
        while items > 0 {
            self.item(depth + 1);
            items -= 1;
        }
    }

    fn head(&mut self) -> (u8, u64) {
        let initial = self.take(1)[0];
        let argument = match initial & 0x1f {
            info @ 24..=27 => {
                let bytes = self.take(1 << (info - 24));
                bytes
                    .iter()
                    .fold(0, |value, byte| value << 8 | u64::from(*byte))
            }
            info => info.into(),
        };
        (initial >> 5, argument)
    }

    fn take(&mut self, count: usize) -> &[u8] {
        let taken = &self.bytes[self.at..][..count];
        self.at += count;
        taken
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
