//! Rules, ready to be used: one automaton of all keywords, and expressions that are compiled when first needed.

use std::{
    path::Path,
    sync::{Arc, OnceLock},
};

use gix::bstr::BStr;
use regex::bytes::{Regex, RegexSet};

use super::{
    allowlist::Source,
    check::Check,
    config::{AllowlistConfig, Config, ConfigError, RequiredConfig, RuleConfig},
    dialect,
    finding::Severity,
    keywords::Keywords,
};
use crate::digest::Digest;

/// Our own rules, by family.
const OWN_RULES: &[&str] = &[
    include_str!("rules/keys.toml"),
    include_str!("rules/credential_files.toml"),
    include_str!("rules/databases.toml"),
    include_str!("rules/cloud.toml"),
    include_str!("rules/forges.toml"),
    include_str!("rules/registries.toml"),
    include_str!("rules/chat.toml"),
    include_str!("rules/payment.toml"),
    include_str!("rules/ai.toml"),
    include_str!("rules/operations.toml"),
    include_str!("rules/services.toml"),
    include_str!("rules/generic.toml"),
];
/// How far before and behind its keyword one of our own rules looks, in bytes, unless it says otherwise.
const REACH: (usize, usize) = (96, 512);

/// Rules that a scan looks for.
pub struct RuleSet {
    pub(super) rules: Vec<Rule>,
    /// Finds keywords, whatever their case.
    pub(super) keywords: Keywords,
    /// For each keyword the rules that have it.
    pub(super) rules_of_keyword: Vec<Vec<usize>>,
    /// Rules without keyword that read contents.
    pub(super) always: Vec<usize>,
    /// Rules that judge a file by its name alone.
    pub(super) by_name: Vec<usize>,
    pub(super) allowlists: Vec<Allowlist>,
    /// All patterns of paths together; made when first needed.
    path_set: OnceLock<Option<RegexSet>>,
    digest: Digest,
}

/// What of a rule set depends on a path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PathRules {
    is_program: bool,
    /// The patterns of paths that match, by their place.
    speaking: Vec<usize>,
}

/// One rule.
pub(super) struct Rule {
    pub(super) id: Arc<str>,
    pub(super) severity: Severity,
    pub(super) regex: Option<Lazy>,
    pub(super) path: Option<Lazy>,
    pub(super) secret_group: usize,
    pub(super) entropy: f64,
    pub(super) keywords: Vec<String>,
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
#[derive(Clone, Copy, PartialEq, Eq)]
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
    /// Tells whether the rule is one of ours.
    pub(super) fn is_own(self) -> bool {
        self != Form::Text
    }
}

/// An expression that is compiled when it is first needed.
pub(super) struct Lazy {
    pattern: String,
    compiled: OnceLock<Option<Regex>>,
}

impl Lazy {
    fn new(pattern: String) -> Self {
        Lazy {
            pattern,
            compiled: OnceLock::new(),
        }
    }

    /// Returns the expression; every one was proved to compile, ours by a test, others when they were read.
    pub(super) fn get(&self) -> Option<&Regex> {
        self.compiled
            .get_or_init(|| dialect::compile(&self.pattern).ok())
            .as_ref()
    }

    fn prove(&self) -> Result<(), dialect::RegexError> {
        // Compiled once more when it is used: most never are, and keep no memory.
        dialect::compile(&self.pattern).map(drop)
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
    pub(super) paths: Vec<Lazy>,
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

/// Where rules come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Origin {
    Own,
    Others,
}

impl RuleSet {
    /// Returns our own rules.
    ///
    /// # Errors
    ///
    /// Never, as a test shows; the rule file is a part of this program.
    pub fn own() -> Result<Self, ConfigError> {
        Self::build(&[(Origin::Own, own_config()?)])
    }

    /// Returns our own rules together with those of a gitleaks configuration.
    ///
    /// The file's allowlists and its `extend.disabledRules` hold for our rules too, but no path is passed over by a
    /// rule of ours that blocks.
    ///
    /// # Errors
    ///
    /// Where the file cannot be read, or a rule of it makes no sense.
    pub fn with_file(path: &Path) -> Result<Self, ConfigError> {
        let others = Config::read(path)?;
        let mut own = own_config()?;
        own.rules.retain(|rule| {
            !others.disabled.contains(&rule.id)
                && !others
                    .rules
                    .iter()
                    .any(|other| other.id == rule.id && other.regex.is_some())
        });
        Self::build(&[(Origin::Own, own), (Origin::Others, others)])
    }

    /// Returns the rules of a gitleaks configuration alone.
    ///
    /// # Errors
    ///
    /// Where the file cannot be read, or a rule of it makes no sense.
    pub fn of_file(path: &Path) -> Result<Self, ConfigError> {
        Self::build(&[(Origin::Others, Config::read(path)?)])
    }

