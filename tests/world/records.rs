//! Records written with Git's plumbing, so that a test can break exactly one thing of one.
//!
//! Test targets that need them include this file beside the world:
//!
//! ```ignore
//! #[path = "../tests/world/records.rs"]
//! mod records;
//! ```

use std::{
    fs::File,
    path::{Path, PathBuf},
    process::Stdio,
    str::FromStr,
};

use store::{
    actor::ActorKind,
    contract::{
        Accept, AcceptSchema, Acceptor, Artifacts, AutoCrlf, CapturedList, Content, Conversions,
        Disposition, Document, Eol, Manifest, ManifestSchema, ObjectFormat, Observed, Previous,
        Producer, Release, ReleaseSchema, Repository, Statement, Untracked, Worktree, codec, lists,
        message,
    },
    digest::Digest,
    generation::Generation,
    oid::Oid,
    record::Record,
    timestamp::Timestamp,
};

use crate::world::{Output, World};

/// Writes records into one repository.
pub(crate) struct Records<'w> {
    pub(crate) world: &'w World,
    pub(crate) dir: PathBuf,
}

/// A record that is not written yet; a test changes what it wants to break.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    /// Root entries as git-mktree(1) reads them: `<mode> SP <type> SP <id> TAB <name>`.
    pub(crate) entries: Vec<String>,
    /// The parents, in order.
    pub(crate) parents: Vec<String>,
    /// The whole message.
    pub(crate) message: String,
    /// Author and committer time.
    pub(crate) times: (i64, i64),
}

/// Parses a text that is well-formed.
pub(crate) fn parse<T: FromStr<Err: std::fmt::Debug>>(text: &str) -> T {
    text.parse().unwrap()
}

impl Draft {
    /// Puts a root entry in the place of the one of that name, or adds it.
    pub(crate) fn set(&mut self, mode: &str, kind: &str, id: &str, name: &str) {
        self.remove(name);
        self.entries.push(format!("{mode} {kind} {id}\t{name}"));
    }

    /// Takes a root entry away.
    pub(crate) fn remove(&mut self, name: &str) {
        let end = format!("\t{name}");
        self.entries.retain(|entry| !entry.ends_with(&end));
    }
}

impl<'w> Records<'w> {
    /// Writes records into the repository whose worktree is `dir`.
    pub(crate) fn new(world: &'w World, dir: &Path) -> Self {
        Records {
            world,
            dir: dir.into(),
        }
    }

    /// Writes the first checkpoint of a scope, by `ann`, and returns its commit id.
    pub(crate) fn first(&self, scope: &str) -> String {
        self.checkpoint(scope, None, |_| {})
    }

    /// Writes the checkpoint that follows `before`, by `ann`, and returns its commit id.
    pub(crate) fn next(&self, scope: &str, before: &str) -> String {
        self.checkpoint(scope, Some(before), |_| {})
    }

    /// Writes a checkpoint of which only the manifest differs; all else follows from the manifest.
    pub(crate) fn checkpoint(
        &self,
        scope: &str,
        before: Option<&str>,
        change: impl FnOnce(&mut Manifest),
    ) -> String {
        let mut manifest = self.manifest(scope, before);
        change(&mut manifest);
        self.write(&self.draft(&manifest, before))
    }

    /// Writes the accept of the record `before` by `by`, of which only the document differs.
    pub(crate) fn accept(
        &self,
        before: &str,
        by: &str,
        change: impl FnOnce(&mut Accept),
    ) -> String {
        let mut accept = self.acceptance(before, by);
        change(&mut accept);
        self.write(&self.accept_draft(&accept, before))
    }

    /// Writes the release that follows the accept `before`, of which only the document differs.
    pub(crate) fn release(
        &self,
        before: &str,
        by: &str,
        change: impl FnOnce(&mut Release),
    ) -> String {
        let mut release = self.giving_back(before, by);
        change(&mut release);
        self.write(&self.release_draft(&release, before))
    }

