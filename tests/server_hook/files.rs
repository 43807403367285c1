//! What a push would be refused for is not imported from a file either: the judge is the same.

use store::generation::Generation;

use crate::{
    records::{Records, parse},
    world::World,
};

#[test]
fn an_import_is_judged_as_a_push_is() {
    let world = World::new();
    let dir = world.repo("here");
    let records = Records::new(&world, &dir);
    let first = records.first("work");
    let accepted = records.accept(&first, "bea", |_| {});
    let cases = [
        (records.next("work", &accepted), "NOT_OWNER"),
        (records.accept(&accepted, "cal", |_| {}), "ALREADY_ACCEPTED"),
        (
            records.checkpoint("work", Some(&first), |manifest| {
                manifest.generation = parse::<Generation>("3");
            }),
            "GENERATION_GAP",
        ),
        (records.checkpoint("Work", None, |_| {}), "SCOPE_COLLISION"),
    ];
    let good = bundle(&world, &records, "work", &accepted);
    let other = world.repo("other");
    world.handoff(&other, ["import", &good]).ok();
    let refs = || world.git(&other, ["for-each-ref"]).ok().stdout();
    let before = refs();
    for (record, code) in cases {
        let scope = match code {
            "SCOPE_COLLISION" => "Work",
            _ => "work",
        };
        let file = bundle(&world, &records, scope, &record);
        // Into a repository that has the scope, and into one that has nothing.
        let refused = world.handoff(&other, ["import", &file, "--json"]);
        // Beside the accept, another checkpoint of its predecessor goes another way.
        let here = match code {
            "GENERATION_GAP" => "NON_LINEAR",
            code => code,
        };
        assert_eq!(refused.json()["code"], here);
        if code != "SCOPE_COLLISION" {
            let empty = world.repo(&format!("empty-{code}"));
            let refused = world.handoff(&empty, ["import", &file, "--json"]);
            assert_eq!(refused.json()["code"], code);
            let left = world.git(&empty, ["for-each-ref", "refs/handoff*"]);
            assert_eq!(left.ok().stdout(), "");
        }
    }
    assert_eq!(refs(), before);
}

/// Writes a bundle with plain Git, past all rules.
fn bundle(world: &World, records: &Records<'_>, scope: &str, record: &str) -> String {
    let name = format!("refs/handoff/{scope}");
    records.git(&["update-ref", &name, record]);
    let file = world.root().join(format!("{record}.bundle"));
    let file = file.display().to_string();
    records.git(&["bundle", "create", "-q", &file, &name]);
    records.git(&["update-ref", "-d", &name]);
    file
}
