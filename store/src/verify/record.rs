//! The checks of one record, one after the other.

use gix::ObjectId;

use super::{
    Check, Depth, Verification, VerifiedRecord, Violation, captured,
    lookup::{self, Lookup},
    parts, paths,
    trees::TreeWalk,
};
use crate::{
    contract::{
        Manifest, check,
        lists::{ListBlobs, put_back_into_manifest},
        message,
    },
    error_code::ErrorCode,
    oid::Oid,
    record::{Record, RecordKind, SubTree, read_object},
    scope::ScopeName,
};

/// Largest tree of conflict stages, in bytes.
const MAX_STAGES_BYTES: u64 = 4096;

/// What the checks of one record share.
struct Judgement<'a> {
    objects: &'a gix::Repository,
    record: &'a Record,
    before: Option<&'a VerifiedRecord>,
    depth: Depth,
}

pub(super) fn verify(
    objects: &gix::Repository,
    id: ObjectId,
    scope: Option<&ScopeName>,
    before: Option<&VerifiedRecord>,
    depth: Depth,
) -> Verification {
    let record = match Record::read(objects, id) {
        Ok(record) => record,
        Err(error) => {
            let violations = vec![Violation::from_record_error(&error, id.to_string())];
            return Verification {
                checks: vec![Check {
                    name: "record",
                    violations,
                }],
                record: None,
            };
        }
    };
    let mut checks = vec![Check {
        name: "record",
        violations: Vec::new(),
    }];
    let mut add = |name, violations: Vec<Violation>| checks.push(Check { name, violations });
    let one = |result: Result<(), Violation>| result.err().into_iter().collect::<Vec<_>>();
    let judgement = Judgement {
        objects,
        record: &record,
        before,
        depth,
    };
    add("scope", one(judgement.scope(scope)));
    add("documents", one(judgement.documents()));
    add("message", one(judgement.message()));
    add("parents", one(judgement.parents()));
    let blobs = parts::lists(objects, record.root.lists);
    let whole = match blobs {
        Ok(blobs) => {
            let whole = put_back_into_manifest(&record.manifest.value, &blobs).ok();
            add("contract", judgement.contract(&blobs, whole.as_ref()));
            whole
        }
        Err(violation) => {
            add("contract", vec![violation]);
            None
        }
    };
    if let Some(whole) = &whole {
        add(
            "receipts",
            parts::receipts(objects, whole, record.root.receipts),
        );
    }
    add(
        "attachments",
        one(parts::attachments(
            objects,
            &record.manifest.value,
            record.root.attachments,
        )),
    );
    let stages = judgement.stages();
    add(
        "trees",
        one(stages
            .as_ref()
            .map(|_| ())
            .map_err(Clone::clone)
            .and_then(|()| judgement.trees())),
    );
    if let (Ok(stages), Some(whole)) = (stages, &whole) {
        add("paths", one(judgement.paths(&stages, whole)));
    }
    if depth == Depth::Objects
        && let Some(whole) = &whole
        && checks.iter().all(|check| check.violations.is_empty())
    {
        let violations = captured::judge(objects, whole);
        let name = "captured";
        checks.push(Check { name, violations });
    }
    let sound = checks.iter().all(|check| check.violations.is_empty());
    let record = whole
        .filter(|_| sound)
        .map(|whole| VerifiedRecord { record, whole });
    Verification { checks, record }
}

