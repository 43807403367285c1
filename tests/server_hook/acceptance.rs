//! Who may take over, go on and give back, and within which limits.

use store::contract::{
    Acknowledged, Blocker, BlockerKind, Lifted, Manifest, NextStep, PathLease, Task, TaskAcceptor,
    TaskRole, TaskScope,
};

use super::served::Served;
use crate::records::{Records, parse};

fn by(records: &Records<'_>, who: &str, scope: &str, before: &str) -> String {
    records.checkpoint(scope, Some(before), |manifest| {
        manifest.producer.id = parse(who);
    })
}

#[test]
fn an_accept_names_the_current_generation() {
    let served = Served::new();
    let records = served.records();
    let first = records.first("x");
    let second = records.next("x", &first);
    served.takes(&second, "x");
    // Of the old generation, on top of the new one.
    let mut stale = records.accept_draft(&records.acceptance(&first, "bob"), &first);
    stale.parents = vec![second.clone()];
    let said = served.refuses(&records.write(&stale), "x", "STALE_CHECKPOINT");
    assert!(
        said.contains("it accepts generation 1") && said.contains("the scope is at generation 2"),
        "{said}"
    );
    let wrong = records.accept(&second, "bob", |accept| {
        accept.checkpoint_digest = store::digest::Digest::of(b"another");
    });
    served.refuses(&wrong, "x", "STALE_CHECKPOINT");
    served.takes(&records.accept(&second, "bob", |_| {}), "x");
}

#[test]
fn a_scope_is_accepted_once_until_the_accept_is_over() {
    let served = Served::new();
    let records = served.records();
    let accepted = records.accept(&records.first("x"), "bob", |_| {});
    served.takes(&accepted, "x");
    let said = served.refuses(
        &records.accept(&accepted, "eve", |_| {}),
        "x",
        "ALREADY_ACCEPTED",
    );
    assert!(
        said.contains("scope `x` is accepted by bob until 20"),
        "{said}"
    );
    let renewed = records.accept(&accepted, "bob", |_| {});
    served.takes(&renewed, "x");
    served.world.advance(2 * 3_600);
    served.takes(&records.accept(&renewed, "eve", |_| {}), "x");
}

#[test]
fn the_owner_and_delegates_go_on() {
    let served = Served::new();
    let records = served.records();
    let accepted = records.accept(&records.first("x"), "bob", |accept| {
        accept.delegates = vec![parse("agent:bob/*")];
    });
    served.takes(&accepted, "x");
    for who in ["ann", "agent:bob", "agent:bob/a/b"] {
        let said = served.refuses(&by(&records, who, "x", &accepted), "x", "NOT_OWNER");
        assert!(said.contains("bob has accepted it"), "{said}");
    }
    let second = by(&records, "agent:bob/codex-1", "x", &accepted);
    served.takes(&second, "x");
    // The checkpoint has ended the accept.
    served.takes(&by(&records, "ann", "x", &second), "x");
}

#[test]
fn the_owner_alone_gives_back() {
    let served = Served::new();
    let records = served.records();
    let accepted = records.accept(&records.first("x"), "bob", |_| {});
    served.takes(&accepted, "x");
    served.refuses(&records.release(&accepted, "eve", |_| {}), "x", "NOT_OWNER");
    let released = records.release(&accepted, "bob", |_| {});
    served.takes(&released, "x");
    // What was given back is accepted before anybody goes on, and is not given back twice.
    for who in ["ann", "bob"] {
        served.refuses(&by(&records, who, "x", &released), "x", "NOT_OWNER");
    }
    let again = records.release(&released, "bob", |_| {});
    served.refuses(&again, "x", "NOT_OWNER");
    let taken = records.accept(&released, "eve", |_| {});
    served.takes(&taken, "x");
    served.takes(&by(&records, "eve", "x", &taken), "x");
}

#[test]
fn a_second_producer_needs_an_accept_where_the_operator_says_so() {
    let served = Served::new();
    let records = served.records();
    let first = records.first("x");
    served.takes(&first, "x");
    served.set("handoff.requireAccept", "true");
    let other = by(&records, "eve", "x", &first);
    served.refuses(&other, "x", "NOT_OWNER");
    served.set("handoff.requireAccept", "false");
    served.takes(&other, "x");
    served.set("handoff.requireAccept", "yes");
    served.takes(&by(&records, "eve", "x", &other), "x");
}

