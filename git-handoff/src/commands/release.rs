//! `git handoff release`.

use schemars::JsonSchema;
use serde::Serialize;
use store::{
    contract::{Release, ReleaseSchema},
    error_code::ErrorCode,
    generation::Generation,
    oid::Oid,
    record,
    scope::ScopeName,
    verify::VerifiedRecord,
};

use super::save;
use crate::{
    actor::Actor,
    context::Context,
    delivery::{self, Delivery},
    error::CommandError,
    exit,
    ownership::{self, OwnershipArgs},
    ui::Report,
    writer::{Writer, warn_if_unsigned},
};

/// Give back a scope that you have accepted
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    ownership: OwnershipArgs,
}

pub(crate) struct Released {
    record: VerifiedRecord,
    remote: Option<String>,
    written: bool,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Document<'a> {
    scope: &'a ScopeName,
    generation: Generation,
    commit: Oid,
    /// The remote that took it; null where it holds here only.
    remote: Option<&'a str>,
    /// Whether a record was written.
    written: bool,
}

impl Report for Released {
    const NAME: &'static str = "release";

    type Document<'a> = Document<'a>;

    fn document(&self) -> Document<'_> {
        Document {
            scope: self.record.scope(),
            generation: self.record.generation(),
            commit: self.record.id.into(),
            remote: self.remote.as_deref(),
            written: self.written,
        }
    }

    fn text(&self) -> String {
        let (scope, generation) = (self.record.scope(), self.record.generation());
        let verb = if self.written {
            "released"
        } else {
            "was released already:"
        };
        match &self.remote {
            Some(remote) => format!("{verb} {scope}@{generation}; the remote `{remote}` has it\n"),
            None => format!("{verb} {scope}@{generation}, here only\n"),
        }
    }
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<u8, CommandError> {
    let mut repository = context.repository()?;
    let remote = args.ownership.remote(context, &mut repository)?;
    let scopes = ownership::scopes_of(context, &repository, remote.as_ref());
    let scope = args.ownership.scope(&scopes)?;
    if let Some(remote) = &remote {
        ownership::fetch(remote, &repository, &scope)?;
    }
    let view = scopes.view(&scope)?;
    let actor = Actor::find(context, &repository, args.ownership.id.as_ref())?;
    let writer = Writer {
        context,
        repository: &repository,
        scope: &scope,
    };
    let (record, written) = match (&view.tip.accept, &view.tip.release) {
        (_, Some(release)) if release.value.by == actor.id => (view.tip.clone(), false),
        (Some(accept), _) => {
            let release = Release {
                schema: ReleaseSchema::V1,
                scope: scope.clone(),
                generation: view.tip.generation(),
                accept_digest: accept.digest,
                by: actor.id.clone(),
                at: context.now()?.max(view.tip.at()),
                note: args.ownership.note.clone(),
            };
            let composed = record::compose_release(&repository, &view.tip, &release)?;
            let (record, warnings) = writer.append(Some(&view), composed)?;
            save::tell(context, &warnings);
            (record, true)
        }
        (None, _) => {
            let message =
                format!("nobody has accepted scope `{scope}`, so there is nothing to release");
            return Err(CommandError::new(ErrorCode::NotOwner, message).subject(scope.as_str()));
        }
    };
    if written {
        warn_if_unsigned(context, &repository, record.id);
    }
    if let Some(remote) = &remote {
        match delivery::send(&scopes, remote, &scope, record.id)? {
            Delivery::Taken => {}
            // It stays: the next release sends it again.
            Delivery::Unknown(error) => return Err(error),
            Delivery::Refused(error) => {
                if written {
                    writer.take_back(record.id, view.local, Some(view.tip.id))?;
                }
                return Err(delivery::with_holder(&scopes, remote, &scope, error));
            }
        }
    }
    context.ui.report(&Released {
        record,
        remote: remote.map(|remote| remote.name),
        written,
    })?;
    Ok(exit::SUCCESS)
}
