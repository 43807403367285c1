//! The script that Git runs as the hook.

use std::{
    ffi::OsString,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
};

use gix::bstr::ByteSlice;

const HEAD: &str = "\
#!/bin/sh
# Installed by `handoff-hooks install`; `handoff-hooks uninstall` brings back what was here before.
";
/// What follows where a hook was there before: our hook first, for it has no effects, then the other one with the
/// same input, environment and arguments. The first that refuses decides.
const CHAIN: &str = "\
input=$(cat && echo .) || exit
input=${input%.}
printf %s \"$input\" | EXECUTABLE pre-receive || exit
printf %s \"$input\" 2>/dev/null | \"${0%/*}/pre-receive.before-handoff\" \"$@\"
";
const ALONE: &str = "exec EXECUTABLE pre-receive\n";
const PLACE: &str = "EXECUTABLE";

/// What our script does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wrapper {
    executable: PathBuf,
    chains: bool,
}

impl Wrapper {
    /// Makes a script that runs `executable`, and after it the hook that was there before if it `chains`.
    ///
    /// Returns `None` where the path is relative or holds a line feed.
    pub(super) fn new(executable: &Path, chains: bool) -> Option<Self> {
        let good = executable.is_absolute() && !executable.as_os_str().as_bytes().contains(&b'\n');
        good.then(|| Wrapper {
            executable: executable.into(),
            chains,
        })
    }

    /// Returns the program that it runs.
    pub fn executable(&self) -> &Path {
        &self.executable
    }

    /// Tells whether it runs the hook that was there before.
    pub fn chains(&self) -> bool {
        self.chains
    }

    /// Reads a script that [`Wrapper::to_bytes`] wrote; `None` for every other file.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let body = bytes.strip_prefix(HEAD.as_bytes())?;
        [(ALONE, false), (CHAIN, true)]
            .into_iter()
            .find_map(|(template, chains)| {
                let (before, after) = template.split_once(PLACE)?;
                let quoted = body
                    .strip_prefix(before.as_bytes())?
                    .strip_suffix(after.as_bytes())?;
                let inner = quoted.strip_prefix(b"'")?.strip_suffix(b"'")?;
                let path = OsString::from_vec(inner.replace(r"'\''", "'"));
                Self::new(Path::new(&path), chains)
            })
    }

    /// Writes the script.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let template = if self.chains { CHAIN } else { ALONE };
        let path = self.executable.as_os_str().as_bytes();
        let quoted = [b"'", path.replace("'", r"'\''").as_slice(), b"'"].concat();
        [HEAD.as_bytes(), &template.as_bytes().replace(PLACE, quoted)].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_reads_back_as_it_was_written() {
        for path in ["/usr/bin/handoff-hooks", "/it's here/EXECUTABLE", "/ä b/x"] {
            for chains in [false, true] {
                let wrapper = Wrapper::new(Path::new(path), chains).unwrap();
                assert_eq!(Wrapper::parse(&wrapper.to_bytes()), Some(wrapper));
            }
        }
    }

    #[test]
    fn another_script_is_not_ours() {
        assert_eq!(Wrapper::parse(b"#!/bin/sh\nexec '/a' pre-receive\n"), None);
        assert_eq!(Wrapper::parse(format!("{HEAD}exit 0\n").as_bytes()), None);
        assert_eq!(Wrapper::new(Path::new("handoff-hooks"), false), None);
    }
}
