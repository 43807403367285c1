//! Reads rule files in the form of a gitleaks configuration.
//!
//! Keys are read whatever their case, as gitleaks does; keys that it does not know are passed over. Our own are
//! `severity`, which other people's files may have too, and for our rules alone `form` (where a rule looks), `name`
//! (what the name before a value must be), `check` (what is proved of a value) and `before` and `after` (how far around
//! its keyword a rule looks, in bytes).

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde::Deserialize;

/// How deep `extend.path` is followed, as gitleaks does.
const MAX_EXTEND: usize = 2;
/// How many rules a file may have.
const MAX_RULES: usize = 1_000;

/// Says why a rule file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// It cannot be read.
    #[error("the rule file {path} cannot be read")]
    Read {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        #[source]
        source: std::io::Error,
    },
    /// It is no TOML, or has other fields than a gitleaks configuration.
    #[error("the rule file {path} is no gitleaks configuration: {message}")]
    Form {
        /// The file.
        path: PathBuf,
        /// What is wrong, in one line.
        message: String,
    },
    /// A rule of it makes no sense.
    #[error("rule `{rule}` of {path}: {message}")]
    Rule {
        /// The file.
        path: PathBuf,
        /// Id of the rule.
        rule: String,
        /// What is wrong, in one line.
        message: String,
    },
}

/// A rule file as it is written.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Config {
    #[serde(skip)]
    pub(super) path: PathBuf,
    extend: Extend,
    allowlist: Option<AllowlistConfig>,
    pub(super) allowlists: Vec<AllowlistConfig>,
    pub(super) rules: Vec<RuleConfig>,
    /// Rules of files that it extends that are left out.
    #[serde(skip)]
    pub(super) disabled: Vec<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Extend {
    path: Option<String>,
    url: Option<String>,
    disabledrules: Vec<String>,
}

/// One rule as it is written; names of fields in small letters.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct RuleConfig {
    pub(super) id: String,
    pub(super) description: String,
    pub(super) regex: Option<String>,
    pub(super) path: Option<String>,
    #[serde(alias = "secretGroup")]
    pub(super) secretgroup: usize,
    pub(super) entropy: f64,
    pub(super) keywords: Vec<String>,
    pub(super) skipreport: bool,
    allowlist: Option<AllowlistConfig>,
    pub(super) allowlists: Vec<AllowlistConfig>,
    pub(super) required: Vec<RequiredConfig>,
    pub(super) severity: Option<String>,
    pub(super) form: Option<String>,
    pub(super) name: Option<String>,
    pub(super) check: Option<String>,
    pub(super) before: Option<usize>,
    pub(super) after: Option<usize>,
}

/// What lets findings through.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct AllowlistConfig {
    pub(super) condition: Option<String>,
    pub(super) commits: Vec<String>,
    pub(super) paths: Vec<String>,
    pub(super) regexes: Vec<String>,
    pub(super) regextarget: Option<String>,
    pub(super) stopwords: Vec<String>,
    pub(super) targetrules: Vec<String>,
}

/// Another rule that must have found something near.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct RequiredConfig {
    pub(super) id: String,
    pub(super) withinlines: Option<u64>,
    pub(super) withincolumns: Option<u64>,
}

impl Config {
    /// Reads a file and what it extends.
    pub(super) fn read(path: &Path) -> Result<Self, ConfigError> {
        Self::read_extended(path, 0)
    }

    fn read_extended(path: &Path, depth: usize) -> Result<Self, ConfigError> {
        let text = fs::read_to_string(path).map_err(|source| ConfigError::Read {
            path: path.into(),
            source,
        })?;
        let mut config = Self::parse(&text, path)?;
        if config.extend.url.is_some() {
            return Err(config.form("`extend.url` is not followed: nothing is fetched"));
        }
        config.disabled = std::mem::take(&mut config.extend.disabledrules);
        let Some(extended) = config.extend.path.take() else {
            return Ok(config);
        };
        if depth >= MAX_EXTEND {
            return Err(config.form("it extends files too deep"));
        }
        let extended = path.parent().unwrap_or(Path::new("")).join(extended);
        let mut base = Self::read_extended(&extended, depth + 1)?;
        base.rules
            .retain(|rule| !config.disabled.contains(&rule.id));
        config.merge_into(base)
    }

