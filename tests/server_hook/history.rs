//! How a line goes on: record by record, generation by generation, in time.

use store::{digest::Digest, timestamp::Timestamp};

use super::served::Served;
use crate::records::parse;

#[test]
fn a_line_goes_on_by_one_or_more_records() {
    let served = Served::new();
    let records = served.records();
    let first = records.first("x");
    let second = records.next("x", &first);
    let third = records.next("x", &second);
    served.takes(&first, "x");
    served.takes(&third, "x");
    let (one, two) = (records.first("y"), served.bare.join("handoff/verified/x"));
    served.takes(&records.next("y", &one), "y");
    let mark = std::fs::read_to_string(two).unwrap();
    assert_eq!(mark, format!("{third}\n{first}\n"));
}

#[test]
fn a_line_never_goes_back() {
    let served = Served::new();
    let records = served.records();
    let first = records.first("x");
    served.takes(&first, "x");
    served.takes(&records.next("x", &first), "x");
    let said = served.refuses(&first, "x", "NON_LINEAR");
    assert!(
        said.contains("hint: fetch it and write a new generation"),
        "{said}"
    );
}

#[test]
fn a_line_never_goes_aside() {
    let served = Served::new();
    let records = served.records();
    let first = records.first("x");
    let (one, other) = (records.next("x", &first), records.next("x", &first));
    served.takes(&one, "x");
    served.refuses(&other, "x", "NON_LINEAR");
    served.refuses(&records.first("x"), "x", "NON_LINEAR");
    served.takes(&records.next("x", &one), "x");
}

#[test]
fn the_old_tip_as_another_parent_is_no_continuation() {
    let served = Served::new();
    let records = served.records();
    let first = records.first("x");
    let (one, other) = (records.next("x", &first), records.next("x", &first));
    served.takes(&one, "x");
    let manifest = records.manifest("x", Some(&other));
    let mut draft = records.draft(&manifest, Some(&other));
    draft.parents.push(one.clone());
    // For Git this is a fast-forward.
    let merged = records.write(&draft);
    served.refuses_push(&[&format!("{merged}:refs/handoff/x")], "NON_LINEAR");
}

#[test]
fn generations_count_up_by_one() {
    let served = Served::new();
    let records = served.records();
    let first = records.first("x");
    served.takes(&first, "x");
    let skipped = records.checkpoint("x", Some(&first), |manifest| {
        manifest.generation = parse("3");
    });
    let said = served.refuses(&skipped, "x", "GENERATION_GAP");
    assert!(
        said.contains("generation 3 is written where generation 2 must follow"),
        "{said}"
    );
    let late = records.checkpoint("y", None, |manifest| {
        manifest.generation = parse("2");
    });
    served.refuses(&late, "y", "GENERATION_GAP");
    served.takes(&records.next("x", &first), "x");
}

#[test]
fn a_checkpoint_names_what_it_follows_by_digest() {
    let served = Served::new();
    let records = served.records();
    let accepted = records.accept(&records.first("x"), "bob", |_| {});
    let released = records.release(&accepted, "bob", |_| {});
    let again = records.accept(&released, "ann", |_| {});
    served.takes(&again, "x");
    for part in ["checkpoint", "accept", "release"] {
        let wrong = records.checkpoint("x", Some(&again), |manifest| {
            let previous = manifest.previous.as_mut().unwrap();
            match part {
                "checkpoint" => previous.checkpoint = Digest::of(b"another"),
                "accept" => previous.accept = None,
                _ => previous.release = Some(Digest::of(b"another")),
            }
        });
        served.refuses(&wrong, "x", "DIGEST_MISMATCH");
    }
    served.takes(&records.next("x", &again), "x");
}

#[test]
fn an_accept_names_the_accept_and_release_that_it_follows() {
    let served = Served::new();
    let records = served.records();
    let accepted = records.accept(&records.first("x"), "bob", |_| {});
    let released = records.release(&accepted, "bob", |_| {});
    served.takes(&released, "x");
    let wrong = records.accept(&released, "ann", |accept| accept.previous_release = None);
    served.refuses(&wrong, "x", "DIGEST_MISMATCH");
    let wrong = records.accept(&released, "ann", |accept| {
        accept.previous_accept = Some(Digest::of(b"another"));
    });
    served.refuses(&wrong, "x", "DIGEST_MISMATCH");
    served.takes(&records.accept(&released, "ann", |_| {}), "x");
}

