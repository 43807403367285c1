//! Makes a handoff of a worktree, a draft and receipts, and finds all that is wrong with it at once.

mod evidence;

use std::{fs, path::PathBuf};

use gix::{ObjectId, bstr::BString};
use hooks::{reader::ScopeView, rejection::Rejection, rules::NextCheckpoint};
use store::{
    changed_paths,
    contract::{
        Attachment, CapturedList, Content, Manifest, ManifestSchema, Previous, Producer, Receipt,
        check, codec, lists::CapturedEntry as _,
    },
    digest::Digest,
    draft::{Draft, Reading},
    entry_id::EntryId,
    error_code::ErrorCode,
    evidence::{Kept, KeptReceipt},
    generation::Generation,
    lineage::Lineage,
    oid::Oid,
    record::Record,
    repository::Repository,
    scope::ScopeName,
    snapshot::{self, CaptureOptions, Snapshot},
    timestamp::Timestamp,
    verify::{self, Violation},
};

pub(crate) use evidence::command_line;
use evidence::{Evidence, fill_in_receipts, referred_to, tell_failures};

use crate::{
    checkpoint,
    content::{self, Parts},
    context::Context,
    draft_file::DraftFile,
    error::{CommandError, Detail},
    exit, prepared,
    scopes::Scopes,
    secrets,
    state::State,
};

/// Most paths that a message names.
const NAMED_PATHS: usize = 5;

const RUN_AGAIN: &str = "`git handoff prepare --rerun` runs again what ran here; anything else runs again with \
     `git handoff run --id <receipt> -- <command>`";

/// Who makes a handoff, of what.
pub(crate) struct Author<'a> {
    pub(crate) context: &'a Context,
    pub(crate) repository: &'a Repository,
    pub(crate) scope: &'a ScopeName,
    pub(crate) producer: Producer,
    pub(crate) options: CaptureOptions,
    pub(crate) draft: Option<DraftFile>,
    /// The objective, whatever the draft says.
    pub(crate) objective: Option<String>,
    /// What the objective is where nothing says it.
    pub(crate) fallback: String,
    pub(crate) attach: Vec<PathBuf>,
}

/// What is handed over, not yet judged.
pub(crate) struct Handoff {
    scope: ScopeName,
    pub(crate) snapshot: Snapshot,
    pub(crate) lineage: Lineage,
    /// The scope as it stood.
    pub(crate) view: Option<ScopeView>,
    pub(crate) content: Content,
    /// Receipts by id, as their bytes.
    pub(crate) receipts: Vec<(String, Vec<u8>)>,
    pub(crate) attachments: Vec<(String, Vec<u8>)>,
    /// What was kept for it.
    pub(crate) kept: Kept,
    /// The draft as it was read.
    reading: Reading,
    draft: Option<(String, Digest)>,
    evidence: Evidence,
}

/// Something that does not keep a handoff from being made.
pub(crate) struct Warning {
    pub(crate) code: &'static str,
    pub(crate) message: String,
}

