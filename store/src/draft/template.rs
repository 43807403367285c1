//! Writes a draft to fill in: every field with what it is for, and what is there to begin with.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::{Map, Value};

use super::Draft;
use crate::{
    contract::{Decision, DecisionDefault, codec, message},
    scope::ScopeName,
};

/// A field of a draft.
struct Section {
    key: &'static str,
    /// What it is for, line by line.
    about: &'static str,
    /// An entry to copy; empty where there is none.
    example: &'static str,
}

const SECTIONS: &[Section] = &[
    Section {
        key: "objective",
        about: "What the work is to reach, in a sentence. It is never rewritten.",
        example: "",
    },
    Section {
        key: "taskId",
        about: "The id of the task elsewhere; a scope keeps its first one.",
        example: "taskId: DEV-1842",
    },
    Section {
        key: "disposition",
        about: "continuable | completed | blocked\n\
                completed: no open claim, decision or blocker is left. blocked: a blocker, or a decision that blocks.",
        example: "",
    },
    Section {
        key: "state",
        about: "Facts, each with at least one citation:\n\
                tree/worktree, receipt/<id>, file/<path>#L1-L9, commit/<full id>, evidence/<id>, url/https://…",
        example: "state:\n  - text: The parser reads empty fields\n    citations: [file/src/parser.rs#L10-L42, receipt/R1]",
    },
    Section {
        key: "next",
        about: "What to do next; its action must not be forbidden.",
        example: "next:\n  action: choose_null_semantics\n  text: Decide D1, then extend parse_field()\n  citations: [file/src/parser.rs]",
    },
    Section {
        key: "forbidden",
        about: "Actions that whoever takes over must not do.",
        example: "forbidden: [merge, deploy]",
    },
    Section {
        key: "claims",
        about: "What needs evidence. evidenced: a receipt that passed on the very tree that is handed over, made by\n\
                `git handoff run --claim AC-3 -- <command>`. failed: a receipt that failed. open: owner and default,\n\
                here or in its decision.",
        example: "claims:\n  - id: AC-3\n    text: The unit tests pass\n    state: evidenced\n    receipt: R1\n  \
                  - id: AC-4\n    text: Empty fields become null\n    state: open\n    reason: needs_product_decision\n    decision: D1",
    },
    Section {
        key: "decisions",
        about: "Open questions: an owner, two or three options, and what holds if nobody decides.",
        example: "decisions:\n  - id: D1\n    question: What does an empty field mean?\n    owner: person:ann\n    options:\n      \
                  - {id: null_value, text: It is null}\n      - {id: empty_text, text: It is the empty text}\n    \
                  blocks: [AC-4]\n    decideBy: 2026-12-24T12:00:00Z\n    default: {option: null_value}   # or {forbid: migrate}",
    },
    Section {
        key: "assumptions",
        about: "What the work rests on.",
        example: "assumptions:\n  - {id: A1, text: Fields are UTF-8, citations: [file/README.md], staleWhen: the format changes}",
    },
    Section {
        key: "effects",
        about: "What already happened outside the tree. kind: migration | generated | external-write",
        example: "effects:\n  - {id: E1, text: Migration 12 ran on staging, kind: migration, repeatable: false, receipt: R2}",
    },
    Section {
        key: "attempts",
        about: "What was tried. Failed receipts that no claim names are added by themselves.",
        example: "attempts:\n  - {text: A hand-written lexer was too slow, citations: []}",
    },
    Section {
        key: "unexecuted",
        about: "What was not run, and why.",
        example: "unexecuted:\n  - {command: make integration, reason: no database here}",
    },
    Section {
        key: "knownFailures",
        about: "What is known to fail.",
        example: "knownFailures:\n  - {text: Test dates_before_1970 fails, citations: [receipt/R3]}",
    },
    Section {
        key: "untested",
        about: "What no test covers. null: not stated; []: stated, none. Once a claim is evidenced it must be stated.",
        example: "untested: [Fields of more than 1 MiB]",
    },
    Section {
        key: "verification",
        about: "Commands that whoever takes over may run, with `sh -c` at the top of the worktree.",
        example: "verification:\n  - {id: V1, command: cargo test, claim: AC-3, timeoutSeconds: 600}",
    },
    Section {
        key: "changes",
        about: "Why each file had to change.",
        example: "changes:\n  - {path: src/parser.rs, why: It read empty fields as text}",
    },
    Section {
        key: "task",
        about: "The task contract: outcome, scope, inputs, reproduction, expected, fixtures, acceptance, stopWhen, runner,\n\
                acceptors. Its scope only becomes narrower.",
        example: "task:\n  outcome: Empty fields are null\n  scope: {allowed: [src/**, tests/**], excluded: [src/generated/**]}\n  \
                  acceptance: [The unit tests pass]\n  acceptors:\n    - {role: engineer, id: person:ann}",
    },
    Section {
        key: "leases",
        about: "Paths that this work may write, as pathspec globs from the top. null: no limit; []: nothing may change.",
        example: "leases:\n  - {id: L1, paths: [src/**], ref: null}",
    },
    Section {
        key: "evidence",
        about: "Evidence to cite as evidence/<id>. kind: receipt | commit | file | checkpoint | bundle | url | external",
        example: "evidence:\n  - {id: spec, kind: url, ref: https://example.com/spec}",
    },
    Section {
        key: "omissions",
        about: "What is left out, in words. Paths are left out with `--omit <pathspec>`.",
        example: "omissions:\n  - {text: The credentials of the staging database, reason: secret}",
    },
    Section {
        key: "blockers",
        about: "What must be dealt with before taking over. kind: generated | environment | access",
        example: "blockers:\n  - {kind: environment, path: null, detail: needs a GPU}",
    },
    Section {
        key: "lifted",
        about: "What leaves `forbidden` with this generation; only an owner lifts.",
        example: "lifted:\n  - {action: deploy, reason: the release is out, citations: [commit/<full id>]}",
    },
    Section {
        key: "extensions",
        about: "Fields of other tools, by <name>.v<k>; carried, never confirmation.",
        example: "",
    },
];

