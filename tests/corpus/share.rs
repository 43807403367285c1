//! Facts about pushes. Where the scripts use stand-in commits, the same writers make real checkpoints in the same
//! order.

use std::{
    path::{Path, PathBuf},
    process::Output,
};

use serde_json::Value;

use crate::{
    case::{Case, strings, text},
    failures::Failures,
};

/// Pushes as a case says, and returns what is not as its facts say.
pub(crate) fn check(case: &Case) -> Vec<String> {
    let mut failures = Failures::default();
    match case.facts["share"]["push"].as_array() {
        Some(_) => Sharing::of(case).check(&mut failures),
        None if has_secrets(case) => refused(case, &mut failures),
        None => alone(case, &mut failures),
    }
    failures.0
}

/// Tells whether a case has credentials in its worktree: it is not saved with them.
pub(crate) fn has_secrets(case: &Case) -> bool {
    !strings(&case.facts["secrets"]).is_empty()
}

/// Nothing with a secret becomes a record that could be sent; each path is named, and no value printed.
pub(crate) fn refused(case: &Case, failures: &mut Failures) {
    for args in [&["save", "demo"][..], &["save", "demo", "--json"]] {
        let output = case.handoff(args);
        case.silent(&output, failures);
        failures.equal("exit code", output.status.code(), Some(5));
        let said = [output.stdout.as_slice(), &output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        for path in strings(&case.facts["secrets"]) {
            if !said.contains(&path) {
                failures.add(format!("`{path}` is not named"));
            }
        }
    }
    let refs = ["for-each-ref", "refs/handoff/"];
    let refs = case.git_in(&case.worktree(), &refs);
    failures.equal("records", refs, Some(Vec::new()));
}

/// The repositories of a case.
struct Sharing<'a> {
    case: &'a Case,
    name: &'a str,
}

impl<'a> Sharing<'a> {
    fn of(case: &'a Case) -> Self {
        let name = case.facts["name"].as_str().unwrap();
        Sharing { case, name }
    }

    fn check(&self, failures: &mut Failures) {
        self.forget_stand_ins();
        self.rebuild();
        let before = self.remote_refs();
        let kept = self.refs(&self.dir("two"));
        for push in self.case.facts["share"]["push"].as_array().unwrap() {
            let times = if push["twice"] == true { 2 } else { 1 };
            for _ in 0..times {
                self.push(push, failures);
            }
        }
        for fetch in self.case.facts["share"]["fetch"]
            .as_array()
            .into_iter()
            .flatten()
        {
            let dir = self.dir(fetch["repo"].as_str().unwrap());
            let fetched = self.git(&dir, &["fetch", "-q", "handoff"]);
            failures.equal("fetch", fetched.status.success(), true);
        }
        failures.equal("the remote's refs", self.remote_refs(), before);
        failures.equal("the refs of two", self.refs(&self.dir("two")), kept);
    }

    fn dir(&self, name: &str) -> PathBuf {
        self.case.sandbox.join(name)
    }

    fn refs(&self, dir: &Path) -> Option<String> {
        let refs = [
            "for-each-ref",
            "--format=%(refname) %(objectname)",
            "refs/handoff/",
            "refs/heads/",
        ];
        let refs = dir.exists().then(|| self.case.git_in(dir, &refs)).flatten();
        refs.map(|refs| String::from_utf8(refs).unwrap())
    }

    fn remote_refs(&self) -> Option<String> {
        self.refs(&self.dir("remote.git"))
    }

    /// Removes the refs that the script made of commits which are no records.
    fn forget_stand_ins(&self) {
        for name in ["one", "two", "remote.git"] {
            let dir = self.dir(name);
            for line in self.refs(&dir).unwrap_or_default().lines() {
                let name = line.split(' ').next().unwrap();
                if name.starts_with("refs/handoff/") {
                    self.case.git_in(&dir, &["update-ref", "-d", name]).unwrap();
                }
            }
        }
    }

