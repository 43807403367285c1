//! What the name of a value says: whether a secret would be kept under it.

use super::check::Check;

/// Words after which a name speaks of something about a secret, not of the secret.
const ABOUT: &[&str] = &[
    "id",
    "ids",
    "name",
    "names",
    "path",
    "paths",
    "file",
    "files",
    "filename",
    "dir",
    "directory",
    "url",
    "urls",
    "uri",
    "href",
    "link",
    "host",
    "port",
    "user",
    "username",
    "email",
    "length",
    "len",
    "size",
    "count",
    "min",
    "max",
    "type",
    "types",
    "kind",
    "format",
    "alg",
    "algorithm",
    "version",
    "expiry",
    "expires",
    "expiration",
    "ttl",
    "timeout",
    "interval",
    "limit",
    "header",
    "headers",
    "field",
    "label",
    "title",
    "hint",
    "help",
    "prefix",
    "suffix",
    "regex",
    "pattern",
    "policy",
    "rule",
    "rules",
    "class",
    "placeholder",
    "message",
    "error",
    "text",
    "description",
    "enabled",
    "disabled",
    "required",
    "provider",
    "manager",
    "store",
    "service",
    "handler",
    "index",
    "row",
    "column",
    "generator",
    "validator",
    "endpoint",
    "issuer",
    "audience",
    "scope",
    "scopes",
    "date",
    "time",
    "at",
    "status",
    "state",
    "ref",
    "reference",
    "arn",
    "strength",
    "reset",
    "input",
    "element",
    "selector",
    "component",
    "view",
    "page",
    "form",
    "icon",
    "button",
    "color",
    "style",
    "usage",
    "mode",
    "method",
    "function",
    "test",
    "tests",
    "spec",
    "env",
    "var",
    "vars",
    "variable",
    "attribute",
    "property",
    "param",
    "params",
    "parameter",
    "argument",
    "option",
    "options",
    "config",
    "settings",
    "schema",
    "table",
    "bits",
    "char",
    "chars",
    "alphabet",
    "encoding",
    "location",
    "source",
];

/// Words that make a value one that everybody may know, or a digest.
const NEVER: &[&str] = &[
    "public",
    "publishable",
    "pub",
    "checksum",
    "checksums",
    "digest",
    "sha",
    "sha1",
    "sha256",
    "sha384",
    "sha512",
    "md5",
    "integrity",
    "hash",
    "hashes",
    "fingerprint",
    "fingerprints",
    "thumbprint",
    "etag",
    "primary",
    "foreign",
    "sort",
    "partition",
    "cache",
    "i18n",
    "translation",
    "keyboard",
    "revision",
    "commit",
    "oid",
    "object",
    "tree",
    "blob",
    "uuid",
    "guid",
    "host_key",
    "hostkey",
    "site",
    "sitekey",
    "tracking",
    "analytics",
    "idempotency",
    "shortcut",
    "hotkey",
    "encrypted",
    "sealed",
    "cipher_text",
    "ciphertext",
    "iv",
    "nonce",
    "tag",
    "mock",
    "fake",
    "dummy",
    "example",
    "sample",
    "placeholder",
    "redacted",
    "lexer",
    "parser",
    "keyring",
    "keyserver",
    "fpr",
    "keyid",
    "keygrip",
];

/// Words that a secret is called by.
const SECRET: &[&str] = &[
    "password",
    "passwords",
    "passwd",
    "passphrase",
    "passwort",
    "pwd",
    "pass",
    "psk",
    "secret",
    "secrets",
    "token",
    "tokens",
    "auth",
    "credential",
    "credentials",
    "creds",
    "bearer",
    "salt",
    "pepper",
    "pin",
    "apikey",
    "authkey",
    "accesskey",
    "secretkey",
    "privatekey",
    "signingkey",
    "encryptionkey",
    "masterkey",
    "hmackey",
    "authtoken",
    "accesstoken",
    "refreshtoken",
    "pw",
    "cookie",
    "jwt",
    "apitoken",
    "apisecret",
    "clientsecret",
    "sessionkey",
    "pat",
    "otp",
    "totp",
    "seed",
];

