//! What somebody may try who has the right to push, and the neighbouring change that is in order.

use std::{collections::BTreeMap, fs, io::Write, path::Path, process::Stdio};

use store::contract::{Accept, Document, Manifest, Release, Value, codec};

use super::served::Served;
use crate::{
    records::{Draft, Records, parse},
    world::Output,
};

/// A document with one thing of it wrong, and what that is.
struct Wrong {
    bytes: Vec<u8>,
    what: String,
}

/// Every field of a document in turn: taken away, and with a value of another type.
fn wrong_in_turn<D: Document>(document: &D) -> Vec<Wrong> {
    let bytes = [&[0x81], &codec::encode(document)[..]].concat();
    let Value::Map(fields) = codec::decode_list::<Value>(&bytes).unwrap().remove(0) else {
        unreachable!("a document is a map");
    };
    let mut found = Vec::new();
    let whole = |changed, what| (Value::Map(changed), what);
    in_map(&fields, "", &whole, &mut found);
    found
        .into_iter()
        .map(|(value, what)| Wrong {
            bytes: codec::encode(&value),
            what,
        })
        .collect()
}

type Fields = BTreeMap<String, Value>;
type Whole<'a> = &'a dyn Fn(Fields, String) -> (Value, String);

fn in_map(fields: &Fields, place: &str, whole: Whole<'_>, found: &mut Vec<(Value, String)>) {
    for (name, value) in fields {
        let place = format!("{place}{name}");
        let mut without = fields.clone();
        without.remove(name);
        found.push(whole(without, format!("without {place}")));
        let mut other = fields.clone();
        other.insert(name.clone(), another_type(value));
        found.push(whole(other, format!("{place} of another type")));
        if let Value::Map(inner) = value {
            let within = |changed: Fields, what: String| {
                let mut fields = fields.clone();
                fields.insert(name.clone(), Value::Map(changed));
                whole(fields, what)
            };
            in_map(inner, &format!("{place}."), &within, found);
        }
    }
}

/// No field of a document is both a boolean and something else, or a list of nulls.
fn another_type(value: &Value) -> Value {
    match value {
        Value::Bool(_) => Value::List(vec![Value::Null]),
        _ => Value::Bool(true),
    }
}

/// Pushes records to scopes of their own at once; each must be refused, and with the right code.
#[track_caller]
fn refuses_each(served: &Served, records: &[(String, String, String)]) {
    let specs: Vec<String> = records
        .iter()
        .map(|(scope, commit, _)| format!("{commit}:refs/handoff/{scope}"))
        .collect();
    let specs: Vec<&str> = specs.iter().map(String::as_str).collect();
    let before = served.refs();
    let said = served.push(&specs).code(1).stderr();
    for (scope, _, what) in records {
        let code = match what.contains("schema") {
            true => ["UNSUPPORTED_VERSION", "MALFORMED_MANIFEST"],
            false => ["MALFORMED_MANIFEST"; 2],
        };
        let found = code
            .iter()
            .any(|code| said.contains(&format!("handoff: {code} refs/handoff/{scope}: ")));
        assert!(found, "{scope} ({what}) in:\n{said}");
    }
    assert_eq!(served.refs(), before);
}

#[test]
fn each_field_of_each_document_is_there_and_of_its_type() {
    let served = Served::new();
    let records = served.records();
    let sample = records.manifest("s", None);
    let manifests = wrong_in_turn::<Manifest>(&sample);
    assert!(manifests.len() > 120, "{}", manifests.len());
    let draft = records.draft(&sample, None);
    let with = |draft: &Draft, name: &str, bytes: &[u8]| {
        let mut draft = draft.clone();
        draft.set("100644", "blob", &records.blob(bytes), name);
        records.write(&draft)
    };
    let mut all = Vec::new();
    for wrong in &manifests {
        let commit = with(&draft, "manifest.cbor", &wrong.bytes);
        all.push((format!("m{}", all.len()), commit, wrong.what.clone()));
    }
    let first = records.first("s");
    let accepted = records.accept(&first, "bob", |_| {});
    let accepts = wrong_in_turn::<Accept>(&records.acceptance(&first, "bob")).len();
    let releases = wrong_in_turn::<Release>(&records.giving_back(&accepted, "bob")).len();
    assert!(accepts > 25 && releases > 10, "{accepts} {releases}");
    // What they follow is in order, and stands on the same line.
    for n in 0..accepts {
        let scope = format!("a{n}");
        let first = records.first(&scope);
        let accept = records.acceptance(&first, "bob");
        let wrong = wrong_in_turn::<Accept>(&accept).swap_remove(n);
        let draft = records.accept_draft(&accept, &first);
        all.push((scope, with(&draft, "accept.cbor", &wrong.bytes), wrong.what));
    }
    for n in 0..releases {
        let scope = format!("r{n}");
        let accepted = records.accept(&records.first(&scope), "bob", |_| {});
        let release = records.giving_back(&accepted, "bob");
        let wrong = wrong_in_turn::<Release>(&release).swap_remove(n);
        let draft = records.release_draft(&release, &accepted);
        all.push((
            scope,
            with(&draft, "release.cbor", &wrong.bytes),
            wrong.what,
        ));
    }
    refuses_each(&served, &all);
    // As they are, they are in order.
    served.takes(&records.release(&accepted, "bob", |_| {}), "s");
}

