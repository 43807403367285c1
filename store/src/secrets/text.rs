//! Looks for secrets in one text: keywords first, then the expressions of their rules.

use std::{
    collections::{BTreeMap, HashMap},
    ops::Range,
};

use super::{
    allowlist::{self, Source},
    assignment,
    check::Check,
    finding::Severity,
    name,
    rule::{Form, Rule},
    rule_set::RuleSet,
    value,
};

/// Longest window that a rule looks at in one go.
const MAX_WINDOW: usize = 16 << 10;
/// Hits in one text after which no more are taken: it is refused long before.
const MAX_HITS: usize = 1_000;

/// Work that a text may cost: so much, and a share of its length. A keyword of a rule costs one.
const MIN_WORK: usize = 3 << 20;
/// What a byte of a window costs.
const WINDOW_WORK: usize = 8;
/// What it costs that a rule judges a value, and how many bytes of it cost one more.
const JUDGED_WORK: usize = 4;
const VALUE_WORK: usize = 8;
/// Bytes before a value in which the quotes of its line are counted.
const MAX_LINE: usize = 4 << 10;
/// What the search for a key's end costs.
const KEY_WORK: usize = 2 << 10;

/// Something that a rule took for a secret.
#[derive(Clone)]
pub(super) struct Hit {
    /// Place of the rule in its set.
    pub(super) rule: usize,
    /// How much it weighs.
    pub(super) severity: Severity,
    /// Where the secret lies.
    pub(super) secret: Range<usize>,
    /// Where all that was matched lies.
    pub(super) whole: Range<usize>,
}

/// Which rules are asked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ask {
    /// All.
    All,
    /// Those alone that know a value by its own form, for text whose order is not that of a file.
    Tokens,
}

/// What was found in a text.
pub(super) struct Found {
    /// In the order of the text, the weightier where two lie at one place.
    pub(super) hits: Vec<Hit>,
    /// It is made to cost more than a text of its length may, and was not read to its end.
    pub(super) gave_up: bool,
}

/// Returns what the rules find in a text.
pub(super) fn hits(rules: &RuleSet, text: &[u8], source: &Source<'_>, ask: Ask) -> Found {
    let mut scan = TextScan {
        rules,
        text,
        source,
        ask,
        seen_until: HashMap::new(),
        windows: BTreeMap::new(),
        assigned: HashMap::new(),
        named: (0..0, Vec::new()),
        sealed: None,
        in_path: Vec::new(),
        work: MIN_WORK + text.len() / 4,
        hits: Vec::new(),
    };
    scan.follow_keywords();
    if ask == Ask::All {
        for rule in &rules.always {
            scan.windows.entry(*rule).or_default();
        }
    }
    scan.search_windows();
    let gave_up = scan.work == 0;
    let mut hits = scan.hits;
    required(rules, text, &mut hits);
    hits.retain(|hit| !rules.rule(hit.rule).silent);
    weightier(rules, &mut hits);
    Found { hits, gave_up }
}

struct TextScan<'a> {
    rules: &'a RuleSet,
    text: &'a [u8],
    source: &'a Source<'a>,
    ask: Ask,
    /// Where the last value of a rule ended: what begins within it is none of its own.
    seen_until: HashMap<usize, usize>,
    /// Where rules look that look around their keyword; empty for all of the text.
    windows: BTreeMap<usize, Vec<Range<usize>>>,
    /// Where the last value began that a rule judged.
    assigned: HashMap<usize, usize>,
    /// What was said of the last name, by check.
    named: (Range<usize>, Vec<(Check, bool)>),
    /// Whether the text holds encrypted values; found out when it is first asked.
    sealed: Option<bool>,
    /// For each rule whether it speaks of this path; found out when it is first asked.
    in_path: Vec<Option<bool>>,
    /// What the text may still cost.
    work: usize,
    hits: Vec<Hit>,
}

