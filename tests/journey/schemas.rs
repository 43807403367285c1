//! The JSON Schemas: those checked in, those printed, and the documents that they describe.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    fs,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

use jsonschema::Validator;
use serde_json::{Value, json};
use store::draft::Draft;

use crate::{
    manuals::commands,
    people::{AGENT, agent, developer, server_and_clone},
    world::{Output, World},
};

/// How the files are written anew.
const WRITE: &str = "HANDOFF_WRITE_GOLDEN=1 cargo test -p git-handoff --test journey schemas";

fn schema(world: &World, name: &str) -> Output {
    world.handoff(world.root(), ["schema", name]).ok()
}

fn names(world: &World) -> Vec<String> {
    let names = world.handoff(world.root(), ["schema"]).ok().stdout();
    names.lines().map(String::from).collect()
}

#[test]
fn the_schemas_that_are_checked_in_are_those_that_are_printed() {
    let world = World::new();
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/schema");
    let write = std::env::var_os("HANDOFF_WRITE_GOLDEN").is_some();
    let mut expected = BTreeSet::new();
    for name in names(&world) {
        let printed = schema(&world, &name).stdout();
        let file = dir.join(format!("{name}.json"));
        if write {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, &printed).unwrap();
        }
        let found = fs::read_to_string(&file).unwrap_or_default();
        assert!(
            found == printed,
            "docs/schema/{name}.json is another one: {WRITE}"
        );
        expected.insert(file);
    }
    let folders = [dir.clone(), dir.join("json")];
    let entries = folders.iter().flat_map(|dir| fs::read_dir(dir).unwrap());
    let found: BTreeSet<PathBuf> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file())
        .collect();
    assert_eq!(found, expected, "a schema of nothing is checked in");
}

#[test]
fn every_command_has_a_schema() {
    let world = World::new();
    let commands = commands(&world).into_iter();
    let commands: Vec<String> = commands.map(|name| format!("json/{name}")).collect();
    assert!(commands.len() > 20, "{commands:?}");
    let names = names(&world);
    let missing: Vec<&String> = commands
        .iter()
        .filter(|name| !names.contains(name))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn a_schema_of_nothing_is_refused_with_what_lists_them() {
    let world = World::new();
    let refused = world
        .handoff(world.root(), ["schema", "json/nothing", "--json"])
        .code(2)
        .json();
    assert_eq!(refused["code"], "USAGE");
    assert_eq!(
        refused["nextCommands"],
        json!([["git", "handoff", "schema"]])
    );
}

/// Makes a schema one that takes no field which it does not name.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            object.values_mut().for_each(close);
            let is_open = object.contains_key("properties") && !object.contains_key("anyOf");
            if is_open && !object.contains_key("additionalProperties") {
                object.insert("additionalProperties".into(), false.into());
            }
        }
        Value::Array(entries) => entries.iter_mut().for_each(close),
        _ => {}
    }
}

/// The schemas, closed, each made ready once.
struct Schemas<'a> {
    world: &'a World,
    ready: BTreeMap<String, Validator>,
}

impl<'a> Schemas<'a> {
    fn new(world: &'a World) -> Self {
        Schemas {
            world,
            ready: BTreeMap::new(),
        }
    }

