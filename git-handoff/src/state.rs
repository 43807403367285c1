//! What a worktree remembers between commands: `<git-dir>/handoff/state.json`.
//!
//! A convenience, never proof: who cannot write it warns and goes on, and one that cannot be read counts as empty.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    path::PathBuf,
};

use gix::{ObjectId, bstr::BString};
use serde::{Deserialize, Serialize};
use store::{
    contract::Allow, digest::Digest, generation::Generation, oid::Oid, repository::Repository,
    restore::Restored, scope::ScopeName, snapshot,
};

use crate::context::Context;

/// What a worktree remembers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct State {
    /// The scope last restored or saved on each branch, by the branch's full name; `HEAD` where detached.
    pub(crate) scopes: BTreeMap<String, ScopeName>,
    /// What was last read of each scope.
    pub(crate) read: BTreeMap<ScopeName, Read>,
    /// What every capture here leaves out, as pathspecs.
    pub(crate) omit: Vec<Bytes>,
    /// Files of which a scan has said that they hold a secret; those of them that are left out are so for that reason.
    pub(crate) secret: Vec<Bytes>,
    /// Values that stopped a handover, by what stands for them.
    pub(crate) found: Vec<FoundSecret>,
    /// Values that somebody here answers for.
    pub(crate) allow: Vec<AllowedSecret>,
    /// Submodules whose commit only the checkpoint knows that was last restored here.
    pub(crate) unfilled: Vec<Unfilled>,
    /// Digests of the newest receipts whose commands ran here: those alone are run again unasked.
    pub(crate) ran: Vec<Digest>,
    /// Commands of contracts that passed here, newest last.
    pub(crate) passed: Vec<Passed>,
    /// The scope whose prepared handoff was restored here, until something else is restored or saved.
    pub(crate) prepared: Option<ScopeName>,
}

/// A command of a contract that passed here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Passed {
    /// Digest of the command line.
    pub(crate) command: Digest,
    /// The worktree tree that it ran on and left as it was.
    pub(crate) tree: Oid,
    /// The receipt that it confirms: that of the claim which it is to show.
    pub(crate) receipt: Option<Digest>,
}

/// Most receipts, and most commands that passed, that are remembered.
const MAX_RAN: usize = 500;
/// Most values that stopped a handover and are remembered.
const MAX_FOUND: usize = 500;

/// A value that stopped a handover; nothing of it is here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FoundSecret {
    pub(crate) scope: ScopeName,
    pub(crate) rule: String,
    pub(crate) fingerprint: String,
}

/// A value that somebody here answers for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AllowedSecret {
    pub(crate) scope: ScopeName,
    pub(crate) entry: Allow,
}

/// Bytes that are text nearly always; in JSON, what is not UTF-8 stands as `%XX`, and so does `%`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", from = "String")]
pub(crate) struct Bytes(pub(crate) BString);

impl From<Bytes> for String {
    fn from(Bytes(bytes): Bytes) -> Self {
        let mut text = String::new();
        for chunk in bytes.as_slice().utf8_chunks() {
            text.push_str(&chunk.valid().replace('%', "%25"));
            text.extend(chunk.invalid().iter().map(|byte| format!("%{byte:02X}")));
        }
        text
    }
}

impl From<String> for Bytes {
    fn from(text: String) -> Self {
        let mut bytes = BString::default();
        let mut rest = text.as_bytes();
        while let Some((first, more)) = rest.split_first() {
            let pair = more
                .get(..2)
                .and_then(|pair| std::str::from_utf8(pair).ok());
            let byte = pair.and_then(|pair| u8::from_str_radix(pair, 16).ok());
            let (byte, after) = match byte.filter(|_| *first == b'%') {
                Some(byte) => (byte, &more[2..]),
                None => (*first, more),
            };
            bytes.push(byte);
            rest = after;
        }
        Bytes(bytes)
    }
}

/// A submodule that a restore left unfilled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Unfilled {
    path: Bytes,
    /// The commit that was checked out in it.
    commit: Oid,
    /// The commit in the index.
    staged: Option<Oid>,
}