/// Writes a draft of a scope to fill in, with what is there to begin with.
pub fn template(scope: &ScopeName, draft: &Draft) -> String {
    let mut text = format!(
        "# Draft of the next checkpoint of `{scope}`, in YAML (JSON is read too).\n\
         # What the worktree, the index and the commits say is captured; only what you know is written here.\n\
         # Fields may be left out. `git handoff prepare {scope}` reports all that is wrong at once,\n\
         # `git handoff commit {scope}` appends what was prepared.\n"
    );
    for section in SECTIONS {
        text.push('\n');
        for line in section.about.lines() {
            let _ = writeln!(text, "# {line}");
        }
        let value = value(draft, section.key);
        if is_bare(&value) && !section.example.is_empty() {
            for line in section.example.lines() {
                let _ = writeln!(text, "#   {line}");
            }
        }
        let _ = write!(text, "{}:", section.key);
        write(&value, 0, &mut text);
    }
    text
}

fn is_bare(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(entries) => entries.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

fn value(draft: &Draft, key: &str) -> Value {
    fn json<T: Serialize>(part: &T) -> Value {
        codec::to_json(part)
    }
    let d = draft;
    match key {
        "objective" => json(d.objective.as_ref().unwrap_or(&String::new())),
        "taskId" => json(&d.task_id.clone().flatten()),
        "disposition" => d
            .disposition
            .map_or("continuable".into(), |disposition| json(&disposition)),
        "state" => json(&d.state),
        "next" => json(&d.next),
        "forbidden" => json(&d.forbidden.clone().unwrap_or_default()),
        "claims" => json(&d.claims),
        "decisions" => d.decisions.iter().map(decision).collect(),
        "assumptions" => json(&d.assumptions),
        "effects" => json(&d.effects),
        "attempts" => json(&d.attempts),
        "unexecuted" => json(&d.unexecuted),
        "knownFailures" => json(&d.known_failures),
        "untested" => json(&d.untested),
        "verification" => json(&d.verification),
        "changes" => json(&d.changes),
        "task" => json(&d.task.clone().flatten()),
        "leases" => json(&d.leases.clone().flatten()),
        "evidence" => json(&d.evidence),
        "omissions" => d.omissions.iter().map(json).map(without_path).collect(),
        "blockers" => json(&d.blockers),
        "lifted" => json(&d.lifted),
        _ => json(&d.extensions),
    }
}

/// Writes the default of a decision as drafts do.
fn decision(decision: &Decision) -> Value {
    let mut value = codec::to_json(decision);
    let default = decision.default.as_ref().map(|default| match default {
        DecisionDefault::Option(id) => serde_json::json!({ "option": id }),
        DecisionDefault::Forbid(action) => serde_json::json!({ "forbid": action }),
    });
    value["default"] = default.unwrap_or_default();
    value
}

fn without_path(mut omission: Value) -> Value {
    if let Some(fields) = omission.as_object_mut() {
        fields.remove("path");
    }
    omission
}

/// The order of keys that people read; others follow by name.
const ORDER: [&str; 12] = [
    "id", "action", "role", "kind", "path", "command", "question", "text", "state", "outcome",
    "scope", "owner",
];

/// Writes a value behind a key or dash, and ends the line.
fn write(value: &Value, depth: usize, text: &mut String) {
    match value {
        Value::Array(entries) if !entries.is_empty() => {
            text.push('\n');
            for entry in entries {
                indent(depth, text);
                text.push_str("  -");
                match entry {
                    Value::Object(fields) if !is_bare(entry) => {
                        write_fields(fields, depth + 2, Some(' '), text);
                    }
                    entry => write(entry, depth + 1, text),
                }
            }
        }
        Value::Object(fields) if !fields.is_empty() => {
            text.push('\n');
            write_fields(fields, depth + 1, None, text);
        }
        scalar => {
            let _ = writeln!(text, " {}", quoted(scalar));
        }
    }
}

/// Writes fields, one a line; the first one on the line that is begun, where `first` separates it.
fn write_fields(fields: &Map<String, Value>, depth: usize, first: Option<char>, text: &mut String) {
    let rank = |key: &str| {
        ORDER
            .iter()
            .position(|known| *known == key)
            .unwrap_or(ORDER.len())
    };
    let mut sorted: Vec<(&String, &Value)> = fields.iter().collect();
    sorted.sort_by_key(|(key, _)| (rank(key), key.as_str()));
    for (at, (key, value)) in sorted.into_iter().enumerate() {
        match first {
            Some(separator) if at == 0 => text.push(separator),
            _ => indent(depth, text),
        }
        let _ = write!(text, "{}:", quoted(&Value::String(key.clone())));
        write(value, depth, text);
    }
}

fn indent(depth: usize, text: &mut String) {
    text.push_str(&"  ".repeat(depth));
}

/// Writes a scalar, or what is empty, so that it reads back as it is: words that look like nothing else as they are,
/// other text in quotes as JSON has them, which YAML reads too.
fn quoted(value: &Value) -> String {
    let Value::String(word) = value else {
        return value.to_string();
    };
    let plain = word.starts_with(|c: char| c.is_ascii_alphabetic())
        && word
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "_-./@".contains(c))
        && !["null", "true", "false", "yes", "no", "on", "off", "y", "n"]
            .contains(&word.to_ascii_lowercase().as_str());
    if plain {
        return word.clone();
    }
    let mut text = String::new();
    for c in value.to_string().chars() {
        match c {
            // Characters that YAML does not print, or that nobody would see.
            c if message::is_control(c) && (c as u32) < 0x1_0000 => {
                let _ = write!(text, "\\u{:04x}", c as u32);
            }
            c if message::is_control(c) => {
                let _ = write!(text, "\\U{:08x}", c as u32);
            }
            c => text.push(c),
        }
    }
    text
}
