//! Whatever is done to a worktree, the trees are those that Git makes.

use proptest::prelude::*;

use crate::repo::Repo;

/// Names that sort differently as files and as folders, and nest.
const PATHS: [&str; 10] = [
    "a",
    "a-b",
    "a/c",
    "a/c/d",
    "a.txt",
    "b/x",
    "b/y z",
    "c.log",
    "b/.gitignore",
    "\u{fc}",
];

const CONTENTS: [&str; 6] = [
    "",
    "one\n",
    "two\n",
    "one\r\ntwo\r\n",
    "mixed\r\nends\n",
    "$Id$\n",
];

const IGNORES: [&str; 4] = ["*.log\n", "/b/\n", "a*\n!a.txt\n", "c.log\nx\n"];

const ATTRIBUTES: [&str; 6] = [
    "* text eol=lf\n*.log binary\n",
    "a* text ident eol=crlf\n",
    "* text=auto\n",
    "*.txt eol=crlf\n",
    "b/* ident\n",
    "a* -text\n",
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
    AutoCrlf(bool),
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
        1 => any::<bool>().prop_map(Step::AutoCrlf),
        1 => (path.clone(), 1..8usize).prop_map(|(path, stages)| Step::Conflict(path, stages)),
        2 => path.prop_map(Step::Racy),
    ]
}

/// Does a step as far as it can be done.
fn apply(repo: &Repo, step: &Step) {
    // A file where a folder is wanted gives way.
    let make_room = |path: &str| {
        repo.remove(path);
        for (slash, _) in path.match_indices('/') {
            if !repo.path(&path[..slash]).is_dir() || repo.path(&path[..slash]).is_symlink() {
                repo.remove(&path[..slash]);
            }
        }
        std::fs::create_dir_all(repo.path(path).parent().unwrap()).unwrap();
    };
    let git = |args: &[&str]| drop(repo.try_git(args));
    match *step {
        Step::Write(path, content) => {
            make_room(PATHS[path]);
            repo.write(PATHS[path], CONTENTS[content]);
        }
        Step::Link(path, target) => {
            make_room(PATHS[path]);
            // Git keeps what it cannot look at since a link leads back to itself.
            let loops =
                PATHS[target].starts_with(PATHS[path]) || repo.path(PATHS[target]).is_symlink();
            repo.link(PATHS[path], if loops { "nowhere" } else { PATHS[target] });
        }
        Step::Executable(path, on) => {
            let file = repo.path(PATHS[path]);
            if file.is_file() && !file.is_symlink() {
                repo.set_executable(PATHS[path], on);
            }
        }
        Step::Remove(path) => repo.remove(PATHS[path]),
        Step::Move(from, to) => {
            if from != to && repo.path(PATHS[from]).is_file() {
                let content = std::fs::read(repo.path(PATHS[from])).unwrap();
                repo.remove(PATHS[from]);
                make_room(PATHS[to]);
                repo.write(PATHS[to], content);
            }
        }
        Step::Stage(path) => git(&["add", "-f", "--", PATHS[path]]),
        Step::StageAll => git(&["add", "-A"]),
        Step::Unstage(path) => git(&["rm", "-q", "--cached", "-f", "-r", "--", PATHS[path]]),
        Step::Commit => git(&["commit", "-q", "--allow-empty", "-m", "step"]),
        Step::IntentToAdd(path) => git(&["add", "-N", "-f", "--", PATHS[path]]),
        Step::AssumeUnchanged(path) => {
            git(&["update-index", "--assume-unchanged", "--", PATHS[path]]);
        }
        Step::SkipWorktree(path) => git(&["update-index", "--skip-worktree", "--", PATHS[path]]),
        Step::Ignore(rules) => repo.write(".gitignore", IGNORES[rules]),
        Step::Attributes(lines) => repo.write(".gitattributes", ATTRIBUTES[lines]),
        Step::AutoCrlf(on) => git(&[
            "config",
            "core.autocrlf",
            if on { "input" } else { "false" },
        ]),
        Step::Conflict(path, stages) => {
            let blob = repo.git(&["hash-object", "-w", "--stdin"]);
            let path = PATHS[path];
            let mut lines = format!("0 {}\t{path}\n", "0".repeat(40));
            for stage in (1..4).filter(|stage| stages & (1 << (stage - 1)) != 0) {
                lines.push_str(&format!("100755 {blob} {stage}\t{path}\n"));
            }
            repo.feed(&["update-index", "--index-info"], &lines);
        }
        Step::Racy(path) => {
            let file = repo.path(PATHS[path]);
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
        let snapshot = repo.capture();
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
