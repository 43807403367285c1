//! Captures of real worktrees, beside what Git says of them.
#![expect(clippy::unwrap_used, reason = "helpers of tests stop them")]

#[path = "snapshot/repo.rs"]
mod repo;

#[path = "snapshot/conversions.rs"]
mod conversions;
#[path = "snapshot/index.rs"]
mod index;
#[path = "snapshot/left_out.rs"]
mod left_out;
#[path = "snapshot/objects.rs"]
mod objects;
#[path = "snapshot/property.rs"]
mod property;
#[path = "snapshot/shapes.rs"]
mod shapes;
#[path = "snapshot/submodules.rs"]
mod submodules;
