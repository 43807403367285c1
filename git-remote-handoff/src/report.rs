//! The report of a push: `report-status` in `gitprotocol-pack(5)`, written for pushes that are refused here, and
//! rewritten where a server says less than it knows.

use std::io::{self, Read, Write};

use gix::bstr::{BString, ByteSlice};

use crate::{
    command_list::CommandList,
    pkt_line::{self, FLUSH, Kind, PacketReader, PktLineError, write_packet},
    relay::BUFFER_BYTES,
    remarks::Remarks,
};

/// Longest report that is rewritten, in bytes; a longer one is passed on as it is.
const MAX_REPORT_BYTES: usize = 16 * 1024 * 1024;
/// Band of a report, and of a pack, in a multiplexed stream.
const DATA: u8 = 1;
/// Band of what is printed for the user.
const PROGRESS: u8 = 2;

/// How a client wants its report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ReportFormat {
    /// There is to be one at all.
    is_wanted: bool,
    /// It comes in bands, with what is printed beside it.
    in_bands: bool,
}

/// Says why an answer could not be passed on.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    /// The server's side broke.
    #[error("the answer of the server broke off")]
    Server(#[source] PktLineError),
    /// Git's side broke.
    #[error("git went away")]
    Client(#[source] io::Error),
}

impl ReportFormat {
    /// Takes the format from what the client asked for.
    pub(crate) fn of(list: &CommandList) -> Self {
        ReportFormat {
            is_wanted: list.has("report-status") || list.has("report-status-v2"),
            in_bands: list.has("side-band-64k"),
        }
    }

    /// Tells whether anything can be reported.
    pub(crate) fn is_wanted(self) -> bool {
        self.is_wanted
    }

    /// Writes the report of a push of which nothing was sent: a reason for each ref.
    pub(crate) fn write_refusal(
        self,
        output: &mut impl Write,
        unpack: &str,
        reasons: &[(BString, String)],
    ) -> io::Result<()> {
        let mut report = Vec::new();
        write_packet(&mut report, format!("unpack {unpack}\n").as_bytes())?;
        for (name, reason) in reasons {
            write_packet(&mut report, &refused_line(name, reason))?;
        }
        report.extend_from_slice(FLUSH);
        self.write(output, &report)?;
        if self.in_bands {
            output.write_all(FLUSH)?;
        }
        output.flush()
    }

    /// Passes on the answer of a server to its end, with better reasons where it gave any.
    pub(crate) fn relay(
        self,
        mut answers: PacketReader<impl Read>,
        output: &mut impl Write,
        remarks: &mut Remarks,
    ) -> Result<(), AnswerError> {
        let mut report = Vec::new();
        let mut is_open = self.is_wanted;
        while is_open {
            let Some(packet) = answers.read().map_err(AnswerError::Server)? else {
                break;
            };
            let data = match (self.in_bands, packet.payload()) {
                (true, [DATA, data @ ..]) => data,
                (true, text) => {
                    if let [PROGRESS, text @ ..] = text {
                        remarks.feed(text);
                    }
                    output
                        .write_all(packet.raw)
                        .and_then(|()| output.flush())
                        .map_err(AnswerError::Client)?;
                    is_open = packet.kind != Kind::Flush;
                    continue;
                }
                (false, _) => packet.raw,
            };
            report.extend_from_slice(data);
            if is_complete(&report) || report.len() > MAX_REPORT_BYTES {
                is_open = false;
                self.write(output, &rewritten(&report, remarks))
                    .map_err(AnswerError::Client)?;
                report.clear();
            }
        }
        self.write(output, &report).map_err(AnswerError::Client)?;
        copy(&mut answers.into_inner(), output)
    }

    /// Writes bytes of a report in the form that the client wants.
    fn write(self, output: &mut impl Write, report: &[u8]) -> io::Result<()> {
        if !self.in_bands {
            return output.write_all(report);
        }
        for chunk in report.chunks(pkt_line::MAX_PAYLOAD_BYTES - 1) {
            write_packet(output, &[&[DATA], chunk].concat())?;
        }
        Ok(())
    }
}

/// Copies a server's answer to its end.
pub(crate) fn copy(answers: &mut impl Read, output: &mut impl Write) -> Result<(), AnswerError> {
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        match answers.read(&mut buffer) {
            Ok(0) => return output.flush().map_err(AnswerError::Client),
            Ok(read) => output
                .write_all(&buffer[..read])
                .and_then(|()| output.flush())
                .map_err(AnswerError::Client)?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(AnswerError::Server(PktLineError::Io(error))),
        }
    }
}

/// Tells whether bytes end with the flush of a report.
fn is_complete(report: &[u8]) -> bool {
    if !report.ends_with(FLUSH) {
        return false;
    }
    let mut packets = PacketReader::new(report);
    loop {
        match packets.read() {
            Ok(Some(packet)) if packet.kind == Kind::Flush => return true,
            Ok(Some(_)) => {}
            Ok(None) | Err(_) => return false,
        }
    }
}

/// Gives each refused ref of a report the reason that the server's remarks tell; what is no report stays.
fn rewritten(report: &[u8], remarks: &mut Remarks) -> Vec<u8> {
    let mut packets = PacketReader::new(report);
    let mut output = Vec::with_capacity(report.len());
    loop {
        let packet = match packets.read() {
            Ok(Some(packet)) => packet,
            Ok(None) => return output,
            Err(_) => return report.to_vec(),
        };
        let refused = packet.line().strip_prefix(b"ng ");
        match refused.and_then(|rest| rest.split_once_str(" ")) {
            Some((name, reason)) if packet.kind == Kind::Data => {
                let reason = remarks.reason(name.into(), &reason.to_str_lossy());
                // Writing to memory does not fail.
                let _ = write_packet(&mut output, &refused_line(name, &reason));
            }
            _ => output.extend_from_slice(packet.raw),
        }
    }
}

fn refused_line(name: &[u8], reason: &str) -> Vec<u8> {
    [b"ng ", name, b" ", reason.as_bytes(), b"\n"].concat()
}
