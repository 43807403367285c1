//! `git handoff accept`.

use std::str::FromStr;

use hooks::{policy, reader::ScopeView};
use schemars::JsonSchema;
use serde::Serialize;
use store::{
    actor::{ActorGlob, ActorId},
    contract::{Accept, AcceptSchema, Acknowledged, Blocker, BlockerKind, check},
    digest::Digest,
    entry_id::EntryId,
    error_code::ErrorCode,
    generation::Generation,
    oid::Oid,
    record,
    repo_path::RepoPath,
    repository::Repository,
    scope::ScopeName,
    timestamp::Timestamp,
    verify::VerifiedRecord,
};

use super::save;
use crate::{
    actor::Actor,
    context::Context,
    delivery::{self, Delivery},
    error::{CommandError, Detail},
    exit,
    ownership::{self, OwnershipArgs},
    remote::Remote,
    scopes::Scopes,
    state::{Read, State},
    ui::{Report, shell_line},
    writer::{Writer, warn_if_unsigned},
};

/// How long an accept holds where nothing is set, in seconds: two days.
const DEFAULT_SECONDS: i64 = 2 * 24 * 60 * 60;

/// Take over the checkpoint that was read
///
/// Takes over what `show`, `continue` or `restore` last showed here, never whatever is newest: if the scope has
/// moved on meanwhile, nothing is accepted. Whoever accepts may write the next checkpoint, and nobody else but the
/// delegates until the accept ends. It counts only once the remote has taken it.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    ownership: OwnershipArgs,
    /// Generation that was read
    #[arg(long, value_name = "N")]
    generation: Option<Generation>,
    /// Digest of the manifest that was read
    #[arg(long, value_name = "DIGEST")]
    digest: Option<Digest>,
    /// What you will do; without it, the checkpoint's next action
    #[arg(long, value_name = "ACTION")]
    action: Option<EntryId>,
    /// When it ends: a time, or a duration such as 2d, 12h or 90m
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// Who else may write the next checkpoint, e.g. `agent:codex-*`
    #[arg(long = "delegate", value_name = "GLOB")]
    delegates: Vec<ActorGlob>,
    /// A blocker that you know of: its kind, and its path if it has one
    #[arg(long = "acknowledge", value_name = "KIND[:PATH]")]
    acknowledged: Vec<AcknowledgeArg>,
}

#[derive(Clone, Debug)]
struct AcknowledgeArg(Acknowledged);

impl FromStr for AcknowledgeArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, path) = text
            .split_once(':')
            .map_or((text, None), |(kind, path)| (kind, Some(path)));
        let kind: Result<BlockerKind, _> = serde_json::from_value(kind.into());
        let kind = kind.map_err(|_| format!("`{text}` names no kind of blocker"))?;
        let path = path
            .map(|path| RepoPath::from_bytes(path.as_bytes()).map_err(|error| error.to_string()));
        Ok(AcknowledgeArg(Acknowledged {
            kind,
            path: path.transpose()?,
        }))
    }
}

/// An accept that holds.
pub(crate) struct Accepted {
    record: VerifiedRecord,
    remote: Option<String>,
    written: bool,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Document<'a> {
    scope: &'a ScopeName,
    generation: Generation,
    commit: Oid,
    checkpoint_digest: Digest,
    acceptor: Option<&'a ActorId>,
    action: Option<&'a EntryId>,
    until: Option<Timestamp>,
    /// The remote that took it; null where it holds here only.
    remote: Option<&'a str>,
    /// Whether a record was written.
    written: bool,
}

impl Report for Accepted {
    const NAME: &'static str = "accept";

    type Document<'a> = Document<'a>;

    fn document(&self) -> Document<'_> {
        let accept = self.record.accept.as_ref().map(|accept| &accept.value);
        Document {
            scope: self.record.scope(),
            generation: self.record.generation(),
            commit: self.record.id.into(),
            checkpoint_digest: self.record.manifest.digest,
            acceptor: accept.map(|accept| &accept.acceptor.id),
            action: accept.and_then(|accept| accept.action.as_ref()),
            until: accept.map(|accept| accept.until),
            remote: self.remote.as_deref(),
            written: self.written,
        }
    }

    fn text(&self) -> String {
        let Some(accept) = self.record.accept.as_ref().map(|accept| &accept.value) else {
            return String::new();
        };
        let (scope, generation) = (self.record.scope(), self.record.generation());
        let place = match &self.remote {
            Some(remote) => format!("the remote `{remote}` has it"),
            None => "here only: it is not accepted at any remote".to_owned(),
        };
        let verb = if self.written {
            "accepted"
        } else {
            "had accepted"
        };
        format!(
            "{} {verb} {scope}@{generation} until {}\n{place}\n",
            accept.acceptor.id, accept.until
        )
    }

    fn next_commands(&self) -> Vec<Vec<String>> {
        let scope = self.record.scope().as_str();
        vec![
            ["git", "handoff", "save", scope, "--push"]
                .map(String::from)
                .into(),
            ["git", "handoff", "release", scope]
                .map(String::from)
                .into(),
        ]
    }
}

