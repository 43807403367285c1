//! Settings of an operator: `handoff.*` in Git's configuration files, git-config(1).
//!
//! What the environment sets (`GIT_CONFIG_COUNT`, `GIT_CONFIG_PARAMETERS`) may come from a pusher and does not count.

use gix::bstr::{BStr, ByteSlice};

/// Says that a setting makes no sense.
#[derive(Debug, thiserror::Error)]
#[error("the setting {key} has the value `{value}`, which is not {expected}")]
pub struct SettingError {
    /// Name of the setting.
    pub key: String,
    /// What it is set to.
    pub value: String,
    /// What it can be.
    pub expected: &'static str,
}

impl SettingError {
    /// Makes the error of a setting.
    pub(crate) fn new(key: impl Into<String>, value: String, expected: &'static str) -> Self {
        SettingError {
            key: key.into(),
            value,
            expected,
        }
    }
}

/// The configuration files of a repository.
pub(crate) struct ConfigFiles<'r>(gix::config::Snapshot<'r>);

impl<'r> ConfigFiles<'r> {
    pub(crate) fn of(repository: &'r gix::Repository) -> Self {
        ConfigFiles(repository.config_snapshot())
    }

    /// Returns the last value of a setting; the empty text where it stands without `=`.
    pub(crate) fn text(&self, key: &str) -> Option<String> {
        let value = self.0.plumbing().string_implicit_filter(key, is_a_file)?;
        Some(shown(value.unwrap_or_default().as_bstr()))
    }

    /// Returns all values of a setting, in the order of the files.
    pub(crate) fn all(&self, key: &str) -> Vec<String> {
        let values = self.0.plumbing().strings_filter(key, is_a_file);
        let values = values.into_iter().flatten();
        values.map(|value| shown(value.as_bstr())).collect()
    }

    /// Returns the values of `handoff.<subsection>.<name>`, with the subsections, in the order of the files.
    pub(crate) fn of_subsections(&self, name: &str) -> Vec<(String, String)> {
        let sections = self
            .0
            .plumbing()
            .sections_by_name_and_filter("handoff", is_a_file);
        let mut found = Vec::new();
        for section in sections.into_iter().flatten() {
            if let Some(subsection) = section.header().subsection_name()
                && let Some(value) = section.value_implicit(name)
            {
                let value = value.unwrap_or_default();
                found.push((shown(subsection), shown(value.as_bstr())));
            }
        }
        found
    }

    pub(crate) fn boolean(&self, key: &str) -> Result<Option<bool>, SettingError> {
        let read = |value: &str| match value.to_ascii_lowercase().as_str() {
            "" | "true" | "yes" | "on" | "1" => Some(true),
            "false" | "no" | "off" | "0" => Some(false),
            _ => None,
        };
        self.read(key, "true or false", read)
    }

    /// Returns a whole number; `k`, `m` and `g` multiply it as in Git.
    pub(crate) fn number(&self, key: &str) -> Result<Option<u64>, SettingError> {
        self.read(key, "a whole number", number)
    }

    /// Returns a setting as `read` reads it.
    pub(crate) fn read<T>(
        &self,
        key: &str,
        expected: &'static str,
        read: impl FnOnce(&str) -> Option<T>,
    ) -> Result<Option<T>, SettingError> {
        let Some(value) = self.text(key) else {
            return Ok(None);
        };
        match read(&value) {
            Some(read) => Ok(Some(read)),
            None => Err(SettingError::new(key, value, expected)),
        }
    }
}

fn shown(value: &BStr) -> String {
    value.to_str_lossy().into_owned()
}

fn is_a_file(meta: &gix::config::file::Metadata) -> bool {
    meta.path.is_some()
}

fn number(text: &str) -> Option<u64> {
    let (digits, factor) = match text.to_ascii_lowercase().chars().last()? {
        'k' => (&text[..text.len() - 1], 1 << 10),
        'm' => (&text[..text.len() - 1], 1 << 20),
        'g' => (&text[..text.len() - 1], 1 << 30),
        _ => (text, 1),
    };
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    plain
        .then(|| digits.parse::<u64>().ok())??
        .checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_git_reads_them() {
        assert_eq!(number("0"), Some(0));
        assert_eq!(number("7k"), Some(7 << 10));
        assert_eq!(number("7M"), Some(7 << 20));
        assert_eq!(number("2g"), Some(2 << 30));
        for text in [
            "",
            "k",
            "-1",
            "1.5",
            "1kb",
            "1 k",
            "ä",
            "18446744073709551615k",
        ] {
            assert_eq!(number(text), None, "{text}");
        }
    }
}
