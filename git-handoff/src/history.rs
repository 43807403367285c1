//! Sees that all of a commit's history is here, before it is written to a file.

use gix::ObjectId;
use store::{error_code::ErrorCode, git::GitError, repository::Repository, scope::ScopeName};

use crate::{context::Context, error::CommandError, remote::Remote, scopes::Scopes};

/// Opens the repository with the whole history of a commit of a scope, down to `base`; a shallow one is deepened first.
///
/// # Errors
///
/// `MISSING_OBJECT` where no remote has what is missing.
pub(crate) fn whole(
    context: &Context,
    scopes: &Scopes<'_>,
    scope: &ScopeName,
    commit: ObjectId,
    base: Option<ObjectId>,
) -> Result<Repository, CommandError> {
    let repository = Repository::discover(scopes.repository.git())?;
    if is_whole(&repository, commit, base)? {
        return Ok(repository);
    }
    let mut attempts = Vec::new();
    if let Some(Remote { name }) = &scopes.remote {
        let refspec = format!("+refs/handoff/{scope}:refs/handoff-remote/{name}/{scope}");
        attempts.push((name.clone(), refspec));
    }
    let heads = "+refs/heads/*:refs/remotes/origin/*".to_owned();
    attempts.push(("origin".to_owned(), heads));
    let mut said = None;
    for (remote, refspec) in attempts {
        let args = [
            "-c",
            "core.hooksPath=/dev/null",
            "fetch",
            "-q",
            "--unshallow",
            "--no-tags",
            "--no-write-fetch-head",
            "--recurse-submodules=no",
            "--no-auto-maintenance",
            &remote,
            &refspec,
        ];
        match repository.git().output(args) {
            Ok(_) => {
                context
                    .ui
                    .note(&format!("deepened the shallow history from `{remote}`"));
                let deeper = Repository::discover(repository.git())?;
                if is_whole(&deeper, commit, base)? {
                    return Ok(deeper);
                }
            }
            Err(GitError::Failed { message, .. }) => said = said.or(Some(message)),
            Err(error) => return Err(error.into()),
        }
    }
    let message =
        format!("the history of scope `{scope}` is cut off here, and no remote has the rest");
    let error = CommandError::new(ErrorCode::MissingObject, message)
        .hint("fetch the rest, or leave it out with --base <commit>")
        .next(&["git", "fetch", "--unshallow"]);
    Err(match said {
        Some(said) => error.hint(format!("git fetch said: {said}")),
        None => error,
    })
}

/// Tells whether the history from a commit down to `base` is not cut off.
fn is_whole(
    repository: &Repository,
    commit: ObjectId,
    base: Option<ObjectId>,
) -> Result<bool, CommandError> {
    let shallow = repository.gix().shallow_commits();
    let shallow = shallow.map_err(|error| CommandError::from_error(ErrorCode::Io, &error))?;
    let Some(shallow) = shallow else {
        return Ok(true);
    };
    let mut args = vec!["rev-list".to_owned(), commit.to_string()];
    args.extend(base.map(|base| format!("^{base}")));
    let listed = repository.git().line(&args)?;
    let cut_off: Vec<String> = shallow.iter().map(ToString::to_string).collect();
    Ok(!listed.lines().any(|id| cut_off.iter().any(|cut| cut == id)))
}
