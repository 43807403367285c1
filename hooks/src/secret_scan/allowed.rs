//! Values that somebody answers for: entries of the manifest that let findings through.

use store::{
    actor::ActorId,
    contract::Allow,
    secrets::{Finding, Fingerprint},
};

/// Which entries count.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Permits {
    /// All of them: here, whoever writes them answers for what they hand over.
    Everything,
    /// Those with one of these reasons; on a server none, unless the operator says so.
    Reasons(Vec<String>),
}

/// An entry that has let something through.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, serde::Serialize)]
pub struct Allowed {
    /// Rule of the finding.
    pub rule: String,
    /// Stands for the value, and gives nothing of it away.
    pub fingerprint: String,
    /// Why it is no secret.
    pub reason: String,
    /// Who says so.
    pub by: ActorId,
}

impl Permits {
    /// Returns the entry that lets a finding through, if one does.
    pub(super) fn entry_for(&self, entries: &[Allow], finding: &Finding) -> Option<Allowed> {
        let fingerprint = finding.fingerprint.as_ref().map(Fingerprint::as_str)?;
        let entry = entries.iter().find(|entry| {
            entry.fingerprint == fingerprint
                && entry.rule == *finding.rule
                && self.permit(&entry.reason)
        })?;
        Some(Allowed {
            rule: entry.rule.clone(),
            fingerprint: entry.fingerprint.clone(),
            reason: entry.reason.clone(),
            by: entry.by.clone(),
        })
    }

    fn permit(&self, reason: &str) -> bool {
        match self {
            Permits::Everything => true,
            Permits::Reasons(reasons) => reasons.iter().any(|known| known == reason),
        }
    }
}
