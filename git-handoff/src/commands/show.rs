//! `git handoff show`.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;
use store::{
    actor::ActorId,
    contract::{Accept, Content, Manifest, Prepared, Release},
    digest::Digest,
    generation::Generation,
    oid::Oid,
    record::State,
    scope::ScopeName,
    verify::VerifiedPrepared,
};

use crate::{
    context::Context,
    error::CommandError,
    exit, prepared,
    scopes::{Found, ScopeArg, Scopes},
    source::{self, Source, as_file},
    ui::{Report, count, terminal_safe},
};

/// Show what a checkpoint says
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The scope, one of its generations, or a file; without one, the scope in use here
    #[arg(value_name = "SCOPE[@N|@prepared]|FILE", value_parser = Source::parser())]
    scope: Option<Source>,
}

pub(crate) struct Shown {
    found: Found,
    state: State,
    /// The file that it was read from.
    file: Option<PathBuf>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Document<'a> {
    scope: &'a ScopeName,
    generation: Option<Generation>,
    /// Whether it is the scope's current generation.
    current: bool,
    /// The generation that the scope is at.
    tip: Option<Generation>,
    commit: Oid,
    checkpoint_digest: Option<Digest>,
    state: StateDocument,
    owner: Option<&'a ActorId>,
    manifest: ManifestDocument<'a>,
    accept: Option<&'a Accept>,
    release: Option<&'a Release>,
    untrusted: bool,
}

#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum StateDocument {
    Recorded(State),
    /// In no history yet.
    Prepared(InNoHistory),
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum InNoHistory {
    Prepared,
}

#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum ManifestDocument<'a> {
    Manifest(&'a Manifest),
    Prepared(Box<Prepared>),
}

impl Report for Shown {
    const NAME: &'static str = "show";

    type Document<'a> = Document<'a>;

    fn document(&self) -> Document<'_> {
        let record = &self.found.record;
        Document {
            scope: record.scope(),
            generation: Some(record.generation()),
            current: self.found.is_current(),
            tip: Some(self.found.view.tip.generation()),
            commit: record.id.into(),
            checkpoint_digest: Some(record.manifest.digest),
            state: StateDocument::Recorded(self.state),
            owner: record.owner(),
            manifest: ManifestDocument::Manifest(record.whole()),
            accept: record.accept.as_ref().map(|accept| &accept.value),
            release: record.release.as_ref().map(|release| &release.value),
            untrusted: true,
        }
    }

    fn text(&self) -> String {
        let record = &self.found.record;
        let manifest = record.whole();
        let mut text = Text::default();
        if !self.found.is_current() {
            let tip = self.found.view.tip.generation();
            text.0.push_str(&format!(
                "an old generation: the scope is at generation {tip}\n"
            ));
        }
        let state = match (record.owner(), &record.accept) {
            (Some(owner), Some(accept)) => {
                format!("{} by {owner} until {}", self.state, accept.value.until)
            }
            _ => self.state.to_string(),
        };
        let (scope, generation) = (record.scope(), record.generation());
        text.0.push_str(&format!(
            "{scope}@{generation}  {}  {state}\n",
            manifest.content.disposition
        ));
        text.field("digest", record.manifest.digest);
        text.field("record", record.id);
        let producer = &manifest.producer;
        text.field(
            "written",
            format!(
                "{} by {} ({})",
                manifest.created_at, producer.id, producer.kind
            ),
        );
        text.quoted("objective", &manifest.content.objective);
        content(&manifest.content, &mut text);
        text.0
    }

    fn next_commands(&self) -> Vec<Vec<String>> {
        if let Some(file) = &self.file {
            let file = as_file(file);
            let of = |command: &str| ["git", "handoff", command, &file].map(String::from).into();
            return vec![of("restore"), of("import")];
        }
        let record = &self.found.record;
        let (scope, generation) = (record.scope(), record.generation());
        let mut next = vec![vec![
            "git".into(),
            "handoff".into(),
            "restore".into(),
            format!("{scope}@{generation}"),
        ]];
        if self.found.is_current() && record.owner().is_none() {
            next.push(
                ["git", "handoff", "accept", scope.as_str()]
                    .map(String::from)
                    .into(),
            );
        }
        next
    }
}

/// A prepared handoff, and the generation that it would be.
struct ShownPrepared {
    prepared: VerifiedPrepared,
    generation: Option<Generation>,
    tip: Option<Generation>,
}

impl ShownPrepared {
    /// Returns the document with all captured lists in it.
    fn whole(&self) -> Prepared {
        Prepared {
            content: self.prepared.whole().clone(),
            ..self.prepared.document.value.clone()
        }
    }
}

impl Report for ShownPrepared {
    const NAME: &'static str = "show";

    type Document<'a> = Document<'a>;

