//! What a value looks like: how random it is, and whether it merely stands where a secret would.

/// Returns Shannon's entropy in bits a byte.
pub(super) fn entropy(value: &[u8]) -> f64 {
    if value.is_empty() {
        return 0.0;
    }
    let mut counts = [0u32; 256];
    for byte in value {
        counts[usize::from(*byte)] += 1;
    }
    let length = value.len() as f64;
    let bits = counts.iter().filter(|count| **count > 0).map(|count| {
        let share = f64::from(*count) / length;
        -share * share.log2()
    });
    bits.sum()
}

/// The kinds of characters that words are told apart by.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Lower,
    Upper,
    Digit,
    Other,
}

fn class(byte: u8) -> Class {
    match byte {
        b'a'..=b'z' => Class::Lower,
        b'A'..=b'Z' => Class::Upper,
        b'0'..=b'9' => Class::Digit,
        _ => Class::Other,
    }
}

/// Tells whether a value looks as if a generator had made it rather than a person or a programmer.
///
/// Names are made of words: long runs of letters of one case. Random text changes the kind of character with nearly
/// every step, or is hexadecimal.
pub(super) fn is_random(value: &[u8]) -> bool {
    if value.len() < 8 {
        return false;
    }
    let letters = value.iter().filter(|b| b.is_ascii_alphabetic()).count();
    let digits = value.iter().filter(|b| b.is_ascii_digit()).count();
    if value.iter().all(u8::is_ascii_hexdigit) {
        // One case, and neither a number nor a word.
        return digits * 12 >= value.len()
            && letters * 12 >= value.len()
            && entropy(value) > 2.6
            && !is_sequence(value);
    }
    let others = value.len() - letters - digits;
    if others * 3 > value.len() && digits * 8 < value.len() {
        return false;
    }
    if is_sequence(value) || entropy(value) < floor(value.len()) {
        return false;
    }
    let has = |kind| value.iter().any(|b| class(*b) == kind);
    let kinds = [Class::Lower, Class::Upper, Class::Digit]
        .into_iter()
        .filter(|kind| has(*kind))
        .count();
    if kinds < 2 {
        return kinds == 1 && letters == value.len() && value.len() >= 20 && !is_spoken(value);
    }
    // A name with a number in it, such as that of an encoding.
    if kinds == 2 && digits > 0 && digits * 7 < value.len() {
        return false;
    }
    mean_run(value) < 2.9 && !is_spoken(value)
}

/// Returns the entropy below which a value of a length is taken for made by hand.
fn floor(length: usize) -> f64 {
    match length {
        0..=11 => 2.5,
        12..=19 => 2.9,
        20..=39 => 3.2,
        _ => 3.5,
    }
}

/// Returns the mean length of runs of one kind; a capital before small letters belongs to them, as in names.
fn mean_run(value: &[u8]) -> f64 {
    let mut runs = 0usize;
    let mut before = None;
    let mut characters = 0usize;
    let mut run = 0usize;
    for byte in value {
        let kind = class(*byte);
        if kind == Class::Other {
            before = None;
            run = 0;
            continue;
        }
        characters += 1;
        match before {
            Some(before) if before == kind => run += 1,
            Some(Class::Upper) if kind == Class::Lower && run == 1 => run += 1,
            _ => {
                runs += 1;
                run = 1;
            }
        }
        before = Some(kind);
    }
    characters as f64 / runs.max(1) as f64
}

/// Tells whether the letters are spread as in spoken words: vowels between consonants, case changing only at the
/// start of a word.
fn is_spoken(value: &[u8]) -> bool {
    let mut words = 0usize;
    let mut spoken = 0usize;
    let mut letters = 0usize;
    for word in value.split(|b| !b.is_ascii_alphabetic()) {
        for part in camel_parts(word) {
            letters += part.len();
            if part.len() < 3 {
                continue;
            }
            words += part.len();
            if is_word(part) {
                spoken += part.len();
            }
        }
    }
    letters * 10 >= value.len() * 6 && words * 10 >= letters * 8 && spoken * 10 >= words * 8
}

