use proptest::prelude::*;

use super::*;

fn parsed(text: &str) -> Option<Citation> {
    text.parse().ok()
}

#[test]
fn paths_are_percent_encoded_in_one_way() {
    let path = RepoPath::from_bytes(b"a b/caf\xe9#L1%").unwrap();
    let text = "file/a%20b/caf%E9%23L1%25";
    assert_eq!(parsed(text), Some(Citation::File(path, None)));
    for other in [
        "file/a b",
        "file/caf%e9",
        "file/%61",
        "file/a%2",
        "file/a%zz",
        "file/a%+1",
    ] {
        assert_eq!(parsed(other), None, "{other}");
    }
}

#[test]
fn lines_are_counted_from_one_and_written_in_one_way() {
    let path = RepoPath::from_bytes(b"a").unwrap();
    let lines = |first, last| {
        Some(Citation::File(
            path.clone(),
            Some(LineRange { first, last }),
        ))
    };
    assert_eq!(parsed("file/a#L3"), lines(3, 3));
    assert_eq!(parsed("file/a#L3-L9"), lines(3, 9));
    for other in [
        "file/a#",
        "file/a#3",
        "file/a#L0",
        "file/a#L03",
        "file/a#L+3",
        "file/a#L9-L3",
        "file/a#L3-L3",
        "file/a#L3-9",
        "file/a#L99999999999",
    ] {
        assert_eq!(parsed(other), None, "{other}");
    }
}

#[test]
fn what_names_nothing_that_could_be_is_no_citation() {
    for text in [
        "",
        "tree",
        "tree/index",
        "receipt/",
        "receipt/a b",
        "commit/2222",
        "file/",
        "file/../a",
        "file//a",
        "url/http://example.com",
        "url/https://example.com/a b",
        "url/https://example.com/\u{1b}",
        "checkpoint/a@1",
        "checkpoint/a@0#sha256:00",
        "other/a",
    ] {
        assert_eq!(parsed(text), None, "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_text_is_no_citation_or_the_spelling_of_one(
        kind in "(tree|receipt|evidence|commit|file|checkpoint|bundle|url)?",
        rest in any::<String>(),
    ) {
        let text = format!("{kind}/{rest}");
        if let Some(citation) = parsed(&text) {
            prop_assert_eq!(citation.to_string(), text);
        }
    }
}
