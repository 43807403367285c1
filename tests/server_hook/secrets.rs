//! Secrets in what is pushed, whatever the client thinks of them.

use serde_json::Value;

use super::served::Served;

/// A value in the form of a provider's: its parts stand in no file.
fn token() -> String {
    let digits = "4eC39HqLyjWDarjtT1zdp7dc9fKx2Qbv";
    ["sk", "live", &digits[..24]].join("_")
}

/// Has the client let everything through.
fn blind(served: &Served) {
    served.world.write(
        &served.repo,
        ".gitleaks.toml",
        "[[allowlists]]\nregexes = ['.']\n",
    );
}

/// Saves the worktree in a scope and returns the record.
fn save(served: &Served, scope: &str) -> String {
    let saved = served
        .world
        .handoff(&served.repo, ["save", scope, "--json"]);
    saved.ok().json()["commit"].as_str().unwrap().to_owned()
}

fn last(served: &Served) -> Value {
    served.audit().pop().unwrap()
}

#[test]
fn no_word_counts_unless_the_operator_has_named_its_reason_and_its_user() {
    let served = Served::new();
    let (world, repo) = (&served.world, &served.repo);
    served.set("handoff.identityEnv", "TEST_USER");
    world.set("TEST_USER", "ann@example.invalid");
    world.write(repo, "fixture.txt", format!("KEY={}\n", token()));
    let said = world.handoff(repo, ["save", "x"]).code(5).stderr();
    let at = said.find("hs1:").unwrap();
    let stands_for = &said[at..at + 36];
    world
        .handoff(repo, ["allow", stands_for, "--reason", "fixture"])
        .ok();
    let record = save(&served, "x");
    served.refuses(&record, "x", "SECRET_DETECTED");
    served.set("handoff.allowReason", "fixture");
    served.refuses(&record, "x", "SECRET_DETECTED");
    served.set("handoff.allowBy", "ben");
    served.refuses(&record, "x", "SECRET_DETECTED");
    assert_eq!(last(&served).get("allowed"), None);
    served.set("handoff.allowBy", "ann@example.invalid");
    served.set("handoff.allowReason", "false alarm");
    served.refuses(&record, "x", "SECRET_DETECTED");
    served.set("handoff.allowReason", "fixture");
    served.takes(&record, "x");
    let allowed = &last(&served)["allowed"];
    assert_eq!(allowed.as_array().unwrap().len(), 1);
    assert_eq!(allowed[0]["rule"], "stripe-live-key");
    assert_eq!(allowed[0]["fingerprint"], stands_for);
    assert_eq!(allowed[0]["reason"], "fixture");
    assert_eq!(allowed[0]["by"], "ann@example.invalid");
    // What brings nothing along uses nothing.
    world.write(repo, "more.txt", "harmless\n");
    world.tick();
    served.takes(&save(&served, "x"), "x");
    assert_eq!(last(&served).get("allowed"), None);
}

/// Commits a secret and its removal, and makes the branch itself what the record calls its base.
fn history(served: &Served) -> (String, String) {
    let (world, repo) = (&served.world, &served.repo);
    world.write(repo, "deploy.sh", format!("KEY={}\n", token()));
    let with = world.commit(repo, "Add it");
    world.write(repo, "deploy.sh", "KEY=$KEY\n");
    world.commit(repo, "Take it out");
    world.git(repo, ["switch", "-q", "-c", "topic"]).ok();
    world
        .git(repo, ["branch", "-q", "--set-upstream-to=main"])
        .ok();
    world.write(repo, "new.txt", "harmless\n");
    let record = save(served, "x");
    let shown = world.handoff(repo, ["show", "x", "--json"]).ok().json();
    let repository = &shown["manifest"]["content"]["repository"];
    assert_eq!(repository["base"], repository["head"]);
    (with, record)
}

#[test]
fn a_base_that_no_branch_reaches_is_its_writers_word() {
    let served = Served::new();
    let (with, record) = history(&served);
    let said = served.refuses(&record, "x", "SECRET_DETECTED");
    assert!(
        said.contains(&format!("deploy.sh:1 of commit {with}")),
        "{said}"
    );
    assert!(!said.contains(&token()));
    // A handoff does not make a commit known, nor does a ref that comes with it.
    let both = [
        "main:refs/heads/main".to_owned(),
        format!("{record}:refs/handoff/x"),
    ];
    served.refuses_push(&[&both[0], &both[1]], "SECRET_DETECTED");
    // Once it is code that everybody has, it is nothing that the handoff brings.
    served.push(&["main:refs/heads/release"]).ok();
    served.takes(&record, "x");
    assert_eq!(last(&served)["unscannedHistory"], 3);
}

