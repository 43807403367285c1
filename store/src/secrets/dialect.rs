//! Brings regular expressions of Go's dialect (RE2, as gitleaks takes them) into that of the crate `regex`.
//!
//! The two are one language but for what each takes for literal: Go lets a brace stand for itself where it begins no
//! repetition, and `[`, `&&`, `--` and `~~` inside a class; it knows `\Q…\E`; and `\<` is an escaped `<`.

use regex::bytes::{Regex, RegexBuilder, RegexSet, RegexSetBuilder};
use regex_automata::{meta, util::syntax};

/// Bytes that one compiled expression may take.
const SIZE_LIMIT: usize = 64 << 20;

/// Says that an expression is none.
#[derive(Debug, thiserror::Error)]
#[error("the regular expression cannot be compiled: {0}")]
pub struct RegexError(#[source] Box<regex::Error>);

/// Compiles an expression as Go would: `\w`, `\d`, `\b` and case are those of ASCII.
pub(super) fn compile(pattern: &str) -> Result<Regex, RegexError> {
    let translated = translate(pattern);
    in_ascii_or_unicode(|unicode| {
        RegexBuilder::new(&translated)
            .unicode(unicode)
            .octal(true)
            .size_limit(SIZE_LIMIT)
            .build()
    })
    .map_err(|error| RegexError(error.into()))
}

/// Compiles an expression for texts as short as paths: in a part of the time, for a search that takes longer.
pub(super) fn compile_for_paths(pattern: &str) -> Result<meta::Regex, Box<meta::BuildError>> {
    let translated = translate(pattern);
    let form = |unicode| {
        syntax::Config::new()
            .unicode(unicode)
            .utf8(false)
            .octal(true)
    };
    // Without the engines and literals that are worth their building in long texts alone.
    let engines = meta::Config::new()
        .utf8_empty(false)
        .auto_prefilter(false)
        .hybrid(false)
        .dfa(false)
        .onepass(false)
        .nfa_size_limit(Some(SIZE_LIMIT));
    in_ascii_or_unicode(|unicode| {
        meta::Builder::new()
            .syntax(form(unicode))
            .configure(engines.clone())
            .build(&translated)
    })
    .map_err(Box::new)
}

/// Compiles expressions that are looked for together; each of them compiles.
pub(super) fn compile_set<'p>(
    patterns: impl IntoIterator<Item = &'p str>,
) -> Result<RegexSet, RegexError> {
    let translated: Vec<String> = patterns.into_iter().map(translate).collect();
    in_ascii_or_unicode(|unicode| {
        RegexSetBuilder::new(&translated)
            .unicode(unicode)
            .octal(true)
            .size_limit(SIZE_LIMIT)
            .build()
    })
    .map_err(|error| RegexError(error.into()))
}

/// Builds without Unicode mode, and in it where that alone can be: a class with letters beyond ASCII exists nowhere else.
fn in_ascii_or_unicode<T, E>(build: impl Fn(bool) -> Result<T, E>) -> Result<T, E> {
    build(false).or_else(|error| build(true).map_err(|_| error))
}

fn translate(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len() + 8);
    let mut rest = pattern;
    let mut repeatable = false;
    while let Some(c) = rest.chars().next() {
        let next = &rest[c.len_utf8()..];
        match c {
            '\\' => {
                rest = escape(next, &mut out);
                repeatable = true;
                continue;
            }
            '[' => {
                rest = class(next, &mut out);
                repeatable = true;
                continue;
            }
            '{' => match repetition(rest) {
                Some(text) if repeatable => {
                    out.push_str(text);
                    rest = &rest[text.len()..];
                    continue;
                }
                _ => out.push_str("\\{"),
            },
            '}' => out.push_str("\\}"),
            _ => out.push(c),
        }
        repeatable = !matches!(c, '(' | '|' | '^');
        rest = next;
    }
    out
}

