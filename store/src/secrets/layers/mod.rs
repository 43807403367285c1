//! What may be wrapped around a secret: encodings, packed files, literals that are added to each other.
//!
//! Each layer takes bytes and gives bytes; none of them knows what a secret is.

pub(super) mod archive;
pub(super) mod base;
pub(super) mod escape;
pub(super) mod joined;
pub(super) mod utf16;

/// A run of characters that a person could read, or a packed file: worth a look.
pub(super) fn is_worth_a_look(bytes: &[u8]) -> bool {
    const RUN: usize = 16;
    if archive::kind(bytes).is_some() || utf16::order(bytes).is_some() {
        return true;
    }
    let mut run = 0;
    bytes.iter().any(|byte| {
        run = if matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~') {
            run + 1
        } else {
            0
        };
        run >= RUN
    })
}
