//! The share of the scopes that `handoff.enforcePercent` enforces.
//!
//! Which scopes these are stays the same, and nobody who cannot read `<git-dir>/handoff/seed` can tell it from a
//! name; with a higher share all those stay in that were in.

use std::{
    fs::{self, File},
    io::{self, Read, Write},
};

use store::{digest::Digest, scope::ScopeName};

use crate::server_dir::ServerDir;

const FILE_NAME: &str = "seed";
const SEED_BYTES: usize = 32;

/// What decides which scopes belong to the share.
pub(crate) struct Seed([u8; SEED_BYTES]);

impl Seed {
    /// Reads the seed of a repository; it is made where there is none.
    ///
    /// # Errors
    ///
    /// Where it can neither be read nor made, or is no seed of ours.
    pub(crate) fn of(server_dir: &ServerDir) -> io::Result<Self> {
        let path = server_dir.path().join(FILE_NAME);
        match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => make(server_dir)?,
            read => return Self::from_bytes(&read?),
        }
        // Another hook may have been faster: what is there now counts.
        Self::from_bytes(&fs::read(&path)?)
    }

    fn from_bytes(bytes: &[u8]) -> io::Result<Self> {
        let seed = bytes.try_into().map(Seed);
        seed.map_err(|_| {
            io::Error::other("handoff/seed is damaged; remove it to have it made anew")
        })
    }

    /// Tells whether a scope belongs to a share of `percent` in a hundred.
    pub(crate) fn includes(&self, scope: &ScopeName, percent: u64) -> bool {
        let keyed = [&self.0, scope.as_str().as_bytes()].concat();
        let digest = Digest::of(&keyed);
        let first = digest.as_bytes().first_chunk::<8>();
        first.is_some_and(|first| u64::from_be_bytes(*first) % 100 < percent)
    }
}

fn make(server_dir: &ServerDir) -> io::Result<()> {
    let mut seed = [0; SEED_BYTES];
    File::open("/dev/urandom")?.read_exact(&mut seed)?;
    let mut file = server_dir.temporary()?;
    file.write_all(&seed)?;
    server_dir.share_in_group(file.as_file())?;
    match file.persist_noclobber(server_dir.path().join(FILE_NAME)) {
        Err(error) if error.error.kind() != io::ErrorKind::AlreadyExists => Err(error.error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_stable_grows_and_has_its_size() {
        let seed = Seed([7; SEED_BYTES]);
        let scopes: Vec<ScopeName> = (0..2_000)
            .map(|n| format!("s{n}").parse().unwrap())
            .collect();
        let count = |percent| {
            let within = scopes.iter().filter(|scope| seed.includes(scope, percent));
            within.count()
        };
        assert_eq!((count(0), count(100)), (0, scopes.len()));
        assert!((400..600).contains(&count(25)), "{}", count(25));
        let grows = |scope: &&ScopeName| !seed.includes(scope, 25) || seed.includes(scope, 26);
        assert_eq!(scopes.iter().filter(grows).count(), scopes.len());
    }

    #[test]
    fn another_seed_makes_another_share() {
        let scopes: Vec<ScopeName> = (0..64).map(|n| format!("s{n}").parse().unwrap()).collect();
        let share = |seed: u8| -> Vec<bool> {
            let seed = Seed([seed; SEED_BYTES]);
            scopes
                .iter()
                .map(|scope| seed.includes(scope, 50))
                .collect()
        };
        assert_ne!(share(1), share(2));
    }

    #[test]
    fn a_seed_is_made_once_and_a_damaged_one_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let server_dir = ServerDir::of(dir.path());
        let first = Seed::of(&server_dir).unwrap();
        assert_eq!(Seed::of(&server_dir).unwrap().0, first.0);
        assert_ne!(first.0, [0; SEED_BYTES]);
        fs::write(server_dir.path().join(FILE_NAME), b"short").unwrap();
        assert!(Seed::of(&server_dir).is_err());
    }
}
