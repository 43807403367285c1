//! Repositories of any size, by git-fast-import(1).

use std::{
    fs,
    io::{BufWriter, Write},
    path::{Path, PathBuf},
    process::Stdio,
};

use crate::stage::Stage;

/// 2025-01-06T09:00:00Z, when every history begins.
pub(crate) const START: u64 = 1_736_154_000;
/// Who commits.
pub(crate) const WHO: &str = "Ann Example <ann@example.invalid>";

/// Makes a repository with one commit of `files` files, a hundred a directory, 200 to 2,000 bytes each.
pub(crate) fn project(stage: &Stage, name: &str, files: usize) -> PathBuf {
    let dir = stage.path(name);
    fs::create_dir(&dir).expect("the name is new");
    stage.git(&dir, ["init", "-q"]);
    import(stage, &dir, |out| {
        write!(
            out,
            "commit refs/heads/main\ncommitter {WHO} {START} +0000\ndata 5\nFirst\n"
        )?;
        for number in 0..files {
            let text = text(number, 0);
            writeln!(out, "M 100644 inline {}\ndata {}", file(number), text.len())?;
            out.write_all(text.as_bytes())?;
            writeln!(out)?;
        }
        Ok(())
    });
    stage.git(&dir, ["reset", "-q", "--hard"]);
    // What was written in the same instant as the index would be read again by every command.
    stage.git(&dir, ["update-index", "-q", "--really-refresh"]);
    dir
}

/// Makes a repository with `commits` commits, each of which changes one of a thousand files.
pub(crate) fn history(stage: &Stage, name: &str, commits: usize) -> PathBuf {
    let dir = stage.path(name);
    fs::create_dir(&dir).expect("the name is new");
    stage.git(&dir, ["init", "-q"]);
    import(stage, &dir, |out| {
        for number in 0..commits {
            let at = START + number as u64;
            write!(
                out,
                "commit refs/heads/main\ncommitter {WHO} {at} +0000\ndata 5\nMore\n"
            )?;
            let text = format!("{number}\n");
            let path = file(number % 1000);
            write!(out, "M 100644 inline {path}\ndata {}\n{text}\n", text.len())?;
        }
        Ok(())
    });
    stage.git(&dir, ["reset", "-q", "--hard"]);
    dir
}

/// Adds `commits` commits to a [`project`], each of which changes one line of another file.
pub(crate) fn lengthen(stage: &Stage, dir: &Path, files: usize, commits: usize) {
    import(stage, dir, |out| {
        for number in 0..commits {
            let at = START + 1 + number as u64;
            write!(
                out,
                "commit refs/heads/main\ncommitter {WHO} {at} +0000\ndata 5\nMore\n"
            )?;
            if number == 0 {
                writeln!(out, "from refs/heads/main^0")?;
            }
            let (file_number, round) = (number % files, 1_000_000 + number);
            let text = text(file_number, round);
            let path = file(file_number);
            write!(out, "M 100644 inline {path}\ndata {}\n{text}\n", text.len())?;
        }
        Ok(())
    });
    stage.git(dir, ["reset", "-q", "--hard"]);
    stage.git(dir, ["update-index", "-q", "--really-refresh"]);
}

/// Path of a file of a [`project`].
pub(crate) fn file(number: usize) -> String {
    format!(
        "src/{:03}/{:02}/file-{number}.txt",
        number / 10_000,
        number / 100 % 100
    )
}

/// Rewrites `count` files of a [`project`] with what no other `round` has.
pub(crate) fn edit(dir: &Path, count: usize, round: usize) {
    for number in 0..count {
        fs::write(dir.join(file(number)), text(number, round + 1))
            .expect("the project is writable");
    }
}

fn text(number: usize, round: usize) -> String {
    let line = format!("line of file {number} in round {round}\n");
    line.repeat(6 + number % 50)
}

/// Feeds git-fast-import(1) with what `write` writes.
pub(crate) fn import(
    stage: &Stage,
    dir: &Path,
    write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) {
    let mut child = stage
        .command("git", dir)
        .args(["fast-import", "--quiet", "--force"])
        .stdin(Stdio::piped())
        .spawn()
        .expect("Git can be started");
    let mut input = BufWriter::new(child.stdin.take().expect("it is piped"));
    write(&mut input)
        .and_then(|()| input.flush())
        .expect("git fast-import reads all of it");
    drop(input);
    assert!(child.wait().expect("it was started").success());
}
