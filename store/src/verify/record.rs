//! The checks of one record, one after the other.

use gix::ObjectId;

use super::{Check, Depth, Verification, VerifiedRecord, Violation, parts, state::State};
use crate::{
    contract::{
        Manifest, check,
        lists::{ListBlobs, put_back_into_manifest},
        message,
    },
    error_code::ErrorCode,
    oid::Oid,
    record::{Record, RecordKind},
    scope::ScopeName,
};

/// What the checks of one record share.
struct Judgement<'a> {
    objects: &'a gix::Repository,
    record: &'a Record,
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
    let state = State {
        objects,
        root: &record.root,
        content: &record.manifest.value.content,
        before: before.map(|before| &before.root),
        depth,
    };
    state.check(whole.as_ref().map(|whole| &whole.content), add);
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
}
