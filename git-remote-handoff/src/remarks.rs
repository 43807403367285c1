//! What a server says about a push beside its report: why its hook refused a ref, and which ref was lost to a race.
//!
//! A hook can only write free text; the lines of ours in it have a fixed form (`handoff: <CODE> <ref>: <text>`).

use std::collections::BTreeMap;

use gix::bstr::{BStr, BString, ByteSlice};
use store::{error_code::ErrorCode, scope::RECORDS};

use crate::judge::{held, one_line};

/// Longest line that is looked at, in bytes.
const MAX_LINE_BYTES: usize = 16 * 1024;
/// Most refs that are remembered.
const MAX_REFS: usize = 100_000;
/// What servers report of refs that they take from nobody: Git of hidden ones, Gerrit, servers of branches and tags.
const CLOSED: [&str; 4] = [
    "deny updating a hidden ref",
    "funny refname",
    "prohibited by Gerrit",
    "not valid ref",
];
/// What to do where a server takes no scopes.
const KEEP_ELSEWHERE: &str = "keep the scopes in a repository that takes them: `git handoff init <url>`; or have refs/handoff/ opened there (`receive.hideRefs`, `transfer.hideRefs` in git-config(1))";
/// What to do where a server refused a scope without a word of ours.
const OWN_RULES: &str = "a rule of the server's own refused it; where it takes branches and tags alone, keep the scopes elsewhere: `git handoff init <url>`";

/// Collects the remarks of a server from what it prints.
#[derive(Default)]
pub struct Remarks {
    line: Vec<u8>,
    rejections: BTreeMap<BString, String>,
    lock_errors: BTreeMap<BString, String>,
    /// The first line that says which refs the server takes.
    said_of_names: Option<String>,
    advice: Option<&'static str>,
}

impl Remarks {
    /// Takes the next bytes that the server printed, cut anywhere.
    pub fn feed(&mut self, bytes: &[u8]) {
        for byte in bytes {
            match byte {
                b'\n' | b'\r' => self.end_line(),
                _ if self.line.len() < MAX_LINE_BYTES => self.line.push(*byte),
                _ => {}
            }
        }
    }

    /// Returns the reason to show for a ref that the server refused with `reason`.
    pub fn reason(&mut self, name: &BStr, reason: &str) -> String {
        self.end_line();
        if reason.contains("hook declined") {
            let other = self.rejections.keys().next();
            return match (self.rejections.get(name), other) {
                (Some(rejection), _) => rejection.clone(),
                // A pre-receive hook refuses a push as a whole.
                (None, Some(other)) if reason.contains("pre-receive") => held(other.as_bstr()),
                (None, Some(_)) => reason.into(),
                (None, None) => self.foreign_rule(name, reason),
            };
        }
        if name.starts_with(RECORDS.as_bytes()) && CLOSED.iter().any(|text| reason.contains(text)) {
            return self.closed(reason);
        }
        let said = self.lock_errors.get(name).map(String::as_str);
        if !is_lost_race(reason, said) {
            return reason.into();
        }
        let detail = said.unwrap_or(reason);
        one_line(&format!("{}: {detail}", ErrorCode::CasConflict))
    }

    /// Returns what to do about the refusals that were asked for, where the server did not say so itself.
    pub fn advice(&self) -> Option<&'static str> {
        self.advice
    }

    /// Returns the reason where a hook that is not ours refused a ref.
    fn foreign_rule(&mut self, name: &BStr, reason: &str) -> String {
        if !name.starts_with(RECORDS.as_bytes()) {
            return reason.into();
        }
        match self.said_of_names.clone() {
            Some(said) => self.closed(&said),
            None => {
                self.advice.get_or_insert(OWN_RULES);
                reason.into()
            }
        }
    }

    /// Returns the reason where the server takes no scopes at all.
    fn closed(&mut self, words: &str) -> String {
        self.advice = Some(KEEP_ELSEWHERE);
        one_line(&format!(
            "{}: the server takes no refs under {RECORDS}: {words}",
            ErrorCode::ForbiddenAction
        ))
    }

    fn end_line(&mut self) {
        let line = without_colour(&self.line);
        self.line.clear();
        let line = line.trim();
        let line = line.strip_prefix(b"remote: ").unwrap_or(line);
        if self.rejections.len() + self.lock_errors.len() >= MAX_REFS {
            return;
        }
        if let Some((name, text)) = rejection(line.as_bstr()) {
            self.rejections.entry(name).or_insert(text);
        } else if let Some((name, text)) = lock_error(line.as_bstr()) {
            self.lock_errors.entry(name).or_insert(text);
        } else if self.said_of_names.is_none() && speaks_of_names(line) {
            self.said_of_names = Some(one_line(&line.to_str_lossy()));
        }
    }
}

/// Tells whether a line says that only branches and tags are taken.
fn speaks_of_names(line: &[u8]) -> bool {
    let line = line.to_str_lossy().to_lowercase();
    let says = |words: &[&str]| words.iter().all(|word| line.contains(word));
    says(&["refs/heads", "refs/tags"])
        || says(&["only", "branches", "tags"])
        || says(&["branch", "illegal"])
}

