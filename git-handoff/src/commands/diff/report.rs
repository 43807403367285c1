//! What a comparison says.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use store::{
    actor::ActorId, digest::Digest, generation::Generation, oid::Oid, record::Record,
    repo_path::RepoPath, scope::ScopeName, timestamp::Timestamp, verify::VerifiedRecord,
};

use super::contract::Change;
use crate::ui::{Report, count, terminal_safe};

/// Two checkpoints that were compared.
pub(crate) struct Compared {
    pub(super) from: Side,
    pub(super) to: Side,
    pub(super) contract: Vec<Change>,
    pub(super) commits: Vec<CodeCommit>,
    pub(super) files: Vec<FileChange>,
    pub(super) records: Vec<VerifiedRecord>,
    pub(super) show_contract: bool,
    pub(super) show_files: bool,
    pub(super) show_rest: bool,
}

/// One of the two.
pub(super) struct Side {
    scope: ScopeName,
    generation: Generation,
    commit: String,
    digest: Digest,
    file: Option<PathBuf>,
}

impl Side {
    pub(super) fn of(record: &Record, file: Option<PathBuf>) -> Self {
        Side {
            scope: record.scope().clone(),
            generation: record.generation(),
            commit: record.id.to_string(),
            digest: record.manifest.digest,
            file,
        }
    }

    fn document(&self) -> SideDocument<'_> {
        let file = self.file.as_ref();
        SideDocument {
            scope: &self.scope,
            generation: self.generation,
            commit: &self.commit,
            checkpoint_digest: self.digest,
            file: file.map(|file| file.to_string_lossy().into_owned()),
        }
    }
}

/// A commit of the code that one of the two has.
pub(super) struct CodeCommit {
    pub(super) commit: String,
    pub(super) summary: String,
    /// Whether the checkpoint after has it.
    pub(super) is_new: bool,
}

/// A file of the worktree that differs.
pub(super) struct FileChange {
    pub(super) path: RepoPath,
    status: &'static str,
    old_mode: Option<String>,
    new_mode: Option<String>,
    /// Lines; none in a binary file.
    pub(super) added: Option<u64>,
    pub(super) deleted: Option<u64>,
}

impl FileChange {
    /// Makes a change of what `git diff-tree --raw` says of it.
    pub(super) fn new(path: RepoPath, status: &str, old_mode: &str, new_mode: &str) -> Self {
        let mode = |mode: &str| {
            let mode = mode.trim_start_matches(':');
            (mode != "000000").then(|| mode.to_owned())
        };
        FileChange {
            path,
            status: match status {
                "A" => "added",
                "D" => "deleted",
                "T" => "type changed",
                _ => "modified",
            },
            old_mode: mode(old_mode),
            new_mode: mode(new_mode),
            added: None,
            deleted: None,
        }
    }

    fn line(&self) -> String {
        let lines = match (self.added, self.deleted) {
            (Some(added), Some(deleted)) => format!("+{added} -{deleted}"),
            _ => "binary".to_owned(),
        };
        let mode = match (&self.old_mode, &self.new_mode) {
            (Some(old), Some(new)) if old != new => format!("  {old} -> {new}"),
            _ => String::new(),
        };
        let path = terminal_safe(&self.path.to_string());
        format!("  {:<12} {path}  {lines}{mode}\n", self.status)
    }
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Document<'a> {
    from: SideDocument<'a>,
    to: SideDocument<'a>,
    contract: Vec<ChangeDocument<'a>>,
    commits: Vec<CommitDocument<'a>>,
    files: Vec<FileDocument<'a>>,
    records: Vec<RecordDocument<'a>>,
    untrusted: bool,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct SideDocument<'a> {
    scope: &'a ScopeName,
    generation: Generation,
    commit: &'a str,
    checkpoint_digest: Digest,
    /// The file that it was read from.
    file: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct ChangeDocument<'a> {
    /// Names from the content down, joined by `.`.
    field: &'a str,
    /// What names the entry in its field.
    id: Option<&'a str>,
    before: Option<&'a Value>,
    after: Option<&'a Value>,
}

#[derive(Serialize, JsonSchema)]
struct CommitDocument<'a> {
    commit: &'a str,
    change: CommitChange,
    summary: &'a str,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum CommitChange {
    Added,
    Removed,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct FileDocument<'a> {
    path: &'a RepoPath,
    /// `added`, `deleted`, `modified` or `type changed`.
    status: &'static str,
    old_mode: Option<&'a str>,
    new_mode: Option<&'a str>,
    /// Lines; null in a binary file.
    added: Option<u64>,
    deleted: Option<u64>,
}