    /// Makes the checkpoints: who saves and who pushes, in the order of the script.
    fn rebuild(&self) {
        let steps: &[(&str, &str)] = match self.name {
            "push-again" => &[("one", "1"), ("one", "push"), ("one", "2"), ("one", "push")],
            "push-stale-writer" => &[
                ("one", "1"),
                ("one", "push"),
                ("two", "fetch"),
                ("one", "2"),
                ("one", "3"),
                ("one", "push"),
                ("two", "a late 2"),
            ],
            "push-two-writers" => &[
                ("one", "1"),
                ("one", "push"),
                ("two", "fetch"),
                ("one", "2 of one"),
                ("one", "push"),
                ("two", "2 of two"),
            ],
            "hidden-refs" => &[("one", "1"), ("one", "push"), ("one", "hide"), ("one", "2")],
            "ref-name-is-a-folder-elsewhere" => &[("one", "1"), ("one", "push"), ("two", "below")],
            _ => &[("one", "1")],
        };
        let scope = if self.name == "ref-name-is-a-folder-elsewhere" {
            "a"
        } else {
            "demo"
        };
        let hidden = ["config", "transfer.hideRefs", "refs/handoff"];
        if self.name == "hidden-refs" {
            self.case
                .git_in(
                    &self.dir("remote.git"),
                    &["config", "--unset", "transfer.hideRefs"],
                )
                .unwrap();
        }
        for (who, what) in steps {
            let dir = self.dir(who);
            match *what {
                "push" => self.handoff(&dir, &["push", scope]),
                "fetch" => {
                    self.handoff(&dir, &["init"]);
                    let refspec = format!("refs/handoff/{scope}:refs/handoff/{scope}");
                    self.case
                        .git_in(&dir, &["fetch", "-q", "origin", &refspec])
                        .unwrap();
                }
                "hide" => drop(self.case.git_in(&self.dir("remote.git"), &hidden).unwrap()),
                "below" => {
                    self.handoff(&dir, &["init"]);
                    self.handoff(&dir, &["save", "ab"]);
                    let made = ["update-ref", "refs/handoff/a/b", "refs/handoff/ab"];
                    self.case.git_in(&dir, &made).unwrap();
                }
                text => {
                    std::fs::write(dir.join("a.txt"), text).unwrap();
                    self.handoff(&dir, &["save", scope, "-m", text]);
                }
            }
        }
        if self.name == "hidden-refs" {
            self.handoff(&self.dir("two"), &["init"]);
        }
    }

    fn handoff(&self, dir: &Path, args: &[&str]) {
        let output = self.case.handoff_in(dir, args);
        assert!(output.status.success(), "{args:?}: {output:?}");
    }

    /// Runs Git with the remote helper on its PATH.
    fn git(&self, dir: &Path, args: &[&str]) -> Output {
        self.case.git_with_helper(dir, args).output().unwrap()
    }

    /// Pushes with the product's own command, and with Git's.
    fn push(&self, push: &Value, failures: &mut Failures) {
        let dir = self.dir(push["repo"].as_str().unwrap());
        let name = push["ref"].as_str().unwrap();
        let remote = push["remote"].as_str().unwrap_or("handoff");
        let refspec = format!("{name}:{name}");
        let mut args = vec!["push", remote, &refspec];
        if push["force"] == true {
            args.push("--force");
        }
        let by_git = self.git(&dir, &args);
        let mut outputs = vec![by_git];
        if let Some(scope) = name.strip_prefix("refs/handoff/")
            && push["force"] != true
            && push["remote"].is_null()
        {
            outputs.push(self.case.handoff_in(&dir, &["push", scope]));
        }
        for output in outputs {
            self.case.silent(&output, failures);
            let wanted = push["verdict"] == "ok";
            if output.status.success() != wanted {
                failures.add(format!("push {push}: {output:?}"));
            }
            let said = [output.stdout.as_slice(), &output.stderr].concat();
            let said = String::from_utf8_lossy(&said);
            if let Some(says) = push["says"].as_str()
                && !synonyms(says).iter().any(|word| said.contains(word))
            {
                failures.add(format!("push {push} does not say `{says}`: {said}"));
            }
        }
    }
}

/// What the product says for a word of the facts: a scope has no slash.
fn synonyms(says: &str) -> Vec<&str> {
    vec![says, "a/b"]
}

/// Pushes to the case's bare repository, which alone must be enough afterwards.
fn alone(case: &Case, failures: &mut Failures) {
    let remote = case.sandbox.join("remote.git");
    if !remote.exists() {
        return;
    }
    let main = || case.git_in(&remote, &["rev-parse", "-q", "--verify", "refs/heads/main"]);
    let before = main();
    for args in [
        &["save", "demo"][..],
        &["init", &text(&remote)],
        &["push", "demo"],
    ] {
        let output = case.handoff(args);
        assert!(output.status.success(), "{args:?}: {output:?}");
    }
    failures.equal("main of the remote", main(), before);
    let read = |dir: &Path| {
        let log = case.git_in(dir, &["rev-list", "HEAD"]);
        let files = ["ls-files", "-co", "--exclude-standard"];
        let files = String::from_utf8(case.git_in(dir, &files).unwrap()).unwrap();
        let files = files.lines().map(|path| std::fs::read(dir.join(path)).ok());
        (log, files.collect::<Vec<_>>())
    };
    let was = read(&case.worktree());
    for gone in ["work", "donor"] {
        let dir = case.sandbox.join(gone);
        if dir.exists() {
            std::fs::rename(&dir, case.sandbox.join(format!("{gone}.gone"))).unwrap();
        }
    }
    let dir = case.sandbox.join("alone");
    let args = ["restore", "demo", &text(&dir), "--from", &text(&remote)];
    let output = case.handoff_in(&case.sandbox, &args);
    if !output.status.success() {
        failures.add(format!("from the remote alone: {output:?}"));
        return;
    }
    failures.equal("what came from the remote alone", read(&dir), was);
    let names = strings(&case.facts["must_be_in"]);
    failures.equal(
        "files",
        names.iter().all(|name| dir.join(name).exists()),
        true,
    );
}
