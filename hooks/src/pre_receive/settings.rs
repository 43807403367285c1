//! What an operator sets for the hook besides the policy of the rules.

use std::time::Duration;

use super::{content::Limits, identity::IdentityPolicy};
use crate::{
    audit,
    config_files::{ConfigFiles, SettingError},
    mode::Modes,
    policy::Policy,
    secret_scan::SecretSettings,
};

/// Settings of the hook; `handoff.*` in Git's configuration files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// What the rules look at.
    pub policy: Policy,
    /// How strictly they are taken.
    pub modes: Modes,
    /// `handoff.deadline`: how long the judgement of a push may take, where it is set.
    pub deadline: Option<Duration>,
    /// Who may push what.
    pub identity: IdentityPolicy,
    /// `handoff.requireSigned`: every record bears a signature that Git can verify here.
    pub require_signed: bool,
    /// How much a push may hold.
    pub limits: Limits,
    /// How secrets are looked for.
    pub secrets: SecretSettings,
    /// `handoff.auditBytes`: bytes from which on the log of judgements is full.
    pub audit_bytes: u64,
}

impl Settings {
    /// Reads the settings of a repository, from files only.
    ///
    /// # Errors
    ///
    /// Where a setting makes no sense; settings that cannot be read must not be taken for none.
    pub fn read(repository: &gix::Repository) -> Result<Self, SettingError> {
        let files = ConfigFiles::of(repository);
        let seconds = |value: &str| value.parse::<u32>().ok();
        let deadline = files.read("handoff.deadline", "a whole number of seconds", seconds)?;
        Ok(Settings {
            policy: Policy::read(&files)?,
            modes: Modes::read(&files)?,
            deadline: deadline.map(|seconds| Duration::from_secs(seconds.into())),
            identity: IdentityPolicy::read(&files)?,
            require_signed: files.boolean("handoff.requireSigned")?.unwrap_or_default(),
            limits: Limits::read(&files)?,
            secrets: SecretSettings::read(&files)?,
            audit_bytes: files
                .number("handoff.auditBytes")?
                .unwrap_or(audit::DEFAULT_BYTES),
        })
    }
}