fn camel_parts(word: &[u8]) -> Vec<&[u8]> {
    let mut parts = Vec::new();
    let mut start = 0;
    for at in 1..word.len() {
        let (before, here) = (word[at - 1], word[at]);
        let next_lower = word.get(at + 1).is_some_and(u8::is_ascii_lowercase);
        let begins = before.is_ascii_lowercase() && here.is_ascii_uppercase()
            || before.is_ascii_uppercase() && here.is_ascii_uppercase() && next_lower;
        if begins {
            parts.push(&word[start..at]);
            start = at;
        }
    }
    parts.push(&word[start..]);
    parts
}

fn is_word(part: &[u8]) -> bool {
    let vowel = |b: &u8| b"aeiouyAEIOUY".contains(b);
    let vowels = part.iter().filter(|b| vowel(b)).count();
    let mut consonants = 0;
    for byte in part {
        consonants = if vowel(byte) { 0 } else { consonants + 1 };
        if consonants > 4 {
            return false;
        }
    }
    let rare = part.iter().filter(|b| b"jqxzJQXZ".contains(b)).count();
    vowels * 5 >= part.len() && vowels * 10 <= part.len() * 8 && rare * 6 <= part.len()
}

/// Tells whether a value counts up or repeats itself: `0123456789abcdef`, `abcabcabc`, `xxxxxxxx`.
pub(super) fn is_sequence(value: &[u8]) -> bool {
    if value.len() < 4 {
        return true;
    }
    let steps = value
        .windows(2)
        .filter(|pair| {
            let difference = i16::from(pair[1]) - i16::from(pair[0]);
            difference.abs() <= 1
                || pair == b"9a"
                || pair == b"9A"
                || pair == b"f0"
                || pair == b"F0"
                || pair == b"90"
        })
        .count();
    if steps * 10 >= (value.len() - 1) * 7 {
        return true;
    }
    (1..=value.len() / 3)
        .take(16)
        .any(|period| value[period..].iter().zip(value).all(|(a, b)| a == b))
}

/// Words that say that a value is none.
const PLACEHOLDER_WORDS: &[&str] = &[
    "example",
    "sample",
    "placeholder",
    "changeme",
    "change-me",
    "change_me",
    "replaceme",
    "replace-me",
    "replace_me",
    "redacted",
    "dummy",
    "your-",
    "your_",
    "yourpass",
    "yourkey",
    "yourtoken",
    "yoursecret",
    "<your",
    "insert-",
    "insert_",
    "todo",
    "fixme",
    "notreal",
    "not-real",
    "not_real",
    "not-a-real",
    "fake",
    "foobar",
    "foo-bar",
    "lorem",
    "xxxxx",
    "*****",
    "-----",
    ".....",
    "_____",
    "00000000",
    "11111111",
    "123456789",
    "987654321",
    "abcdefgh",
    "deadbeef",
    "cafebabe",
    "0123456",
    "test-token",
    "test_token",
    "testtoken",
    "my-secret",
    "my_secret",
    "mysecret",
    "my-token",
    "my_token",
    "mytoken",
    "my-password",
    "mypassword",
    "secret-key",
    "secretkey",
    "api-key-here",
    "goes-here",
    "goes_here",
    "here>",
    "hunter2",
    "supersecret",
    "super-secret",
    "super_secret",
    "topsecret",
    "t0psecret",
    "undefined",
];

/// Tells whether a value stands for one that is not given: a reference, a template, a word such as `changeme`.
pub(super) fn is_placeholder(value: &[u8]) -> bool {
    is_reference(value) || has_placeholder_word(value) || is_repeated(value)
}

fn is_repeated(value: &[u8]) -> bool {
    let mut seen = [false; 256];
    value.iter().for_each(|b| seen[usize::from(*b)] = true);
    let distinct = seen.iter().filter(|seen| **seen).count();
    value.len() >= 6 && distinct <= 3 || is_sequence(value) && value.len() >= 8
}

