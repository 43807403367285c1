//! What a restore says of itself.

use std::path::PathBuf;

use gix::bstr::ByteSlice;
use schemars::JsonSchema;
use serde::Serialize;
use store::{
    byte_text::ByteText,
    generation::Generation,
    oid::Oid,
    repo_path::RepoPath,
    restore::{Restored, RestoredBranch},
    scope::ScopeName,
};

use crate::ui::{Report, count, terminal_safe};

/// A restore that was checked on disk.
pub(crate) struct Outcome {
    pub(super) directory: PathBuf,
    pub(super) scope: ScopeName,
    pub(super) generation: Generation,
    /// The generation that the scope is at.
    pub(super) tip: Generation,
    pub(super) restored: Restored,
    pub(super) safety: Option<u64>,
    pub(super) elapsed_ms: u64,
    pub(super) what: What,
    /// Whether the recorded branch could be made here.
    pub(super) branch_is_free: bool,
}

/// What was restored.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    Checkpoint,
    /// A prepared handoff, in no history yet.
    Prepared,
    /// A safety record.
    Safety,
}

impl Outcome {
    fn branch(&self) -> Option<ByteText> {
        match &self.restored.branch {
            RestoredBranch::On(name) => Some(name.as_bstr().into()),
            RestoredBranch::Beside(_) | RestoredBranch::Detached => None,
        }
    }
}

impl Outcome {
    /// Returns the commands that check out what the submodules had: Git knows the commits of the index alone.
    fn to_fill_submodules(&self, dir: &str) -> Vec<Vec<String>> {
        let submodules = &self.restored.submodules;
        let staged = submodules.iter().filter(|one| one.staged.is_some());
        let paths: Vec<String> = staged.map(|one| one.path.to_string()).collect();
        let mut commands = Vec::new();
        if !paths.is_empty() {
            let update = ["git", "-C", dir, "submodule", "update", "--init", "--"];
            commands.push(update.into_iter().map(String::from).chain(paths).collect());
        }
        let others = submodules
            .iter()
            .filter(|one| one.staged != Some(one.commit));
        commands.extend(others.filter(|one| one.staged.is_some()).map(|one| {
            let (below, commit) = (format!("{dir}/{}", one.path), one.commit.to_string());
            let checkout = ["git", "-C", &below, "checkout", "--detach", &commit];
            checkout.map(String::from).into()
        }));
        commands
    }
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Document<'a> {
    directory: String,
    scope: &'a ScopeName,
    generation: Generation,
    /// Whether it is the scope's current generation.
    current: bool,
    /// The generation that the scope is at.
    tip: Generation,
    head: Option<Oid>,
    /// The branch that `HEAD` is on; null where it is detached.
    branch: Option<ByteText>,
    worktree_tree: Oid,
    index_tree: Oid,
    /// Always true: both trees were recomputed from disk.
    verified: bool,
    /// Paths that got their stored version, because a filter was not run.
    filtered: &'a [RepoPath],
    /// Paths that got the producer's bytes, which are not what the stored version gives here.
    raw: &'a [RepoPath],
    /// Paths whose index flags were not set.
    flagged: &'a [RepoPath],
    /// Paths that are absent, as a sparse checkout left them.
    sparse: &'a [RepoPath],
    /// Paths that show a change because other conversions are in force here.
    converted: &'a [RepoPath],
    /// Paths that the checkpoint knows nothing of.
    kept: &'a [RepoPath],
    submodules: Vec<&'a RepoPath>,
    /// Number of the safety record that holds what was here.
    safety: Option<u64>,
    elapsed_ms: u64,
}

impl Report for Outcome {
    const NAME: &'static str = "restore";

    type Document<'a> = Document<'a>;