#[test]
fn a_document_is_not_nested_without_end() {
    let served = Served::new();
    let records = served.records();
    let nested = |depth: usize| {
        let mut manifest = records.manifest("x", None);
        let deep = (0..depth).fold(Value::Null, |inner, _| Value::List(vec![inner]));
        manifest.content.extensions.insert(parse("deep.v1"), deep);
        records.write(&records.draft(&manifest, None))
    };
    served.refuses(&nested(200), "x", "MALFORMED_MANIFEST");
    // The map of the document, `content`, `extensions`, and the lists.
    served.refuses(&nested(30), "x", "MALFORMED_MANIFEST");
    served.takes(&nested(29), "x");
}

#[test]
fn parents_do_not_change_places() {
    let served = Served::new();
    let records = served.records();
    let first = records.first("x");
    served.takes(&first, "x");
    let mut draft = records.draft(&records.manifest("x", Some(&first)), Some(&first));
    draft.parents.reverse();
    served.refuses(&records.write(&draft), "x", "MALFORMED_MANIFEST");
    draft.parents.reverse();
    served.takes(&records.write(&draft), "x");
}

#[test]
fn a_forged_release_gives_nobody_the_scope() {
    let served = Served::new();
    let records = served.records();
    let accepted = records.accept(&records.first("x"), "bob", |_| {});
    served.takes(&accepted, "x");
    // In her own name eve may not give back; in bob's she may not write.
    let own = records.release(&accepted, "eve", |_| {});
    served.refuses(&records.accept(&own, "eve", |_| {}), "x", "NOT_OWNER");
    served.set("handoff.identityEnv", "TEST_USER");
    served.world.set("TEST_USER", "eve");
    let forged = records.release(&accepted, "bob", |_| {});
    served.refuses(
        &records.accept(&forged, "eve", |_| {}),
        "x",
        "IDENTITY_MISMATCH",
    );
    served.world.set("TEST_USER", "bob");
    served.takes(&forged, "x");
    served.world.set("TEST_USER", "eve");
    served.takes(&records.accept(&forged, "eve", |_| {}), "x");
}

#[test]
fn a_record_does_not_stand_on_another_line_of_its_scope() {
    let served = Served::new();
    let records = served.records();
    let first = records.first("x");
    let accepted = records.accept(&first, "bob", |_| {});
    served.takes(&accepted, "x");
    // The same accept again, on the checkpoint that followed it.
    let second = records.checkpoint("x", Some(&accepted), |manifest| {
        manifest.producer.id = parse("bob");
    });
    served.takes(&second, "x");
    let mut replay = records.accept_draft(&records.acceptance(&first, "bob"), &second);
    replay.parents = vec![second.clone()];
    served.refuses(&records.write(&replay), "x", "STALE_CHECKPOINT");
    served.takes(&records.accept(&second, "eve", |_| {}), "x");
}

/// Runs the hook by itself.
fn fed(served: &Served, input: &str) -> Output {
    let file = served.world.root().join("input");
    fs::File::create(&file)
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    let mut command = served.world.command("handoff-hooks", &served.bare);
    let stdin: Stdio = fs::File::open(&file).unwrap().into();
    Output::of(command.arg("pre-receive").stdin(stdin))
}

