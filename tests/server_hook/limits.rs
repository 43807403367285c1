//! How much a push may hold, and which signatures it must bear.

use std::fs;

use super::served::Served;
use crate::records::{Records, parse};

/// A first checkpoint with other files in its worktree and index.
fn with_files(records: &Records<'_>, scope: &str, files: &[(&str, &[u8])]) -> String {
    let tree = records.files(files);
    records.checkpoint(scope, None, |manifest| {
        let repository = &mut manifest.content.repository;
        (repository.worktree_tree, repository.index_tree) = (parse(&tree), parse(&tree));
    })
}

#[test]
fn a_file_has_a_largest_size() {
    let served = Served::new();
    let records = served.records();
    served.set("handoff.maxFileBytes", "1k");
    let large = with_files(&records, "x", &[("a", &[b'a'; 1_025]), ("b", b"b")]);
    let said = served.refuses(&large, "x", "LIMIT_EXCEEDED");
    assert!(
        said.contains("worktree/a has 1025 bytes, handoff.maxFileBytes allows 1024"),
        "{said}"
    );
    served.takes(&with_files(&records, "x", &[("a", &[b'a'; 1_024])]), "x");
}

#[test]
fn all_new_files_together_have_a_largest_size() {
    let served = Served::new();
    let records = served.records();
    served.set("handoff.maxTotalBytes", "1000");
    let large = with_files(&records, "x", &[("a", &[b'a'; 501]), ("b", &[b'b'; 500])]);
    let said = served.refuses(&large, "x", "LIMIT_EXCEEDED");
    assert!(said.contains("1001 bytes together"), "{said}");
    served.takes(
        &with_files(&records, "x", &[("a", &[b'a'; 500]), ("b", &[b'b'; 500])]),
        "x",
    );
}

#[test]
fn files_that_were_there_before_do_not_count() {
    let served = Served::new();
    let records = served.records();
    served.world.write(&served.repo, "large", [b'l'; 5_000]);
    served.world.commit(&served.repo, "A large file");
    served.set("handoff.maxFileBytes", "4k");
    // The head commit has it.
    let first = records.first("x");
    served.takes(&first, "x");
    // The record before has it.
    served.set("handoff.maxFileBytes", "40k");
    let more = [("large2", &[b'm'; 5_000][..])];
    let second = with_files(&records, "y", &more);
    served.takes(&second, "y");
    served.set("handoff.maxFileBytes", "4k");
    let third = records.checkpoint("y", Some(&second), |manifest| {
        let tree = parse(&records.files(&more));
        let repository = &mut manifest.content.repository;
        (repository.worktree_tree, repository.index_tree) = (tree, tree);
    });
    served.takes(&third, "y");
}

#[test]
fn what_lies_in_folders_and_beside_the_worktree_counts() {
    let served = Served::new();
    let records = served.records();
    served.set("handoff.maxFileBytes", "1k");
    let folder = records.files(&[("deep", &[b'a'; 1_025])]);
    let tree = records.tree(&[format!("040000 tree {folder}\tfolder")]);
    let nested = records.checkpoint("x", None, |manifest| {
        let repository = &mut manifest.content.repository;
        repository.worktree_tree = parse(&tree);
    });
    let said = served.refuses(&nested, "x", "LIMIT_EXCEEDED");
    assert!(said.contains("worktree/folder/deep has 1025"), "{said}");
    let raw = records.files(&[("README.md", &[b'r'; 1_025])]);
    let mut manifest = records.manifest("x", None);
    manifest.content.artifacts.raw = Some(parse(&raw));
    let mut draft = records.draft(&manifest, None);
    draft.set("040000", "tree", &raw, "raw");
    let said = served.refuses(&records.write(&draft), "x", "LIMIT_EXCEEDED");
    assert!(said.contains("raw/README.md has 1025"), "{said}");
}

#[test]
fn a_push_changes_a_limited_number_of_scopes() {
    let served = Served::new();
    let records = served.records();
    served.set("handoff.maxRefs", "2");
    let specs: Vec<String> = ["a", "b", "c"]
        .iter()
        .map(|scope| format!("{}:refs/handoff/{scope}", records.first(scope)))
        .collect();
    let specs: Vec<&str> = specs.iter().map(String::as_str).collect();
    let said = served.refuses_push(&specs, "LIMIT_EXCEEDED");
    assert!(
        said.contains("changes 3 handoff refs, handoff.maxRefs allows 2"),
        "{said}"
    );
    served
        .push(&[specs[0], specs[1], "HEAD:refs/heads/main"])
        .ok();
}

#[test]
fn where_signatures_are_required_a_record_bears_one_that_counts() {
    let served = Served::new();
    let world = &served.world;
    let key = |name: &str| {
        let path = world.root().join(name);
        let path = path.to_str().unwrap();
        let args = ["-q", "-t", "ed25519", "-N", "", "-f", path];
        world.run("ssh-keygen", world.root(), args).ok();
        (
            path.to_owned(),
            fs::read_to_string(format!("{path}.pub")).unwrap(),
        )
    };
    if world
        .run("ssh-keygen", world.root(), ["-?"])
        .exit_code()
        .is_none()
    {
        crate::world::World::skip("no ssh-keygen: signatures of records are not tested");
        return;
    }
    let ((known, known_public), (unknown, _)) = (key("known"), key("unknown"));
    let allowed = world.root().join("allowed");
    fs::write(&allowed, format!("ann@example.invalid {known_public}")).unwrap();
    served.set("gpg.ssh.allowedSignersFile", allowed.to_str().unwrap());
    served.set("handoff.requireSigned", "true");
    let records = served.records();
    let plain = records.first("x");
    let signed = |key: &str| {
        let sign = [
            "-c",
            "gpg.format=ssh",
            "-c",
            &format!("user.signingKey={key}"),
        ];
        let date = records
            .git(&["show", "-s", "--format=%at +0000", &plain])
            .line();
        world.set("GIT_COMMITTER_DATE", &date);
        world.set("GIT_AUTHOR_DATE", &date);
        let tree = format!("{plain}^{{tree}}");
        let head = records.git(&["rev-parse", "HEAD"]).line();
        let message = world.root().join("message");
        let text = records.git(&["show", "-s", "--format=%B", &plain]).stdout();
        fs::write(&message, format!("{}\n", text.trim_end())).unwrap();
        let message = message.to_str().unwrap();
        let commit = ["commit-tree", "-S", "-p", &head, "-F", message, &tree];
        let id = records.git(&[&sign[..], &commit[..]].concat()).line();
        world.unset("GIT_COMMITTER_DATE");
        world.unset("GIT_AUTHOR_DATE");
        id
    };
    served.refuses(&plain, "x", "FORBIDDEN_ACTION");
    served.refuses(&signed(&unknown), "x", "FORBIDDEN_ACTION");
    // What the environment says of keys does not count.
    let theirs = world.root().join("theirs");
    let public = fs::read_to_string(format!("{unknown}.pub")).unwrap();
    fs::write(&theirs, format!("ann@example.invalid {public}")).unwrap();
    world.set("GIT_CONFIG_COUNT", "1");
    world.set("GIT_CONFIG_KEY_0", "gpg.ssh.allowedSignersFile");
    world.set("GIT_CONFIG_VALUE_0", theirs.to_str().unwrap());
    served.refuses(&signed(&unknown), "x", "FORBIDDEN_ACTION");
    world.unset("GIT_CONFIG_COUNT");
    served.takes(&signed(&known), "x");
}
