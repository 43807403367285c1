//! Scores the rules on the shared corpus of made-up secrets, whose values are decoded here at run time only.

use std::{collections::BTreeMap, path::PathBuf};

use gix::bstr::{BString, ByteSlice};
use serde_json::Value;

use super::{Marks, RuleSet, Scanner, Severity, Subject};

fn corpus() -> Option<PathBuf> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../shared/corpora/secrets/dev.jsonl");
    let given = std::env::var_os("HANDOFF_SECRETS_CORPUS").map(PathBuf::from);
    given.or(Some(path)).filter(|path| path.exists())
}

fn unveil(text: &str) -> Vec<u8> {
    let raw = data_encoding::BASE64.decode(text.as_bytes()).unwrap();
    raw.into_iter().map(|byte| byte ^ 0x55).collect()
}

#[derive(Default)]
struct Score {
    hit: usize,
    of: usize,
}

#[test]
fn the_corpus_is_found_and_its_harmless_files_are_not() {
    let Some(path) = corpus() else {
        eprintln!("no corpus here");
        return;
    };
    let rules = RuleSet::own().unwrap();
    let scanner = Scanner::new(&rules, Marks::Honoured, None);
    let mut scores: BTreeMap<String, Score> = BTreeMap::new();
    let (mut block, mut warn) = (Vec::new(), Vec::new());
    let mut missed = Vec::new();
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let text = |key: &str| case[key].as_str().unwrap_or_default();
        let path: BString = match case["xpath64"].as_str() {
            Some(veiled) => unveil(veiled).into(),
            None => text("path").into(),
        };
        if case["scored"] == Value::Bool(false) {
            continue;
        }
        let bytes = unveil(text("x64"));
        let mut findings = scanner.scan(Subject::at(path.as_bstr()), &bytes);
        findings.extend(scanner.scan_name(path.as_bstr()));
        let expected = case["expect"].as_array().unwrap();
        if expected.is_empty() {
            let id = || {
                format!(
                    "{} {} {:?}",
                    text("id"),
                    text("note"),
                    findings
                        .iter()
                        .map(|f| (&f.rule, f.line))
                        .collect::<Vec<_>>()
                )
            };
            if findings
                .iter()
                .any(|finding| finding.severity == Severity::Block)
            {
                block.push(id());
            } else if !findings.is_empty() {
                warn.push(id());
            }
            continue;
        }
        for secret in expected {
            let first = secret["line"].as_u64().unwrap();
            let last = secret["end_line"].as_u64().unwrap_or(first);
            let loose = first == 0
                || ["encoded", "archive"].contains(&text("cls"))
                || ["path", "symlink"].contains(&text("surface"));
            let severity = secret["severity"].as_str().unwrap();
            let near = findings
                .iter()
                .filter(|f| loose || f.line <= last && f.end_line >= first);
            let weight = near.clone().map(|finding| finding.severity).max();
            let mut add = |name: &str, hit: bool| {
                let score = scores.entry(name.into()).or_default();
                score.of += 1;
                score.hit += usize::from(hit);
            };
            add("all", weight.is_some());
            add(text("cls"), weight.is_some());
            add(severity, weight.is_some());
            if severity == "block" {
                add("block as block", weight == Some(Severity::Block));
            }
            let wrong = weight.map(Severity::as_str) != Some(severity);
            if wrong {
                missed.push(format!(
                    "{} {} {}: {weight:?} {:?}",
                    text("id"),
                    secret["kind"],
                    text("note"),
                    near.map(|f| f.rule.clone()).collect::<Vec<_>>()
                ));
            }
        }
    }
    for (name, score) in &scores {
        println!("{name:16} {}/{}", score.hit, score.of);
    }
    println!("false: block {block:#?} warn {warn:#?}\nother than expected: {missed:#?}");
    let share = |name: &str| scores[name].hit as f64 / scores[name].of as f64;
    assert!(share("block") >= 0.98 && share("block as block") >= 0.98 && share("all") >= 0.96);
    assert!(block.is_empty() && warn.len() <= 1);
}
