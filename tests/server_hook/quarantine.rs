//! Objects of a push are read before Git takes them in, wherever they are, and leave nothing behind.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use super::served::Served;
use crate::world::World;

/// Counts the files below the objects of a repository; a quarantine would be among them.
fn object_files(dir: &Path) -> usize {
    let entries = fs::read_dir(dir).unwrap().map(Result::unwrap);
    entries
        .map(|entry| match entry.file_type().unwrap().is_dir() {
            true => object_files(&entry.path()),
            false => 1,
        })
        .sum()
}

#[test]
fn a_refused_push_leaves_no_object_and_no_directory() {
    for limit in ["1", "100"] {
        let served = Served::new();
        served.set("receive.unpackLimit", limit);
        let records = served.records();
        let first = records.first("x");
        let objects = served.bare.join("objects");
        let before = object_files(&objects);
        served.refuses(&first, "y", "SCOPE_MISMATCH");
        assert_eq!(object_files(&objects), before);
        served.takes(&first, "x");
        served.refuses(&records.first("x"), "x", "NON_LINEAR");
        served.takes(&records.next("x", &first), "x");
        let views = fs::read_dir(served.bare.join("handoff/views")).unwrap();
        assert_eq!(views.count(), 0);
        served.world.git(&served.bare, ["fsck", "--strict"]).ok();
    }
}

#[test]
fn a_fork_reads_what_its_alternates_hold() {
    let served = Served::new();
    let records = served.records();
    let first = records.first("x");
    served.takes(&first, "x");
    let fork = served.world.bare("fork");
    let grand = served.world.bare("grand");
    // The second hop is relative, to the directory that names it.
    served.world.write(
        &fork,
        "objects/info/alternates",
        "../../server.git/objects\n",
    );
    let of_grand = format!("# a comment\n\"{}\"\n", fork.join("objects").display());
    served
        .world
        .write(&grand, "objects/info/alternates", of_grand);
    for bare in [&fork, &grand] {
        served.world.run("handoff-hooks", bare, ["install"]).ok();
        served
            .world
            .git(bare, ["update-ref", "refs/handoff/x", &first])
            .ok();
        let push = |commit: &str| {
            let refspec = format!("{commit}:refs/handoff/x");
            served
                .world
                .git(&served.repo, ["push", bare.to_str().unwrap(), &refspec])
        };
        let wrong = records.checkpoint("x", Some(&first), |manifest| {
            manifest.generation = crate::records::parse("3");
        });
        let said = push(&wrong).code(1).stderr();
        assert!(
            said.contains("handoff: GENERATION_GAP refs/handoff/x"),
            "{said}"
        );
        push(&records.next("x", &first)).ok();
    }
}

#[test]
fn odd_paths_of_a_repository_are_read() {
    let world = World::new();
    let served = Served::new();
    let bare = world.bare("it's \"odd\": #\\");
    served.world.run("handoff-hooks", &bare, ["install"]).ok();
    let first = served.records().first("x");
    let refspec = format!("{first}:refs/handoff/x");
    served
        .world
        .git(&served.repo, ["push", bare.to_str().unwrap(), &refspec])
        .ok();
    let again = format!("{}:refs/handoff/x", served.records().next("x", &first));
    served
        .world
        .git(&served.repo, ["push", bare.to_str().unwrap(), &again])
        .ok();
}

#[test]
fn sha_256_repositories_are_judged_alike() {
    let served = Served::with(World::new(), &["--object-format=sha256"]);
    let records = served.records();
    let first = records.first("x");
    assert_eq!(first.len(), 64);
    served.refuses(&first, "y", "SCOPE_MISMATCH");
    served.takes(&first, "x");
    served.refuses(&records.first("x"), "x", "NON_LINEAR");
    served.refuses_push(&[":refs/handoff/x"], "DELETE_REFUSED");
    served.takes(&records.next("x", &first), "x");
}

#[test]
fn reftable_repositories_are_judged_alike() {
    for git in World::gits() {
        let world = World::with_git(&git);
        let probe = world.directory("probe");
        if world
            .git(&probe, ["init", "-q", "--ref-format=reftable"])
            .exit_code()
            != Some(0)
        {
            continue;
        }
        let served = Served::with(world, &["--ref-format=reftable"]);
        let records = served.records();
        let first = records.first("x");
        served.refuses(&first, "y", "SCOPE_MISMATCH");
        served.takes(&first, "x");
        served.refuses(&records.first("X"), "X", "SCOPE_COLLISION");
        served.refuses(&records.first("x"), "x", "NON_LINEAR");
        served.refuses_push(&[":refs/handoff/x"], "DELETE_REFUSED");
        served.takes(&records.next("x", &first), "x");
    }
}

