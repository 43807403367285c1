//! What an operator sets for the secret scan of a server.

use std::path::PathBuf;

use super::{History, Permits};
use crate::config_files::{ConfigFiles, SettingError};

/// Settings of the secret scan; `handoff.*` in Git's configuration files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecretSettings {
    /// `handoff.secretRules`: a gitleaks configuration that is added to the program's rules.
    pub rules_file: Option<PathBuf>,
    /// `handoff.allowReason`: reasons for which a finding may be let through.
    pub allow_reasons: Vec<String>,
    /// `handoff.allowBy`: authenticated users who may push what is let through.
    pub allow_by: Vec<String>,
    /// `handoff.scanHistory`: whether the code from before the work began is looked through.
    pub history: History,
}

impl SecretSettings {
    pub(crate) fn read(files: &ConfigFiles<'_>) -> Result<Self, SettingError> {
        let absolute = |path: &str| Some(PathBuf::from(path)).filter(|path| path.is_absolute());
        let scans_history = files.boolean("handoff.scanHistory")?.unwrap_or_default();
        Ok(SecretSettings {
            rules_file: files.read(
                "handoff.secretRules",
                "the absolute path of a file",
                absolute,
            )?,
            allow_reasons: files.all("handoff.allowReason"),
            allow_by: files.all("handoff.allowBy"),
            history: match scans_history {
                true => History::Scanned,
                false => History::Counted,
            },
        })
    }

    /// Returns which allow entries count in a push of a user.
    pub(super) fn permits(&self, user: Option<&str>) -> Permits {
        let may = user.is_some_and(|user| self.allow_by.iter().any(|by| by == user));
        Permits::Reasons(match may {
            true => self.allow_reasons.clone(),
            false => Vec::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_let_through_unless_reason_and_user_are_named() {
        let settings = SecretSettings {
            allow_reasons: vec!["fixture".into()],
            allow_by: vec!["ann".into()],
            ..SecretSettings::default()
        };
        let none = Permits::Reasons(Vec::new());
        assert_eq!(
            settings.permits(Some("ann")),
            Permits::Reasons(vec!["fixture".into()])
        );
        assert_eq!(settings.permits(Some("ben")), none);
        assert_eq!(settings.permits(None), none);
        assert_eq!(SecretSettings::default().permits(Some("ann")), none);
    }
}