    /// Returns the digest of all that the rules say, to remember under it what was found clean.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Returns which of the rules and allowlists speak of a path: two paths of which the same do are looked through
    /// alike.
    pub fn rules_of_path(&self, path: &BStr) -> PathRules {
        let source = Source { path, commit: None };
        let patterns = || self.path_patterns().map(|lazy| &*lazy.pattern);
        let set = self
            .path_set
            .get_or_init(|| dialect::compile_set(patterns()).ok());
        let speaking = match set {
            Some(set) => set.matches(&source.slashes()).into_iter().collect(),
            // Too much for one automaton: one by one.
            None => {
                let all = self.path_patterns().enumerate();
                all.filter(|(_, lazy)| source.matches(lazy))
                    .map(|(at, _)| at)
                    .collect()
            }
        };
        PathRules {
            is_program: source.is_program(),
            speaking,
        }
    }

    fn path_patterns(&self) -> impl Iterator<Item = &Lazy> {
        let of_rules = self.rules.iter().flat_map(|rule| {
            let lists = rule.allowlists.iter().flat_map(|list| &list.paths);
            rule.path.iter().chain(lists)
        });
        of_rules.chain(self.allowlists.iter().flat_map(|list| &list.paths))
    }

    /// Tells whether an allowlist names commits, so that what is found depends on the commit.
    pub fn names_commits(&self) -> bool {
        let of_rules = self.rules.iter().flat_map(|rule| &rule.allowlists);
        let mut all = of_rules.chain(&self.allowlists);
        all.any(|list| !list.commits.is_empty())
    }

    /// Returns how many rules there are.
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// Tells whether there is no rule.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    fn build(configs: &[(Origin, Config)]) -> Result<Self, ConfigError> {
        let mut rules: Vec<Rule> = Vec::new();
        let mut allowlists = Vec::new();
        let mut told = String::new();
        for (origin, config) in configs {
            match origin {
                // Their text says all of them; others may have taken some out.
                Origin::Own => {
                    OWN_RULES.iter().for_each(|text| told.push_str(text));
                    for rule in &config.rules {
                        told.push_str(&rule.id);
                        told.push('\n');
                    }
                }
                Origin::Others => {
                    told.push_str(&format!("{:?}{:?}", config.rules, config.allowlists));
                }
            }
            for rule in &config.rules {
                rules.push(
                    Rule::new(*origin, rule)
                        .map_err(|message| config_error(config, rule, message))?,
                );
            }
            for allowlist in &config.allowlists {
                let made = Allowlist::new(*origin, allowlist);
                allowlists.push(made.map_err(|message| ConfigError::Form {
                    path: config.path.clone(),
                    message,
                })?);
            }
        }
        for (_, config) in configs {
            for rule in config.rules.iter().filter(|rule| !rule.required.is_empty()) {
                let required = resolve(&rules, &rule.required)
                    .map_err(|message| config_error(config, rule, message))?;
                if let Some(made) = rules.iter_mut().find(|made| *made.id == *rule.id) {
                    made.required = required;
                }
            }
        }
        Ok(Self::assemble(rules, allowlists, &told))
    }

    fn assemble(rules: Vec<Rule>, allowlists: Vec<Allowlist>, told: &str) -> Self {
        let mut words: Vec<String> = Vec::new();
        let mut rules_of_keyword: Vec<Vec<usize>> = Vec::new();
        let mut places = std::collections::HashMap::new();
        let (mut always, mut by_name) = (Vec::new(), Vec::new());
        for (at, rule) in rules.iter().enumerate() {
            if rule.regex.is_none() && rule.form != Form::Assigned {
                by_name.push(at);
                continue;
            }
            if rule.keywords.is_empty() {
                always.push(at);
            }
            for word in &rule.keywords {
                let place = *places.entry(word.clone()).or_insert_with(|| {
                    words.push(word.clone());
                    rules_of_keyword.push(Vec::new());
                    words.len() - 1
                });
                rules_of_keyword[place].push(at);
            }
        }
        RuleSet {
            digest: Digest::of(told.as_bytes()),
            rules,
            keywords: Keywords::new(words),
            rules_of_keyword,
            always,
            by_name,
            allowlists,
            path_set: OnceLock::new(),
        }
    }
}

fn own_config() -> Result<Config, ConfigError> {
    let mut all = Config::default();
    for text in OWN_RULES {
        all.rules
            .extend(Config::parse_own(text, Path::new("rules"))?.rules);
    }
    Ok(all)
}

fn config_error(config: &Config, rule: &RuleConfig, message: String) -> ConfigError {
    ConfigError::Rule {
        path: config.path.clone(),
        rule: rule.id.clone(),
        message,
    }
}

fn resolve(rules: &[Rule], required: &[RequiredConfig]) -> Result<Vec<Required>, String> {
    let find = |required: &RequiredConfig| {
        let at = rules.iter().position(|rule| *rule.id == *required.id);
        Ok(Required {
            rule: at.ok_or_else(|| {
                format!("it requires the rule `{}`, which is not there", required.id)
            })?,
            lines: required.withinlines,
            columns: required.withincolumns,
        })
    };
    required.iter().map(find).collect()
}

