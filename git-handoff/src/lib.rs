//! The commands of `git handoff`: what users and agents type, and what they read.

mod actor;
mod authoring;
mod checkpoint;
mod clean_clone;
mod cli;
mod commands;
mod content;
mod context;
mod delivery;
mod draft_file;
mod error;
mod exit;
mod history;
mod hooks_cli;
mod omitted;
mod origin;
mod ownership;
mod prepared;
mod receipts;
mod remote;
mod remote_helper;
mod safety;
mod scopes;
mod secrets;
mod shallow;
mod signals;
mod source;
mod state;
mod temporary;
mod ui;
mod worktree_check;
mod writer;

pub use cli::main;
pub use hooks_cli::main as hooks;
pub use remote_helper::main as remote_helper;
