//! Pushes over http: a batch of `push` lines is judged, and the good ones go on to `git remote-http(s)`.
//!
//! Other than in Git's native protocol a refused ref holds nobody back, unless the push is atomic.

use std::io::Write;

use gix::{
    ObjectId,
    bstr::{BStr, BString, ByteSlice},
};
use store::{
    error_code::ErrorCode,
    git::{Git, GitError},
};

use crate::{
    http::{HttpError, HttpHelper, end_batch, write_line},
    judge::{Judge, ProposedUpdate, Refusal, Verdict},
    protocol::{PushLine, unquoted},
};

/// What a `push` line is to send.
enum Source {
    Delete,
    Object(ObjectId),
    Missing,
}

/// Judges a batch of `push` lines, passes on what may be sent, reports on all, and returns what was refused.
///
/// What is passed on names ids in place of refs, so that what is sent is what was judged.
pub(crate) fn push(
    helper: &mut HttpHelper,
    lines: &[PushLine],
    judge: &mut Judge<'_>,
    output: &mut impl Write,
) -> Result<Verdict, HttpError> {
    helper.list_before_push()?;
    let sources = resolve(lines)?;
    let remote_refs = helper.remote_refs();
    let kind = remote_refs.hash_kind().or_else(|| {
        let mut kinds = sources.iter().filter_map(|source| match source {
            Source::Object(id) => Some(id.kind()),
            Source::Delete | Source::Missing => None,
        });
        kinds.next()
    });
    let null = kind.unwrap_or(gix::hash::Kind::Sha1).null();
    let at_remote = remote_refs.ids(lines.iter().map(|line| line.destination.as_bstr()));
    let update = |line: &PushLine, new| ProposedUpdate {
        name: line.destination.clone(),
        old: at_remote
            .get(line.destination.as_bstr())
            .copied()
            .unwrap_or(null),
        new,
    };
    let mut updates = Vec::new();
    let mut forced = Vec::new();
    let mut missing = Vec::new();
    for (line, source) in lines.iter().zip(&sources) {
        match source {
            Source::Object(id) => updates.push(update(line, *id)),
            Source::Delete => updates.push(update(line, null)),
            Source::Missing => {
                missing.push(line);
                continue;
            }
        }
        forced.push(line.is_forced);
    }
    let mut verdict = Verdict::ask(judge, &updates);
    for line in &missing {
        verdict.refuse(line.destination.clone(), not_found(line));
    }
    let is_held = helper.is_atomic() && !verdict.is_good();
    let mut is_sending = false;
    for (update, is_forced) in updates.iter().zip(forced) {
        let name = update.name.as_bstr();
        if is_held || !verdict.allows(name) {
            refuse(name, &verdict, output)?;
        } else {
            is_sending = true;
            helper.send(&push_line(update, is_forced))?;
        }
    }
    for line in &missing {
        refuse(line.destination.as_bstr(), &verdict, output)?;
    }
    if is_sending {
        helper.send(b"")?;
        report(helper, output)?;
    }
    end_batch(output)?;
    Ok(verdict)
}

fn refuse(name: &BStr, verdict: &Verdict, output: &mut impl Write) -> Result<(), HttpError> {
    let reason = verdict.reason(name);
    write_line(
        output,
        &[b"error ", name.as_bytes(), b" ", reason.as_bytes()].concat(),
    )
}

/// Passes on what the child reports of refs, with the reasons that the server's hook has printed.
fn report(helper: &mut HttpHelper, output: &mut impl Write) -> Result<(), HttpError> {
    for line in helper.batch()? {
        let error = line.strip_prefix(b"error ");
        let Some((name, reason)) = error.and_then(|rest| rest.split_once_str(" ")) else {
            write_line(output, &line)?;
            continue;
        };
        let reason = unquoted(reason).unwrap_or_else(|| reason.into());
        let reason = helper.reason(name.into(), &reason.to_str_lossy());
        write_line(output, &[b"error ", name, b" ", reason.as_bytes()].concat())?;
    }
    Ok(())
}

fn push_line(update: &ProposedUpdate, is_forced: bool) -> Vec<u8> {
    let force = if is_forced { "+" } else { "" };
    let source = match update.new.is_null() {
        true => String::new(),
        false => update.new.to_string(),
    };
    let head = format!("push {force}{source}:");
    [head.as_bytes(), &update.name].concat()
}

/// Asks Git which object each line is to send.
fn resolve(lines: &[PushLine]) -> Result<Vec<Source>, GitError> {
    let mut names = BString::default();
    for line in lines.iter().filter(|line| !line.source.is_empty()) {
        names.extend_from_slice(&line.source);
        names.push(b'\n');
    }
    let answer = match names.is_empty() {
        true => Vec::new(),
        false => {
            let args = ["cat-file", "--batch-check=%(objectname)"];
            Git::in_dir(".").output_with_input(args, &names)?
        }
    };
    let mut answers = answer.split(|b| *b == b'\n');
    let source = |line: &PushLine| match line.source.is_empty() {
        true => Source::Delete,
        false => {
            let id = answers.next().map(ObjectId::from_hex);
            id.and_then(Result::ok)
                .map_or(Source::Missing, Source::Object)
        }
    };
    Ok(lines.iter().map(source).collect())
}

fn not_found(line: &PushLine) -> Refusal {
    Refusal {
        code: ErrorCode::NotFound,
        message: format!("there is no `{}` here", line.source),
        hints: Vec::new(),
    }
}
