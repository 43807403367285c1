//! The engine as a whole: other people's configurations, redaction, limits.

use std::{path::Path, time::Instant};

use gix::bstr::{BStr, ByteSlice};

use super::*;

/// Assembled here: no file of ours holds what looks like a secret.
fn token() -> String {
    ["gh", "p_", "Zk3vQ9xT1mWb7RsL5pNyaB2cD4eF6g", "ABCDEF"].concat()
}

fn stripe() -> String {
    ["sk_", "live_", "Zk3vQ9xT1mWb7RsL5pNyaB2cD4eF6g"].concat()
}

fn scan(rules: &RuleSet, path: &str, text: &str) -> Vec<Finding> {
    Scanner::new(rules, Marks::Honoured, None).scan(Subject::at(path.into()), text.as_bytes())
}

fn file(text: &str) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    file
}

#[test]
fn the_whole_configuration_of_gitleaks_is_read() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../shared/corpora/secrets/third-party/gitleaks.toml");
    let Ok(_) = path.canonicalize() else {
        eprintln!("no configuration here");
        return;
    };
    let rules = RuleSet::of_file(&path).unwrap();
    assert_eq!(rules.len(), 222);
    let text = format!("a\nkey = \"{}\"\n", stripe());
    let findings = scan(&rules, "a.txt", &text);
    let found: Vec<_> = findings
        .iter()
        .map(|f| (&*f.rule, f.severity, f.line))
        .collect();
    assert_eq!(found, [("stripe-access-token", Severity::Block, 2)]);
}

#[test]
fn a_wrong_checksum_weighs_less() {
    let rules = RuleSet::own().unwrap();
    let findings = scan(&rules, "a.txt", &format!("x {}\n", token()));
    assert_eq!(
        (&*findings[0].rule, findings[0].severity),
        ("github-pat", Severity::Warn)
    );
}

#[test]
fn keys_of_a_configuration_mean_what_they_mean_to_gitleaks() {
    let text = r#"
[[allowlists]]
paths = ['^vendor/']
[[rules]]
id = "own"
regex = 'own_([a-z]{4})([0-9]{4})'
secretGroup = 2
keywords = ["own_"]
[[rules.allowlists]]
stopwords = ["0000"]
[[rules]]
id = "pair"
regex = 'pair_[a-z]{4}'
severity = "warn"
[[rules.required]]
id = "own"
withinLines = 1
"#;
    let rules = RuleSet::of_file(file(text).path()).unwrap();
    let found = |path: &str, text: &str| {
        let findings = scan(&rules, path, text);
        findings
            .iter()
            .map(|f| format!("{} {} {}", f.severity.as_str(), f.rule, f.line))
            .collect::<Vec<_>>()
    };
    assert_eq!(found("a", "x\nown_abcd1234\n"), ["block own 2"]);
    assert_eq!(found("a", "own_abcd0000\n"), [""; 0]);
    assert_eq!(found("vendor/a", "own_abcd1234\n"), [""; 0]);
    assert_eq!(found("a", "own_abcd1234 gitleaks:allow\n"), [""; 0]);
    assert_eq!(found("a", "pair_abcd\n"), [""; 0]);
    assert_eq!(
        found("a", "own_abcd1234\npair_abcd\n"),
        ["block own 1", "warn pair 2"]
    );
    assert_eq!(found("a", "own_abcd1234\n\n\npair_abcd\n"), ["block own 1"]);
}

#[test]
fn marks_count_only_where_they_are_honoured() {
    let rules = RuleSet::own().unwrap();
    let text = format!("key: {} # gitleaks:allow\n", stripe());
    let scan =
        |marks| Scanner::new(&rules, marks, None).scan(Subject::at("a".into()), text.as_bytes());
    assert!(scan(Marks::Honoured).is_empty());
    assert_eq!(scan(Marks::Ignored).len(), 1);
}

#[test]
fn a_name_that_holds_a_secret_is_not_shown() {
    let rules = RuleSet::own().unwrap();
    let path = format!("dl/{}.json", stripe());
    let scanner = Scanner::new(&rules, Marks::Honoured, None);
    let mut findings = scanner.scan_name(path.as_bytes().as_bstr());
    findings.extend(scanner.scan(Subject::at(path.as_bytes().as_bstr()), stripe().as_bytes()));
    assert_eq!(findings.len(), 2);
    let told = format!("{findings:?}");
    assert!(!told.contains("dl/") && !told.contains(&stripe()[8..]));
}

#[test]
fn a_fingerprint_is_of_the_value_and_the_scope() {
    let rules = RuleSet::own().unwrap();
    let of = |scope: &str, text: &str| {
        let scope = scope.parse().unwrap();
        let scanner = Scanner::new(&rules, Marks::Honoured, Some(&scope));
        let findings = scanner.scan(Subject::at("a".into()), text.as_bytes());
        findings[0].fingerprint.clone().unwrap()
    };
    let key = stripe();
    assert_eq!(of("a", &key), of("a", &format!("x\n  key: {key}")));
    assert_ne!(of("a", &key), of("b", &key));
    assert_eq!(
        of("a", &key).as_str().parse::<Fingerprint>().unwrap(),
        of("a", &key)
    );
}

#[test]
fn a_large_stream_is_read_in_windows_and_lines_count_on() {
    let rules = RuleSet::own().unwrap();
    let scanner = Scanner::new(&rules, Marks::Honoured, None);
    let line = "nothing to be seen on this line, nor on any of the others\n";
    let count = (17 << 20) / line.len();
    let text = format!("{}key: {}\n", line.repeat(count), stripe());
    let findings = scanner
        .scan_stream(Subject::at("a".into()), &mut text.as_bytes())
        .unwrap();
    assert_eq!(
        findings.iter().map(|f| f.line).collect::<Vec<_>>(),
        [count as u64 + 1]
    );
}

#[test]
fn what_is_packed_too_tightly_is_said_to_be_unscanned() {
    use std::io::Write;
    let rules = RuleSet::own().unwrap();
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    (0..65).for_each(|_| packed.write_all(&vec![b' '; 1 << 20]).unwrap());
    let findings = Scanner::new(&rules, Marks::Honoured, None)
        .scan(Subject::at("a.gz".into()), &packed.finish().unwrap());
    assert_eq!(
        (&*findings[0].rule, findings[0].severity),
        ("unscanned", Severity::Block)
    );
}

/// Ten megabytes of anything take time in proportion, never its square: two sizes are compared.
#[test]
fn hostile_texts_cost_no_more_than_their_length() {
    let rules = RuleSet::own().unwrap();
    let scanner = Scanner::new(&rules, Marks::Ignored, None);
    let path: &BStr = "a.txt".into();
    for piece in [
        "sk-",
        "'\\u{41}',",
        "\"a\"+",
        "://a:b",
        "eyJ",
        "password=\"",
        "-----BEGIN PRIVATE KEY-----\n",
        "%41",
        "{\"k\":",
        "cookie=",
        "AKIA",
        "a=b&password=",
        "jdbc:x:",
        "server=;pwd=",
        "--password ",
        "{\"pwd\":\"",
    ] {
        let time = |bytes: usize| {
            let text = piece.repeat(bytes / piece.len());
            let started = Instant::now();
            scanner.scan(Subject::at(path), text.as_bytes());
            started.elapsed()
        };
        time(1 << 14);
        let (short, long) = (time(1 << 17), time(1 << 20));
        println!("{piece:?} {short:?} {long:?}");
        assert!(
            long < short * 40 + std::time::Duration::from_millis(300),
            "{piece}: {short:?}, {long:?}"
        );
    }
}
