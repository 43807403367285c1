//! What `accept` and `release` have in common: which scope, who acts, and which remote must take it.

use store::{actor::ActorId, error_code::ErrorCode, repository::Repository, scope::ScopeName};

use crate::{context::Context, error::CommandError, remote::Remote, scopes::Scopes};

/// Arguments of a command that changes who owns a scope.
#[derive(clap::Args, Debug)]
pub(crate) struct OwnershipArgs {
    /// The scope; without one, the scope in use here
    #[arg(value_name = "SCOPE")]
    scope: Option<ScopeName>,
    /// Free text for whoever reads the record
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,
    /// Who you are, instead of `handoff.id` or `user.email`
    #[arg(long = "as", value_name = "ID")]
    pub(crate) id: Option<ActorId>,
    /// The remote that must take it
    #[arg(long, value_name = "NAME", conflicts_with = "local")]
    remote: Option<String>,
    /// Write it here only; no remote is told
    #[arg(long)]
    local: bool,
}

impl OwnershipArgs {
    /// Returns the remote that must take the record, if one must; sets it up where there is none.
    pub(crate) fn remote(
        &self,
        context: &Context,
        repository: &mut Repository,
    ) -> Result<Option<Remote>, CommandError> {
        if self.local {
            return Ok(None);
        }
        let remote = Remote::find_or_set_up(context, repository, self.remote.as_deref());
        let without = |error: CommandError| match error.code {
            ErrorCode::Usage => error.hint("with --local it is written here alone"),
            _ => error,
        };
        remote.map(Some).map_err(without)
    }

    /// Returns the scope that is meant.
    pub(crate) fn scope(&self, scopes: &Scopes<'_>) -> Result<ScopeName, CommandError> {
        self.scope.clone().map_or_else(|| scopes.in_use(), Ok)
    }
}

/// Returns the scopes as a remote sees them, where one is given.
pub(crate) fn scopes_of<'a>(
    context: &'a Context,
    repository: &'a Repository,
    remote: Option<&Remote>,
) -> Scopes<'a> {
    let scopes = Scopes::new(context, repository);
    Scopes {
        remote: remote.cloned().or(scopes.remote),
        ..scopes
    }
}

/// Fetches a scope; that the remote does not have it yet is no error.
pub(crate) fn fetch(
    remote: &Remote,
    repository: &Repository,
    scope: &ScopeName,
) -> Result<(), CommandError> {
    match remote.fetch(repository, Some(scope)) {
        Err(error) if error.code == ErrorCode::NotFound => Ok(()),
        Ok(_) => Ok(()),
        Err(error) => Err(error),
    }
}
