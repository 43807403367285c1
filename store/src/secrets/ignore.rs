//! `.gitleaksignore`: findings that are let through by where they lie.

use std::path::Path;

use gix::bstr::ByteSlice;

use super::Finding;

/// The lines of a `.gitleaksignore`.
#[derive(Clone, Debug, Default)]
pub struct IgnoreFile {
    lines: Vec<String>,
}

impl IgnoreFile {
    /// Reads a file; one that is not there ignores nothing.
    ///
    /// # Errors
    ///
    /// Where it is there and cannot be read.
    pub fn read(path: &Path) -> std::io::Result<Self> {
        match std::fs::read(path) {
            Ok(bytes) => Ok(Self::parse(&bytes.to_str_lossy())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error),
        }
    }

    fn parse(text: &str) -> Self {
        let lines = text.lines().map(str::trim);
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        IgnoreFile {
            lines: lines.map(|line| line.replace('\\', "/")).collect(),
        }
    }

    /// Tells whether a line names the finding: `file:rule:line`, with the commit before it or not.
    pub fn names(&self, finding: &Finding) -> bool {
        let place = format!("{}:{}:{}", finding.path, finding.rule, finding.line);
        self.lines.iter().any(|line| {
            let before = line.strip_suffix(&place);
            before.is_some_and(|before| before.is_empty() || is_commit(before))
        })
    }
}

fn is_commit(text: &str) -> bool {
    let hex = text.strip_suffix(':').unwrap_or_default();
    hex.len() >= 7 && hex.bytes().all(|b| b.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secrets::{Place, Severity};

    #[test]
    fn a_line_names_file_rule_and_line() {
        let file =
            IgnoreFile::parse("# why\n\nsrc\\a.txt:some-rule:3\n0123456789abcdef:b.txt:other:1\n");
        let finding = |path: &str, rule: &str, line| Finding {
            rule: rule.into(),
            severity: Severity::Block,
            path: Place::clean(path),
            line,
            end_line: line,
            fingerprint: None,
        };
        assert!(file.names(&finding("src/a.txt", "some-rule", 3)));
        assert!(file.names(&finding("b.txt", "other", 1)));
        for (path, rule, line) in [
            ("src/a.txt", "some-rule", 4),
            ("a.txt", "some-rule", 3),
            ("src/a.txt", "rule", 3),
        ] {
            assert!(
                !file.names(&finding(path, rule, line)),
                "{path} {rule} {line}"
            );
        }
    }
}
