//! What is proved of a value before it counts: checksums, shapes, randomness.

use std::ops::Range;

use data_encoding::{BASE64, BASE64_NOPAD, BASE64URL_NOPAD};
use sha2::{Digest as _, Sha256};

use super::{
    finding::Severity,
    pem,
    value::{self, Strength},
};

/// What is proved of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Check {
    /// Nothing: the rule is another's.
    None,
    /// It is no placeholder.
    Token,
    /// Its last six characters are a CRC-32 of those before, in base 62 (GitHub, npm).
    Crc32,
    /// It is a JSON Web Token, and not the one that every documentation shows.
    Jwt,
    /// It is a private key with a body.
    Pem,
    /// It is a password of an URL or a connection string.
    Password,
    /// It is a password that a generator made.
    Generated,
    /// It looks random.
    Random,
    /// It is base64 of `name:password`.
    BasicAuth,
    /// It is base64 of a password or of text with one.
    EncodedPassword,
    /// It is base64 of 32 bytes.
    Base64Of32,
    /// It carries the checksum of Base58Check.
    Base58Sum,
    /// It looks like the secret half of a key of AWS.
    AwsSecret,
    /// It is a value as the rule for generic assignments takes it.
    Generic,
}

impl Check {
    pub(super) fn of(name: &str) -> Option<Self> {
        Some(match name {
            "none" => Check::None,
            "token" => Check::Token,
            "crc32" => Check::Crc32,
            "jwt" => Check::Jwt,
            "pem" => Check::Pem,
            "password" => Check::Password,
            "generated" => Check::Generated,
            "random" => Check::Random,
            "basic-auth" => Check::BasicAuth,
            "encoded-password" => Check::EncodedPassword,
            "base64-32" => Check::Base64Of32,
            "base58check" => Check::Base58Sum,
            "aws-secret" => Check::AwsSecret,
            "generic" => Check::Generic,
            _ => return None,
        })
    }

    /// Tells whether the value is a token of one word, which nothing of a word may follow.
    pub(super) fn is_token(self) -> bool {
        matches!(
            self,
            Check::Token
                | Check::Generic
                | Check::Crc32
                | Check::Random
                | Check::AwsSecret
                | Check::Base58Sum
        )
    }

    /// Tells whether the name that a value is given to must speak of a secret.
    pub(super) fn asks_name(self) -> bool {
        matches!(self, Check::Random | Check::Generic)
    }

    /// Judges the value at `secret`; returns its weight and where it really lies.
    pub(super) fn judge(
        self,
        text: &[u8],
        secret: Range<usize>,
        severity: Severity,
    ) -> Option<(Severity, Range<usize>)> {
        let bytes = &text[secret.clone()];
        let lower = |holds: bool| if holds { severity } else { Severity::Warn };
        let found = match self {
            Check::None => severity,
            Check::Token => is_token(bytes).then_some(severity)?,
            Check::Crc32 => is_token(bytes).then(|| lower(has_crc32(bytes)))?,
            Check::Jwt => is_jwt(bytes).then_some(severity)?,
            Check::Pem => {
                let key = pem::key_at(text, secret.start)?;
                return Some((lower(!key.encrypted && !key.doubtful), key.span));
            }
            Check::Password => match value::password_strength(bytes) {
                Strength::None => return None,
                Strength::MadeUp | Strength::Generated => severity,
            },
            Check::Generated => {
                (value::password_strength(bytes) == Strength::Generated).then_some(severity)?
            }
            Check::Random => (is_random_token(bytes) && is_token(bytes)).then_some(severity)?,
            Check::BasicAuth => is_basic_auth(bytes).then_some(severity)?,
            Check::EncodedPassword => is_encoded_password(bytes).then_some(severity)?,
            Check::Base64Of32 => {
                let raw = BASE64.decode(bytes).ok()?;
                (raw.len() == 32 && value::entropy(&raw) > 3.5).then_some(severity)?
            }
            Check::Base58Sum => is_base58check(bytes).then_some(severity)?,
            Check::AwsSecret => is_aws_secret(bytes).then_some(severity)?,
            Check::Generic => generic(bytes).then_some(severity)?,
        };
        Some((found, secret))
    }
}

/// A value of a provider's form is none only where it says so itself.
fn is_token(bytes: &[u8]) -> bool {
    let start = bytes
        .iter()
        .rposition(|b| *b == b'_')
        .map_or(0, |at| at + 1);
    let body = if bytes.len() - start >= 12 {
        &bytes[start..]
    } else {
        bytes
    };
    value::entropy(body) >= floor(body)
        && !value::is_sequence(body)
        && !says_example(bytes)
        && !has_long_run(body)
}

/// What follows a provider's prefix must look random, or all of it.
fn is_random_token(bytes: &[u8]) -> bool {
    let prefix = bytes
        .iter()
        .take(14)
        .rposition(|b| b"-_.:/".contains(b))
        .map_or(0, |at| at + 1);
    value::is_random(bytes) || value::is_random(&bytes[prefix..])
}

fn floor(body: &[u8]) -> f64 {
    if body.len() < 16 || body.iter().all(|b| b.is_ascii_hexdigit() || *b == b'-') {
        2.4
    } else {
        2.9
    }
}

/// Six of one kind in a row, or a count of eight: nobody's generator makes these.
fn has_long_run(bytes: &[u8]) -> bool {
    let run = |step: u8, length: usize| {
        let mut seen = 1;
        bytes.windows(2).any(|pair| {
            seen = if pair[1].wrapping_sub(pair[0]) == step {
                seen + 1
            } else {
                1
            };
            seen >= length
        })
    };
    run(0, 7) || run(1, 8)
}

