//! Looks through one object: its name, its text, and what is wrapped in it.

use std::{io::Read, ops::Range, sync::Arc};

use gix::bstr::{BStr, BString};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::{
    allowlist::Source,
    finding::{Finding, Fingerprint, Place, Secret, Severity},
    layers::{
        self,
        archive::{self, Allowance, Refusal},
        base, escape, joined, utf16,
    },
    rule_set::RuleSet,
    text::{self, Ask},
    value,
};
use crate::scope::ScopeName;

/// How many layers are undone, one in the other.
const MAX_DEPTH: usize = 4;
/// Bytes that are unpacked and decoded of one object.
const MAX_UNPACKED: usize = 64 << 20;
/// Members of packed files that are looked at in one object.
const MAX_MEMBERS: usize = 1_000;
/// Bytes of a window of a larger file, and of what two windows share.
const WINDOW: usize = 8 << 20;
const OVERLAP: usize = 64 << 10;
/// Bytes of a file beyond which the rest is not looked at.
const MAX_SCANNED: u64 = 256 << 20;
/// Findings of one object after which no more are told.
const MAX_FINDINGS: usize = 1_000;
/// The rule that stands for what could not be looked at.
const UNSCANNED: &str = "unscanned";
/// What is shown for a name that holds a secret.
const WITHHELD: &str = "(a name that holds a secret)";
/// Says on a line that what lies there is none.
const MARK: &[u8] = b"gitleaks:allow";

/// Whether `gitleaks:allow` on a line lets its findings through.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Marks {
    /// It does: whoever scans has written the lines, or may read them.
    Honoured,
    /// It does not: the lines were pushed.
    Ignored,
}

/// What is looked through.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// Path of a file, or what stands for one; rules that are bound to paths read it.
    pub path: &'a BStr,
    /// Commit that brings it, in hexadecimal, for allowlists that name commits.
    pub commit: Option<&'a str>,
}

impl<'a> Subject<'a> {
    /// Returns what stands at a path.
    pub fn at(path: &'a BStr) -> Self {
        Subject { path, commit: None }
    }
}

/// Looks for secrets by a set of rules.
pub struct Scanner<'r> {
    rules: &'r RuleSet,
    marks: Marks,
    scope: Option<&'r ScopeName>,
}

impl<'r> Scanner<'r> {
    /// Returns a scanner; with a scope, its findings have fingerprints that allow entries of that scope name.
    pub fn new(rules: &'r RuleSet, marks: Marks, scope: Option<&'r ScopeName>) -> Self {
        Scanner {
            rules,
            marks,
            scope,
        }
    }

    /// Looks through the bytes of an object.
    pub fn scan(&self, subject: Subject<'_>, bytes: &[u8]) -> Vec<Finding> {
        let mut scan = self.begin(subject);
        scan.by_name(bytes);
        scan.whole(bytes, &mut Lines::counted(1));
        scan.findings
    }

    /// Returns what may be shown of a path.
    pub fn place(&self, path: &BStr) -> Place {
        self.begin(Subject::at(path)).place
    }

    /// Looks through a name: of a file, a ref, a person.
    pub fn scan_name(&self, name: &BStr) -> Vec<Finding> {
        let mut scan = self.begin(Subject::at(name));
        scan.name_findings(name)
    }

    /// Looks through a stream; beyond a limit in windows that overlap.
    ///
    /// # Errors
    ///
    /// Where the stream cannot be read.
    pub fn scan_stream(
        &self,
        subject: Subject<'_>,
        reader: &mut dyn Read,
    ) -> std::io::Result<Vec<Finding>> {
        let mut scan = self.begin(subject);
        let mut buffer = Vec::new();
        reader.take(WINDOW as u64 * 2).read_to_end(&mut buffer)?;
        scan.by_name(&buffer);
        let mut lines = Lines::counted(1);
        let mut read = buffer.len() as u64;
        while buffer.len() >= WINDOW * 2 {
            if read >= MAX_SCANNED {
                scan.unscanned(Severity::Block, (0, 0));
                return Ok(scan.findings);
            }
            scan.text(&buffer[..WINDOW], &mut lines, Ask::All, 0);
            let dropped = WINDOW - OVERLAP;
            lines.pass(&buffer[..dropped]);
            buffer.drain(..dropped);
            let before = buffer.len();
            reader.take(dropped as u64).read_to_end(&mut buffer)?;
            read += (buffer.len() - before) as u64;
        }
        scan.whole(&buffer, &mut lines);
        scan.findings.sort_by_key(|finding| finding.line);
        scan.findings.dedup();
        Ok(scan.findings)
    }

    fn begin<'s>(&'s self, subject: Subject<'s>) -> Scan<'s> {
        let mut scan = Scan {
            scanner: self,
            source: Source {
                path: subject.path,
                commit: subject.commit,
            },
            place: Place::clean(WITHHELD),
            allowance: Allowance {
                bytes: MAX_UNPACKED,
                members: MAX_MEMBERS,
            },
            findings: Vec::new(),
        };
        if scan.name_findings(subject.path).is_empty() {
            scan.place = Place::clean(subject.path);
        }
        scan
    }

