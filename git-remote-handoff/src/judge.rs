//! What is asked about a push before a byte of it is sent, and what is made of the answer.
//!
//! Nothing here knows what a legal record is: that is the judge's, who is passed in.

use std::collections::BTreeMap;

use gix::{
    ObjectId,
    bstr::{BStr, BString, ByteSlice},
};
use store::error_code::ErrorCode;

/// One update of a ref at the remote, as Git asks for it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProposedUpdate {
    /// Full name of the ref.
    pub name: BString,
    /// The value that is replaced; null where the ref is created.
    pub old: ObjectId,
    /// The value afterwards; null where the ref is deleted.
    pub new: ObjectId,
}

/// Says why an update must not be sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// The rule that was broken.
    pub code: ErrorCode,
    /// What is wrong, in one line.
    pub message: String,
    /// What to do about it, a sentence each.
    pub hints: Vec<String>,
}

/// Judges all updates of a push at once, one answer each, in their order.
///
/// An answer that is missing counts as a refusal.
pub type Judge<'a> = dyn FnMut(&[ProposedUpdate]) -> Vec<Result<(), Refusal>> + 'a;

/// What came of judging a push: the updates that are refused, by the name of the ref.
///
/// A ref that is named twice is good only if it was good both times.
#[derive(Default)]
pub(crate) struct Verdict(BTreeMap<BString, Refusal>);

impl Verdict {
    /// Asks the judge about all updates.
    pub(crate) fn ask(judge: &mut Judge<'_>, updates: &[ProposedUpdate]) -> Self {
        let mut verdict = Verdict::default();
        if updates.is_empty() {
            return verdict;
        }
        let mut answers = judge(updates).into_iter();
        for update in updates {
            if let Err(refusal) = answers.next().unwrap_or_else(|| Err(unjudged())) {
                verdict.refuse(update.name.clone(), refusal);
            }
        }
        verdict
    }

    /// Refuses one more update.
    pub(crate) fn refuse(&mut self, name: BString, refusal: Refusal) {
        self.0.insert(name, refusal);
    }

    /// Tells whether all updates may be sent.
    pub(crate) fn is_good(&self) -> bool {
        self.0.is_empty()
    }

    /// Tells whether one ref may be sent.
    pub(crate) fn allows(&self, name: &BStr) -> bool {
        !self.0.contains_key(name)
    }

    /// Returns the hints of all refusals, each once.
    pub(crate) fn hints(&self) -> Vec<String> {
        let mut hints: Vec<String> = Vec::new();
        for hint in self.0.values().flat_map(|refusal| &refusal.hints) {
            if !hints.contains(hint) {
                hints.push(hint.clone());
            }
        }
        hints
    }

    /// Tells whether a ref was refused for lying outside the namespace.
    pub(crate) fn is_outside(&self) -> bool {
        let mut refusals = self.0.values();
        refusals.any(|refusal| refusal.code == ErrorCode::RefOutsideNamespace)
    }

    /// Returns the reason that Git shows for one ref of a push of which nothing is sent.
    pub(crate) fn reason(&self, name: &BStr) -> String {
        match (self.0.get(name), self.0.keys().next()) {
            (Some(refusal), _) => reason(refusal),
            (None, Some(other)) => held(other.as_bstr()),
            (None, None) => reason(&unjudged()),
        }
    }
}

/// Returns a refusal as one line: code and message.
pub(crate) fn reason(refusal: &Refusal) -> String {
    format!("{}: {}", refusal.code, one_line(&refusal.message))
}

/// Returns the reason of a good ref that is held back together with a refused one.
pub(crate) fn held(refused: &BStr) -> String {
    one_line(&format!(
        "{}: refused together with {refused}",
        ErrorCode::Held
    ))
}

/// Replaces control characters, so that text stays one line of a protocol or a terminal.
pub(crate) fn one_line(text: &str) -> String {
    const MOST: usize = 4_000;
    text.chars()
        .take(MOST)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

fn unjudged() -> Refusal {
    Refusal {
        code: ErrorCode::Internal,
        message: "the update was not judged".into(),
        hints: Vec::new(),
    }
}
