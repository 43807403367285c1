//! Facts about receivers that have something already, and about records that mean harm.

use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    process::Output,
};

use store::contract::{Manifest, codec, message};

use crate::{
    case::{Case, sha256, strings, text},
    failures::Failures,
    untouched,
};

/// Restores into the target of a case, and returns what is not as its facts say.
pub(crate) fn check(case: &Case) -> Vec<String> {
    let mut failures = Failures::default();
    let facts = &case.facts["restore"];
    let Some(target) = facts["target"].as_str() else {
        return failures.0;
    };
    let target = case.sandbox.join(target);
    let saved = case.handoff(&["save", "demo"]);
    assert!(saved.status.success(), "{saved:?}");
    if facts["each_tree"] == true {
        hostile(case, &target, &mut failures);
        return failures.0;
    }
    let before = untouched::state(&target);
    let refused = facts["verdict"] == "refuse";
    let is_repository = target.join(".git").exists();
    // Whoever names a directory means a new one; over what is there a restore goes only if told so.
    if refused || !is_repository {
        let output = restore(case, &target);
        if refused {
            refusal(&output, &strings(&facts["naming"]), &mut failures);
            for difference in untouched::differences(&before, &untouched::state(&target)) {
                failures.add(format!("touched {difference}"));
            }
        } else if !output.status.success() {
            failures.add(format!("refused: {output:?}"));
        }
    }
    if is_repository && !refused {
        in_place(case, &target, &mut failures);
    }
    if facts["no_access_for_others"] == true {
        private(&target, &mut failures);
    }
    for path in strings(&facts["owner_exec"]) {
        let mode = fs::metadata(target.join(&path)).map_or(0, |about| about.mode());
        failures.equal(&path, mode & 0o100, 0o100);
    }
    survived(case, &target, &mut failures);
    failures.0
}

/// Restores into a directory, under the umask that the facts give.
fn restore(case: &Case, target: &Path) -> Output {
    let umask = case.facts["restore"]["umask"].as_str().unwrap_or("022");
    let mut command = case.handoff_command(&case.worktree(), &["restore", "demo"]);
    command.arg(target);
    let mut shell = case.shell(&format!("umask {umask}; exec \"$@\""), &command);
    shell.output().unwrap()
}

/// Restores over what a repository has.
fn in_place(case: &Case, target: &Path, failures: &mut Failures) {
    let refspec = "refs/handoff/demo:refs/handoff/demo";
    let fetch = ["fetch", "-q", &text(&case.worktree()), refspec];
    case.git_in(target, &fetch).unwrap();
    let ignored = || {
        let listed = ["ls-files", "-oi", "--exclude-standard", "-z"];
        let listed = String::from_utf8(case.git_in(target, &listed).unwrap()).unwrap();
        let files = listed.split_terminator('\0');
        let read = |path: &str| (path.to_owned(), fs::read(target.join(path)).unwrap());
        files.map(read).collect::<Vec<_>>()
    };
    let before = ignored();
    let output = case.handoff_in(target, &["restore", "demo", "--in-place"]);
    if !output.status.success() {
        failures.add(format!("refused: {output:?}"));
    }
    failures.equal("what is ignored", ignored(), before);
}

fn refusal(output: &Output, naming: &[String], failures: &mut Failures) {
    if output.status.success() {
        failures.add(format!("went on: {output:?}"));
    }
    let said = String::from_utf8_lossy(&output.stderr);
    for name in naming {
        if !said.contains(name.as_str()) {
            failures.add(format!("`{name}` is not named: {said}"));
        }
    }
}

/// What the target had of its own is there, byte for byte.
fn survived(case: &Case, target: &Path, failures: &mut Failures) {
    let outside = &case.facts["outside"];
    let name = case.facts["restore"]["target"].as_str().unwrap();
    for path in strings(&case.facts["restore"]["must_survive"]) {
        let found = fs::read(target.join(&path)).map(|bytes| sha256(&bytes));
        let wanted = outside[format!("{name}/{path}")].as_str();
        failures.equal(&path, found.ok().as_deref(), wanted);
    }
    for (place, id) in case.facts["refs"].as_object().into_iter().flatten() {
        let (repository, name) = place.split_once(':').unwrap();
        let found = case.git_in(&case.sandbox.join(repository), &["rev-parse", name]);
        let found = found.map(|id| String::from_utf8(id).unwrap().trim().to_owned());
        failures.equal(place, found.as_deref(), id.as_str());
    }
}

/// Nobody but the owner may look at anything but Git's own files.
fn private(dir: &Path, failures: &mut Failures) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let about = fs::symlink_metadata(&path).unwrap();
        if !about.is_symlink() {
            let bits = about.permissions().mode() & 0o077;
            failures.equal(&text(&path), bits, 0);
        }
        if about.is_dir() && !path.ends_with(".git") {
            private(&path, failures);
        }
    }
}

