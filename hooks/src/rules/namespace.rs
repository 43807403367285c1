//! Which refs records may stand on.

use gix::bstr::BStr;
use store::{
    error_code::ErrorCode,
    scope::{self, RECORDS, ScopeName, ScopeNameError},
};

use crate::rejection::Rejection;

/// Takes the scope of a ref.
///
/// # Errors
///
/// `REF_OUTSIDE_NAMESPACE` where the ref is not below `refs/handoff/`, `SCOPE_INVALID` where what follows is no
/// scope name.
pub fn scope_of(name: &BStr) -> Result<ScopeName, Rejection> {
    ScopeName::from_ref(name).map_err(|error| match error {
        ScopeNameError::Namespace(_) => Rejection::new(
            ErrorCode::RefOutsideNamespace,
            error.to_string(),
        )
        .hint(
            "only refs/handoff/<scope> travels here; push branches and tags with Git's own remotes",
        ),
        _ => Rejection::new(ErrorCode::ScopeInvalid, error.to_string()),
    })
}

/// Tells whether a ref is ours to judge: it lies below `refs/handoff/`, or folds onto a namespace of ours.
pub fn is_judged(name: &BStr) -> bool {
    name.starts_with(RECORDS.as_bytes()) || scope::is_reserved_ref(name)
}

/// A new scope must differ from every other one in more than ASCII case.
///
/// # Errors
///
/// `SCOPE_COLLISION` with the name of the other scope.
pub fn no_collision<'a>(
    scope: &ScopeName,
    others: impl IntoIterator<Item = &'a ScopeName>,
) -> Result<(), Rejection> {
    let same =
        |other: &&ScopeName| other.as_str().eq_ignore_ascii_case(scope.as_str()) && *other != scope;
    match others.into_iter().find(same) {
        None => Ok(()),
        Some(other) => {
            let detail =
                format!("scope `{scope}` differs from `{other}` in upper and lower case only");
            Err(Rejection::new(ErrorCode::ScopeCollision, detail).hint("choose another scope name"))
        }
    }
}
