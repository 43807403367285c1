//! The fields of a draft.

use data_encoding::BASE64;

use super::{
    Draft,
    place::{Errors, Fields, Place},
    yaml::Node,
};
use crate::{
    contract::{
        Assumption, Blocker, BlockerKind, Change, Claim, ClaimState, Decision, DecisionDefault,
        DecisionOption, Effect, EffectKind, Evidence, Lifted, NextStep, Omission, OmissionReason,
        PathLease, Runner, Statement, Task, TaskAcceptor, TaskScope, Unexecuted, Verification,
    },
    repo_path::RepoPath,
};

/// Fields of a content that no draft says.
const CAPTURED: [&str; 5] = ["repository", "worktree", "artifacts", "receipts", "allow"];

pub(super) fn draft(node: &Node, errors: &mut Errors) -> Draft {
    let top = Place::top(node);
    if !top.is_given() {
        return Draft::default();
    }
    let Some(mut f) = top.fields(errors) else {
        return Draft::default();
    };
    let draft = Draft {
        task_id: given(&f.take("taskId"), |place| place.optional(errors)),
        objective: f.take("objective").optional(errors),
        disposition: f.take("disposition").optional(errors),
        state: f.take("state").list(errors, statement),
        next: next(&f.take("next"), errors),
        forbidden: given(&f.take("forbidden"), |place| place.words(errors)),
        claims: f.take("claims").list(errors, claim),
        decisions: f.take("decisions").list(errors, decision),
        assumptions: f.take("assumptions").list(errors, assumption),
        effects: f.take("effects").list(errors, effect),
        attempts: f.take("attempts").list(errors, statement),
        unexecuted: f.take("unexecuted").list(errors, unexecuted),
        known_failures: f.take("knownFailures").list(errors, statement),
        untested: stated(&f.take("untested"), |place| place.words(errors)),
        verification: f.take("verification").list(errors, verification),
        changes: f.take("changes").list(errors, change),
        task: given(&f.take("task"), |place| task(place, errors)),
        leases: given(&f.take("leases"), |place| {
            stated(place, |place| place.list(errors, lease))
        }),
        evidence: f.take("evidence").list(errors, evidence),
        omissions: f.take("omissions").list(errors, omission),
        blockers: f.take("blockers").list(errors, blocker),
        lifted: f.take("lifted").list(errors, lifted),
        extensions: f.take("extensions").extensions(errors),
    };
    f.end(&CAPTURED, errors);
    draft
}

/// Reads a field that stands in the draft, be it null.
fn given<T>(place: &Place<'_>, read: impl FnOnce(&Place<'_>) -> T) -> Option<T> {
    place.is_there().then(|| read(place))
}

/// Reads a field that says something.
fn stated<T>(place: &Place<'_>, read: impl FnOnce(&Place<'_>) -> T) -> Option<T> {
    place.is_given().then(|| read(place))
}

