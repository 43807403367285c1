//! What a manifest says of the worktree it was captured from: `verify` recomputes it, the hook takes the producer's word.

use std::cell::Cell;

use serde_json::{Value, json};
use store::{
    contract::{LfsPointer, LfsPresence, Manifest, Submodule, Untracked},
    digest::Digest,
    oid::Oid,
    repo_path::RepoPath,
};

use super::served::Served;
use crate::records::{Records, parse};

/// A pointer file, specification of Git LFS.
const POINTER: &str = "version https://git-lfs.github.com/spec/v1\n\
    oid sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824\n\
    size 5\n";

fn path(name: &str) -> RepoPath {
    RepoPath::from_bytes(name.as_bytes()).unwrap()
}

/// A worktree with a changed file, an untracked one, an LFS pointer and a submodule, two commits after its base.
struct Captured<'s> {
    served: &'s Served,
    records: Records<'s>,
    new: Oid,
    pointer: Oid,
    head: Oid,
    /// How many scopes there are.
    scopes: Cell<u32>,
}

impl<'s> Captured<'s> {
    fn new(served: &'s Served) -> Self {
        for name in ["one", "two"] {
            served.world.write(&served.repo, name, name);
            served.world.commit(&served.repo, name);
        }
        let records = served.records();
        Captured {
            served,
            new: parse(&records.blob(b"new\n")),
            pointer: parse(&records.blob(POINTER.as_bytes())),
            head: records.oid("HEAD"),
            records,
            scopes: Cell::new(0),
        }
    }

    /// Tells the truth.
    fn say(&self, manifest: &mut Manifest) {
        let (new, pointer, head) = (self.new, self.pointer, self.head);
        let changed = self.records.blob(b"changed\n");
        let tree = self.records.tree(&[
            format!("160000 commit {head}\tlib"),
            format!("100644 blob {changed}\tREADME.md"),
            format!("100644 blob {new}\tnew.txt"),
            format!("100644 blob {pointer}\tpicture.png"),
        ]);
        let content = &mut manifest.content;
        content.repository.worktree_tree = parse(&tree);
        content.repository.base = Some(self.records.oid("HEAD~2"));
        content.repository.depth = Some(2);
        let listed = format!("100644 {new} new.txt\0100644 {pointer} picture.png\0");
        content.worktree.untracked = Untracked {
            count: 2,
            bytes: 4 + POINTER.len() as u64,
            digest: Digest::of(listed.as_bytes()),
        };
        let oid = Digest::of(b"hello");
        let picture = path("picture.png");
        content.worktree.lfs = vec![LfsPointer {
            path: picture.clone(),
            oid,
            size: 5,
        }]
        .into();
        content.worktree.submodules = vec![Submodule {
            path: path("lib"),
            commit: Some(head),
            url: None,
            dirty: false,
        }]
        .into();
        manifest.observed.lfs = vec![LfsPresence {
            path: picture,
            present: true,
        }]
        .into();
    }

    /// Writes the checkpoint with one lie, and returns what `verify` finds to be wrong.
    fn verified(&self, lie: impl FnOnce(&mut Manifest)) -> Vec<Value> {
        self.scopes.set(self.scopes.get() + 1);
        let scope = format!("x{}", self.scopes.get());
        let commit = self.records.checkpoint(&scope, None, |manifest| {
            self.say(manifest);
            lie(manifest);
        });
        let world = &self.served.world;
        let name = format!("refs/handoff/{scope}");
        let update = ["update-ref", &name, &commit];
        world.git(&self.served.repo, update).ok();
        let said = world.handoff(&self.served.repo, ["verify", &scope, "--json"]);
        let found = said.json();
        let checks = found["checks"].as_array().unwrap();
        let failed: Vec<Value> = checks
            .iter()
            .filter(|check| check["ok"] == false)
            .map(|check| json!([check["name"], check["code"], check["artifact"]]))
            .collect();
        assert_eq!(
            said.exit_code(),
            Some(if failed.is_empty() { 0 } else { 4 })
        );
        assert_eq!(found["ok"], failed.is_empty());
        failed
    }

    /// Sees that `verify` finds one lie and nothing else.
    #[track_caller]
    fn finds(&self, code: &str, artifact: &str, lie: impl FnOnce(&mut Manifest)) {
        assert_eq!(self.verified(lie), [json!(["captured", code, artifact])]);
    }
}

