//! Brings the rules of the secret scan, which people write as TOML, into tables that cost next to nothing to load.
//!
//! `rules.txt` has a line for each rule: its id, what it reads, `form`, `before`, `after`, and all of it as JSON.
//! `keywords.txt` has a line for each keyword, in order: the word, and the places of its rules. Tabs stand between.

use std::{collections::BTreeMap, env, error::Error, fmt::Write, fs, path::Path};

use toml::{Table, Value};

/// The families of rules, in the order in which they are tried.
const FAMILIES: &[&str] = &[
    "keys",
    "credential_files",
    "databases",
    "cloud",
    "forges",
    "registries",
    "chat",
    "payment",
    "ai",
    "operations",
    "services",
    "generic",
];
const DIRECTORY: &str = "src/secrets/rules";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={DIRECTORY}");
    let (mut lines, mut places) = (String::new(), BTreeMap::<String, Vec<String>>::new());
    for (at, rule) in rules()?.iter().enumerate() {
        let words = rule.get("keywords").and_then(Value::as_array);
        let words: Vec<&str> = words
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        for word in &words {
            let places = places.entry(word.to_lowercase()).or_default();
            places.push(at.to_string());
            places.dedup();
        }
        let field = |name: &str| match rule.get(name) {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Integer(number)) => number.to_string(),
            _ => String::new(),
        };
        let is_assigned = field("form") == "assigned";
        let reads = match rule.contains_key("regex") || is_assigned {
            false => "name",
            true if words.is_empty() => "all",
            true => "keywords",
        };
        let json = serde_json::to_string(rule)?;
        let (id, form, before, after) =
            (field("id"), field("form"), field("before"), field("after"));
        for text in [&id, &form, &before, &after] {
            if text.contains(['\t', '\n']) {
                return Err(
                    format!("rule `{id}`: no tab or line feed may stand in `{text}`").into(),
                );
            }
        }
        writeln!(lines, "{id}\t{reads}\t{form}\t{before}\t{after}\t{json}")?;
    }
    let mut words = String::new();
    for (word, places) in places {
        if word.is_empty() || word.contains(['\t', '\n']) {
            return Err(format!("the keyword {word:?} is empty, or has a tab or line feed").into());
        }
        writeln!(words, "{word}\t{}", places.join(","))?;
    }
    let out = env::var("OUT_DIR")?;
    fs::write(Path::new(&out).join("rules.txt"), lines)?;
    fs::write(Path::new(&out).join("keywords.txt"), words)?;
    Ok(())
}

fn rules() -> Result<Vec<Table>, Box<dyn Error>> {
    let mut all = Vec::new();
    for family in FAMILIES {
        let path = format!("{DIRECTORY}/{family}.toml");
        let text = fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
        let file: Table = toml::from_str(&text).map_err(|error| format!("{path}: {error}"))?;
        let rules = file.get("rules").and_then(Value::as_array);
        let rules = rules.ok_or_else(|| format!("{path}: there are no rules"))?;
        for rule in rules {
            let rule = rule
                .as_table()
                .ok_or_else(|| format!("{path}: a rule is no table"))?;
            all.push(rule.clone());
        }
    }
    Ok(all)
}
