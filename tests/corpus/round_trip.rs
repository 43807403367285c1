//! Facts about what comes back: each worktree is saved through the executable, restored from its repository and
//! from a bare one, and compared with what it was.

use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::{
    case::{Case, decode, disk_path, sha256, strings, text},
    failures::Failures,
    share, untouched,
};

/// Files of an operation in progress, and the refs beside them.
const OPERATION: [&str; 4] = ["MERGE_HEAD", "MERGE_MSG", "CHERRY_PICK_HEAD", "REVERT_HEAD"];

/// Saves, restores twice and returns what is not as it was.
pub(crate) fn check(case: &Case) -> Vec<String> {
    let mut failures = Failures::default();
    let verdict = case.facts["snapshot"]["verdict"].as_str();
    if verdict == Some("refuse") && strings(&case.facts["snapshot"]["naming"]).is_empty() {
        let refused = case.handoff(&["save", "demo", "--json"]);
        if refused.status.success() {
            failures.add("saved what is to be refused".into());
        }
        return failures.0;
    }
    if share::has_secrets(case) {
        share::refused(case, &mut failures);
        return failures.0;
    }
    let Some(saved) = save(case, &mut failures) else {
        return failures.0;
    };
    let bare = push(case, saved["repository"]["objectFormat"].as_str());
    let again = case.sandbox.join("again");
    let from_here = case.sandbox.join("restored");
    restore(case, &["demo", &text(&from_here)], &mut failures);
    restore(
        case,
        &["demo", &text(&again), "--from", &text(&bare)],
        &mut failures,
    );
    for (how, dir) in [("from here", &from_here), ("from a bare one", &again)] {
        let mut found = Failures::default();
        let compared = Comparison {
            case,
            saved: &saved,
            dir,
            has_modes: has_modes(case),
        };
        compared.make(&mut found);
        failures.all(found.0.into_iter().map(|found| format!("{how}: {found}")));
    }
    failures.0
}

/// Saves the worktree, which must leave everything as it was, and returns the document.
fn save(case: &Case, failures: &mut Failures) -> Option<Value> {
    let before = untouched::state(&case.sandbox);
    let output = case.handoff(&["save", "demo", "--json"]);
    for difference in untouched::differences(&before, &untouched::state(&case.sandbox)) {
        failures.add(format!("save touched {difference}"));
    }
    case.silent(&output, failures);
    if !output.status.success() {
        failures.add(format!("save: {output:?}"));
        return None;
    }
    let shown = case.handoff(&["show", "demo", "--json"]);
    let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
    Some(shown["manifest"]["content"].clone())
}

/// Pushes the scope to a bare repository of its own with plain Git.
fn push(case: &Case, format: Option<&str>) -> PathBuf {
    let bare = case.sandbox.join("bare.git");
    let format = format!("--object-format={}", format.unwrap_or("sha1"));
    let init = ["init", "-q", "--bare", &format, &text(&bare)];
    case.git_in(&case.sandbox, &init).unwrap();
    let refspec = "refs/handoff/demo:refs/handoff/demo";
    let push = ["push", "-q", "--no-verify", &text(&bare), refspec];
    case.git_in(&case.worktree(), &push).unwrap();
    bare
}

fn restore(case: &Case, args: &[&str], failures: &mut Failures) {
    let output = case.handoff(&[&["restore"], args].concat());
    case.silent(&output, failures);
    if !output.status.success() {
        failures.add(format!("restore {args:?}: {output:?}"));
    }
}

/// A restored directory beside the worktree that it was made from.
struct Comparison<'a> {
    case: &'a Case,
    /// The content of the manifest.
    saved: &'a Value,
    dir: &'a Path,
    /// Whether the bits on disk mean anything; otherwise only those of the index are compared.
    has_modes: bool,
}

fn has_modes(case: &Case) -> bool {
    let config = ["config", "--get", "core.fileMode"];
    case.git_in(&case.worktree(), &config).as_deref() != Some(b"false\n")
}

