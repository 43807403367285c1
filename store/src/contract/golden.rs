//! The golden files in `tests/golden`, and that they agree with the types and with the CDDL.
//!
//! They change only with the version of the contract: `HANDOFF_WRITE_GOLDEN=1` writes them anew.

use std::{fs, path::PathBuf};

use super::{codec, sample};

mod cddl;
mod listing;

/// Every golden file: name, rule of the CDDL, bytes.
fn documents() -> Vec<(&'static str, &'static str, Vec<u8>)> {
    vec![
        ("manifest", "manifest", codec::encode(&sample::manifest())),
        (
            "manifest-minimal",
            "manifest",
            codec::encode(&sample::minimal_manifest()),
        ),
        (
            "manifest-lists",
            "manifest",
            codec::encode(&sample::manifest_with_a_blob().0),
        ),
        ("list-flags", "list-blob", codec::encode(&sample::flags(2))),
        ("accept", "accept", codec::encode(&sample::accept())),
        ("release", "release", codec::encode(&sample::release())),
        ("prepared", "prepared", codec::encode(&sample::prepared())),
        ("receipt", "receipt", codec::encode(&sample::receipt())),
        (
            "receipt-killed",
            "receipt",
            codec::encode(&sample::killed_receipt()),
        ),
    ]
}

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../tests/golden")
        .join(name)
}

/// Compares a golden file, or writes it where that is asked for.
fn compare(name: &str, bytes: &[u8]) {
    let path = path(name);
    if std::env::var_os("HANDOFF_WRITE_GOLDEN").is_some() {
        fs::write(&path, bytes).unwrap();
    }
    let golden = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert!(
        golden == bytes,
        "{name} is not what the types write:\n{}",
        String::from_utf8_lossy(bytes)
    );
}

#[test]
fn documents_have_the_bytes_of_their_golden_files() {
    for (name, _, bytes) in documents() {
        compare(&format!("{name}.txt"), listing::of(&bytes).as_bytes());
        compare(&format!("{name}.cbor"), &bytes);
    }
}

#[test]
fn golden_files_read_back_as_what_was_written() {
    let read = |name: &str| fs::read(path(&format!("{name}.cbor"))).unwrap();
    assert_eq!(codec::decode(&read("manifest")), Ok(sample::manifest()));
    assert_eq!(
        codec::decode(&read("manifest-minimal")),
        Ok(sample::minimal_manifest())
    );
    assert_eq!(
        codec::decode(&read("manifest-lists")),
        Ok(sample::manifest_with_a_blob().0)
    );
    assert_eq!(
        codec::decode_list(&read("list-flags")),
        Ok(sample::flags(2))
    );
    assert_eq!(codec::decode(&read("accept")), Ok(sample::accept()));
    assert_eq!(codec::decode(&read("release")), Ok(sample::release()));
    assert_eq!(codec::decode(&read("prepared")), Ok(sample::prepared()));
    assert_eq!(codec::decode(&read("receipt")), Ok(sample::receipt()));
    assert_eq!(
        codec::decode(&read("receipt-killed")),
        Ok(sample::killed_receipt())
    );
}

#[test]
fn golden_files_have_the_keys_that_the_cddl_says() {
    let text = fs::read_to_string(path("../../docs/handoff.v1.cddl")).unwrap();
    let mut grammar = cddl::Grammar::parse(&text);
    for (name, rule, bytes) in documents() {
        let value: super::Value = serde_ipld_dagcbor::from_slice(&bytes).unwrap();
        grammar.check(rule, &value, name);
    }
    assert_eq!(grammar.unused(), [""; 0], "rules that no golden file shows");
}

#[test]
fn every_key_of_the_cddl_is_explained() {
    let read = |name: &str| fs::read_to_string(path(&format!("../../docs/{name}"))).unwrap();
    let explained = read("contract.md");
    let grammar = cddl::Grammar::parse(&read("handoff.v1.cddl"));
    let missing = |key: &&str| !explained.contains(&format!("`{key}`"));
    let missing: Vec<&str> = grammar.keys().into_iter().filter(missing).collect();
    assert_eq!(missing, [""; 0], "keys that docs/contract.md does not name");
}
