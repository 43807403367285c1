use std::io::BufReader;

use gix::{ObjectId, bstr::BString, hash::Kind};
use proptest::{collection::vec, prelude::*};

use super::{Header, HeaderError, MAX_HEADER_BYTES};

fn read(bytes: &[u8]) -> Result<Header, HeaderError> {
    Header::read(&mut BufReader::new(bytes))
}

fn id(kind: Kind) -> impl Strategy<Value = ObjectId> {
    vec(1_u8.., kind.len_in_bytes()).prop_map(|bytes| ObjectId::from_bytes_or_panic(&bytes))
}

fn header() -> impl Strategy<Value = Header> {
    prop_oneof![Just(Kind::Sha1), Just(Kind::Sha256)].prop_flat_map(|hash| {
        let name = "refs/[a-z/ ]{1,20}".prop_map(BString::from);
        (vec(id(hash), 0..4), vec((name, id(hash)), 0..4)).prop_map(move |(prerequisites, refs)| {
            Header {
                hash,
                prerequisites,
                refs,
            }
        })
    })
}

proptest! {
    #[test]
    fn a_header_that_was_written_reads_back(header in header()) {
        prop_assert_eq!(read(&header.to_bytes()).unwrap(), header);
    }

    #[test]
    fn a_header_that_is_cut_short_is_refused(header in header(), cut in any::<prop::sample::Index>()) {
        let bytes = header.to_bytes();
        prop_assert!(read(&bytes[..cut.index(bytes.len())]).is_err());
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in vec(any::<u8>(), 0..200), version in 2..5_u8) {
        let _ = read(&bytes);
        let begun = [format!("# v{version} git bundle\n").as_bytes(), &bytes].concat();
        let _ = read(&begun);
    }
}

#[test]
fn what_is_no_bundle_is_not_read_to_its_end() {
    let error = read(&[b'x'; 4096]).unwrap_err();
    assert!(matches!(error, HeaderError::NoBundle), "{error}");
}

#[test]
fn a_header_without_end_is_refused_at_the_limit() {
    let mut endless = b"# v2 git bundle\n".to_vec();
    endless.resize(MAX_HEADER_BYTES as usize + 10, b'a');
    assert!(matches!(read(&endless), Err(HeaderError::TooLarge)));
}

#[test]
fn a_capability_that_is_not_known_is_named() {
    let filtered = b"# v3 git bundle\n@object-format=sha1\n@filter=blob:none\n\n";
    let error = read(filtered).unwrap_err();
    assert_eq!(
        error.to_string(),
        "it needs `@filter=blob:none`, which is not known here"
    );
    let later = read(b"# v4 git bundle\n\n").unwrap_err();
    assert_eq!(
        later.to_string(),
        "it needs `v4 git bundle`, which is not known here"
    );
}

#[test]
fn ids_of_another_hash_function_are_refused() {
    let line = format!(
        "# v3 git bundle\n@object-format=sha256\n{} refs/handoff/a\n\n",
        "1".repeat(40)
    );
    assert!(matches!(read(line.as_bytes()), Err(HeaderError::Line(3))));
}
