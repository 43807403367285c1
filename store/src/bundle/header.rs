//! The text before the pack of a bundle.

use std::io::{self, BufRead, Read};

use gix::{
    ObjectId,
    bstr::{BString, ByteSlice},
    hash::Kind,
};

/// Largest header that is read, in bytes.
pub const MAX_HEADER_BYTES: u64 = 1 << 20;

const VERSION_2: &[u8] = b"# v2 git bundle";
const VERSION_3: &[u8] = b"# v3 git bundle";
const OBJECT_FORMAT: &[u8] = b"@object-format=";

/// What a bundle holds, and what it needs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Header {
    /// Hash function of its objects.
    pub hash: Kind,
    /// Commits that whoever takes it must have.
    pub prerequisites: Vec<ObjectId>,
    /// Its refs, by name as they stand there.
    pub refs: Vec<(BString, ObjectId)>,
}

/// Says why the beginning of a file is no header.
#[derive(Debug, thiserror::Error)]
pub enum HeaderError {
    /// The file does not begin as a bundle does.
    #[error("it is no Git bundle")]
    NoBundle,
    /// A version or capability that is not known.
    #[error("it needs `{0}`, which is not known here")]
    Unsupported(BString),
    /// A line that makes no sense.
    #[error("line {0} of its header makes no sense")]
    Line(usize),
    /// The file ends in its header.
    #[error("it is cut short: it ends in its header")]
    Truncated,
    /// The header is larger than any that is read.
    #[error("its header has more than {MAX_HEADER_BYTES} bytes")]
    TooLarge,
    /// The file cannot be read.
    #[error("it could not be read")]
    Io(#[from] io::Error),
}

impl Header {
    /// Reads a header up to the pack.
    ///
    /// # Errors
    ///
    /// Where it is no header of a bundle, or a larger one than [`MAX_HEADER_BYTES`].
    pub fn read(input: &mut impl BufRead) -> Result<Self, HeaderError> {
        let mut lines = Lines {
            input: input.take(MAX_HEADER_BYTES),
            line: Vec::new(),
            number: 0,
        };
        let has_capabilities = match lines.first()? {
            VERSION_2 => false,
            VERSION_3 => true,
            other if other.starts_with(b"# v") && other.ends_with(b" git bundle") => {
                return Err(HeaderError::Unsupported(other[2..].into()));
            }
            _ => return Err(HeaderError::NoBundle),
        };
        let mut header = Header {
            hash: Kind::Sha1,
            prerequisites: Vec::new(),
            refs: Vec::new(),
        };
        loop {
            let (number, line) = lines.next()?;
            let malformed = HeaderError::Line(number);
            if line.is_empty() {
                return Ok(header);
            }
            if let Some(format) = line
                .strip_prefix(OBJECT_FORMAT)
                .filter(|_| has_capabilities)
            {
                header.hash = match format {
                    b"sha1" => Kind::Sha1,
                    b"sha256" => Kind::Sha256,
                    _ => return Err(HeaderError::Unsupported(line.into())),
                };
            } else if line.starts_with(b"@") && has_capabilities {
                return Err(HeaderError::Unsupported(line.into()));
            } else if let Some(line) = line.strip_prefix(b"-") {
                let id = line.splitn(2, |b| *b == b' ').next().unwrap_or_default();
                header.prerequisites.push(header.id(id).ok_or(malformed)?);
            } else {
                let (id, name) = line.split_once_str(" ").ok_or(HeaderError::Line(number))?;
                let id = header.id(id).ok_or(malformed)?;
                header.refs.push((name.into(), id));
            }
        }
    }

    fn id(&self, hex: &[u8]) -> Option<ObjectId> {
        let id = ObjectId::from_hex(hex).ok()?;
        (id.kind() == self.hash && !id.is_null()).then_some(id)
    }

    /// Writes the header as Git does, with the empty line that ends it.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = match self.hash {
            Kind::Sha1 => [VERSION_2, b"\n"].concat(),
            kind => format!("# v3 git bundle\n@object-format={kind}\n").into_bytes(),
        };
        for id in &self.prerequisites {
            bytes.extend_from_slice(format!("-{id} \n").as_bytes());
        }
        for (name, id) in &self.refs {
            bytes.extend_from_slice(format!("{id} ").as_bytes());
            bytes.extend_from_slice(name);
            bytes.push(b'\n');
        }
        bytes.push(b'\n');
        bytes
    }
}

/// The lines of a header, one after the other.
struct Lines<R> {
    input: io::Take<R>,
    line: Vec<u8>,
    number: usize,
}

impl<R: BufRead> Lines<R> {
    /// Returns the first line, of which not more is read than a bundle's has.
    fn first(&mut self) -> Result<&[u8], HeaderError> {
        let limit = self.input.limit();
        self.input.set_limit(64);
        let read = self.input.read_until(b'\n', &mut self.line)?;
        self.input.set_limit(limit - read as u64);
        self.number = 1;
        match self.line.strip_suffix(b"\n") {
            Some(line) => Ok(line),
            None => Err(HeaderError::NoBundle),
        }
    }

    fn next(&mut self) -> Result<(usize, &[u8]), HeaderError> {
        self.line.clear();
        self.input.read_until(b'\n', &mut self.line)?;
        self.number += 1;
        match self.line.strip_suffix(b"\n") {
            Some(line) => Ok((self.number, line)),
            None if self.input.limit() == 0 => Err(HeaderError::TooLarge),
            None => Err(HeaderError::Truncated),
        }
    }
}
