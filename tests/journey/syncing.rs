//! Lines that differ from the remote's are settled, and what no remote has seen can be taken back.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{
    people::{self, error_code, server_and_clone},
    state::Worktree,
    world::World,
};

/// Makes two clones of one server.
fn two_clones(world: &World) -> [PathBuf; 2] {
    let (server, one) = server_and_clone(world, "one");
    let two = people::clone(world, &server.display().to_string(), "two");
    [one, two]
}

#[test]
fn a_line_that_diverged_is_set_aside_and_nothing_is_lost() {
    let world = World::new();
    let [one, two] = two_clones(&world);
    for (dir, generations) in [(&one, 1), (&two, 2)] {
        for generation in 1..=generations {
            let name = dir.file_name().unwrap().to_str().unwrap();
            world.write(dir, format!("{name}.txt"), format!("{generation}\n"));
            let objective = format!("{name} {generation}");
            world.handoff(dir, ["save", "work", "-m", &objective]).ok();
            world.tick();
        }
    }
    let mine = Worktree::of(&world, &two);
    world.handoff(&one, ["push"]).ok();
    let refused = world.handoff(&two, ["push", "work"]).code(3);
    insta::assert_snapshot!(world.normal(&refused.stdout()), @"
    work: refused: scope `work` has moved on: the remote `handoff` is at generation 1, written by ann@example.invalid [CAS_CONFLICT]
    next:
      git handoff sync
    ");
    world.git(&two, ["fetch", "-q", "handoff"]).ok();
    let list = world.handoff(&two, ["list"]).ok();
    insta::assert_snapshot!(list.stdout(), @"work@2	open	-	continuable	2025-01-06T09:03:00Z	diverged");
    let refused = world.handoff(&two, ["show", "work"]).code(3);
    insta::assert_snapshot!(world.normal(&refused.stderr()), @"
    error: scope `work`: the local line and the remote one have diverged [NON_LINEAR]
    hint: fetch it and write a new generation: git handoff sync, then git handoff save work
    ");

    let synced = world.handoff(&two, ["sync"]).ok();
    insta::assert_snapshot!(synced.stdout(), @"
    work: set aside as safety record 1; the remote line is now the scope
    next:
      git handoff restore --safety 1 --in-place
    ");
    mine.assert_same(&Worktree::of(&world, &two));
    let shown = |dir| world.handoff(dir, ["show", "work", "--json"]).ok().json();
    assert_eq!(shown(&two)["commit"], shown(&one)["commit"]);
    insta::assert_snapshot!(world.handoff(&two, ["list", "--safety"]).ok().stdout(), @"1	2025-01-06T09:03:00Z	two 2");
    // The remote's state, beside which a file stays that no restore put there, and one's own again.
    world.handoff(&two, ["restore", "work", "--in-place"]).ok();
    fs::remove_file(two.join("two.txt")).unwrap();
    Worktree::of(&world, &one).assert_same(&Worktree::of(&world, &two));
    world
        .handoff(&two, ["restore", "--safety", "1", "--in-place"])
        .ok();
    mine.assert_same(&Worktree::of(&world, &two));
    // It can become the next generation.
    let saved = world.handoff(&two, ["save", "work", "--push", "--json"]);
    assert_eq!(saved.ok().json()["generation"], 2);
    let again = world.handoff(&one, ["sync"]).ok();
    insta::assert_snapshot!(again.stdout(), @"work: moved forward");
}

/// Saves in `dir`, a generation after the last.
fn save(world: &World, dir: &Path, text: &str) {
    world.write(dir, "work.txt", text);
    world.handoff(dir, ["save", "work"]).ok();
    world.tick();
}

#[test]
fn what_no_remote_has_seen_is_taken_back() {
    let world = World::new();
    let [dir, _] = two_clones(&world);
    save(&world, &dir, "first\n");
    let before = Worktree::of(&world, &dir);
    let taken_back = world.handoff(&dir, ["uncommit", "work"]).ok();
    insta::assert_snapshot!(world.normal(&taken_back.stdout()), @"
    took back [id1]; the scope is gone
    it is prepared again as `work@prepared`
    next:
      git handoff show work@prepared
      git handoff commit work
    ");
    before.assert_same(&Worktree::of(&world, &dir));
    assert_eq!(
        error_code(&world.handoff(&dir, ["show", "work", "--json"]).code(6)),
        "NOT_FOUND"
    );
    let shown = world.handoff(&dir, ["show", "work@prepared", "--json"]);
    assert_eq!(shown.ok().json()["generation"], 1);
    // The number of the generation is free again.
    world.write(&dir, "work.txt", "first, again\n");
    let args = ["save", "work", "--push", "--json"];
    assert_eq!(world.handoff(&dir, args).ok().json()["generation"], 1);
    save(&world, &dir, "second\n");
    let taken_back = world.handoff(&dir, ["uncommit", "work", "--json"]).ok();
    // What is prepared is in no history, so it stays, and this goes beside it.
    let taken_back = taken_back.json();
    assert_eq!(
        (&taken_back["safety"], &taken_back["prepared"]),
        (&1.into(), &false.into())
    );
    let shown = world.handoff(&dir, ["show", "work", "--json"]).ok().json();
    assert_eq!(shown["generation"], 1);
}

#[test]
fn what_a_remote_has_seen_stays() {
    let world = World::new();
    let [dir, other] = two_clones(&world);
    save(&world, &dir, "first\n");
    world.handoff(&dir, ["push"]).ok();
    let refused = world.handoff(&dir, ["uncommit", "work"]).code(3);
    insta::assert_snapshot!(refused.stderr(), @"
    error: the newest record of scope `work` is at the remote; a record that was seen stays [NON_LINEAR]
    hint: write another generation instead
      git handoff save work
    ");
    // Also what was sent behind the back of this clone.
    save(&world, &dir, "second\n");
    let url = world.root().join("server.git").display().to_string();
    let refspec = "refs/handoff/work:refs/handoff/work";
    world.git(&dir, ["push", "-q", &url, refspec]).ok();
    let refused = world.handoff(&dir, ["uncommit", "work", "--json"]).code(3);
    assert_eq!(error_code(&refused), "NON_LINEAR");
    // And what another clone has read there.
    world.handoff(&other, ["sync"]).ok();
    let refused = world
        .handoff(&other, ["uncommit", "work", "--json"])
        .code(3);
    assert_eq!(error_code(&refused), "NON_LINEAR");
}

#[test]
fn nothing_is_taken_back_while_the_remote_cannot_be_asked() {
    let world = World::new();
    let [dir, _] = two_clones(&world);
    save(&world, &dir, "first\n");
    world.handoff(&dir, ["init"]).ok();
    std::fs::rename(world.root().join("server.git"), world.root().join("away")).unwrap();
    let refused = world.handoff(&dir, ["uncommit", "work", "--json"]).code(7);
    assert_eq!(error_code(&refused), "UNREACHABLE");
    world.handoff(&dir, ["show", "work"]).ok();
}

#[test]
fn each_scope_is_sent_or_named_with_the_reason() {
    let world = World::new();
    let [one, two] = two_clones(&world);
    for scope in ["a", "b"] {
        world.handoff(&two, ["save", scope]).ok();
    }
    world.write(&one, "work.txt", "one\n");
    world.handoff(&one, ["save", "a", "--push"]).ok();
    let dry = world.handoff(&two, ["push", "--dry-run"]).ok();
    insta::assert_snapshot!(dry.stdout(), @"
    a: would be sent
    b: would be sent
    ");
    world.git(&two, ["fetch", "-q", "handoff"]).ok();
    let pushed = world.handoff(&two, ["push"]).code(3);
    insta::assert_snapshot!(world.normal(&pushed.stdout()), @"
    a: refused: scope `a`: [id1] does not continue the record line of [id2] [NON_LINEAR]
    b: sent
    next:
      git handoff sync
    ");
    let again = world.handoff(&two, ["push", "--json"]).code(3).json();
    let row = &again["scopes"][0];
    assert_eq!(
        (&row["scope"], &row["status"], &row["code"]),
        (&"a".into(), &"refused".into(), &"NON_LINEAR".into())
    );
}
