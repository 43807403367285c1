//! `git handoff snapshot`.

use gix::bstr::BString;
use schemars::JsonSchema;
use serde::Serialize;
use store::{
    byte_text::ByteText,
    contract::{
        Blocker, Conversions, Exclusion, Flags, IntentToAdd, LfsPointer, Omission, Operation,
        Submodule, Untracked,
    },
    oid::Oid,
    repo_path::RepoPath,
    snapshot::{self, Snapshot},
    timestamp::Timestamp,
};

use crate::{
    context::Context,
    error::CommandError,
    exit,
    omitted::{self, Omit},
    ui::{self, Report, count, terminal_safe},
};

/// Capture the worktree and print what was captured
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    omit: Omit,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<u8, CommandError> {
    let repository = context.repository()?;
    let options = args.omit.apply(context, &repository)?;
    let snapshot = snapshot::capture_and_keep(&repository, &options)?;
    if snapshot.index_unchecked {
        context.ui.warn(
            "INDEX_UNCHECKED",
            "the index has no checksum (index.skipHash), so damage to it cannot be seen",
        );
    }
    let omit = omitted::remembered(&repository);
    context.ui.report(&Captured(&snapshot, &omit))?;
    Ok(exit::SUCCESS)
}

/// The result that is printed.
pub(crate) struct Captured<'a>(&'a Snapshot, &'a [BString]);

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Document<'a> {
    worktree_tree: Oid,
    index_tree: Oid,
    head: Option<Oid>,
    branch: Option<ByteText>,
    conflicts: &'a [RepoPath],
    conflict_trees: &'a [Oid],
    untracked: Untracked,
    excluded: &'a [Exclusion],
    omissions: &'a [Omission],
    blockers: &'a [Blocker],
    intent_to_add: &'a [IntentToAdd],
    flags: &'a [Flags],
    empty_directories: &'a [RepoPath],
    raw: Option<Oid>,
    conversions: &'a Conversions,
    submodules: &'a [Submodule],
    lfs: &'a [LfsPointer],
    /// What `--omit` named, until `--forget` takes it back.
    omit: Vec<String>,
    operation: Option<&'a Operation>,
    last_edit_at: Option<Timestamp>,
}

impl Report for Captured<'_> {
    const NAME: &'static str = "snapshot";

    type Document<'a>
        = Document<'a>
    where
        Self: 'a;

    fn document(&self) -> Document<'_> {
        let snapshot = self.0;
        let branch = snapshot.head.branch.as_ref();
        Document {
            worktree_tree: snapshot.worktree_tree,
            index_tree: snapshot.index_tree,
            head: snapshot.head.commit.map(Oid::from),
            branch: branch.map(|branch| ByteText::from(branch.as_bstr())),
            conflicts: &snapshot.conflicts,
            conflict_trees: &snapshot.conflict_trees,
            untracked: snapshot.untracked,
            excluded: &snapshot.excluded,
            omissions: &snapshot.omissions,
            blockers: &snapshot.blockers,
            intent_to_add: &snapshot.intent_to_add,
            flags: &snapshot.flags,
            empty_directories: &snapshot.empty_directories,
            raw: snapshot.raw_tree,
            conversions: &snapshot.conversions,
            submodules: &snapshot.submodules,
            lfs: &snapshot.lfs,
            omit: self.1.iter().map(ToString::to_string).collect(),
            operation: snapshot.operation.as_ref(),
            last_edit_at: snapshot.last_edit_at,
        }
    }

    fn text(&self) -> String {
        let snapshot = self.0;
        let mut text = String::new();
        let mut add = |label: &str, value: String| text.push_str(&line(label, &value));
        add("worktree", snapshot.worktree_tree.to_string());
        add("index", snapshot.index_tree.to_string());
        if let Some(raw) = snapshot.raw_tree {
            add("raw", raw.to_string());
        }
        let untracked = snapshot.untracked;
        if untracked.count > 0 {
            let files = count(untracked.count, "file");
            add(
                "untracked",
                format!("{files}, {}", count(untracked.bytes, "byte")),
            );
        }
        for path in &snapshot.conflicts {
            add("conflict", path.to_string());
        }
        text.push_str(&left_out(&snapshot.omissions, &snapshot.blockers));
        for spec in self.1 {
            let forget = ["--forget".into(), spec.to_string()];
            let forget = ui::shell_line(&forget);
            text.push_str(&line(
                "omit",
                &format!("{spec} ({forget} captures it again)"),
            ));
        }
        let entries: u64 = snapshot.excluded.iter().map(|rule| rule.entries).sum();
        if entries > 0 {
            let rules = count(snapshot.excluded.len() as u64, "rule");
            let entries = match entries {
                1 => "1 entry".to_owned(),
                entries => format!("{entries} entries"),
            };
            text.push_str(&line("ignored", &format!("{entries} by {rules}")));
        }
        text
    }
}

/// Says what is left out and what must be dealt with first, a line each.
pub(crate) fn left_out(omissions: &[Omission], blockers: &[Blocker]) -> String {
    let omissions = omissions.iter().map(|omission| {
        let path = omission.path.as_ref().map(ToString::to_string);
        let what = path.or_else(|| omission.text.clone());
        let reason = omission.reason.to_string();
        line(
            "omitted",
            &described(reason, what, omission.detail.as_deref()),
        )
    });
    let blockers = blockers.iter().map(|blocker| {
        let what = blocker.path.as_ref().map(ToString::to_string);
        let kind = blocker.kind.to_string();
        line("blocker", &described(kind, what, blocker.detail.as_deref()))
    });
    omissions.chain(blockers).collect()
}

/// Says why something is left out or in the way, what it is, and more on it.
fn described(why: String, what: Option<String>, detail: Option<&str>) -> String {
    let what = what.map(|what| format!(" {what}")).unwrap_or_default();
    let detail = detail
        .map(|detail| format!(" ({detail})"))
        .unwrap_or_default();
    why + &what + &detail
}

/// Makes a line of the text form.
fn line(label: &str, value: &str) -> String {
    format!("{label:9} {}\n", terminal_safe(value))
}