impl Comparison<'_> {
    fn make(&self, failures: &mut Failures) {
        if !self.dir.join(".git").exists() {
            return;
        }
        self.files(failures);
        self.facts(failures);
        self.index(failures);
        self.head(failures);
        let fsck = ["fsck", "--strict", "--no-dangling", "--no-progress"];
        let found = self.case.git_in(self.dir, &fsck);
        failures.equal("git fsck", found, Some(Vec::new()));
        let verified = self
            .case
            .handoff_in(self.dir, &["verify", "demo", "--worktree"]);
        if !verified.status.success() {
            failures.add(format!("verify --worktree: {verified:?}"));
        }
    }

    /// Tells whether the checkpoint says that a path is not as it lies on disk.
    fn is_omitted(&self, path: &str) -> bool {
        let omissions = self.saved["omissions"].as_array().unwrap();
        let paths = omissions.iter().filter_map(|o| o["path"].as_str());
        paths.into_iter().any(|omitted| {
            let rest = path.trim_end_matches('/').strip_prefix(omitted);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }

    /// Every file that Git knows or would add has the same kind, owner's bits, and bytes.
    fn files(&self, failures: &mut Failures) {
        let listed = ["ls-files", "-z", "-co", "--exclude-standard"];
        let listed = self.case.git_in(&self.case.worktree(), &listed).unwrap();
        for name in listed.split(|b| *b == 0).filter(|name| !name.is_empty()) {
            let path = &disk_path(name);
            let was = self.case.worktree().join(path);
            let name = &String::from_utf8_lossy(name);
            if self.is_omitted(name) || was.is_dir() && !was.is_symlink() {
                continue;
            }
            let is = self.on_disk(&self.dir.join(path));
            failures.equal(name, is, self.on_disk(&was));
        }
    }

    /// Kind, owner's bits and content of what is at a path.
    fn on_disk(&self, path: &Path) -> Option<String> {
        let about = fs::symlink_metadata(path).ok()?;
        if about.is_symlink() {
            return Some(format!("link to {:?}", fs::read_link(path).unwrap()));
        }
        let digest = sha256(&fs::read(path).unwrap());
        match self.has_modes {
            true => Some(format!("{:o} {digest}", about.mode() & 0o100)),
            false => Some(digest),
        }
    }

    fn facts(&self, failures: &mut Failures) {
        let facts = &self.case.facts;
        let is_in = |path: &str| !self.is_omitted(path) && !path.starts_with(".git/");
        for (path, digest) in entries(&facts["bytes"]).filter(|(path, _)| is_in(path)) {
            let found = fs::read(self.dir.join(disk_path(&decode(path)))).ok();
            let found = found.map(|bytes| Value::from(sha256(&bytes)));
            failures.equal(path, found.as_ref(), Some(digest));
        }
        for (path, target) in entries(&facts["symlinks"]) {
            let found = fs::read_link(self.dir.join(disk_path(&decode(path)))).ok();
            let wanted = disk_path(&decode(target.as_str().unwrap()));
            failures.equal(path, found, Some(wanted));
        }
        for (path, mode) in entries(&facts["modes"]).filter(|(path, _)| is_in(path)) {
            let digits = mode.as_str().unwrap().trim_start_matches("0o");
            let wanted = u32::from_str_radix(digits, 8).unwrap() & 0o100;
            let file = fs::symlink_metadata(self.dir.join(disk_path(&decode(path))));
            let found = file.map_or(0, |about| about.permissions().mode());
            if self.has_modes {
                failures.equal(path, found & 0o100, wanted);
            }
            failures.equal(path, found & 0o022, 0);
        }
        for path in strings(&facts["absent"]) {
            let is_there = fs::symlink_metadata(self.dir.join(&path)).is_ok();
            failures.equal(&path, is_there, false);
        }
    }

    fn index(&self, failures: &mut Failures) {
        let git = |dir: &Path, args: &[&str]| self.says(dir, args);
        let worktree = self.case.worktree();
        for args in [
            &["ls-files", "-s", "-z"][..],
            &[
                "diff",
                "--cached",
                "--raw",
                "--no-abbrev",
                "-z",
                "--ita-visible-in-index",
            ],
        ] {
            failures.equal(&args.join(" "), git(self.dir, args), git(&worktree, args));
        }
        let tags = ["ls-files", "-v"];
        let (is, was) = (git(self.dir, &tags), git(&worktree, &tags));
        let untagged = |line: &str| format!("H{}", &line[1..]);
        let is_flagged =
            |line: &str| line.starts_with(|tag: char| tag == 'S' || tag.is_lowercase());
        // A flag that would hide an edit is not set: `restore` lists the path.
        let was = was.unwrap_or_default();
        let wanted = was.lines().map(|line| {
            let path = &line[2..];
            let hides = is_flagged(line)
                && !git(self.dir, &["diff", "--name-only", "--", path])
                    .unwrap_or_default()
                    .is_empty();
            if hides { untagged(line) } else { line.into() }
        });
        let is = is.unwrap_or_default();
        let found: Vec<String> = is.lines().map(Into::into).collect();
        failures.equal("index flags", found, wanted.collect());
        failures.equal("git status", self.status(self.dir), self.status(&worktree));
    }

    /// What Git says in a directory, as text.
    fn says(&self, dir: &Path, args: &[&str]) -> Option<String> {
        let said = self.case.git_in(dir, args);
        said.map(|said| String::from_utf8_lossy(&said).into_owned())
    }

    /// What `git status` says, without what is named as not carried.
    fn status(&self, dir: &Path) -> Vec<String> {
        let status = [
            "status",
            "--porcelain=v2",
            "-uall",
            "--ignore-submodules=all",
        ];
        let said = self.says(dir, &status).unwrap();
        let carried = |line: &&str| !self.is_omitted(line.rsplit(' ').next().unwrap());
        // A hidden edit shows where its flag is not set.
        let flags = self.saved["worktree"]["flags"].as_array().unwrap();
        let is_flagged = |path: &str| flags.iter().any(|entry| entry["path"] == path);
        let hidden = |line: &&str| {
            let path = line.splitn(9, ' ').last().unwrap();
            !(line.starts_with("1 .M") && is_flagged(path))
        };
        said.lines()
            .filter(carried)
            .filter(hidden)
            .map(Into::into)
            .collect()
    }

    fn head(&self, failures: &mut Failures) {
        let worktree = self.case.worktree();
        for args in [
            &["symbolic-ref", "-q", "HEAD"][..],
            &["rev-parse", "-q", "--verify", "HEAD"],
        ] {
            let (is, was) = (self.says(self.dir, args), self.says(&worktree, args));
            failures.equal(&args.join(" "), is, was);
        }
        let stopped = !self.saved["repository"]["operation"].is_null();
        for name in OPERATION {
            let file = |dir: &Path| {
                let path = self.says(dir, &["rev-parse", "--git-path", name]).unwrap();
                fs::read(dir.join(path.trim_end())).ok()
            };
            let wanted = if stopped { file(&worktree) } else { None };
            failures.equal(name, file(self.dir), wanted);
        }
    }
}

fn entries(object: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let entries = object.as_object().into_iter().flatten();
    entries.map(|(name, value)| (name.as_str(), value))
}