#[derive(Serialize, JsonSchema)]
struct RecordDocument<'a> {
    record: String,
    generation: Generation,
    commit: Oid,
    digest: Digest,
    at: Timestamp,
    by: &'a ActorId,
    summary: String,
}

impl Report for Compared {
    const NAME: &'static str = "diff";

    type Document<'a> = Document<'a>;

    fn document(&self) -> Document<'_> {
        let contract = self.contract.iter().map(|change| ChangeDocument {
            field: &change.field,
            id: change.id.as_deref(),
            before: change.before.as_ref(),
            after: change.after.as_ref(),
        });
        let commits = self.commits.iter().map(|commit| CommitDocument {
            commit: &commit.commit,
            change: match commit.is_new {
                true => CommitChange::Added,
                false => CommitChange::Removed,
            },
            summary: &commit.summary,
        });
        let files = self.files.iter().map(|file| FileDocument {
            path: &file.path,
            status: file.status,
            old_mode: file.old_mode.as_deref(),
            new_mode: file.new_mode.as_deref(),
            added: file.added,
            deleted: file.deleted,
        });
        let records = self.records.iter().map(|record| RecordDocument {
            record: record.kind.to_string(),
            generation: record.generation(),
            commit: record.id.into(),
            digest: record.digest(),
            at: record.at(),
            by: record.by(),
            summary: summary(record),
        });
        Document {
            from: self.from.document(),
            to: self.to.document(),
            contract: contract.collect(),
            commits: commits.collect(),
            files: files.collect(),
            records: records.collect(),
            untrusted: true,
        }
    }

    fn text(&self) -> String {
        let name = |side: &Side| format!("{}@{}", side.scope, side.generation);
        let mut text = format!("{} .. {}\n", name(&self.from), name(&self.to));
        if self.show_contract && !self.contract.is_empty() {
            text.push_str("contract\n");
            self.contract
                .iter()
                .for_each(|change| text.push_str(&contract_line(change)));
        }
        if self.show_rest && !self.commits.is_empty() {
            text.push_str("commits\n");
            for commit in &self.commits {
                let sign = if commit.is_new { '+' } else { '-' };
                let summary = terminal_safe(&commit.summary);
                text.push_str(&format!("  {sign} {} {summary}\n", commit.commit));
            }
        }
        if self.show_files && !self.files.is_empty() {
            text.push_str("files\n");
            self.files
                .iter()
                .for_each(|file| text.push_str(&file.line()));
            let sum = |of: fn(&FileChange) -> Option<u64>| -> u64 {
                self.files.iter().filter_map(of).sum()
            };
            let (added, deleted) = (sum(|file| file.added), sum(|file| file.deleted));
            let files = count(self.files.len() as u64, "file");
            text.push_str(&format!("  {files}, +{added} -{deleted}\n"));
        }
        if self.show_rest && !self.records.is_empty() {
            text.push_str("records\n");
            for record in &self.records {
                let by = terminal_safe(record.by().as_str());
                let summary = terminal_safe(&summary(record));
                text.push_str(&format!("  {} {by} {summary}\n", record.at()));
            }
        }
        text
    }
}

/// Returns the first line of a record's message.
fn summary(record: &Record) -> String {
    let message = record.message.to_string();
    message.lines().next().unwrap_or_default().to_owned()
}

/// Says in one line what became of a field or an entry.
fn contract_line(change: &Change) -> String {
    let id = change
        .id
        .as_ref()
        .map(|id| format!(" {id}"))
        .unwrap_or_default();
    let state = |value: &Value| {
        let state = value
            .get("state")
            .or(value.get("reason"))
            .and_then(Value::as_str);
        let text = ["text", "question", "objective"]
            .iter()
            .find_map(|key| value.get(key)?.as_str());
        match (state, text, value) {
            (Some(state), _, _) => state.to_owned(),
            (None, Some(text), _) => text.to_owned(),
            (None, None, Value::String(text)) => text.clone(),
            (None, None, other) => other.to_string(),
        }
    };
    let what = match (&change.before, &change.after) {
        (None, Some(after)) => format!("opened: {}", state(after)),
        (Some(before), None) => format!("closed: {}", state(before)),
        (Some(before), Some(after)) if state(before) == state(after) => "changed".to_owned(),
        (before, after) => {
            let shown = |value: &Option<Value>| value.as_ref().map(state).unwrap_or_default();
            format!("{} -> {}", shown(before), shown(after))
        }
    };
    format!(
        "  {}\n",
        terminal_safe(&format!("{}{id} {what}", change.field))
    )
}
