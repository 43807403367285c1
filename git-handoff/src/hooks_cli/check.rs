//! `check`: judges without a push.

use std::{collections::BTreeSet, path::PathBuf};

use gix::bstr::BString;
use hooks::{
    pre_receive::{Server, Update},
    quarantine::ObjectDirectories,
};
use serde_json::json;
use store::timestamp::Timestamp;

use super::{Printer, object_id, target::Target};
use crate::{error::CommandError, exit, ui::terminal_safe};

#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Commit that the ref names now; zeros for none
    old: String,
    /// Commit that it shall name; zeros to delete it
    new: String,
    /// Full name of the ref
    #[arg(value_name = "REF")]
    name: String,
    #[command(flatten)]
    target: Target,
}

pub(super) fn run(args: &Args, printer: &Printer) -> Result<u8, CommandError> {
    let repository = args.target.repository()?;
    let id = |text: &str| object_id(text, repository.hash_kind());
    let update = Update {
        old: id(&args.old)?,
        new: id(&args.new)?,
        name: BString::from(args.name.as_str()),
    };
    let git_dir = PathBuf::from(repository.git_dir());
    let server = Server::open(&git_dir, &ObjectDirectories::default(), Timestamp::now())?;
    let mode = server.settings().modes.of_known();
    let judged = server.judge(mode, &update, &BTreeSet::new(), &mut |_| Ok(()));
    let name = terminal_safe(&args.name);
    let (text, records, refused) = match &judged {
        Ok(line) => {
            let records = line.new_records.len();
            let text = format!("{name} may change: {records} records were judged\n");
            (text, records, None)
        }
        Err(rejection) => {
            let mut text = rejection.lines(&update.name).join("\n");
            text.push('\n');
            (text, 0, Some(rejection))
        }
    };
    let body = json!({
        "ref": args.name,
        "old": update.old.to_string(),
        "new": update.new.to_string(),
        "mode": mode.as_str(),
        "ok": refused.is_none(),
        "code": refused.map(|rejection| rejection.code),
        "message": refused.map(|rejection| &rejection.detail),
        "hints": refused.map_or(&[][..], |rejection| &rejection.hints),
        "records": records,
    });
    printer.print("check", body, &text)?;
    Ok(refused.map_or(exit::SUCCESS, |rejection| exit::of(rejection.code)))
}
