use super::*;
use crate::contract::sample;

fn elsewhere(manifest: &Manifest) -> Vec<&'static str> {
    struct Names(Vec<&'static str>);
    impl Visitor for Names {
        fn list<T: CapturedEntry>(&mut self, name: &'static str, list: &mut CapturedList<T>) {
            if matches!(list, CapturedList::Elsewhere(_)) {
                self.0.push(name);
            }
        }
    }
    let (mut manifest, mut names) = (manifest.clone(), Names(vec![]));
    visit_content(&mut manifest.content, &mut names);
    visit_observed(&mut manifest.observed, &mut names);
    names.0
}

/// So many directories whose names are `length` bytes long.
fn directories(count: usize, length: usize) -> Vec<RepoPath> {
    let path = |n| RepoPath::from_bytes(format!("{n:0length$}").as_bytes()).unwrap();
    (0..count).map(path).collect()
}

#[test]
fn a_list_of_more_than_a_thousand_entries_moves_to_a_blob() {
    let mut manifest = sample::minimal_manifest();
    manifest.content.worktree.flags = sample::flags(1_000).into();
    manifest.content.worktree.empty_directories = directories(1_001, 8).into();
    let blobs = move_out_of_manifest(&mut manifest);
    assert_eq!(elsewhere(&manifest), ["worktree.emptyDirectories"]);
    let blob = blobs.get("worktree.emptyDirectories.cbor").unwrap();
    assert_eq!(blob, codec::encode(&directories(1_001, 8)));
    assert_eq!(blobs.iter().count(), 1);
    assert_eq!(manifest.content.worktree.empty_directories.count(), 1_001);
}

#[test]
fn over_512_kib_the_longest_lists_of_the_content_move_until_it_is_not() {
    let mut manifest = sample::minimal_manifest();
    manifest.content.worktree.flags = sample::flags(900).into();
    manifest.content.worktree.empty_directories = directories(900, 400).into();
    assert!(move_out_of_manifest(&mut manifest).is_empty());
    manifest.content.objective = "a".repeat(200_000);
    let blobs = move_out_of_manifest(&mut manifest);
    assert_eq!(elsewhere(&manifest), ["worktree.emptyDirectories"]);
    assert!(!blobs.is_empty());
    manifest.content.objective = "a".repeat(600_000);
    move_out_of_manifest(&mut manifest);
    assert_eq!(
        elsewhere(&manifest),
        ["worktree.flags", "worktree.emptyDirectories"],
        "empty lists stay, a reference would be longer"
    );
}

#[test]
fn the_place_of_a_contents_lists_does_not_depend_on_what_is_observed() {
    let mut manifest = sample::minimal_manifest();
    manifest.content.worktree.empty_directories = directories(900, 400).into();
    let excluded = |n: u64| Exclusion {
        source: ".gitignore".into(),
        line: n + 1,
        pattern: Some("a".repeat(400).as_str().into()),
        reason: crate::contract::ExcludedReason::Ignored,
        entries: 1,
    };
    manifest.observed.excluded = (0..900).map(excluded).collect::<Vec<_>>().into();
    let mut content = manifest.content.clone();
    assert!(move_out_of_content(&mut content).is_empty());
    let whole = manifest.clone();
    let blobs = move_out_of_manifest(&mut manifest);
    assert_eq!(manifest.content, content);
    assert_eq!(elsewhere(&manifest), ["observed.excluded"]);
    assert_eq!(put_back_into_manifest(&manifest, &blobs), Ok(whole));
}

#[test]
fn moving_lists_twice_moves_nothing_more() {
    let (mut manifest, _) = sample::manifest_with_a_blob();
    let once = manifest.clone();
    assert!(move_out_of_manifest(&mut manifest).is_empty());
    assert_eq!(manifest, once);
}

#[test]
fn entries_are_ordered_by_path_bytes_and_then_by_their_encoding() {
    let omission = |path: &[u8], reason, detail: &str| Omission {
        path: Some(RepoPath::from_bytes(path).unwrap()),
        text: None,
        reason,
        detail: Some(detail.into()),
        citation: None,
    };
    let mut entries = [
        omission(b"b", OmissionReason::TooLarge, "1"),
        omission(b"a\xff", OmissionReason::TooLarge, "1"),
        omission(b"a", OmissionReason::Unreadable, "10"),
        omission(b"a", OmissionReason::Filtered, "10"),
        omission(b"a", OmissionReason::Unreadable, "9"),
        omission("aä".as_bytes(), OmissionReason::TooLarge, "1"),
    ];
    entries.sort();
    let order: Vec<_> = entries
        .iter()
        .map(|entry| {
            let path = entry.path.as_ref().unwrap().as_bstr().to_vec();
            (path, entry.detail.clone().unwrap(), entry.reason)
        })
        .collect();
    let expected = [
        (&b"a"[..], "9", OmissionReason::Unreadable),
        (b"a", "10", OmissionReason::Filtered),
        (b"a", "10", OmissionReason::Unreadable),
        ("aä".as_bytes(), "1", OmissionReason::TooLarge),
        (b"a\xff", "1", OmissionReason::TooLarge),
        (b"b", "1", OmissionReason::TooLarge),
    ];
    let expected: Vec<_> = expected
        .map(|(path, detail, reason)| (path.to_vec(), detail.to_string(), reason))
        .into();
    assert_eq!(order, expected);
}
