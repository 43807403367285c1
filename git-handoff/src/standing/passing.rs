//! Commands that passed here, on the worktree as it is now.

use std::collections::BTreeSet;

use store::{
    contract::{Conclusion, Receipt},
    digest::Digest,
    evidence,
    oid::Oid,
};

use super::Here;
use crate::{
    context::Context,
    state::{Passed, State},
    ui::{shell_line, terminal_safe},
};

/// What passed here.
#[derive(Default)]
pub(super) struct Passing {
    tree: Option<Oid>,
    /// Digests of receipts whose commands ran here.
    ran: Vec<Digest>,
    /// What `verify --run` noted.
    noted: Vec<Passed>,
    /// Digests of the command lines of receipts that are kept here.
    kept: BTreeSet<Digest>,
}

impl Passing {
    pub(super) fn find(context: &Context, here: &Here) -> Self {
        let (Here::Worktree(found), Ok(repository)) = (here, context.repository()) else {
            return Passing::default();
        };
        let state = State::load(&repository);
        // Receipts that cannot be read show nothing.
        let kept = evidence::kept(&repository).unwrap_or_default().receipts;
        let passed = kept.iter().map(|kept| &kept.receipt);
        let passed = passed.filter(|receipt| shows(receipt, found.tree));
        let noted = state.passed.into_iter();
        Passing {
            tree: Some(found.tree),
            ran: state.ran,
            noted: noted.filter(|passed| passed.tree == found.tree).collect(),
            kept: passed.flat_map(command_lines).collect(),
        }
    }

    /// Tells whether the command of a receipt passed here.
    pub(super) fn has_passed(&self, receipt: &Receipt, digest: Digest) -> bool {
        let ran_here =
            self.tree.is_some_and(|tree| shows(receipt, tree)) && self.ran.contains(&digest);
        let lines = command_lines(receipt);
        let passed = |line: &Digest| {
            let noted = |passed: &Passed| passed.command == *line && passed.receipt == Some(digest);
            self.kept.contains(line) || self.noted.iter().any(noted)
        };
        ran_here || lines.iter().any(passed)
    }

    /// Tells whether a command line passed here; `receipt` is the one that it is to confirm.
    pub(super) fn has(&self, command: &str, receipt: Option<Digest>) -> bool {
        let command = Digest::of(command.as_bytes());
        let noted = |passed: &Passed| passed.command == command && passed.receipt == receipt;
        self.kept.contains(&command) || self.noted.iter().any(noted)
    }
}

/// Tells whether a receipt shows that its command passed on a tree.
fn shows(receipt: &Receipt, tree: Oid) -> bool {
    evidence::conclusion(receipt) == Conclusion::Pass && evidence::covers(receipt, tree)
}

/// Returns digests of the command lines that are the command of a receipt: what a shell was given, or the words as one
/// types them.
fn command_lines(receipt: &Receipt) -> Vec<Digest> {
    let words: Vec<&[u8]> = receipt
        .argv
        .iter()
        .map(|word| word.as_bstr().as_ref())
        .collect();
    let mut lines = Vec::new();
    if let [b"sh" | b"/bin/sh", b"-c", line] = words[..] {
        lines.push(Digest::of(line));
    }
    // What is shown otherwise than it is would be another command.
    let as_shown = |word: &&[u8]| {
        let word = std::str::from_utf8(word).ok()?;
        (terminal_safe(word) == word).then(|| word.to_owned())
    };
    let shown: Option<Vec<String>> = words.iter().map(as_shown).collect();
    // A shell takes a first word with `=` for something else.
    if let Some(words) = shown.filter(|words| words.first().is_some_and(|word| !word.contains('=')))
    {
        lines.push(Digest::of(shell_line(&words).as_bytes()));
    }
    lines
}