impl Unfilled {
    /// Returns those submodules that the index does not say all of.
    pub(crate) fn of(restored: &Restored) -> Vec<Self> {
        let submodules = restored.submodules.iter();
        let unsaid = submodules.filter(|submodule| submodule.staged != Some(submodule.commit));
        unsaid
            .map(|submodule| Unfilled {
                path: Bytes(submodule.path.as_bstr().into()),
                commit: submodule.commit,
                staged: submodule.staged,
            })
            .collect()
    }

    /// Returns what a capture is told.
    pub(crate) fn to_capture(&self) -> snapshot::Unfilled {
        snapshot::Unfilled {
            path: self.path.0.clone(),
            commit: self.commit.id(),
            staged: self.staged.map(ObjectId::from),
        }
    }
}

/// What was last read of a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Read {
    pub(crate) generation: Generation,
    pub(crate) digest: Digest,
}

impl State {
    /// Remembers that the command of a receipt ran here.
    pub(crate) fn note_run(&mut self, receipt: Digest) {
        self.ran.retain(|known| *known != receipt);
        self.ran.push(receipt);
        let old = self.ran.len().saturating_sub(MAX_RAN);
        self.ran.drain(..old);
    }

    /// Remembers that a command passed here.
    pub(crate) fn note_passed(&mut self, passed: Passed) {
        self.passed.retain(|known| *known != passed);
        self.passed.push(passed);
        let old = self.passed.len().saturating_sub(MAX_RAN);
        self.passed.drain(..old);
    }

    /// Remembers what stopped a handover.
    pub(crate) fn note_found(&mut self, found: Vec<FoundSecret>) {
        self.found.retain(|known| !found.contains(known));
        self.found.extend(found);
        let old = self.found.len().saturating_sub(MAX_FOUND);
        self.found.drain(..old);
    }

    /// Remembers that somebody answers for a value; who said so last counts.
    pub(crate) fn allow_value(&mut self, allowed: AllowedSecret) {
        let is_same = |known: &AllowedSecret| {
            known.scope == allowed.scope
                && known.entry.rule == allowed.entry.rule
                && known.entry.fingerprint == allowed.entry.fingerprint
        };
        self.allow.retain(|known| !is_same(known));
        self.allow.push(allowed);
    }

    pub(crate) fn load(repository: &Repository) -> Self {
        let text = fs::read(path(repository)).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    /// Changes what is remembered.
    pub(crate) fn update(
        context: &Context,
        repository: &Repository,
        change: impl FnOnce(&mut State),
    ) {
        let before = Self::load(repository);
        let mut state = before.clone();
        change(&mut state);
        if state == before {
            return;
        }
        if let Err(error) = state.store(repository) {
            let text = format!(
                "{} could not be written: {error}",
                path(repository).display()
            );
            context.ui.warn("STATE_NOT_KEPT", &text);
        }
    }

    fn store(&self, repository: &Repository) -> std::io::Result<()> {
        let path = path(repository);
        let folder = path.parent().unwrap_or(repository.git_dir());
        fs::create_dir_all(folder)?;
        // One writer at a time, so that what one that was killed has left is written over.
        let alone = File::open(repository.git_dir())?;
        // Where the file system has no locks, it is as good as it gets.
        let _ = alone.lock();
        let new = path.with_extension("json.new");
        fs::write(&new, serde_json::to_vec_pretty(self)?)?;
        fs::rename(&new, &path)
    }
}

fn path(repository: &Repository) -> PathBuf {
    repository.git_dir().join("handoff").join("state.json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_no_text_are_remembered_as_they_are() {
        for bytes in [&b"src/*.log"[..], b"100%", b"%41", b"not\xffutf8\xfe", b""] {
            let bytes = Bytes(bytes.into());
            let text = serde_json::to_string(&bytes).unwrap();
            assert_eq!(
                serde_json::from_str::<Bytes>(&text).unwrap(),
                bytes,
                "{text}"
            );
        }
    }
}
