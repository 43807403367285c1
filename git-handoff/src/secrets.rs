//! What a scan for secrets means to whoever makes a record: a refusal that says how to go on, or warnings.

use gix::bstr::BString;
use hooks::secret_scan::{Findings, Located, Site};
use store::{error_code::ErrorCode, repository::Repository};

use crate::{
    authoring::Warning,
    context::Context,
    error::{CommandError, Detail},
    state::{Bytes, State},
    ui,
};

/// Refuses where something blocks, and remembers which files do; else returns what is to be said.
pub(crate) fn judge(
    context: &Context,
    repository: &Repository,
    found: &Findings,
) -> Result<Vec<Warning>, CommandError> {
    let Some(rejection) = found.rejection() else {
        let warning = |found: &Located| Warning {
            code: "POSSIBLE_SECRET",
            message: found.to_string(),
        };
        return Ok(found.warnings().map(warning).collect());
    };
    let mut files: Vec<BString> = found
        .blocking()
        .filter(|found| matches!(found.site, Site::Worktree | Site::Index))
        .map(|found| found.finding.path.as_bstr().into())
        .collect();
    files.sort();
    files.dedup();
    State::update(context, repository, |state| {
        state.secret.extend(files.iter().cloned().map(Bytes));
        state.secret.sort();
        state.secret.dedup();
    });
    let mut error = CommandError::from(rejection);
    error.errors = found
        .blocking()
        .map(|found| Detail {
            code: ErrorCode::SecretDetected,
            message: found.to_string(),
            subject: Some(found.finding.path.to_string()),
        })
        .collect();
    if files.is_empty() {
        return Err(error);
    }
    let omits: Vec<String> = files
        .iter()
        .map(|path| ui::shell_line(&["--omit".into(), format!(":(top,literal){path}")]))
        .collect();
    Err(error.hint(format!("go on without them: {}", omits.join(" "))))
}
