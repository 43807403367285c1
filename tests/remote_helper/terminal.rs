//! What is seen at a terminal, of which script(1) makes one.

use std::process::Command;

use crate::{
    pair::{Pair, Run},
    world::World,
};

/// Runs a command at a terminal and returns what appears there.
fn at_terminal(pair: &Pair, dir: &str, command: &str) -> Option<Run> {
    if Command::new("script").arg("--version").output().is_err() {
        World::skip("there is no script(1) to make a terminal");
        return None;
    }
    pair.set("TERM", "xterm");
    Some(pair.run(dir, "script", &["-qec", command, "/dev/null"], b""))
}

#[test]
fn progress_is_shown_at_a_terminal_and_nowhere_else() {
    Pair::on_each_transport(|pair| {
        let noise: String = (0..20_000u64)
            .map(|i| format!("{:x} ", i.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
            .collect();
        pair.record("a", &noise);
        let Some(run) = at_terminal(pair, "work", "git push handoff") else {
            return;
        };
        let run = run.ok();
        for part in [
            "Enumerating objects: ",
            "Writing objects: 100%",
            "[new reference]",
        ] {
            assert!(run.out.contains(part), "no {part} in {run:#?}");
        }
        pair.fresh("fresh");
        let run = at_terminal(pair, "fresh", "git fetch handoff")
            .unwrap()
            .ok();
        for part in [
            "remote: Counting objects: 100%",
            "objects: 100%",
            "[new ref]",
        ] {
            assert!(run.out.contains(part), "no {part} in {run:#?}");
        }
        pair.record("a", &format!("{noise}!"));
        let run = at_terminal(pair, "work", "git push -q handoff")
            .unwrap()
            .ok();
        assert_eq!(run.out, "");
        let run = at_terminal(pair, "fresh", "git fetch -q handoff")
            .unwrap()
            .ok();
        assert_eq!(run.out, "");
        pair.record("a", &format!("{noise}!!"));
        pair.git(["push", "handoff"]).ok().says_not("Writing");
        pair.git_in("fresh", ["fetch", "handoff"])
            .ok()
            .says_not("Counting");
    });
}

#[test]
fn a_reason_in_colour_at_a_terminal_is_read() {
    Pair::on_each_transport(|pair| {
        pair.record("a", "one");
        pair.hook(r"printf '\033[31mhandoff: FROZEN refs/handoff/a: closed\033[m\n' >&2; exit 1");
        if let Some(run) = at_terminal(pair, "work", "git push handoff") {
            let shown = "refs/handoff/a -> refs/handoff/a (FROZEN: closed)";
            assert!(run.code == 1 && run.out.contains(shown), "{run:#?}");
        }
    });
}
