//! One pass over CBOR bytes that judges their form and knows no types.

use super::{DecodeError, MAX_DEPTH};

/// Scans a document and returns its `schema`, if it is a map that has one as text.
pub(super) fn document(bytes: &[u8]) -> Result<Option<&str>, DecodeError> {
    let mut scan = Scan {
        bytes,
        at: 0,
        schema: None,
    };
    scan.item(0)?;
    scan.end()?;
    Ok(scan.schema)
}

/// Scans one value of any kind.
pub(super) fn value(bytes: &[u8]) -> Result<(), DecodeError> {
    document(bytes).map(|_| ())
}

struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
    schema: Option<&'a str>,
}

/// Returns the kind of value that an initial byte begins, in words.
pub(super) fn kind_of(initial: u8) -> &'static str {
    match initial >> 5 {
        major::UNSIGNED => "a number",
        major::NEGATIVE => "a negative number",
        major::BYTES => "a byte string",
        major::TEXT => "text",
        major::ARRAY => "a list",
        major::MAP => "a map",
        _ if initial == 0xf6 => "null",
        _ => "true or false",
    }
}

/// Major types of RFC 8949 §3.1.
mod major {
    pub(super) const UNSIGNED: u8 = 0;
    pub(super) const NEGATIVE: u8 = 1;
    pub(super) const BYTES: u8 = 2;
    pub(super) const TEXT: u8 = 3;
    pub(super) const ARRAY: u8 = 4;
    pub(super) const MAP: u8 = 5;
    pub(super) const TAG: u8 = 6;
}

impl<'a> Scan<'a> {
    fn error<T>(offset: usize, what: &'static str) -> Result<T, DecodeError> {
        Err(DecodeError::Malformed { offset, what })
    }

    fn take(&mut self, count: u64) -> Result<&'a [u8], DecodeError> {
        let rest = &self.bytes[self.at..];
        match usize::try_from(count)
            .ok()
            .and_then(|count| rest.get(..count))
        {
            Some(taken) => {
                self.at += taken.len();
                Ok(taken)
            }
            None => Self::error(self.bytes.len(), "the bytes end in the middle of a value"),
        }
    }

    /// Reads the initial byte and the argument, RFC 8949 §3; the argument in its shortest form only.
    fn head(&mut self) -> Result<(u8, u64), DecodeError> {
        let start = self.at;
        let initial = self.take(1)?[0];
        let (major, info) = (initial >> 5, initial & 0x1f);
        if major == 7 {
            return match info {
                20..=22 => Ok((major, info.into())),
                25..=27 => Self::error(start, "a floating-point number"),
                _ => Self::error(start, "a simple value other than false, true and null"),
            };
        }
        let (bytes, shortest) = match info {
            0..=23 => return Ok((major, info.into())),
            24 => (1, 24),
            25 => (2, 0x100),
            26 => (4, 0x1_0000),
            27 => (8, 0x1_0000_0000),
            31 => return Self::error(start, "an indefinite length"),
            _ => return Self::error(start, "a reserved initial byte"),
        };
        let argument = self
            .take(bytes)?
            .iter()
            .fold(0u64, |value, byte| value << 8 | u64::from(*byte));
        if argument < shortest {
            return Self::error(
                start,
                "an integer or length that is not in its shortest form",
            );
        }
        Ok((major, argument))
    }

    fn text(&mut self, length: u64) -> Result<&'a str, DecodeError> {
        let start = self.at;
        match std::str::from_utf8(self.take(length)?) {
            Ok(text) => Ok(text),
            Err(error) => Self::error(start + error.valid_up_to(), "text that is not UTF-8"),
        }
    }

    fn item(&mut self, depth: usize) -> Result<(), DecodeError> {
        let start = self.at;
        let (major, argument) = self.head()?;
        if matches!(major, major::ARRAY | major::MAP) && depth >= MAX_DEPTH {
            return Self::error(start, "nested more than 32 deep");
        }
        match major {
            major::UNSIGNED | major::NEGATIVE if i64::try_from(argument).is_err() => {
                Self::error(start, "an integer outside 64 bits with sign")
            }
            major::BYTES => self.take(argument).map(|_| ()),
            major::TEXT => self.text(argument).map(|_| ()),
            major::ARRAY => (0..argument).try_for_each(|_| self.item(depth + 1)),
            major::MAP => self.map(argument, depth),
            major::TAG => Self::error(start, "a tag"),
            _ => Ok(()),
        }
    }

    fn map(&mut self, pairs: u64, depth: usize) -> Result<(), DecodeError> {
        let mut before: Option<&[u8]> = None;
        for _ in 0..pairs {
            let start = self.at;
            let (major, length) = self.head()?;
            if major != major::TEXT {
                return Self::error(start, "a map key that is not text");
            }
            let key = self.text(length)?;
            let encoded = &self.bytes[start..self.at];
            // RFC 8949 §4.2.1: keys in bytewise order of their encodings.
            match before.map(|before| before.cmp(encoded)) {
                Some(std::cmp::Ordering::Equal) => {
                    return Self::error(start, "a map key that stands twice");
                }
                Some(std::cmp::Ordering::Greater) => {
                    return Self::error(start, "a map key out of order");
                }
                _ => before = Some(encoded),
            }
            let value = self.at;
            self.item(depth + 1)?;
            if depth == 0 && key == "schema" {
                let mut again = Scan {
                    bytes: self.bytes,
                    at: value,
                    schema: None,
                };
                if let (major::TEXT, length) = again.head()? {
                    self.schema = Some(again.text(length)?);
                }
            }
        }
        Ok(())
    }

    fn end(&self) -> Result<(), DecodeError> {
        if self.at == self.bytes.len() {
            Ok(())
        } else {
            Self::error(self.at, "bytes after the end")
        }
    }
}