    #[track_caller]
    fn assert_fits(&mut self, name: &str, document: &Value) {
        let validator = self.ready.entry(name.into()).or_insert_with(|| {
            let mut schema = schema(self.world, name).json();
            // Alternatives at the top stand beside fields that all of them have.
            if schema["anyOf"].is_null() {
                close(&mut schema);
            }
            jsonschema::draft202012::new(&schema).unwrap()
        });
        let errors: Vec<String> = validator
            .iter_errors(document)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{name}: {errors:#?}\n{document:#}");
    }

    /// Checks each document that a command has printed.
    #[track_caller]
    fn assert_printed(&mut self, name: &str, output: &Output) {
        let documents = output.json_lines();
        assert!(!documents.is_empty(), "{name} printed nothing");
        for document in &documents {
            self.assert_fits(&format!("json/{name}"), document);
        }
    }
}

/// A draft in which every field says something.
fn full_draft(head: &str) -> Value {
    json!({
        "taskId": "DEV-1842",
        "objective": "Treat empty fields as null",
        "disposition": "continuable",
        "state": [{"text": "The parser reads empty fields", "citations": ["receipt/R1", "file/parser.py#L1-L2"]}],
        "next": {"action": "choose", "text": "Decide D1", "citations": [format!("commit/{head}")]},
        "forbidden": ["merge", "deploy"],
        "claims": [
            {"id": "AC-3", "text": "It can be loaded", "state": "evidenced", "receipt": "R1"},
            {"id": "AC-4", "text": "Empty becomes null", "state": "open", "reason": "product", "decision": "D1",
             "owner": "person:ann", "default": "null"},
        ],
        "decisions": [{
            "id": "D1", "question": "What is empty?", "owner": "person:ann",
            "options": [{"id": "none", "text": "None"}, {"id": "empty", "text": "The empty text"}],
            "citations": ["tree/worktree"], "blocks": ["AC-4"], "decideBy": "2026-12-01T00:00:00Z",
            "default": {"option": "none"},
        }],
        "assumptions": [{"id": "A1", "text": "No tabs", "citations": ["evidence/E1"], "staleWhen": "tabs come"}],
        "effects": [{"id": "X1", "text": "Migrated", "kind": "migration", "repeatable": false, "receipt": "R1"}],
        "attempts": [{"text": "A regular expression", "citations": ["url/https://example.invalid/"]}],
        "unexecuted": [{"command": "make bench", "reason": "no machine"}],
        "knownFailures": [{"text": "Long lines", "citations": ["bundle/B1"]}],
        "untested": ["tabs"],
        "verification": [{"id": "V1", "command": "grep -q def parser.py", "claim": "AC-3", "timeoutSeconds": 60}],
        "changes": [{"path": "parser.py", "why": "it parses"}],
        "task": {
            "outcome": "Empty is null",
            "scope": {"allowed": ["**"], "excluded": ["secret/**"]},
            "inputs": ["a file"], "reproduction": "parse ','", "expected": "two nulls", "fixtures": ["f.csv"],
            "acceptance": ["AC-4"], "stopWhen": ["D1 is open"],
            "runner": {"operator": "ann", "setup": "true", "test": "make", "permissions": ["read"]},
            "acceptors": [{"role": "engineer", "id": "dev@example.invalid"}],
        },
        "leases": [{"id": "L1", "paths": ["**"], "ref": "elsewhere"}],
        "evidence": [
            {"id": "E1", "kind": "external", "ref": "a letter", "digest": format!("sha256:{}", "0".repeat(64))},
            {"id": "B1", "kind": "bundle", "ref": "backup.bundle"},
        ],
        "omissions": [{"text": "The data of production", "reason": "by-request", "detail": "large", "citation": "evidence/E1"}],
        "blockers": [{"kind": "access", "path": "parser.py", "detail": "the database"}],
        "lifted": [],
        "extensions": {"example.v1": {"any": [1, true, null, "text"]}},
    })
}

#[test]
fn what_every_command_prints_fits_its_schema() {
    let world = World::new();
    let mut schemas = Schemas::new(&world);
    let (server, dir) = server_and_clone(&world, "agent");
    let url = server.display().to_string();
    let root = world.root().to_owned();
    // A name that is not UTF-8 needs its bytes beside it.
    let odd = OsStr::from_bytes(b"odd-\xff");
    fs::create_dir(dir.join(odd)).unwrap();
    world.write(&dir, "parser.py", "def parse(text):\n    return text\n");
    world.write(&dir, OsStr::from_bytes(b"notes-\xff.txt"), "half done\n");
    world.write(&dir, ".gitignore", "*.log\n");
    world.write(&dir, "a.log", "ignored\n");
    world.write(&dir, "left-out.txt", "left out\n");
    let head = world.git(&dir, ["rev-parse", "HEAD"]).ok().line();

    schemas.assert_printed("init", &agent(&world, &dir, ["init", "--json"]).ok());
    let snapshot = agent(
        &world,
        &dir,
        ["snapshot", "--omit", "left-out.txt", "--json"],
    )
    .ok();
    schemas.assert_printed("snapshot", &snapshot);
    assert_eq!(
        snapshot.json()["emptyDirectories"],
        json!([{"path": "odd-\u{fffd}", "pathBytes": "b2RkLf8="}])
    );
    let file = root.join("receipt.json");
    let ran = agent(
        &world,
        &dir,
        [
            "run",
            "--receipt-file",
            &file.display().to_string(),
            "--",
            "touch",
            "made.txt",
        ],
    );
    ran.ok();
    let receipt: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    schemas.assert_fits("receipt", &receipt["receipt"]);
    fs::remove_file(dir.join("made.txt")).unwrap();
    let ran = agent(
        &world,
        &dir,
        [
            "run", "--json", "--claim", "AC-3", "--id", "R1", "--", "true",
        ],
    );
    schemas.assert_printed("run", &ran.ok());
    schemas.assert_printed(
        "draft",
        &agent(&world, &dir, ["draft", "work", "--json"]).ok(),
    );

    let draft = full_draft(&head);
    schemas.assert_fits("draft", &draft);
    let path = root.join("draft.json");
    fs::write(&path, draft.to_string()).unwrap();
    let path = path.display().to_string();
    let prepared = agent(&world, &dir, ["prepare", "work", "-f", &path, "--json"]).ok();
    schemas.assert_printed("prepare", &prepared);
    let shown = agent(&world, &dir, ["show", "work@prepared", "--json"]).ok();
    schemas.assert_printed("show", &shown);
    schemas.assert_printed(
        "commit",
        &agent(&world, &dir, ["commit", "work", "--json"]).ok(),
    );
    schemas.assert_printed(
        "push",
        &agent(&world, &dir, ["push", "--dry-run", "--json"]).ok(),
    );
    schemas.assert_printed("push", &agent(&world, &dir, ["push", "--json"]).ok());
    world.tick();

    let restored = developer(
        &world,
        &root,
        ["restore", "work", "there", "--from", &url, "--json"],
    );
    schemas.assert_printed("restore", &restored.ok());
    let there = root.join("there");
    let continued = developer(&world, &there, ["continue", "work", "--json"]);
    schemas.assert_printed("continue", &continued.ok());
    let blocked = developer(&world, &there, ["accept", "work", "--json"]).code(5);
    schemas.assert_printed("error", &blocked);
    let mut accept = vec!["accept", "work", "--acknowledge", "access:parser.py"];
    accept.extend(["--delegate", AGENT, "--json"]);
    let accepted = developer(&world, &there, accept);
    schemas.assert_printed("accept", &accepted.ok());
    world.tick();
    world.write(&there, OsStr::from_bytes(b"notes-\xff.txt"), "done\n");
    let saved = agent(&world, &there, ["save", "work", "--push", "--json"]).ok();
    schemas.assert_printed("save", &saved);
    let shown = developer(&world, &there, ["show", "work@1", "--json"]).ok();
    schemas.assert_printed("show", &shown);
    let shown = shown.json();
    schemas.assert_fits("manifest", &shown["manifest"]);
    schemas.assert_fits("accept", &shown["accept"]);
    let diff = developer(&world, &there, ["diff", "work@1..2", "--json"]).ok();
    schemas.assert_printed("diff", &diff);
    let files = &diff.json()["files"];
    let named = files
        .as_array()
        .unwrap()
        .iter()
        .find(|file| file["pathBytes"].is_string());
    assert_eq!(named.unwrap()["path"], "notes-\u{fffd}.txt", "{files}");
    let verified = developer(&world, &there, ["verify", "work", "--worktree", "--json"]);
    schemas.assert_printed("verify", &verified.ok());
    schemas.assert_printed(
        "log",
        &developer(&world, &there, ["log", "work", "--json"]).ok(),
    );

    schemas.assert_printed("sync", &agent(&world, &dir, ["sync", "--json"]).ok());
    let bundle = root.join("work.bundle").display().to_string();
    let exported = agent(&world, &dir, ["export", "work", "-o", &bundle, "--json"]).ok();
    schemas.assert_printed("export", &exported);
    let artifacts = root.join("artifacts").display().to_string();
    let exported = agent(
        &world,
        &dir,
        ["export", "work", "--artifacts", &artifacts, "--json"],
    )
    .ok();
    schemas.assert_printed("export", &exported);
    let other = world.repo("other");
    let imported = agent(&world, &other, ["import", &bundle, "--json"]).ok();
    schemas.assert_printed("import", &imported);
    agent(&world, &other, ["save", "mine"]).ok();
    schemas.assert_printed(
        "uncommit",
        &agent(&world, &other, ["uncommit", "mine", "--json"]).ok(),
    );
    agent(&world, &other, ["save", "kept"]).ok();
    world.write(&other, "README.md", "to be set aside\n");
    agent(&world, &other, ["restore", "kept", "--in-place"]).ok();
    schemas.assert_printed(
        "list",
        &agent(&world, &other, ["list", "--safety", "--json"]).ok(),
    );
    schemas.assert_printed("list", &agent(&world, &other, ["list", "--json"]).ok());
    world.write(&other, "key.pem", SECRET);
    schemas.assert_printed("scan", &agent(&world, &other, ["scan", "--json"]).code(5));

    let refused = agent(&world, &other, ["save", "kept", "--json"]).code(5);
    schemas.assert_printed("error", &refused);
    let said = refused.stdout();
    let stands_for = &said[said.find("hs1:").unwrap()..][..36];
    let allow = ["allow", stands_for, "--reason", "made up", "--json"];
    schemas.assert_printed("allow", &agent(&world, &other, allow).ok());
    world.tick();
    agent(&world, &other, ["save", "kept"]).ok();
    // What is answered for is none; the rest of a record is looked at as ever.
    world.write(
        &other,
        ".gitleaks.toml",
        "[[rules]]\nid = \"own\"\nregex = \"aws_access\"\nkeywords = [\"aws_\"]\n",
    );
    let records = agent(&world, &other, ["scan", "--records", "kept", "--json"]).code(5);
    assert!(records.stdout().contains("\"in\":\"the worktree\""));
    schemas.assert_printed("scan", &records);
    fs::remove_file(other.join(".gitleaks.toml")).unwrap();

    let (_, mine) = accepted_and_released(&world);
    schemas.assert_printed("release", &mine.0);
    schemas.assert_fits("release", &mine.1.json()["release"]);
    schemas.assert_printed("help", &world.handoff(&root, ["help", "--json"]).ok());
    schemas.assert_printed(
        "schema",
        &world.handoff(&root, ["schema", "draft", "--json"]).ok(),
    );
    schemas.assert_printed("schema", &world.handoff(&root, ["schema", "--json"]).ok());
    let gate = agent(&world, &other, ["gate", "kept", "--json"]).ok();
    schemas.assert_printed("gate", &gate);
    schemas.assert_printed("doctor", &agent(&world, &dir, ["doctor", "--json"]).ok());
    schemas.assert_printed(
        "list",
        &world
            .handoff(&root, ["list", "--from", &url, "--json"])
            .ok(),
    );
    schemas.assert_printed("man", &world.handoff(&root, ["man", "save", "--json"]).ok());
    schemas.assert_printed(
        "man",
        &world.handoff(&root, ["man", "--install", "--json"]).ok(),
    );
    let completions = world.handoff(&root, ["completions", "bash", "--json"]);
    schemas.assert_printed("completions", &completions.ok());
    schemas.assert_printed("demo", &world.handoff(&root, ["demo", "--json"]).ok());

    let seen: BTreeSet<String> = schemas.ready.keys().cloned().collect();
    let all: BTreeSet<String> = names(&world).into_iter().collect();
    assert_eq!(seen, all, "a document was not tried");
}

const SECRET: &str = concat!("aws_access_key_id = \"AKIA", "QWERTYUIOP234567\"\n");

/// Releases a scope, and returns what was printed and what the scope then says.
fn accepted_and_released(world: &World) -> (PathBuf, (Output, Output)) {
    let dir = world.repo("released");
    agent(world, &dir, ["save", "work"]).ok();
    developer(world, &dir, ["show", "work"]).ok();
    developer(world, &dir, ["accept", "work", "--local"]).ok();
    let released = developer(world, &dir, ["release", "work", "--local", "--json"]).ok();
    let shown = developer(world, &dir, ["show", "work", "--json"]).ok();
    (dir, (released, shown))
}

/// Tells whether the reader of drafts finds every field where and as it must be.
fn reads(draft: &Value) -> bool {
    Draft::read(draft.to_string().as_bytes()).errors.is_empty()
}

/// Returns the pointers of all values within a value.
fn pointers(value: &Value, at: &str, found: &mut Vec<String>) {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields
            .iter()
            .map(|(key, value)| (key.clone(), value))
            .collect(),
        Value::Array(entries) => (0..).map(|at: usize| at.to_string()).zip(entries).collect(),
        _ => Vec::new(),
    };
    for (key, child) in children {
        // What an extension holds is nobody's to judge.
        let pointer = format!("{at}/{key}");
        if !pointer.starts_with("/extensions/") {
            found.push(pointer.clone());
            pointers(child, &pointer, found);
        }
    }
}