#[test]
fn a_setting_without_a_value_is_true_as_in_git() {
    let served = Served::new();
    let records = served.records();
    let first = records.first("x");
    served.takes(&first, "x");
    let config = served.bare.join("config");
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(config, format!("{text}[handoff]\n\trequireAccept\n")).unwrap();
    served.refuses(&by(&records, "eve", "x", &first), "x", "NOT_OWNER");
}

#[test]
fn only_those_whom_the_task_names_accept() {
    let served = Served::new();
    let records = served.records();
    let acceptor = |id| TaskAcceptor {
        role: TaskRole::Engineer,
        id: parse(id),
    };
    let with = |acceptors: Vec<TaskAcceptor>| {
        records.checkpoint("x", None, |manifest| {
            manifest.content.task = Some(task(TaskScope::default(), acceptors));
        })
    };
    served.refuses(&with(vec![acceptor("ann")]), "x", "FORBIDDEN_ACTION");
    let first = with(vec![acceptor("bob")]);
    served.takes(&first, "x");
    let said = served.refuses(
        &records.accept(&first, "eve", |_| {}),
        "x",
        "FORBIDDEN_ACTION",
    );
    assert!(
        said.contains("`eve` is not among those who may accept"),
        "{said}"
    );
    served.takes(&records.accept(&first, "bob", |_| {}), "x");
}

fn task(scope: TaskScope, acceptors: Vec<TaskAcceptor>) -> Task {
    Task {
        outcome: None,
        scope,
        inputs: Vec::new(),
        reproduction: None,
        expected: None,
        fixtures: Vec::new(),
        acceptance: Vec::new(),
        stop_when: Vec::new(),
        runner: None,
        acceptors,
    }
}

#[test]
fn a_forbidden_action_is_neither_next_nor_accepted() {
    let served = Served::new();
    let records = served.records();
    let forbidding = |next: &str| {
        records.checkpoint("x", None, |manifest| {
            manifest.content.forbidden = vec![parse("deploy")];
            manifest.content.next = Some(NextStep {
                action: parse(next),
                text: "Go on".into(),
                citations: Vec::new(),
            });
        })
    };
    served.refuses(&forbidding("deploy"), "x", "FORBIDDEN_ACTION");
    let first = forbidding("test");
    served.takes(&first, "x");
    let accept =
        |action: &str| records.accept(&first, "bob", |accept| accept.action = Some(parse(action)));
    served.refuses(&accept("deploy"), "x", "FORBIDDEN_ACTION");
    served.takes(&accept("test"), "x");
}

#[test]
fn an_owner_alone_lifts_what_is_forbidden() {
    let served = Served::new();
    let records = served.records();
    let first = records.checkpoint("x", None, |manifest| {
        manifest.content.forbidden = vec![parse("deploy"), parse("merge")];
    });
    served.takes(&first, "x");
    let dropped = |manifest: &mut Manifest| manifest.content.forbidden = vec![parse("merge")];
    let lifted = |manifest: &mut Manifest| {
        dropped(manifest);
        manifest.content.lifted = vec![Lifted {
            action: parse("deploy"),
            reason: "The window is open".into(),
            citations: vec![parse("tree/worktree")],
        }];
    };
    let silently = records.checkpoint("x", Some(&first), dropped);
    served.refuses(&silently, "x", "FORBIDDEN_ACTION");
    let not_owned = records.checkpoint("x", Some(&first), lifted);
    served.refuses(&not_owned, "x", "FORBIDDEN_ACTION");
    let accepted = records.accept(&first, "ann", |_| {});
    served.takes(&accepted, "x");
    served.takes(&records.checkpoint("x", Some(&accepted), lifted), "x");
}

#[test]
fn blockers_are_acknowledged_one_by_one() {
    let served = Served::new();
    let records = served.records();
    let first = records.checkpoint("x", None, |manifest| {
        let blocker = |kind| Blocker {
            kind,
            path: None,
            detail: None,
        };
        let blockers = vec![
            blocker(BlockerKind::Generated),
            blocker(BlockerKind::Access),
        ];
        manifest.content.blockers = blockers.into();
    });
    served.takes(&first, "x");
    let accept = |kinds: &[BlockerKind]| {
        records.accept(&first, "bob", |accept| {
            let acknowledged = |kind: &BlockerKind| Acknowledged {
                kind: *kind,
                path: None,
            };
            accept.acknowledged = kinds.iter().map(acknowledged).collect();
        })
    };
    let said = served.refuses(&accept(&[BlockerKind::Access]), "x", "BLOCKED");
    assert!(said.contains("blocker generated"), "{said}");
    served.takes(&accept(&[BlockerKind::Generated, BlockerKind::Access]), "x");
}

