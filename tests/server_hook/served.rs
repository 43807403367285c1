//! A bare repository with the hook, and one that pushes to it.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::{
    records::Records,
    world::{Output, World},
};

/// A server, and a repository beside it.
pub(super) struct Served {
    pub(super) world: World,
    pub(super) bare: PathBuf,
    pub(super) repo: PathBuf,
}

impl Served {
    pub(super) fn new() -> Self {
        Self::with(World::new(), &[])
    }

    /// Makes both with more arguments of git-init(1).
    pub(super) fn with(world: World, init: &[&str]) -> Self {
        let (bare, repo) = (world.root().join("server.git"), world.directory("repo"));
        let path = bare.to_str().unwrap();
        world
            .git(
                world.root(),
                [&["init", "-q", "--bare", path], init].concat(),
            )
            .ok();
        let init: Vec<&&str> = init
            .iter()
            .filter(|arg| !arg.contains("ref-format"))
            .collect();
        world.git(&repo, ["init", "-q"].iter().chain(init)).ok();
        world.write(&repo, "README.md", "# Example\n");
        world.commit(&repo, "First commit");
        let served = Served { world, bare, repo };
        served.install();
        served
    }

    /// Installs the hook.
    pub(super) fn install(&self) {
        self.hooks(["install"]).ok();
    }

    /// Runs `handoff-hooks` in the bare repository.
    pub(super) fn hooks<const N: usize>(&self, args: [&str; N]) -> Output {
        self.world.run("handoff-hooks", &self.bare, args)
    }

    pub(super) fn records(&self) -> Records<'_> {
        Records::new(&self.world, &self.repo)
    }

    /// Sets something in the configuration of the bare repository.
    pub(super) fn set(&self, key: &str, value: &str) {
        self.world.git(&self.bare, ["config", key, value]).ok();
    }

    /// Pushes refspecs with plain Git.
    pub(super) fn push(&self, refspecs: &[&str]) -> Output {
        self.push_from(&self.repo, refspecs)
    }

    pub(super) fn push_from(&self, repo: &Path, refspecs: &[&str]) -> Output {
        let bare = self.bare.to_str().unwrap();
        self.world.git(repo, ["push", bare].iter().chain(refspecs))
    }

    /// Pushes a commit to a scope, which must be taken.
    #[track_caller]
    pub(super) fn takes(&self, commit: &str, scope: &str) {
        self.push(&[&format!("{commit}:refs/handoff/{scope}")]).ok();
        assert_eq!(self.tip(scope).as_deref(), Some(commit));
    }

    /// Pushes a commit to a scope, which must be refused with `code`, and returns what the pusher reads.
    #[track_caller]
    pub(super) fn refuses(&self, commit: &str, scope: &str, code: &str) -> String {
        self.refuses_push(&[&format!("+{commit}:refs/handoff/{scope}")], code)
    }

    /// Pushes, which must be refused with `code` and change no ref, and returns what the pusher reads.
    #[track_caller]
    pub(super) fn refuses_push(&self, refspecs: &[&str], code: &str) -> String {
        let before = self.refs();
        let said = self.push(refspecs).code(1).stderr();
        let line = format!("remote: handoff: {code} refs/");
        assert!(said.contains(&line), "no {code} in:\n{said}");
        assert_eq!(self.refs(), before);
        said
    }

    /// Returns all refs of the server.
    pub(super) fn refs(&self) -> String {
        self.world.git(&self.bare, ["for-each-ref"]).ok().stdout()
    }

    /// Returns what a scope's ref names on the server.
    pub(super) fn tip(&self, scope: &str) -> Option<String> {
        let name = format!("refs/handoff/{scope}");
        let format = "--format=%(objectname)";
        let found = self.world.git(&self.bare, ["for-each-ref", format, &name]);
        Some(found.ok().line()).filter(|id| !id.is_empty())
    }

    /// Runs `handoff-hooks` with `--json`, and returns what it says of the repository's `pre-receive`.
    #[track_caller]
    pub(super) fn asks_of_hook(&self, args: &[&str]) -> Value {
        let args = [args, &["--json"]].concat();
        let said = self
            .world
            .run("handoff-hooks", &self.bare, args)
            .ok()
            .json();
        said["repositories"][0]["hooks"][0].clone()
    }

    /// Returns the judgements in the audit log.
    pub(super) fn audit(&self) -> Vec<Value> {
        let mut lines = self.log();
        lines.retain(|line| line["outcome"] != "taken");
        lines
    }

    /// Returns the lines of the audit log.
    pub(super) fn log(&self) -> Vec<Value> {
        let log = self.world.read(&self.bare, "handoff/audit.jsonl");
        String::from_utf8(log)
            .unwrap()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}
