//! Finds the value that is assigned to a name, in whatever language: `NAME=value`, `"name": "value"`,
//! `name: &str = "value"`, `set("name", "value")`, `<name>value</name>`, `key="name" value="value"`, `--name value`.

use std::ops::Range;

/// Longest name, to either side of its keyword.
const MAX_NAME: usize = 80;
/// Longest value that is looked at.
const MAX_VALUE: usize = 4_096;

/// A name and the value that is given to it.
pub(super) struct Assignment {
    /// Where the name lies.
    pub(super) name: Range<usize>,
    /// Where the value lies, without quotes.
    pub(super) value: Range<usize>,
    /// The value stands in quotes.
    pub(super) quoted: bool,
}

/// Reads the assignment whose name holds `keyword`, if there is one.
pub(super) fn around(text: &[u8], keyword: Range<usize>) -> Option<Assignment> {
    let name = name_around(text, keyword);
    let mut at = name.end;
    let quoted_name = at_quote(text, at).inspect(|length| at += length).is_some();
    while matches!(text.get(at), Some(b']' | b')' | b'?' | b'!')) {
        at += 1;
    }
    let dashes = text[name.clone()].starts_with(b"--");
    let after_name = at;
    at = skip_blank(text, at);
    let value_at = match text.get(at)? {
        b'=' => after_equals(text, at + 1),
        b':' => after_colon(text, at + 1),
        b',' if quoted_name => skip_space(text, at + 1),
        b'(' if !quoted_name => at_quote(text, at + 1).map(|_| at + 1)?,
        b'>' if text.get(name.start.wrapping_sub(1)) == Some(&b'<') => at + 1,
        b'-' if text[at..].starts_with(b"->") => skip_blank(text, at + 2),
        b'v' | b'V' if quoted_name => after_value_attribute(text, at)?,
        _ if at > after_name && (dashes || is_defined(text, name.start)) => at,
        b'"' | b'\'' if at > after_name => at,
        _ => return None,
    };
    let (value, quoted) = value_from(text, value_at)?;
    Some(Assignment {
        name,
        value,
        quoted,
    })
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_.-$".contains(&byte)
}

fn name_around(text: &[u8], keyword: Range<usize>) -> Range<usize> {
    let mut start = keyword.start;
    while start > 0 && keyword.start - start < MAX_NAME && is_name(text[start - 1]) {
        start -= 1;
    }
    // The `n` of a `\n` before the name is none of it.
    if start > 0
        && text[start - 1] == b'\\'
        && start < keyword.start
        && matches!(text[start], b'n' | b't' | b'r')
    {
        start += 1;
    }
    let mut end = keyword.end;
    while end < text.len() && end - keyword.end < MAX_NAME && is_name(text[end]) {
        end += 1;
    }
    start..end
}

/// Returns the length of a quote at a place; one that is escaped counts with its backslashes.
fn at_quote(text: &[u8], at: usize) -> Option<usize> {
    let rest = text.get(at..)?;
    if rest.starts_with(b"&quot;") {
        return Some(6);
    }
    let slashes = rest.iter().take(4).take_while(|b| **b == b'\\').count();
    matches!(rest.get(slashes), Some(b'"' | b'\'' | b'`')).then_some(slashes + 1)
}

fn skip_blank(text: &[u8], mut at: usize) -> usize {
    let end = (at + 40).min(text.len());
    while at < end && matches!(text[at], b' ' | b'\t') {
        at += 1;
    }
    at
}

/// Skips line ends too: the value may stand on the next line.
fn skip_space(text: &[u8], mut at: usize) -> usize {
    let end = (at + 80).min(text.len());
    while at < end && text[at].is_ascii_whitespace() {
        at += 1;
    }
    at
}

/// `=`, `==`, `=>`, `=~`; the value in quotes may begin on the next line.
fn after_equals(text: &[u8], mut at: usize) -> usize {
    while matches!(text.get(at), Some(b'=' | b'>' | b'~')) {
        at += 1;
    }
    on_next_line(text, at)
}

fn on_next_line(text: &[u8], at: usize) -> usize {
    let here = skip_blank(text, at);
    let mut next = skip_space(text, at);
    if text.get(next) == Some(&b'(') {
        next = skip_space(text, next + 1);
    }
    if next > here && at_quote(text, next).is_some() {
        next
    } else {
        here
    }
}