/// Splits `handoff: <CODE> <ref>: <text>` into the ref and `<CODE>: <text>`.
fn rejection(line: &BStr) -> Option<(BString, String)> {
    let (code, rest) = line.strip_prefix(b"handoff: ")?.split_once_str(" ")?;
    let is_code = code.len() >= 2 && code.iter().all(|b| b.is_ascii_uppercase() || *b == b'_');
    let (name, text) = rest.split_once_str(": ")?;
    let is_name = name.starts_with(b"refs/") && !name.contains(&b' ');
    if !is_code || !is_name {
        return None;
    }
    let (code, text) = (code.to_str_lossy(), text.to_str_lossy());
    Some((name.into(), one_line(&format!("{code}: {text}"))))
}

/// Splits `error: cannot lock ref '<ref>': <text>` into the ref and `<text>`.
fn lock_error(line: &BStr) -> Option<(BString, String)> {
    let at = line.find("cannot lock ref '")? + "cannot lock ref '".len();
    let (name, text) = line[at..].split_once_str("': ")?;
    Some((name.into(), text.to_str_lossy().into_owned()))
}

/// Tells whether a ref was refused because somebody else moved it, or is just moving it.
fn is_lost_race(reason: &str, said: Option<&str>) -> bool {
    let races = [
        "but expected",
        "reference already exists",
        "unable to resolve reference",
        "incorrect old value provided",
        "reference does not exist",
        "File exists",
    ];
    let is_race = |text: &str| races.iter().any(|race| text.contains(race));
    match said {
        Some(said) => is_race(said),
        None => reason == "failed to update ref" || is_race(reason),
    }
}

/// Takes out the escape sequences that colour text.
fn without_colour(line: &[u8]) -> Vec<u8> {
    let mut clean = Vec::with_capacity(line.len());
    let mut bytes = line.iter();
    while let Some(byte) = bytes.next() {
        if *byte != 0x1b {
            clean.push(*byte);
        } else if bytes.as_slice().first() == Some(&b'[') {
            bytes.next();
            bytes.find(|b| matches!(b, 0x40..=0x7e));
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn remarks(text: &str) -> Remarks {
        let mut remarks = Remarks::default();
        // Packets cut lines anywhere.
        for chunk in text.as_bytes().chunks(7) {
            remarks.feed(chunk);
        }
        remarks
    }

    #[test]
    fn the_hooks_reason_replaces_the_bare_refusal() {
        let mut remarks = remarks(
            "checking\nhandoff: NOT_OWNER refs/handoff/a: owned by agent:x\nhandoff:   hint: accept first\n",
        );
        let reason = remarks.reason("refs/handoff/a".into(), "pre-receive hook declined");
        assert_eq!(reason, "NOT_OWNER: owned by agent:x");
        let reason = remarks.reason("refs/handoff/b".into(), "pre-receive hook declined");
        assert_eq!(reason, "HELD: refused together with refs/handoff/a");
        let reason = remarks.reason("refs/handoff/b".into(), "n/a (unpacker error)");
        assert_eq!(reason, "n/a (unpacker error)");
    }

    #[test]
    fn a_server_of_branches_and_tags_is_known_by_what_it_says() {
        let name = BStr::new("refs/handoff/a");
        let mut hidden = Remarks::default();
        let reason = hidden.reason(name, "deny updating a hidden ref");
        assert_eq!(
            reason,
            "FORBIDDEN_ACTION: the server takes no refs under refs/handoff/: deny updating a hidden ref"
        );
        assert_eq!(hidden.advice(), Some(KEEP_ELSEWHERE));
        for said in [
            "error: branch:handoff/a is illegal",
            "You may push to refs/heads/* and refs/tags/* only",
            "Only branches and tags can be pushed",
        ] {
            let mut remarks = remarks(&format!("hello\n{said}\n"));
            let reason = remarks.reason(name, "pre-receive hook declined");
            assert!(
                reason.starts_with("FORBIDDEN_ACTION: ") && reason.ends_with(said),
                "{reason}"
            );
        }
        let mut other = remarks("commit messages need a ticket\n");
        assert_eq!(other.reason(name, "hook declined"), "hook declined");
        assert_eq!(other.advice(), Some(OWN_RULES));
    }

    #[test]
    fn colour_and_the_prefix_of_a_child_are_taken_off() {
        let mut remarks =
            remarks("remote: \x1b[31mhandoff\x1b[m: FROZEN refs/handoff/a: closed\x1b[K   \r");
        let reason = remarks.reason("refs/handoff/a".into(), "pre-receive hook declined");
        assert_eq!(reason, "FROZEN: closed");
    }

    #[test]
    fn a_lost_race_is_a_conflict() {
        let name = BStr::new("refs/handoff/a");
        let reason = Remarks::default().reason(name, "failed to update ref");
        assert_eq!(reason, "CAS_CONFLICT: failed to update ref");
        let mut moved =
            remarks("error: cannot lock ref 'refs/handoff/a': is at 1 but expected 2\n");
        let reason = moved.reason(name, "failed to update ref");
        assert_eq!(reason, "CAS_CONFLICT: is at 1 but expected 2");
    }

    #[test]
    fn a_ref_that_cannot_be_created_is_no_race() {
        let said = "error: cannot lock ref 'refs/handoff/a/b': 'refs/handoff/a' exists; cannot create 'refs/handoff/a/b'\n";
        let reason = remarks(said).reason("refs/handoff/a/b".into(), "failed to update ref");
        assert_eq!(reason, "failed to update ref");
    }

    proptest! {
        #[test]
        fn arbitrary_text_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let mut remarks = Remarks::default();
            remarks.feed(&bytes);
            let reason = remarks.reason("refs/handoff/a".into(), "pre-receive hook declined");
            prop_assert!(!reason.contains('\n'));
        }
    }
}