impl TextScan<'_> {
    fn follow_keywords(&mut self) {
        let rules = self.rules;
        let mut last_name: Option<(Range<usize>, Option<assignment::Assignment>)> = None;
        for (keyword, of_keyword) in rules.keywords.in_text(self.text) {
            if self.hits.len() >= MAX_HITS || self.work == 0 {
                return;
            }
            for at in of_keyword {
                let form = rules.form(*at);
                // What no value begins with costs nearly nothing: a file full of zeros is no work.
                if !matches!(form, Form::Token { .. }) {
                    self.work = self.work.saturating_sub(1);
                }
                match form {
                    Form::Token { after } => self.token(*at, keyword.clone(), after),
                    Form::Near { before, after } => self.near(*at, &keyword, before, after),
                    Form::Text => {
                        if self.ask == Ask::All {
                            self.windows.entry(*at).or_default();
                        }
                    }
                    Form::Assigned => {
                        if self.ask != Ask::All {
                            continue;
                        }
                        let same = last_name
                            .as_ref()
                            .is_some_and(|(range, _)| *range == keyword);
                        if !same {
                            let made = assignment::around(self.text, keyword.clone());
                            last_name = Some((keyword.clone(), made));
                        }
                        if let Some((_, Some(found))) = &last_name {
                            self.assignment(*at, found);
                        }
                    }
                }
            }
        }
    }

    /// A rule that begins with its keyword: nothing of a word may stand before it.
    fn token(&mut self, at: usize, keyword: Range<usize>, after: usize) {
        let start = keyword.start;
        if self.seen_until.get(&at).is_some_and(|until| start < *until)
            || !begins_here(self.text, start)
        {
            return;
        }
        let rule = self.rules.rule(at);
        if !self.speaks_of(at, rule) {
            return;
        }
        self.work = self.work.saturating_sub(1);
        let end = (start + after.max(keyword.len() + 8)).min(self.text.len());
        let window = &self.text[start..end];
        let Some(regex) = rule.regex.as_ref().and_then(|lazy| lazy.get()) else {
            return;
        };
        let Some(found) = regex.find(window) else {
            return;
        };
        let whole = start..start + found.end();
        self.seen_until.insert(at, whole.end);
        let goes_on = self
            .text
            .get(whole.end)
            .is_some_and(u8::is_ascii_alphanumeric)
            && self.text[whole.end - 1].is_ascii_alphanumeric();
        if goes_on && rule.check.is_token() {
            return;
        }
        let secret = if regex.captures_len() > 1 {
            regex
                .captures(window)
                .and_then(|groups| group(rule, &groups))
                .map_or(whole.clone(), |range| {
                    start + range.start..start + range.end
                })
        } else {
            whole.clone()
        };
        self.judge(at, rule, secret, whole);
    }

    fn near(&mut self, at: usize, keyword: &Range<usize>, before: usize, after: usize) {
        if !self.speaks_of(at, self.rules.rule(at)) {
            return;
        }
        let start = keyword.start.saturating_sub(before);
        let end = (keyword.end + after).min(self.text.len());
        let windows = self.windows.entry(at).or_default();
        match windows.last_mut() {
            Some(last) if start <= last.end && end - last.start <= MAX_WINDOW => last.end = end,
            _ => windows.push(start..end),
        }
    }

    fn assignment(&mut self, at: usize, found: &assignment::Assignment) {
        let rule = self.rules.rule(at);
        if !self.speaks_of(at, rule) {
            return;
        }
        // One name may hold a keyword twice.
        if self.assigned.insert(at, found.value.start) == Some(found.value.start) {
            return;
        }
        let work = JUDGED_WORK + found.value.len() / VALUE_WORK;
        self.work = self.work.saturating_sub(work);
        let name = &self.text[found.name.clone()];
        let wanted = match &rule.name {
            Some(lazy) => lazy.get().is_some_and(|regex| regex.is_match(name)),
            None => true,
        };
        if !wanted || rule.check.asks_name() && !self.says_secret(&found.name, rule.check) {
            return;
        }
        let value = &self.text[found.value.clone()];
        let fits = match &rule.regex {
            Some(lazy) => lazy.get().is_some_and(|regex| regex.is_match(value)),
            None => true,
        };
        let code = rule.check.asks_name() && !found.quoted && is_code(value, self.source);
        if fits && !code && !value::is_reference(value) {
            self.judge(
                at,
                rule,
                found.value.clone(),
                found.name.start..found.value.end,
            );
        }
    }

    /// Tells whether a secret would be kept under a name, which many rules ask of one name in turn.
    fn says_secret(&mut self, name: &Range<usize>, check: Check) -> bool {
        if self.named.0 != *name {
            self.named = (name.clone(), Vec::new());
        }
        let known = self.named.1.iter().find(|(known, _)| *known == check);
        if let Some((_, said)) = known {
            return *said;
        }
        let said = name::says_secret(&self.text[name.clone()], check);
        self.named.1.push((check, said));
        said
    }

    fn speaks_of(&mut self, at: usize, rule: &Rule) -> bool {
        if rule.path.is_none() {
            return true;
        }
        self.in_path.resize(self.rules.len(), None);
        *self.in_path[at].get_or_insert_with(|| self.source.is_in(rule))
    }

    /// Tells whether what the text holds under names of secrets is encrypted already.
    fn is_sealed(&mut self) -> bool {
        let text = self.text;
        *self.sealed.get_or_insert_with(|| {
            [&b"SealedSecret"[..], b"encryptedData:"]
                .iter()
                .any(|word| memchr::memmem::find(text, word).is_some())
        })
    }

    fn search_windows(&mut self) {
        for (at, windows) in std::mem::take(&mut self.windows) {
            let rule = self.rules.rule(at);
            if !self.speaks_of(at, rule) {
                continue;
            }
            let all = std::iter::once(0..self.text.len());
            match rule.form {
                Form::Near { .. } => windows
                    .into_iter()
                    .for_each(|window| self.search(at, rule, window)),
                _ => all.for_each(|window| self.search(at, rule, window)),
            }
        }
    }

    fn search(&mut self, at: usize, rule: &Rule, window: Range<usize>) {
        let Some(regex) = rule.regex.as_ref().and_then(|lazy| lazy.get()) else {
            return;
        };
        if matches!(rule.form, Form::Near { .. }) {
            self.work = self.work.saturating_sub(window.len() * WINDOW_WORK);
            if self.work == 0 {
                return;
            }
        }
        let offset = window.start;
        for groups in regex.captures_iter(&self.text[window]) {
            if self.hits.len() >= MAX_HITS {
                return;
            }
            let Some(all) = groups.get(0).filter(|all| !all.is_empty()) else {
                continue;
            };
            let whole = offset + all.start()..offset + all.end();
            let Some(secret) = group(rule, &groups) else {
                continue;
            };
            self.judge(at, rule, offset + secret.start..offset + secret.end, whole);
        }
    }

    fn judge(&mut self, at: usize, rule: &Rule, secret: Range<usize>, whole: Range<usize>) {
        let bytes = &self.text[secret.clone()];
        if rule.entropy > 0.0 && value::entropy(bytes) <= rule.entropy {
            return;
        }
        // In a program, what no quotes stand around is no text.
        let bare = matches!(rule.form, Form::Token { .. })
            && self.source.is_program()
            && !is_quoted(self.text, &secret);
        if rule.check == Check::Generic && (bare || self.is_sealed()) {
            return;
        }
        if rule.check == Check::Pem {
            self.work = self.work.saturating_sub(KEY_WORK);
        }
        let Some((severity, found)) = rule.check.judge(self.text, secret.clone(), rule.severity)
        else {
            return;
        };
        let whole = whole.start.min(found.start)..whole.end.max(found.end);
        if allowlist::lets_through(self.rules, rule, self.text, &secret, &whole, self.source) {
            return;
        }
        self.hits.push(Hit {
            rule: at,
            severity,
            secret: found,
            whole,
        });
    }
}

