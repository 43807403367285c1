//! Escapes within a text: `%41`, `\x41`, `\u0041`, `\u{41}`, `\101`, `\/`, `&#65;`, `=3D`.

use std::ops::Range;

/// How far around an escape the text is taken along.
const REACH: usize = 512;

/// Returns stretches of text, in order, that hold escapes.
pub(in super::super) fn stretches(text: &[u8]) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    for at in memchr::memchr3_iter(b'%', b'\\', b'&', text) {
        if found
            .last()
            .is_some_and(|last| at + 8 < last.end.saturating_sub(REACH))
            || one(&text[at..]).is_none()
        {
            continue;
        }
        let start = line_start(text, at);
        let end = line_end(text, at);
        match found.last_mut() {
            Some(last) if start <= last.end => last.end = last.end.max(end),
            _ => found.push(start..end),
        }
    }
    found
}

fn line_start(text: &[u8], at: usize) -> usize {
    let from = at.saturating_sub(REACH);
    memchr::memrchr(b'\n', &text[from..at]).map_or(from, |end| from + end + 1)
}

fn line_end(text: &[u8], at: usize) -> usize {
    let to = (at + REACH).min(text.len());
    memchr::memchr(b'\n', &text[at..to]).map_or(to, |end| at + end)
}

/// Returns a stretch without its escapes. A line end that was escaped becomes a carriage return, so that lines count on.
pub(in super::super) fn decode(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr::memchr3(b'%', b'\\', b'&', rest) {
        out.extend(&rest[..at]);
        rest = &rest[at..];
        match one(rest) {
            Some((character, length)) => {
                let mut utf8 = [0; 4];
                let character = if character == '\n' { '\r' } else { character };
                out.extend(character.encode_utf8(&mut utf8).as_bytes());
                rest = &rest[length..];
            }
            None => {
                out.push(rest[0]);
                rest = &rest[1..];
            }
        }
    }
    out.extend(rest);
    out
}

/// Returns the character that an escape stands for, and the escape's length.
fn one(text: &[u8]) -> Option<(char, usize)> {
    match text {
        [b'%', rest @ ..] => Some((ascii(number(rest, 2, 16)?)?, 3)),
        [b'\\', b'/', ..] => Some(('/', 2)),
        [b'\\', b'x', rest @ ..] => Some((ascii(number(rest, 2, 16)?)?, 4)),
        [b'\\', b'u', b'{', rest @ ..] => {
            let length = rest.iter().take(7).position(|b| *b == b'}')?;
            Some((char::from_u32(number(rest, length, 16)?)?, length + 4))
        }
        [b'\\', b'u', rest @ ..] => Some((char::from_u32(number(rest, 4, 16)?)?, 6)),
        [b'\\', rest @ ..] => Some((ascii(number(rest, 3, 8)?)?, 4)),
        [b'&', b'#', b'x' | b'X', rest @ ..] => {
            let length = rest.iter().take(7).position(|b| *b == b';')?;
            Some((char::from_u32(number(rest, length, 16)?)?, length + 4))
        }
        [b'&', b'#', rest @ ..] => {
            let length = rest.iter().take(7).position(|b| *b == b';')?;
            Some((char::from_u32(number(rest, length, 10)?)?, length + 3))
        }
        _ if text.starts_with(b"&amp;") => Some(('&', 5)),
        _ if text.starts_with(b"&quot;") => Some(('"', 6)),
        _ => None,
    }
}

fn ascii(value: u32) -> Option<char> {
    char::from_u32(value).filter(char::is_ascii)
}

fn number(text: &[u8], length: usize, base: u32) -> Option<u32> {
    let digits = text.get(..length).filter(|digits| !digits.is_empty())?;
    digits.iter().try_fold(0, |value: u32, digit| {
        let digit = (*digit as char).to_digit(base)?;
        Some(value * base + digit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_of_many_kinds_are_undone() {
        for text in [
            "%61%62c",
            "\\x61b\\x63",
            "\\u0061bc",
            "\\u{61}bc",
            "\\141bc",
            "&#97;&#x62;c",
        ] {
            assert_eq!(decode(text.as_bytes()), b"abc", "{text}");
        }
        assert_eq!(
            decode(b"https:\\/\\/host\\u000a50% &amp; more \\n"),
            b"https://host\r50% & more \\n"
        );
    }

    #[test]
    fn a_stretch_is_the_line_around_its_escapes() {
        let text = b"one\ntwo %41 and %42\nthree\n100%\n";
        let found = stretches(text);
        assert_eq!((found.len(), found[0].clone()), (1, 4..19));
        assert_eq!(stretches(&b"x%41".repeat(1000)).len(), 1);
    }
}
