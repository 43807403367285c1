//! Facts about captures, checked against `git-handoff snapshot --json`.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{
    case::{Case, Listing, decode, disk_path, strings},
    failures::Failures,
    untouched,
};

/// Captures the worktree of a case and returns what is not as its facts say.
pub(crate) fn check(case: &Case) -> Vec<String> {
    let mut failures = Failures::default();
    let before = untouched::state(&case.sandbox);
    let output = case.handoff(&["snapshot", "--json"]);
    let after = untouched::state(&case.sandbox);
    for difference in untouched::differences(&before, &after) {
        failures.add(format!("touched {difference}"));
    }
    for path in strings(&case.facts["must_not_exist"]) {
        if case.sandbox.join(&path).exists() {
            failures.add(format!("`{path}` appeared"));
        }
    }
    case.silent(&output, &mut failures);
    for path in strings(&case.facts["must_not_store"]) {
        let id = case.blob_id(&case.sandbox.join(&path));
        if case.git(&["cat-file", "-e", &id]).is_some() {
            failures.add(format!("`{path}` became an object"));
        }
    }
    let document = match serde_json::from_slice::<Value>(&output.stdout) {
        Ok(document) => document,
        Err(error) => {
            failures.add(format!("no document was printed ({error}): {output:?}"));
            return failures.0;
        }
    };
    let captured = output.status.success();
    let naming = strings(&case.facts["snapshot"]["naming"]);
    match case.facts["snapshot"]["verdict"].as_str().unwrap() {
        "refuse" if !captured => named(&document, &naming, &mut failures),
        // Where the facts want a refusal of what cannot be read, the design names it among the omissions.
        "refuse" if !naming.is_empty() => omitted(&document, &naming, &mut failures),
        "refuse" => failures.add("captured what is to be refused".into()),
        "lossless-or-refuse" if !captured => named(&document, &naming, &mut failures),
        "exact" | "lossless-or-refuse" | "declare" if captured => {
            Captured::new(case, &document).check(&mut failures);
        }
        verdict => failures.add(format!("verdict {verdict}, but {document}")),
    }
    failures.0
}

/// One of the paths must be named in the refusal, if there are any.
fn named(document: &Value, naming: &[String], failures: &mut Failures) {
    let text = document.to_string();
    if !naming.is_empty() && !naming.iter().any(|path| text.contains(path.as_str())) {
        failures.add(format!("the refusal names none of {naming:?}: {document}"));
    }
}

fn omitted(document: &Value, naming: &[String], failures: &mut Failures) {
    let omissions = document["omissions"].as_array().unwrap();
    for path in naming {
        if !omissions.iter().any(|omission| omission["path"] == **path) {
            failures.add(format!(
                "`{path}` is neither captured nor named: {document}"
            ));
        }
    }
}

/// A capture that was made, beside the facts.
struct Captured<'a> {
    case: &'a Case,
    document: &'a Value,
    /// The worktree tree as Git checks it out under the recorded conversions, with the raw tree over it.
    files: BTreeMap<Vec<u8>, String>,
    declared: Vec<Vec<u8>>,
}

impl<'a> Captured<'a> {
    fn new(case: &'a Case, document: &'a Value) -> Self {
        let tree = document["worktreeTree"].as_str().unwrap();
        let mut files: BTreeMap<Vec<u8>, String> = case.listing(tree).into_iter().collect();
        if case.facts["conversion"] == true {
            for (path, item) in &mut files {
                checked_out(case, document, path, item);
            }
        }
        if let Some(raw) = document["raw"].as_str() {
            files.extend(case.listing(raw));
        }
        let declared = match case.facts["snapshot"]["verdict"].as_str() {
            Some("declare") => strings(&case.facts["snapshot"]["declare"]),
            _ => Vec::new(),
        };
        let declared = declared
            .iter()
            .map(|path| decode(path.trim_end_matches('/')));
        Captured {
            case,
            document,
            files,
            declared: declared.collect(),
        }
    }

    fn check(&self, failures: &mut Failures) {
        let facts = &self.case.facts;
        if let Some(raw) = facts["worktree_tree"]["raw"].as_str() {
            let files = self.without_declared();
            let tree = self.case.write_tree(&files);
            if tree != raw {
                let files = shown(&files);
                failures.add(format!("the bytes make {tree}, expected {raw}: {files:?}"));
            }
        }
        self.worktree_tree(failures);
        self.head_and_index(failures);
        self.paths(failures);
        for path in &self.declared {
            if !self.is_declared(path) {
                let path = String::from_utf8_lossy(path);
                failures.add(format!("`{path}` is neither captured nor named"));
            }
        }
        for state in strings(&facts["snapshot"]["declare_state"]) {
            let carried = self.document["operation"]["kind"] == *state;
            let omissions = self.document["omissions"].as_array().unwrap();
            let named = |omission: &Value| {
                omission["reason"] == "operation-state" && omission["detail"] == *state
            };
            if !carried && !omissions.iter().any(named) {
                failures.add(format!("`{state}` is neither carried nor named"));
            }
        }
    }

    /// Where nothing is declared, the tree's id must be the one that Git or the disk gives.
    fn worktree_tree(&self, failures: &mut Failures) {
        let trees = &self.case.facts["worktree_tree"];
        let found = &self.document["worktreeTree"];
        let known = [&trees["raw"], &trees["clean"]];
        if self.declared.is_empty() && !trees.is_null() && !known.contains(&found) {
            failures.add(format!(
                "the worktree tree is {found}, expected one of {trees}"
            ));
        }
    }