#[test]
fn an_accept_holds_for_a_limited_time() {
    let served = Served::new();
    let records = served.records();
    let first = records.first("x");
    served.takes(&first, "x");
    let until = |seconds: i64| {
        records.accept(&first, "bob", |accept| {
            accept.until = accept.accepted_at.saturating_add_seconds(seconds);
        })
    };
    served.refuses(&until(30 * 86_400 + 1), "x", "LIMIT_EXCEEDED");
    served.refuses(&until(0), "x", "CLOCK");
    served.set("handoff.maxAcceptFor", "2h");
    served.refuses(&until(7_201), "x", "LIMIT_EXCEEDED");
    served.takes(&until(7_200), "x");
}

fn lease(id: &str, path: &str) -> PathLease {
    PathLease {
        id: parse(id),
        paths: vec![path.into()],
        reference: None,
    }
}

#[test]
fn path_leases_only_become_fewer() {
    let served = Served::new();
    let records = served.records();
    let first = records.checkpoint("x", None, |manifest| {
        manifest.content.leases = Some(vec![lease("a", "src/**"), lease("b", "docs/**")]);
    });
    served.takes(&first, "x");
    let next = |leases: Option<Vec<PathLease>>| {
        records.checkpoint("x", Some(&first), |manifest| {
            manifest.content.leases = leases
        })
    };
    served.refuses(&next(None), "x", "LEASE_EXPANDED");
    served.refuses(&next(Some(vec![lease("a", "**")])), "x", "LEASE_EXPANDED");
    served.refuses(
        &next(Some(vec![lease("c", "src/**")])),
        "x",
        "LEASE_EXPANDED",
    );
    let accept = |leases: Option<Vec<PathLease>>| {
        records.accept(&first, "bob", |accept| accept.leases = leases)
    };
    served.refuses(&accept(None), "x", "LEASE_EXPANDED");
    served.refuses(&accept(Some(vec![lease("c", "x")])), "x", "LEASE_EXPANDED");
    let accepted = accept(Some(vec![lease("a", "src/**")]));
    served.takes(&accepted, "x");
    // Compared with the accept from now on.
    let after = |leases: Vec<PathLease>| {
        records.checkpoint("x", Some(&accepted), |manifest| {
            manifest.producer.id = parse("bob");
            manifest.content.leases = Some(leases);
        })
    };
    served.refuses(&after(vec![lease("b", "docs/**")]), "x", "LEASE_EXPANDED");
    served.takes(&after(vec![lease("a", "src/**")]), "x");
}

#[test]
fn the_paths_of_a_task_only_become_fewer() {
    let served = Served::new();
    let records = served.records();
    let with = |before: Option<&str>, allowed: Option<&[&str]>, excluded: &[&str]| {
        let owned = |globs: &[&str]| globs.iter().map(ToString::to_string).collect();
        let scope = TaskScope {
            allowed: allowed.map(owned),
            excluded: owned(excluded),
        };
        records.checkpoint("x", before, |manifest| {
            manifest.content.task = Some(task(scope, Vec::new()));
        })
    };
    let first = with(None, Some(&["src/**", "docs/**"]), &["src/x"]);
    served.takes(&first, "x");
    let first = Some(&*first);
    served.refuses(&with(first, None, &["src/x"]), "x", "LEASE_EXPANDED");
    served.refuses(
        &with(first, Some(&["**"]), &["src/x"]),
        "x",
        "LEASE_EXPANDED",
    );
    served.refuses(&with(first, Some(&["src/**"]), &[]), "x", "LEASE_EXPANDED");
    served.refuses(
        &records.checkpoint("x", first, |_| {}),
        "x",
        "LEASE_EXPANDED",
    );
    served.takes(&with(first, Some(&["src/**"]), &["src/x", "src/y"]), "x");
}
