//! Installing the hook beside another one, taking it out, and seeing whether it works.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
};

use super::served::Served;

fn write_hook(path: &Path, script: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, script).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A bare repository without the hook.
fn bare(served: &Served) -> PathBuf {
    served.hooks(["uninstall"]).ok();
    served.bare.join("hooks/pre-receive")
}

#[test]
fn the_hook_is_a_script_with_an_absolute_path() {
    let served = Served::new();
    let hook = served.bare.join("hooks/pre-receive");
    let script = fs::read_to_string(&hook).unwrap();
    let program = served.asks_of_hook(&["status"])["executable"].clone();
    assert!(script.starts_with("#!/bin/sh\n"), "{script}");
    assert!(script.contains(&format!("exec '{}' pre-receive", program.as_str().unwrap())));
    assert!(Path::new(program.as_str().unwrap()).is_absolute());
    assert_eq!(
        fs::metadata(&hook).unwrap().permissions().mode() & 0o777,
        0o755
    );
}

#[test]
fn installing_twice_is_installing_once() {
    let served = Served::new();
    let hook = served.bare.join("hooks/pre-receive");
    let before = fs::read(&hook).unwrap();
    let again = served.hooks(["install", "--json"]).ok().json();
    assert_eq!(again["format"], "handoff-hooks.install.v1");
    let again = &again["repositories"][0]["hooks"][0];
    assert_eq!(again["changes"], serde_json::json!([]));
    assert_eq!(fs::read(&hook).unwrap(), before);
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o644)).unwrap();
    served.hooks(["install"]).ok();
    assert_eq!(
        fs::metadata(&hook).unwrap().permissions().mode() & 0o777,
        0o755
    );
    served.hooks(["uninstall"]).ok();
    assert!(!hook.exists());
    served.hooks(["uninstall"]).ok();
}

#[test]
fn a_dry_run_says_what_would_be_done() {
    let served = Served::new();
    let hook = bare(&served);
    write_hook(&hook, "#!/bin/sh\nexit 0\n");
    let plan = served.asks_of_hook(&["install", "--dry-run"]);
    assert_eq!(plan["changes"], serde_json::json!(["keep", "write"]));
    assert_eq!(fs::read(&hook).unwrap(), b"#!/bin/sh\nexit 0\n");
    assert_eq!(
        fs::read_dir(hook.parent().unwrap())
            .unwrap()
            .filter(|entry| {
                entry
                    .as_ref()
                    .unwrap()
                    .file_name()
                    .to_str()
                    .unwrap()
                    .contains("handoff")
            })
            .count(),
        0
    );
}

#[test]
fn a_hook_that_was_there_runs_after_ours_with_the_same_input() {
    let served = Served::new();
    let hook = bare(&served);
    let script = "#!/bin/sh\ncat >> seen; echo \"$TEST_WORD $#\" >> seen; . \"${0%/*}/library\"; exit $status\n";
    write_hook(&hook, script);
    fs::write(hook.with_file_name("library"), "status=$(cat status)\n").unwrap();
    fs::write(served.bare.join("status"), "0").unwrap();
    served.install();
    served.world.set("TEST_WORD", "kept");
    let first = served.records().first("x");
    served.takes(&first, "x");
    let seen = || fs::read_to_string(served.bare.join("seen")).unwrap();
    let line = format!("{} {first} refs/handoff/x\nkept 0\n", "0".repeat(40));
    assert_eq!(seen(), line);
    // Ours refuses: the other one, which may have effects, is not run.
    served.refuses(&first, "y", "SCOPE_MISMATCH");
    assert_eq!(seen(), line);
    // The other one refuses.
    fs::write(served.bare.join("status"), "3").unwrap();
    let next = served.records().next("x", &first);
    served.push(&[&format!("{next}:refs/handoff/x")]).code(1);
    assert_eq!(served.tip("x"), Some(first));
    // Pushes without handoff refs go to it too.
    served.push(&["HEAD:refs/heads/main"]).code(1);
    fs::write(served.bare.join("status"), "0").unwrap();
    served.push(&["HEAD:refs/heads/main"]).ok();
    served.hooks(["uninstall"]).ok();
    assert_eq!(fs::read_to_string(&hook).unwrap(), script);
    assert_eq!(
        fs::metadata(&hook).unwrap().permissions().mode() & 0o777,
        0o755
    );
    assert!(!hook.with_file_name("pre-receive.before-handoff").exists());
}

