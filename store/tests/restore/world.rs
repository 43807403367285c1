//! Git with nothing of the machine's configuration, and what it and the disk say.

use std::{
    collections::BTreeMap,
    fs,
    io::Write,
    os::unix::ffi::OsStrExt,
    path::Path,
    process::{Command, Stdio},
};

/// Runs Git in a directory, with nothing of the machine's configuration, and returns what it prints.
pub(crate) fn git(dir: &Path, args: &[&str]) -> String {
    String::from_utf8(git_bytes(dir, args, &[], b"")).unwrap()
}

pub(crate) fn git_bytes(dir: &Path, args: &[&str], env: &[(&str, &str)], input: &[u8]) -> Vec<u8> {
    let (success, stdout, stderr) = git_outcome(dir, args, env, input);
    assert!(success, "git {args:?}: {stderr}");
    stdout
}

pub(crate) fn git_outcome(
    dir: &Path,
    args: &[&str],
    env: &[(&str, &str)],
    input: &[u8],
) -> (bool, Vec<u8>, String) {
    let mut command = Command::new("git");
    command.args(args).current_dir(dir);
    command
        .env("HOME", dir)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null");
    let date = "2026-11-30T10:00:00Z";
    command
        .env("GIT_AUTHOR_DATE", date)
        .env("GIT_COMMITTER_DATE", date);
    command.envs(env.iter().copied());
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    (
        output.status.success(),
        output.stdout,
        String::from_utf8_lossy(&output.stderr).into_owned(),
    )
}

/// Everything below a directory but `.git`: permission bits and content of files, targets of links, directories.
pub(crate) fn contents(dir: &Path) -> BTreeMap<Vec<u8>, String> {
    let mut found = BTreeMap::new();
    collect(dir, dir, &mut found);
    found
}

fn collect(top: &Path, dir: &Path, found: &mut BTreeMap<Vec<u8>, String>) {
    use std::os::unix::fs::PermissionsExt;
    for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
        let path = entry.path();
        let name = path
            .strip_prefix(top)
            .unwrap()
            .as_os_str()
            .as_bytes()
            .to_vec();
        let kind = entry.file_type().unwrap();
        if kind.is_dir() && entry.file_name() != ".git" {
            found.insert(name, "directory".into());
            collect(top, &path, found);
        } else if kind.is_symlink() {
            found.insert(name, format!("link to {:?}", fs::read_link(&path).unwrap()));
        } else if kind.is_file() && entry.file_name() != ".git" {
            let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
            found.insert(
                name,
                format!("{mode:o} {:?}", fs::read(&path).unwrap().as_slice()),
            );
        }
    }
}

/// What `git status` says, in the form that does not change.
pub(crate) fn status(dir: &Path) -> String {
    let args = [
        "status",
        "--porcelain=v2",
        "--untracked-files=all",
        "--branch",
    ];
    String::from_utf8_lossy(&git_bytes(dir, &args, &[], b"")).into_owned()
}

/// Runs one ignored test of this executable in a process of its own, which `prepare` may change.
pub(crate) fn child_test(name: &str, prepare: impl FnOnce(&mut Command)) -> std::process::Child {
    let mut command = Command::new("sh");
    let program = std::env::current_exe().unwrap();
    command
        .args(["-c", "umask ${CHILD_UMASK:-022}; exec \"$0\" \"$@\""])
        .arg(program);
    command.args([
        "--exact",
        name,
        "--ignored",
        "--nocapture",
        "--test-threads=1",
    ]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    prepare(&mut command);
    command.spawn().unwrap()
}