impl Judgement<'_> {
    fn manifest(&self) -> &Manifest {
        &self.record.manifest.value
    }

    /// All documents name the scope of the ref.
    fn scope(&self, scope: Option<&ScopeName>) -> Result<(), Violation> {
        let record = self.record;
        let accept = record
            .accept
            .iter()
            .map(|accept| ("accept.cbor", &accept.value.scope));
        let release = record
            .release
            .iter()
            .map(|release| ("release.cbor", &release.value.scope));
        let expected = scope.unwrap_or(&self.manifest().scope);
        let mut named = std::iter::once(("manifest.cbor", &self.manifest().scope))
            .chain(accept)
            .chain(release);
        match named.find(|(_, scope)| *scope != expected) {
            None => Ok(()),
            Some((document, scope)) => {
                let detail = format!("it belongs to scope `{scope}`, not to `{expected}`");
                Err(Violation::new(ErrorCode::ScopeMismatch, document, detail))
            }
        }
    }

    /// There are those documents that the kind of the record has.
    fn documents(&self) -> Result<(), Violation> {
        let record = self.record;
        let fits = matches!(
            (&record.kind, &record.accept, &record.release),
            (RecordKind::Checkpoint, None, None)
                | (RecordKind::Accept, Some(_), None)
                | (RecordKind::Release, Some(_), Some(_))
                | (RecordKind::Unknown(_), _, _)
        );
        if fits {
            return Ok(());
        }
        let detail = format!("the documents are not those of the kind {}", record.kind);
        Err(Violation::new(
            ErrorCode::MalformedManifest,
            record.id.to_string(),
            detail,
        ))
    }

    /// The message and the times are those that the documents give.
    fn message(&self) -> Result<(), Violation> {
        let record = self.record;
        let expected = match (&record.kind, &record.accept, &record.release) {
            (RecordKind::Checkpoint, _, _) => {
                message::checkpoint_message(&record.manifest.value, record.manifest.digest)
            }
            (RecordKind::Accept, Some(accept), _) => {
                message::accept_message(&accept.value, accept.digest)
            }
            (RecordKind::Release, _, Some(release)) => {
                message::release_message(&release.value, release.digest)
            }
            _ => return self.trailers(),
        };
        let artifact = || record.id.to_string();
        if record.message != expected {
            let detail = "the message is not the one that the documents give";
            return Err(Violation::new(
                ErrorCode::MalformedManifest,
                artifact(),
                detail,
            ));
        }
        let at = record.at().unix_seconds();
        if record.times != (at, at) {
            let detail = format!(
                "author or committer time is not that of the document, {}",
                record.at()
            );
            return Err(Violation::new(
                ErrorCode::MalformedManifest,
                artifact(),
                detail,
            ));
        }
        Ok(())
    }

    /// The trailers of a record of an unknown kind name the scope and generation that it stands at.
    fn trailers(&self) -> Result<(), Violation> {
        let trailers = message::parse_trailers(self.record.message.as_ref());
        let same = |trailers: message::Trailers| {
            trailers.scope == self.manifest().scope
                && trailers.generation == self.manifest().generation
        };
        if trailers.is_some_and(same) {
            return Ok(());
        }
        let detail = "the trailers do not name the scope and generation of the manifest";
        Err(Violation::new(
            ErrorCode::MalformedManifest,
            self.record.id.to_string(),
            detail,
        ))
    }

    /// The parents are the record before, head, and the heads of an operation, in this order and none twice.
    fn parents(&self) -> Result<(), Violation> {
        let manifest = self.manifest();
        let repository = &manifest.content.repository;
        let parents = &self.record.parents;
        let code: Vec<ObjectId> = match self.record.kind {
            RecordKind::Checkpoint => {
                let operation = repository
                    .operation
                    .iter()
                    .flat_map(|operation| operation.heads.iter());
                let mut code: Vec<ObjectId> = Vec::new();
                for id in repository.head.iter().chain(operation).map(Oid::id) {
                    if !code.contains(&id) {
                        code.push(id);
                    }
                }
                code
            }
            _ => Vec::new(),
        };
        let follows = self.record.kind != RecordKind::Checkpoint || manifest.previous.is_some();
        let rest = if follows {
            parents.get(1..)
        } else {
            Some(&parents[..])
        };
        let expected = match self.record.kind {
            RecordKind::Unknown(_) => !parents.is_empty(),
            _ => rest == Some(&code[..]) && !(follows && code.contains(&parents[0])),
        };
        if expected {
            return Ok(());
        }
        let detail = "the parents are not the record before, head and the heads of the operation";
        Err(Violation::new(
            ErrorCode::MalformedManifest,
            self.record.id.to_string(),
            detail,
        ))
    }

    /// What the documents say is consistent in itself, and with the documents beside them.
    fn contract(&self, blobs: &ListBlobs, whole: Option<&Manifest>) -> Vec<Violation> {
        let record = self.record;
        let mut found = check::manifest(&record.manifest.value, blobs);
        if let (Some(accept), Some(whole)) = (&record.accept, whole) {
            let blockers = whole.content.blockers.inline();
            found.extend(check::accept_of(
                &accept.value,
                whole,
                record.manifest.digest,
                blockers,
            ));
        }
        if let (Some(release), Some(accept)) = (&record.release, &record.accept) {
            found.extend(check::release_of(
                &release.value,
                &accept.value,
                accept.digest,
            ));
        }
        let mut found: Vec<Violation> = found.into_iter().map(Violation::from).collect();
        let named = self.manifest().content.repository.worktree_tree.kind();
        if named != self.objects.object_hash() {
            found.push(Violation::new(
                ErrorCode::MalformedManifest,
                "content.repository.objectFormat",
                "the object ids are not of this repository's hash function",
            ));
        }
        found
    }

    /// The trees of the conflict stages, 1 to 3.
    fn stages(&self) -> Result<Vec<ObjectId>, Violation> {
        let Some(tree) = self.record.root.conflicts else {
            return Ok(Vec::new());
        };
        let data = read_object(self.objects, tree, gix::objs::Kind::Tree, MAX_STAGES_BYTES)
            .map_err(|error| Violation::from_record_error(&error, "index-conflicts"))?;
        let found = SubTree::parse(&data, self.objects.object_hash()).ok();
        let stages = found.filter(|found| {
            found.0.len() == 3
                && found
                    .0
                    .iter()
                    .zip(1..)
                    .all(|((name, mode, _), n)| *name == n.to_string() && mode.is_tree())
        });
        let detail = "it must hold the trees 1, 2 and 3";
        let stages = stages.ok_or_else(|| {
            Violation::new(ErrorCode::MalformedManifest, "index-conflicts", detail)
        })?;
        Ok(stages.0.into_iter().map(|(_, _, id)| id).collect())
    }

    /// The trees are those that the manifest names.
    fn trees(&self) -> Result<(), Violation> {
        let (root, content) = (&self.record.root, &self.manifest().content);
        let same = |name: &str, found: Option<ObjectId>, named: Option<Oid>| {
            let named = named.map(|oid| oid.id());
            if found == named {
                return Ok(());
            }
            let shown =
                |id: Option<ObjectId>| id.map_or_else(|| "none".to_owned(), |id| id.to_string());
            let detail = format!(
                "the tree is {}, the manifest names {}",
                shown(found),
                shown(named)
            );
            Err(Violation::new(ErrorCode::TreeMismatch, name, detail))
        };
        same(
            "worktree",
            Some(root.worktree),
            Some(content.repository.worktree_tree),
        )?;
        same(
            "index",
            Some(root.index),
            Some(content.repository.index_tree),
        )?;
        same("raw", root.raw, content.artifacts.raw)?;
        let named: Vec<ObjectId> = content.artifacts.conflicts.iter().map(Oid::id).collect();
        if self.stages()? != named {
            let detail = "the trees of the conflict stages are not those that the manifest names";
            return Err(Violation::new(
                ErrorCode::TreeMismatch,
                "index-conflicts",
                detail,
            ));
        }
        Ok(())
    }

    /// Every path of the trees and of the manifest may be written to disk.
    fn paths(&self, stages: &[ObjectId], whole: &Manifest) -> Result<(), Violation> {
        if self.depth == Depth::Documents {
            return Ok(());
        }
        let root = &self.record.root;
        let before = self.before.map(|before| &before.root);
        let mut walk = TreeWalk::new(self.objects, self.depth);
        walk.judge_worktree(root.worktree, before.map(|root| root.worktree))?;
        walk.judge(root.index, before.map(|root| root.index))?;
        let mut index = Lookup::new(self.objects, root.index);
        for stage in stages {
            walk.judge(*stage, None)?;
            walk.judge_stage(*stage, &mut index)?;
        }
        if let Some(raw) = root.raw {
            walk.judge(raw, before.and_then(|root| root.raw))?;
            walk.judge_raw(raw, root.worktree)?;
        }
        let worktree = &whole.content.worktree;
        let directories = worktree.empty_directories.inline();
        let listed = directories
            .iter()
            .chain(
                worktree
                    .intent_to_add
                    .inline()
                    .iter()
                    .map(|entry| &entry.path),
            )
            .chain(worktree.flags.inline().iter().map(|entry| &entry.path))
            .chain(worktree.submodules.inline().iter().map(|entry| &entry.path))
            .chain(worktree.lfs.inline().iter().map(|entry| &entry.path));
        for path in listed {
            paths::path(path, false).map_err(|error| {
                Violation::new(ErrorCode::UnsafePath, path.to_string(), error.to_string())
            })?;
        }
        lookup::judge_intents(&mut index, worktree.intent_to_add.inline())?;
        lookup::judge_directories(&mut Lookup::new(self.objects, root.worktree), directories)
    }
}