impl Author<'_> {
    /// Captures the worktree and puts together what is handed over.
    pub(crate) fn capture(&self, scopes: &Scopes<'_>) -> Result<Handoff, CommandError> {
        let head = self.repository.head()?;
        checkpoint::refuse_records(self.repository, &head)?;
        let reading = match &self.draft {
            Some(draft) => Draft::read(&draft.bytes),
            None => Draft::read(b""),
        };
        let snapshot = snapshot::capture(self.repository, &self.options)?;
        let view = scopes.view_if_any(self.scope)?;
        let before = view.as_ref().map(|view| &*view.tip);
        let origin = before.map(|before| &before.manifest.value.content.repository);
        let lineage = Lineage::find(self.repository, &snapshot.head, origin)?;
        let kept = store::evidence::kept(self.repository)?;
        let prepared = prepared::glance(self.repository, self.scope);
        let evidence = Evidence::gather(self.repository, before, prepared.as_ref(), &kept)?;
        let mut draft = reading.draft.clone();
        draft.objective = self.objective.clone().or(draft.objective);
        if draft.objective.is_none() {
            draft.objective = Some(self.fallback.clone());
        }
        let old = before.map(|before| &before.manifest.value.content);
        let known = prepared.as_ref().map(|prepared| prepared.whole());
        fill_in_receipts(&mut draft, &kept, known.into_iter().chain(old));
        let told = tell_failures(&draft, &kept);
        let attached = self.attachments()?;
        let mut used = referred_to(&draft);
        used.extend(told.iter().map(|(id, _)| id.clone()));
        used.sort_unstable();
        used.dedup();
        let base = lineage.base.map(|base| tree_of(self.repository, base));
        let base = base.transpose()?;
        let used = used.iter().filter_map(|id| evidence.get(id));
        let used: Vec<&KeptReceipt> = used.collect();
        let references = used.iter().map(|kept| {
            store::evidence::reference(&kept.receipt, &kept.bytes, base, snapshot.worktree_tree)
        });
        let content = Parts {
            draft,
            snapshot: &snapshot,
            lineage: &lineage,
            before,
            receipts: references.collect(),
            attempts: told.into_iter().map(|(_, attempt)| attempt).collect(),
            attachments: attached
                .iter()
                .map(|(attachment, _)| attachment.clone())
                .collect(),
            allow: secrets::allow_entries(
                self.repository,
                self.scope,
                before.map(|before| &before.manifest.value.content),
            ),
        }
        .content();
        let named = |kept: &&KeptReceipt| (kept.receipt.id.to_string(), kept.bytes.clone());
        Ok(Handoff {
            scope: self.scope.clone(),
            content,
            receipts: used.iter().map(named).collect(),
            attachments: attached
                .into_iter()
                .map(|(attachment, bytes)| (attachment.name.to_string(), bytes))
                .collect(),
            draft: self
                .draft
                .as_ref()
                .map(|draft| (draft.name.clone(), draft.digest())),
            snapshot,
            lineage,
            view,
            kept,
            reading,
            evidence,
        })
    }

    /// Reads the files that are to be attached.
    fn attachments(&self) -> Result<Vec<(Attachment, Vec<u8>)>, CommandError> {
        let mut found = Vec::new();
        for path in &self.attach {
            let path = self.context.path(path);
            let failed = |message: String| {
                let message = format!("{} cannot be attached: {message}", path.display());
                CommandError::new(ErrorCode::Io, message).subject(path.display().to_string())
            };
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let name: EntryId = name
                .parse()
                .map_err(|error: store::entry_id::EntryIdError| failed(error.to_string()))?;
            let bytes = fs::read(&path).map_err(|error| failed(error.to_string()))?;
            let attachment = Attachment {
                name,
                sha256: Digest::of(&bytes),
                size: bytes.len() as u64,
            };
            found.push((attachment, bytes));
        }
        found.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(found)
    }

    /// Judges a handoff by every rule that a checkpoint of it must pass.
    ///
    /// # Errors
    ///
    /// All that is wrong with it, at once.
    pub(crate) fn judge(&self, handoff: &mut Handoff) -> Result<(), CommandError> {
        let problems = self.problems(handoff)?;
        refuse(handoff, problems)
    }

    fn problems(&self, handoff: &Handoff) -> Result<Vec<(String, Rejection)>, CommandError> {
        let content = &handoff.content;
        if !handoff.reading.is_readable() {
            return Ok(Vec::new());
        }
        let objects = self.repository.gix();
        let of_violation = |found: Violation| {
            (
                found.artifact.clone(),
                Rejection::new(found.code, found.detail),
            )
        };
        let mut problems = Vec::new();
        let mut rules = check::content(content, &self.producer.id);
        let blobs = handoff.evidence.bytes_of(&handoff.receipts);
        rules.extend(check::receipts(content, &blobs));
        for found in rules {
            let mut found = Violation::from(found);
            let moved_on = self.moved_on(handoff, &found);
            found
                .detail
                .push_str(moved_on.as_deref().unwrap_or_default());
            let (field, rejection) = of_violation(found);
            let rejection = match moved_on {
                Some(_) => rejection.hint(RUN_AGAIN),
                None => rejection,
            };
            problems.push((field, rejection));
        }
        problems.extend(
            verify::evidence::citations(objects, content)
                .into_iter()
                .map(of_violation),
        );
        problems.extend(
            verify::evidence::changes(objects, content)
                .into_iter()
                .map(of_violation),
        );
        let next = NextCheckpoint {
            scope: self.scope,
            before: handoff.view.as_ref().map(|view| &*view.tip),
            content,
            producer: &self.producer.id,
        };
        problems.extend(next.find(objects));
        problems.extend(secrets::in_content(
            self.context,
            self.repository,
            self.scope,
            content,
        )?);
        Ok(problems)
    }

    /// Names what has changed since a receipt that does not cover the worktree any more.
    fn moved_on(&self, handoff: &Handoff, found: &Violation) -> Option<String> {
        let at = found.artifact.strip_prefix("content.claims[")?;
        let at: usize = at.strip_suffix("].receipt")?.parse().ok()?;
        let id = handoff.content.claims.get(at)?.receipt.as_ref()?;
        let receipt = &handoff.evidence.get(id)?.receipt;
        let tree = handoff.content.repository.worktree_tree;
        if found.code != ErrorCode::UnevidencedClaim || receipt.tree_before == tree {
            return None;
        }
        let objects = self.repository.gix();
        let (older, newer) = (receipt.tree_before.id(), tree.id());
        let paths = changed_paths::between(objects, Some(older), Some(newer)).ok()?;
        Some(format!("; changed since: {}", names(&paths)))
    }

    /// Makes the manifest of a checkpoint that follows a record.
    pub(crate) fn manifest(
        &self,
        content: Content,
        snapshot: &Snapshot,
        lineage: &Lineage,
        before: Option<&Record>,
    ) -> Result<Manifest, CommandError> {
        let generation = match before {
            None => Generation::FIRST,
            Some(before) => before.generation().next().ok_or_else(|| {
                let message = format!("scope `{}` is full", self.scope);
                CommandError::new(ErrorCode::GenerationGap, message)
            })?,
        };
        let previous = before.map(|before| Previous {
            checkpoint: before.manifest.digest,
            accept: before.accept.as_ref().map(|accept| accept.digest),
            release: before.release.as_ref().map(|release| release.digest),
        });
        let now = self.context.now()?;
        Ok(Manifest {
            schema: ManifestSchema::V1,
            scope: self.scope.clone(),
            generation,
            previous,
            created_at: before.map_or(now, |before| Timestamp::max(now, before.at())),
            producer: self.producer.clone(),
            content,
            observed: content::observed(snapshot, lineage),
        })
    }
}

