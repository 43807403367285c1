//! No byte of a secret of the shared corpus comes out of any program, whatever becomes of it.
//!
//! Its values are decoded at run time only, and no message of this test shows one.

use std::{
    collections::BTreeSet,
    fs,
    os::unix::{ffi::OsStrExt, fs::symlink},
    path::{Path, PathBuf},
};

use aho_corasick::AhoCorasick;
use data_encoding::BASE64;
use serde_json::Value;

use crate::world::{Output, World};

/// A file of the corpus that holds secrets.
struct Case {
    id: String,
    surface: String,
    path: PathBuf,
    bytes: Vec<u8>,
    /// Words that stand where the secrets do, and in no harmless file.
    words: Vec<Vec<u8>>,
}

fn unveil(text: &str) -> Vec<u8> {
    let raw = BASE64.decode(text.as_bytes()).unwrap();
    raw.into_iter().map(|byte| byte ^ 0x55).collect()
}

/// Returns the long words of a text: runs of what keys, tokens and passwords are made of.
fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/_-.".contains(byte);
    text.split(move |byte| !is_part(byte))
        .filter(|word| word.len() >= 16 && word.iter().any(u8::is_ascii_digit))
}

fn corpus() -> Option<Vec<Case>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpora/secrets/dev.jsonl");
    let text = fs::read_to_string(path).ok()?;
    let cases: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let bytes = |case: &Value| unveil(case["x64"].as_str().unwrap());
    let (harmful, harmless): (Vec<&Value>, Vec<&Value>) = cases
        .iter()
        .partition(|case| !case["expect"].as_array().unwrap().is_empty());
    let harmless: BTreeSet<Vec<u8>> = harmless
        .into_iter()
        .flat_map(|case| words(&bytes(case)).map(<[u8]>::to_vec).collect::<Vec<_>>())
        .collect();
    let case = |case: &Value| {
        let bytes = bytes(case);
        let path = match case["xpath64"].as_str() {
            Some(veiled) => PathBuf::from(std::ffi::OsStr::from_bytes(&unveil(veiled))),
            None => case["path"].as_str().unwrap().into(),
        };
        let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
        let mut found = BTreeSet::new();
        for secret in case["expect"].as_array().unwrap() {
            let first = secret["line"].as_u64().unwrap();
            let last = secret["end_line"].as_u64().unwrap_or(first);
            let (first, last) = match first {
                0 => (1, lines.len() as u64),
                first => (first, last),
            };
            for line in (first..=last).filter_map(|n| lines.get(usize::try_from(n - 1).unwrap())) {
                found.extend(words(line).map(<[u8]>::to_vec));
            }
        }
        if case["surface"] == "path" {
            found = words(path.as_os_str().as_bytes())
                .map(<[u8]>::to_vec)
                .collect();
        }
        Case {
            id: case["id"].as_str().unwrap().into(),
            surface: case["surface"].as_str().unwrap().into(),
            words: found.difference(&harmless).cloned().collect(),
            path,
            bytes,
        }
    };
    Some(harmful.into_iter().map(case).collect())
}

/// Lays the files out below `dir`, each in a directory of its own, and returns the places.
fn lay_out(dir: &Path, cases: &[Case]) -> BTreeSet<PathBuf> {
    let mut places = BTreeSet::new();
    for case in cases {
        let place = dir.join(&case.id).join(&case.path);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        match case.surface.as_str() {
            "symlink" => symlink(std::ffi::OsStr::from_bytes(&case.bytes), &place).unwrap(),
            _ => fs::write(&place, &case.bytes).unwrap(),
        }
        places.insert(place);
    }
    places
}

/// Knows what nobody may say.
struct Guard<'a> {
    finder: AhoCorasick,
    /// For each word the case that it is of.
    cases: Vec<&'a str>,
}

impl<'a> Guard<'a> {
    fn new(cases: &'a [Case]) -> Self {
        let all = cases
            .iter()
            .flat_map(|case| case.words.iter().map(|word| (word, case.id.as_str())));
        let (words, cases): (Vec<&Vec<u8>>, Vec<&str>) = all.unzip();
        Guard {
            finder: AhoCorasick::new(words).unwrap(),
            cases,
        }
    }

    /// Names the cases of which something is said.
    fn said(&self, bytes: &[u8]) -> BTreeSet<&str> {
        let found = self.finder.find_overlapping_iter(bytes);
        found
            .map(|found| self.cases[found.pattern().as_usize()])
            .collect()
    }

    #[track_caller]
    fn silent(&self, what: &str, bytes: &[u8]) {
        let said = self.said(bytes);
        assert!(said.is_empty(), "{what} shows {said:?}");
    }

    #[track_caller]
    fn output(&self, what: &str, output: &Output) {
        self.silent(what, output.stdout().as_bytes());
        self.silent(what, output.stderr().as_bytes());
    }