    fn head_and_index(&self, failures: &mut Failures) {
        let facts = &self.case.facts;
        if let Some(head) = facts["head"].as_object() {
            failures.equal("head", &self.document["head"], &head["commit"]);
            failures.equal("branch", &self.document["branch"], &head["ref"]);
        }
        let index = &facts["index"];
        if index.is_null() {
            return;
        }
        if !index["tree"].is_null() {
            failures.equal(
                "the index tree",
                &self.document["indexTree"],
                &index["tree"],
            );
        }
        let marked = self.marks("intentToAdd", |_| true);
        failures.equal("intentToAdd", marked, strings(&index["intent_to_add"]));
        for (flag, fact) in [
            ("skipWorktree", "skip_worktree"),
            ("assumeUnchanged", "assume_unchanged"),
        ] {
            let flagged = self.marks("flags", |entry| entry[flag] == true);
            failures.equal(flag, flagged, strings(&index[fact]));
        }
        let unmerged = index["unmerged"].as_object();
        let unmerged: Vec<&String> = unmerged
            .into_iter()
            .flat_map(|paths| paths.keys())
            .collect();
        let conflicts = strings(&self.document["conflicts"]);
        failures.equal("conflicts", conflicts.iter().collect::<Vec<_>>(), unmerged);
        self.stages(failures);
    }

    /// The conflict trees must hold exactly the stages of the index.
    fn stages(&self, failures: &mut Failures) {
        let staged = self.case.index_stages();
        for (position, tree) in strings(&self.document["conflictTrees"]).iter().enumerate() {
            let expected = staged.iter().filter(|(_, stage)| *stage == position + 1);
            let expected: Vec<_> = expected.map(|(entry, _)| entry.clone()).collect();
            let found = self.case.listing(tree);
            failures.equal("a conflict stage", shown(&found), shown(&expected));
        }
    }

    fn marks(&self, list: &str, wanted: impl Fn(&Value) -> bool) -> Vec<String> {
        let entries = self.document[list].as_array().unwrap();
        let paths = entries.iter().filter(|entry| wanted(entry));
        paths
            .map(|entry| entry["path"].as_str().unwrap().into())
            .collect()
    }

    fn paths(&self, failures: &mut Failures) {
        let facts = &self.case.facts;
        for path in strings(&facts["must_be_in"]) {
            if !self.files.contains_key(&decode(&path)) {
                failures.add(format!("`{path}` is not in the worktree tree"));
            }
        }
        let outside = strings(&facts["must_not_be_in"]);
        for path in outside.iter().chain(&strings(&facts["ignored_on_disk"])) {
            let root = decode(path.trim_end_matches('/'));
            if self.files.keys().any(|file| is_within(file, &root)) {
                failures.add(format!("`{path}` is in the worktree tree"));
            }
        }
        if let Some(untracked) = facts["untracked"].as_array() {
            let count = self.document["untracked"]["count"].as_u64();
            failures.equal("untracked files", count, Some(untracked.len() as u64));
        }
    }

    fn without_declared(&self) -> Listing {
        let kept = |path: &[u8]| !self.declared.iter().any(|root| is_within(path, root));
        let files = self.files.clone().into_iter();
        files.filter(|(path, _)| kept(path)).collect()
    }

    /// Tells whether a path is named, or stored exactly as it lies on disk.
    fn is_declared(&self, path: &[u8]) -> bool {
        let omissions = self.document["omissions"].as_array().unwrap();
        let omitted = omissions
            .iter()
            .filter_map(|omission| omission["path"].as_str());
        let empty = strings(&self.document["emptyDirectories"]);
        let mut named = omitted.chain(empty.iter().map(String::as_str));
        if named.any(|named| is_within(named.as_bytes(), path)) {
            return true;
        }
        let disk = self.case.worktree().join(disk_path(path));
        disk.is_file()
            && self.files.get(path).is_some_and(|stored| {
                stored.split_whitespace().last() == Some(&self.case.blob_id(&disk))
            })
    }
}

/// Replaces the id of a stored file by that of the bytes which Git checks out.
fn checked_out(case: &Case, document: &Value, path: &[u8], item: &mut String) {
    let (mode, id) = item.rsplit_once(' ').unwrap();
    if !mode.starts_with("100") {
        return;
    }
    let conversions = &document["conversions"];
    let autocrlf = format!(
        "core.autocrlf={}",
        conversions["autocrlf"].as_str().unwrap()
    );
    let eol = format!("core.eol={}", conversions["eol"].as_str().unwrap());
    let at = format!("--path={}", std::str::from_utf8(path).unwrap());
    let bytes = case.git(&[
        "-c",
        &autocrlf,
        "-c",
        &eol,
        "cat-file",
        "--filters",
        &at,
        id,
    ]);
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes.unwrap()).unwrap();
    *item = format!("{mode} {}", case.blob_id(file.path()));
}

fn is_within(path: &[u8], root: &[u8]) -> bool {
    path.strip_prefix(root)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}

fn shown(files: &Listing) -> Vec<String> {
    let line = |(path, item): &(Vec<u8>, String)| format!("{item} {}", path.escape_ascii());
    files.iter().map(line).collect()
}