/// Tells whether a value holds a word that says that it is none.
pub(super) fn has_placeholder_word(value: &[u8]) -> bool {
    let lower = value.to_ascii_lowercase();
    PLACEHOLDER_WORDS
        .iter()
        .any(|word| memchr::memmem::find(&lower, word.as_bytes()).is_some())
}

/// Beginnings of values that name a place where the secret is kept.
const REFERENCES: &[&str] = &[
    "${",
    "$(",
    "{{",
    "{%",
    "<%",
    "%{",
    "%(",
    "#{",
    "@{",
    "$[",
    "op://",
    "vault:",
    "vault://",
    "ssm:",
    "arn:aws:secretsmanager",
    "arn:aws:ssm",
    "secretsmanager:",
    "keyvault:",
    "@microsoft.keyvault",
    "gsm:",
    "sm://",
    "awssm:",
    "secret://",
    "env:",
    "env(",
    "env.",
    "os.environ",
    "os.getenv",
    "process.env",
    "secrets.",
    "var.",
    "local.",
    "data.",
    "module.",
    "enc[",
    "enc(",
    "!vault",
    "$ansible_vault",
    "kms:",
    "encrypted:",
    "sealed:",
    "file:",
    "file(",
    "valuefrom",
    "ref+",
    "{env.",
    "{cipher}",
    "getenv",
    "system.getenv",
    "<your",
    "projects/",
    "aws-secretsmanager:",
    "bws:",
    "doppler:",
    "keychain:",
    "pass:",
    "1password:",
];

/// Tells whether a value says where the secret is, rather than what it is.
pub(super) fn is_reference(value: &[u8]) -> bool {
    let trimmed = value.trim_ascii();
    if trimmed.is_empty() {
        return true;
    }
    let starts = |text: &str| {
        trimmed
            .get(..text.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(text.as_bytes()))
    };
    if REFERENCES.iter().any(|reference| starts(reference)) {
        return true;
    }
    let (first, last) = (trimmed[0], trimmed[trimmed.len() - 1]);
    match first {
        b'$' => {
            trimmed[1..]
                .iter()
                .all(|b| b.is_ascii_alphanumeric() || b"_{}:-.".contains(b))
                && trimmed
                    .get(1)
                    .is_some_and(|b| b.is_ascii_alphabetic() || *b == b'_')
        }
        b'<' => last == b'>',
        b'%' => last == b'%',
        b'[' => last == b']',
        b'{' => last == b'}',
        _ => false,
    }
}

/// Passwords that documentation and test set-ups use.
const EVERYBODYS: &[&str] = &[
    "password",
    "passwd",
    "pass",
    "pwd",
    "secret",
    "admin",
    "root",
    "user",
    "username",
    "guest",
    "test",
    "testing",
    "tester",
    "postgres",
    "mysql",
    "redis",
    "mongo",
    "mongodb",
    "rabbitmq",
    "guest",
    "default",
    "none",
    "null",
    "nil",
    "true",
    "false",
    "foo",
    "bar",
    "baz",
    "token",
    "key",
    "abc",
    "abc123",
    "qwerty",
    "letmein",
    "welcome",
    "login",
    "demo",
    "dev",
    "local",
    "example",
    "sample",
    "x",
    "xx",
    "xxx",
    "pw",
    "p4ssw0rd",
    "passw0rd",
    "p@ssw0rd",
    "p@ssword",
    "pa55w0rd",
    "pa$$word",
    "pass123",
    "test123",
    "admin123",
    "root123",
    "password1",
    "password123",
    "secret123",
    "user123",
    "changeit",
    "change",
    "minioadmin",
    "toor",
    "string",
    "value",
    "any",
    "empty",
    "auth",
    "credentials",
    "oauth2",
    "oauth2accesstoken",
    "x-access-token",
    "x-oauth-basic",
    "hunter2",
    "mypass",
    "mypassword",
    "dbpass",
    "dbpassword",
    "passphrase",
];

