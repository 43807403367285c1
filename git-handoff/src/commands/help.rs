//! `git handoff help`.

use std::fmt::Write as _;

use store::error_code::ErrorCode;

use crate::{cli, context::Context, error::CommandError, exit, ui::Report};

/// Explain a command, the error codes, or the JSON documents
///
/// `git handoff help` lists the commands, `git handoff help <command>` explains one, `git handoff help codes` lists
/// error codes with their exit codes, and `git handoff help json` the documents that `--json` prints.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// A command, `codes` or `json`
    #[arg(value_name = "TOPIC")]
    topic: Option<String>,
}

/// The documents of `--json`: name, and the fields besides `format` and `nextCommands`.
const DOCUMENTS: &[(&str, &str)] = &[
    (
        "accept",
        "scope, generation, commit, checkpointDigest, acceptor, action, until, remote, written",
    ),
    (
        "commit",
        "scope, generation, commit, checkpointDigest, contentDigest, created, pushed, worktreeTree, indexTree, \
         omissions, blockers, warnings: [{code, message}]",
    ),
    (
        "continue",
        "scope, generation, current, tip, commit, checkpointDigest, state, owner, untrusted, disposition, taskId, objective, \
         effects, statements: [{id, text, evidence: ok|bound|unchecked|changed|missing, \
         citations: [{citation, evidence, detail}]}], claims, \
         receipts: [{id, command, conclusion, tree, evidence, detail}], decisions: [{…, overdue, inForce}], assumptions, attempts, \
         knownFailures, untested, unexecuted, omissions, blockers, forbidden, next: {action, text, forbidden, …}, \
         changes: {base: {commit, upstream, now, commits}, head: {commit, here, relation: same|ahead|other}, \
         worktree: {state: same|differs|elsewhere|none|unknown, detail, differences: [{path, in, detail}]}, \
         receipts: [{id, tree, evidence, detail}]}, verification: [{id, command, claim, timeoutSeconds, passedHere}]",
    ),
    ("demo", "ok, steps, directory"),
    ("draft", "scope, path, created, draft: the text, untrusted"),
    (
        "diff",
        "from, to: {scope, generation, commit, checkpointDigest, file}, contract: [{field, id, before, after}], \
         commits: [{commit, change, summary}], files: [{path, status, oldMode, newMode, added, deleted}], \
         records: [{record, generation, commit, digest, at, by, summary}], untrusted",
    ),
    (
        "error",
        "code, message, hint, subject, errors: [{code, message, subject}]",
    ),
    (
        "export",
        "scope, generation, commit, checkpointDigest, file, bytes, sha256, prerequisites, artifacts",
    ),
    ("help", "topic, text"),
    (
        "import",
        "file, scopes: [{scope, status, generation, commit, before}], prepared: [{scope, commit, before}]",
    ),
    ("init", "remote, url, changed"),
    (
        "list",
        "one line a scope: scope, generation, state, owner, disposition, updatedAt, commit, remote; \
         with --safety one line a safety record: safety, commit, at, objective, untrusted",
    ),
    (
        "log",
        "one line a record: record, scope, generation, commit, digest, at, by, summary, untrusted",
    ),
    (
        "prepare",
        "scope, generation, commit, checkpointDigest: null, contentDigest, created, pushed: false, worktreeTree, \
         indexTree, omissions, blockers, warnings: [{code, message}]",
    ),
    (
        "push",
        "remote, dryRun, scopes: [{scope, status, code, message}]",
    ),
    ("release", "scope, generation, commit, remote, written"),
    (
        "restore",
        "directory, scope, generation, current, tip, head, branch, worktreeTree, indexTree, verified, filtered, \
         raw, flagged, sparse, converted, kept, submodules, safety, elapsedMs",
    ),
    (
        "run",
        "behind the output of the command, on a line of its own: id, claim, conclusion: pass|fail, covers, \
         changed: [path], receipt, digest, warnings: [{code, message}]",
    ),
    (
        "save",
        "scope, generation, commit, checkpointDigest, contentDigest, created, pushed: true|false|\"unknown\", \
         worktreeTree, indexTree, omissions, blockers, warnings: [{code, message}]",
    ),
    (
        "scan",
        "rule, severity: block|warn, path, line, endLine, fingerprint, one line a finding",
    ),
    (
        "show",
        "scope, generation, current, tip, commit, checkpointDigest, state, owner, manifest, accept, release, untrusted; \
         of <scope>@prepared the state is prepared",
    ),
    (
        "snapshot",
        "worktreeTree, indexTree, head, branch, conflicts, conflictTrees, untracked, excluded, omissions, blockers, \
         intentToAdd, flags, emptyDirectories, raw, conversions, submodules, lfs, operation, lastEditAt",
    ),
    (
        "sync",
        "remote, scopes: [{scope, status, safety, prepared}]",
    ),
    ("uncommit", "scope, commit, tip, safety, prepared"),
    (
        "verify",
        "ok, scope, generation, commit, checks: [{name, ok, code, artifact, detail}], untrusted",
    ),
];

/// What is explained.
struct Help<'a> {
    topic: Option<&'a str>,
    text: String,
}

impl Report for Help<'_> {
    const NAME: &'static str = "help";

    fn json(&self) -> serde_json::Value {
        serde_json::json!({"topic": self.topic, "text": self.text})
    }

    fn text(&self) -> String {
        self.text.clone()
    }
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<u8, CommandError> {
    let mut root = cli::command();
    let text = match args.topic.as_deref() {
        None => root.render_long_help().to_string(),
        Some("codes") => codes(),
        Some("json") => documents(),
        Some(topic) => match root.find_subcommand_mut(topic) {
            Some(command) => command
                .clone()
                .bin_name(format!("git handoff {topic}"))
                .render_long_help()
                .to_string(),
            None => {
                let message = format!("there is no help on `{topic}`");
                return Err(
                    CommandError::new(ErrorCode::Usage, message).next(&["git", "handoff", "help"])
                );
            }
        },
    };
    let topic = args.topic.as_deref();
    context.ui.report(&Help { topic, text })?;
    Ok(exit::SUCCESS)
}

fn codes() -> String {
    let mut text = String::from("Exit codes:\n");
    for (exit, meaning) in exit::MEANINGS {
        let _ = writeln!(text, "  {exit}  {meaning}");
    }
    text.push_str("\nError codes, each with the exit code it leads to:\n");
    for code in ErrorCode::ALL {
        let _ = writeln!(
            text,
            "  {}  {:<26} {}",
            exit::of(*code),
            code.as_str(),
            code.meaning()
        );
    }
    text
}

fn documents() -> String {
    let mut text = String::from(
        "With --json (or HANDOFF_JSON=1) a command prints one document on standard output. Every document has\n\
         `format`, which is handoff-cli.<name>.v1, and those that are one document have `nextCommands`, a list of\n\
         commands that lead on. A path that is not UTF-8 has its bytes beside it, in base64, as <field>Bytes.\n\
         `untrusted: true` says that text of a checkpoint is in the document.\n\n",
    );
    for (name, fields) in DOCUMENTS {
        let _ = writeln!(text, "handoff-cli.{name}.v1\n  {fields}\n");
    }
    text
}
