//! The subcommands, one file each: `Args`, then `run`.

pub(crate) mod accept;
pub(crate) mod commit;
pub(crate) mod r#continue;
pub(crate) mod demo;
pub(crate) mod diff;
pub(crate) mod draft;
pub(crate) mod export;
pub(crate) mod help;
pub(crate) mod import;
pub(crate) mod init;
pub(crate) mod list;
pub(crate) mod log;
pub(crate) mod prepare;
pub(crate) mod push;
pub(crate) mod release;
pub(crate) mod restore;
pub(crate) mod run;
pub(crate) mod save;
pub(crate) mod scan;
pub(crate) mod schema;
pub(crate) mod show;
pub(crate) mod snapshot;
pub(crate) mod sync;
pub(crate) mod uncommit;
pub(crate) mod verify;