/// `:`, `:=`, `::=`, and types between: `: &'static str =`, `: Optional[str] =`.
fn after_colon(text: &[u8], mut at: usize) -> usize {
    while matches!(text.get(at), Some(b':' | b'=')) {
        at += 1;
    }
    let value = skip_blank(text, at);
    let kind = text.get(value..).unwrap_or(b"");
    let length = kind
        .iter()
        .take(40)
        .take_while(|b| b.is_ascii_alphanumeric() || b" &'<>[]|?._".contains(b))
        .count();
    let typed = kind.get(length) == Some(&b'=')
        && kind
            .first()
            .is_some_and(|b| b.is_ascii_alphabetic() || *b == b'&')
        && kind[..length].ends_with(b" ");
    if typed {
        return after_equals(text, value + length + 1);
    }
    // Tags and marks of YAML: `!!str`, `&anchor`.
    if kind.starts_with(b"!!") {
        let tag = kind
            .iter()
            .take(24)
            .take_while(|b| !b.is_ascii_whitespace());
        return skip_blank(text, value + tag.count());
    }
    on_next_line(text, at)
}

/// `"name" value="…"`, as in XML.
fn after_value_attribute(text: &[u8], at: usize) -> Option<usize> {
    let rest = text.get(at..at + 5)?;
    if !rest.eq_ignore_ascii_case(b"value") {
        return None;
    }
    let equals = skip_blank(text, at + 5);
    (text.get(equals) == Some(&b'=')).then(|| skip_blank(text, equals + 1))
}

/// Tells whether `#define`, `set` or their like stand before the name.
fn is_defined(text: &[u8], name: usize) -> bool {
    let line = &text[name.saturating_sub(24)..name];
    let before = line.trim_ascii_end();
    line.len() > before.len()
        && [&b"define"[..], b"ENV", b"ARG", b"setenv", b"set", b"SET"]
            .iter()
            .any(|word| before.ends_with(word))
}

fn value_from(text: &[u8], mut at: usize) -> Option<(Range<usize>, bool)> {
    // Prefixes of literals: `b"…"`, `r"…"`, `f"…"`, `@"…"`, and calls such as `String::from("…")`.
    let prefix = text
        .get(at..)?
        .iter()
        .take(2)
        .take_while(|b| b"bBrRuUfF@L".contains(b))
        .count();
    if prefix > 0 && at_quote(text, at + prefix).is_some() {
        at += prefix;
    }
    let end = (at + MAX_VALUE).min(text.len());
    if let Some(length) = at_quote(text, at) {
        let open = &text[at..at + length];
        let mut start = at + length;
        // Three quotes in a row are one.
        if text[start..].starts_with(open) && text[start + length..].starts_with(open) {
            start += 2 * length;
        }
        let close = closing(&text[start..end.max(start)], open)?;
        return Some((start..start + close, true));
    }
    let mut value = at..at;
    while value.end < end && !ends_value(&text[value.end..end]) {
        value.end += 1;
    }
    (!value.is_empty()).then_some((value, false))
}

/// Tells whether a value without quotes ends before a text: at a blank, a sign, a `\n`, the next parameter of a query.
fn ends_value(text: &[u8]) -> bool {
    match text[0] {
        b'"' | b'\'' | b'`' | b'<' | b'>' | b';' | b',' | b')' | b'}' => true,
        b'\\' => text.get(1) == Some(&b'n'),
        b'&' => {
            let name = text[1..].iter().take_while(|b| is_name(**b)).count();
            name > 0 && text.get(name + 1) == Some(&b'=')
        }
        byte => byte.is_ascii_whitespace(),
    }
}

fn closing(text: &[u8], open: &[u8]) -> Option<usize> {
    let mut at = 0;
    while at < text.len() {
        if text[at] == b'\n' {
            return None;
        }
        if text[at..].starts_with(open) {
            return Some(at);
        }
        at += if text[at] == b'\\' && open.len() == 1 {
            2
        } else {
            1
        };
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Option<&str> {
        let start = text.find("key").unwrap();
        around(text.as_bytes(), start..start + 3).map(|found| &text[found.value])
    }

    #[test]
    fn a_value_is_found_in_many_languages() {
        for text in [
            "key=abc",
            "export API_key=abc",
            "my.key = abc\n",
            "\"key\": \"abc\"",
            "'key' => 'abc'",
            "const key: &'static str = \"abc\";",
            "key: Optional[str] = \"abc\"",
            "key := `abc`",
            "set(\"key\", \"abc\")",
            "withkey(\"abc\")",
            "<key>abc</key>",
            "<add key=\"my.key\" value=\"abc\" />".trim_start_matches("<add key=\"my."),
            "#define key \"abc\"",
            "--key abc",
            "config[\"key\"] = \"abc\"",
            "{\\\"key\\\": \\\"abc\\\"}",
            "key = (\n    \"abc\"",
            "key=abc\\nother=1",
            "&quot;key&quot;: &quot;abc&quot;",
            "key = b\"abc\"",
            "user=ann&key=abc&page=2",
        ] {
            assert_eq!(value(text), Some("abc"), "{text}");
        }
    }

    #[test]
    fn what_is_no_assignment_has_no_value() {
        for text in [
            "a key word",
            "key",
            "key(abc)",
            "key)",
            "key = \"abc\n",
            "key,abc",
        ] {
            assert_eq!(value(text), None, "{text}");
        }
    }
}