fn says_example(bytes: &[u8]) -> bool {
    const WORDS: [&[u8]; 10] = [
        b"example",
        b"placeholder",
        b"xxxxxx",
        b"redacted",
        b"changeme",
        b"your",
        b"......",
        b"dummy",
        b"sample",
        b"notreal",
    ];
    let lower = bytes.to_ascii_lowercase();
    WORDS
        .iter()
        .any(|word| memchr::memmem::find(&lower, word).is_some())
}

fn has_crc32(bytes: &[u8]) -> bool {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let start = bytes
        .iter()
        .rposition(|b| *b == b'_')
        .map_or(0, |at| at + 1);
    let Some(split) = bytes.len().checked_sub(6).filter(|split| *split > start) else {
        return false;
    };
    let mut rest = crc32fast::hash(&bytes[start..split]);
    let mut wanted = [b'0'; 6];
    for place in wanted.iter_mut().rev() {
        *place = DIGITS[(rest % 62) as usize];
        rest /= 62;
    }
    bytes[split..] == wanted
}

fn is_jwt(bytes: &[u8]) -> bool {
    let mut parts = bytes.split(|b| *b == b'.');
    let (Some(header), Some(payload)) = (parts.next(), parts.next()) else {
        return false;
    };
    let json = |part: &[u8]| {
        let raw = BASE64URL_NOPAD.decode(part).ok()?;
        serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(&raw).ok()
    };
    let Some(header) = json(header) else {
        return false;
    };
    if !header.contains_key("alg") {
        return false;
    }
    if header.contains_key("enc") {
        // An encrypted token: whoever holds it can use it.
        return true;
    }
    let Some(payload) = json(payload) else {
        return false;
    };
    let is = |key: &str, wanted: &str| payload.get(key).and_then(|v| v.as_str()) == Some(wanted);
    // The tokens of RFC 7519 and of jwt.io.
    let is_documented = is("sub", "1234567890") || is("iss", "joe") || is("name", "John Doe");
    // Supabase's key for browsers is public.
    let is_public = is("role", "anon");
    !is_documented && !is_public
}

fn decode_base64(bytes: &[u8]) -> Option<Vec<u8>> {
    let end = bytes
        .iter()
        .rposition(|b| *b != b'=')
        .map_or(0, |at| at + 1);
    let mut standard = bytes[..end].to_vec();
    for byte in &mut standard {
        match *byte {
            b'-' => *byte = b'+',
            b'_' => *byte = b'/',
            _ => {}
        }
    }
    BASE64_NOPAD.decode(&standard).ok()
}

fn is_basic_auth(bytes: &[u8]) -> bool {
    let Some(text) = decode_base64(bytes) else {
        return false;
    };
    let printable = text.iter().all(|b| (b' '..0x7f).contains(b));
    let Some(colon) = text.iter().position(|b| *b == b':') else {
        return false;
    };
    let password = &text[colon + 1..];
    printable && password.len() >= 6 && value::password_strength(password) > Strength::None
}

fn is_encoded_password(bytes: &[u8]) -> bool {
    let Some(raw) = decode_base64(bytes) else {
        return false;
    };
    let text = raw.trim_ascii();
    let printable = text.iter().all(|b| (b' '..0x7f).contains(b));
    if printable {
        value::password_strength(text) > Strength::None
    } else {
        // Key bytes, but no picture, certificate or archive: those have a length.
        (16..=64).contains(&raw.len()) && raw.len().is_multiple_of(8) && value::entropy(&raw) > 3.4
    }
}

fn is_base58check(bytes: &[u8]) -> bool {
    let Some(raw) = decode_base58(bytes) else {
        return false;
    };
    let Some(split) = raw.len().checked_sub(4).filter(|split| *split >= 16) else {
        return false;
    };
    let once = Sha256::digest(&raw[..split]);
    Sha256::digest(once)[..4] == raw[split..]
}

fn decode_base58(bytes: &[u8]) -> Option<Vec<u8>> {
    const DIGITS: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
    let mut raw: Vec<u8> = Vec::new();
    for byte in bytes {
        let mut carry = DIGITS.iter().position(|digit| digit == byte)?;
        for place in &mut raw {
            carry += usize::from(*place) * 58;
            *place = (carry & 0xff) as u8;
            carry >>= 8;
        }
        while carry > 0 {
            raw.push((carry & 0xff) as u8);
            carry >>= 8;
        }
    }
    raw.extend(bytes.iter().take_while(|b| **b == b'1').map(|_| 0));
    raw.reverse();
    Some(raw)
}

/// 40 characters of base64 that are neither a path, nor a digest in hexadecimal, nor the documentation's.
fn is_aws_secret(bytes: &[u8]) -> bool {
    let has = |test: fn(&u8) -> bool| bytes.iter().any(test);
    bytes.len() == 40
        && has(u8::is_ascii_lowercase)
        && has(u8::is_ascii_uppercase)
        && has(u8::is_ascii_digit)
        && value::entropy(bytes) >= 3.9
        && is_token(bytes)
}

/// A value of at least 12 characters that looks random, or of 8 with many kinds of characters.
fn generic(bytes: &[u8]) -> bool {
    if bytes.len() > 512
        || value::is_placeholder(bytes)
        || value::is_everybodys(bytes)
        || value::is_uuid(bytes)
    {
        return false;
    }
    let inner = bytes.iter().filter(|b| !b.is_ascii_graphic()).count();
    let joined = bytes
        .iter()
        .filter(|b| b"()<>[]{}`'\";,|".contains(b))
        .count();
    inner == 0 && joined * 6 <= bytes.len() && value::password_strength(bytes) > Strength::None
}