/// Puts each tree of the facts in the place of the checkpoint's worktree tree.
fn hostile(case: &Case, target: &Path, failures: &mut Failures) {
    let worktree = case.worktree();
    let honest = rev(case, "refs/handoff/demo");
    for tree in case.facts["trees"].as_array().unwrap() {
        let name = tree["name"].as_str().unwrap();
        let record = with_worktree_tree(case, &honest, tree["oid"].as_str().unwrap());
        let set = ["update-ref", "refs/handoff/demo", &record];
        case.git_in(&worktree, &set).unwrap();
        let bare = bare(case, name);
        let push = ["push", "-q", &text(&bare), "refs/handoff/demo"];
        case.git_in(&worktree, &push).unwrap();
        let path = tree["path"].as_str().unwrap();
        // A name in a tree is named as it is; the path of the facts goes on below it.
        let named = |said: &str| {
            let top = path.split('/').next().unwrap();
            [path, top]
                .iter()
                .any(|name| said.contains(&format!(" {name}: ")))
        };
        let dir = text(target);
        for args in [
            &["verify", "demo"][..],
            &["restore", "demo", &dir],
            &["restore", "demo", &dir, "--from", &text(&bare)],
        ] {
            let output = case.handoff_in(&worktree, args);
            let said = [output.stdout.as_slice(), &output.stderr].concat();
            let said = String::from_utf8_lossy(&said);
            if output.status.code() != Some(4) || !named(&said) {
                failures.add(format!("{name}: {args:?}: {output:?}"));
            }
            let left: Vec<PathBuf> = fs::read_dir(target)
                .unwrap()
                .map(|entry| entry.unwrap().path())
                .collect();
            failures.equal(&format!("{name}: {args:?} left"), left, Vec::new());
        }
    }
    for path in strings(&case.facts["must_not_exist"]) {
        if case.sandbox.join(&path).exists() {
            failures.add(format!("`{path}` appeared"));
        }
    }
}

fn bare(case: &Case, name: &str) -> PathBuf {
    let bare = case.sandbox.join(format!("{name}.git"));
    let init = ["init", "-q", "--bare", &text(&bare)];
    case.git_in(&case.sandbox, &init).unwrap();
    bare
}

/// Writes a record that says in all its parts that its worktree is another tree.
fn with_worktree_tree(case: &Case, record: &str, tree: &str) -> String {
    let worktree = case.worktree();
    let manifest = ["cat-file", "blob", &format!("{record}:manifest.cbor")];
    let bytes = case.git_in(&worktree, &manifest).unwrap();
    let mut manifest: Manifest = codec::decode(&bytes).unwrap();
    manifest.content.repository.worktree_tree = tree.parse().unwrap();
    let bytes = codec::encode(&manifest);
    let text = message::checkpoint_message(&manifest, store::digest::Digest::of(&bytes));
    let document = case.git_fed(&["hash-object", "-w", "--stdin"], &bytes);
    let listed = case.git_in(&worktree, &["ls-tree", record]).unwrap();
    let listed = String::from_utf8(listed).unwrap();
    let entries = listed.lines().map(|line| {
        let (about, name) = line.split_once('\t').unwrap();
        match name {
            "manifest.cbor" => format!("100644 blob {document}\t{name}\n"),
            "worktree" => format!("040000 tree {tree}\t{name}\n"),
            _ => format!("{about}\t{name}\n"),
        }
    });
    let root = case.git_fed(&["mktree"], entries.collect::<String>().as_bytes());
    let head = rev(case, "HEAD");
    let commit = ["commit-tree", &root, "-p", &head];
    case.git_fed_at(manifest.created_at.unix_seconds(), &commit, text.as_bytes())
}

fn rev(case: &Case, name: &str) -> String {
    let id = case.git_in(&case.worktree(), &["rev-parse", "--verify", name]);
    String::from_utf8(id.unwrap()).unwrap().trim().into()
}

/// Scope names that Git does not take are not taken; of those that it takes, the product may take fewer.
pub(crate) fn names(case: &Case) -> Vec<String> {
    let mut failures = Failures::default();
    let scopes = &case.facts["scopes"];
    let one = case.sandbox.join("one");
    let mut taken = Vec::new();
    for (list, may_be) in [("valid", true), ("invalid", false)] {
        for name in strings(&scopes[list]) {
            let name = String::from_utf8(crate::case::decode(&name)).unwrap();
            let saved = case.handoff_in(&one, &["save", "--", &name]);
            match (saved.status.success(), may_be) {
                (true, false) => failures.add(format!("took `{name}`")),
                (true, true) => taken.push(name),
                // No name at all, or one that is a scope's in other case.
                (false, _) if matches!(saved.status.code(), Some(2 | 5)) => {}
                (false, _) => failures.add(format!("`{name}`: {saved:?}")),
            }
        }
    }
    let refs = [
        "for-each-ref",
        "--format=%(refname:lstrip=2)",
        "refs/handoff/",
    ];
    let refs = String::from_utf8(case.git_in(&one, &refs).unwrap()).unwrap();
    let mut refs: Vec<String> = refs.lines().map(Into::into).collect();
    refs.sort();
    taken.sort();
    failures.equal("scopes", refs, taken);
    failures.0
}