pub(crate) fn run(args: Args, context: &Context) -> Result<u8, CommandError> {
    let mut repository = context.repository()?;
    let remote = args.ownership.remote(context, &mut repository)?;
    let scopes = ownership::scopes_of(context, &repository, remote.as_ref());
    let scope = args.ownership.scope(&scopes)?;
    if let Some(remote) = &remote {
        ownership::fetch(remote, &repository, &scope)?;
    }
    let view = scopes.view(&scope)?;
    let read = what_was_read(&args, &repository, &scope)?;
    current(&view, read)?;
    let actor = Actor::find(context, &repository, args.ownership.id.as_ref())?;
    let accept = accept(&args, context, &repository, &view, &actor)?;
    let writer = Writer {
        context,
        repository: &repository,
        scope: &scope,
    };
    let outcome = if is_held_already(&view, &accept) {
        if let Some(remote) = &remote {
            match delivery::send(&scopes, remote, &scope, view.tip.id)? {
                Delivery::Taken => {}
                Delivery::Refused(error) | Delivery::Unknown(error) => return Err(error),
            }
        }
        Accepted {
            record: view.tip,
            remote: remote.map(|remote| remote.name),
            written: false,
        }
    } else {
        refuse_blocked(&view, &accept)?;
        let composed = record::compose_accept(&repository, &view.tip, &accept)?;
        let (record, warnings) = writer.append(Some(&view), composed)?;
        save::tell(context, &warnings);
        warn_if_unsigned(context, &repository, record.id);
        if let Some(remote) = &remote {
            confirm(&writer, &scopes, remote, &view, &record, read)?;
        }
        Accepted {
            record,
            remote: remote.map(|remote| remote.name),
            written: true,
        }
    };
    scopes.remember(&repository.head()?, &outcome.record);
    context.ui.report(&outcome)?;
    Ok(exit::SUCCESS)
}

/// Returns generation and digest that the accept is for: those given, else those last read here.
fn what_was_read(
    args: &Args,
    repository: &Repository,
    scope: &ScopeName,
) -> Result<Read, CommandError> {
    let noted = State::load(repository).read.get(scope).copied();
    match (args.generation, args.digest, noted) {
        (Some(generation), Some(digest), _) => Ok(Read { generation, digest }),
        (Some(generation), None, Some(noted)) if noted.generation == generation => Ok(noted),
        (None, Some(digest), Some(noted)) if noted.digest == digest => Ok(noted),
        (None, None, Some(noted)) => Ok(noted),
        _ => {
            let message = format!(
                "scope `{scope}` was not read here yet, and an accept is for what was read"
            );
            Err(CommandError::new(ErrorCode::Usage, message)
                .hint("look at it first, or give both --generation and --digest")
                .next(&["git", "handoff", "continue", scope.as_str()]))
        }
    }
}

/// Sees that what was read is what is current.
fn current(view: &ScopeView, read: Read) -> Result<(), CommandError> {
    let (generation, digest) = (view.tip.generation(), view.tip.manifest.digest);
    if (generation, digest) == (read.generation, read.digest) {
        return Ok(());
    }
    Err(stale(&view.scope, read, generation, digest))
}

fn stale(scope: &ScopeName, read: Read, generation: Generation, digest: Digest) -> CommandError {
    let message = format!(
        "scope `{scope}` has moved on: you read generation {} ({}), it is at generation {generation} ({digest})",
        read.generation, read.digest
    );
    CommandError::new(ErrorCode::StaleCheckpoint, message)
        .subject(scope.as_str())
        .hint("read the newer generation, then accept that one")
        .next(&["git", "handoff", "continue", scope.as_str()])
        .next(&["git", "handoff", "accept", scope.as_str()])
}

