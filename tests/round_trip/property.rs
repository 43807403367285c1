//! Whatever is done to a worktree, what was saved comes back.

use std::fs;

use proptest::prelude::*;

use crate::{
    comparison::{differences, forget_times, state},
    edits::{Edited, edit},
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
    fn whatever_was_saved_is_restored(edits in prop::collection::vec(edit(), 1..40), from_a_bare_one in any::<bool>()) {
        let world = World::new();
        let edited = Edited { world: &world, dir: world.repo("work") };
        for edit in &edits {
            edited.apply(edit);
        }
        // Git believes the times in its index until they change, also where attributes have changed since.
        forget_times(&edited.dir);
        let was = state(&world, &edited.dir);
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
        prop_assert_eq!(differences(&was, &state(&world, &edited.dir)), Vec::<String>::new());
        let dir = world.root().join("restored");
        if from_a_bare_one {
            let bare = world.bare("bare");
            let bare = bare.to_str().unwrap();
            world.git(&edited.dir, ["push", "-q", bare, "refs/handoff/demo"]).ok();
            fs::create_dir(&dir).unwrap();
            world.handoff(world.root(), ["restore", "demo", "restored", "--from", bare]).ok();
        } else {
            world.handoff(&edited.dir, ["restore", "demo", dir.to_str().unwrap()]).ok();
        }
        forget_times(&dir);
        prop_assert_eq!(differences(&was, &state(&world, &dir)), Vec::<String>::new());
        world.git(&dir, ["fsck", "--strict", "--no-dangling"]).ok();
        world.handoff(&dir, ["verify", "demo", "--worktree"]).ok();
        // The restored worktree is the saved one: there is nothing to write.
        let again = world.handoff(&dir, ["save", "demo", "--json"]).ok().json();
        prop_assert_eq!(again["created"].clone(), serde_json::Value::from(false));
    }
}