/// Reads a map: its fields, and no others.
fn map<T>(
    place: &Place<'_>,
    errors: &mut Errors,
    read: impl FnOnce(&mut Fields<'_>, &mut Errors) -> Option<T>,
) -> Option<T> {
    let mut fields = place.fields(errors)?;
    let value = read(&mut fields, errors);
    fields.end(&[], errors);
    value
}

fn statement(place: &Place<'_>, errors: &mut Errors) -> Option<Statement> {
    map(place, errors, |f, errors| {
        Some(Statement {
            text: f.take("text").text(errors),
            citations: f.take("citations").words(errors),
        })
    })
}

fn next(place: &Place<'_>, errors: &mut Errors) -> Option<NextStep> {
    if !place.is_given() {
        return None;
    }
    map(place, errors, |f, errors| {
        let (action, text) = (f.take("action").word(errors), f.take("text").text(errors));
        let citations = f.take("citations").words(errors);
        Some(NextStep {
            action: action?,
            text,
            citations,
        })
    })
}

fn claim(place: &Place<'_>, errors: &mut Errors) -> Option<Claim> {
    map(place, errors, |f, errors| {
        let (id, text) = (f.take("id").word(errors), f.take("text").text(errors));
        let state = f.take("state").word(errors);
        let receipt = f.take("receipt").optional(errors);
        let reason = f.take("reason").optional(errors);
        let decision = f.take("decision").optional(errors);
        let owner = f.take("owner").optional(errors);
        let default = f.take("default").optional(errors);
        Some(Claim {
            id: id?,
            text,
            state: state.unwrap_or(ClaimState::Open),
            receipt,
            reason,
            decision,
            owner,
            default,
        })
    })
}

fn decision(place: &Place<'_>, errors: &mut Errors) -> Option<Decision> {
    map(place, errors, |f, errors| {
        let id = f.take("id").word(errors);
        let question = f.take("question").text(errors);
        let owner = f.take("owner").optional(errors);
        let options = f.take("options").list(errors, option);
        let citations = f.take("citations").words(errors);
        let blocks = f.take("blocks").words(errors);
        let decide_by = f.take("decideBy").optional(errors);
        let default = decision_default(&f.take("default"), errors);
        Some(Decision {
            id: id?,
            question,
            owner,
            options,
            citations,
            blocks,
            decide_by,
            default,
        })
    })
}

fn option(place: &Place<'_>, errors: &mut Errors) -> Option<DecisionOption> {
    map(place, errors, |f, errors| {
        let (id, text) = (f.take("id").word(errors), f.take("text").text(errors));
        Some(DecisionOption { id: id?, text })
    })
}

/// Reads `{option: <id>}` or `{forbid: <action>}`; also `{kind, value}`, as documents have it.
fn decision_default(place: &Place<'_>, errors: &mut Errors) -> Option<DecisionDefault> {
    if !place.is_given() {
        return None;
    }
    map(place, errors, |f, errors| {
        let (option, forbid) = (f.take("option"), f.take("forbid"));
        let (kind, value) = (f.take("kind"), f.take("value"));
        if kind.is_given() {
            let (kind, value) = (kind.word::<String>(errors)?, value.word(errors)?);
            return match kind.as_str() {
                "option" => Some(DecisionDefault::Option(value)),
                "forbid" => Some(DecisionDefault::Forbid(value)),
                _ => {
                    place.refuse("a default is of the kind option or forbid", errors);
                    None
                }
            };
        }
        match (option.is_given(), forbid.is_given()) {
            (true, false) => option.word(errors).map(DecisionDefault::Option),
            (false, true) => forbid.word(errors).map(DecisionDefault::Forbid),
            _ => {
                place.refuse("either `option` or `forbid` is needed here", errors);
                None
            }
        }
    })
}

fn assumption(place: &Place<'_>, errors: &mut Errors) -> Option<Assumption> {
    map(place, errors, |f, errors| {
        let (id, text) = (f.take("id").word(errors), f.take("text").text(errors));
        let citations = f.take("citations").words(errors);
        let stale_when = f.take("staleWhen").optional(errors);
        Some(Assumption {
            id: id?,
            text,
            citations,
            stale_when,
        })
    })
}

fn effect(place: &Place<'_>, errors: &mut Errors) -> Option<Effect> {
    map(place, errors, |f, errors| {
        let (id, text) = (f.take("id").word(errors), f.take("text").text(errors));
        let kind = f.take("kind").word(errors);
        let repeatable = f.take("repeatable").truth(errors);
        let receipt = f.take("receipt").optional(errors);
        Some(Effect {
            id: id?,
            text,
            kind: kind.unwrap_or(EffectKind::ExternalWrite),
            repeatable,
            receipt,
        })
    })
}

fn unexecuted(place: &Place<'_>, errors: &mut Errors) -> Option<Unexecuted> {
    map(place, errors, |f, errors| {
        Some(Unexecuted {
            command: f.take("command").text(errors),
            reason: f.take("reason").text(errors),
        })
    })
}

fn verification(place: &Place<'_>, errors: &mut Errors) -> Option<Verification> {
    map(place, errors, |f, errors| {
        let (id, command) = (f.take("id").word(errors), f.take("command").text(errors));
        let claim = f.take("claim").optional(errors);
        let timeout_seconds = f.take("timeoutSeconds").number(errors);
        Some(Verification {
            id: id?,
            command,
            claim,
            timeout_seconds,
        })
    })
}

fn change(place: &Place<'_>, errors: &mut Errors) -> Option<Change> {
    map(place, errors, |f, errors| {
        let at = f.take("path");
        let path = path(&at, f, errors);
        if path.is_none() && !at.is_given() {
            at.refuse("a path is needed here", errors);
        }
        let why = f.take("why").text(errors);
        Some(Change { path: path?, why })
    })
}

/// Reads `path`, or `pathBytes`, its bytes in base64, where these are given.
fn path(text: &Place<'_>, f: &mut Fields<'_>, errors: &mut Errors) -> Option<RepoPath> {
    let bytes = f.take("pathBytes");
    if !bytes.is_given() {
        return text.optional(errors);
    }
    let encoded: String = bytes.word(errors)?;
    let path = BASE64.decode(encoded.as_bytes()).ok();
    let path = path.and_then(|path| RepoPath::from_bytes(&path).ok());
    if path.is_none() {
        bytes.refuse("these are not the bytes of a path, in base64", errors);
    }
    path
}

fn task(place: &Place<'_>, errors: &mut Errors) -> Option<Task> {
    if !place.is_given() {
        return None;
    }
    map(place, errors, |f, errors| {
        Some(Task {
            outcome: f.take("outcome").optional(errors),
            scope: task_scope(&f.take("scope"), errors),
            inputs: f.take("inputs").words(errors),
            reproduction: f.take("reproduction").optional(errors),
            expected: f.take("expected").optional(errors),
            fixtures: f.take("fixtures").words(errors),
            acceptance: f.take("acceptance").words(errors),
            stop_when: f.take("stopWhen").words(errors),
            runner: runner(&f.take("runner"), errors),
            acceptors: f.take("acceptors").list(errors, acceptor),
        })
    })
}

fn task_scope(place: &Place<'_>, errors: &mut Errors) -> TaskScope {
    if !place.is_given() {
        return TaskScope::default();
    }
    let scope = map(place, errors, |f, errors| {
        Some(TaskScope {
            allowed: stated(&f.take("allowed"), |place| place.words(errors)),
            excluded: f.take("excluded").words(errors),
        })
    });
    scope.unwrap_or_default()
}

fn runner(place: &Place<'_>, errors: &mut Errors) -> Option<Runner> {
    if !place.is_given() {
        return None;
    }
    map(place, errors, |f, errors| {
        Some(Runner {
            operator: f.take("operator").optional(errors),
            setup: f.take("setup").optional(errors),
            test: f.take("test").optional(errors),
            permissions: f.take("permissions").words(errors),
        })
    })
}

fn acceptor(place: &Place<'_>, errors: &mut Errors) -> Option<TaskAcceptor> {
    map(place, errors, |f, errors| {
        let (role, id) = (f.take("role").word(errors), f.take("id").word(errors));
        Some(TaskAcceptor {
            role: role?,
            id: id?,
        })
    })
}

fn lease(place: &Place<'_>, errors: &mut Errors) -> Option<PathLease> {
    map(place, errors, |f, errors| {
        let id = f.take("id").word(errors);
        let paths = f.take("paths").words(errors);
        let reference = f.take("ref").optional(errors);
        Some(PathLease {
            id: id?,
            paths,
            reference,
        })
    })
}

fn evidence(place: &Place<'_>, errors: &mut Errors) -> Option<Evidence> {
    map(place, errors, |f, errors| {
        let (id, kind) = (f.take("id").word(errors), f.take("kind").word(errors));
        let reference = f.take("ref").text(errors);
        let digest = f.take("digest").optional(errors);
        Some(Evidence {
            id: id?,
            kind: kind?,
            reference,
            digest,
        })
    })
}

/// Reads an omission in words; those with a path are a capture's.
fn omission(place: &Place<'_>, errors: &mut Errors) -> Option<Omission> {
    map(place, errors, |f, errors| {
        let text = f.take("text").word(errors);
        let at = f.take("reason");
        let reason = at.word(errors);
        if reason.is_some_and(OmissionReason::is_of_a_state) {
            at.refuse("omissions for this reason are captured", errors);
        }
        let detail = f.take("detail").optional(errors);
        let citation = f.take("citation").optional(errors);
        Some(Omission {
            path: None,
            text: Some(text?),
            reason: reason?,
            detail,
            citation,
        })
    })
}

/// Reads a blocker of a kind that no capture finds.
fn blocker(place: &Place<'_>, errors: &mut Errors) -> Option<Blocker> {
    map(place, errors, |f, errors| {
        let at = f.take("kind");
        let kind = at.word(errors);
        if kind.is_some_and(BlockerKind::is_captured) {
            at.refuse(
                "blockers of this kind are captured: generated, environment or access",
                errors,
            );
        }
        let path = path(&f.take("path"), f, errors);
        let detail = f.take("detail").optional(errors);
        Some(Blocker {
            kind: kind?,
            path,
            detail,
        })
    })
}

fn lifted(place: &Place<'_>, errors: &mut Errors) -> Option<Lifted> {
    map(place, errors, |f, errors| {
        let action = f.take("action").word(errors);
        let reason = f.take("reason").text(errors);
        let citations = f.take("citations").words(errors);
        Some(Lifted {
            action: action?,
            reason,
            citations,
        })
    })
}