#[test]
fn a_hook_that_was_a_link_stays_one() {
    let served = Served::new();
    let hook = bare(&served);
    let shared = served.bare.join("shared");
    write_hook(&shared, "#!/bin/sh\nexit 3\n");
    symlink("../shared", &hook).unwrap();
    served.install();
    served.push(&["HEAD:refs/heads/main"]).code(1);
    write_hook(&shared, "#!/bin/sh\nexit 0\n");
    served.push(&["HEAD:refs/heads/main"]).ok();
    served.hooks(["uninstall"]).ok();
    assert_eq!(fs::read_link(&hook).unwrap(), Path::new("../shared"));
}

#[test]
fn a_link_to_our_script_belongs_to_other_repositories_too() {
    let served = Served::new();
    let hook = served.bare.join("hooks/pre-receive");
    let common = served.bare.join("common");
    fs::rename(&hook, &common).unwrap();
    symlink(&common, &hook).unwrap();
    let again = served.asks_of_hook(&["install"]);
    assert_eq!(again["changes"], serde_json::json!([]));
    let status = served.asks_of_hook(&["status"]);
    assert_eq!(status["state"], "installed");
    served.hooks(["doctor", "--live"]).ok();
    // Neither is the script changed nor the link taken for ours.
    let script = fs::read_to_string(&common).unwrap();
    let refused = served.hooks(["uninstall", "--json"]).code(5).json();
    assert_eq!(refused["code"], "DIRECTORY_NOT_EMPTY");
    fs::write(&common, script.replace("exec '/", "exec '/elsewhere/")).unwrap();
    served.hooks(["install"]).code(5);
    let failed = served.hooks(["doctor"]).code(1).stdout();
    assert!(failed.contains("FAIL program"), "{failed}");
    assert_eq!(fs::read_link(&hook).unwrap(), common);
}

#[test]
fn a_hook_that_git_did_not_run_is_kept_and_not_run() {
    let served = Served::new();
    let hook = bare(&served);
    fs::write(&hook, "#!/bin/sh\nexit 3\n").unwrap();
    served.install();
    served.push(&["HEAD:refs/heads/main"]).ok();
    served.hooks(["uninstall"]).ok();
    assert_eq!(fs::read(&hook).unwrap(), b"#!/bin/sh\nexit 3\n");
    assert_eq!(fs::metadata(&hook).unwrap().permissions().mode() & 0o111, 0);
}

#[test]
fn a_hook_that_replaced_ours_is_not_overwritten() {
    let served = Served::new();
    let hook = bare(&served);
    write_hook(&hook, "#!/bin/sh\nexit 0\n");
    served.install();
    fs::remove_file(&hook).unwrap();
    write_hook(&hook, "#!/bin/sh\n# new\nexit 0\n");
    let error = served.hooks(["install", "--json"]).code(5).json();
    assert_eq!(error["code"], "DIRECTORY_NOT_EMPTY");
    served.hooks(["uninstall"]).code(6);
    assert_eq!(served.asks_of_hook(&["status"])["state"], "foreign");
    assert_eq!(fs::read(&hook).unwrap(), b"#!/bin/sh\n# new\nexit 0\n");
}

#[test]
fn an_interrupted_installation_goes_on() {
    let served = Served::new();
    let hook = bare(&served);
    write_hook(&hook, "#!/bin/sh\nexit 3\n");
    fs::hard_link(&hook, hook.with_file_name("pre-receive.before-handoff")).unwrap();
    served.install();
    served.push(&["HEAD:refs/heads/main"]).code(1);
    served.hooks(["uninstall"]).ok();
    assert_eq!(fs::read(&hook).unwrap(), b"#!/bin/sh\nexit 3\n");
}