    fn document(&self) -> Document<'_> {
        Document {
            scope: &self.prepared.document.value.scope,
            generation: self.generation,
            current: false,
            tip: self.tip,
            commit: self.prepared.id.into(),
            checkpoint_digest: None,
            state: StateDocument::Prepared(InNoHistory::Prepared),
            owner: None,
            manifest: ManifestDocument::Prepared(Box::new(self.whole())),
            accept: None,
            release: None,
            untrusted: true,
        }
    }

    fn text(&self) -> String {
        let mut text = Text::default();
        let (scope, whole) = (&self.prepared.document.value.scope, self.prepared.whole());
        text.0.push_str(&format!(
            "{scope}@prepared  {}  in no history yet\n",
            whole.disposition
        ));
        text.field("prepared", self.prepared.id);
        text.quoted("objective", &whole.objective);
        content(whole, &mut text);
        text.0
    }

    fn next_commands(&self) -> Vec<Vec<String>> {
        let scope = self.prepared.document.value.scope.as_str();
        vec![["git", "handoff", "commit", scope].map(String::from).into()]
    }
}

fn show_prepared(
    context: &Context,
    scopes: &Scopes<'_>,
    scope: &ScopeName,
) -> Result<u8, CommandError> {
    let prepared = prepared::find(scopes.repository, scope)?;
    let prepared = prepared.ok_or_else(|| prepared::nothing(scope))?;
    let tip = scopes.view_if_any(scope)?.map(|view| view.tip.generation());
    context.ui.report(&ShownPrepared {
        prepared,
        generation: tip.map_or(Some(Generation::FIRST), Generation::next),
        tip,
    })?;
    Ok(exit::SUCCESS)
}

/// Text form: a column of names, then values; what comes from the checkpoint cannot steer the terminal.
#[derive(Default)]
struct Text(String);

impl Text {
    fn field(&mut self, name: &str, value: impl std::fmt::Display) {
        self.0.push_str(&format!(
            "  {name:<10} {}\n",
            terminal_safe(&value.to_string())
        ));
    }

    /// Adds text of the checkpoint, marked as such.
    fn quoted(&mut self, name: &str, value: &str) {
        for (at, line) in value.lines().enumerate() {
            self.field(if at == 0 { name } else { "" }, format!("| {line}"));
        }
    }
}

fn content(content: &Content, text: &mut Text) {
    let repository = &content.repository;
    let head = repository
        .head
        .map_or_else(|| "no commit yet".to_owned(), |head| head.to_string());
    match &repository.branch {
        Some(branch) => text.field("head", format!("{head} on {}", branch.as_bstr())),
        None => text.field("head", format!("{head}, detached")),
    }
    if let Some(base) = repository.base {
        text.field(
            "base",
            format!(
                "{base}, {} before head",
                count(repository.depth.unwrap_or_default(), "commit")
            ),
        );
    }
    text.field("worktree", repository.worktree_tree);
    text.field("index", repository.index_tree);
    if let Some(operation) = &repository.operation {
        text.field("operation", format!("{} in progress", operation.kind));
    }
    let untracked = content.worktree.untracked;
    text.field(
        "untracked",
        format!(
            "{}, {}",
            count(untracked.count, "file"),
            count(untracked.bytes, "byte")
        ),
    );
    for statement in &content.state {
        text.quoted("state", &statement.text);
    }
    if let Some(next) = &content.next {
        text.quoted("next", &format!("{}: {}", next.action, next.text));
    }
    for action in &content.forbidden {
        text.field("forbidden", action);
    }
    for claim in &content.claims {
        text.quoted(
            "claim",
            &format!("{} {}: {}", claim.id, claim.state, claim.text),
        );
    }
    for decision in &content.decisions {
        text.quoted(
            "decision",
            &format!("{}: {}", decision.id, decision.question),
        );
    }
    for omission in content.omissions.inline() {
        let what = omission
            .path
            .as_ref()
            .map(ToString::to_string)
            .or(omission.text.clone())
            .unwrap_or_default();
        let detail = omission
            .detail
            .as_ref()
            .map(|detail| format!(" ({detail})"))
            .unwrap_or_default();
        text.field("omitted", format!("{what}: {}{detail}", omission.reason));
    }
    for blocker in content.blockers.inline() {
        let path = blocker
            .path
            .as_ref()
            .map(|path| format!(" {path}"))
            .unwrap_or_default();
        let detail = blocker
            .detail
            .as_ref()
            .map(|detail| format!(": {detail}"))
            .unwrap_or_default();
        text.field("blocker", format!("{}{path}{detail}", blocker.kind));
    }
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<u8, CommandError> {
    let opened = source::open(context, args.scope.as_ref())?;
    let scopes = Scopes::new(context, &opened.repository);
    if let Some(scope) = opened.scope.as_ref().and_then(ScopeArg::prepared) {
        return show_prepared(context, &scopes, scope);
    }
    let found = scopes.find(opened.scope.as_ref())?;
    opened.remember_read(context, &found.record);
    let state = found.record.state(context.now()?);
    let file = opened.file;
    context.ui.report(&Shown { found, state, file })?;
    Ok(exit::SUCCESS)
}
