//! Rules, ready to be used: their keywords together, and each rule made when it is first asked.

use std::{path::Path, sync::OnceLock};

use gix::bstr::BStr;
use regex::bytes::RegexSet;

use super::{
    allowlist::Source,
    config::{Config, ConfigError, RequiredConfig, RuleConfig},
    dialect,
    keywords::Keywords,
    own_rules::{self, OwnRule, Reads},
    pattern::{Origin, PathPattern},
    rule::{Allowlist, Form, Required, Rule},
};
use crate::digest::Digest;

/// Rules that a scan looks for.
pub struct RuleSet {
    slots: Vec<Slot>,
    /// Finds keywords, and the rules that have them.
    pub(super) keywords: Keywords,
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

/// The place of a rule in its set; one of ours is made when it is first asked.
struct Slot {
    form: Form,
    own: Option<OwnRule>,
    made: OnceLock<Box<Rule>>,
}

impl Slot {
    fn of_own(own: OwnRule) -> Result<Self, String> {
        Ok(Slot {
            form: Form::new(Origin::Own, own.form, own.before, own.after)?,
            own: Some(own),
            made: OnceLock::new(),
        })
    }

    fn of(rule: Rule) -> Self {
        Slot {
            form: rule.form,
            own: None,
            made: OnceLock::from(Box::new(rule)),
        }
    }

    fn id(&self) -> &str {
        match &self.own {
            Some(own) => own.id,
            None => &self.rule().id,
        }
    }

    fn rule(&self) -> &Rule {
        self.made.get_or_init(|| {
            let config = self.own.as_ref().map(OwnRule::config).unwrap_or_default();
            // A test makes every one.
            Box::new(Rule::new(Origin::Own, &config).expect("our rules make sense"))
        })
    }
}

impl RuleSet {
    /// Returns our own rules.
    ///
    /// # Errors
    ///
    /// Never, as a test shows; the rule file is a part of this program.
    pub fn own() -> Result<Self, ConfigError> {
        Self::build(|_| true, &Config::default())
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
        let is_left_out = |id: &str| {
            let mut rules = others.rules.iter();
            others.disabled.iter().any(|disabled| disabled == id)
                || rules.any(|other| other.id == id && other.regex.is_some())
        };
        Self::build(|own| !is_left_out(own.id), &others)
    }

    /// Returns the rules of a gitleaks configuration alone.
    ///
    /// # Errors
    ///
    /// Where the file cannot be read, or a rule of it makes no sense.
    pub fn of_file(path: &Path) -> Result<Self, ConfigError> {
        Self::build(|_| false, &Config::read(path)?)
    }

    /// Returns a rule.
    pub(super) fn rule(&self, at: usize) -> &Rule {
        self.slots[at].rule()
    }

    /// Returns where a rule looks, which is known before it is made.
    pub(super) fn form(&self, at: usize) -> Form {
        self.slots[at].form
    }

    fn rules(&self) -> impl Iterator<Item = &Rule> {
        self.slots.iter().map(Slot::rule)
    }

    /// Returns the digest of all that the rules say, to remember under it what was found clean.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Returns which of the rules and allowlists speak of a path: two paths of which the same do are looked through
    /// alike.
    pub fn rules_of_path(&self, path: &BStr) -> PathRules {
        let source = Source { path, commit: None };
        let patterns = || self.path_patterns().map(|path| path.as_str());
        let set = self
            .path_set
            .get_or_init(|| dialect::compile_set(patterns()).ok());
        let speaking = match set {
            Some(set) => set.matches(&source.slashes()).into_iter().collect(),
            // Too much for one automaton: one by one.
            None => {
                let all = self.path_patterns().enumerate();
                all.filter(|(_, path)| source.matches(path))
                    .map(|(at, _)| at)
                    .collect()
            }
        };
        PathRules {
            is_program: source.is_program(),
            speaking,
        }
    }

    fn path_patterns(&self) -> impl Iterator<Item = &PathPattern> {
        let of_rules = self.rules().flat_map(|rule| {
            let lists = rule.allowlists.iter().flat_map(|list| &list.paths);
            rule.path.iter().chain(lists)
        });
        of_rules.chain(self.allowlists.iter().flat_map(|list| &list.paths))
    }

    /// Tells whether an allowlist names commits, so that what is found depends on the commit.
    pub fn names_commits(&self) -> bool {
        // None of ours does.
        let others = self.slots.iter().filter(|slot| slot.own.is_none());
        let of_rules = others.flat_map(|slot| &slot.rule().allowlists);
        let mut all = of_rules.chain(&self.allowlists);
        all.any(|list| !list.commits.is_empty())
    }

