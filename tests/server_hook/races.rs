//! Pushes at the same time, and what is left of those that lose.

use std::fs;

use super::served::Served;

#[test]
fn of_pushes_at_the_same_time_one_wins() {
    let served = Served::new();
    let records = served.records();
    let mut tip = records.first("x");
    served.takes(&tip, "x");
    for _ in 0..3 {
        let rivals: Vec<String> = (0..4).map(|_| records.next("x", &tip)).collect();
        let push = |commit: &String| {
            let refspec = format!("{commit}:refs/handoff/x");
            served.push(&[&refspec]).exit_code() == Some(0)
        };
        let won: Vec<bool> = std::thread::scope(|scope| {
            let pushes: Vec<_> = rivals
                .iter()
                .map(|commit| scope.spawn(move || push(commit)))
                .collect();
            pushes
                .into_iter()
                .map(|push| push.join().unwrap())
                .collect()
        });
        assert_eq!(won.iter().filter(|won| **won).count(), 1);
        let winner = won.iter().position(|won| *won).unwrap();
        assert_eq!(served.tip("x").as_ref(), Some(&rivals[winner]));
        tip = rivals[winner].clone();
    }
    // Whatever the losers left in the mark, the line goes on.
    served.takes(&records.next("x", &tip), "x");
}

#[test]
fn a_push_that_failed_after_it_was_judged_costs_nothing_later() {
    let served = Served::new();
    let records = served.records();
    let first = records.first("x");
    let second = records.next("x", &first);
    served.takes(&second, "x");
    let third = records.next("x", &second);
    // Good, but held by another ref; its objects are gone again.
    let specs = [
        format!("{third}:refs/handoff/x"),
        format!("{third}:refs/handoff/y"),
    ];
    served.refuses_push(&specs.each_ref().map(String::as_str), "SCOPE_MISMATCH");
    let mark = fs::read_to_string(served.bare.join("handoff/verified/x")).unwrap();
    assert_eq!(mark, format!("{third}\n{second}\n"));
    let judged = served
        .hooks(["check", "--json", &second, &second, "refs/handoff/x"])
        .ok();
    assert_eq!(judged.json()["records"], 0);
    served.takes(&third, "x");
}
