//! The remote helper as a process: its arguments, environment and streams.

use std::{
    env,
    error::Error,
    ffi::OsString,
    fs::File,
    io,
    os::{
        fd::{AsFd, BorrowedFd},
        unix::ffi::OsStringExt,
    },
    path::Path,
    process::ExitCode,
};

use gix::bstr::ByteSlice;
use hooks::{reader, rejection::Rejection, rules::namespace, secret_scan::SecretScan};
use remote_helper::{
    Environment, HelperError, Invocation, Messages, ProposedUpdate, Refusal, Streams,
};
use store::{
    error_code::ErrorCode, git::Git, ref_store::RefChange, repository::Repository,
    timestamp::Timestamp,
};

use crate::{error::CommandError, exit, ui::Ui};

/// Runs the remote helper with the arguments and environment of this process.
pub fn main() -> ExitCode {
    crate::signals::outlive_file_size_limit();
    let ui = Ui::new(false, false);
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    if arguments == ["--version"] {
        let version = concat!("git-remote-handoff ", env!("CARGO_PKG_VERSION"), "\n");
        return match ui.raw(version.as_bytes()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        };
    }
    let [remote, url] = arguments.as_slice() else {
        let usage = "usage: git-remote-handoff <remote> <url>";
        ui.error(
            &CommandError::new(ErrorCode::Usage, usage)
                .hint("Git starts this program for URLs of the form `handoff::<url>`"),
        );
        return ExitCode::from(exit::USAGE);
    };
    let invocation = Invocation {
        remote: remote.clone().into_vec().into(),
        url: url.clone().into_vec().into(),
    };
    let environment = Environment::from_lookup(|name| env::var_os(name));
    let served =
        streams().map(|streams| remote_helper::run(&invocation, &environment, streams, &mut judge));
    match served {
        Ok(Ok(code)) => ExitCode::from(code),
        Ok(Err(error)) if error.is_closed_pipe() => ExitCode::FAILURE,
        Ok(Err(error)) => failure(&ui, code_of(&error), &error),
        Err(error) => failure(&ui, ErrorCode::Io, &error),
    }
}

/// Judges what may be sent by the rules of a scope, over the records that the remote lacks.
fn judge(updates: &[ProposedUpdate]) -> Vec<Result<(), Refusal>> {
    // Git sets GIT_DIR for its helpers, gitremote-helpers(7), so it need not be asked.
    let repository = match env::var_os("GIT_DIR") {
        Some(dir) => Repository::at_git_dir(Path::new(&dir)),
        None => Repository::discover(&Git::in_dir(".")),
    };
    let repository = repository.map_err(|error| Rejection::new(ErrorCode::Io, error.to_string()));
    let secrets = repository
        .as_ref()
        .map_err(Clone::clone)
        .and_then(SecretScan::of_worktree);
    let judge_one = |update: &ProposedUpdate| match (&repository, &secrets) {
        (Ok(repository), Ok(secrets)) => judge_one(repository, secrets, update),
        (Err(rejection), _) | (_, Err(rejection)) => Err(rejection.clone()),
    };
    updates
        .iter()
        .map(|update| judge_one(update).map_err(refusal))
        .collect()
}

fn judge_one(
    repository: &Repository,
    secrets: &SecretScan,
    update: &ProposedUpdate,
) -> Result<(), Rejection> {
    let name = update.name.as_bstr();
    match RefChange::from_ids(update.old, update.new) {
        Some(change) => reader::judge_outgoing(repository, name, change, Timestamp::now(), secrets),
        None => namespace::scope_of(name).and_then(|scope| {
            let detail = format!("scope `{scope}` is never deleted by a push");
            Err(Rejection::new(ErrorCode::DeleteRefused, detail))
        }),
    }
}

fn refusal(rejection: Rejection) -> Refusal {
    Refusal {
        code: rejection.code,
        message: rejection.detail,
        hints: rejection.hints,
    }
}

/// Takes the streams of this process without the buffers that the standard library puts before them.
fn streams() -> io::Result<Streams> {
    let file = |stream: BorrowedFd<'_>| stream.try_clone_to_owned().map(File::from);
    Ok(Streams {
        input: Box::new(file(io::stdin().as_fd())?),
        output: Box::new(file(io::stdout().as_fd())?),
        messages: Messages::new(io::stderr()),
    })
}

fn code_of(error: &HelperError) -> ErrorCode {
    match error {
        HelperError::Url(_) | HelperError::Protocol(_) => ErrorCode::Usage,
        HelperError::Permission(_) => ErrorCode::ForbiddenAction,
        HelperError::Settings(_) => ErrorCode::GitFailed,
        HelperError::Connect(_)
        | HelperError::Fetch(_)
        | HelperError::Push(_)
        | HelperError::Http(_) => ErrorCode::Unreachable,
        HelperError::Output(_) => ErrorCode::Io,
    }
}

fn failure(ui: &Ui, code: ErrorCode, error: &dyn Error) -> ExitCode {
    let error = CommandError::from_error(code, error);
    ui.error(&error);
    ExitCode::from(exit::of(code))
}