    /// Returns how many rules there are.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Tells whether there is no rule.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Puts our own rules, but for those that are left out, before those of others.
    fn build(keeps: impl Fn(&OwnRule) -> bool, others: &Config) -> Result<Self, ConfigError> {
        let (mut slots, mut told): (Vec<Slot>, Vec<u8>) = Default::default();
        let (mut always, mut by_name) = (Vec::new(), Vec::new());
        let mut places = Vec::new();
        for own in own_rules::rules() {
            let place = keeps(&own).then_some(slots.len());
            places.push(place);
            if let Some(place) = place {
                match own.reads {
                    Reads::Name => by_name.push(place),
                    Reads::All => always.push(place),
                    Reads::Keywords => {}
                }
                told.extend_from_slice(own.text().as_bytes());
                let id = own.id;
                let slot = Slot::of_own(own);
                slots.push(slot.map_err(|message| config_error(others, id, message))?);
            }
        }
        let mut words: Vec<(&str, usize)> = own_rules::keywords()
            .filter_map(|(word, at)| Some((word, places[at]?)))
            .collect();
        let first = slots.len();
        for rule in &others.rules {
            let made = Rule::new(Origin::Others, rule);
            let made = made.map_err(|message| config_error(others, &rule.id, message))?;
            if made.regex.is_none() {
                by_name.push(slots.len());
            } else if rule.keywords.is_empty() {
                always.push(slots.len());
            }
            slots.push(Slot::of(made));
        }
        let lower: Vec<Vec<String>> = others
            .rules
            .iter()
            .map(RuleConfig::small_keywords)
            .collect();
        for (place, of_rule) in (first..).zip(&lower) {
            if slots[place].rule().regex.is_some() {
                words.extend(of_rule.iter().map(|word| (word.as_str(), place)));
            }
        }
        for (place, rule) in (first..).zip(&others.rules) {
            let required = resolve(&slots, &rule.required)
                .map_err(|message| config_error(others, &rule.id, message))?;
            if let Some(made) = slots[place].made.get_mut() {
                made.required = required;
            }
        }
        let allowlists = others.allowlists.iter().map(|list| {
            Allowlist::new(Origin::Others, list).map_err(|message| ConfigError::Form {
                path: others.path.clone(),
                message,
            })
        });
        told.extend(format!("{:?}{:?}", others.rules, others.allowlists).into_bytes());
        Ok(RuleSet {
            digest: Digest::of(&told),
            keywords: Keywords::new(words),
            allowlists: allowlists.collect::<Result<_, _>>()?,
            slots,
            always,
            by_name,
            path_set: OnceLock::new(),
        })
    }
}

fn config_error(config: &Config, rule: &str, message: String) -> ConfigError {
    ConfigError::Rule {
        path: config.path.clone(),
        rule: rule.to_owned(),
        message,
    }
}

fn resolve(slots: &[Slot], required: &[RequiredConfig]) -> Result<Vec<Required>, String> {
    let find = |required: &RequiredConfig| {
        let at = slots.iter().position(|slot| slot.id() == required.id);
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_rule_of_ours_compiles_and_has_its_own_id() {
        let set = RuleSet::own().unwrap();
        let mut ids = BTreeSet::new();
        for (slot, own) in set.slots.iter().zip(own_rules::rules()) {
            let rule = slot.rule();
            assert_eq!((&*rule.id, rule.form), (own.id, slot.form));
            assert!(
                rule.required.is_empty()
                    && rule.allowlists.iter().all(|list| list.commits.is_empty())
            );
            assert!(ids.insert(rule.id.clone()), "{} twice", rule.id);
            for lazy in rule.regex.iter().chain(&rule.name) {
                assert!(lazy.get().is_some(), "{} does not compile", rule.id);
            }
            if let Some(path) = &rule.path {
                let made = dialect::compile_for_paths(path.as_str());
                assert!(made.is_ok(), "{}: {:?}", rule.id, made.err());
            }
            if let Some(regex) = rule.regex.as_ref().and_then(|lazy| lazy.get()) {
                assert!(rule.secret_group < regex.captures_len(), "{}", rule.id);
                assert!(
                    rule.form == Form::Text || own.reads == Reads::Keywords,
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
            let error = RuleSet::build(|_| false, &config)
                .err()
                .unwrap()
                .to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
