//! Finds the keywords of all rules in one pass.
//!
//! An automaton of all of them takes longer to build than most handoffs take to be looked through. So they lie on
//! shelves by their first two bytes, and each is compared where these stand.

use std::{iter, ops::Range};

/// Pairs of bytes.
const PAIRS: usize = 1 << 16;

/// Keywords, whatever their case.
pub(super) struct Keywords {
    /// For each pair of bytes the shelf of the words that begin with it.
    shelf_of: Vec<u16>,
    /// Which words lie on a shelf; the first one is empty.
    shelves: Vec<Range<usize>>,
    /// Words of one byte, which lie on no shelf.
    single: Range<usize>,
    words: Vec<Word>,
    letters: Vec<u8>,
    rules: Vec<usize>,
}

/// Where the letters of a word lie, and its rules.
struct Word {
    letters: Range<usize>,
    rules: Range<usize>,
}

impl Keywords {
    /// Takes words in small letters, each with the place of one of its rules, in any order.
    pub(super) fn new(mut words: Vec<(&str, usize)>) -> Self {
        words.sort();
        words.dedup();
        let (single, longer): (Vec<_>, Vec<_>) = words
            .into_iter()
            .filter(|(word, _)| !word.is_empty())
            .partition(|(word, _)| word.len() == 1);
        let mut made = Keywords {
            shelf_of: vec![0; PAIRS],
            shelves: iter::once(0..0).collect(),
            single: 0..0,
            words: Vec::with_capacity(single.len() + longer.len()),
            letters: Vec::new(),
            rules: Vec::new(),
        };
        for words in single.chunk_by(|a, b| a.0 == b.0) {
            made.add(words);
        }
        made.single = 0..made.words.len();
        for words in longer.chunk_by(|a, b| a.0 == b.0) {
            made.add(words);
            made.shelve(words[0].0.as_bytes());
        }
        made
    }

    /// Adds a word with all its rules.
    fn add(&mut self, words: &[(&str, usize)]) {
        let (letters, rules) = (self.letters.len(), self.rules.len());
        self.letters.extend_from_slice(words[0].0.as_bytes());
        self.rules.extend(words.iter().map(|(_, rule)| rule));
        self.words.push(Word {
            letters: letters..self.letters.len(),
            rules: rules..self.rules.len(),
        });
    }

    /// Puts the last word on its shelf: that of the word before, or a new one.
    fn shelve(&mut self, word: &[u8]) {
        let (first, second, end) = (word[0], word[1], self.words.len());
        let shelf = usize::from(self.shelf_of[pair(first, second)]);
        if shelf != 0 {
            self.shelves[shelf].end = end;
            return;
        }
        let shelf = u16::try_from(self.shelves.len()).expect("there are fewer pairs than that");
        self.shelves.push(end - 1..end);
        for first in [first, first.to_ascii_uppercase()] {
            for second in [second, second.to_ascii_uppercase()] {
                self.shelf_of[pair(first, second)] = shelf;
            }
        }
    }

    /// Returns where keywords stand in a text, each with the places of its rules, in the order in which they begin.
    pub(super) fn in_text<'t>(
        &'t self,
        text: &'t [u8],
    ) -> impl Iterator<Item = (Range<usize>, &'t [usize])> + 't {
        (0..text.len()).flat_map(move |start| {
            let shelf = match text.get(start + 1) {
                Some(second) => self.shelf_of[pair(text[start], *second)],
                None => 0,
            };
            let longer = self.shelves[usize::from(shelf)].clone();
            self.single.clone().chain(longer).filter_map(move |at| {
                let word = &self.words[at];
                let letters = &self.letters[word.letters.clone()];
                let found = start..start + letters.len();
                let is_there = text.get(found.clone())?.eq_ignore_ascii_case(letters);
                is_there.then(|| (found, &self.rules[word.rules.clone()]))
            })
        })
    }
}

fn pair(first: u8, second: u8) -> usize {
    usize::from(first) << 8 | usize::from(second)
}

#[cfg(test)]
mod tests {
    use aho_corasick::AhoCorasick;
    use proptest::prelude::*;

    use super::*;

    fn by_an_automaton(words: &[String], text: &str) -> Vec<(Range<usize>, usize)> {
        let automaton = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .build(words)
            .unwrap();
        let found = automaton.find_overlapping_iter(text);
        found
            .map(|found| (found.start()..found.end(), found.pattern().as_usize()))
            .collect()
    }

    proptest! {
        #[test]
        fn they_are_found_where_an_automaton_finds_them(
            words in proptest::collection::vec("[ab:_]{1,4}", 0..30),
            text in "[abAB:_ c]{0,60}",
        ) {
            let sorted = |mut found: Vec<(Range<usize>, usize)>| {
                found.sort_by_key(|(range, at)| (range.start, range.end, *at));
                found.dedup();
                found
            };
            let all = words.iter().map(String::as_str).zip(0..).collect();
            let keywords = Keywords::new(all);
            let found: Vec<_> = keywords.in_text(text.as_bytes()).collect();
            prop_assert!(found.is_sorted_by_key(|(range, _)| range.start));
            let found = found
                .into_iter()
                .flat_map(|(range, rules)| rules.iter().map(move |rule| (range.clone(), *rule)));
            prop_assert_eq!(sorted(found.collect()), sorted(by_an_automaton(&words, &text)));
        }
    }
}
