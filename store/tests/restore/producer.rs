//! A worktree of a real Git repository, and records of it that are put together with plain Git.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
};

use gix::{ObjectId, objs::tree::EntryKind, prelude::Write as _};
use store::{
    contract::{
        Artifacts, AutoCrlf, CapturedList, Content, Conversions, Disposition, Eol, FileMode,
        IntentToAdd, Manifest, ManifestSchema, Observed, Operation, OperationKind,
        Producer as Author, Statement, Untracked, Worktree, codec, message,
    },
    digest::Digest,
    record::{self, NewRecord, RootTree, SubTree},
    repo_path::RepoPath,
    repository::Repository,
    verify::{self, Depth, VerifiedRecord},
};

use crate::world::{git, git_bytes, git_outcome};

/// A repository with a worktree, in a temporary directory that goes with it.
pub(crate) struct Producer {
    top: PathBuf,
    _dir: Option<tempfile::TempDir>,
}

impl Producer {
    pub(crate) fn new() -> Self {
        Producer::with_format("sha1")
    }

    fn in_new_directory() -> Self {
        let dir = tempfile::tempdir().unwrap();
        Producer {
            top: dir.path().into(),
            _dir: Some(dir),
        }
    }

    /// The producer that another process made, by its worktree.
    pub(crate) fn at(worktree: PathBuf) -> Self {
        Producer {
            top: worktree.parent().unwrap().into(),
            _dir: None,
        }
    }

    /// The record that `refs/kept/record` names.
    pub(crate) fn kept_record(&self) -> VerifiedRecord {
        let id = self
            .git(&["rev-parse", "refs/kept/record"])
            .trim()
            .parse::<store::oid::Oid>()
            .unwrap();
        let repository = self.repository();
        verify::record(repository.gix(), id.id(), None, None, Depth::Objects)
            .into_result()
            .unwrap()
    }

    pub(crate) fn with_format(format: &str) -> Self {
        let producer = Producer::in_new_directory();
        fs::create_dir(producer.path()).unwrap();
        let format = format!("--object-format={format}");
        producer.git(&["init", "-q", "-b", "main", &format, "."]);
        producer.git(&["config", "gc.auto", "0"]);
        producer.git(&["config", "user.name", "A"]);
        producer.git(&["config", "user.email", "a@example.org"]);
        producer
    }

    /// Clones the repository as it is, beside it; the clone has the record too.
    pub(crate) fn clone_with(&self, record: &VerifiedRecord) -> Producer {
        let clone = Producer::in_new_directory();
        let (from, to) = (self.path(), clone.path());
        let (from, to) = (from.to_str().unwrap(), to.to_str().unwrap());
        git(&clone.top, &["clone", "-q", from, to]);
        clone.git(&["config", "user.name", "B"]);
        clone.git(&["config", "user.email", "b@example.org"]);
        clone.fetch(self, record);
        clone
    }

    /// Brings a record of another repository here.
    pub(crate) fn fetch(&self, from: &Producer, record: &VerifiedRecord) {
        let (from, id) = (from.path(), record.id.to_string());
        self.git(&[
            "fetch",
            "-q",
            "--no-tags",
            from.to_str().unwrap(),
            &format!("{id}:refs/kept/{id}"),
        ]);
    }

    /// The worktree.
    pub(crate) fn path(&self) -> PathBuf {
        self.top.join("producer")
    }