/// Returns the repetition that a text begins with: `{2}`, `{2,}`, `{2,4}`.
fn repetition(text: &str) -> Option<&str> {
    let end = text.find('}')?;
    let inner = &text[1..end];
    let (least, most) = inner.split_once(',').unwrap_or((inner, ""));
    let number = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    (!least.is_empty() && number(least) && number(most)).then(|| &text[..=end])
}

/// Writes what follows a backslash; returns the rest.
fn escape<'a>(text: &'a str, out: &mut String) -> &'a str {
    if let Some(quoted) = text.strip_prefix('Q') {
        let (literal, rest) = quoted.split_once("\\E").unwrap_or((quoted, ""));
        out.push_str(&regex::escape(literal));
        return rest;
    }
    let Some(c) = text.chars().next() else {
        out.push('\\');
        return text;
    };
    if !matches!(c, '<' | '>') {
        out.push('\\');
    }
    out.push(c);
    let rest = &text[c.len_utf8()..];
    // The braces of `\x{41}` and `\p{L}` belong to the escape.
    match rest.find('}') {
        Some(end) if matches!(c, 'x' | 'p' | 'P' | 'u') && rest.starts_with('{') => {
            out.push_str(&rest[..=end]);
            &rest[end + 1..]
        }
        _ => rest,
    }
}

/// Writes a class up to its end; returns the rest.
fn class<'a>(text: &'a str, out: &mut String) -> &'a str {
    out.push('[');
    let mut rest = text;
    if let Some(next) = rest.strip_prefix('^') {
        out.push('^');
        rest = next;
    }
    if let Some(next) = rest.strip_prefix(']') {
        out.push_str("\\]");
        rest = next;
    }
    while let Some(c) = rest.chars().next() {
        let next = &rest[c.len_utf8()..];
        match c {
            ']' => {
                out.push(']');
                return next;
            }
            '\\' => {
                rest = escape(next, out);
                continue;
            }
            '[' => match next.strip_prefix(':').and_then(|name| name.find(":]")) {
                Some(end) => {
                    let length = end + 4;
                    out.push_str(&rest[..length]);
                    rest = &rest[length..];
                    continue;
                }
                None => out.push_str("\\["),
            },
            '&' | '~' if next.starts_with(c) => {
                out.push('\\');
                out.push(c);
            }
            '-' if next.starts_with('-') => out.push_str("\\-"),
            _ => out.push(c),
        }
        rest = next;
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finds(pattern: &str, text: &str) -> bool {
        compile(pattern).unwrap().is_match(text.as_bytes())
    }

    #[test]
    fn a_brace_that_repeats_nothing_stands_for_itself() {
        assert!(finds(r"^\${[A-Z_]+}$", "${TOKEN}"));
        assert!(finds(r"^import {[ \w]+} from", "import { a } from"));
        assert!(finds(r"^{{x}}$", "{{x}}"));
        assert!(finds(r"^[a-f]{2,3}$", "abc") && !finds(r"^[a-f]{2,3}$", "a"));
        assert!(finds(r"^\x{41}$", "A"));
    }

    #[test]
    fn a_class_means_what_it_means_to_go() {
        assert!(finds(r"^[[a]$", "[") && finds(r"^[&&b]$", "&"));
        assert!(finds(r"^[[:digit:]_]+$", "12_") && finds(r"^[]a]$", "]"));
        assert!(finds(r"^\<\>$", "<>"));
        assert!(finds(r"^\Qa.b\E+$", "a.bb"));
    }

    #[test]
    fn letters_are_those_of_ascii() {
        assert!(!finds(r"^\w$", "ä") && !finds("(?i)^k$", "\u{212a}"));
        assert!(finds("[ä]", "ä"));
    }

    #[test]
    fn what_is_no_expression_is_an_error() {
        for pattern in ["(", "(?=a)", "a**)", "[a"] {
            assert!(compile(pattern).is_err(), "{pattern}");
        }
    }
}
