//! Literals that are added to each other: `"abc" + "def"`, `"abc"` and `"def"` on two lines, `["abc", "def"].join("")`,
//! and lines that a backslash continues.

/// Blank characters between two literals.
const MAX_GAP: usize = 120;
/// How far around literals with commas between them a `join` is looked for.
const JOIN_REACH: usize = 24;
/// Bytes of a text that is put together, beyond which no literal is added.
const MAX_JOINED: usize = 64 << 10;
/// Bytes before the first literal that are taken along, for the name that the whole is given to.
const BEFORE: usize = 48;

/// A text that was put together, and from where its parts come.
pub(in super::super) struct Joined {
    /// The text.
    pub(in super::super) text: Vec<u8>,
    /// For each part where it begins in the text, and where in the file.
    pub(in super::super) parts: Vec<(usize, usize)>,
}

/// Calls `each` with every text that is put together of two literals or more.
pub(in super::super) fn joined(text: &[u8], mut each: impl FnMut(Joined)) {
    let mut from = 0;
    while let Some(at) = memchr::memchr3(b'"', b'\'', b'`', &text[from..]).map(|at| from + at) {
        from = at + 1;
        if let Some((joined, end)) = chain(text, at) {
            joined.into_iter().for_each(&mut each);
            from = end;
        }
    }
    continued(text, &mut each);
}

/// Reads literals from the one that `first` closes; says where they end, and what they make together.
fn chain(text: &[u8], first: usize) -> Option<(Option<Joined>, usize)> {
    let quote = text[first];
    let mut next = Some(next_literal(text, first, quote)?);
    let open = memchr::memrchr(quote, &text[first.saturating_sub(600)..first])?
        + first.saturating_sub(600);
    if text[open..first].contains(&b'\n') {
        return None;
    }
    let mut joined = Joined {
        text: Vec::new(),
        parts: Vec::new(),
    };
    let before = open.saturating_sub(BEFORE);
    joined.add(text, before..first);
    let mut commas = false;
    let mut end = first;
    while let Some((start, comma)) = next.filter(|_| joined.text.len() < MAX_JOINED) {
        let Some(close) = closing(text, start, quote) else {
            break;
        };
        commas |= comma;
        joined.add(text, start..close);
        end = close;
        next = next_literal(text, close, quote);
    }
    joined.text.push(quote);
    let near = &text[open.saturating_sub(JOIN_REACH)..(end + JOIN_REACH).min(text.len())];
    let is_joined = !commas
        || memchr::memmem::find(near, b"join").is_some()
        || memchr::memmem::find(near, b"concat").is_some();
    Some((is_joined.then_some(joined), end + 1))
}

impl Joined {
    fn add(&mut self, text: &[u8], range: std::ops::Range<usize>) {
        self.parts.push((self.text.len(), range.start));
        self.text.extend(&text[range]);
    }
}

/// Returns where the next literal's text begins, behind the quote that closes the one before, and whether only a comma
/// stands between.
fn next_literal(text: &[u8], close: usize, quote: u8) -> Option<(usize, bool)> {
    let rest = text.get(close + 1..(close + 1 + MAX_GAP).min(text.len()))?;
    let mut at = blank(rest);
    let operator = match &rest[at..] {
        [b'+', b'+', ..] | [b'<', b'>', ..] | [b'.', b'.', ..] | [b'|', b'|', ..] => 2,
        [b'+' | b'.' | b'&' | b'~' | b',' | b'\\' | b'^', ..] => 1,
        _ => 0,
    };
    let comma = rest.get(at) == Some(&b',');
    at += operator;
    at += blank(&rest[at..]);
    if matches!(rest.get(at), Some(b'r' | b'b' | b'f' | b'u' | b'L'))
        && rest.get(at + 1) == Some(&quote)
    {
        at += 1;
    }
    let adjacent = operator == 0 && at == 0;
    (rest.get(at) == Some(&quote) && !adjacent).then_some((close + 1 + at + 1, comma))
}

fn blank(text: &[u8]) -> usize {
    text.iter().take_while(|b| b.is_ascii_whitespace()).count()
}

fn closing(text: &[u8], start: usize, quote: u8) -> Option<usize> {
    let rest = &text[start..(start + 4_096).min(text.len())];
    let close = memchr::memchr2(quote, b'\n', rest)?;
    (rest[close] == quote).then_some(start + close)
}

/// Lines that end in a backslash go on in the next.
fn continued(text: &[u8], each: &mut impl FnMut(Joined)) {
    let is_word = |b: &u8| b.is_ascii_alphanumeric() || b"_-+/=.".contains(b);
    let mut from = 0;
    while let Some(at) = memchr::memmem::find(&text[from..], b"\\\n").map(|at| from + at) {
        from = at + 2;
        let next = from
            + text[from..]
                .iter()
                .take(MAX_GAP)
                .take_while(|b| matches!(b, b' ' | b'\t'))
                .count();
        if !(at > 0 && is_word(&text[at - 1]) && text.get(next).is_some_and(is_word)) {
            continue;
        }
        let start = at.saturating_sub(300);
        let end = (next + 300).min(text.len());
        let mut joined = Joined {
            text: Vec::new(),
            parts: Vec::new(),
        };
        joined.add(text, start..at);
        joined.add(text, next..end);
        each(joined);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        joined(text.as_bytes(), |joined| {
            found.push(String::from_utf8(joined.text).unwrap())
        });
        found
    }

    #[test]
    fn literals_are_put_together() {
        for text in [
            "x = \"abc\" + \"def\" + \"ghi\";",
            "x = \"abc\"\n    \"def\"\n    \"ghi\"",
            "x = \"abc\" . \"def\" . \"ghi\"",
            "x = [\"abc\", \"def\", \"ghi\"].join(\"\")",
            "x = \"abc\" <> \"def\" ++ \"ghi\"",
            "x = \"abc\" \\\n \"def\" \\\n \"ghi\"",
        ] {
            let found = all(text);
            assert!(found[0].ends_with("\"abcdefghi\""), "{text}: {found:?}");
        }
        assert!(
            all("x = \"abc\\\\\" + 1\ny = foo\\\nbar")
                .iter()
                .any(|text| text.contains("foobar"))
        );
    }

    #[test]
    fn literals_of_a_list_stay_apart() {
        assert_eq!(
            all("[\"abc\", \"def\"]\nf(\"a\", \"b\")"),
            Vec::<String>::new()
        );
    }

    #[test]
    fn a_part_says_where_it_came_from() {
        let text = "x = \"abc\"\n  + \"def\"";
        joined(text.as_bytes(), |joined| {
            assert_eq!(joined.parts.last(), Some(&(8, text.find("def").unwrap())));
        });
    }
}
