//! The log of judgements, `<git-dir>/handoff/audit.jsonl`: one JSON document a line.
//!
//! No line holds anything of what was pushed besides ref names and object ids. Once the log is full it becomes
//! `audit.jsonl.1`, what was that becomes `audit.jsonl.2`, and so on; the oldest is dropped.

mod report;

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom, Write},
    path::PathBuf,
    time::Duration,
};

use gix::{ObjectId, bstr::BStr};
use rustix::fs::FlockOperation;
use serde::Serialize;
use store::{error_code::ErrorCode, timestamp::Timestamp};

pub use report::{ByCode, ByScope, Counts, Latency, Report};

use crate::{
    mode::Mode,
    secret_scan::{Allowed, SecretNotes},
    server_dir::ServerDir,
};

/// Name of the log below the hook's directory.
pub const FILE_NAME: &str = "audit.jsonl";
/// Bytes from which on a log is full, where `handoff.auditBytes` does not say.
pub const DEFAULT_BYTES: u64 = 16 << 20;
/// How many full logs are kept.
const KEPT: usize = 8;
/// What is locked by whoever turns the logs, or wants them to stay.
const LOCK: &str = "audit.lock";

/// One line of the log: what was said of one ref, or done with it.
#[derive(Clone, Debug)]
pub struct Entry<'a> {
    /// When.
    pub time: Timestamp,
    /// The ref.
    pub name: &'a BStr,
    /// What the ref was taken to be; the null id for nothing.
    pub old: ObjectId,
    /// What the ref was to become; the null id for nothing.
    pub new: ObjectId,
    /// The authenticated user, where `handoff.identityEnv` names a variable.
    pub identity: Option<&'a str>,
    /// Whether somebody else's records were pushed, by one who may.
    pub relayed: bool,
    /// What the scan for secrets has let through or not looked at, where one was made.
    pub secrets: Option<&'a SecretNotes>,
    /// How strictly it was judged.
    pub mode: Mode,
    /// What came of it.
    pub outcome: Outcome<'a>,
    /// How long the judgement took.
    pub duration: Option<Duration>,
}

/// What came of a judgement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome<'a> {
    /// Every rule was kept, in every ref of the push.
    Good,
    /// Every rule was kept, but another ref of the push was refused.
    Held,
    /// A rule was broken that is in shadow.
    WouldRefuse(ErrorCode),
    /// A rule was broken.
    Refused(ErrorCode),
    /// The ref has moved.
    Taken,
    /// The operator has moved or deleted the ref, for this reason.
    Purged(&'a str),
    /// The operator could not move or delete the ref after all.
    NotPurged,
}

/// The document of an entry, in the order in which its fields are written.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    time: Timestamp,
    #[serde(rename = "ref")]
    name: String,
    old: String,
    new: String,
    identity: Option<&'a str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    relayed: bool,
    mode: &'static str,
    outcome: &'static str,
    code: Option<ErrorCode>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    /// Entries that have let a finding through.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    allowed: &'a BTreeSet<Allowed>,
    #[serde(skip_serializing_if = "is_zero")]
    unscanned_history: usize,
    duration_ms: Option<f64>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

static NONE_ALLOWED: BTreeSet<Allowed> = BTreeSet::new();

impl Entry<'_> {
    fn line(&self) -> Line<'_> {
        let (outcome, code) = match self.outcome {
            Outcome::Good => ("good", None),
            Outcome::Held => ("held", Some(ErrorCode::Held)),
            Outcome::WouldRefuse(code) => ("would-refuse", Some(code)),
            Outcome::Refused(code) => ("refused", Some(code)),
            Outcome::Taken => ("taken", None),
            Outcome::Purged(_) => ("purged", None),
            Outcome::NotPurged => ("not-purged", None),
        };
        let reason = match self.outcome {
            Outcome::Purged(reason) => Some(reason),
            _ => None,
        };
        let milliseconds = |duration: Duration| (duration.as_secs_f64() * 1e5).round() / 100.0;
        Line {
            time: self.time,
            name: self.name.to_string(),
            old: self.old.to_string(),
            new: self.new.to_string(),
            identity: self.identity,
            relayed: self.relayed,
            mode: self.mode.as_str(),
            outcome,
            code,
            reason,
            allowed: self
                .secrets
                .map_or(&NONE_ALLOWED, |secrets| &secrets.allowed),
            unscanned_history: self.secrets.map_or(0, |secrets| secrets.unscanned_history),
            duration_ms: self.duration.map(milliseconds),
        }
    }
}

/// The log of one repository.
#[derive(Clone, Copy, Debug)]
pub struct Log<'d> {
    server_dir: &'d ServerDir,
    full_bytes: u64,
}

impl<'d> Log<'d> {
    /// Names the log, which is full at `full_bytes`; nothing is opened yet.
    pub fn of(server_dir: &'d ServerDir, full_bytes: u64) -> Self {
        Log {
            server_dir,
            full_bytes,
        }
    }