    /// A path beside the worktree.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.top.join(name)
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        git(&self.path(), args)
    }

    pub(crate) fn write(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn commit(&self, summary: &str) -> String {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", summary]);
        self.git(&["rev-parse", "HEAD"]).trim().into()
    }

    pub(crate) fn repository(&self) -> Repository {
        Repository::discover(&store::git::Git::in_dir(self.path())).unwrap()
    }

    /// Makes a record of the worktree as it is.
    pub(crate) fn record(&self) -> VerifiedRecord {
        self.record_with(|_, _| {})
    }

    /// Makes a record of the worktree as it is, changed by `change` before it is written.
    pub(crate) fn record_with(
        &self,
        change: impl FnOnce(&mut RootTree, &mut Content),
    ) -> VerifiedRecord {
        let id = self.write_record(change);
        let repository = self.repository();
        verify::record(repository.gix(), id, None, None, Depth::Objects)
            .into_result()
            .unwrap()
    }

    pub(crate) fn write_record(
        &self,
        change: impl FnOnce(&mut RootTree, &mut Content),
    ) -> ObjectId {
        let repository = self.repository();
        let objects = repository.gix();
        let (mut root, mut content) = self.capture(objects);
        change(&mut root, &mut content);
        content.artifacts.raw = root.raw.map(Into::into);
        content.repository.worktree_tree = root.worktree.into();
        content.repository.index_tree = root.index.into();
        content.worktree.untracked = self.untracked(&root, &content);
        let parents = content.repository.head.iter().map(|oid| oid.id());
        let heads = content
            .repository
            .operation
            .iter()
            .flat_map(|operation| &operation.heads)
            .map(|oid| oid.id());
        let parents = parents.chain(heads).collect();
        let manifest = manifest(content);
        let bytes = codec::encode(&manifest);
        root.manifest = objects.write_blob(&bytes).unwrap().detach();
        let tree = objects
            .objects
            .write_buf(gix::objs::Kind::Tree, &root.to_bytes())
            .unwrap();
        let new = NewRecord {
            tree,
            parents,
            message: message::checkpoint_message(&manifest, Digest::of(&bytes)),
            at: manifest.created_at,
            sign: false,
        };
        record::write(&repository, &new).unwrap()
    }

    /// What the worktree has that the index has not, as Git compares them; nothing where Git cannot read the trees.
    fn untracked(&self, root: &RootTree, content: &Content) -> Untracked {
        let listed = |other: ObjectId, tree: ObjectId| {
            let (other, tree) = (other.to_string(), tree.to_string());
            let options = [
                "-r",
                "-z",
                "--raw",
                "--no-abbrev",
                "--no-renames",
                "--diff-filter=A",
            ];
            let args = [&["diff-tree"], &options[..], &[&other, &tree]].concat();
            git_outcome(&self.path(), &args, &[], b"").1
        };
        let empty = ObjectId::empty_tree(root.index.kind());
        let conflicts = content.artifacts.conflicts.iter();
        let mut known: Vec<Vec<u8>> = conflicts
            .flat_map(|stage| {
                let listed = listed(empty, stage.id());
                let paths = listed.split(|b| *b == 0).skip(1).step_by(2);
                paths.map(<[u8]>::to_vec).collect::<Vec<_>>()
            })
            .collect();
        let intents = content.worktree.intent_to_add.inline().iter();
        known.extend(intents.map(|entry| entry.path.as_bstr().to_vec()));
        let added = listed(root.index, root.worktree);
        let fields: Vec<&[u8]> = added.split(|b| *b == 0).collect();
        let files = fields.chunks_exact(2).filter_map(|pair| {
            let words: Vec<&str> = std::str::from_utf8(pair[0]).unwrap().split(' ').collect();
            let mode = u16::from_str_radix(words[1], 8).unwrap();
            let is_file = mode != 0o160000 && !known.iter().any(|path| path == pair[1]);
            is_file.then(|| (mode, words[3].parse().unwrap(), pair[1].into()))
        });
        Untracked::of(files, 0)
    }

    fn capture(&self, objects: &gix::Repository) -> (RootTree, Content) {
        let worktree = self.worktree_tree();
        let (index, conflicts, intent_to_add) = self.index_trees();
        let raw = self.raw_tree(worktree, objects);
        let stages = conflicts
            .iter()
            .zip(1..)
            .map(|(id, n)| (n.to_string().into(), EntryKind::Tree.into(), *id));
        let stages = SubTree(stages.collect());
        let conflicts_tree = (!conflicts.is_empty()).then(|| {
            objects
                .objects
                .write_buf(gix::objs::Kind::Tree, &stages.to_bytes())
                .unwrap()
        });
        let root = RootTree {
            manifest: worktree,
            accept: None,
            release: None,
            worktree,
            index,
            raw,
            conflicts: conflicts_tree,
            receipts: None,
            lists: None,
            attachments: None,
            unknown: Vec::new(),
        };
        let head = git_outcome(
            &self.path(),
            &["rev-parse", "-q", "--verify", "HEAD"],
            &[],
            b"",
        );
        let head = head
            .0
            .then(|| String::from_utf8(head.1).unwrap().trim().parse().unwrap());
        let branch = git_outcome(&self.path(), &["symbolic-ref", "-q", "HEAD"], &[], b"");
        let branch = branch.0.then(|| branch.1.trim_ascii().to_vec().into());
        let empty_directories = self.empty_directories();
        let content = Content {
            task_id: None,
            objective: "wip: main".into(),
            disposition: Disposition::Continuable,
            state: vec![Statement {
                text: "captured".into(),
                citations: vec!["tree/worktree".parse().unwrap()],
            }],
            next: None,
            forbidden: Vec::new(),
            claims: Vec::new(),
            decisions: Vec::new(),
            assumptions: Vec::new(),
            effects: Vec::new(),
            attempts: Vec::new(),
            unexecuted: Vec::new(),
            known_failures: Vec::new(),
            untested: None,
            verification: Vec::new(),
            changes: Vec::new(),
            task: None,
            leases: None,
            evidence: Vec::new(),
            allow: Vec::new(),
            omissions: CapturedList::default(),
            blockers: CapturedList::default(),
            receipts: CapturedList::default(),
            repository: store::contract::Repository {
                id: None,
                object_format: objects.object_hash().into(),
                base: head,
                depth: head.map(|_| 0),
                head,
                branch,
                worktree_tree: worktree.into(),
                index_tree: index.into(),
                operation: self.operation(),
            },
            worktree: Worktree {
                conversions: self.conversions(),
                intent_to_add: intent_to_add.into(),
                flags: CapturedList::default(),
                empty_directories: empty_directories.into(),
                untracked: Untracked {
                    count: 0,
                    bytes: 0,
                    digest: Digest::of(b""),
                },
                submodules: CapturedList::default(),
                lfs: CapturedList::default(),
            },
            artifacts: Artifacts {
                raw: raw.map(Into::into),
                conflicts: conflicts.into_iter().map(Into::into).collect(),
                attachments: Vec::new(),
            },
            lifted: Vec::new(),
            extensions: BTreeMap::new(),
        };
        (root, content)
    }

    /// The tree that `git add -A` gives in an index that begins as a copy of the user's.
    pub(crate) fn worktree_tree(&self) -> ObjectId {
        let index = self.beside("index-of-worktree");
        if fs::copy(self.path().join(".git/index"), &index).is_err() {
            let _ = fs::remove_file(&index);
        }
        let env = [("GIT_INDEX_FILE", index.to_str().unwrap())];
        git_bytes(
            &self.path(),
            &["-c", "core.safecrlf=false", "add", "-A"],
            &env,
            b"",
        );
        let tree = git_bytes(&self.path(), &["write-tree"], &env, b"");
        ObjectId::from_hex(tree.trim_ascii()).unwrap()
    }

    pub(crate) fn empty_directories(&self) -> Vec<RepoPath> {
        let mut found = Vec::new();
        empty_directories_below(&self.path(), &self.path(), &mut found);
        found.sort();
        found
    }

    fn index_trees(&self) -> (ObjectId, Vec<ObjectId>, Vec<IntentToAdd>) {
        let intended = git_bytes(
            &self.path(),
            &["diff-files", "--name-only", "--diff-filter=A", "-z"],
            &[],
            b"",
        );
        let intended: Vec<&[u8]> = intended
            .split(|b| *b == 0)
            .filter(|path| !path.is_empty())
            .collect();
        let listed = git_bytes(&self.path(), &["ls-files", "--stage", "-z"], &[], b"");
        let mut stages: [Vec<u8>; 4] = Default::default();
        let mut intent_to_add = Vec::new();
        for line in listed.split(|b| *b == 0).filter(|line| !line.is_empty()) {
            let tab = line.iter().position(|b| *b == b'\t').unwrap();
            let (mode, path) = (&line[..6], &line[tab + 1..]);
            let stage = usize::from(line[tab - 1] - b'0');
            if intended.contains(&path) {
                intent_to_add.push(IntentToAdd {
                    path: RepoPath::from_bytes(path).unwrap(),
                    mode: match mode {
                        b"100755" => FileMode::Executable,
                        b"120000" => FileMode::Link,
                        _ => FileMode::Regular,
                    },
                });
                continue;
            }
            stages[stage].extend_from_slice(&line[..tab - 2]);
            stages[stage].extend_from_slice(b"\t");
            stages[stage].extend_from_slice(path);
            stages[stage].push(0);
        }
        let trees = stages.map(|lines| self.tree_of(&lines));
        let unmerged = listed.split(|b| *b == 0).any(|line| {
            line.iter()
                .position(|b| *b == b'\t')
                .is_some_and(|tab| line[tab - 1] != b'0')
        });
        (
            trees[0],
            if unmerged {
                trees[1..].to_vec()
            } else {
                Vec::new()
            },
            intent_to_add,
        )
    }

    /// The tree of lines that `git update-index --index-info -z` reads.
    pub(crate) fn tree_of(&self, lines: &[u8]) -> ObjectId {
        let index = self.beside("index-of-tree");
        let _ = fs::remove_file(&index);
        let env = [("GIT_INDEX_FILE", index.to_str().unwrap())];
        git_bytes(
            &self.path(),
            &["update-index", "-z", "--index-info"],
            &env,
            lines,
        );
        let tree = git_bytes(&self.path(), &["write-tree"], &env, b"");
        ObjectId::from_hex(tree.trim_ascii()).unwrap()
    }

    /// The tree of the files that Git's own checkout under the same settings does not bring back.
    fn raw_tree(&self, worktree: ObjectId, objects: &gix::Repository) -> Option<ObjectId> {
        let (scratch, index) = (self.beside("scratch"), self.beside("index-of-raw"));
        let _ = fs::remove_dir_all(&scratch);
        let _ = fs::remove_file(&index);
        fs::create_dir(&scratch).unwrap();
        let env = [("GIT_INDEX_FILE", index.to_str().unwrap())];
        git_bytes(
            &self.path(),
            &["read-tree", &worktree.to_string()],
            &env,
            b"",
        );
        let top = format!("--work-tree={}", scratch.display());
        git_bytes(
            &self.path(),
            &[&top, "checkout-index", "-a", "-f"],
            &env,
            b"",
        );
        let listed = git_bytes(&self.path(), &["ls-files", "--stage", "-z"], &env, b"");
        let mut lines = Vec::new();
        for line in listed
            .split(|b| *b == 0)
            .filter(|line| line.starts_with(b"100"))
        {
            let tab = line.iter().position(|b| *b == b'\t').unwrap();
            let path = Path::new(std::ffi::OsStr::from_bytes(&line[tab + 1..]));
            let Ok(bytes) = fs::read(self.path().join(path)) else {
                continue;
            };
            if fs::read(scratch.join(path)).unwrap() != bytes {
                let id = objects.write_blob(bytes).unwrap();
                lines.extend_from_slice(&line[..7]);
                lines.extend_from_slice(id.to_string().as_bytes());
                lines.extend_from_slice(&line[tab..]);
                lines.push(0);
            }
        }
        (!lines.is_empty()).then(|| self.tree_of(&lines))
    }

    fn conversions(&self) -> Conversions {
        let value = |key: &str| {
            let (found, value, _) = git_outcome(&self.path(), &["config", key], &[], b"");
            found.then(|| String::from_utf8(value).unwrap().trim().to_owned())
        };
        Conversions {
            autocrlf: match value("core.autocrlf").as_deref() {
                Some("true") => AutoCrlf::True,
                Some("input") => AutoCrlf::Input,
                _ => AutoCrlf::False,
            },
            eol: match value("core.eol").as_deref() {
                Some("lf") => Eol::Lf,
                Some("crlf") => Eol::Crlf,
                _ => Eol::Native,
            },
        }
    }

    fn operation(&self) -> Option<Operation> {
        let kinds = [
            ("MERGE_HEAD", OperationKind::Merge),
            ("CHERRY_PICK_HEAD", OperationKind::CherryPick),
            ("REVERT_HEAD", OperationKind::Revert),
        ];
        kinds.into_iter().find_map(|(name, kind)| {
            let heads = fs::read_to_string(self.path().join(".git").join(name)).ok()?;
            Some(Operation {
                kind,
                heads: heads.lines().map(|line| line.parse().unwrap()).collect(),
                message: fs::read(self.path().join(".git/MERGE_MSG"))
                    .ok()
                    .map(Into::into),
            })
        })
    }
}

