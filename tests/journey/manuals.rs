//! Man pages, completions and examples: what helps somebody at a keyboard.

use std::{fs, path::Path, process::Command};

use crate::world::{Output, World};

/// Returns the subcommands that help lists.
pub(crate) fn commands(world: &World) -> Vec<String> {
    let help = world.handoff(world.root(), ["help"]).ok().stdout();
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let listed = listed.take_while(|line| !line.is_empty());
    // What is long goes on in lines that begin further in.
    let names = listed.filter_map(|line| {
        line.strip_prefix("  ")
            .filter(|line| !line.starts_with(' '))
    });
    names
        .filter_map(|line| line.split(' ').next().map(String::from))
        .collect()
}

fn exists(program: &str) -> bool {
    let found = Command::new("sh")
        .args(["-c", &format!("command -v {program}")])
        .output();
    found.is_ok_and(|found| found.status.success())
}

#[test]
fn the_installed_man_pages_are_what_git_opens() {
    let world = World::new();
    let home = world.home();
    // Where `~/.local/bin` is on the PATH, man(1) looks into `~/.local/share/man` too.
    let before = world
        .handoff(world.root(), ["man", "--install", "--json"])
        .ok()
        .json();
    assert_eq!(before["found"], false, "{before}");
    let bin = home.join(".local/bin");
    fs::create_dir_all(&bin).unwrap();
    world.set("PATH", &format!("{}:{}", world.path(), bin.display()));
    let installed = world
        .handoff(world.root(), ["man", "--install", "--json"])
        .ok()
        .json();
    assert_eq!(installed["found"], true, "{installed}");
    let directory = home.join(".local/share/man/man1");
    assert_eq!(installed["directory"], directory.display().to_string());
    for command in commands(&world) {
        let page = directory.join(format!("git-handoff-{command}.1"));
        assert!(page.is_file(), "{}", page.display());
    }
    assert!(directory.join("handoff-hooks-install.1").is_file());
    let left: Vec<_> = fs::read_dir(&directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(
        left.len(),
        installed["pages"].as_array().unwrap().len(),
        "{left:?}"
    );
    if !exists("man") {
        return World::skip("no man(1): what it makes of the pages was not seen");
    }
    // A minimised system has a `man` that shows nothing.
    let shown = world.git(world.root(), ["handoff", "--help"]);
    if !shown.stdout().contains("GIT-HANDOFF(1)") && shown.stdout().contains("minimized") {
        return World::skip("this system has a man(1) that shows nothing");
    }
    let shown = shown.ok().stdout();
    for expected in [
        "GIT-HANDOFF(1)",
        "git-handoff-save(1)",
        "EXIT STATUS",
        "accept",
    ] {
        assert!(shown.contains(expected), "{expected}: {shown}");
    }
}

#[test]
fn man_pages_go_where_xdg_says_and_manpath_is_named_until_it_finds_them() {
    let world = World::new();
    let data = world.directory("data");
    world.set("XDG_DATA_HOME", &data.display().to_string());
    let installed = world
        .handoff(world.root(), ["man", "--install"])
        .ok()
        .stdout();
    let line = format!("  export MANPATH=\"{}/man:$MANPATH\"", data.display());
    assert!(installed.lines().any(|shown| shown == line), "{installed}");
    world.set("MANPATH", &format!("{}/man:", data.display()));
    let installed = world
        .handoff(world.root(), ["man", "--install"])
        .ok()
        .stdout();
    assert!(
        installed.contains("`git handoff --help` works"),
        "{installed}"
    );
}

#[test]
fn man_pages_that_cannot_be_written_are_an_error_that_names_the_place() {
    let world = World::new();
    world.write(world.root(), "data/man", "in the way\n");
    world.set(
        "XDG_DATA_HOME",
        &world.root().join("data").display().to_string(),
    );
    let refused = world
        .handoff(world.root(), ["man", "--install"])
        .code(1)
        .stderr();
    assert!(refused.contains("data/man/man1"), "{refused}");
}

#[test]
fn every_man_page_names_options_examples_and_exit_codes() {
    let world = World::new();
    for command in commands(&world) {
        let page = world.handoff(world.root(), ["man", &command]).ok().stdout();
        for section in [
            ".SH NAME",
            ".SH SYNOPSIS",
            ".SH DESCRIPTION",
            ".SH OPTIONS",
            ".SH EXAMPLES",
            "STATUS",
        ] {
            assert!(page.contains(section), "{command} has no {section}: {page}");
        }
        assert!(page.contains("\\-\\-json"), "{command}");
    }
    let unknown = world.handoff(world.root(), ["man", "nothing"]).code(2);
    assert!(unknown.stderr().contains("git-handoff-nothing"));
}

#[test]
fn man_pages_are_without_fault_to_groff() {
    if !exists("groff") {
        return World::skip("no groff: the man pages were not formatted");
    }
    let world = World::new();
    for command in commands(&world) {
        let page = world.handoff(world.root(), ["man", &command]).ok();
        let mut groff = world.command("groff", world.root());
        groff.args(["-Kutf8", "-man", "-ww", "-Tutf8"]);
        let shown = Output::with_input(&mut groff, page.bytes()).ok();
        assert_eq!(shown.stderr(), "", "{command}");
    }
}

#[test]
fn every_example_is_a_command_line_that_is_taken() {
    let world = World::new();
    for command in commands(&world) {
        let help = world
            .handoff(world.root(), ["help", &command])
            .ok()
            .stdout();
        let examples: Vec<&str> = help
            .lines()
            .filter_map(|line| line.strip_prefix("  git handoff "))
            .collect();
        assert!(!examples.is_empty(), "{command} has no example");
        for example in examples {
            // Run where there is no repository, only usage is an error of 2 that says how it goes.
            let line = example.split(['>', '|']).next().unwrap().trim();
            let checked = format!("git handoff {line} --color=never");
            let checked = match line.split_once(" -- ") {
                Some((before, _)) => format!("git handoff {before} --color=never -- true"),
                None => checked,
            };
            if ["demo", "man --install"]
                .iter()
                .any(|long| line.starts_with(long))
            {
                continue;
            }
            let ran = world.run("sh", world.root(), ["-c", &checked]);
            let said = ran.stderr();
            assert!(!said.contains("Usage:"), "{example}: {said}");
        }
    }
}

/// Completes a line in bash, in one of two ways.
fn completed(world: &World, script: &str) -> Vec<String> {
    let file = world.root().join("completions.bash");
    let printed = world.handoff(world.root(), ["completions", "bash"]).ok();
    fs::write(&file, printed.bytes()).unwrap();
    let line = format!(
        "source {}\n{script}\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"",
        file.display()
    );
    let output = world
        .run("bash", world.root(), ["--norc", "-c", &line])
        .ok();
    assert_eq!(output.stderr(), "");
    output
        .stdout()
        .lines()
        .map(|word| word.trim_end().to_owned())
        .collect()
}

#[test]
fn bash_completes_commands_and_options_of_git_handoff_in_both_spellings() {
    let world = World::new();
    let own = |words: &str, at: usize, current: &str| {
        format!(
            r"COMP_WORDS=({words}); COMP_CWORD={at}; $(complete -p git-handoff | sed 's/.*-F \([^ ]*\).*/\1/') git-handoff '{current}' ''"
        )
    };
    assert_eq!(
        completed(&world, &own("git-handoff ver", 1, "ver")),
        ["verify"]
    );
    assert_eq!(
        completed(&world, &own("git-handoff save --pu", 2, "--pu")),
        ["--push"]
    );
    let by_git = |words: &str, at: usize, index: usize| {
        format!("words=({words}); cword={at}; __git_cmd_idx={index}; _git_handoff")
    };
    assert_eq!(
        completed(&world, &by_git("git handoff ver", 2, 1)),
        ["verify"]
    );
    assert_eq!(
        completed(&world, &by_git("git -C there handoff save --pu", 5, 3)),
        ["--push"]
    );
}

#[test]
fn the_completion_that_comes_with_git_completes_git_handoff() {
    let git = "/usr/share/bash-completion/completions/git";
    if !Path::new(git).is_file() {
        return World::skip("no completion of Git's: what it does was not seen");
    }
    let world = World::new();
    world.repo("here");
    let script = format!(
        "cd here; source {git}; COMP_WORDS=(git handoff save --pu); COMP_CWORD=3; COMP_LINE='git handoff save --pu'; \
         COMP_POINT=${{#COMP_LINE}}; __git_wrap__git_main git --pu save"
    );
    assert_eq!(completed(&world, &script), ["--push"]);
}

#[test]
fn completions_exist_for_every_shell_that_is_named() {
    let world = World::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = world
            .handoff(world.root(), ["completions", shell])
            .ok()
            .stdout();
        assert!(
            script.contains("restore") && script.contains("git-handoff"),
            "{shell}"
        );
    }
    world.handoff(world.root(), ["completions", "tcsh"]).code(2);
}
