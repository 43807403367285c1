//! What holds for every document and for every byte string.

use proptest::{prelude::*, sample::Index};

use super::*;
use crate::contract::{
    Accept, Flags, Manifest, Omission, Prepared, Receipt, Release, arbitrary::documents, sample,
};

/// Decodes bytes and asserts that they are exactly what the result is written as.
fn decodes_to_itself_or_errs<D: Document + std::fmt::Debug>(bytes: &[u8]) {
    match decode::<D>(bytes) {
        Ok(document) => assert_eq!(encode(&document), bytes, "{document:?}"),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

fn all_kinds_decode_to_themselves_or_err(bytes: &[u8]) {
    decodes_to_itself_or_errs::<Manifest>(bytes);
    decodes_to_itself_or_errs::<Prepared>(bytes);
    decodes_to_itself_or_errs::<Accept>(bytes);
    decodes_to_itself_or_errs::<Release>(bytes);
    decodes_to_itself_or_errs::<Receipt>(bytes);
    if let Ok(list) = decode_list::<Omission>(bytes) {
        assert_eq!(encode(&list), bytes);
    }
    if let Ok(list) = decode_list::<Flags>(bytes) {
        assert_eq!(encode(&list), bytes);
    }
}

/// One change of one place in a byte string.
#[derive(Clone, Debug)]
enum Mutation {
    Replace(Index, u8),
    Insert(Index, u8),
    Remove(Index),
    Truncate(Index),
    Repeat(Index),
}

impl Mutation {
    fn apply(&self, bytes: &mut Vec<u8>) {
        let length = bytes.len();
        if length == 0 {
            return;
        }
        match self {
            Mutation::Replace(at, byte) => bytes[at.index(length)] = *byte,
            Mutation::Insert(at, byte) => bytes.insert(at.index(length + 1), *byte),
            Mutation::Remove(at) => drop(bytes.remove(at.index(length))),
            Mutation::Truncate(at) => bytes.truncate(at.index(length)),
            Mutation::Repeat(at) => bytes.insert(at.index(length), bytes[at.index(length)]),
        }
    }
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let at = any::<Index>;
    prop_oneof![
        (at(), any::<u8>()).prop_map(|(at, byte)| Mutation::Replace(at, byte)),
        (at(), any::<u8>()).prop_map(|(at, byte)| Mutation::Insert(at, byte)),
        at().prop_map(Mutation::Remove),
        at().prop_map(Mutation::Truncate),
        at().prop_map(Mutation::Repeat),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn manifests_read_back_as_they_were_written(document in documents::<Manifest>()) {
        prop_assert_eq!(decode(&encode(&document)), Ok(document));
    }

    #[test]
    fn accepts_read_back_as_they_were_written(document in documents::<Accept>()) {
        prop_assert_eq!(decode(&encode(&document)), Ok(document));
    }

    #[test]
    fn releases_read_back_as_they_were_written(document in documents::<Release>()) {
        prop_assert_eq!(decode(&encode(&document)), Ok(document));
    }

    #[test]
    fn prepared_handoffs_read_back_as_they_were_written(document in documents::<Prepared>()) {
        prop_assert_eq!(decode(&encode(&document)), Ok(document));
    }

    #[test]
    fn receipts_read_back_as_they_were_written(document in documents::<Receipt>()) {
        prop_assert_eq!(decode(&encode(&document)), Ok(document));
    }

    #[test]
    fn lists_read_back_as_they_were_written(list in documents::<Vec<Omission>>()) {
        prop_assert_eq!(decode_list(&encode(&list)), Ok(list));
    }

    #[test]
    fn a_changed_manifest_errs_or_is_the_canonical_form_of_another(
        document in documents::<Manifest>(),
        mutations in proptest::collection::vec(mutation(), 1..4),
    ) {
        let mut bytes = encode(&document);
        mutations.iter().for_each(|mutation| mutation.apply(&mut bytes));
        decodes_to_itself_or_errs::<Manifest>(&bytes);
    }

    #[test]
    fn a_changed_receipt_errs_or_is_the_canonical_form_of_another(
        document in documents::<Receipt>(),
        mutations in proptest::collection::vec(mutation(), 1..4),
    ) {
        let mut bytes = encode(&document);
        mutations.iter().for_each(|mutation| mutation.apply(&mut bytes));
        decodes_to_itself_or_errs::<Receipt>(&bytes);
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        all_kinds_decode_to_themselves_or_err(&bytes);
    }
}

#[test]
fn every_change_of_one_byte_errs_or_is_the_canonical_form_of_another() {
    let bytes = encode(&sample::accept());
    for at in 0..bytes.len() {
        for byte in 0..=255 {
            let mut replaced = bytes.clone();
            replaced[at] = byte;
            decodes_to_itself_or_errs::<Accept>(&replaced);
            let mut inserted = bytes.clone();
            inserted.insert(at, byte);
            decodes_to_itself_or_errs::<Accept>(&inserted);
        }
        decodes_to_itself_or_errs::<Accept>(&bytes[..at]);
        assert!(decode::<Accept>(&bytes[..at]).is_err(), "cut at {at}");
    }
}
