//! Whatever is done to a worktree, what was saved comes back.

use std::fs;

use proptest::prelude::*;

use crate::{
    comparison::{differences, forget_times, state},
    edits::{Edited, edit},
    hidden::Unhidden,
    world::World,
};

/// Rounds of the property test, more with `ROUND_TRIPS`.
fn rounds() -> u32 {
    let wanted = std::env::var("ROUND_TRIPS").ok();
    wanted.and_then(|wanted| wanted.parse().ok()).unwrap_or(40)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: rounds(),
        failure_persistence: None,
        max_shrink_iters: 200,
        ..ProptestConfig::default()
    })]

    #[test]
    fn whatever_was_saved_is_restored(
        edits in prop::collection::vec(edit(), 1..40),
        from_a_bare_one in any::<bool>(),
        with_flags in any::<bool>(),
    ) {
        let world = World::new();
        let edited = Edited { world: &world, dir: world.repo("work") };
        for edit in &edits {
            edited.apply(edit);
        }
        // Git believes the times in its index until they change, also where attributes have changed since.
        forget_times(&edited.dir);
        let unhidden = Unhidden::of(&world, &edited.dir, world.root().join("unhidden"));
        let was = state(&world, &unhidden.copy);
        let own = state(&world, &edited.dir);
        let saved = world.handoff(&edited.dir, ["save", "demo", "--json"]);
        if saved.exit_code() != Some(0) {
            // What Git itself cannot read in the encoding that its attributes give is named.
            prop_assert!(saved.stdout().contains("a.txt"), "{}", saved.stdout());
            world.git(&edited.dir, ["add", "-f", "--", "a.txt"]).code(128);
            return Ok(());
        }
        let saved = saved.json();
        // What cannot travel is named, and then not compared.
        prop_assume!(saved["omissions"].as_array().unwrap().is_empty());
        prop_assert_eq!(differences(&own, &state(&world, &edited.dir)), Vec::<String>::new());
        let dir = world.root().join("restored");
        let flags = if with_flags { &["--flags"][..] } else { &[] };
        if from_a_bare_one {
            let bare = world.bare("bare");
            let bare = bare.to_str().unwrap();
            world.git(&edited.dir, ["push", "-q", bare, "refs/handoff/demo"]).ok();
            fs::create_dir(&dir).unwrap();
            let restore = ["restore", "demo", "restored", "--from", bare];
            world.handoff(world.root(), restore.iter().chain(flags)).ok();
        } else {
            let restore = ["restore", "demo", dir.to_str().unwrap()];
            world.handoff(&edited.dir, restore.iter().chain(flags)).ok();
        }
        forget_times(&dir);
        // Git looks here as it has looked there: what it cannot convert, and finds unchanged, it notes as such.
        world.git(&dir, ["status"]).ok();
        let restored = Unhidden::of(&world, &dir, world.root().join("unhidden-too"));
        prop_assert_eq!(differences(&was, &state(&world, &restored.copy)), Vec::<String>::new());
        // A flag that would hide an edit is set where it is asked for.
        let (harmless, hides) = unhidden.harmless(&world);
        prop_assert_eq!(restored.all(), if with_flags { unhidden.all() } else { harmless });
        world.git(&dir, ["fsck", "--strict", "--no-dangling"]).ok();
        world.handoff(&dir, ["verify", "demo", "--worktree"]).ok();
        // The restored worktree is the saved one: there is nothing to write, but what flags are gone.
        let again = world.handoff(&dir, ["save", "demo", "--json"]).ok().json();
        prop_assert_eq!(&again["created"], hides && !with_flags);
    }
}