fn manifest(content: Content) -> Manifest {
    Manifest {
        schema: ManifestSchema::V1,
        scope: "DEV-1".parse().unwrap(),
        generation: "1".parse().unwrap(),
        previous: None,
        created_at: "2026-11-30T10:12:00Z".parse().unwrap(),
        producer: Author {
            id: "agent:codex-3".parse().unwrap(),
            kind: store::actor::ActorKind::Agent,
            run_id: None,
            tool: "git-handoff 0.1.0".into(),
        },
        content,
        observed: Observed {
            last_edit_at: None,
            base_from: None,
            upstream: None,
            excluded: CapturedList::default(),
            submodules: CapturedList::default(),
            lfs: CapturedList::default(),
        },
    }
}

fn empty_directories_below(top: &Path, dir: &Path, found: &mut Vec<RepoPath>) {
    let mut entries = fs::read_dir(dir).unwrap().map(Result::unwrap).peekable();
    if entries.peek().is_none() && dir != top {
        let path = dir
            .strip_prefix(top)
            .unwrap()
            .to_owned()
            .into_os_string()
            .into_vec();
        found.push(RepoPath::from_bytes(&path).unwrap());
    }
    for entry in entries {
        if entry.file_type().unwrap().is_dir() && entry.file_name() != ".git" {
            empty_directories_below(top, &entry.path(), found);
        }
    }
}