    fn document(&self) -> Document<'_> {
        let restored = &self.restored;
        let submodules = restored.submodules.iter();
        Document {
            directory: self.directory.to_string_lossy().into_owned(),
            scope: &self.scope,
            generation: self.generation,
            current: self.generation == self.tip && self.what != What::Prepared,
            tip: self.tip,
            head: restored.head,
            branch: self.branch(),
            worktree_tree: restored.worktree_tree,
            index_tree: restored.index_tree,
            verified: true,
            filtered: &restored.filtered,
            raw: &restored.raw,
            flagged: &restored.flagged,
            sparse: &restored.sparse,
            converted: &restored.converted,
            kept: &restored.kept,
            submodules: submodules.map(|submodule| &submodule.path).collect(),
            safety: self.safety,
            elapsed_ms: self.elapsed_ms,
        }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        if self.what == What::Checkpoint && self.generation != self.tip {
            text.push_str(&format!(
                "an old generation: scope `{}` is at generation {}\n",
                self.scope, self.tip
            ));
        }
        let what = match self.what {
            What::Safety => "the safety record".to_owned(),
            What::Prepared => format!("{}@prepared", self.scope),
            What::Checkpoint => format!("{}@{}", self.scope, self.generation),
        };
        text.push_str(&format!(
            "restored {what} in {}\n",
            self.directory.display()
        ));
        let head = self
            .restored
            .head
            .map_or_else(|| "no commit yet".to_owned(), |head| head.to_string());
        match &self.restored.branch {
            RestoredBranch::On(name) => text.push_str(&format!(
                "  HEAD       {head} on {}\n",
                safe(name.shorten())
            )),
            RestoredBranch::Detached => text.push_str(&format!("  HEAD       {head}, detached\n")),
            RestoredBranch::Beside(name) => {
                let name = safe(name.shorten());
                text.push_str(&format!(
                    "  HEAD       {head}, detached: `{name}` is not moved\n"
                ));
            }
        }
        text.push_str(&format!(
            "  worktree   {}, recomputed from disk\n",
            self.restored.worktree_tree
        ));
        text.push_str(&format!(
            "  index      {}, recomputed from disk\n",
            self.restored.index_tree
        ));
        if let Some(number) = self.safety {
            text.push_str(&format!(
                "  before     what was here is safety record {number}\n"
            ));
        }
        let restored = &self.restored;
        listed(
            &mut text,
            "filtered",
            &restored.filtered,
            "the stored version; the filter was not run",
        );
        listed(
            &mut text,
            "raw",
            &restored.raw,
            "the producer's bytes; the stored version differs, see git diff",
        );
        listed(
            &mut text,
            "flagged",
            &restored.flagged,
            "index flags not set; --flags sets them",
        );
        let absent = restored.sparse.len() as u64;
        if absent > 0 {
            let files = count(absent, "file");
            text.push_str(&format!(
                "  sparse     {files} not written, as in the sparse checkout of the producer\n"
            ));
        }
        listed(
            &mut text,
            "converted",
            &restored.converted,
            "shows as changed: other line ends are in force here",
        );
        listed(
            &mut text,
            "kept",
            &restored.kept,
            "not part of the checkpoint",
        );
        for submodule in &restored.submodules {
            text.push_str(&format!(
                "  {:<10} {}: at {}\n",
                "submodule",
                terminal_safe(&submodule.path.to_string()),
                submodule.commit
            ));
        }
        text
    }

    fn next_commands(&self) -> Vec<Vec<String>> {
        if self.what == What::Safety {
            return Vec::new();
        }
        let scope = match self.what {
            What::Prepared => format!("{}@prepared", self.scope),
            _ if self.generation != self.tip => format!("{}@{}", self.scope, self.generation),
            _ => self.scope.to_string(),
        };
        let mut next: Vec<Vec<String>> = Vec::new();
        if let RestoredBranch::Beside(name) = &self.restored.branch {
            let dir = self.directory.display().to_string();
            let branch = match self.branch_is_free {
                true => name.shorten().to_string(),
                false => self.scope.to_string(),
            };
            next.push(
                ["git", "-C", &dir, "switch", "-c", &branch]
                    .map(String::from)
                    .into(),
            );
        }
        let dir = self.directory.display().to_string();
        if !self.restored.sparse.is_empty() {
            let fill = ["git", "-C", &dir, "sparse-checkout", "disable"];
            next.push(fill.map(String::from).into());
        }
        next.extend(self.to_fill_submodules(&dir));
        next.push(["git", "-C", &dir, "status"].map(String::from).into());
        next.push(
            ["git", "-C", &dir, "handoff", "continue", &scope]
                .map(String::from)
                .into(),
        );
        if self.what == What::Prepared {
            next.push(
                ["git", "-C", &dir, "handoff", "commit", self.scope.as_str()]
                    .map(String::from)
                    .into(),
            );
        } else if self.generation == self.tip {
            next.push(
                ["git", "-C", &dir, "handoff", "accept", self.scope.as_str()]
                    .map(String::from)
                    .into(),
            );
        }
        next
    }
}

fn safe(text: &gix::bstr::BStr) -> String {
    terminal_safe(&text.to_str_lossy())
}

fn listed(text: &mut String, name: &str, paths: &[RepoPath], why: &str) {
    for path in paths {
        text.push_str(&format!(
            "  {name:<10} {}: {why}\n",
            terminal_safe(&path.to_string())
        ));
    }
}