    /// Appends the entries of one push in one write, so that pushes at the same time do not mix.
    ///
    /// # Errors
    ///
    /// Where the log cannot be written.
    pub fn append(&self, entries: &[Entry<'_>]) -> io::Result<()> {
        let mut file = self.server_dir.append(FILE_NAME)?;
        let mut lines = Vec::new();
        // Another push may be writing just now; an empty line at worst.
        if is_torn(&mut file)? {
            lines.push(b'\n');
        }
        for entry in entries {
            serde_json::to_writer(&mut lines, &entry.line())?;
            lines.push(b'\n');
        }
        file.write_all(&lines)?;
        if file.metadata()?.len() >= self.full_bytes {
            // What is written is written; a log that cannot be turned only grows.
            let _ = self.turn();
        }
        Ok(())
    }

    /// Makes room for a new log. Who has the old one open still writes to it, and loses nothing.
    fn turn(&self) -> io::Result<()> {
        let lock = self.server_dir.append(LOCK)?;
        if rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Ok(());
        }
        // Another push may have turned it meanwhile.
        if fs::metadata(self.path(0))?.len() < self.full_bytes {
            return Ok(());
        }
        for age in (0..KEPT).rev() {
            match fs::rename(self.path(age), self.path(age + 1)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    fn path(&self, age: usize) -> PathBuf {
        let name = match age {
            0 => FILE_NAME.to_owned(),
            age => format!("{FILE_NAME}.{age}"),
        };
        self.server_dir.path().join(name)
    }

    /// Opens all logs that there are, the oldest first; none is turned meanwhile.
    fn open(&self) -> io::Result<Vec<File>> {
        if !self.server_dir.path().exists() {
            return Ok(Vec::new());
        }
        let lock = self.server_dir.append(LOCK)?;
        rustix::fs::flock(&lock, FlockOperation::LockShared)?;
        let mut files = Vec::new();
        for age in (0..=KEPT).rev() {
            match File::open(self.path(age)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                file => files.push(file?),
            }
        }
        Ok(files)
    }
}

/// Tells whether the last line has no end: a disk was full when it was written.
fn is_torn(file: &mut File) -> io::Result<bool> {
    if file.seek(SeekFrom::End(0))? == 0 {
        return Ok(false);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str) -> Entry<'_> {
        Entry {
            time: Timestamp::from_unix_seconds(1_800_000_000).unwrap(),
            name: name.into(),
            old: ObjectId::null(gix::hash::Kind::Sha1),
            new: ObjectId::null(gix::hash::Kind::Sha1),
            identity: None,
            relayed: false,
            secrets: None,
            mode: Mode::Enforce,
            outcome: Outcome::Good,
            duration: Some(Duration::from_micros(1_234)),
        }
    }

    fn lines(server_dir: &ServerDir) -> Vec<String> {
        let mut text = String::new();
        for mut file in Log::of(server_dir, 0).open().unwrap() {
            file.read_to_string(&mut text).unwrap();
        }
        let lines = text.lines().filter(|line| !line.is_empty());
        lines.map(String::from).collect()
    }

    #[test]
    fn many_writers_at_once_lose_and_mix_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let server_dir = ServerDir::of(dir.path());
        let names: Vec<String> = (0..400).map(|n| format!("refs/handoff/s{n:03}")).collect();
        // 800 lines of some 240 bytes: the log is turned a few times, and none is dropped.
        let log = Log::of(&server_dir, 40_000);
        std::thread::scope(|scope| {
            for part in names.chunks(50) {
                scope.spawn(move || {
                    for name in part {
                        log.append(&[entry(name), entry(name)]).unwrap();
                    }
                });
            }
        });
        let mut found: Vec<String> = lines(&server_dir)
            .iter()
            .map(|line| {
                let line: serde_json::Value = serde_json::from_str(line).unwrap();
                line["ref"].as_str().unwrap().to_owned()
            })
            .collect();
        found.sort();
        let expected: Vec<String> = names
            .iter()
            .flat_map(|name| [name.clone(), name.clone()])
            .collect();
        let counts = (found.len(), expected.len());
        assert!(found == expected, "{counts:?}");
        assert!(server_dir.path().join("audit.jsonl.1").exists());
    }

    #[test]
    fn the_oldest_log_is_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let server_dir = ServerDir::of(dir.path());
        for n in 0..20 {
            Log::of(&server_dir, 1)
                .append(&[entry(&format!("r{n}"))])
                .unwrap();
        }
        let left = lines(&server_dir);
        assert_eq!(left.len(), KEPT);
        assert!(
            left[0].contains("\"r12\"") && left[7].contains("\"r19\""),
            "{left:?}"
        );
    }

    #[test]
    fn a_line_that_was_cut_does_not_spoil_the_next() {
        let dir = tempfile::tempdir().unwrap();
        let server_dir = ServerDir::of(dir.path());
        let log = Log::of(&server_dir, DEFAULT_BYTES);
        log.append(&[entry("a")]).unwrap();
        server_dir
            .append(FILE_NAME)
            .unwrap()
            .write_all(b"{\"time\":\"20")
            .unwrap();
        log.append(&[entry("b")]).unwrap();
        let lines = lines(&server_dir);
        assert_eq!(lines.len(), 3);
        assert!(lines[2].contains("\"ref\":\"b\""), "{lines:?}");
    }
}
