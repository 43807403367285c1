//! Times do not decrease along the line, and are not ahead of the clock.

use store::error_code::ErrorCode;

use super::Step;
use crate::rejection::Rejection;

/// How far a document may be ahead of the clock of whoever judges it first, in seconds.
const MAX_AHEAD_SECONDS: i64 = 5 * 60;

pub(super) fn rule(step: &Step<'_>) -> Result<(), Rejection> {
    let at = step.after.at();
    if let Some(before) = step.before
        && at < before.at()
    {
        let detail = format!("the record is of {at}, the one before of {}", before.at());
        return Err(Rejection::new(ErrorCode::Clock, detail)
            .hint("set the clock right and write the record again"));
    }
    if at > step.now.saturating_add_seconds(MAX_AHEAD_SECONDS) {
        let detail = format!(
            "the record is of {at}, more than 5 minutes ahead of the clock here ({})",
            step.now
        );
        return Err(Rejection::new(ErrorCode::Clock, detail)
            .hint("set the clock right and write the record again"));
    }
    Ok(())
}