#[test]
fn all_history_is_looked_through_where_the_operator_says_so() {
    let served = Served::new();
    let (with, record) = history(&served);
    served.push(&["main:refs/heads/main"]).ok();
    served.set("handoff.scanHistory", "true");
    let said = served.refuses(&record, "x", "SECRET_DETECTED");
    assert!(said.contains(&with), "{said}");
    served.set("handoff.scanHistory", "false");
    served.takes(&record, "x");
}

#[test]
fn a_secret_that_a_branch_brought_first_is_still_one() {
    let served = Served::new();
    blind(&served);
    let (world, repo) = (&served.world, &served.repo);
    served.push(&["main:refs/heads/main"]).ok();
    world.write(repo, "deploy.sh", format!("KEY={}\n", token()));
    let record = save(&served, "x");
    // The blob is on the server already, and reached by a branch that the work does not stand on.
    world.git(repo, ["switch", "-q", "-c", "other"]).ok();
    world.commit(repo, "The same file");
    served.push(&["other:refs/heads/other"]).ok();
    let said = served.refuses(&record, "x", "SECRET_DETECTED");
    assert!(said.contains("deploy.sh:1"), "{said}");
}

#[test]
fn the_operator_adds_rules_and_none_is_lost() {
    let served = Served::new();
    let (world, repo) = (&served.world, &served.repo);
    let rules = world.root().join("rules.toml");
    world.write(
        world.root(),
        "rules.toml",
        "[[rules]]\nid = \"ours\"\nregex = \"SITE-[0-9]{6}\"\nkeywords = [\"site-\"]\n",
    );
    world.write(repo, "a.txt", "SITE-123456\n");
    let record = save(&served, "x");
    // Clean by the rules of the program, and remembered as such: not by these.
    served.takes(&save(&served, "before"), "before");
    served.set("handoff.secretRules", rules.to_str().unwrap());
    let said = served.refuses(&record, "x", "SECRET_DETECTED");
    assert!(said.contains("ours in a.txt:1"), "{said}");
    world.write(
        world.root(),
        "rules.toml",
        "[[rules]]\nid = \"ours\"\nregex = \"(\"\n",
    );
    let said = served.refuses(&record, "x", "IO");
    assert!(said.contains("handoff.secretRules"), "{said}");
    served.set("handoff.secretRules", "rules.toml");
    served.refuses(&record, "x", "IO");
    world
        .git(&served.bare, ["config", "--unset", "handoff.secretRules"])
        .ok();
    served.takes(&record, "x");
}

#[test]
fn in_shadow_a_secret_is_told_and_taken() {
    let served = Served::new();
    blind(&served);
    served.set("handoff.mode", "shadow");
    let (world, repo) = (&served.world, &served.repo);
    world.write(repo, "deploy.sh", format!("KEY={}\n", token()));
    let record = save(&served, "x");
    let pushed = served.push(&[&format!("{record}:refs/handoff/x")]).ok();
    let line = "handoff: would refuse: SECRET_DETECTED refs/handoff/x:";
    assert!(pushed.stderr().contains(line), "{}", pushed.stderr());
    assert!(!pushed.stderr().contains(&token()));
    let audit = last(&served);
    assert_eq!(
        (&audit["outcome"], &audit["code"]),
        (&"would-refuse".into(), &"SECRET_DETECTED".into())
    );
}

#[test]
fn what_the_hook_remembers_lets_nothing_in() {
    let served = Served::new();
    blind(&served);
    let (world, repo) = (&served.world, &served.repo);
    world.write(repo, "a.txt", "harmless\n");
    served.takes(&save(&served, "x"), "x");
    let dir = served.bare.join("handoff");
    let remembered: Vec<_> = std::fs::read_dir(&dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_str().unwrap().contains("/clean-"))
        .collect();
    let [file] = remembered.as_slice() else {
        panic!("{remembered:?}")
    };
    world.write(repo, "deploy.sh", format!("KEY={}\n", token()));
    let record = save(&served, "y");
    let whole = std::fs::read(file).unwrap();
    assert!(!whole.is_empty() && whole.len() % 16 == 0);
    for text in [&whole[..1], &whole[3..], &[0; 4096], &[0xff; 4096], b""] {
        std::fs::write(file, text).unwrap();
        served.refuses(&record, "y", "SECRET_DETECTED");
    }
    std::fs::remove_file(file).unwrap();
    std::fs::create_dir(file).unwrap();
    served.refuses(&record, "y", "SECRET_DETECTED");
    world.write(repo, "deploy.sh", "KEY=$KEY\n");
    served.takes(&save(&served, "z"), "z");
}