    /// Looks through every file below a directory but `places`, as it is on disk, and its name.
    fn files(&self, dir: &Path, places: &BTreeSet<PathBuf>) {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if places.contains(&path) {
                continue;
            }
            let kind = path.symlink_metadata().unwrap();
            let is_above = places.iter().any(|place| place.starts_with(&path));
            if !is_above {
                self.silent("a name", path.as_os_str().as_bytes());
            }
            if kind.is_dir() {
                self.files(&path, places);
            } else if kind.is_file() {
                self.silent(&path.display().to_string(), &fs::read(&path).unwrap());
            }
        }
    }

    /// Looks through all that the refs of a repository reach.
    fn reachable(&self, world: &World, dir: &Path) {
        let refs = world.git(dir, ["for-each-ref"]).ok();
        self.output("refs", &refs);
        let listed = world.git(dir, ["rev-list", "--objects", "--all"]).ok();
        self.output("the names of trees", &listed);
        for line in listed.stdout().lines() {
            let id = line.split(' ').next().unwrap();
            let object = world.git(dir, ["cat-file", "-p", id]).ok();
            self.silent(&format!("object {id}"), object.stdout().as_bytes());
        }
    }
}

#[test]
fn no_secret_of_the_corpus_comes_out_of_a_refusal() {
    let Some(cases) = corpus() else {
        return World::skip("secrets of the corpus: it is not here");
    };
    let guard = Guard::new(&cases);
    let with_words = cases.iter().filter(|case| !case.words.is_empty()).count();
    assert!(with_words > 50, "{with_words} of {}", cases.len());
    let world = World::new();
    let (dir, bare) = (world.repo("work"), world.bare("server"));
    let url = bare.to_str().unwrap();
    world
        .run("handoff-hooks", &bare, ["install", "--git-dir", "."])
        .ok();
    world.handoff(&dir, ["init", url]).ok();
    world.git(&dir, ["push", "-q", url, "main"]).ok();
    let places = lay_out(&dir, &cases);
    // The guard sees what is there.
    let seen: usize = places
        .iter()
        .filter(|place| place.is_file())
        .filter(|place| !guard.said(&fs::read(place).unwrap()).is_empty())
        .count();
    assert!(seen > 50, "{seen}");
    for args in [
        &["save", "x"][..],
        &["save", "x", "--json"],
        &["save", "x", "--push"],
        &["prepare", "x"],
        &["prepare", "x", "--json"],
    ] {
        let refused = world.handoff(&dir, args).code(5);
        guard.output(&args.join(" "), &refused);
    }
    for args in [
        &["scan"][..],
        &["scan", "--json"],
        &["scan", "--json", "--scope", "x"],
    ] {
        guard.output("scan", &world.handoff(&dir, args).code(5));
    }
    let refused = cases
        .iter()
        .filter(|case| is_not_run(&world, case, &guard))
        .count();
    assert!(refused > 40, "{refused} of {}", cases.len());
    guard.reachable(&world, &dir);
    guard.files(world.root(), &places);
    let audit = sent_in_spite(&world, &dir, &bare, &guard);
    assert!(audit.contains("SECRET_DETECTED"));
    guard.silent("the audit log", audit.as_bytes());
    guard.reachable(&world, &bare);
    let all = ["cat-file", "--batch-all-objects", "--batch"];
    guard.output("an object of the server", &world.git(&bare, all).ok());
    guard.files(&bare, &places);
    guard.files(&world.home(), &places);
}

/// Tells whether a command with the lines of a case among its arguments is refused, of which nothing may be left then.
fn is_not_run(world: &World, case: &Case, guard: &Guard<'_>) -> bool {
    let dir = world.repo(&format!("run-{}", case.id));
    let text = String::from_utf8_lossy(&case.bytes);
    let is_argument = |line: &&str| !line.contains('\0') && line.len() < 100_000;
    let lines: Vec<&str> = text.lines().filter(is_argument).collect();
    let mut command = world.command("git", &dir);
    command.args(["handoff", "run", "--json", "--", "touch", "ran"]);
    let output = command.args(lines).output().unwrap();
    let is_refused = output.status.code() == Some(125);
    if is_refused {
        guard.silent(&case.id, &output.stdout);
        guard.silent(&case.id, &output.stderr);
        guard.files(&dir, &BTreeSet::new());
        let all = ["cat-file", "--batch-all-objects", "--batch"];
        guard.output(&case.id, &world.git(&dir, all).ok());
    }
    fs::remove_dir_all(dir).unwrap();
    is_refused
}

/// Saves all of it with a client that looks away, pushes it with one that does not and with plain Git, and returns the
/// server's log.
fn sent_in_spite(world: &World, dir: &Path, bare: &Path, guard: &Guard<'_>) -> String {
    world.write(
        dir,
        ".gitleaks.toml",
        "[[allowlists]]\nregexes = ['(?s).']\n",
    );
    world.handoff(dir, ["save", "x"]).ok();
    fs::remove_file(dir.join(".gitleaks.toml")).unwrap();
    for pushed in [
        world.git(dir, ["push", "handoff"]),
        world.handoff(dir, ["push", "x"]),
        world.handoff(dir, ["push", "x", "--json"]),
        world.git(
            dir,
            [
                "push",
                bare.to_str().unwrap(),
                "refs/handoff/x:refs/handoff/x",
            ],
        ),
    ] {
        assert_ne!(pushed.exit_code(), Some(0));
        let said = [pushed.stdout(), pushed.stderr()].concat();
        assert!(said.contains("SECRET_DETECTED"));
        guard.output("a push", &pushed);
    }
    String::from_utf8(world.read(bare, "handoff/audit.jsonl")).unwrap()
}