    fn fingerprint(&self, secret: &Secret, severity: Severity) -> Option<Fingerprint> {
        let scope = self.scope?;
        // A short or simple value could be found again by trying.
        let bytes = secret.bytes();
        if severity != Severity::Block || bytes.len() < 16 || value::entropy(bytes) < 3.0 {
            return None;
        }
        let mut mac = Hmac::<Sha256>::new_from_slice(scope.as_str().as_bytes()).ok()?;
        mac.update(bytes);
        Some(Fingerprint::of_digest(&mac.finalize().into_bytes()))
    }
}

/// One object that is being looked through.
struct Scan<'s> {
    scanner: &'s Scanner<'s>,
    source: Source<'s>,
    place: Place,
    allowance: Allowance,
    findings: Vec<Finding>,
}

impl Scan<'_> {
    /// Rules that judge a file by its name alone.
    fn by_name(&mut self, bytes: &[u8]) {
        let rules = self.scanner.rules;
        if bytes.is_empty() {
            return;
        }
        for at in &rules.by_name {
            let rule = rules.rule(*at);
            if self.source.is_in(rule) {
                let rule = (rule.id.clone(), rule.severity);
                self.push(rule, None, (0, 0));
            }
        }
    }

    /// Findings in a name; none of them shows it.
    fn name_findings(&mut self, name: &BStr) -> Vec<Finding> {
        let place = std::mem::replace(&mut self.place, Place::clean(WITHHELD));
        let before = self.findings.len();
        self.text(name, &mut Lines::Fixed(0, 0), Ask::Tokens, 1);
        self.place = place;
        self.findings.split_off(before)
    }

    fn whole(&mut self, bytes: &[u8], lines: &mut Lines) {
        self.bytes(bytes, lines, Ask::All, 0);
    }

    fn bytes(&mut self, bytes: &[u8], lines: &mut Lines, ask: Ask, depth: usize) {
        if let Some(kind) = archive::kind(bytes) {
            let (first, last) = lines.around(bytes, 0..bytes.len());
            let inner = if depth == 0 { (0, 0) } else { (first, last) };
            if depth >= MAX_DEPTH {
                self.unscanned(Severity::Block, inner);
                return;
            }
            match self.unpack(bytes, kind, inner, depth) {
                Ok(()) => return,
                Err(Refusal::TooMuch) => self.unscanned(Severity::Block, inner),
                Err(Refusal::Unknown) => self.unscanned(Severity::Warn, inner),
                Err(Refusal::Broken) => {}
            }
        }
        match utf16::order(bytes) {
            Some(order) => {
                let decoded = utf16::decode(bytes, order);
                if self.take(decoded.len(), (0, 0)) {
                    self.text(&decoded, lines, ask, depth);
                }
            }
            None => self.text(bytes, lines, ask, depth),
        }
    }

    fn unpack(
        &mut self,
        bytes: &[u8],
        kind: archive::Kind,
        place: (u64, u64),
        depth: usize,
    ) -> Result<(), Refusal> {
        let none = Allowance {
            bytes: 0,
            members: 0,
        };
        let mut allowance = std::mem::replace(&mut self.allowance, none);
        let result = archive::unpack(bytes, kind, &mut allowance, &mut |member, left| {
            std::mem::swap(&mut self.allowance, left);
            self.member(&member.name, &member.bytes, place, depth);
            std::mem::swap(&mut self.allowance, left);
        });
        self.allowance = allowance;
        result
    }

    /// A file in a packed file. Its own name decides which rules read it, and is not shown.
    fn member(&mut self, name: &BString, bytes: &[u8], place: (u64, u64), depth: usize) {
        let mut lines = Lines::Fixed(place.0, place.1);
        if name.is_empty() {
            self.bytes(bytes, &mut lines, Ask::All, depth + 1);
            return;
        }
        self.text(name, &mut lines, Ask::Tokens, depth + 1);
        let mut inner = Scan {
            scanner: self.scanner,
            source: Source {
                path: name.as_ref(),
                commit: self.source.commit,
            },
            place: self.place.clone(),
            allowance: std::mem::replace(
                &mut self.allowance,
                Allowance {
                    bytes: 0,
                    members: 0,
                },
            ),
            findings: std::mem::take(&mut self.findings),
        };
        inner.bytes(bytes, &mut lines, Ask::All, depth + 1);
        self.allowance = inner.allowance;
        self.findings = inner.findings;
    }

    fn text(&mut self, text: &[u8], lines: &mut Lines, ask: Ask, depth: usize) {
        let rules = self.scanner.rules;
        let found = text::hits(rules, text, &self.source, ask);
        if found.gave_up {
            self.unscanned(Severity::Block, (0, 0));
        }
        for hit in found.hits {
            let rule = rules.rule(hit.rule);
            let span = if rule.form.is_own() {
                &hit.secret
            } else {
                &hit.whole
            };
            if self.scanner.marks == Marks::Honoured && has_mark(text, span) {
                continue;
            }
            let place = lines.around(text, span.clone());
            let secret = Secret::new(&text[hit.secret.clone()]);
            self.push((rule.id.clone(), hit.severity), Some(&secret), place);
        }
        if depth < MAX_DEPTH {
            self.layers(text, lines, ask, depth);
        }
    }

    fn layers(&mut self, text: &[u8], lines: &mut Lines, ask: Ask, depth: usize) {
        base::decoded(text, |range, bytes| {
            if layers::is_worth_a_look(&bytes) {
                let (first, last) = lines.around(text, range);
                if self.take(bytes.len(), (first, last)) {
                    self.bytes(&bytes, &mut Lines::Fixed(first, last), ask, depth + 1);
                }
            }
        });
        for range in escape::stretches(text) {
            let decoded = escape::decode(&text[range.clone()]);
            let (first, last) = lines.around(text, range.clone());
            if self.take(decoded.len(), (first, last)) {
                let mut inner = match lines {
                    Lines::Fixed(..) => Lines::Fixed(first, last),
                    _ => Lines::counted(first),
                };
                self.text(&decoded, &mut inner, ask, depth + 1);
            }
        }
        joined::joined(text, |joined| {
            let first = joined.parts.first().map_or(0, |part| part.1);
            let (line, _) = lines.around(text, first..first + 1);
            if self.take(joined.text.len(), (line, line)) {
                let parts = joined.parts.iter().map(|(at, from)| {
                    let (line, _) = lines.around(text, *from..*from + 1);
                    (*at, line)
                });
                let mut inner = Lines::Parts(parts.collect());
                self.text(&joined.text, &mut inner, ask, MAX_DEPTH.max(depth + 1));
            }
        });
    }

    /// Takes bytes from the allowance; once it is used up, says so and takes no more.
    fn take(&mut self, bytes: usize, place: (u64, u64)) -> bool {
        match self.allowance.bytes.checked_sub(bytes) {
            Some(left) => {
                self.allowance.bytes = left;
                true
            }
            None => {
                if self.allowance.bytes > 0 {
                    self.unscanned(Severity::Block, place);
                }
                self.allowance.bytes = 0;
                false
            }
        }
    }

    fn unscanned(&mut self, severity: Severity, place: (u64, u64)) {
        self.push((UNSCANNED.into(), severity), None, place);
    }

    fn push(
        &mut self,
        (rule, severity): (Arc<str>, Severity),
        secret: Option<&Secret>,
        (line, end_line): (u64, u64),
    ) {
        if self.findings.len() >= MAX_FINDINGS {
            return;
        }
        let finding = Finding {
            fingerprint: secret.and_then(|secret| self.scanner.fingerprint(secret, severity)),
            rule,
            severity,
            path: self.place.clone(),
            line,
            end_line,
        };
        let known = self.findings.iter().any(|other| {
            other.line == finding.line
                && other.rule == finding.rule
                && other.fingerprint == finding.fingerprint
        });
        if !known {
            self.findings.push(finding);
        }
    }
}

