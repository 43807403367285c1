//! No bytes make the reader of a bundle's header panic, and what is read reads back the same once it is written.

#![no_main]

use libfuzzer_sys::fuzz_target;
use store::bundle::Header;

fuzz_target!(|bytes: &[u8]| {
    let read = |mut bytes: &[u8]| Header::read(&mut bytes);
    if let Ok(header) = read(bytes) {
        assert_eq!(read(&header.to_bytes()).expect("we wrote it"), header);
    }
});
