//! Submodules whose checked-out commit the index does not name.

use std::path::PathBuf;

use crate::{
    comparison::{differences, state},
    world::World,
};

/// Makes a repository with the submodule `lib`, which is one commit further than the index says.
fn with_a_submodule_ahead(world: &World) -> PathBuf {
    let library = world.repo("library");
    let work = world.repo("work");
    let add = ["submodule", "--quiet", "add"];
    let args = add.into_iter().chain([library.to_str().unwrap(), "lib"]);
    world.git(&work, args).ok();
    world.commit(&work, "with a library");
    world.write(&library, "more", "more\n");
    world.commit(&library, "more");
    world.git(&work.join("lib"), ["pull", "-q"]).ok();
    work
}

#[test]
fn the_commit_of_a_submodule_comes_back_and_is_not_forgotten_before_it_does() {
    let world = World::new();
    let work = with_a_submodule_ahead(&world);
    world.handoff(&work, ["save", "demo"]).ok();
    let dir = world.root().join("there");
    let restore = ["restore", "demo", dir.to_str().unwrap(), "--json"];
    let restored = world.handoff(&work, restore).ok().json();

    // Nothing is filled yet, and nothing is lost.
    world.handoff(&dir, ["verify", "demo", "--worktree"]).ok();
    let saved = world.handoff(&dir, ["save", "demo", "--json"]).ok().json();
    assert_eq!(saved["created"], false);

    let next = restored["nextCommands"].as_array().unwrap();
    for command in next.iter().take(2) {
        let words = command.as_array().unwrap().iter();
        let words: Vec<&str> = words.map(|word| word.as_str().unwrap()).collect();
        world.run(words[0], world.root(), &words[1..]).ok();
    }
    assert_eq!(
        differences(&state(&world, &work), &state(&world, &dir)),
        Vec::<String>::new()
    );
    world.handoff(&dir, ["verify", "demo", "--worktree"]).ok();
}
