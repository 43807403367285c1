//! Submodules: which commit is checked out, and what of them does not travel.

use std::path::Path;

use gix::{
    ObjectId,
    bstr::{BStr, BString, ByteSlice},
    index::entry::Mode,
};

use super::{disk::Root, repo_path, tree::TreeItem};
use crate::{
    byte_text::ByteText,
    contract::{
        Blocker, BlockerKind, Omission, OmissionReason, Reachable, Submodule, SubmoduleReach,
    },
    git::Git,
    remote_url::without_credentials,
};

/// What `.gitmodules` of the worktree says.
pub(super) struct Modules(Vec<(BString, Option<BString>)>);

/// What is found out about one gitlink.
pub(super) struct Found {
    pub(super) path: BString,
    /// The commit that is checked out, or that a restore has not filled the submodule with; else none where it is
    /// not filled.
    pub(super) commit: Option<ObjectId>,
    dirty: bool,
    /// Whether there is a repository.
    is_filled: bool,
    url: Option<BString>,
    reachable: Reachable,
}

impl Modules {
    /// Reads `.gitmodules`, where it is a file.
    pub(super) fn read(root: &Root, worktree: &Path) -> Self {
        let text = root
            .directory("".into())
            .and_then(|top| top.read(".gitmodules".into()));
        let Ok(Some(text)) = text else {
            return Modules(Vec::new());
        };
        let config = gix::config::File::default();
        let path = worktree.join(".gitmodules");
        let Ok(file) = gix::submodule::File::from_bytes(&text, path, &config) else {
            return Modules(Vec::new());
        };
        let known = file.names().filter_map(|name| {
            let path = file.path(name).ok()?;
            let url = file
                .config()
                .string(format!("submodule.{name}.url").as_str());
            let url = url.map(|url| without_credentials(url.as_ref()));
            Some((path, url))
        });
        Modules(known.collect())
    }

    /// Tells whether a path is one of a submodule.
    pub(super) fn knows(&self, path: &BStr) -> bool {
        self.0.iter().any(|(known, _)| known == path)
    }

    fn url(&self, path: &BStr) -> Option<BString> {
        let found = self.0.iter().find(|(known, _)| known == path);
        found.and_then(|(_, url)| url.clone())
    }
}

impl Found {
    /// Asks the submodule at `path`, which is a directory.
    pub(super) fn ask(modules: &Modules, root: &Root, worktree: &Path, path: &BStr) -> Self {
        let mut found = Found {
            path: path.into(),
            commit: None,
            dirty: false,
            is_filled: false,
            url: modules.url(path),
            reachable: Reachable::Unknown,
        };
        let names = root
            .directory(path)
            .and_then(|mut directory| directory.names());
        let names = names.unwrap_or_default();
        if !names.iter().any(|name| name.name == ".git") {
            // Git does not look into a submodule that is not filled; files in it travel nowhere.
            found.dirty = !names.is_empty();
            return found;
        }
        found.is_filled = true;
        let git = Inside::new(worktree, path);
        let head = git.ask(&["rev-parse", "-q", "--verify", "HEAD^{commit}"]);
        let Some(commit) = head.and_then(|id| ObjectId::from_hex(id.trim()).ok()) else {
            found.dirty = true;
            return found;
        };
        found.commit = Some(commit);
        let status = git.ask(&[
            "status",
            "--porcelain",
            "-z",
            "--untracked-files=all",
            "--ignore-submodules=none",
            "--no-renames",
        ]);
        found.dirty = status.is_none_or(|status| !status.is_empty());
        let contains = format!("--contains={commit}");
        let branches = git.ask(&["for-each-ref", "--count=1", &contains, "refs/remotes"]);
        found.reachable = match branches {
            None => Reachable::Unknown,
            Some(branches) if branches.is_empty() => Reachable::No,
            Some(_) => Reachable::Yes,
        };
        found
    }

    /// Takes the commit that a restore has not filled it with, where nothing else fills it.
    pub(super) fn count_as_restored(&mut self, commit: ObjectId) {
        if !self.is_filled {
            self.commit = Some(commit);
        }
    }

    /// Returns what stands in the worktree tree.
    pub(super) fn item(&self) -> Option<TreeItem> {
        self.commit.map(|id| TreeItem {
            mode: Mode::COMMIT,
            id,
        })
    }

    /// Tells whether it holds changes of its own.
    pub(super) fn is_dirty(&self) -> bool {
        self.dirty
    }

    pub(super) fn submodule(&self) -> Submodule {
        Submodule {
            path: repo_path(self.path.as_ref()),
            commit: self.commit.map(Into::into),
            url: self.url.clone().map(ByteText::from),
            dirty: self.dirty,
        }
    }

    pub(super) fn reach(&self) -> SubmoduleReach {
        SubmoduleReach {
            path: repo_path(self.path.as_ref()),
            reachable: self.reachable,
        }
    }

    /// Returns the omission of its changes, if it has any.
    pub(super) fn omission(&self) -> Option<Omission> {
        self.dirty.then(|| Omission {
            path: Some(repo_path(self.path.as_ref())),
            text: None,
            reason: OmissionReason::SubmoduleDirty,
            detail: Some("changes inside the submodule".into()),
            citation: None,
        })
    }

    /// Tells whether no remote-tracking branch of its own reaches its commit.
    pub(super) fn is_unpushed(&self) -> bool {
        self.reachable == Reachable::No
    }

    /// Returns what of it blocks whoever takes over; its commit counts where that is new.
    pub(super) fn blockers(&self, is_new: bool) -> Vec<Blocker> {
        let blocker = |kind, detail: String| Blocker {
            kind,
            path: Some(repo_path(self.path.as_ref())),
            detail: Some(detail),
        };
        let mut blockers = Vec::new();
        if self.dirty {
            let detail = "changes inside the submodule do not travel".into();
            blockers.push(blocker(BlockerKind::SubmoduleDirty, detail));
        }
        if let Some(commit) = self.commit.filter(|_| is_new && self.is_unpushed()) {
            let detail = format!("no remote-tracking branch reaches {commit}");
            blockers.push(blocker(BlockerKind::SubmoduleUnreachable, detail));
        }
        blockers
    }
}

/// Settings under which Git looks at the files themselves: what tells it of changes may not tell of all.
const BELIEVED: [&str; 4] = [
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.checkStat=default",
    "core.trustctime=true",
];

/// Git in the repository of a submodule, and in no other.
struct Inside(Git);

impl Inside {
    fn new(worktree: &Path, path: &BStr) -> Self {
        let dir = worktree.join(gix::path::from_bstr(path).unwrap_or_default());
        Inside(Git::with_git_dir(&dir, dir.join(".git")))
    }

    /// Returns what Git says, or nothing where it fails.
    fn ask(&self, args: &[&str]) -> Option<Vec<u8>> {
        let settings = BELIEVED.iter().flat_map(|setting| ["-c", setting]);
        self.0.output(settings.chain(args.iter().copied())).ok()
    }
}
