//! What lets findings through: allowlists of a gitleaks configuration, and the path that a rule is bound to.

use std::ops::Range;

use gix::bstr::{BStr, BString, ByteSlice};

use super::{
    finding::Severity,
    pattern::{Lazy, PathPattern},
    rule::{Allowlist, Rule, Target},
    rule_set::RuleSet,
};

/// Where a text comes from.
pub(super) struct Source<'a> {
    /// Path, or what stands for one.
    pub(super) path: &'a BStr,
    /// Commit that brings it, in hexadecimal.
    pub(super) commit: Option<&'a str>,
}

/// Endings of files of programming languages in which a text stands in quotes.
const PROGRAMS: &[&str] = &[
    "c", "cc", "cpp", "cxx", "h", "hh", "hpp", "hxx", "rs", "go", "java", "kt", "kts", "scala",
    "swift", "m", "mm", "cs", "fs", "vb", "py", "pyi", "pyx", "rb", "js", "jsx", "mjs", "cjs",
    "ts", "tsx", "mts", "cts", "vue", "svelte", "php", "pl", "pm", "lua", "dart", "ex", "exs",
    "erl", "hrl", "hs", "ml", "mli", "clj", "cljs", "groovy", "gradle", "zig", "nim", "jl", "r",
    "sol", "d", "pas", "el", "lisp", "scm", "coffee", "map", "asm", "s", "css", "scss", "less",
    "wasm", "proto",
];

impl Source<'_> {
    /// Tells whether a rule speaks of files of this path.
    pub(super) fn is_in(&self, rule: &Rule) -> bool {
        match &rule.path {
            Some(path) => self.matches(path),
            None => true,
        }
    }

    /// Tells whether an expression matches the path.
    pub(super) fn matches(&self, path: &PathPattern) -> bool {
        path.is_match(self.slashes().as_ref())
    }

    /// Tells whether it is a file of a programming language.
    pub(super) fn is_program(&self) -> bool {
        let name = self.path.rsplit(|b| *b == b'/').next().unwrap_or(self.path);
        let Some(dot) = name.iter().rposition(|b| *b == b'.') else {
            return false;
        };
        let ending = name[dot + 1..].to_ascii_lowercase();
        PROGRAMS.iter().any(|program| program.as_bytes() == ending)
    }

    /// Returns the path with slashes alone.
    pub(super) fn slashes(&self) -> BString {
        self.path.replace(b"\\", b"/").into()
    }
}

/// Tells whether an allowlist of the rule or of its file lets a finding through.
pub(super) fn lets_through(
    rules: &RuleSet,
    rule: &Rule,
    text: &[u8],
    secret: &Range<usize>,
    whole: &Range<usize>,
    source: &Source<'_>,
) -> bool {
    let general = rules.allowlists.iter().filter(|list| list.is_of(rule));
    // No path is passed over by a rule of ours that blocks.
    let by_path = !(rule.form.is_own() && rule.severity == Severity::Block);
    let secret = &text[secret.clone()];
    let found = Found {
        secret,
        matched: text[whole.clone()].trim_with(|c| c == '\n'),
        line: line_of(text, whole),
        source,
    };
    rule.allowlists
        .iter()
        .any(|list| found.is_let_by(list, true))
        || general
            .into_iter()
            .any(|list| found.is_let_by(list, by_path))
}

struct Found<'a> {
    secret: &'a [u8],
    matched: &'a [u8],
    line: &'a [u8],
    source: &'a Source<'a>,
}

impl Found<'_> {
    fn is_let_by(&self, list: &Allowlist, by_path: bool) -> bool {
        let target = match list.target {
            Target::Secret => self.secret,
            Target::Match => self.matched,
            Target::Line => self.line,
        };
        let matches =
            |lazy: &Lazy, bytes: &[u8]| lazy.get().is_some_and(|regex| regex.is_match(bytes));
        let lower = self.secret.to_ascii_lowercase();
        let parts = [
            (!list.commits.is_empty()).then(|| {
                list.commits
                    .iter()
                    .any(|commit| self.source.commit == Some(commit.as_str()))
            }),
            (!list.paths.is_empty())
                .then(|| by_path && list.paths.iter().any(|path| self.source.matches(path))),
            (!list.regexes.is_empty())
                .then(|| list.regexes.iter().any(|lazy| matches(lazy, target))),
            (!list.stopwords.is_empty())
                .then(|| list.stopwords.iter().any(|word| lower.contains_str(word))),
        ];
        let mut parts = parts.into_iter().flatten();
        if list.all {
            parts.all(|holds| holds)
        } else {
            parts.any(|holds| holds)
        }
    }
}

/// Returns the lines that a match lies on.
fn line_of<'t>(text: &'t [u8], whole: &Range<usize>) -> &'t [u8] {
    let start = memchr::memrchr(b'\n', &text[..whole.start]).map_or(0, |end| end + 1);
    let end = memchr::memchr(b'\n', &text[whole.end..]).map_or(text.len(), |end| whole.end + end);
    &text[start..end]
}