/// Tells whether a password is one that everybody uses where none is meant.
pub(super) fn is_everybodys(value: &[u8]) -> bool {
    let lower = value.to_ascii_lowercase();
    EVERYBODYS.iter().any(|word| word.as_bytes() == lower)
}

/// Returns how much a password says of being one: a generator's, one made up, or none.
pub(super) fn password_strength(value: &[u8]) -> Strength {
    if value.len() < 6 || is_placeholder(value) || is_everybodys(value) {
        return Strength::None;
    }
    if value.len() >= 10 && is_random(value) {
        return Strength::Generated;
    }
    let has = |test: fn(&u8) -> bool| value.iter().any(test);
    let kinds = usize::from(has(u8::is_ascii_lowercase))
        + usize::from(has(u8::is_ascii_uppercase))
        + usize::from(has(u8::is_ascii_digit))
        + usize::from(has(|b| b.is_ascii_punctuation()));
    let many = kinds >= 3 && has(u8::is_ascii_digit)
        || kinds >= 2 && value.len() >= 10 && !is_spoken(value);
    if value.len() >= 8 && many && !is_uuid(value) && !is_name(value) {
        Strength::MadeUp
    } else {
        Strength::None
    }
}

/// Tells whether a value is a name, or words with something between them: `db.example.com`, `some_constant`.
fn is_name(value: &[u8]) -> bool {
    let words = value
        .split(|b| !b.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty());
    let plain = |word: &[u8]| {
        word.iter().all(u8::is_ascii_digit)
            || word.iter().all(u8::is_ascii_alphabetic)
                && (word.len() < 3
                    || camel_parts(word)
                        .into_iter()
                        .all(|part| part.len() < 3 || is_word(part)))
    };
    let separated = value
        .iter()
        .all(|b| b.is_ascii_alphanumeric() || b"_-./:, ".contains(b));
    separated && words.clone().count() > 1 && words.into_iter().all(plain)
}

/// How much a value looks like a password.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Strength {
    /// It is a word, a reference or a placeholder.
    None,
    /// A person may have made it up.
    MadeUp,
    /// A generator has made it.
    Generated,
}

/// Tells whether a value is a UUID.
pub(super) fn is_uuid(value: &[u8]) -> bool {
    value.len() == 36
        && value.iter().enumerate().all(|(at, b)| match at {
            8 | 13 | 18 | 23 => *b == b'-',
            _ => b.is_ascii_hexdigit(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_not_random() {
        for name in [
            "ident_or_keyword_or_literal",
            "getAuthenticationTokenFromRequest",
            "correct-horse-battery-staple",
            "AuthorizationHeader",
            "node_modules/token",
            "application/x-www-form-urlencoded",
            "0123456789abcdef",
            "aaaaaaaaaaaaaaaaaaaa",
            "2026-01-01T00:00:00Z",
            "X509CertificateStore2",
            "com.example.security.TokenStore",
            "password_reset_token_v2",
            "utf8mb4_general_ci",
        ] {
            assert!(!is_random(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn generated_values_are_random() {
        // Put together here: no file of ours holds what looks like a secret.
        for pieces in [
            ["q7Rt2L", "mX9vKd"],
            ["8f3a1c9e7b", "2d40f6a5c1"],
            ["Zk3vQ9xT1m", "Wb7RsL5pNy"],
            ["w!8Tq#2", "_Lp%z4Vx"],
        ] {
            let value = pieces.concat();
            assert!(is_random(value.as_bytes()), "{pieces:?}");
        }
    }

    #[test]
    fn references_are_told_from_values() {
        for value in [
            "${TOKEN}",
            "$TOKEN",
            "{{ .Values.password }}",
            "<your password>",
            "process.env.API_KEY",
            "%PASSWORD%",
            "op://vault/item",
        ] {
            assert!(is_placeholder(value.as_bytes()), "{value}");
        }
        for value in ["pa$$w0rdX9z", "$2kd8Jq!x"] {
            assert!(!is_reference(value.as_bytes()), "{value}");
        }
    }
}
