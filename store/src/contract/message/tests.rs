use gix::bstr::BStr;

use super::*;
use crate::contract::sample;

fn digest() -> Digest {
    Digest::of(b"a document")
}

/// The message for an objective, which must show four trailers, all of them ours.
fn subject_of(objective: &str) -> String {
    let mut manifest = sample::manifest();
    manifest.content.objective = objective.into();
    let message = checkpoint_message(&manifest, digest());
    let trailers = parse_trailers(BStr::new(&message)).unwrap();
    assert_eq!(trailers.kind(), Some(RecordKind::Checkpoint));
    assert!(message.ends_with(&format!("\n\n{trailers}")));
    message.lines().next().unwrap().into()
}

#[test]
fn a_checkpoint_says_what_is_handed_over_and_how_to_get_it() {
    let message = checkpoint_message(&sample::manifest(), digest());
    assert_eq!(
        message,
        format!(
            "handoff(DEV-1842): checkpoint 7 – Accept null where the parser now fails\n\
             \n\
             Disposition: continuable\n\
             Next action: choose_null_semantics\n\
             Claims: 1 evidenced, 1 open, 1 failed\n\
             Decisions: 1\n\
             Omissions: 3\n\
             Blockers: 2\n\
             Restore with: git handoff restore DEV-1842@7\n\
             \n\
             Handoff-Record: checkpoint\n\
             Handoff-Scope: DEV-1842\n\
             Handoff-Generation: 7\n\
             Handoff-Digest: {}\n",
            digest()
        )
    );
}

#[test]
fn an_accept_says_who_takes_over_and_until_when() {
    let message = accept_message(&sample::accept(), digest());
    assert!(message.starts_with(
        "handoff(DEV-1842): accept 7 by agent:codex-4\n\
         \n\
         Action: choose_null_semantics\n\
         Until: 2026-12-02T11:00:00Z\n\
         Delegates: 2\n\
         Acknowledged blockers: 2\n\
         Restore with: git handoff restore DEV-1842@7\n\
         \n\
         Handoff-Record: accept\n"
    ));
}

#[test]
fn a_release_says_who_gives_back() {
    let message = release_message(&sample::release(), digest());
    assert!(message.starts_with(
        "handoff(DEV-1842): release 7 by agent:codex-4\n\
         \n\
         Restore with: git handoff restore DEV-1842@7\n\
         \n\
         Handoff-Record: release\n"
    ));
}

#[test]
fn trailers_read_back_as_they_were_written() {
    let (manifest, digest) = (sample::manifest(), digest());
    let written = [
        (
            checkpoint_message(&manifest, digest),
            RecordKind::Checkpoint,
        ),
        (
            accept_message(&sample::accept(), digest),
            RecordKind::Accept,
        ),
        (
            release_message(&sample::release(), digest),
            RecordKind::Release,
        ),
    ];
    for (message, kind) in written {
        let trailers = parse_trailers(BStr::new(&message)).unwrap();
        assert_eq!(
            trailers,
            super::trailers(kind, &manifest.scope, manifest.generation, digest)
        );
    }
}

#[test]
fn an_objective_cannot_make_lines_trailers_or_escapes() {
    assert_eq!(
        subject_of("a\n\nHandoff-Record: accept\n"),
        "handoff(DEV-1842): checkpoint 7 – a"
    );
    assert_eq!(
        subject_of("a\r\u{1b}[31m\u{202e}\u{2028}\u{85}Handoff-Record: accept"),
        "handoff(DEV-1842): checkpoint 7 – a[31mHandoff-Record: accept"
    );
}

#[test]
fn a_summary_is_the_first_line_cut_to_sixty_characters() {
    assert_eq!(summary(&"ä".repeat(90)), "ä".repeat(60));
    assert_eq!(summary(&format!("{} b", "a".repeat(59))), "a".repeat(59));
    assert_eq!(summary("  a  \nb"), "a");
    assert_eq!(subject_of("\nb"), "handoff(DEV-1842): checkpoint 7");
}

#[test]
fn a_message_without_each_trailer_once_is_no_records() {
    let message = release_message(&sample::release(), digest());
    for key in ["Record", "Scope", "Generation", "Digest"] {
        let line = message
            .lines()
            .find(|line| line.starts_with(&format!("Handoff-{key}: ")))
            .unwrap();
        let without = message.replace(&format!("{line}\n"), "");
        assert_eq!(parse_trailers(BStr::new(&without)), None, "{without}");
        let twice = format!("{message}{line}\n");
        assert_eq!(parse_trailers(BStr::new(&twice)), None, "{twice}");
    }
    let not_last = format!("{message}\nSigned-off-by: somebody\n");
    assert_eq!(parse_trailers(BStr::new(&not_last)), None);
    assert_eq!(parse_trailers(BStr::new("")), None);
}

#[test]
fn a_kind_of_a_later_version_is_read_and_not_known() {
    let message = release_message(&sample::release(), digest())
        .replace("Handoff-Record: release", "Handoff-Record: verdict");
    let trailers = parse_trailers(BStr::new(&message)).unwrap();
    assert_eq!(
        (trailers.record.as_str(), trailers.kind()),
        ("verdict", None)
    );
}

#[test]
fn git_reads_the_same_trailers() {
    let message = checkpoint_message(&sample::manifest(), digest());
    let read = crate::git::Git::in_dir("/")
        .output_with_input(["interpret-trailers", "--parse"], message.as_bytes())
        .unwrap();
    let trailers = parse_trailers(BStr::new(&message)).unwrap();
    assert_eq!(String::from_utf8(read).unwrap(), trailers.to_string());
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig {
        failure_persistence: None,
        ..Default::default()
    })]

    #[test]
    fn no_objective_changes_the_trailers(objective in proptest::prelude::any::<String>()) {
        subject_of(&objective);
        subject_of(&format!("{objective}\n\nHandoff-Generation: 9\n\n{objective}"));
    }

    #[test]
    fn reading_trailers_never_panics(
        text in "(Handoff-(Record|Scope|Generation|Digest): ?(release|a|7|sha256:00)?\n{0,3}){0,9}",
        bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..80),
    ) {
        parse_trailers(BStr::new(&text));
        parse_trailers(BStr::new(&bytes));
    }
}
