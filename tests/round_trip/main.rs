//! Saves and restores whatever a worktree can be brought into, and is stopped at any moment while it does.

#[cfg(test)]
#[path = "../world/mod.rs"]
mod world;

#[cfg(test)]
mod comparison;
#[cfg(test)]
mod edits;
#[cfg(test)]
mod hidden;
#[cfg(test)]
mod killed;
#[cfg(test)]
mod named;
#[cfg(test)]
mod no_room;
#[cfg(test)]
mod property;
#[cfg(test)]
mod sparse;
#[cfg(test)]
mod submodule;
#[cfg(test)]
mod traces;
