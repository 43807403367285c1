//! Whether a record bears a signature that Git can verify on this server, gitformat-signature(5).

use gix::ObjectId;
use store::{error_code::ErrorCode, git, repository::Repository};

use super::server::failed;
use crate::{quarantine::ObjectDirectories, rejection::Rejection};

/// Variables by which the environment could tell Git whom to trust, git-config(1).
const SETTINGS: [&str; 2] = ["GIT_CONFIG_COUNT", "GIT_CONFIG_PARAMETERS"];

/// Sees that Git verifies the signature of a commit, with the keys that the operator has set up for it.
///
/// # Errors
///
/// `FORBIDDEN_ACTION` where there is no signature, or none that counts.
pub(super) fn judge(
    repository: &Repository,
    directories: &ObjectDirectories,
    id: ObjectId,
) -> Result<(), Rejection> {
    let mut command = repository.git().command(["verify-commit", &id.to_string()]);
    if let Some(own) = &directories.own {
        command.env("GIT_OBJECT_DIRECTORY", own);
    }
    if let Some(alternates) = &directories.alternates {
        command.env("GIT_ALTERNATE_OBJECT_DIRECTORIES", alternates);
    }
    for variable in SETTINGS {
        command.env_remove(variable);
    }
    let output = git::run(command, &[]).map_err(|error| failed(&error))?;
    if output.status.success() {
        return Ok(());
    }
    let detail = format!("record {id} bears no signature that counts here");
    Err(Rejection::new(ErrorCode::ForbiddenAction, detail)
        .hint("sign it: git config commit.gpgSign true, with a key that the operator knows"))
}