#[test]
fn a_release_names_the_accept_that_it_ends() {
    let served = Served::new();
    let records = served.records();
    let accepted = records.accept(&records.first("x"), "bob", |_| {});
    served.takes(&accepted, "x");
    let wrong = records.release(&accepted, "bob", |release| {
        release.accept_digest = Digest::of(b"another");
    });
    served.refuses(&wrong, "x", "DIGEST_MISMATCH");
    served.takes(&records.release(&accepted, "bob", |_| {}), "x");
}

#[test]
fn a_record_of_another_scope_is_no_record_of_this_one() {
    let served = Served::new();
    let records = served.records();
    let first = records.first("x");
    served.refuses(&first, "y", "SCOPE_MISMATCH");
    served.takes(&first, "x");
    let other = records.checkpoint("y", Some(&first), |_| {});
    served.refuses(&other, "x", "SCOPE_MISMATCH");
}

#[test]
fn times_do_not_decrease_and_are_not_ahead_of_the_clock() {
    let served = Served::new();
    let records = served.records();
    let first = records.first("x");
    served.takes(&first, "x");
    let early = records.checkpoint("x", Some(&first), |manifest| {
        manifest.created_at = records.now().saturating_add_seconds(-3_600);
    });
    let said = served.refuses(&early, "x", "CLOCK");
    assert!(
        said.contains("the record is of 20") && said.contains("Z, the one before of 20"),
        "{said}"
    );
    // The hook goes by its own clock, whatever the environment says.
    let ahead = records.checkpoint("x", Some(&first), |manifest| {
        manifest.created_at = Timestamp::now().saturating_add_seconds(400);
    });
    let said = served.refuses(&ahead, "x", "CLOCK");
    assert!(
        said.contains("more than 5 minutes ahead of the clock"),
        "{said}"
    );
    let now = records.checkpoint("x", Some(&first), |manifest| {
        manifest.created_at = Timestamp::now().saturating_add_seconds(200);
    });
    served.takes(&now, "x");
}

#[test]
fn a_scope_stays_with_its_task_and_repository() {
    let served = Served::new();
    let records = served.records();
    let first = records.checkpoint("x", None, |manifest| {
        manifest.content.task_id = Some("DEV-1".into());
        manifest.content.repository.id = Some(Digest::of(b"here"));
    });
    served.takes(&first, "x");
    let follow = |task: Option<&str>, repository: &[u8]| {
        records.checkpoint("x", Some(&first), |manifest| {
            manifest.content.task_id = task.map(Into::into);
            manifest.content.repository.id = Some(Digest::of(repository));
        })
    };
    served.refuses(&follow(Some("DEV-2"), b"here"), "x", "SCOPE_MISMATCH");
    served.refuses(&follow(Some("DEV-1"), b"elsewhere"), "x", "SCOPE_MISMATCH");
    served.takes(&follow(None, b"here"), "x");
}

#[test]
fn no_code_commit_is_a_record() {
    let served = Served::new();
    let records = served.records();
    let (first, other) = (records.first("x"), records.first("other"));
    served.takes(&first, "x");
    // Somebody commits on top of a record.
    records.git(&["checkout", "-q", "--detach", &other]);
    let built = served.world.commit(&served.repo, "Code on top of a record");
    let tree = records.oid("HEAD^{tree}");
    for head in [&other, &built] {
        let wrong = records.checkpoint("x", Some(&first), |manifest| {
            let repository = &mut manifest.content.repository;
            (repository.head, repository.base) = (Some(parse(head)), None);
            repository.depth = None;
            (repository.worktree_tree, repository.index_tree) = (tree, tree);
        });
        served.refuses(&wrong, "x", "HEAD_IS_RECORD");
    }
    records.git(&["checkout", "-q", "main"]);
    served.takes(&records.next("x", &first), "x");
}

#[test]
fn the_base_is_behind_the_head() {
    let served = Served::new();
    let records = served.records();
    let base = records.oid("HEAD");
    records.git(&["checkout", "-q", "--orphan", "other"]);
    let orphan = parse(&served.world.commit(&served.repo, "Another history"));
    records.git(&["checkout", "-q", "main"]);
    let head = parse(&served.world.commit(&served.repo, "Second commit"));
    let of = |base| {
        records.checkpoint("x", None, |manifest| {
            let repository = &mut manifest.content.repository;
            (repository.base, repository.depth) = (Some(base), Some(1));
            repository.head = Some(head);
        })
    };
    served.push(&["other"]).ok();
    served.refuses(&of(orphan), "x", "MALFORMED_MANIFEST");
    served.takes(&of(base), "x");
}
