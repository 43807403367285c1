//! Store of handoff work: the contract, capture, records, verification and restore.
//!
//! A *checkpoint* freezes a worktree into a commit under `refs/handoff/<scope>`. This crate reads and
//! writes those commits; whether a ref may change is decided in the crate `hooks`.

pub mod actor;
pub mod artifacts;
mod big_blob;
pub mod bundle;
pub mod byte_text;
pub mod changed_paths;
pub mod contract;
pub mod conversion;
pub mod credentials;
pub mod digest;
pub mod draft;
pub mod entry_id;
pub mod error_code;
pub mod evidence;
pub mod generation;
pub mod git;
pub mod line;
pub mod lineage;
pub mod new_objects;
pub mod oid;
pub mod prepared;
pub mod record;
pub mod ref_store;
pub mod remote_url;
pub mod repo_path;
pub mod repository;
pub mod restore;
pub mod scope;
pub mod secrets;
pub mod snapshot;
pub mod timestamp;
pub mod verify;
