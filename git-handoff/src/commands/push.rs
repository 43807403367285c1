//! `git handoff push`.

use std::collections::BTreeMap;

use gix::ObjectId;
use hooks::{reader, secret_scan::SecretScan};
use schemars::JsonSchema;
use serde::Serialize;
use store::{
    error_code::ErrorCode,
    line::{self, Relation},
    ref_store::RefChange,
    repository::Repository,
    scope::ScopeName,
    timestamp::Timestamp,
};

use crate::{
    context::Context,
    delivery,
    error::CommandError,
    exit,
    remote::{Pushed, Remote},
    scopes::Scopes,
    ui::{Report, terminal_safe},
};

/// Send scopes to the handoff remote
///
/// Judges each scope first, then sends the good ones in one push and names the others. Without names, every scope
/// that is ahead of the remote is sent.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Judge only, send nothing
    #[arg(long)]
    dry_run: bool,
    /// The scopes to send
    #[arg(value_name = "SCOPE")]
    scopes: Vec<ScopeName>,
}

/// What came of each scope.
pub(crate) struct Outcome {
    dry_run: bool,
    remote: String,
    /// Where that is, as one who has nothing else must name it.
    url: Option<String>,
    scopes: BTreeMap<ScopeName, Pushed>,
}

impl Outcome {
    /// Returns the command by which somebody else takes over the one scope that was sent.
    fn to_take_over(&self) -> Option<Vec<String>> {
        let mut sent = self.scopes.iter().filter(|(_, pushed)| {
            !self.dry_run && matches!(pushed, Pushed::Sent | Pushed::UpToDate)
        });
        let (Some((scope, _)), None) = (sent.next(), sent.next()) else {
            return None;
        };
        let words = [
            "git",
            "handoff",
            "restore",
            scope.as_str(),
            "--from",
            self.url.as_ref()?,
        ];
        Some(words.map(String::from).into())
    }

    fn status(&self, pushed: &Pushed) -> (&'static str, Option<ErrorCode>, Option<String>) {
        match pushed {
            Pushed::Sent if self.dry_run => ("would be sent", None, None),
            Pushed::Sent => ("sent", None, None),
            Pushed::UpToDate => ("up to date", None, None),
            Pushed::Refused { code, message } => ("refused", Some(*code), Some(message.clone())),
        }
    }
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Document<'a> {
    remote: &'a str,
    dry_run: bool,
    scopes: Vec<ScopeDocument<'a>>,
}

#[derive(Serialize, JsonSchema)]
struct ScopeDocument<'a> {
    scope: &'a ScopeName,
    /// `sent`, `up to date`, `refused`, or with `--dry-run` `would be sent`.
    status: &'static str,
    code: Option<ErrorCode>,
    message: Option<String>,
}

impl Report for Outcome {
    const NAME: &'static str = "push";

    type Document<'a> = Document<'a>;

    fn document(&self) -> Document<'_> {
        let scopes = self.scopes.iter().map(|(scope, pushed)| {
            let (status, code, message) = self.status(pushed);
            ScopeDocument {
                scope,
                status,
                code,
                message,
            }
        });
        Document {
            remote: &self.remote,
            dry_run: self.dry_run,
            scopes: scopes.collect(),
        }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for (scope, pushed) in &self.scopes {
            let (status, code, message) = self.status(pushed);
            text.push_str(&format!("{scope}: {status}"));
            if let (Some(code), Some(message)) = (code, message) {
                text.push_str(&format!(": {} [{code}]", terminal_safe(&message)));
            }
            text.push('\n');
        }
        if self.scopes.is_empty() {
            text.push_str(&format!(
                "nothing to send: `{}` has every scope\n",
                self.remote
            ));
        }
        text
    }

    fn next_commands(&self) -> Vec<Vec<String>> {
        let overtaken = |pushed: &Pushed| {
            let codes = [ErrorCode::CasConflict, ErrorCode::NonLinear];
            matches!(pushed, Pushed::Refused { code, .. } if codes.contains(code))
        };
        match self.scopes.values().any(overtaken) {
            true => vec![["git", "handoff", "sync"].map(String::from).into()],
            false => self.to_take_over().into_iter().collect(),
        }
    }
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<u8, CommandError> {
    let mut repository = context.repository()?;
    let remote = Remote::find_or_set_up(context, &mut repository, None)?;
    let scopes = Scopes::new(context, &repository);
    let named = if args.scopes.is_empty() {
        ahead(&scopes)?
    } else {
        args.scopes.clone()
    };
    let mut outcome = Outcome {
        dry_run: args.dry_run,
        remote: remote.name.clone(),
        url: remote.url_for_others(&repository),
        scopes: BTreeMap::new(),
    };
    let mut good = Vec::new();
    let mut hints = Vec::new();
    let secrets = SecretScan::of_worktree(&repository)?;
    for scope in named {
        match judge(&repository, &remote, &scope, &secrets) {
            Ok(()) => good.push(scope),
            Err(error) if error.code == ErrorCode::NotFound => return Err(error),
            Err(error) => {
                outcome.scopes.insert(
                    scope,
                    Pushed::Refused {
                        code: error.code,
                        message: error.message,
                    },
                );
            }
        }
    }
    if args.dry_run {
        outcome
            .scopes
            .extend(good.into_iter().map(|scope| (scope, Pushed::Sent)));
    } else if !good.is_empty() {
        let answer = remote.push(&repository, &good)?;
        hints = answer.hints;
        for (scope, pushed) in answer.scopes {
            let pushed = settled(&scopes, &remote, &scope, pushed)?;
            outcome.scopes.insert(scope, pushed);
        }
    }
    context.ui.report(&outcome)?;
    for hint in hints {
        context.ui.note(&format!("hint: {hint}"));
    }
    let codes = outcome.scopes.values().filter_map(|pushed| match pushed {
        Pushed::Refused { code, .. } => Some(*code),
        _ => None,
    });
    Ok(exit::of_all(codes))
}

