//! `git handoff save`.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;
use store::{
    actor::ActorId,
    contract::{Blocker, Omission},
    digest::Digest,
    generation::Generation,
    oid::Oid,
    ref_store::Head,
    scope::ScopeName,
    verify::VerifiedRecord,
};

use crate::{
    actor::Actor,
    authoring::{Author, Warning},
    checkpoint::{self, Saved},
    context::Context,
    delivery::{self, Delivery},
    draft_file::{self, DraftFile},
    error::CommandError,
    exit,
    omitted::Omit,
    prepared,
    remote::Remote,
    scopes::Scopes,
    ui::{Report, count},
    writer::{Writer, warn_if_unsigned},
};

/// Freeze the worktree as the next checkpoint of a scope
///
/// Captures staged, unstaged, deleted and untracked files without touching any of them, and appends the result to the
/// scope. Where nothing has changed since the current generation, nothing is written.
///
/// What only you know – claims, decisions, what was tried – comes from a draft: `git handoff draft` begins one.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The scope; without one, the scope in use on this branch, else one of your own for it
    #[arg(value_name = "SCOPE")]
    scope: Option<ScopeName>,
    /// What the work is to reach
    #[arg(short = 'm', long = "message", value_name = "OBJECTIVE", value_parser = objective)]
    objective: Option<String>,
    /// The draft, in YAML or JSON; `-` is standard input; without it, the one of `git handoff draft`, if there is one
    #[arg(short = 'f', long = "file", value_name = "DRAFT")]
    draft: Option<PathBuf>,
    /// Send the scope to the handoff remote
    #[arg(long)]
    push: bool,
    #[command(flatten)]
    omit: Omit,
    /// Who you are, instead of `handoff.id` or `user.email`
    #[arg(long = "as", value_name = "ID")]
    id: Option<ActorId>,
}

pub(crate) fn objective(text: &str) -> Result<String, &'static str> {
    match text.trim() {
        "" => Err("it says nothing"),
        text => Ok(text.to_owned()),
    }
}

pub(crate) struct Outcome {
    saved: Saved,
    pushed: Sent,
    warnings: Vec<Warning>,
    is_remote_in_reach: bool,
}

/// Returns the command that leads on where there is no remote.
pub(crate) fn to_a_file(scope: &str) -> Vec<String> {
    let file = format!("{scope}.bundle");
    ["git", "handoff", "export", scope, "-o", &file]
        .map(String::from)
        .into()
}

/// Whether the remote has the checkpoint.
enum Sent {
    NotAsked,
    To {
        remote: String,
        /// Where it is, as one who has nothing else must name it.
        url: Option<String>,
    },
    /// It did not answer, for this reason.
    Unknown(CommandError),
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Document<'a> {
    pub(crate) scope: &'a ScopeName,
    pub(crate) generation: Generation,
    pub(crate) commit: Oid,
    /// Digest of the manifest; null before there is one.
    pub(crate) checkpoint_digest: Option<Digest>,
    pub(crate) content_digest: Digest,
    /// Whether anything was written.
    pub(crate) created: bool,
    /// Whether the remote has it.
    pub(crate) pushed: PushedDocument,
    pub(crate) worktree_tree: Oid,
    pub(crate) index_tree: Oid,
    pub(crate) omissions: &'a [Omission],
    pub(crate) blockers: &'a [Blocker],
    pub(crate) warnings: Vec<WarningDocument<'a>>,
}

#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum PushedDocument {
    Known(bool),
    /// The remote did not answer.
    Unknown(NobodyKnows),
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum NobodyKnows {
    Unknown,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct WarningDocument<'a> {
    pub(crate) code: &'a str,
    pub(crate) message: &'a str,
}

impl Sent {
    fn told(&self) -> PushedDocument {
        match self {
            Sent::NotAsked => PushedDocument::Known(false),
            Sent::To { .. } => PushedDocument::Known(true),
            Sent::Unknown(_) => PushedDocument::Unknown(NobodyKnows::Unknown),
        }
    }

    fn warning(&self) -> Option<WarningDocument<'_>> {
        match self {
            Sent::Unknown(error) => Some(WarningDocument {
                code: error.code.as_str(),
                message: &error.message,
            }),
            Sent::NotAsked | Sent::To { .. } => None,
        }
    }
}

impl Outcome {
    fn record(&self) -> &VerifiedRecord {
        &self.saved.record
    }
}

impl Report for Outcome {
    const NAME: &'static str = "save";

    type Document<'a> = Document<'a>;

    fn document(&self) -> Document<'_> {
        let record = self.record();
        let content = &record.whole().content;
        let own = warnings(&self.warnings);
        Document {
            scope: record.scope(),
            generation: record.generation(),
            commit: record.id.into(),
            checkpoint_digest: Some(record.manifest.digest),
            content_digest: self.saved.content_digest,
            created: self.saved.created,
            pushed: self.pushed.told(),
            worktree_tree: content.repository.worktree_tree,
            index_tree: content.repository.index_tree,
            omissions: content.omissions.inline(),
            blockers: content.blockers.inline(),
            warnings: own.into_iter().chain(self.pushed.warning()).collect(),
        }
    }

    fn text(&self) -> String {
        let record = self.record();
        let (scope, generation) = (record.scope(), record.generation());
        let content = &record.whole().content;
        let mut text = match self.saved.created {
            true => format!("saved {scope}@{generation}  {}\n", record.manifest.digest),
            false => format!(
                "{scope}@{generation} holds this state already  {}\n",
                record.manifest.digest
            ),
        };
        let untracked = content.worktree.untracked;
        text.push_str(&format!(
            "  untracked {}, {}\n",
            count(untracked.count, "file"),
            count(untracked.bytes, "byte")
        ));
        text.push_str(&super::snapshot::left_out(
            content.omissions.inline(),
            content.blockers.inline(),
        ));
        match &self.pushed {
            Sent::To { remote, .. } => text.push_str(&format!("  the remote `{remote}` has it\n")),
            Sent::NotAsked => text.push_str("  here only: no remote has it yet\n"),
            Sent::Unknown(_) => {
                text.push_str("  saved here; nobody knows whether the remote has it\n");
            }
        }
        text
    }

    fn next_commands(&self) -> Vec<Vec<String>> {
        let scope = self.record().scope().as_str();
        let mut words = match self.pushed {
            Sent::NotAsked if !self.is_remote_in_reach => return vec![to_a_file(scope)],
            Sent::NotAsked | Sent::Unknown(_) => vec!["git", "handoff", "push", scope],
            Sent::To { .. } => vec!["git", "handoff", "restore", scope],
        };
        if let Sent::To { url: Some(url), .. } = &self.pushed {
            words.extend(["--from", url]);
        }
        vec![words.into_iter().map(String::from).collect()]
    }
}

