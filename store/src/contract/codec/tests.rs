//! Each form that is refused, and where the refusal points.

use super::*;
use crate::contract::{
    Accept, Change, Document, Flags, Manifest, Prepared, Receipt, Release, Value, sample,
};

/// Keys and values of a release, each in its encoding, in canonical order.
fn entries() -> Vec<(Vec<u8>, Vec<u8>)> {
    let Some(Value::Map(fields)) = to_value(&sample::release()) else {
        panic!("a release is a map")
    };
    let mut entries: Vec<_> = fields
        .iter()
        .map(|(key, value)| (encode(key), encode(value)))
        .collect();
    entries.sort();
    assert_eq!(join(&entries), encode(&sample::release()));
    entries
}

fn join(entries: &[(Vec<u8>, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = vec![0xa0 + u8::try_from(entries.len()).unwrap()];
    for (key, value) in entries {
        bytes.extend_from_slice(key);
        bytes.extend_from_slice(value);
    }
    bytes
}

/// A release whose field `note` has this encoding, and where that begins.
fn with_note(note: &[u8]) -> (Vec<u8>, usize) {
    let mut entries = entries();
    let at = entries
        .iter()
        .position(|(key, _)| *key == encode("note"))
        .unwrap();
    entries[at].1 = note.to_vec();
    let bytes = join(&entries);
    let offset = join(&entries[..at]).len() + entries[at].0.len();
    (bytes, offset)
}

#[track_caller]
fn assert_malformed(bytes: &[u8], offset: usize, part: &str) {
    match decode::<Release>(bytes) {
        Err(DecodeError::Malformed {
            offset: found,
            what,
        }) => {
            assert!(what.contains(part), "{what}");
            assert_eq!(found, offset, "{what}");
        }
        other => panic!("not malformed: {other:?}"),
    }
}

#[track_caller]
fn assert_note_is_malformed(note: &[u8], inside: usize, part: &str) {
    let (bytes, offset) = with_note(note);
    assert_malformed(&bytes, offset + inside, part);
}

#[test]
fn a_key_that_stands_twice_is_refused_where_it_stands_again() {
    let mut entries = entries();
    entries.insert(1, entries[0].clone());
    assert_malformed(&join(&entries), join(&entries[..1]).len(), "stands twice");
}

#[test]
fn a_key_out_of_order_is_refused_where_it_stands() {
    let mut entries = entries();
    entries.swap(1, 2);
    assert_malformed(&join(&entries), join(&entries[..2]).len(), "out of order");
}

#[test]
fn a_key_that_is_not_text_is_refused() {
    let mut entries = entries();
    entries[0].0 = vec![0x00];
    assert_malformed(&join(&entries), 1, "not text");
}

#[test]
fn an_integer_that_is_not_in_its_shortest_form_is_refused() {
    assert_note_is_malformed(&[0x18, 0x07], 0, "shortest");
    assert_note_is_malformed(&[0x19, 0x00, 0xff], 0, "shortest");
    assert_note_is_malformed(&[0x1a, 0, 0, 0xff, 0xff], 0, "shortest");
    assert_note_is_malformed(&[0x1b, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff], 0, "shortest");
}

#[test]
fn a_length_that_is_not_in_its_shortest_form_is_refused() {
    assert_note_is_malformed(&[0x78, 0x01, b'a'], 0, "shortest");
    assert_note_is_malformed(&[0x98, 0x00], 0, "shortest");
    assert_note_is_malformed(&[0xb8, 0x00], 0, "shortest");
}

#[test]
fn an_indefinite_length_is_refused() {
    assert_note_is_malformed(&[0x7f, 0x61, b'a', 0xff], 0, "indefinite");
    assert_note_is_malformed(&[0x5f, 0x41, b'a', 0xff], 0, "indefinite");
    assert_note_is_malformed(&[0x9f, 0xff], 0, "indefinite");
    assert_note_is_malformed(&[0xbf, 0xff], 0, "indefinite");
}

#[test]
fn bytes_after_the_end_are_refused() {
    let mut bytes = join(&entries());
    bytes.push(0xf6);
    assert_malformed(&bytes, bytes.len() - 1, "after the end");
}

#[test]
fn bytes_that_end_early_are_refused_at_their_end() {
    let bytes = join(&entries());
    for end in 0..bytes.len() {
        assert_malformed(&bytes[..end], end, "end in the middle");
    }
}

#[test]
fn a_length_beyond_the_end_is_refused() {
    let huge = [0x7b, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
    let (bytes, _) = with_note(&huge);
    assert_malformed(&bytes, bytes.len(), "end in the middle");
    let huge = [0x9b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
    assert_malformed(&huge, 9, "end in the middle");
}

#[test]
fn text_that_is_not_utf_8_is_refused_at_the_first_bad_byte() {
    assert_note_is_malformed(&[0x63, b'a', 0xff, b'b'], 2, "UTF-8");
    let mut entries = entries();
    entries[0].0 = vec![0x61, 0x80];
    assert_malformed(&join(&entries), 2, "UTF-8");
}

#[test]
fn floats_are_refused() {
    assert_note_is_malformed(&[0xf9, 0x3c, 0x00], 0, "floating");
    assert_note_is_malformed(&[0xfa, 0x3f, 0x80, 0, 0], 0, "floating");
    assert_note_is_malformed(&[0xfb, 0x3f, 0xf0, 0, 0, 0, 0, 0, 0], 0, "floating");
}

#[test]
fn tags_are_refused() {
    assert_note_is_malformed(&[0xd8, 0x2a, 0x61, b'a'], 0, "tag");
    assert_note_is_malformed(&[0xc0, 0x61, b'a'], 0, "tag");
}

#[test]
fn simple_values_other_than_false_true_and_null_are_refused() {
    for byte in [0xe0, 0xf3, 0xf7, 0xf8, 0xff] {
        assert_note_is_malformed(&[byte], 0, "simple value");
    }
}

#[test]
fn reserved_initial_bytes_are_refused() {
    assert_note_is_malformed(&[0x1c], 0, "reserved");
    assert_note_is_malformed(&[0x7e], 0, "reserved");
}

#[test]
fn integers_outside_64_bits_with_sign_are_refused() {
    assert_note_is_malformed(&[0x1b, 0x80, 0, 0, 0, 0, 0, 0, 0], 0, "64 bits");
    assert_note_is_malformed(&[0x3b, 0x80, 0, 0, 0, 0, 0, 0, 0], 0, "64 bits");
    let mut receipt = sample::receipt();
    receipt.duration_ms = u64::MAX;
    let Err(DecodeError::Malformed { what, .. }) = decode::<Receipt>(&encode(&receipt)) else {
        panic!("a number over i64::MAX was taken")
    };
    assert!(what.contains("64 bits"));
}

#[test]
fn nesting_is_refused_below_the_thirty_second_level() {
    let nested = |depth: usize| [vec![0x81; depth - 1], vec![0x80]].concat();
    assert!(matches!(
        decode::<Release>(&nested(32)),
        Err(DecodeError::UnsupportedVersion { .. })
    ));
    assert_malformed(&nested(33), 32, "32 deep");
    assert_malformed(&vec![0x81; 100_000], 32, "32 deep");
}

#[test]
fn a_document_over_one_mebibyte_is_refused_and_one_of_that_size_is_not() {
    let mut release = sample::release();
    release.note = Some("a".repeat(MAX_BYTES / 2));
    let rest = encode(&release).len() - MAX_BYTES / 2;
    release.note = Some("a".repeat(MAX_BYTES - rest));
    assert_eq!(decode(&encode(&release)), Ok(release.clone()));
    release.note = Some("a".repeat(MAX_BYTES - rest + 1));
    assert_malformed(&encode(&release), MAX_BYTES, "1 MiB");
}

#[test]
fn another_schema_is_refused_before_its_fields_are_looked_at() {
    let bytes = encode(&Value::Map(
        [
            ("new".into(), Value::Bool(true)),
            ("schema".into(), Value::Text("handoff-release.v2".into())),
        ]
        .into(),
    ));
    let found = |found: &str| {
        Err(DecodeError::UnsupportedVersion {
            found: found.into(),
            expected: "handoff-release.v1",
        })
    };
    assert_eq!(decode::<Release>(&bytes), found("handoff-release.v2"));
    assert_eq!(decode::<Release>(&[0xa0]), found(""));
    assert_eq!(decode::<Release>(&[0x80]), found(""));
    let accept = encode(&sample::accept());
    assert_eq!(decode::<Release>(&accept), found("handoff-accept.v1"));
}

#[test]
fn malformed_wins_over_another_schema() {
    let mut bytes = encode(&sample::accept());
    bytes.push(0x00);
    assert_malformed(&bytes, bytes.len() - 1, "after the end");
}

#[test]
fn a_path_in_a_byte_string_that_is_utf_8_is_refused() {
    let change = |path: &[u8]| {
        encode(&vec![Value::Map(
            [
                ("path".into(), Value::Bytes(path.into())),
                ("why".into(), Value::Text(String::new())),
            ]
            .into(),
        )])
    };
    assert!(decode_list::<Change>(&change(b"caf\xe9")).is_ok());
    let Err(DecodeError::Field { path, message }) = decode_list::<Change>(&change(b"cafe")) else {
        panic!("a byte string that is UTF-8 was taken for a path")
    };
    assert_eq!(path, "[0].path");
    assert!(message.contains("must be text"), "{message}");
}

#[test]
fn a_value_of_another_type_is_named_with_its_path() {
    let (bytes, _) = with_note(&[0x07]);
    let expected = |path: &str, message: &str| DecodeError::Field {
        path: path.into(),
        message: message.into(),
    };
    assert_eq!(
        decode::<Release>(&bytes),
        Err(expected("note", "a number in place of str"))
    );
    let mut manifest = sample::manifest();
    manifest.content.state[0].citations.clear();
    let bytes = encode(&manifest);
    let (before, after) = (b"\x69citations\x80", b"\x69citations\xf6");
    let at = bytes.windows(11).position(|part| part == before).unwrap();
    let bytes = [&bytes[..at], after, &bytes[at + 11..]].concat();
    assert_eq!(
        decode::<Manifest>(&bytes),
        Err(expected(
            "content.state[0].citations",
            "null in place of array"
        ))
    );
}

#[test]
fn a_list_blob_is_judged_as_strictly_as_a_document() {
    let mut bytes = encode(&sample::flags(2));
    assert_eq!(decode_list(&bytes), Ok(sample::flags(2)));
    bytes.push(0x00);
    assert!(matches!(
        decode_list::<Flags>(&bytes),
        Err(DecodeError::Malformed { .. })
    ));
}

/// A key added to, or taken out of, one map of a document.
struct Edit {
    /// Path of the field.
    path: String,
    bytes: Vec<u8>,
}

/// Returns the edits of every map in a document but those in `extensions`.
fn edits<D: Document>(
    document: &D,
    edit: &impl Fn(&str, &Value) -> Vec<(String, Value)>,
) -> Vec<Edit> {
    let value = to_value(document).unwrap();
    let all = edited("", &value, edit);
    let encoded = |(path, value)| Edit {
        path,
        bytes: encode(&value),
    };
    all.into_iter().map(encoded).collect()
}

fn edited(
    at: &str,
    value: &Value,
    edit: &impl Fn(&str, &Value) -> Vec<(String, Value)>,
) -> Vec<(String, Value)> {
    let mut all = Vec::new();
    match value {
        Value::Map(fields) => {
            all.extend(edit(at, value));
            for (key, inner) in fields.iter().filter(|(key, _)| *key != "extensions") {
                for (path, inner) in edited(&field(at, key), inner, edit) {
                    let mut fields = fields.clone();
                    fields.insert(key.clone(), inner);
                    all.push((path, Value::Map(fields)));
                }
            }
        }
        Value::List(entries) => {
            for (n, inner) in entries.iter().enumerate() {
                for (path, inner) in edited(&format!("{at}[{n}]"), inner, edit) {
                    let mut entries = entries.clone();
                    entries[n] = inner;
                    all.push((path, Value::List(entries)));
                }
            }
        }
        _ => {}
    }
    all
}

fn field(at: &str, key: &str) -> String {
    if at.is_empty() {
        key.into()
    } else {
        format!("{at}.{key}")
    }
}

fn every_missing_key_is_named<D: Document + std::fmt::Debug>(document: &D) {
    let without = |at: &str, map: &Value| {
        let Value::Map(fields) = map else {
            return vec![];
        };
        let without = |key: &String| {
            let mut fields = fields.clone();
            fields.remove(key);
            (field(at, key), Value::Map(fields))
        };
        fields.keys().map(without).collect()
    };
    let edits = edits(document, &without);
    assert!(edits.len() > 5);
    for edit in edits.iter().filter(|edit| edit.path != "schema") {
        match decode::<D>(&edit.bytes) {
            Err(DecodeError::Field { path, message }) => {
                assert_eq!(path, edit.path, "{message}");
                assert!(message.contains("missing"), "{path}: {message}");
            }
            other => panic!("{} may be missing: {other:?}", edit.path),
        }
    }
}

fn every_unknown_key_is_named<D: Document + std::fmt::Debug>(document: &D) {
    let with = |at: &str, map: &Value| {
        let Value::Map(fields) = map else {
            return vec![];
        };
        let mut fields = fields.clone();
        fields.insert("unheardOf".into(), Value::Null);
        vec![(field(at, "unheardOf"), Value::Map(fields))]
    };
    for edit in edits(document, &with) {
        match decode::<D>(&edit.bytes) {
            Err(DecodeError::Field { path, message }) => {
                assert_eq!(path, edit.path, "{message}");
                assert!(message.contains("unheardOf"), "{path}: {message}");
            }
            other => panic!("{} may be there: {other:?}", edit.path),
        }
    }
}

#[test]
fn every_missing_key_is_named_with_its_path() {
    every_missing_key_is_named::<Manifest>(&sample::manifest());
    every_missing_key_is_named::<Manifest>(&sample::manifest_with_a_blob().0);
    every_missing_key_is_named::<Prepared>(&sample::prepared());
    every_missing_key_is_named::<Accept>(&sample::accept());
    every_missing_key_is_named::<Release>(&sample::release());
    every_missing_key_is_named::<Receipt>(&sample::receipt());
}

#[test]
fn every_unknown_key_is_named_with_its_path() {
    every_unknown_key_is_named::<Manifest>(&sample::manifest());
    every_unknown_key_is_named::<Manifest>(&sample::manifest_with_a_blob().0);
    every_unknown_key_is_named::<Prepared>(&sample::prepared());
    every_unknown_key_is_named::<Accept>(&sample::accept());
    every_unknown_key_is_named::<Release>(&sample::release());
    every_unknown_key_is_named::<Receipt>(&sample::receipt());
}