/// Makes an expression; one of others must be proved now.
fn expression(origin: Origin, pattern: &str) -> Result<Lazy, String> {
    let lazy = Lazy::new(pattern.to_owned());
    if origin == Origin::Others {
        lazy.prove().map_err(|error| one_line(&error.to_string()))?;
    }
    Ok(lazy)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn form(origin: Origin, rule: &RuleConfig) -> Result<Form, String> {
    let after = rule.after.unwrap_or(REACH.1);
    match (origin, rule.form.as_deref()) {
        (Origin::Others, _) | (_, Some("text")) => Ok(Form::Text),
        (_, None | Some("token")) => Ok(Form::Token { after }),
        (_, Some("assigned")) => Ok(Form::Assigned),
        (_, Some("near")) => Ok(Form::Near {
            before: rule.before.unwrap_or(REACH.0),
            after,
        }),
        _ => Err("its `form` is unknown".into()),
    }
}

impl Rule {
    fn new(origin: Origin, rule: &RuleConfig) -> Result<Self, String> {
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
                .map(|pattern| expression(origin, pattern))
                .transpose()
        };
        let form = form(origin, rule)?;
        let pattern = match (form, rule.regex.as_deref()) {
            (Form::Token { .. }, Some(pattern)) => Some(format!("^(?:{pattern})")),
            (Form::Assigned, Some(pattern)) => Some(format!("^(?:{pattern})$")),
            (_, pattern) => pattern.map(str::to_owned),
        };
        let (regex, path, name) = (make(&pattern)?, make(&rule.path)?, make(&rule.name)?);
        let check = match (origin, rule.check.as_deref()) {
            (Origin::Others, _) => Check::None,
            (Origin::Own, name) => {
                Check::of(name.unwrap_or("token")).ok_or("its `check` is unknown")?
            }
        };
        if origin == Origin::Others
            && let Some(regex) = regex
                .as_ref()
                .and_then(|lazy| dialect::compile(&lazy.pattern).ok())
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
            keywords: rule
                .keywords
                .iter()
                .map(|word| word.to_lowercase())
                .collect(),
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
    fn new(origin: Origin, list: &AllowlistConfig) -> Result<Self, String> {
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
        let make = |patterns: &[String]| {
            patterns
                .iter()
                .map(|pattern| expression(origin, pattern))
                .collect::<Result<Vec<_>, _>>()
        };
        Ok(Allowlist {
            all,
            commits: list.commits.clone(),
            paths: make(&list.paths)?,
            regexes: make(&list.regexes)?,
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_rule_of_ours_compiles_and_has_its_own_id() {
        let set = RuleSet::own().unwrap();
        let mut ids = BTreeSet::new();
        for rule in &set.rules {
            assert!(ids.insert(rule.id.clone()), "{} twice", rule.id);
            for lazy in rule.regex.iter().chain(&rule.path) {
                let made = dialect::compile(&lazy.pattern);
                assert!(made.is_ok(), "{}: {:?}", rule.id, made.err());
            }
            if let Some(regex) = rule.regex.as_ref().and_then(Lazy::get) {
                assert!(rule.secret_group < regex.captures_len(), "{}", rule.id);
                assert!(
                    rule.form == Form::Text || !rule.keywords.is_empty(),
                    "{} has no keyword",
                    rule.id
                );
            }
        }
        assert!(ids.len() >= 150, "{}", ids.len());
    }

    #[test]
    fn paths_are_alike_where_the_same_rules_speak_of_them() {
        let set = RuleSet::own().unwrap();
        let of = |path: &str| set.rules_of_path(path.into());
        assert_eq!(of("a.txt"), of("b/c.txt"));
        assert_eq!(
            of("cargo/credentials.toml"),
            of("x/.cargo/credentials.toml")
        );
        for other in ["cargo/credentials.toml", ".npmrc", "a.rs", "id_key.json"] {
            assert_ne!(of("a.txt"), of(other), "{other}");
        }
        let one_by_one: Vec<usize> = set
            .path_patterns()
            .enumerate()
            .filter(|(_, lazy)| {
                let path = ".kube/gh/hosts.yml".into();
                Source { path, commit: None }.matches(lazy)
            })
            .map(|(at, _)| at)
            .collect();
        assert!(one_by_one.len() > 1);
        assert_eq!(of(".kube/gh/hosts.yml").speaking, one_by_one);
    }

    #[test]
    fn a_rule_that_makes_no_sense_is_an_error() {
        for (rule, said) in [
            ("regex='(?=a)'", "cannot be compiled"),
            ("description='x'", "neither `regex` nor `path`"),
            ("regex='a'\nsecretGroup=1", "`secretGroup` is 1"),
            ("regex='a'\nseverity='high'", "`severity`"),
            (
                "regex='a'\n[[rules.required]]\nid='b'",
                "requires the rule `b`",
            ),
            (
                "regex='a'\n[[rules.allowlists]]\nregexes=['(']",
                "cannot be compiled",
            ),
            (
                "regex='a'\n[[rules.allowlists]]\ndescription='x'",
                "allows nothing",
            ),
        ] {
            let config =
                Config::parse(&format!("[[rules]]\nid='x'\n{rule}\n"), Path::new("f")).unwrap();
            let error = RuleSet::build(&[(Origin::Others, config)])
                .err()
                .unwrap()
                .to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