pub(crate) fn run(args: Args, context: &Context) -> Result<u8, CommandError> {
    let mut repository = context.repository()?;
    let remote = match args.push {
        true => Some(Remote::find_or_set_up(context, &mut repository, None)?),
        false => None,
    };
    let scopes = Scopes::new(context, &repository);
    let head = repository.head()?;
    let actor = Actor::find(context, &repository, args.id.as_ref())?;
    let scope = args.scope.clone().unwrap_or_else(|| scopes.to_save(&head));
    let author = Author {
        context,
        repository: &repository,
        scope: &scope,
        producer: actor.producer(),
        options: args.omit.apply(context, &repository)?,
        draft: DraftFile::find(context, &repository, &scope, args.draft.as_deref())?,
        objective: args.objective.clone(),
        fallback: format!("wip: {}", branch(&head)),
        attach: Vec::new(),
    };
    let (mut saved, handoff) = checkpoint::save(&author, &scopes)?;
    if saved.created {
        warn_if_unsigned(context, &repository, saved.record.id);
    }
    let mut warnings = handoff.warnings();
    warnings.append(&mut saved.warnings);
    tell(context, &warnings);
    scopes.remember(&head, &saved.record);
    let pushed = match &remote {
        None => seen(&scopes, &saved)?,
        Some(remote) => {
            let draft = handoff.draft().map(|(_, digest)| *digest);
            push(&scopes, remote, &saved, draft)?
        }
    };
    let outcome = Outcome {
        saved,
        pushed,
        warnings,
        is_remote_in_reach: Remote::is_in_reach(&repository),
    };
    context.ui.report(&outcome)?;
    Ok(match &outcome.pushed {
        Sent::NotAsked | Sent::To { .. } => exit::SUCCESS,
        Sent::Unknown(error) => {
            context.ui.warn(error.code.as_str(), &error.message);
            exit::of(error.code)
        }
    })
}

/// Tells warnings on standard error; in documents they stand themselves.
pub(crate) fn tell(context: &Context, warnings: &[Warning]) {
    if context.ui.is_json() {
        return;
    }
    for warning in warnings {
        context.ui.warn(warning.code, &warning.message);
    }
}

/// Returns warnings as documents have them.
pub(crate) fn warnings(warnings: &[Warning]) -> Vec<WarningDocument<'_>> {
    let warnings = warnings.iter();
    warnings
        .map(|warning| WarningDocument {
            code: warning.code,
            message: &warning.message,
        })
        .collect()
}

/// Tells whether the remote was last seen to have the checkpoint.
fn seen(scopes: &Scopes<'_>, saved: &Saved) -> Result<Sent, CommandError> {
    let (_, seen) = scopes.tips(saved.record.scope())?;
    Ok(match &scopes.remote {
        Some(remote) if seen == Some(saved.record.id) => sent_to(scopes, remote),
        _ => Sent::NotAsked,
    })
}

fn sent_to(scopes: &Scopes<'_>, remote: &Remote) -> Sent {
    Sent::To {
        remote: remote.name.clone(),
        url: remote.url_for_others(scopes.repository),
    }
}

pub(crate) fn branch(head: &Head) -> String {
    head.branch.as_ref().map_or_else(
        || "detached HEAD".into(),
        |branch| branch.shorten().to_string(),
    )
}

/// Sends the scope; a checkpoint that the remote refuses is taken back.
///
/// Where nobody knows what the remote has, the checkpoint stays, and the next push settles it.
fn push(
    scopes: &Scopes<'_>,
    remote: &Remote,
    saved: &Saved,
    draft: Option<Digest>,
) -> Result<Sent, CommandError> {
    let scope = saved.record.scope();
    let repository = scopes.repository;
    let refused = match delivery::send(scopes, remote, scope, saved.record.id)? {
        Delivery::Taken => return Ok(sent_to(scopes, remote)),
        Delivery::Unknown(error) => return Ok(Sent::Unknown(error)),
        Delivery::Refused(error) => error,
    };
    if !saved.created {
        return Err(delivery::with_holder(scopes, remote, scope, refused));
    }
    let writer = Writer {
        context: scopes.context,
        repository,
        scope,
    };
    let by = &saved.record.manifest.value.producer.id;
    let kept = prepared::take_back(scopes, &saved.record, Some(by))?;
    writer.take_back(saved.record.id, saved.local_before, saved.before)?;
    if let Some(digest) = draft {
        draft_file::put_back(repository, scope, digest);
    }
    let error = delivery::with_holder(scopes, remote, scope, refused).hint(format!(
        "the checkpoint was taken back and {}; the worktree is as it was",
        kept.place(scope)
    ));
    Err(error.next(&["git", "handoff", "sync"]))
}