/// Takes a field out of the map that it is in; false for an entry of a list.
fn take_out(draft: &mut Value, pointer: &str) -> bool {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    match draft.pointer_mut(parent) {
        Some(Value::Object(fields)) => fields.remove(key).is_some(),
        _ => false,
    }
}

#[test]
fn the_schema_of_a_draft_takes_what_its_reader_takes_and_nothing_else() {
    let world = World::new();
    let schema = schema(&world, "draft").json();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let full = full_draft(&"1".repeat(40));
    assert!(
        reads(&full),
        "{:?}",
        Draft::read(full.to_string().as_bytes()).errors
    );
    let mut places = Vec::new();
    pointers(&full, "", &mut places);
    assert!(places.len() > 100);
    let mut tried = (0, 0);
    let mut agree = |draft: &Value, what: &str| {
        let (read, fits) = (reads(draft), validator.is_valid(draft));
        assert_eq!(read, fits, "{what}: read {read}, fits its schema {fits}");
        match read {
            true => tried.0 += 1,
            false => tried.1 += 1,
        }
    };
    agree(&full, "whole");
    for pointer in &places {
        let mut draft = full.clone();
        if take_out(&mut draft, pointer) {
            agree(&draft, &format!("without {pointer}"));
        }
        for other in [
            json!(null),
            json!([]),
            json!({}),
            json!("?"),
            json!({"unknown": 1}),
        ] {
            let mut draft = full.clone();
            *draft.pointer_mut(pointer).unwrap() = other.clone();
            // A single word may stand where text does, and nowhere else.
            agree(&draft, &format!("{other} as {pointer}"));
        }
        if let Some(Value::Object(fields)) = full.clone().pointer_mut(pointer) {
            fields.insert("unknown".into(), 1.into());
            let mut draft = full.clone();
            *draft.pointer_mut(pointer).unwrap() = fields.clone().into();
            agree(&draft, &format!("another field in {pointer}"));
        }
    }
    for (pointer, value) in [
        ("/omissions/0/reason", "sparse-patterns"),
        ("/omissions/0/path", "a.txt"),
        ("/blockers/0/kind", "lfs-missing"),
        ("/repository", "x"),
    ] {
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        let mut draft = full.clone();
        draft.pointer_mut(parent).unwrap()[key] = value.into();
        assert!(!reads(&draft), "{pointer}");
        agree(&draft, pointer);
    }
    assert!(tried.0 > 100 && tried.1 > 300, "{tried:?}");
}