#[test]
fn ten_thousand_refs_are_refused_before_one_is_looked_at() {
    let served = Served::new();
    let first = served.records().first("x");
    served.push(&[&format!("{first}:refs/heads/objects")]).ok();
    let null = "0".repeat(40);
    let lines = |count: usize| -> String {
        (0..count)
            .map(|n| format!("{null} {first} refs/handoff/s{n}\n"))
            .collect()
    };
    let said = fed(&served, &lines(10_000)).code(1).stderr();
    let refused = "handoff: LIMIT_EXCEEDED refs/handoff/s9999: the push changes 10000 handoff refs";
    assert!(said.contains(refused), "{}", &said[..400]);
    assert_eq!(said.matches("LIMIT_EXCEEDED").count(), 10_000);
    let said = fed(&served, &lines(20)).code(1).stderr();
    assert_eq!(said.matches("handoff: SCOPE_MISMATCH").count(), 20);
}

/// Counts the files below a directory.
fn files_below(dir: &Path) -> usize {
    let entries = fs::read_dir(dir).unwrap().map(Result::unwrap);
    let count = |entry: fs::DirEntry| match entry.file_type().unwrap().is_dir() {
        true => files_below(&entry.path()),
        false => 1,
    };
    entries.map(count).sum()
}

#[test]
fn a_file_that_is_too_large_is_refused_unread_and_leaves_nothing() {
    let served = Served::new();
    let records = served.records();
    served.set("core.bigFileThreshold", "1m");
    let with = |bytes: usize| {
        let tree = records.files(&[("zeros", &vec![0; bytes])]);
        records.checkpoint("x", None, |manifest| {
            let repository = &mut manifest.content.repository;
            repository.worktree_tree = parse(&tree);
        })
    };
    let large = with((50 << 20) + 1);
    let objects = served.bare.join("objects");
    let before = files_below(&objects);
    served.refuses(&large, "x", "LIMIT_EXCEEDED");
    assert_eq!(files_below(&objects), before);
    served.takes(&with(1 << 20), "x");
}

/// Makes a tree of so many empty files and returns its id.
fn wide(records: &Records<'_>, entries: usize) -> String {
    let blob = records.blob(b"");
    let entries: Vec<String> = (0..entries).map(|n| format!("file-{n:07}")).collect();
    let entries: Vec<(&str, &str, &str)> = entries
        .iter()
        .map(|name| ("100644", name.as_str(), blob.as_str()))
        .collect();
    records.unchecked_tree(&entries)
}

#[test]
fn a_tree_of_a_hundred_thousand_entries_is_judged_in_time() {
    let served = Served::new();
    let records = served.records();
    let tree = wide(&records, 100_000);
    let with = |scope: &str| {
        records.checkpoint(scope, None, |manifest| {
            let repository = &mut manifest.content.repository;
            (repository.worktree_tree, repository.index_tree) = (parse(&tree), parse(&tree));
        })
    };
    served.refuses(&with("x"), "y", "SCOPE_MISMATCH");
    served.takes(&with("x"), "x");
}

#[test]
fn refs_of_both_kinds_in_one_push_are_held_together() {
    let served = Served::new();
    let records = served.records();
    let first = records.first("x");
    let said = served.refuses_push(
        &["HEAD:refs/heads/main", &format!("{first}:refs/handoff/y")],
        "SCOPE_MISMATCH",
    );
    assert!(said.contains("handoff: HELD refs/heads/main"), "{said}");
    assert_eq!(served.refs(), "");
    served
        .push(&["HEAD:refs/heads/main", &format!("{first}:refs/handoff/x")])
        .ok();
}

#[test]
fn a_hook_that_is_taken_away_halfway_is_seen() {
    let served = Served::new();
    let first = served.records().first("x");
    let hook = served.bare.join("hooks/pre-receive");
    let script = fs::read(&hook).unwrap();
    // Half a hook: the file is there and empty, as a full disk leaves it.
    fs::write(&hook, "").unwrap();
    let said = served.hooks(["doctor", "--live"]).code(1).stdout();
    assert!(
        said.contains("FAIL hook") && said.contains("FAIL live"),
        "{said}"
    );
    // A link to nothing.
    fs::remove_file(&hook).unwrap();
    std::os::unix::fs::symlink("/nowhere/handoff-hooks", &hook).unwrap();
    let said = served.hooks(["doctor", "--live"]).code(1).stdout();
    assert!(
        said.contains("FAIL hook") && said.contains("FAIL live"),
        "{said}"
    );
    fs::remove_file(&hook).unwrap();
    fs::write(&hook, script).unwrap();
    served.hooks(["install"]).ok();
    served.hooks(["doctor", "--live"]).ok();
    served.takes(&first, "x");
}
