//! Reads and writes pkt-lines: `gitprotocol-common(5)`.
//!
//! A packet is at most 65,520 bytes with its header, so reading is bounded; what packets mean is not known here.

use std::io::{self, ErrorKind, Read, Write};

/// Largest packet, header included, in bytes.
pub const MAX_PACKET_BYTES: usize = 65_520;
/// Most bytes that one packet carries.
pub const MAX_PAYLOAD_BYTES: usize = MAX_PACKET_BYTES - HEADER_BYTES;
/// The flush packet, which ends a message.
pub const FLUSH: &[u8] = b"0000";

const HEADER_BYTES: usize = 4;

/// What a packet is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// `0000`: ends a message.
    Flush,
    /// `0001`: separates sections, protocol version 2 alone.
    Delimiter,
    /// `0002`: ends a response of a stateless connection.
    ResponseEnd,
    /// Any other: carries a payload.
    Data,
}

/// One packet, as it was read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet<'a> {
    /// What it is.
    pub kind: Kind,
    /// Its bytes, header included.
    pub raw: &'a [u8],
}

impl<'a> Packet<'a> {
    /// Returns what the packet carries; nothing where it is not [`Kind::Data`].
    pub fn payload(&self) -> &'a [u8] {
        &self.raw[HEADER_BYTES..]
    }

    /// Returns what the packet carries without the line feed that may end it.
    pub fn line(&self) -> &'a [u8] {
        let payload = self.payload();
        payload.strip_suffix(b"\n").unwrap_or(payload)
    }
}

/// Says why bytes are no packets.
#[derive(Debug, thiserror::Error)]
pub enum PktLineError {
    /// The four bytes of a length are no length.
    #[error("`{0}` is not the length of a pkt-line")]
    Length(String),
    /// The stream ended within a packet.
    #[error("the connection ended in the middle of a pkt-line")]
    Truncated,
    /// The stream broke.
    #[error("the connection broke")]
    Io(#[source] io::Error),
}

/// Reads packets from a stream, one at a time into one buffer.
pub struct PacketReader<R> {
    stream: R,
    kind: Kind,
    length: usize,
    /// Only grows, so that it is not cleared for every packet.
    buffer: Vec<u8>,
}

impl<R: Read> PacketReader<R> {
    /// Reads from `stream`, which should be buffered.
    pub fn new(stream: R) -> Self {
        PacketReader {
            stream,
            kind: Kind::Flush,
            length: FLUSH.len(),
            buffer: FLUSH.to_vec(),
        }
    }

    /// Returns the next packet, or `None` where the stream ends before one.
    ///
    /// # Errors
    ///
    /// Where the bytes are no packet, or the stream breaks.
    pub fn read(&mut self) -> Result<Option<Packet<'_>>, PktLineError> {
        if !self.fill(0, HEADER_BYTES)? {
            return Ok(None);
        }
        let (kind, length) = header(&self.buffer[..HEADER_BYTES])?;
        if self.buffer.len() < length {
            self.buffer.resize(length, 0);
        }
        if length > HEADER_BYTES && !self.fill(HEADER_BYTES, length)? {
            return Err(PktLineError::Truncated);
        }
        (self.kind, self.length) = (kind, length);
        Ok(Some(self.last()))
    }

    /// Returns the packet read last once more.
    pub fn last(&self) -> Packet<'_> {
        Packet {
            kind: self.kind,
            raw: &self.buffer[..self.length],
        }
    }

    /// Returns the stream, at the end of the packet read last.
    pub fn into_inner(self) -> R {
        self.stream
    }

    /// Fills a part of the buffer; `false` where the stream ends before the first byte.
    fn fill(&mut self, start: usize, end: usize) -> Result<bool, PktLineError> {
        let mut at = start;
        while at < end {
            match self.stream.read(&mut self.buffer[at..end]) {
                Ok(0) if at == start => return Ok(false),
                Ok(0) => return Err(PktLineError::Truncated),
                Ok(read) => at += read,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(PktLineError::Io(error)),
            }
        }
        Ok(true)
    }
}

/// Takes the kind and the whole length of a packet from its first four bytes.
fn header(bytes: &[u8]) -> Result<(Kind, usize), PktLineError> {
    let broken = || PktLineError::Length(bytes.escape_ascii().to_string());
    // `from_str_radix` alone would take a sign.
    if !bytes.iter().all(u8::is_ascii_hexdigit) {
        return Err(broken());
    }
    let text = std::str::from_utf8(bytes).map_err(|_| broken())?;
    match usize::from_str_radix(text, 16) {
        Ok(0) => Ok((Kind::Flush, HEADER_BYTES)),
        Ok(1) => Ok((Kind::Delimiter, HEADER_BYTES)),
        Ok(2) => Ok((Kind::ResponseEnd, HEADER_BYTES)),
        Ok(length @ HEADER_BYTES..=MAX_PACKET_BYTES) => Ok((Kind::Data, length)),
        _ => Err(broken()),
    }
}

/// Writes a packet that carries `payload`, cut where it does not fit into one.
///
/// # Errors
///
/// Where the stream breaks.
pub fn write_packet(stream: &mut impl Write, payload: &[u8]) -> io::Result<()> {
    let payload = &payload[..payload.len().min(MAX_PAYLOAD_BYTES)];
    write!(stream, "{:04x}", payload.len() + HEADER_BYTES)?;
    stream.write_all(payload)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read_all(bytes: &[u8]) -> Result<Vec<(Kind, Vec<u8>)>, PktLineError> {
        let mut reader = PacketReader::new(bytes);
        let mut packets = Vec::new();
        while let Some(packet) = reader.read()? {
            packets.push((packet.kind, packet.payload().to_vec()));
        }
        Ok(packets)
    }

    #[test]
    fn special_packets_are_told_apart() {
        let packets = read_all(b"0000000100020004").unwrap();
        let kinds: Vec<Kind> = packets.iter().map(|packet| packet.0).collect();
        assert_eq!(
            kinds,
            [Kind::Flush, Kind::Delimiter, Kind::ResponseEnd, Kind::Data]
        );
    }

    #[test]
    fn lengths_that_no_packet_has_are_refused() {
        for bytes in [
            b"0003".as_slice(),
            b"fff1",
            b"ffff",
            b"+00a",
            b" 00a",
            b"00\n5",
            b"\xff\xff\xff\xff",
        ] {
            let error = read_all(bytes).unwrap_err();
            assert!(matches!(error, PktLineError::Length(_)), "{error}");
        }
    }

    #[test]
    fn a_stream_that_ends_within_a_packet_is_an_error() {
        for bytes in [b"0".as_slice(), b"000", b"0005", b"0006a"] {
            let error = read_all(bytes).unwrap_err();
            assert!(matches!(error, PktLineError::Truncated), "{error}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(
            payloads in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..8)
        ) {
            let mut bytes = Vec::new();
            for payload in &payloads {
                write_packet(&mut bytes, payload).unwrap();
            }
            let read = read_all(&bytes).unwrap();
            prop_assert!(read.iter().all(|packet| packet.0 == Kind::Data));
            let read: Vec<Vec<u8>> = read.into_iter().map(|packet| packet.1).collect();
            prop_assert_eq!(read, payloads);
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let _ = read_all(&bytes);
        }
    }
}