#[test]
fn verify_takes_what_is_true_of_a_worktree() {
    let served = Served::new();
    let captured = Captured::new(&served);
    assert_eq!(captured.verified(|_| {}), Vec::<Value>::new());
}

#[test]
fn verify_counts_untracked_files_itself() {
    let served = Served::new();
    let captured = Captured::new(&served);
    let field = "content.worktree.untracked";
    captured.finds("TREE_MISMATCH", field, |manifest| {
        manifest.content.worktree.untracked.count = 1;
    });
    captured.finds("TREE_MISMATCH", field, |manifest| {
        manifest.content.worktree.untracked.digest = Digest::of(b"");
    });
    // A file that the index is to get is not untracked, nor one that is unmerged.
    captured.finds("TREE_MISMATCH", field, |manifest| {
        manifest.content.worktree.intent_to_add = vec![store::contract::IntentToAdd {
            path: path("new.txt"),
            mode: store::contract::FileMode::Regular,
        }]
        .into();
    });
}

#[test]
fn verify_reads_lfs_pointers_itself() {
    let served = Served::new();
    let captured = Captured::new(&served);
    let pointers = |manifest: &mut Manifest, change: fn(&mut Vec<LfsPointer>)| {
        let mut listed = manifest.content.worktree.lfs.inline().to_vec();
        change(&mut listed);
        let presence = listed.iter().map(|pointer| LfsPresence {
            path: pointer.path.clone(),
            present: true,
        });
        manifest.observed.lfs = presence.collect::<Vec<_>>().into();
        manifest.content.worktree.lfs = listed.into();
    };
    type Lie = (&'static str, fn(&mut Vec<LfsPointer>));
    let lies: [Lie; 4] = [
        ("picture.png", |listed| listed.clear()),
        ("picture.png", |listed| listed[0].size = 6),
        ("new.txt", |listed| {
            let (oid, size) = (listed[0].oid, listed[0].size);
            let path = path("new.txt");
            listed.insert(0, LfsPointer { path, oid, size });
        }),
        ("picture.png", |listed| listed[0].oid = Digest::of(b"other")),
    ];
    for (artifact, lie) in lies {
        captured.finds("TREE_MISMATCH", artifact, |manifest| {
            pointers(manifest, lie)
        });
    }
}

#[test]
fn verify_looks_up_the_commits_of_submodules() {
    let served = Served::new();
    let captured = Captured::new(&served);
    let other = captured.records.oid("HEAD~1");
    let submodule = |name: &str, commit| {
        vec![Submodule {
            path: path(name),
            commit: Some(commit),
            url: None,
            dirty: false,
        }]
    };
    for (name, commit) in [("lib", other), ("new.txt", captured.new), ("gone", other)] {
        captured.finds("TREE_MISMATCH", name, |manifest| {
            manifest.content.worktree.submodules = submodule(name, commit).into();
        });
    }
}

#[test]
fn verify_walks_from_base_to_head_itself() {
    let served = Served::new();
    let captured = Captured::new(&served);
    let field = "content.repository.depth";
    for depth in [0, 1, 3] {
        captured.finds("MALFORMED_MANIFEST", field, |manifest| {
            manifest.content.repository.depth = Some(depth);
        });
    }
}

#[test]
fn the_hook_takes_the_word_of_a_producer_for_what_the_reader_recomputes() {
    let served = Served::new();
    let captured = Captured::new(&served);
    let commit = captured.records.checkpoint("x", None, |manifest| {
        captured.say(manifest);
        manifest.content.worktree.untracked.count = 1;
    });
    served.takes(&commit, "x");
    let bare = served.bare.to_str().unwrap();
    served
        .world
        .git(served.world.root(), ["clone", "-q", bare, "reader"]);
    let reader = served.world.root().join("reader");
    let fetch = ["fetch", "-q", "origin", "refs/handoff/x:refs/handoff/x"];
    served.world.git(&reader, fetch).ok();
    let said = served.world.handoff(&reader, ["verify", "x"]).code(4);
    assert!(
        said.stdout()
            .contains("FAIL  captured: content.worktree.untracked:")
    );
}