/// Tells whether the mark stands on a line of a finding.
fn has_mark(text: &[u8], span: &Range<usize>) -> bool {
    let near = span.start.saturating_sub(OVERLAP)..(span.end + OVERLAP).min(text.len());
    let start = memchr::memrchr(b'\n', &text[near.start..span.start]);
    let end = memchr::memchr(b'\n', &text[span.end..near.end]);
    let line = start.map_or(near.start, |at| near.start + at + 1)
        ..end.map_or(near.end, |at| span.end + at);
    memchr::memmem::find(&text[line], MARK).is_some()
}

/// On which lines of the object the bytes of a text lie.
enum Lines {
    /// The text is the object's, or a piece of it that begins on a line.
    Counted { first: u64, at: usize, line: u64 },
    /// All of it lies on these.
    Fixed(u64, u64),
    /// It was put together of parts.
    Parts(Vec<(usize, u64)>),
}

impl Lines {
    fn counted(first: u64) -> Self {
        Lines::Counted {
            first,
            at: 0,
            line: first,
        }
    }

    /// Goes on behind a piece of the text.
    fn pass(&mut self, piece: &[u8]) {
        if let Lines::Counted { first, .. } = self {
            *self = Lines::counted(*first + count(piece));
        }
    }

    /// Returns first and last line of a range.
    fn around(&mut self, text: &[u8], range: Range<usize>) -> (u64, u64) {
        match self {
            Lines::Fixed(first, last) => (*first, *last),
            Lines::Parts(parts) => {
                let line = |at: usize| {
                    let part = parts.partition_point(|part| part.0 <= at);
                    parts.get(part.saturating_sub(1)).map_or(0, |part| part.1)
                };
                (
                    line(range.start),
                    line(range.end.saturating_sub(1).max(range.start)),
                )
            }
            Lines::Counted { first, at, line } => {
                if range.start < *at {
                    (*at, *line) = (0, *first);
                }
                *line += count(&text[*at..range.start]);
                *at = range.start;
                let end = range.end.min(text.len()).saturating_sub(1).max(range.start);
                (*line, *line + count(&text[range.start..end]))
            }
        }
    }
}

fn count(text: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', text).count() as u64
}
