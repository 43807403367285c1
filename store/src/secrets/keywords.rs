//! Finds the keywords of all rules at once.
//!
//! The quickest automaton takes longest to build: as long as other ones take to look through a few megabytes. So it is
//! built once there is more to look through than that.

use std::sync::{
    OnceLock,
    atomic::{AtomicUsize, Ordering},
};

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

/// Bytes after which the quick automaton is worth its building.
const MANY_BYTES: usize = 2 << 20;

/// Keywords, whatever their case, in the order in which they were given.
pub(super) struct Keywords {
    words: Vec<String>,
    small: OnceLock<AhoCorasick>,
    quick: OnceLock<AhoCorasick>,
    seen: AtomicUsize,
}

impl Keywords {
    pub(super) fn new(words: Vec<String>) -> Self {
        Keywords {
            words,
            small: OnceLock::new(),
            quick: OnceLock::new(),
            seen: AtomicUsize::new(0),
        }
    }

    /// Returns the automaton that is to look through a text.
    pub(super) fn in_text(&self, text: &[u8]) -> &AhoCorasick {
        let before = self.seen.fetch_add(text.len(), Ordering::Relaxed);
        if let Some(quick) = self.quick.get() {
            return quick;
        }
        match before.saturating_add(text.len()) >= MANY_BYTES {
            true => self.quick.get_or_init(|| self.build(AhoCorasickKind::DFA)),
            false => self
                .small
                .get_or_init(|| self.build(AhoCorasickKind::ContiguousNFA)),
        }
    }

    fn build(&self, kind: AhoCorasickKind) -> AhoCorasick {
        AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::Standard)
            .kind(Some(kind))
            .prefilter(false)
            .build(&self.words)
            .unwrap_or_else(|_| {
                AhoCorasick::new([""; 0]).expect("an automaton without words is built")
            })
    }
}
