//! Text without what differs from run to run.

use std::{collections::BTreeMap, path::Path};

/// Replaces the world's directory, object ids and digests by names that are the same in every run.
pub(super) fn of(text: &str, root: &Path) -> String {
    let text = text.replace(&root.display().to_string(), "[world]");
    let mut names = Names::default();
    let (mut clean, mut rest) = (String::new(), text.as_str());
    while let Some(at) = rest.find(|c: char| c.is_ascii_hexdigit()) {
        let (before, from) = rest.split_at(at);
        clean.push_str(before);
        let end = from.find(|c: char| !c.is_ascii_alphanumeric());
        let (word, after) = from.split_at(end.unwrap_or(from.len()));
        let inside = clean.ends_with(|c: char| c.is_ascii_alphanumeric());
        match word.len() {
            64 if !inside && clean.ends_with("sha256:") && is_hex(word) => {
                clean.truncate(clean.len() - "sha256:".len());
                clean.push_str(&names.of("digest", word));
            }
            40 | 64 if !inside && is_hex(word) => clean.push_str(&names.of("id", word)),
            _ => clean.push_str(word),
        }
        rest = after;
    }
    clean + rest
}

fn is_hex(word: &str) -> bool {
    word.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

#[derive(Default)]
struct Names {
    known: BTreeMap<(&'static str, String), String>,
    counts: BTreeMap<&'static str, usize>,
}

impl Names {
    fn of(&mut self, kind: &'static str, value: &str) -> String {
        let known = self.known.entry((kind, value.into())).or_insert_with(|| {
            let count = self.counts.entry(kind).or_default();
            *count += 1;
            format!("[{kind}{count}]")
        });
        known.clone()
    }
}
