//! Signals that must not end the program.

use std::sync::{Arc, atomic::AtomicBool};

use signal_hook::{consts::SIGXFSZ, flag};

/// Lets a write that would make a file larger than allowed fail, as on a full disk, instead of ending the program:
/// setrlimit(2).
///
/// Programs that are started have the default again and are ended by it, execve(2).
pub(crate) fn outlive_file_size_limit() {
    // Where the handler cannot be set, the signal ends the program as it would have.
    drop(flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false))));
}
