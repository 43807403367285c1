//! Which environment variables the SSH server of this machine takes from clients, sshd_config(5).

use std::{
    fs,
    path::{Path, PathBuf},
};

const CONFIG: &str = "/etc/ssh/sshd_config";
const MORE: &str = "/etc/ssh/sshd_config.d";

/// Returns the file that lets a client set `variable`, if one does.
pub(super) fn accepting(variable: &str) -> Option<PathBuf> {
    let more = fs::read_dir(MORE).into_iter().flatten().flatten();
    let files = more.map(|entry| entry.path()).chain([CONFIG.into()]);
    files
        .into_iter()
        .find(|file| is_accepted_in(file, variable))
}

fn is_accepted_in(file: &Path, variable: &str) -> bool {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.lines().any(|line| accepts(line, variable))
}

fn accepts(line: &str, variable: &str) -> bool {
    let mut words = line
        .split(|c: char| c.is_ascii_whitespace() || c == '=')
        .filter(|word| !word.is_empty());
    let is_accept = words
        .next()
        .is_some_and(|word| word.eq_ignore_ascii_case("AcceptEnv"));
    is_accept && words.any(|pattern| matches(pattern.as_bytes(), variable.as_bytes()))
}

/// Matches `*` and `?`, as sshd does.
fn matches(pattern: &[u8], text: &[u8]) -> bool {
    match (pattern.split_first(), text.split_first()) {
        (None, None) => true,
        (Some((b'*', rest)), _) => {
            matches(rest, text)
                || text
                    .split_first()
                    .is_some_and(|(_, text)| matches(pattern, text))
        }
        (Some((b'?', rest)), Some((_, text))) => matches(rest, text),
        (Some((one, rest)), Some((other, text))) => one == other && matches(rest, text),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_accept_env_names_variables_and_patterns() {
        for line in [
            "AcceptEnv REMOTE_USER",
            "  acceptenv LANG REMOTE_*",
            "AcceptEnv=LC_? *_USER",
            "AcceptEnv *",
        ] {
            assert!(accepts(line, "REMOTE_USER"), "{line}");
        }
        for line in [
            "",
            "# AcceptEnv REMOTE_USER",
            "AcceptEnv LANG LC_*",
            "AcceptEnv REMOTE_USE REMOTE_USER_ID",
            "PermitRootLogin REMOTE_USER",
        ] {
            assert!(!accepts(line, "REMOTE_USER"), "{line}");
        }
    }
}
