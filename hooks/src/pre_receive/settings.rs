//! What an operator sets for the hook besides the policy of the rules.

use std::time::Duration;

use crate::policy::{Policy, PolicyError, from_files};

const DEFAULT_DEADLINE: Duration = Duration::from_secs(60);

/// Settings of the hook; `handoff.*` in Git's configuration files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// What the rules look at.
    pub policy: Policy,
    /// `handoff.deadline`: how long the judgement of a push may take.
    pub deadline: Duration,
    /// `handoff.identityEnv`: the variable that holds the authenticated user.
    pub identity_env: Option<String>,
}

impl Settings {
    /// Reads the settings of a repository, from files only.
    ///
    /// # Errors
    ///
    /// Where a setting makes no sense; settings that cannot be read must not be taken for none.
    pub fn read(repository: &gix::Repository) -> Result<Self, PolicyError> {
        let setting = |key| from_files(repository, key);
        let error = |key, value: String, expected| PolicyError {
            key,
            value,
            expected,
        };
        if let Some(mode) = setting("handoff.mode").filter(|mode| mode != "enforce") {
            return Err(error("handoff.mode", mode, "`enforce`"));
        }
        let deadline = match setting("handoff.deadline") {
            None => DEFAULT_DEADLINE,
            Some(value) => {
                let seconds = value.parse::<u32>().ok();
                let seconds = seconds
                    .ok_or_else(|| error("handoff.deadline", value, "a whole number of seconds"))?;
                Duration::from_secs(seconds.into())
            }
        };
        let identity_env = setting("handoff.identityEnv");
        if let Some(name) = identity_env.as_ref().filter(|name| !is_variable(name)) {
            let expected = "the name of an environment variable";
            return Err(error("handoff.identityEnv", name.clone(), expected));
        }
        Ok(Settings {
            policy: Policy::read(repository)?,
            deadline,
            identity_env,
        })
    }
}

fn is_variable(name: &str) -> bool {
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    starts && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
