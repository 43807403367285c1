//! Whatever is done to a worktree, the trees are those that Git makes.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt, path::Path};

use proptest::prelude::*;

use crate::repo::Repo;

/// Names that sort differently as files and as folders, nest, and want quoting.
const PATHS: [&[u8]; 14] = [
    b"a",
    b"a-b",
    b"a/c",
    b"a/c/d",
    b"a.txt",
    b"b/x",
    b"b/y z",
    b"c.log",
    b"b/.gitignore",
    b"\xc3\xbc",
    b"not\xffutf8",
    b"line\nend",
    b"-dash",
    b":(top)*",
];

const CONTENTS: [&[u8]; 8] = [
    b"",
    b"one\n",
    b"two\n",
    b"one\r\ntwo\r\n",
    b"mixed\r\nends\n",
    b"$Id$\n",
    b"nul\0byte\r\n",
    b"\xff\xfeo\0n\0e\0\r\0\n\0",
];

const IGNORES: [&str; 4] = ["*.log\n", "/b/\n", "a*\n!a.txt\n", "c.log\nx\n"];

const ATTRIBUTES: [&str; 7] = [
    "a.txt text working-tree-encoding=UTF-16LE-BOM\n",
    "* text eol=lf\n*.log binary\n",
    "a* text ident eol=crlf\n",
    "* text=auto\n",
    "*.txt eol=crlf\n",
    "b/* ident\n",
    "a* -text\n",
];

const LINE_ENDS: [(&str, &str); 6] = [
    ("core.autocrlf", "true"),
    ("core.autocrlf", "input"),
    ("core.autocrlf", "false"),
    ("core.eol", "crlf"),
    ("core.eol", "lf"),
    ("core.eol", "native"),
];

#[derive(Clone, Debug)]
enum Step {
    Write(usize, usize),
    Link(usize, usize),
    Executable(usize, bool),
    Remove(usize),
    Move(usize, usize),
    Stage(usize),
    StageAll,
    Unstage(usize),
    Commit,
    IntentToAdd(usize),
    AssumeUnchanged(usize),
    SkipWorktree(usize),
    Ignore(usize),
    Attributes(usize),
    LineEnds(usize),
    /// Leaves stages of a conflict in the index: a bit for each.
    Conflict(usize, usize),
    /// Changes the content without changing size or modification time.
    Racy(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let path = 0..PATHS.len();
    let paths = (path.clone(), path.clone());
    prop_oneof![
        6 => (path.clone(), 0..CONTENTS.len()).prop_map(|(path, content)| Step::Write(path, content)),
        1 => paths.clone().prop_map(|(path, target)| Step::Link(path, target)),
        1 => (path.clone(), any::<bool>()).prop_map(|(path, on)| Step::Executable(path, on)),
        2 => path.clone().prop_map(Step::Remove),
        1 => paths.prop_map(|(from, to)| Step::Move(from, to)),
        3 => path.clone().prop_map(Step::Stage),
        1 => Just(Step::StageAll),
        1 => path.clone().prop_map(Step::Unstage),
        1 => Just(Step::Commit),
        1 => path.clone().prop_map(Step::IntentToAdd),
        1 => path.clone().prop_map(Step::AssumeUnchanged),
        1 => path.clone().prop_map(Step::SkipWorktree),
        1 => (0..IGNORES.len()).prop_map(Step::Ignore),
        1 => (0..ATTRIBUTES.len()).prop_map(Step::Attributes),
        1 => (0..LINE_ENDS.len()).prop_map(Step::LineEnds),
        1 => (path.clone(), 1..8usize).prop_map(|(path, stages)| Step::Conflict(path, stages)),
        2 => path.prop_map(Step::Racy),
    ]
}

fn path_of(at: usize) -> &'static Path {
    Path::new(OsStr::from_bytes(PATHS[at]))
}