#[test]
fn replacements_do_not_count() {
    let served = Served::new();
    let records = served.records();
    let (good, bad) = (records.first("x"), {
        let mut draft = records.draft(&records.manifest("x", None), None);
        draft.message = draft.message.replace("Show a rule", "Approve this");
        records.write(&draft)
    });
    served
        .push(&[
            &format!("{good}:refs/replace/{bad}"),
            &format!("{bad}:refs/heads/bad"),
        ])
        .ok();
    served.refuses(&bad, "x", "MALFORMED_MANIFEST");
}

#[test]
fn without_a_place_for_the_view_nothing_is_taken() {
    let served = Served::new();
    let first = served.records().first("x");
    fs::create_dir(served.bare.join("handoff")).unwrap();
    fs::write(served.bare.join("handoff/views"), "in the way").unwrap();
    let said = served.refuses(&first, "x", "IO");
    assert!(said.contains("no directory can be made"), "{said}");
    fs::remove_file(served.bare.join("handoff/views")).unwrap();
    served.takes(&first, "x");
}

#[test]
fn a_mark_of_somebody_else_is_none() {
    let served = Served::new();
    let records = served.records();
    let mut draft = records.draft(&records.manifest("x", None), None);
    draft.message = draft.message.replace("Show a rule", "Approve this");
    // Let in past the hook; a line that begins badly is followed by nothing.
    let bad = records.write(&draft);
    let refspec = format!("{bad}:refs/heads/bad");
    served.push(&[&refspec]).ok();
    served
        .world
        .git(&served.bare, ["update-ref", "refs/handoff/x", &bad])
        .ok();
    let next = records.next("x", &bad);
    served.refuses(&next, "x", "MALFORMED_MANIFEST");
    let mark = served.bare.join("handoff/verified/x");
    fs::create_dir_all(mark.parent().unwrap()).unwrap();
    let elsewhere = served.world.root().join("mark");
    fs::write(&elsewhere, format!("{bad}\n")).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &mark).unwrap();
    served.refuses(&next, "x", "MALFORMED_MANIFEST");
    fs::remove_file(&mark).unwrap();
    for damaged in ["", "x\n", "0000\n", &bad[..39]] {
        fs::write(&mark, damaged).unwrap();
        served.refuses(&next, "x", "MALFORMED_MANIFEST");
    }
}

#[test]
fn every_git_gives_the_hook_what_it_needs() {
    for git in World::gits() {
        let served = Served::with(World::with_git(&git), &[]);
        let records = served.records();
        let first = records.first("x");
        served.refuses(&first, "y", "SCOPE_MISMATCH");
        served.takes(&first, "x");
        served.refuses_push(&[":refs/handoff/x"], "DELETE_REFUSED");
        served.refuses(&records.first("x"), "x", "NON_LINEAR");
        served.takes(&records.accept(&first, "bob", |_| {}), "x");
        served.hooks(["doctor", "--live"]).ok();
    }
}

#[test]
fn a_repository_that_a_group_shares_stays_shared() {
    let served = Served::with(World::new(), &["--shared=group"]);
    served.takes(&served.records().first("x"), "x");
    let mode = |path: &str| {
        let found = fs::metadata(served.bare.join(path)).unwrap();
        found.permissions().mode() & 0o7777
    };
    for directory in ["handoff", "handoff/verified", "handoff/views"] {
        assert_eq!(mode(directory), mode("objects"), "{directory}");
    }
    for file in ["handoff/audit.jsonl", "handoff/verified/x"] {
        assert_eq!(mode(file), mode("objects") & 0o666, "{file}");
    }
}

#[test]
fn views_of_hooks_that_were_killed_are_removed() {
    let served = Served::new();
    let views = served.bare.join("handoff/views");
    for view in ["push-old", "push-new"] {
        fs::create_dir_all(views.join(view).join("info")).unwrap();
    }
    let touch = ["-d", "2020-01-01", "push-old"];
    served.world.run("touch", &views, touch).ok();
    served.takes(&served.records().first("x"), "x");
    assert!(views.join("push-new").exists());
    assert!(!views.join("push-old").exists());
}
