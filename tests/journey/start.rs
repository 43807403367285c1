//! The first steps of somebody who has just installed the program.

use crate::world::World;

#[test]
fn git_finds_the_command_and_says_its_version() {
    for git in World::gits() {
        let world = World::with_git(&git);
        let version = world.handoff(world.root(), ["--version"]).ok();
        assert_eq!(
            version.line(),
            concat!("git-handoff ", env!("CARGO_PKG_VERSION"))
        );
    }
}
