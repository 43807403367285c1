//! The session in the README is what happens when one types it.

use std::path::Path;

use crate::world::World;

const README: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md");

/// A command of the session, and what the README says that it prints.
struct Step {
    command: String,
    expected: Vec<String>,
}

fn session() -> Vec<Step> {
    let text = std::fs::read_to_string(README).unwrap();
    let mut steps: Vec<Step> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        match (inside, line.strip_prefix("$ ")) {
            (_, _) if line.starts_with("```") => inside = line == "```console",
            (true, Some(command)) => steps.push(Step {
                command: command.into(),
                expected: Vec::new(),
            }),
            (true, None) => steps.last_mut().unwrap().expected.push(line.into()),
            (false, _) => {}
        }
    }
    steps
}

/// Replaces what differs from run to run: ids, digests and times.
fn normal(line: &str) -> String {
    let mut text = String::new();
    for word in line.split_inclusive(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == ':'))
    {
        let bare = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        let hex = bare.strip_prefix("sha256:").unwrap_or(bare);
        let id = hex.len() >= 40 && hex.bytes().all(|b| b.is_ascii_hexdigit());
        let time = bare.len() == 20 && bare.ends_with('Z') && bare.as_bytes()[10] == b'T';
        match (id, time) {
            (true, _) => text.push_str(&word.replace(hex, "<id>")),
            (_, true) => text.push_str(&word.replace(bare, "<time>")),
            _ => text.push_str(word),
        }
    }
    text
}

/// Makes what the README says is there: a bare repository, and a clone with unfinished work.
fn set_up(world: &World) {
    let root = world.root().to_owned();
    world
        .git(&root, ["init", "-q", "--bare", "server.git"])
        .ok();
    world
        .git(&root, ["clone", "-q", "server.git", "agent"])
        .ok();
    let agent = root.join("agent");
    let write = |name: &str, text: &str| std::fs::write(agent.join(name), text).unwrap();
    write(
        "parser.py",
        "def parse(text):\n    return text.split(\",\")\n",
    );
    world.git(&agent, ["add", "parser.py"]).ok();
    world
        .git(&agent, ["commit", "-q", "-m", "Split fields at commas"])
        .ok();
    world.git(&agent, ["push", "-q", "origin", "main"]).ok();
    write(
        "parser.py",
        "def parse(text):\n    return [f or None for f in text.split(\",\")]\n",
    );
    world.git(&agent, ["add", "parser.py"]).ok();
    write("test_parser.py", "assert parse('a,') == ['a', None]\n");
}

#[test]
fn the_session_in_the_readme_is_what_happens() {
    let world = World::new();
    set_up(&world);
    let steps = session();
    assert!(steps.len() >= 8, "the README has lost its session");
    for Step { command, expected } in steps {
        let output = run(&world, world.root(), &command);
        let printed: Vec<String> = output.lines().map(normal).collect();
        let expected: Vec<String> = expected.iter().map(|line| normal(line)).collect();
        assert_eq!(printed, expected, "after: {command}");
    }
}

/// Runs a line as a shell does and returns what a terminal would show, paths as the README gives them.
fn run(world: &World, dir: &Path, line: &str) -> String {
    let mut command = world.command("sh", dir);
    command.args(["-c", &format!("exec 2>&1; {line}")]);
    let output = command.output().unwrap();
    String::from_utf8(output.stdout)
        .unwrap()
        .replace(&world.root().display().to_string(), "/srv")
}