    /// Reads the text of a file.
    pub(super) fn parse(text: &str, path: &Path) -> Result<Self, ConfigError> {
        let form = |message: String| ConfigError::Form {
            path: path.into(),
            message,
        };
        // The text of a rule file is no secret, but its errors quote it over several lines.
        let table: toml::Table =
            toml::from_str(text).map_err(|error| form(error.message().to_owned()))?;
        let lower = lower_case(toml::Value::Table(table));
        let mut config: Config = lower
            .try_into()
            .map_err(|error: toml::de::Error| form(error.message().to_owned()))?;
        config.path = path.into();
        if config.rules.len() > MAX_RULES {
            return Err(config.form(&format!("it has more than {MAX_RULES} rules")));
        }
        let (old, new) = (config.allowlist.take(), !config.allowlists.is_empty());
        config.allowlists.extend(one_form(old, new).map_err(form)?);
        for rule in &mut config.rules {
            let (old, new) = (rule.allowlist.take(), !rule.allowlists.is_empty());
            rule.allowlists.extend(one_form(old, new).map_err(form)?);
        }
        Ok(config)
    }

    /// Adds what it says to the file that it extends: a rule of the same id is overridden field by field.
    fn merge_into(self, mut base: Config) -> Result<Config, ConfigError> {
        for rule in self.rules {
            match base.rules.iter_mut().find(|other| other.id == rule.id) {
                Some(other) => other.take_over(rule),
                None => base.rules.push(rule),
            }
        }
        base.allowlists.extend(self.allowlists);
        base.disabled.extend(self.disabled);
        base.path = self.path;
        Ok(base)
    }

    fn form(&self, message: &str) -> ConfigError {
        ConfigError::Form {
            path: self.path.clone(),
            message: message.into(),
        }
    }
}

impl RuleConfig {
    /// Returns its keywords in small letters.
    pub(super) fn small_keywords(&self) -> Vec<String> {
        self.keywords
            .iter()
            .map(|word| word.to_lowercase())
            .collect()
    }

    fn take_over(&mut self, other: RuleConfig) {
        if !other.description.is_empty() {
            self.description = other.description;
        }
        if other.entropy != 0.0 {
            self.entropy = other.entropy;
        }
        if other.secretgroup != 0 {
            self.secretgroup = other.secretgroup;
        }
        self.regex = other.regex.or(self.regex.take());
        self.path = other.path.or(self.path.take());
        self.severity = other.severity.or(self.severity.take());
        self.keywords.extend(other.keywords);
        self.allowlists.extend(other.allowlists);
        self.required.extend(other.required);
    }
}

/// Both forms in one place are an error, as with gitleaks.
fn one_form(
    old: Option<AllowlistConfig>,
    has_new: bool,
) -> Result<Option<AllowlistConfig>, String> {
    match (old, has_new) {
        (Some(_), true) => Err("`allowlist` and `allowlists` stand in one place".into()),
        (old, _) => Ok(old),
    }
}

fn lower_case(value: toml::Value) -> toml::Value {
    match value {
        toml::Value::Table(table) => {
            let entries = table.into_iter();
            toml::Value::Table(
                entries
                    .map(|(key, value)| (key.to_ascii_lowercase(), lower_case(value)))
                    .collect(),
            )
        }
        toml::Value::Array(values) => {
            toml::Value::Array(values.into_iter().map(lower_case).collect())
        }
        // A whole number stands for a measure.
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Config, ConfigError> {
        Config::parse(text, Path::new("rules.toml"))
    }

    #[test]
    fn keys_are_read_whatever_their_case() {
        let config =
            parse("[[rules]]\nID = \"a\"\nRegex = \"b\"\nsecretGroup = 2\nentropy = 3\n").unwrap();
        assert_eq!(
            (config.rules[0].id.as_str(), config.rules[0].secretgroup),
            ("a", 2)
        );
        assert!((config.rules[0].entropy - 3.0).abs() < 1e-9);
    }

    #[test]
    fn both_forms_of_an_allowlist_in_one_place_are_refused() {
        assert!(parse("[allowlist]\npaths = ['a']\n[[allowlists]]\npaths = ['b']\n").is_err());
        let rule = "[[rules]]\nid = 'a'\nregex = 'b'\n[rules.allowlist]\nstopwords = ['c']\n";
        assert_eq!(parse(rule).unwrap().rules[0].allowlists.len(), 1);
    }

    #[test]
    fn a_file_overrides_what_it_extends() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::write(
            path("base.toml"),
            "[[rules]]\nid='a'\nregex='x'\nkeywords=['k']\n[[rules]]\nid='b'\nregex='y'\n",
        )
        .unwrap();
        fs::write(path("own.toml"), "[extend]\npath='base.toml'\ndisabledRules=['b']\n[[rules]]\nid='a'\nentropy=2.5\nkeywords=['l']\n").unwrap();
        let config = Config::read(&path("own.toml")).unwrap();
        assert_eq!(config.rules.len(), 1);
        assert_eq!(config.rules[0].regex.as_deref(), Some("x"));
        assert_eq!(config.rules[0].keywords, ["k", "l"]);
        fs::write(path("loop.toml"), "[extend]\npath='loop.toml'\n").unwrap();
        assert!(Config::read(&path("loop.toml")).is_err());
    }
}