impl Handoff {
    /// Tells whether the draft could be read without an error.
    pub(crate) fn is_read(&self) -> bool {
        self.reading.errors.is_empty()
    }

    /// Returns the name and the digest of the draft.
    pub(crate) fn draft(&self) -> Option<&(String, Digest)> {
        self.draft.as_ref()
    }

    /// Returns the receipts that claims name and that cover the worktree no more, in the order of their commands; only
    /// those whose commands ran here, as others could name any command.
    pub(crate) fn outdated(&self, repository: &Repository) -> Vec<Receipt> {
        let tree = self.content.repository.worktree_tree;
        let ran = State::load(repository).ran;
        let named = |id: &EntryId| {
            let mut claims = self.content.claims.iter();
            claims.any(|claim| claim.receipt.as_ref() == Some(id))
        };
        let all = self.evidence.all();
        let ours = all.filter(|kept| ran.contains(&Digest::of(&kept.bytes)));
        let mut outdated: Vec<&Receipt> = ours
            .map(|kept| &kept.receipt)
            .filter(|receipt| named(&receipt.id) && !store::evidence::covers(receipt, tree))
            .collect();
        outdated.sort_by_key(|receipt| (receipt.started_at, receipt.id.as_str().len()));
        outdated.into_iter().cloned().collect()
    }

    /// Finds what the author should know, and what keeps nothing from being made.
    pub(crate) fn warnings(&self) -> Vec<Warning> {
        let local = check::local_references(&self.content);
        let local = local.into_iter().map(|found| Warning {
            code: "LOCAL_REFERENCE",
            message: format!(
                "{}: `{}` means nothing on another machine",
                in_draft(&self.content, &found.field),
                found.word
            ),
        });
        let used = |id: &EntryId| self.receipts.iter().any(|(used, _)| used == id.as_str());
        let unused = self
            .kept
            .receipts
            .iter()
            .filter(|kept| !used(&kept.receipt.id));
        let unused = unused.map(|kept| Warning {
            code: "UNUSED_RECEIPT",
            message: format!(
                "receipt `{}` passed, but no claim, citation or effect names it: it is not handed over",
                kept.receipt.id
            ),
        });
        let unchecked = self.snapshot.index_unchecked.then(|| Warning {
            code: "INDEX_UNCHECKED",
            message:
                "the index has no checksum (index.skipHash), so that damage to it cannot be seen"
                    .into(),
        });
        local.chain(unused).chain(unchecked).collect()
    }
}