    /// Returns the manifest of what HEAD holds, for the checkpoint that follows `before`.
    pub(crate) fn manifest(&self, scope: &str, before: Option<&str>) -> Manifest {
        let before = before.map(|id| self.read(id));
        let generation = match &before {
            None => Generation::FIRST,
            Some(before) => before.generation().next().unwrap(),
        };
        Manifest {
            schema: ManifestSchema::V1,
            scope: parse(scope),
            generation,
            previous: before.map(|before| Previous {
                checkpoint: before.manifest.digest,
                accept: before.accept.map(|accept| accept.digest),
                release: before.release.map(|release| release.digest),
            }),
            created_at: self.now(),
            producer: Producer {
                id: parse("ann"),
                kind: ActorKind::Person,
                run_id: None,
                tool: "test 1".into(),
            },
            content: self.content(),
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

    fn content(&self) -> Content {
        let tree = self.oid("HEAD^{tree}");
        let head = self.oid("HEAD");
        Content {
            task_id: None,
            objective: "Show a rule".into(),
            disposition: Disposition::Continuable,
            state: vec![Statement {
                text: "The worktree is as head has it".into(),
                citations: vec![parse("tree/worktree")],
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
            repository: Repository {
                id: None,
                object_format: ObjectFormat::from(tree.kind()),
                base: Some(head),
                depth: Some(0),
                head: Some(head),
                branch: Some("refs/heads/main".into()),
                worktree_tree: tree,
                index_tree: tree,
                operation: None,
            },
            worktree: Worktree {
                conversions: Conversions {
                    autocrlf: AutoCrlf::False,
                    eol: Eol::Lf,
                },
                intent_to_add: CapturedList::default(),
                flags: CapturedList::default(),
                empty_directories: CapturedList::default(),
                untracked: Untracked {
                    count: 0,
                    bytes: 0,
                    digest: Digest::of(b""),
                },
                submodules: CapturedList::default(),
                lfs: CapturedList::default(),
            },
            artifacts: Artifacts {
                raw: None,
                conflicts: Vec::new(),
                attachments: Vec::new(),
            },
            lifted: Vec::new(),
            extensions: Default::default(),
        }
    }

    /// Returns the accept of the record `before` by `by`, for an hour.
    pub(crate) fn acceptance(&self, before: &str, by: &str) -> Accept {
        let before = self.read(before);
        let now = self.now();
        Accept {
            schema: AcceptSchema::V1,
            scope: before.scope().clone(),
            generation: before.generation(),
            checkpoint_digest: before.manifest.digest,
            previous_accept: before.accept.as_ref().map(|accept| accept.digest),
            previous_release: before.release.as_ref().map(|release| release.digest),
            acceptor: Acceptor {
                id: parse(by),
                kind: ActorKind::Person,
            },
            delegates: Vec::new(),
            action: None,
            until: now.saturating_add_seconds(3_600),
            leases: None,
            acknowledged: Vec::new(),
            accepted_at: now,
            note: None,
        }
    }

    /// Returns the release of what `before` accepts, by `by`.
    pub(crate) fn giving_back(&self, before: &str, by: &str) -> Release {
        let before = self.read(before);
        Release {
            schema: ReleaseSchema::V1,
            scope: before.scope().clone(),
            generation: before.generation(),
            accept_digest: before
                .accept
                .map_or(Digest::of(b""), |accept| accept.digest),
            by: parse(by),
            at: self.now(),
            note: None,
        }
    }

    /// Returns the record of a manifest, without the files of receipts and attachments that it may name.
    pub(crate) fn draft(&self, manifest: &Manifest, before: Option<&str>) -> Draft {
        let mut manifest = manifest.clone();
        let blobs = lists::move_out_of_manifest(&mut manifest);
        let bytes = codec::encode(&manifest);
        let digest = Digest::of(&bytes);
        let repository = &manifest.content.repository;
        let mut draft = Draft {
            entries: Vec::new(),
            parents: before.map(String::from).into_iter().collect(),
            message: message::checkpoint_message(&manifest, digest),
            times: times(manifest.created_at),
        };
        draft.set("100644", "blob", &self.blob(&bytes), "manifest.cbor");
        let worktree = repository.worktree_tree.to_string();
        draft.set("040000", "tree", &worktree, "worktree");
        draft.set(
            "040000",
            "tree",
            &repository.index_tree.to_string(),
            "index",
        );
        let files: Vec<(&str, &[u8])> = blobs.iter().collect();
        if !files.is_empty() {
            draft.set("040000", "tree", &self.files(&files), "lists");
        }
        let head = repository.head.map(|head| head.to_string());
        draft.parents.extend(head);
        draft
    }

    /// Returns the record of an accept.
    pub(crate) fn accept_draft(&self, accept: &Accept, before: &str) -> Draft {
        let bytes = codec::encode(accept);
        let message = message::accept_message(accept, Digest::of(&bytes));
        let mut draft = self.following(before, message, accept.accepted_at);
        draft.remove("release.cbor");
        draft.set("100644", "blob", &self.blob(&bytes), "accept.cbor");
        draft
    }

    /// Returns the record of a release.
    pub(crate) fn release_draft(&self, release: &Release, before: &str) -> Draft {
        let bytes = codec::encode(release);
        let message = message::release_message(release, Digest::of(&bytes));
        let mut draft = self.following(before, message, release.at);
        draft.set("100644", "blob", &self.blob(&bytes), "release.cbor");
        draft
    }

    fn following(&self, before: &str, message: String, at: Timestamp) -> Draft {
        let listed = self.git(&["ls-tree", &format!("{before}^{{tree}}")]);
        Draft {
            entries: listed.stdout().lines().map(String::from).collect(),
            parents: vec![before.into()],
            message,
            times: times(at),
        }
    }

    /// Writes a record and returns its commit id; the clock moves on.
    pub(crate) fn write(&self, draft: &Draft) -> String {
        let tree = self.tree(&draft.entries);
        let commit = self.write_with_tree(draft, &tree);
        self.world.tick();
        commit
    }

    /// Writes a record whose tree is another one than that of its entries.
    pub(crate) fn write_with_tree(&self, draft: &Draft, tree: &str) -> String {
        let mut args = vec!["commit-tree", tree];
        for parent in &draft.parents {
            args.extend(["-p", parent]);
        }
        let mut command = self.world.command("git", &self.dir);
        command
            .env("GIT_AUTHOR_DATE", format!("{} +0000", draft.times.0))
            .env("GIT_COMMITTER_DATE", format!("{} +0000", draft.times.1))
            .args(args)
            .stdin(self.input(draft.message.as_bytes()));
        Output::of(&mut command).ok().line()
    }

    /// Writes a blob and returns its id.
    pub(crate) fn blob(&self, bytes: &[u8]) -> String {
        self.fed(&["hash-object", "-w", "--stdin"], bytes)
    }

    /// Writes the blob of a document and returns its id.
    pub(crate) fn document<T: Document>(&self, document: &T) -> String {
        self.blob(&codec::encode(document))
    }

    /// Writes a tree of regular files and returns its id.
    pub(crate) fn files(&self, files: &[(&str, &[u8])]) -> String {
        let entry =
            |(name, bytes): &(&str, &[u8])| format!("100644 blob {}\t{name}", self.blob(bytes));
        self.tree(&files.iter().map(entry).collect::<Vec<_>>())
    }

    /// Writes a tree of entries as git-mktree(1) reads them, in Git's order, and returns its id.
    pub(crate) fn tree(&self, entries: &[String]) -> String {
        let input: String = entries.iter().map(|entry| format!("{entry}\n")).collect();
        self.fed(&["mktree"], input.as_bytes())
    }

    /// Writes a tree of entries as they are, `(mode, name, id)`, such as Git itself would not write.
    pub(crate) fn unchecked_tree(&self, entries: &[(&str, &str, &str)]) -> String {
        let mut bytes = Vec::new();
        for (mode, name, id) in entries {
            bytes.extend(format!("{mode} {name}\0").bytes());
            bytes.extend_from_slice(parse::<Oid>(id).id().as_slice());
        }
        let args = ["hash-object", "--literally", "-w", "-t", "tree", "--stdin"];
        self.fed(&args, &bytes)
    }

    /// Runs Git in the repository.
    pub(crate) fn git(&self, args: &[&str]) -> Output {
        self.world.git(&self.dir, args).ok()
    }

    /// Returns the full id of what a name stands for.
    pub(crate) fn oid(&self, name: &str) -> Oid {
        parse(&self.git(&["rev-parse", name]).line())
    }

    /// Reads a record.
    pub(crate) fn read(&self, id: &str) -> Record {
        let git_dir = self.dir.join(".git");
        let repository = store::repository::Repository::at_git_dir(&git_dir).unwrap();
        Record::read(repository.gix(), parse::<Oid>(id).id()).unwrap()
    }

    /// Returns the clock's time.
    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::from_unix_seconds(self.world.now()).unwrap()
    }

    fn fed(&self, args: &[&str], input: &[u8]) -> String {
        let mut command = self.world.command("git", &self.dir);
        Output::of(command.args(args).stdin(self.input(input)))
            .ok()
            .line()
    }

    fn input(&self, bytes: &[u8]) -> Stdio {
        let file = tempfile::NamedTempFile::new_in(self.world.root()).unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        File::open(file.path()).unwrap().into()
    }
}

fn times(at: Timestamp) -> (i64, i64) {
    (at.unix_seconds(), at.unix_seconds())
}
