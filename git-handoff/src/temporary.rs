//! Files and directories that vanish however the command ends: well, with an error, or by SIGINT or SIGTERM.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, Once, PoisonError},
    thread,
    time::Duration,
};

use signal_hook::{
    consts::{SIGINT, SIGTERM},
    iterator::Signals,
    low_level::emulate_default_handler,
};

use crate::error::CommandError;

/// What is there now and must not stay.
static THERE: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// A file or directory that is removed when this is dropped.
pub(crate) struct Temporary(PathBuf);

impl Temporary {
    /// Makes an empty directory where the system keeps temporary files.
    pub(crate) fn directory() -> Result<Self, CommandError> {
        let made = || tempfile::Builder::new().prefix("git-handoff-").tempdir();
        Self::make(|| made().map(tempfile::TempDir::keep))
    }

    /// Makes an empty directory in another one, open to others as any new directory is.
    pub(crate) fn directory_in(parent: &Path) -> Result<Self, CommandError> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(".git-handoff-").permissions(open_to(0o777));
        Self::make(|| builder.tempdir_in(parent).map(tempfile::TempDir::keep))
    }

    /// Makes an empty file in a directory, open to others as any new file is.
    pub(crate) fn file_in(parent: &Path) -> Result<Self, CommandError> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(".git-handoff-").permissions(open_to(0o666));
        Self::make(|| {
            let made = builder.tempfile_in(parent)?;
            Ok(made.keep().map_err(|error| error.error)?.1)
        })
    }

    fn make(make: impl FnOnce() -> io::Result<PathBuf>) -> Result<Self, CommandError> {
        watch_signals()?;
        // A signal waits until what is made is noted.
        let mut there = there();
        let path = make()?;
        there.insert(path.clone());
        Ok(Temporary(path))
    }

    /// Returns where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Gives it a name of its own beside itself, under which it stays.
    ///
    /// A directory takes the place of an empty one, never of anything else.
    pub(crate) fn keep_as(self, to: &Path, existing: Existing) -> io::Result<()> {
        let mut there = there();
        if self.0.is_dir() || existing == Existing::Replace {
            fs::rename(&self.0, to)?;
        } else {
            let named = tempfile::TempPath::try_from_path(&self.0)?;
            named.persist_noclobber(to).map_err(|error| error.error)?;
        }
        there.remove(&self.0);
        Ok(())
    }
}

/// What happens where something has the name already.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Existing {
    /// It stays, and the new one is refused.
    Refuse,
    /// It is replaced.
    Replace,
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let mut there = there();
        if there.remove(&self.0) {
            remove(&self.0);
        }
    }
}

fn there() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    THERE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Permissions that the umask is taken from.
fn open_to(mode: u32) -> fs::Permissions {
    std::os::unix::fs::PermissionsExt::from_mode(mode)
}

fn watch_signals() -> Result<(), CommandError> {
    static WATCHED: Once = Once::new();
    let mut failed = Ok(());
    WATCHED.call_once(|| {
        failed = Signals::new([SIGINT, SIGTERM]).map(|mut signals| {
            thread::spawn(move || {
                for signal in signals.forever() {
                    // Held to the end: nothing new is made.
                    let there = there();
                    there
                        .iter()
                        .for_each(|path| remove_while_others_write(path));
                    let _ = emulate_default_handler(signal);
                }
            });
        });
    });
    Ok(failed?)
}

fn remove(path: &Path) {
    // Best effort: there is nobody left to tell.
    let _ = match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        _ => fs::remove_file(path),
    };
}

/// Removes what a Git that still runs may be writing to: moved away first, so that nothing new is made by its name.
fn remove_while_others_write(path: &Path) {
    let aside = path.with_extension("ended");
    let path = match fs::rename(path, &aside) {
        Ok(()) => &aside,
        Err(_) => path,
    };
    for _ in 0..200 {
        remove(path);
        if fs::symlink_metadata(path).is_err() {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
}
