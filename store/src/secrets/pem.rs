//! Private keys between `-----BEGIN` and `-----END`, however they are wrapped: indented, quoted, with `\n` for line
//! ends, as literals that are added to each other.

use std::ops::Range;

/// Bytes behind the first line that are looked at.
const REACH: usize = 32 << 10;
/// Characters that the body of a key has at least: that of an Ed25519 key has 64.
const MIN_BODY: usize = 40;

/// A private key in a text.
pub(super) struct Key {
    /// Where it lies, from its first line to its last.
    pub(super) span: Range<usize>,
    /// It cannot be used without its passphrase.
    pub(super) encrypted: bool,
    /// Between its first and its last line stands too little for a key.
    pub(super) doubtful: bool,
}

/// Reads the key whose first line begins at `start`.
pub(super) fn key_at(text: &[u8], start: usize) -> Option<Key> {
    let window = &text[start..(start + REACH).min(text.len())];
    let label_end = label(window)?;
    let body_start = label_end;
    let end = memchr::memmem::find(&window[body_start..], b"--END").map(|at| body_start + at);
    let body = &window[body_start..end.unwrap_or(window.len())];
    let encrypted = memchr::memmem::find(&window[..label_end], b"ENCRYPTED").is_some()
        || memchr::memmem::find(body, b"4,ENCRYPTED").is_some()
        || is_encrypted_openssh(body);
    let characters = body_characters(body);
    let random = characters.len() >= MIN_BODY && super::value::entropy(&characters) > 3.2;
    let span_end = match end {
        Some(end) => window[end..]
            .iter()
            .position(|b| *b == b'\n')
            .map_or(window.len(), |line| end + line),
        None => body_start + extent(body),
    };
    let doubtful = !random && end.is_some() && !characters.is_empty();
    ((random || doubtful) && !is_elided(body)).then(|| Key {
        span: start..start + span_end,
        encrypted,
        doubtful,
    })
}

/// Returns the end of the first line's dashes.
fn label(window: &[u8]) -> Option<usize> {
    let dashes = window.iter().take_while(|b| **b == b'-').count();
    let rest = &window[dashes..window.len().min(dashes + 80)];
    let end = memchr::memmem::find(rest, b"----")?;
    let trailing = rest[end..].iter().take_while(|b| **b == b'-').count();
    Some(dashes + end + trailing)
}

/// Returns the base64 of a body without line ends, quotes, headers and signs of addition.
fn body_characters(body: &[u8]) -> Vec<u8> {
    let mut characters = Vec::with_capacity(body.len().min(4096));
    for piece in pieces(body) {
        if characters.len() > 4096 {
            break;
        }
        characters.extend(piece);
    }
    characters
}

/// Returns runs of base64 of at least 16 characters, and the last, shorter one.
fn pieces(body: &[u8]) -> impl Iterator<Item = &[u8]> {
    let breaks = |b: &u8| !(b.is_ascii_alphanumeric() || b"+/=".contains(b));
    body.split(breaks)
        // The `n` and `r` of `\n` and `\r` begin the piece behind them.
        .map(|piece| piece.strip_prefix(b"n").unwrap_or(piece))
        .filter(|piece| piece.len() >= 16)
}

/// Returns how far a body without a last line goes.
fn extent(body: &[u8]) -> usize {
    let mut end = 0;
    for (at, line) in body.split(|b| *b == b'\n').scan(0, |at, line| {
        let here = *at;
        *at += line.len() + 1;
        Some((here, line))
    }) {
        let has = pieces(line).next().is_some();
        if has {
            end = at + line.len();
        } else if at > 200 && end + 80 < at {
            break;
        }
    }
    end.max(1).min(body.len())
}

/// Tells whether the body is left out: `...`, `<key>`, `xxxx`.
fn is_elided(body: &[u8]) -> bool {
    let has = |word: &[u8]| memchr::memmem::find(body, word).is_some();
    let short = body_characters(body).len() < 120;
    short && (has(b"...") || has(b"<") || has(b"\xe2\x80\xa6"))
}

/// OpenSSH says in the clear by which cipher the key is kept.
fn is_encrypted_openssh(body: &[u8]) -> bool {
    let characters = body_characters(body);
    let whole = characters.len().min(64) / 4 * 4;
    data_encoding::BASE64
        .decode(&characters[..whole])
        .is_ok_and(|raw| {
            raw.starts_with(b"openssh-key-v1\0") && !raw[15..].starts_with(b"\0\0\0\x04none")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(label: &str, body: &str) -> String {
        format!(
            "-----{} {label}-----{body}-----{} {label}-----\n",
            "BEGIN", "END"
        )
    }

    fn body(join: &str) -> String {
        let line = [
            "MIGHAgEAMBMGByqGSM49",
            "AgEGCCqGSM49AwEHBG0w",
            "awIBAQQgevZzL1gdAFr8",
        ]
        .concat();
        [join, &line, join, &line, join].concat()
    }

    #[test]
    fn a_key_is_found_however_it_is_wrapped() {
        for join in ["\n", "\\n", "\r\n    ", "\\n\" +\n  \"", "\n# ", " "] {
            let text = key("PRIVATE KEY", &body(join));
            let found = key_at(text.as_bytes(), 0).expect(join);
            assert!(!found.encrypted && found.span.end > 100, "{join}");
        }
    }

    #[test]
    fn a_key_without_body_is_none() {
        for inner in ["\n...\n", "", "\\n", "\nYOUR KEY HERE\n", "[ A-Z]{0,20}"] {
            assert!(
                key_at(key("PRIVATE KEY", inner).as_bytes(), 0).is_none(),
                "{inner}"
            );
        }
    }

    #[test]
    fn a_body_that_is_too_short_for_a_key_is_doubtful() {
        let doubtful = |inner: &str| {
            let found = key_at(key("OPENSSH PRIVATE KEY", inner).as_bytes(), 0);
            found.map(|found| found.doubtful)
        };
        assert_eq!(doubtful(&body("\n")), Some(false));
        assert_eq!(
            doubtful("\nbm90IGEgcmVhbCBrZXksIG9ubHkgYSBjYXNl\n"),
            Some(true)
        );
        assert_eq!(doubtful("\nMIGHAgEAMBMGByqGSM49...\n"), None);
    }

    #[test]
    fn an_encrypted_key_is_known() {
        assert!(
            key_at(key("ENCRYPTED PRIVATE KEY", &body("\n")).as_bytes(), 0)
                .unwrap()
                .encrypted
        );
        let headed = format!("\nProc-Type: 4,ENCRYPTED\n{}", body("\n"));
        assert!(
            key_at(key("RSA PRIVATE KEY", &headed).as_bytes(), 0)
                .unwrap()
                .encrypted
        );
    }
}
