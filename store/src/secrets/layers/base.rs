//! Base64, base64url and hexadecimal within a text.

use std::ops::Range;

/// Fewest characters of base64 that are looked at: they give 15 bytes.
const MIN_BASE64: usize = 20;
/// Fewest digits of hexadecimal that are looked at.
const MIN_HEX: usize = 32;
/// Fewest characters of a line that the next may continue.
const MIN_WRAPPED: usize = 40;

const NONE: u8 = 0xff;
const BASE64: [u8; 256] = values(true);
const HEX: [u8; 256] = values(false);

const fn values(base64: bool) -> [u8; 256] {
    let mut table = [NONE; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = if base64 {
            match byte as u8 {
                b @ b'A'..=b'Z' => b - b'A',
                b @ b'a'..=b'z' => b - b'a' + 26,
                b @ b'0'..=b'9' => b - b'0' + 52,
                b'+' | b'-' => 62,
                b'/' | b'_' => 63,
                _ => NONE,
            }
        } else {
            match byte as u8 {
                b @ b'0'..=b'9' => b - b'0',
                b @ b'a'..=b'f' => b - b'a' + 10,
                b @ b'A'..=b'F' => b - b'A' + 10,
                _ => NONE,
            }
        };
        byte += 1;
    }
    table
}

/// Calls `each` with every stretch that could be base64 or hexadecimal, and what it stands for.
pub(in super::super) fn decoded(text: &[u8], mut each: impl FnMut(Range<usize>, Vec<u8>)) {
    let mut at = 0;
    while at < text.len() {
        if BASE64[usize::from(text[at])] == NONE {
            at += 1;
            continue;
        }
        let run = run_from(text, at);
        at = run.end.max(at + 1);
        if run.len() < MIN_BASE64 {
            continue;
        }
        let bytes = &text[run.clone()];
        let is_hex = bytes
            .iter()
            .all(|b| HEX[usize::from(*b)] != NONE || is_break(*b));
        if is_hex {
            if run.len() >= MIN_HEX {
                each(run, from_hex(bytes));
            }
        } else {
            each(run, from_base64(bytes));
        }
    }
}

fn is_break(byte: u8) -> bool {
    matches!(byte, b'\r' | b'\n' | b' ' | b'\t' | b'\\' | b'=')
}

/// Returns the stretch that begins at `start`, over line ends behind long lines.
fn run_from(text: &[u8], start: usize) -> Range<usize> {
    let mut end = start;
    loop {
        let line = text[end..]
            .iter()
            .take_while(|b| BASE64[usize::from(**b)] != NONE)
            .count();
        end += line;
        if line < MIN_WRAPPED {
            return start..end;
        }
        let Some(next) = next_line(text, end) else {
            return start..end;
        };
        let goes_on = text[next..]
            .iter()
            .take(4)
            .filter(|b| BASE64[usize::from(**b)] != NONE)
            .count();
        if goes_on < 4 {
            return start..end;
        }
        end = next;
    }
}

/// Returns where the next line begins, behind a line end or a `\n`.
fn next_line(text: &[u8], end: usize) -> Option<usize> {
    let rest = &text[end..];
    let mut at = match rest {
        [b'\r', b'\n', ..] => 2,
        [b'\n', ..] => 1,
        [b'\\', b'n', ..] => return Some(end + 2),
        [b'\\', b'r', b'\\', b'n', ..] => return Some(end + 4),
        _ => return None,
    };
    at += rest[at..]
        .iter()
        .take(24)
        .take_while(|b| matches!(b, b' ' | b'\t'))
        .count();
    Some(end + at)
}

fn from_base64(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() / 4 * 3 + 3);
    let (mut bits, mut held) = (0u32, 0u32);
    for value in digits(bytes, &BASE64) {
        bits = bits << 6 | u32::from(value);
        held += 6;
        if held >= 8 {
            held -= 8;
            out.push((bits >> held) as u8);
            bits &= (1 << held) - 1;
        }
    }
    out
}

fn from_hex(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() / 2);
    let mut high = None;
    for value in digits(bytes, &HEX) {
        match high.take() {
            Some(high) => out.push(high << 4 | value),
            None => high = Some(value),
        }
    }
    out
}

/// Returns what the digits stand for, without line ends; the `n` of a `\n` is none.
fn digits<'b>(bytes: &'b [u8], table: &'static [u8; 256]) -> impl Iterator<Item = u8> + 'b {
    let mut escaped = false;
    bytes.iter().filter_map(move |byte| {
        if std::mem::take(&mut escaped) {
            return None;
        }
        escaped = *byte == b'\\';
        Some(table[usize::from(*byte)]).filter(|value| *value != NONE)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        decoded(text.as_bytes(), |_, bytes| {
            found.push(String::from_utf8_lossy(&bytes).into_owned())
        });
        found
    }

    #[test]
    fn text_is_taken_out_of_base64_and_hexadecimal() {
        let text = "a text of some length, to be wrapped, and then some more of it";
        let base64 = data_encoding::BASE64.encode(text.as_bytes());
        let hex = data_encoding::HEXLOWER.encode(text.as_bytes());
        assert_eq!(all(&format!("x: {base64}\n")), [text]);
        assert_eq!(
            all(&format!(
                "\"{}\"",
                data_encoding::BASE64URL_NOPAD.encode(text.as_bytes())
            )),
            [text]
        );
        assert_eq!(all(&format!("0x {hex}")), [text]);
        for end in ["\n", "\r\n", "\n    ", "\\n"] {
            let wrapped = format!("{}{end}{}", &base64[..48], &base64[48..]);
            assert_eq!(all(&wrapped), [text], "{end:?}");
        }
    }
}
