//! The server hook `post-receive`: notes in the log which handoff refs have really moved.
//!
//! A push can still fail after it was judged, in a race for example. Git looks at nothing that this hook answers.

use std::io;

use store::repository::Repository;

use crate::{
    audit::{Entry, Log, Outcome},
    pre_receive::{Pusher, Settings, Surroundings, Update},
    rules::namespace,
    server_dir::ServerDir,
};

/// Notes what has moved; `input` is all of the hook's standard input.
///
/// # Errors
///
/// Where the input, the settings or the log cannot be read or written.
pub fn run(input: &[u8], surroundings: &Surroundings) -> io::Result<()> {
    let mut updates = Update::parse_all(input).map_err(io::Error::other)?;
    updates.retain(|update| namespace::is_judged(update.name.as_ref()));
    if updates.is_empty() {
        return Ok(());
    }
    let git_dir = std::path::absolute(&surroundings.git_dir)?;
    let repository = Repository::at_git_dir(&git_dir).map_err(io::Error::other)?;
    let settings = Settings::read(repository.gix()).map_err(io::Error::other)?;
    if settings.modes.judge_nothing() {
        return Ok(());
    }
    let pusher = Pusher::authenticated(&settings.identity, surroundings.variable);
    let entries = updates.iter().map(|update| Entry {
        time: surroundings.now,
        name: update.name.as_ref(),
        old: update.old,
        new: update.new,
        identity: pusher.user(),
        relayed: false,
        secrets: None,
        mode: settings.modes.general,
        outcome: Outcome::Taken,
        duration: None,
    });
    let server_dir = ServerDir::of(&git_dir);
    let entries: Vec<Entry<'_>> = entries.collect();
    Log::of(&server_dir, settings.audit_bytes).append(&entries)
}
