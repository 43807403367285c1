//! Who pushes, as the server knows them, and whose records they may push.

use store::contract::{Task, TaskAcceptor, TaskRole, TaskScope};

use super::served::Served;
use crate::records::parse;

/// A server that names who pushes in `TEST_USER`.
fn served() -> Served {
    let served = Served::new();
    served.set("handoff.identityEnv", "TEST_USER");
    served
}

fn add(served: &Served, key: &str, value: &str) {
    let args = ["config", "--add", key, value];
    served.world.git(&served.bare, args).ok();
}

fn by(served: &Served, who: &str, scope: &str) -> String {
    served.records().checkpoint(scope, None, |manifest| {
        manifest.producer.id = parse(who);
    })
}

#[test]
fn a_map_says_which_ids_a_user_writes_as() {
    let served = served();
    add(
        &served,
        "handoff.identityMap",
        "ann agent:codex-* person:ann.example",
    );
    add(&served, "handoff.identityMap", "ann service:ci");
    served.world.set("TEST_USER", "ann");
    let said = served.refuses(&by(&served, "ann", "a"), "a", "IDENTITY_MISMATCH");
    assert!(
        said.contains("write it as agent:codex-* or person:ann.example or service:ci"),
        "{said}"
    );
    served.refuses(
        &by(&served, "agent:codex-3/x", "a"),
        "a",
        "IDENTITY_MISMATCH",
    );
    served.takes(&by(&served, "agent:codex-3", "a"), "a");
    served.takes(&by(&served, "service:ci", "b"), "b");
    served.world.set("TEST_USER", "bob");
    served.refuses(&by(&served, "agent:codex-3", "c"), "c", "IDENTITY_MISMATCH");
    served.takes(&by(&served, "agent:bob/1", "c"), "c");
    for line in ["ann", "ann *", "ann a,b"] {
        add(&served, "handoff.identityMap", line);
        let said = served.refuses(&by(&served, "bob", "d"), "d", "IO");
        assert!(said.contains("the setting handoff.identityMap"), "{said}");
        let exactly = [
            "config",
            "--fixed-value",
            "--unset",
            "handoff.identityMap",
            line,
        ];
        served.world.git(&served.bare, exactly).ok();
    }
    served.takes(&by(&served, "bob", "d"), "d");
}

#[test]
fn a_relayer_pushes_other_peoples_records_and_it_is_logged() {
    let served = served();
    add(&served, "handoff.relayer", "mirror");
    add(&served, "handoff.relayer", "importer");
    served.world.set("TEST_USER", "mirror");
    served.takes(&by(&served, "ann", "a"), "a");
    served.takes(&by(&served, "mirror", "b"), "b");
    served.world.set("TEST_USER", "mirror2");
    served.refuses(&by(&served, "ann", "c"), "c", "IDENTITY_MISMATCH");
    let lines = served.audit();
    assert_eq!(lines[0]["relayed"], true);
    assert_eq!(lines[0]["identity"], "mirror");
    assert_eq!(lines[1].get("relayed"), None);
}

#[test]
fn without_an_identity_scope_users_are_logged_and_not_compared() {
    let served = served();
    served.set("handoff.identityScope", "off");
    served.world.set("TEST_USER", "bob");
    served.takes(&by(&served, "ann", "a"), "a");
    assert_eq!(served.audit()[0]["identity"], "bob");
    served.world.set("TEST_USER", "");
    served.takes(&by(&served, "ann", "b"), "b");
    served.set("handoff.identityScope", "all");
    served.refuses(&by(&served, "ann", "c"), "c", "IDENTITY_MISMATCH");
    served.set("handoff.identityScope", "none");
    served.refuses(&by(&served, "ann", "c"), "c", "IO");
}

#[test]
fn nobody_accepts_what_they_made_for_others_to_accept() {
    let served = served();
    add(
        &served,
        "handoff.identityMap",
        "ann person:ann agent:codex-*",
    );
    let acceptor = |id| TaskAcceptor {
        role: TaskRole::Engineer,
        id: parse(id),
    };
    let records = served.records();
    let first = records.checkpoint("x", None, |manifest| {
        manifest.producer.id = parse("agent:codex-3");
        manifest.content.task = Some(Task {
            outcome: None,
            scope: TaskScope::default(),
            inputs: Vec::new(),
            reproduction: None,
            expected: None,
            fixtures: Vec::new(),
            acceptance: Vec::new(),
            stop_when: Vec::new(),
            runner: None,
            acceptors: vec![acceptor("person:ann"), acceptor("bob")],
        });
    });
    served.world.set("TEST_USER", "ann");
    served.takes(&first, "x");
    let own = records.accept(&first, "person:ann", |_| {});
    let said = served.refuses(&own, "x", "FORBIDDEN_ACTION");
    assert!(said.contains("ann writes as agent:codex-3 too"), "{said}");
    served.world.set("TEST_USER", "bob");
    served.takes(&records.accept(&first, "bob", |_| {}), "x");
}