/// Returns the group that holds the secret: the one that the rule names, else the first that matched, else all.
fn group(rule: &Rule, groups: &regex::bytes::Captures<'_>) -> Option<Range<usize>> {
    let range = |found: regex::bytes::Match<'_>| found.start()..found.end();
    if rule.secret_group > 0 {
        return groups.get(rule.secret_group).map(range);
    }
    let mut inner = groups
        .iter()
        .skip(1)
        .flatten()
        .filter(|found| !found.is_empty());
    inner.next().or(groups.get(0)).map(range)
}

/// Tells whether a token can begin at a place: behind a letter or digit only where that belongs to an escape.
fn begins_here(text: &[u8], at: usize) -> bool {
    let before = &text[at.saturating_sub(6)..at];
    let first = text[at];
    if !first.is_ascii_alphanumeric() {
        return true;
    }
    match before.last() {
        Some(last) if last.is_ascii_alphanumeric() => {
            let escape = |length: usize, mark: &[u8]| {
                before
                    .len()
                    .checked_sub(length)
                    .is_some_and(|start| before[start..].starts_with(mark))
            };
            escape(2, b"\\")
                || escape(3, b"%")
                || escape(4, b"\\x")
                || escape(6, b"\\u")
                || is_flag(before)
        }
        _ => true,
    }
}