fn accept(
    args: &Args,
    context: &Context,
    repository: &Repository,
    view: &ScopeView,
    actor: &Actor,
) -> Result<Accept, CommandError> {
    let manifest = &view.tip.manifest;
    let accepted_at = context.now()?.max(view.tip.at());
    let content = &manifest.value.content;
    let next = content.next.as_ref().map(|next| next.action.clone());
    let action = args
        .action
        .clone()
        .or(next.filter(|action| !content.forbidden.contains(action)));
    Ok(Accept {
        schema: AcceptSchema::V1,
        scope: view.scope.clone(),
        generation: manifest.value.generation,
        checkpoint_digest: manifest.digest,
        previous_accept: view.tip.accept.as_ref().map(|accept| accept.digest),
        previous_release: view.tip.release.as_ref().map(|release| release.digest),
        acceptor: actor.acceptor(),
        delegates: args.delegates.clone(),
        action,
        until: until(args.until.as_deref(), repository, accepted_at)?,
        leases: content.leases.clone(),
        acknowledged: args
            .acknowledged
            .iter()
            .map(|acknowledged| acknowledged.0.clone())
            .collect(),
        accepted_at,
        note: args.ownership.note.clone(),
    })
}

/// Refuses where blockers are not acknowledged, and names each.
fn refuse_blocked(view: &ScopeView, accept: &Accept) -> Result<(), CommandError> {
    let blockers = view.tip.whole().content.blockers.inline();
    let unknown = check::unacknowledged(accept, blockers);
    if unknown.is_empty() {
        return Ok(());
    }
    let named = |blocker: &&Blocker| match &blocker.path {
        Some(path) => format!("{} {path}", blocker.kind),
        None => blocker.kind.to_string(),
    };
    let names: Vec<String> = unknown.iter().map(named).collect();
    let message = format!(
        "scope `{}` cannot be taken over as it is: {}",
        view.scope,
        names.join(", ")
    );
    let mut error = CommandError::new(ErrorCode::Blocked, message).subject(view.scope.as_str());
    error.errors = unknown
        .iter()
        .map(|blocker| Detail {
            code: ErrorCode::Blocked,
            message: named(blocker),
            subject: blocker.path.as_ref().map(ToString::to_string),
        })
        .collect();
    let words = unknown.iter().flat_map(|blocker| {
        let path = blocker.path.as_ref();
        let path = path.map_or_else(String::new, |path| format!(":{path}"));
        ["--acknowledge".into(), format!("{}{path}", blocker.kind)]
    });
    let words: Vec<String> = words.collect();
    Err(error.hint(format!(
        "deal with them, or take over knowing of them: {}",
        shell_line(&words)
    )))
}

/// Returns the end of the accept: a time, or a duration from now.
fn until(
    text: Option<&str>,
    repository: &Repository,
    from: Timestamp,
) -> Result<Timestamp, CommandError> {
    let configured = repository.config("handoff.acceptFor");
    let Some(text) = text.or(configured.as_deref()) else {
        return Ok(from.saturating_add_seconds(DEFAULT_SECONDS));
    };
    if let Some(seconds) = policy::duration_seconds(text) {
        return Ok(from.saturating_add_seconds(seconds));
    }
    text.parse().map_err(|_| {
        let message = format!(
            "`{text}` is no end of an accept: a duration such as 2d, or 2026-11-30T10:12:00Z"
        );
        CommandError::new(ErrorCode::Usage, message)
    })
}

/// Tells whether the same actor already holds the scope in the same way, no shorter.
fn is_held_already(view: &ScopeView, accept: &Accept) -> bool {
    let (Some(held), None) = (&view.tip.accept, &view.tip.release) else {
        return false;
    };
    let held = &held.value;
    held.acceptor.id == accept.acceptor.id
        && held.action == accept.action
        && held.leases == accept.leases
        && held.delegates == accept.delegates
        && accept.until <= held.until
}

/// Sends the accept; where the remote does not take it, the local ref is put back and the reason told.
fn confirm(
    writer: &Writer<'_>,
    scopes: &Scopes<'_>,
    remote: &Remote,
    view: &ScopeView,
    record: &VerifiedRecord,
    read: Read,
) -> Result<(), CommandError> {
    let scope = writer.scope;
    let error = match delivery::send(scopes, remote, scope, record.id)? {
        Delivery::Taken => return Ok(()),
        Delivery::Refused(error) | Delivery::Unknown(error) => error,
    };
    writer.take_back(record.id, view.local, Some(view.tip.id))?;
    if error.code != ErrorCode::CasConflict {
        return Err(error);
    }
    // Somebody was faster: say what the remote holds now.
    ownership::fetch(remote, writer.repository, scope)?;
    let now = scopes.view(scope)?;
    current(&now, read)?;
    match (&now.tip.accept, &now.tip.release) {
        (Some(held), None) if now.tip.id != view.tip.id => {
            let (owner, until) = (&held.value.acceptor.id, held.value.until);
            let message = format!("scope `{scope}` is accepted by {owner} until {until}");
            Err(CommandError::new(ErrorCode::AlreadyAccepted, message).subject(scope.as_str()))
        }
        _ => Err(error),
    }
}