#[test]
fn hooks_are_where_git_looks_for_them() {
    let served = Served::new();
    bare(&served);
    served.set("core.hooksPath", "elsewhere/hooks");
    served.install();
    assert!(served.bare.join("elsewhere/hooks/pre-receive").is_file());
    let first = served.records().first("x");
    served.refuses(&first, "y", "SCOPE_MISMATCH");
    served.hooks(["doctor", "--live"]).ok();
}

#[test]
fn a_program_that_is_gone_refuses_every_push() {
    let served = Served::new();
    let hook = served.bare.join("hooks/pre-receive");
    let program = served.asks_of_hook(&["status"])["executable"].clone();
    let script = fs::read_to_string(&hook).unwrap();
    fs::write(
        &hook,
        script.replace(program.as_str().unwrap(), "/gone/handoff-hooks"),
    )
    .unwrap();
    served.push(&["HEAD:refs/heads/main"]).code(1);
    let checks = served.hooks(["doctor", "--json"]).code(1).json();
    let failed = |name: &str| {
        let checks = checks["repositories"][0]["checks"].as_array().unwrap();
        let found = checks.iter().find(|check| check["name"] == name).unwrap();
        found["ok"] == false
    };
    assert!(
        failed("program") && !failed("hook") && !failed("policy"),
        "{checks}"
    );
}

#[test]
fn the_doctor_finds_a_hook_that_does_not_work() {
    let served = Served::new();
    let hook = served.bare.join("hooks/pre-receive");
    let live = served.hooks(["doctor", "--live", "--json"]).ok().json();
    assert_eq!(live["ok"], true);
    assert_eq!(served.refs(), "");
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o644)).unwrap();
    let said = served.hooks(["doctor", "--live"]).code(1).stdout();
    assert!(said.contains("is not executable"), "{said}");
    assert!(
        said.contains("a push that breaks the rules was taken as refs/handoff/doctor-"),
        "{said}"
    );
    assert_eq!(served.refs(), "");
    served.hooks(["uninstall"]).ok();
    let said = served.hooks(["doctor"]).code(1).stdout();
    assert!(said.contains("FAIL hook: there is no "), "{said}");
    served.set("handoff.mode", "x");
    let said = served.hooks(["doctor"]).code(1).stdout();
    assert!(
        said.contains("FAIL policy: the setting handoff.mode"),
        "{said}"
    );
}

#[test]
fn a_change_can_be_judged_without_a_push() {
    let served = Served::new();
    let records = served.records();
    let first = records.first("x");
    let second = records.next("x", &first);
    served.push(&[&format!("{second}:refs/heads/objects")]).ok();
    let check =
        |old: &str, new: &str, name: &str| served.hooks(["check", "--json", old, new, name]);
    let good = check("0", &second, "refs/handoff/x").ok().json();
    assert_eq!(good["format"], "handoff-hooks.check.v1");
    assert_eq!((&good["ok"], &good["records"]), (&true.into(), &2.into()));
    let bad = check("0", &second, "refs/handoff/y").code(4).json();
    assert_eq!(
        (&bad["ok"], &bad["code"]),
        (&false.into(), &"SCOPE_MISMATCH".into())
    );
    assert_eq!(
        check(&first, &second, "refs/handoff/x").code(3).json()["code"],
        "CAS_CONFLICT"
    );
    assert_eq!(
        check(&first, "0", "refs/handoff/x").code(5).json()["code"],
        "DELETE_REFUSED"
    );
    assert_eq!(
        check("0", "abc", "refs/handoff/x").code(2).json()["code"],
        "USAGE"
    );
    let text = served.hooks(["check", "0", &second, "refs/handoff/x"]).ok();
    assert_eq!(
        text.line(),
        "refs/handoff/x may change: 2 records were judged"
    );
    // Nothing is remembered or logged.
    assert!(!served.bare.join("handoff").exists());
}