/// Does a step as far as it can be done.
fn apply(repo: &Repo, step: &Step) {
    // A file where a folder is wanted gives way.
    let make_room = |path: &Path| {
        repo.remove(path);
        for folder in path
            .ancestors()
            .skip(1)
            .filter(|folder| *folder != Path::new(""))
        {
            if !repo.path(folder).is_dir() || repo.path(folder).is_symlink() {
                repo.remove(folder);
            }
        }
        std::fs::create_dir_all(repo.path(path).parent().unwrap()).unwrap();
    };
    let git = |args: &[&str]| drop(repo.try_git(args));
    // Names are names, never pathspecs.
    let git_at = |args: &[&str], path: usize| {
        let args = ["--literal-pathspecs"].iter().chain(args).map(OsStr::new);
        let args: Vec<&OsStr> = args
            .chain([OsStr::new("--"), path_of(path).as_os_str()])
            .collect();
        drop(repo.try_git(&args));
    };
    match *step {
        Step::Write(path, content) => {
            make_room(path_of(path));
            repo.write(path_of(path), CONTENTS[content]);
        }
        Step::Link(path, target) => {
            let (path, target) = (path_of(path), path_of(target));
            make_room(path);
            // Git keeps what it cannot look at since a link leads back to itself.
            let loops = target.starts_with(path) || repo.path(target).is_symlink();
            repo.link(path, if loops { Path::new("nowhere") } else { target });
        }
        Step::Executable(path, on) => {
            let file = repo.path(path_of(path));
            if file.is_file() && !file.is_symlink() {
                repo.set_executable(path_of(path), on);
            }
        }
        Step::Remove(path) => repo.remove(path_of(path)),
        Step::Move(from, to) => {
            if from != to && repo.path(path_of(from)).is_file() {
                let content = std::fs::read(repo.path(path_of(from))).unwrap();
                repo.remove(path_of(from));
                make_room(path_of(to));
                repo.write(path_of(to), content);
            }
        }
        Step::Stage(path) => git_at(&["add", "-f"], path),
        Step::StageAll => git(&["add", "-A"]),
        Step::Unstage(path) => git_at(&["rm", "-q", "--cached", "-f", "-r"], path),
        Step::Commit => git(&["commit", "-q", "--allow-empty", "-m", "step"]),
        Step::IntentToAdd(path) => git_at(&["add", "-N", "-f"], path),
        Step::AssumeUnchanged(path) => git_at(&["update-index", "--assume-unchanged"], path),
        Step::SkipWorktree(path) => git_at(&["update-index", "--skip-worktree"], path),
        Step::Ignore(rules) => repo.write(".gitignore", IGNORES[rules]),
        Step::Attributes(lines) => repo.write(".gitattributes", ATTRIBUTES[lines]),
        Step::LineEnds(at) => git(&["config", LINE_ENDS[at].0, LINE_ENDS[at].1]),
        Step::Conflict(path, stages) => {
            let blob = repo.git(&["hash-object", "-w", "--stdin"]);
            let mut lines = Vec::new();
            let mut add = |head: String| {
                lines.extend_from_slice(head.as_bytes());
                lines.extend_from_slice(PATHS[path]);
                lines.push(0);
            };
            add(format!("0 {}\t", "0".repeat(40)));
            for stage in (1..4).filter(|stage| stages & (1 << (stage - 1)) != 0) {
                add(format!("100755 {blob} {stage}\t"));
            }
            repo.feed(&["update-index", "-z", "--index-info"], &lines);
        }
        Step::Racy(path) => {
            let file = repo.path(path_of(path));
            if file.is_file() && !file.is_symlink() {
                let mut content = std::fs::read(&file).unwrap();
                if let Some(first) = content.first_mut() {
                    *first = first.wrapping_add(1);
                }
                let time = std::fs::metadata(&file).unwrap().modified().unwrap();
                std::fs::write(&file, content).unwrap();
                let file = std::fs::File::options().write(true).open(file).unwrap();
                file.set_modified(time).unwrap();
            }
        }
    }
}

/// Rounds of the property test, more with `CAPTURES`.
fn rounds() -> u32 {
    let wanted = std::env::var("CAPTURES").ok();
    wanted.and_then(|wanted| wanted.parse().ok()).unwrap_or(48)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: rounds(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn trees_are_those_that_git_makes(steps in prop::collection::vec(step(), 1..30)) {
        let repo = Repo::seeded();
        for step in &steps {
            apply(&repo, step);
        }
        // A file that has not been touched stays as it was stored, whatever attributes say since.
        if steps.iter().any(|step| matches!(step, Step::Attributes(_) | Step::LineEnds(_))) {
            repo.touch_all();
        }
        let snapshot = match repo.try_capture() {
            Ok(snapshot) => snapshot,
            Err(refused) => {
                // What Git itself cannot read in the encoding that its attributes give is named.
                prop_assert!(refused.to_string().contains("a.txt"), "{refused}");
                prop_assert_eq!(repo.try_git(&["add", "--sparse", "-f", "--", "a.txt"]).status.code(), Some(128));
                return Ok(());
            }
        };
        let (index, worktree) = repo.trees_by_git();
        // Git makes no tree of an unmerged index.
        if snapshot.conflicts.is_empty() {
            prop_assert_eq!(snapshot.index_tree.to_string(), index);
        }
        let found = snapshot.worktree_tree.to_string();
        prop_assert_eq!(repo.files(&found), repo.files(&worktree));
        prop_assert_eq!(&found, &worktree);
        // Every blob is there.
        repo.git(&["archive", "-o", "/dev/null", "--format=tar", &found]);
    }
}