/// Names paths, as far as a message can.
pub(crate) fn names(paths: &[BString]) -> String {
    let named: Vec<String> = paths
        .iter()
        .take(NAMED_PATHS)
        .map(ToString::to_string)
        .collect();
    match paths.len().saturating_sub(NAMED_PATHS) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

/// Writes the path of a field as a draft has it.
fn in_draft(content: &Content, field: &str) -> String {
    let field = field.strip_prefix("content.").unwrap_or(field);
    // Captured entries come first; a draft has the others.
    let captured = match field.split('[').next() {
        Some("omissions") => count(&content.omissions, |entry| entry.is_captured()),
        Some("blockers") => count(&content.blockers, |entry| entry.is_captured()),
        _ => return field.into(),
    };
    let Some((list, rest)) = field.split_once('[') else {
        return field.into();
    };
    let Some((at, rest)) = rest.split_once(']') else {
        return field.into();
    };
    match at
        .parse::<usize>()
        .ok()
        .and_then(|at| at.checked_sub(captured))
    {
        Some(at) => format!("{list}[{at}]{rest}"),
        None => field.into(),
    }
}

fn count<T>(list: &CapturedList<T>, is_captured: impl Fn(&T) -> bool) -> usize {
    list.inline()
        .iter()
        .filter(|entry| is_captured(entry))
        .count()
}

/// Makes one error of all that is wrong.
fn refuse(handoff: &mut Handoff, problems: Vec<(String, Rejection)>) -> Result<(), CommandError> {
    let mut hints: Vec<String> = Vec::new();
    let content = &handoff.content;
    for (field, rejection) in problems {
        hints.extend(rejection.hints);
        let field = in_draft(content, &field);
        handoff
            .reading
            .add(rejection.code, &field, rejection.detail);
    }
    // In the order of the draft; what is not in it comes last.
    handoff
        .reading
        .errors
        .sort_by(|a, b| match (a.line, b.line) {
            (Some(_), Some(_)) => (a.line, &a.field).cmp(&(b.line, &b.field)),
            (a, b) => a.is_none().cmp(&b.is_none()),
        });
    let errors = &handoff.reading.errors;
    let Some(first) = errors.first() else {
        return Ok(());
    };
    hints.dedup();
    let name = handoff.draft.as_ref().map(|(name, _)| name.clone());
    let exit = exit::of_all(errors.iter().map(|error| error.code));
    let code = errors.iter().map(|error| error.code);
    let code = code
        .into_iter()
        .find(|code| exit::of(*code) == exit)
        .unwrap_or(first.code);
    let message = match (errors.as_slice(), &name) {
        ([only], Some(name)) => format!("the draft {name}: {only}"),
        ([only], None) => only.to_string(),
        (several, Some(name)) => {
            format!(
                "there are {} errors in what the draft {name} says",
                several.len()
            )
        }
        (several, None) => format!("there are {} things in the way", several.len()),
    };
    let mut error = CommandError::new(code, message);
    if name.is_some() {
        let scope = handoff.scope.as_str();
        error = error.next(&["git", "handoff", "prepare", scope]);
    }
    error.subject = name;
    error.hints = hints;
    error.errors = errors
        .iter()
        .map(|error| Detail {
            code: error.code,
            message: error.to_string(),
            subject: (!error.field.is_empty()).then(|| error.field.clone()),
        })
        .collect();
    Err(error)
}

fn tree_of(repository: &Repository, commit: Oid) -> Result<Oid, CommandError> {
    let id: ObjectId = commit.id();
    let tree = repository
        .gix()
        .find_commit(id)
        .and_then(|commit| Ok(commit.tree_id()?.detach()));
    tree.map(Oid::from).map_err(|error| {
        CommandError::new(ErrorCode::MissingObject, format!("commit {id}: {error}"))
    })
}

/// Returns the digest of the content alone, as it stands in a manifest.
pub(crate) fn content_digest(content: &Content) -> Digest {
    let mut content = content.clone();
    store::contract::lists::move_out_of_content(&mut content);
    Digest::of(&codec::encode(&content))
}