/// `-pVALUE`, `-uVALUE`: a flag and its value in one word.
fn is_flag(before: &[u8]) -> bool {
    let Some(dash) = before.len().checked_sub(2) else {
        return false;
    };
    before[dash] == b'-'
        && dash
            .checked_sub(1)
            .is_none_or(|at| before[at].is_ascii_whitespace())
}

/// Tells whether a bare value is an expression of a programming language: a call, a path of names, an index.
fn is_code(value: &[u8], source: &Source<'_>) -> bool {
    let has = |byte: u8| value.contains(&byte);
    if has(b'(') || has(b'[') && has(b']') {
        return true;
    }
    if !source.is_program() {
        return false;
    }
    // In a program a value without quotes is a name or a number.
    true
}

/// Tells whether a quote stands before or behind a value, or before its line's first word.
fn is_quoted(text: &[u8], value: &Range<usize>) -> bool {
    let quote = |b: &u8| matches!(b, b'"' | b'\'' | b'`');
    let before = &text[value.start.saturating_sub(MAX_LINE)..value.start];
    let start = memchr::memrchr(b'\n', before).map_or(0, |end| end + 1);
    let line = &before[start..];
    line.iter().filter(|b| quote(b)).count() % 2 == 1 || line.trim_ascii_start().starts_with(b"//")
}

/// Drops hits of rules that need another's hit near and have none.
fn required(rules: &RuleSet, text: &[u8], hits: &mut Vec<Hit>) {
    if hits
        .iter()
        .all(|hit| rules.rule(hit.rule).required.is_empty())
    {
        return;
    }
    let all = hits.clone();
    hits.retain(|hit| {
        let needs = &rules.rule(hit.rule).required;
        needs.iter().all(|need| {
            all.iter()
                .filter(|other| other.rule == need.rule)
                .any(|other| {
                    let between = other.whole.start.min(hit.whole.start)
                        ..other.whole.start.max(hit.whole.start);
                    let lines = memchr::memchr_iter(b'\n', &text[between]).count() as u64;
                    let column = |at: usize| {
                        let start = memchr::memrchr(b'\n', &text[..at]).map_or(0, |end| end + 1);
                        (at - start) as u64
                    };
                    need.lines.is_none_or(|most| lines <= most)
                        && need.columns.is_none_or(|most| {
                            column(other.whole.start).abs_diff(column(hit.whole.start)) <= most
                        })
                })
        })
    });
}

/// Of several hits at one place keeps the weightiest, and of these the one that knows most.
fn weightier(rules: &RuleSet, hits: &mut Vec<Hit>) {
    let generic = |hit: &Hit| rules.rule(hit.rule).id.starts_with("generic");
    hits.sort_by_key(|hit| {
        (
            std::cmp::Reverse(hit.severity),
            generic(hit),
            std::cmp::Reverse(hit.secret.len()),
            hit.secret.start,
            hit.rule,
        )
    });
    let mut kept: Vec<Hit> = Vec::new();
    for hit in hits.drain(..) {
        let overlaps = |other: &Hit| {
            other.secret.start < hit.secret.end && hit.secret.start < other.secret.end
        };
        if !kept.iter().any(overlaps) {
            kept.push(hit);
        }
    }
    kept.sort_by_key(|hit| hit.secret.start);
    *hits = kept;
}
