//! As much of CDDL as tells which keys a map has: rules by name, and maps with one key a line.

use std::collections::{BTreeMap, BTreeSet};

use crate::contract::Value;

/// The rules of a CDDL text.
pub(super) struct Grammar {
    rules: BTreeMap<String, Rule>,
    seen: BTreeSet<String>,
}

/// A map with the type of each key, or the names that another type refers to.
enum Rule {
    Map(BTreeMap<String, String>),
    Open,
    Other(String),
}

impl Grammar {
    pub(super) fn parse(text: &str) -> Self {
        let mut rules = BTreeMap::new();
        let clean: Vec<&str> = text.lines().map(without_comment).collect();
        let mut lines = clean.iter().peekable();
        while let Some(line) = lines.next() {
            let Some((name, body)) = line.split_once(" = ") else {
                assert!(line.is_empty(), "not a rule: {line}");
                continue;
            };
            let name = name.split('<').next().unwrap().to_string();
            let rule = if body == "{" {
                let body = lines.by_ref().take_while(|line| **line != "}");
                map(&body.copied().collect::<Vec<_>>())
            } else {
                let mut body = body.to_string();
                while let Some(more) = lines.next_if(|line| line.starts_with(' ')) {
                    body.push_str(more);
                }
                Rule::Other(body)
            };
            assert!(
                rules.insert(name.clone(), rule).is_none(),
                "{name} stands twice"
            );
        }
        Grammar {
            rules,
            seen: BTreeSet::new(),
        }
    }

    /// Checks that every map in a value has exactly the keys of a map that its type can be.
    pub(super) fn check(&mut self, expression: &str, value: &Value, at: &str) {
        match value {
            Value::List(entries) => {
                for (n, entry) in entries.iter().enumerate() {
                    self.check(expression, entry, &format!("{at}[{n}]"));
                }
            }
            Value::Map(fields) => {
                let mut candidates = BTreeSet::new();
                self.maps(expression, &mut candidates);
                let keys: Vec<&String> = fields.keys().collect();
                let fits = |name: &&String| match &self.rules[*name] {
                    Rule::Map(types) => types.keys().collect::<Vec<_>>() == keys,
                    Rule::Open => true,
                    Rule::Other(_) => false,
                };
                let found = candidates.iter().find(fits).cloned();
                let name =
                    found.unwrap_or_else(|| panic!("{at}: {keys:?} is none of {candidates:?}"));
                self.seen.insert(name.clone());
                let Rule::Map(types) = &self.rules[&name] else {
                    return;
                };
                for (key, expression) in types.clone() {
                    self.check(&expression, &fields[&key], &format!("{at}.{key}"));
                }
            }
            _ => {}
        }
    }

    /// Collects the maps that an expression can be, through other rules.
    fn maps(&self, expression: &str, found: &mut BTreeSet<String>) {
        let word = |c: char| c.is_ascii_alphanumeric() || c == '-';
        for name in expression.split(|c| !word(c)) {
            match self.rules.get(name) {
                Some(Rule::Map(_) | Rule::Open) => {
                    found.insert(name.into());
                }
                Some(Rule::Other(body)) => self.maps(body, found),
                None => {}
            }
        }
    }

    /// Returns the keys of all maps.
    pub(super) fn keys(&self) -> BTreeSet<&str> {
        let mut keys = BTreeSet::new();
        for rule in self.rules.values() {
            if let Rule::Map(types) = rule {
                keys.extend(types.keys().map(String::as_str));
            }
        }
        keys
    }

    /// Returns the maps that no value had.
    pub(super) fn unused(&self) -> Vec<&str> {
        let map = |(name, rule): (&'_ String, &Rule)| {
            matches!(rule, Rule::Map(_)) && !self.seen.contains(name)
        };
        self.rules
            .iter()
            .filter(|entry| map(*entry))
            .map(|(name, _)| name.as_str())
            .collect()
    }
}

fn map(lines: &[&str]) -> Rule {
    let mut fields = BTreeMap::new();
    for line in lines
        .iter()
        .map(|line| line.trim())
        .filter(|line| !line.is_empty())
    {
        if line.starts_with('*') {
            return Rule::Open;
        }
        let (key, body) = line
            .split_once(": ")
            .unwrap_or_else(|| panic!("not a key: {line}"));
        fields.insert(key.into(), body.into());
    }
    Rule::Map(fields)
}

fn without_comment(line: &str) -> &str {
    line.split(';').next().unwrap_or_default().trim_end()
}