/// Words that make a `key` a secret one.
const KEY_OF: &[&str] = &[
    "api",
    "access",
    "auth",
    "secret",
    "private",
    "priv",
    "encryption",
    "encrypt",
    "encrypting",
    "decryption",
    "signing",
    "sign",
    "signature",
    "master",
    "hmac",
    "client",
    "app",
    "application",
    "service",
    "account",
    "storage",
    "shared",
    "license",
    "licence",
    "deploy",
    "deployment",
    "session",
    "cookie",
    "jwt",
    "aes",
    "crypto",
    "cipher",
    "admin",
    "root",
    "server",
    "webhook",
    "write",
    "admin",
    "ingest",
    "integration",
    "base",
    "subscription",
    "security",
    "symmetric",
    "wrapping",
    "data",
    "kek",
    "dek",
    "user",
    "license",
    "function",
    "host",
    "connection",
    "instrumentation",
    "token",
    "authentication",
    "authorization",
    "consumer",
    "developer",
    "dev",
    "prod",
    "production",
    "live",
    "push",
    "server",
    "vapid",
    "fernet",
    "django",
];

/// Tells whether a secret would be kept under a name; `check` says how sure that must be.
pub(super) fn says_secret(name: &[u8], check: Check) -> bool {
    let words = words(name);
    let Some(last) = words.last() else {
        return false;
    };
    let is = |list: &[&str], word: &str| list.contains(&word);
    if is(ABOUT, last) || words.iter().any(|word| is(NEVER, word)) {
        return false;
    }
    if check != Check::Generic {
        return true;
    }
    let ends = [
        "password",
        "passwd",
        "passphrase",
        "secret",
        "token",
        "apikey",
        "passwort",
        "pwd",
    ];
    let named = words
        .iter()
        .any(|word| is(SECRET, word) || ends.iter().any(|end| word.ends_with(end)));
    let key = words.iter().any(|word| word == "key" || word == "keys")
        && words.iter().any(|word| is(KEY_OF, word));
    named || key
}

/// Splits `someAPIKey`, `SOME_API_KEY`, `some.api-key` into small words.
fn words(name: &[u8]) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    for (at, byte) in name.iter().enumerate() {
        let next_small = name.get(at + 1).is_some_and(u8::is_ascii_lowercase);
        let before = at.checked_sub(1).and_then(|at| name.get(at));
        let begins = byte.is_ascii_uppercase()
            && (before.is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
                || next_small && before.is_some_and(u8::is_ascii_uppercase));
        if (begins || !byte.is_ascii_alphanumeric()) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if byte.is_ascii_alphanumeric() {
            word.push(byte.to_ascii_lowercase() as char);
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    // A number at the end counts, it says nothing.
    while words.len() > 1
        && words
            .last()
            .is_some_and(|word| word.bytes().all(|b| b.is_ascii_digit()))
    {
        words.pop();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_told_from_names_about_them() {
        for name in [
            "SECRET_KEY",
            "api_key",
            "clientSecret",
            "adminPassword",
            "secret_key_base",
            "AUTH_TOKEN",
            "spring.datasource.password",
            "ENCRYPTION_KEY",
            "ServicePassword",
            "POSTGRES_PASSWORD",
            "dbpassword",
            "JWT_SECRET_2",
        ] {
            assert!(says_secret(name.as_bytes(), Check::Generic), "{name}");
        }
        for name in [
            "key",
            "monkey",
            "token_count",
            "PASSWORD_MIN_LENGTH",
            "secretName",
            "publicKey",
            "passwordHash",
            "tokenType",
            "primary_key",
            "password_file",
            "cacheKey",
            "compass",
            "api_key_id",
            "key_checksum",
            "tokenizer",
        ] {
            assert!(!says_secret(name.as_bytes(), Check::Generic), "{name}");
        }
    }
}
