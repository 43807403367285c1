//! No bytes make the readers of documents and messages panic, and what is read is exactly what would be written.

#![no_main]

use gix::bstr::BStr;
use libfuzzer_sys::fuzz_target;
use store::{
    contract::{
        Accept, Document, Flags, Manifest, Omission, Prepared, Receipt, Release, check, codec,
        lists::ListBlobs, message,
    },
    digest::Digest,
};

fuzz_target!(|bytes: &[u8]| {
    let digest = Digest::of(bytes);
    let blobs = ListBlobs::default();
    if let Some(manifest) = read::<Manifest>(bytes) {
        check::manifest(&manifest, &blobs);
        trailers_are_ours(&message::checkpoint_message(&manifest, digest));
    }
    if let Some(prepared) = read::<Prepared>(bytes) {
        check::prepared(&prepared, &blobs);
    }
    if let Some(accept) = read::<Accept>(bytes) {
        check::accept(&accept, check::DEFAULT_MAX_ACCEPT_SECONDS);
        trailers_are_ours(&message::accept_message(&accept, digest));
    }
    if let Some(release) = read::<Release>(bytes) {
        trailers_are_ours(&message::release_message(&release, digest));
    }
    read::<Receipt>(bytes);
    if let Ok(list) = codec::decode_list::<Omission>(bytes) {
        assert_eq!(codec::encode(&list), bytes);
    }
    if let Ok(list) = codec::decode_list::<Flags>(bytes) {
        assert_eq!(codec::encode(&list), bytes);
    }
    message::parse_trailers(BStr::new(bytes));
});

fn read<D: Document>(bytes: &[u8]) -> Option<D> {
    let document = codec::decode::<D>(bytes).ok()?;
    assert_eq!(codec::encode(&document), bytes);
    Some(document)
}

fn trailers_are_ours(message: &str) {
    let trailers = message::parse_trailers(BStr::new(message)).expect("we wrote them");
    assert!(message.ends_with(&format!("\n\n{trailers}")));
}
