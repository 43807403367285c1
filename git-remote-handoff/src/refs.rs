//! The refs of both sides, as far as a push has something to say about them.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use gix::{
    ObjectId,
    bstr::{BStr, BString, ByteSlice},
};
use store::{
    error_code::ErrorCode,
    git::{Git, GitError},
    scope::RECORDS,
};

use crate::messages::Messages;

/// Most scopes whose lines are compared with the remote's.
const MAX_COMPARED: usize = 50;

/// Refs as lines `<id> SP <name> LF`, parsed only where one is asked for: there may be very many.
#[derive(Default)]
pub(crate) struct RefLines(Vec<u8>);

impl RefLines {
    /// Takes what Git says of the refs of this repository: those that are named, or all under `refs/handoff/`.
    pub(crate) fn of_this_repository(names: &[&str]) -> Result<Self, GitError> {
        let mut args = vec!["for-each-ref", "--format=%(objectname) %(refname)"];
        match names {
            [] => args.push(RECORDS),
            names => args.extend(names),
        }
        Git::in_dir(".").output(args).map(RefLines)
    }

    /// Adds one ref.
    pub(crate) fn push(&mut self, id: &[u8], name: &[u8]) {
        self.0.extend_from_slice(id);
        self.0.push(b' ');
        self.0.extend_from_slice(name);
        self.0.push(b'\n');
    }

    /// Adds the ref of a line of an advertisement if it is a scope: `gitprotocol-pack(5)`.
    pub(crate) fn push_advertised(&mut self, line: &[u8]) {
        let line = line.split(|b| *b == 0).next().unwrap_or_default();
        if let Some((id, name)) = line.split_once_str(" ")
            && name.starts_with(RECORDS.as_bytes())
        {
            self.push(id, name);
        }
    }

    /// Returns the hash function of the ids, as far as there are any.
    pub(crate) fn hash_kind(&self) -> Option<gix::hash::Kind> {
        let (id, _) = self.0.split_once_str(" ")?;
        ObjectId::from_hex(id).ok().map(|id| id.kind())
    }

    /// Returns what some refs name; those that are missing here are missing in the answer.
    pub(crate) fn ids<'a>(
        &self,
        names: impl IntoIterator<Item = &'a BStr>,
    ) -> BTreeMap<&'a BStr, ObjectId> {
        let names: BTreeSet<&BStr> = names.into_iter().collect();
        let ids = self.0.lines().filter_map(|line| {
            let (id, name) = line.split_once_str(" ")?;
            let name = names.get(name.as_bstr())?;
            Some((*name, ObjectId::from_hex(id).ok()?))
        });
        ids.collect()
    }

    fn lines(&self) -> impl Iterator<Item = &[u8]> {
        self.0.lines()
    }
}

/// Names the scopes that Git did not push since the remote has moved on, with what to do about it.
///
/// Git refuses those by itself and does not tell the helper, which can only see that they are missing among what is
/// `sent` though everything else that differs from the `remote` is there.
pub(crate) fn warn_of_overtaken(remote: &RefLines, sent: &BTreeSet<BString>, messages: &Messages) {
    // Nothing is lost but advice where Git does not answer.
    let overtaken = overtaken(remote, sent).unwrap_or_default();
    for name in &overtaken {
        messages.warning(&format!(
            "{} {name}: the remote has moved on, and this line does not continue it",
            ErrorCode::CasConflict
        ));
    }
    if !overtaken.is_empty() {
        messages.hint("what was written here follows a STALE_CHECKPOINT; `git handoff sync` brings both together");
    }
}

fn overtaken(remote: &RefLines, sent: &BTreeSet<BString>) -> Result<Vec<BString>, GitError> {
    let name_of = |line: &[u8]| {
        line.split_once_str(" ")
            .map(|(_, name)| BString::from(name))
    };
    let is_sent = |line: &[u8]| name_of(line).is_none_or(|name| sent.contains(&name));
    if remote.lines().all(is_sent) {
        return Ok(Vec::new());
    }
    let there: HashSet<&[u8]> = remote.lines().collect();
    let here = RefLines::of_this_repository(&[])?;
    let differing: Vec<(&[u8], &BStr)> = here
        .lines()
        .filter(|line| !there.contains(line))
        .filter_map(|line| line.split_once_str(" "))
        .map(|(id, name)| (id, name.as_bstr()))
        .filter(|(_, name)| !sent.contains(*name))
        .collect();
    let at_remote = remote.ids(differing.iter().map(|(_, name)| *name));
    let mut overtaken = Vec::new();
    for (tip, name) in differing.iter().take(MAX_COMPARED) {
        match at_remote.get(name) {
            Some(id) if !is_ancestor(id, tip) => overtaken.push((*name).into()),
            // It would have been sent, so Git was asked for single scopes.
            Some(_) | None => return Ok(Vec::new()),
        }
    }
    Ok(overtaken)
}

/// Tells whether a commit is here and `tip` reaches it.
fn is_ancestor(commit: &ObjectId, tip: &[u8]) -> bool {
    let (commit, tip) = (commit.to_string(), tip.to_str_lossy());
    Git::in_dir(".")
        .output(["merge-base", "--is-ancestor", &commit, &tip])
        .is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refs_are_found_by_name() {
        let id = "1".repeat(40);
        let mut refs = RefLines::default();
        assert_eq!(refs.hash_kind(), None);
        refs.push_advertised(format!("{id} refs/heads/main\0caps").as_bytes());
        refs.push_advertised(format!("{id} refs/handoff/a\0caps").as_bytes());
        refs.push_advertised(b"version 1");
        refs.push(id.as_bytes(), b"refs/handoff/b");
        let names = ["refs/handoff/a", "refs/handoff/none"].map(BStr::new);
        let ids = refs.ids(names);
        assert_eq!(ids.len(), 1);
        assert_eq!(ids[BStr::new("refs/handoff/a")].to_string(), id);
        assert_eq!(refs.lines().count(), 2);
        assert_eq!(refs.hash_kind(), Some(gix::hash::Kind::Sha1));
    }
}
