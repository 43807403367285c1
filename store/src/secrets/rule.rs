//! One rule, made of what a rule file says.

use std::sync::Arc;

use super::{
    check::Check,
    config::{AllowlistConfig, RuleConfig},
    dialect,
    finding::Severity,
    pattern::{Lazy, Origin, PathPattern},
};

/// How far before and behind its keyword one of our own rules looks, in bytes, unless it says otherwise.
const REACH: (usize, usize) = (96, 512);

/// One rule.
pub(super) struct Rule {
    pub(super) id: Arc<str>,
    pub(super) severity: Severity,
    pub(super) regex: Option<Lazy>,
    pub(super) path: Option<PathPattern>,
    pub(super) secret_group: usize,
    pub(super) entropy: f64,
    pub(super) allowlists: Vec<Allowlist>,
    pub(super) required: Vec<Required>,
    pub(super) check: Check,
    /// Where it looks.
    pub(super) form: Form,
    /// What the name before an assigned value must be.
    pub(super) name: Option<Lazy>,
    /// It only helps other rules.
    pub(super) silent: bool,
}

/// Where a rule looks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    /// At its keyword, which begins the value: `after` bytes from there.
    Token { after: usize },
    /// At the value that is assigned to a name that holds its keyword.
    Assigned,
    /// Around its keyword.
    Near { before: usize, after: usize },
    /// At all of the text, as gitleaks does.
    Text,
}

impl Form {
    /// Returns what a rule file says: the name of a form, and how far it looks before and behind its keyword.
    pub(super) fn new(
        origin: Origin,
        name: Option<&str>,
        before: Option<usize>,
        after: Option<usize>,
    ) -> Result<Self, String> {
        let after = after.unwrap_or(REACH.1);
        match (origin, name) {
            (Origin::Others, _) | (_, Some("text")) => Ok(Form::Text),
            (_, None | Some("token")) => Ok(Form::Token { after }),
            (_, Some("assigned")) => Ok(Form::Assigned),
            (_, Some("near")) => Ok(Form::Near {
                before: before.unwrap_or(REACH.0),
                after,
            }),
            _ => Err("its `form` is unknown".into()),
        }
    }

    /// Tells whether the rule is one of ours.
    pub(super) fn is_own(self) -> bool {
        self != Form::Text
    }
}

/// Another rule that must have found something near.
pub(super) struct Required {
    pub(super) rule: usize,
    pub(super) lines: Option<u64>,
    pub(super) columns: Option<u64>,
}

/// What lets findings through.
pub(super) struct Allowlist {
    pub(super) all: bool,
    pub(super) commits: Vec<String>,
    pub(super) paths: Vec<PathPattern>,
    pub(super) regexes: Vec<Lazy>,
    pub(super) target: Target,
    pub(super) stopwords: Vec<String>,
    pub(super) target_rules: Vec<String>,
}

/// What the expressions of an allowlist look at.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    Secret,
    Match,
    Line,
}

impl Rule {
    /// Makes a rule of what its file says.
    pub(super) fn new(origin: Origin, rule: &RuleConfig) -> Result<Self, String> {
        if rule.id.is_empty() {
            return Err("a rule has no id".into());
        }
        let assigned = origin == Origin::Own && rule.form.as_deref() == Some("assigned");
        if rule.regex.is_none() && rule.path.is_none() && !assigned {
            return Err("it has neither `regex` nor `path`".into());
        }
        let severity = match rule.severity.as_deref() {
            None | Some("block") => Severity::Block,
            Some("warn") => Severity::Warn,
            Some(_) => return Err("`severity` is neither `block` nor `warn`".into()),
        };
        let make = |pattern: &Option<String>| {
            pattern
                .as_deref()
                .filter(|pattern| !pattern.is_empty())
                .map(|pattern| Lazy::new(origin, pattern))
                .transpose()
        };
        let form = Form::new(origin, rule.form.as_deref(), rule.before, rule.after)?;
        let pattern = match (form, rule.regex.as_deref()) {
            (Form::Token { .. }, Some(pattern)) => Some(format!("^(?:{pattern})")),
            (Form::Assigned, Some(pattern)) => Some(format!("^(?:{pattern})$")),
            (_, pattern) => pattern.map(str::to_owned),
        };
        let (regex, name) = (make(&pattern)?, make(&rule.name)?);
        let path = rule.path.as_deref().filter(|path| !path.is_empty());
        let path = path
            .map(|path| PathPattern::new(origin, path))
            .transpose()?;
        let check = match (origin, rule.check.as_deref()) {
            (Origin::Others, _) => Check::None,
            (Origin::Own, name) => {
                Check::of(name.unwrap_or("token")).ok_or("its `check` is unknown")?
            }
        };
        if origin == Origin::Others
            && let Some(regex) = pattern
                .as_deref()
                .and_then(|pattern| dialect::compile(pattern).ok())
            && rule.secretgroup >= regex.captures_len()
        {
            return Err(format!(
                "`secretGroup` is {}, which its `regex` has not",
                rule.secretgroup
            ));
        }
        Ok(Rule {
            id: rule.id.as_str().into(),
            severity,
            regex,
            path,
            secret_group: rule.secretgroup,
            entropy: rule.entropy,
            allowlists: rule
                .allowlists
                .iter()
                .map(|list| Allowlist::new(origin, list))
                .collect::<Result<_, _>>()?,
            required: Vec::new(),
            check,
            form,
            name,
            silent: rule.skipreport,
        })
    }
}

impl Allowlist {
    /// Makes a list of what its file says.
    pub(super) fn new(origin: Origin, list: &AllowlistConfig) -> Result<Self, String> {
        let all = match list
            .condition
            .as_deref()
            .map(str::to_ascii_uppercase)
            .as_deref()
        {
            None | Some("" | "OR" | "||") => false,
            Some("AND" | "&&") => true,
            Some(_) => return Err("`condition` is neither `OR` nor `AND`".into()),
        };
        let target = match list.regextarget.as_deref() {
            None | Some("" | "secret") => Target::Secret,
            Some("match") => Target::Match,
            Some("line") => Target::Line,
            Some(_) => return Err("`regexTarget` is none of `secret`, `match`, `line`".into()),
        };
        let empty = [&list.commits, &list.paths, &list.regexes, &list.stopwords];
        if empty.iter().all(|list| list.is_empty()) {
            return Err(
                "an allowlist allows nothing: it has no commits, paths, regexes or stopwords"
                    .into(),
            );
        }
        Ok(Allowlist {
            all,
            commits: list.commits.clone(),
            paths: list
                .paths
                .iter()
                .map(|path| PathPattern::new(origin, path))
                .collect::<Result<_, _>>()?,
            regexes: list
                .regexes
                .iter()
                .map(|pattern| Lazy::new(origin, pattern))
                .collect::<Result<_, _>>()?,
            target,
            stopwords: list
                .stopwords
                .iter()
                .map(|word| word.to_lowercase())
                .collect(),
            target_rules: list.targetrules.clone(),
        })
    }

    /// Tells whether the list speaks of the rule.
    pub(super) fn is_of(&self, rule: &Rule) -> bool {
        self.target_rules.is_empty() || self.target_rules.iter().any(|id| **id == *rule.id)
    }
}