/// Finds out what the remote holds where another update was faster: this record, or which other.
fn settled(
    scopes: &Scopes<'_>,
    remote: &Remote,
    scope: &ScopeName,
    pushed: Pushed,
) -> Result<Pushed, CommandError> {
    let record = scopes.repository.find_ref(&scope.to_ref())?;
    let has = |record| delivery::has_since(scopes, remote, scope, record, &pushed);
    if record.is_some_and(has) {
        return Ok(Pushed::UpToDate);
    }
    Ok(match pushed {
        Pushed::Refused { code, message } => {
            let error = CommandError::new(code, message);
            let error = delivery::with_holder(scopes, remote, scope, error);
            Pushed::Refused {
                code,
                message: error.message,
            }
        }
        other => other,
    })
}

/// Returns the local scopes that the remote was not last seen to have.
fn ahead(scopes: &Scopes<'_>) -> Result<Vec<ScopeName>, CommandError> {
    let mut ahead = Vec::new();
    for scope in reader::local_scopes(scopes.repository)? {
        let local = scopes.repository.find_ref(&scope.to_ref())?;
        if local != tracked(scopes.repository, scopes.remote.as_ref(), &scope)? {
            ahead.push(scope);
        }
    }
    Ok(ahead)
}

fn tracked(
    repository: &Repository,
    remote: Option<&Remote>,
    scope: &ScopeName,
) -> Result<Option<ObjectId>, CommandError> {
    let name = remote.and_then(|remote| scope.to_remote_ref(&remote.name));
    Ok(name
        .map(|name| repository.find_ref(&name))
        .transpose()?
        .flatten())
}

/// Judges what a push of one scope would change at the remote, as it was last seen.
fn judge(
    repository: &Repository,
    remote: &Remote,
    scope: &ScopeName,
    secrets: &SecretScan,
) -> Result<(), CommandError> {
    let Some(new) = repository.find_ref(&scope.to_ref())? else {
        return Err(CommandError::new(
            ErrorCode::NotFound,
            format!("there is no scope `{scope}` here"),
        )
        .subject(scope.as_str())
        .next(&["git", "handoff", "list"]));
    };
    let old = tracked(repository, Some(remote), scope)?;
    let relation = old
        .map(|old| line::compare(repository.gix(), new, old))
        .transpose();
    match relation.map_err(hooks::rejection::Rejection::from)? {
        Some(Relation::Same) => return Ok(()),
        Some(Relation::Behind) => {
            let message = format!("the remote has a newer record of scope `{scope}`");
            return Err(CommandError::new(ErrorCode::CasConflict, message)
                .next(&["git", "handoff", "sync"]));
        }
        _ => {}
    }
    let change = RefChange::from_seen(old, new);
    Ok(reader::judge_outgoing(
        repository,
        scope.to_ref().as_bstr(),
        change,
        Timestamp::now(),
        secrets,
    )?)
}
