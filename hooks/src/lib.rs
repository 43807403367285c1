//! The rules that a change of a handoff ref must pass, and the server hook that enforces them.
//!
//! The same rules run in four places: before a local commit, in the remote helper, in the server hook, and in
//! every reader that meets a record for the first time.

pub mod audit;
mod config_files;
pub mod install;
pub mod judge;
pub mod mode;
mod own_file;
pub mod policy;
pub mod post_receive;
pub mod pre_receive;
pub mod purge;
pub mod quarantine;
pub mod reader;
pub mod rejection;
pub mod rules;
pub mod secret_scan;
pub mod server_dir;
mod share;
