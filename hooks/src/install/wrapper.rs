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
const PLACE: &str = "EXECUTABLE";
/// What a line of a hook's input with a ref of ours looks like to a shell; a few others do too.
const OURS: &str = "*' refs/'[Hh][Aa][Nn][Dd][Oo][Ff][Ff]*";

/// The hooks of Git that we take part in, githooks(5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hook {
    /// Judges a push.
    PreReceive,
    /// Notes what has moved.
    PostReceive,
}

impl Hook {
    /// Both of them.
    pub const ALL: [Hook; 2] = [Hook::PreReceive, Hook::PostReceive];

    /// Returns the name of the hook, which is that of its file and of our subcommand.
    pub fn name(self) -> &'static str {
        match self {
            Hook::PreReceive => "pre-receive",
            Hook::PostReceive => "post-receive",
        }
    }

    /// Returns the name under which a hook that was there is kept: in its own directory, so that what it finds
    /// relative to itself stays where it was.
    pub(super) fn previous(self) -> String {
        format!("{}.before-handoff", self.name())
    }

    /// Returns the script of the hook, with a place for the executable.
    ///
    /// Where a hook was there before, it has the same input, environment and arguments, and its exit status counts. Ours
    /// judges first, for it has no effects; what it notes of a push that is in decides nothing.
    fn template(self, chains: bool) -> String {
        let name = self.name();
        let first = match (self, chains) {
            (Hook::PreReceive, false) => return format!("exec {PLACE} {name}\n"),
            (Hook::PreReceive, true) => {
                format!("printf %s \"$input\" | {PLACE} {name} || exit\n")
            }
            // Most pushes are of code, and cost no more than this script.
            (Hook::PostReceive, false) => {
                return format!(
                    "\
while IFS= read -r line; do
    case $line in {OURS}) exec {PLACE} {name} \"$line\" ;; esac
done
"
                );
            }
            (Hook::PostReceive, true) => format!(
                "case $input in {OURS}) printf %s \"$input\" | {PLACE} {name} || : ;; esac\n"
            ),
        };
        format!(
            "\
input=$(cat && echo .) || exit
input=${{input%.}}
{first}printf %s \"$input\" 2>/dev/null | \"${{0%/*}}/{previous}\" \"$@\"
",
            previous = self.previous()
        )
    }
}

/// What our script does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wrapper {
    hook: Hook,
    executable: PathBuf,
    chains: bool,
}

impl Wrapper {
    /// Makes a script that runs `executable`, and after it the hook that was there before if it `chains`.
    ///
    /// Returns `None` where the path is relative or holds a line feed.
    pub(super) fn new(hook: Hook, executable: &Path, chains: bool) -> Option<Self> {
        let good = executable.is_absolute() && !executable.as_os_str().as_bytes().contains(&b'\n');
        good.then(|| Wrapper {
            hook,
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
        let forms = Hook::ALL.map(|hook| [(hook, false), (hook, true)]);
        forms.into_iter().flatten().find_map(|(hook, chains)| {
            let template = hook.template(chains);
            let (before, after) = template.split_once(PLACE)?;
            let quoted = body
                .strip_prefix(before.as_bytes())?
                .strip_suffix(after.as_bytes())?;
            let inner = quoted.strip_prefix(b"'")?.strip_suffix(b"'")?;
            let path = OsString::from_vec(inner.replace(r"'\''", "'"));
            Self::new(hook, Path::new(&path), chains)
        })
    }

    /// Writes the script.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let template = self.hook.template(self.chains);
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
            for (hook, chains) in [
                (Hook::PreReceive, false),
                (Hook::PreReceive, true),
                (Hook::PostReceive, false),
                (Hook::PostReceive, true),
            ] {
                let wrapper = Wrapper::new(hook, Path::new(path), chains).unwrap();
                assert_eq!(Wrapper::parse(&wrapper.to_bytes()), Some(wrapper));
            }
        }
    }

    #[test]
    fn another_script_is_not_ours() {
        assert_eq!(Wrapper::parse(b"#!/bin/sh\nexec '/a' pre-receive\n"), None);
        assert_eq!(Wrapper::parse(format!("{HEAD}exit 0\n").as_bytes()), None);
        assert_eq!(
            Wrapper::new(Hook::PreReceive, Path::new("handoff-hooks"), false),
            None
        );
    }
}
