//! The sessions in the README and in the page for agents are what happens when one types them.

use std::path::Path;

use crate::world::World;

const README: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md");
const AGENTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/agents.md");

/// A command of a session, and what the page says that it prints.
struct Step {
    command: String,
    expected: Vec<String>,
}

/// Returns the session of a page.
fn session(page: &str) -> Vec<Step> {
    let text = std::fs::read_to_string(page).unwrap();
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
    let steps = session(README);
    assert!(steps.len() >= 8, "the README has lost its session");
    play(&world, steps);
}

#[test]
fn the_session_in_the_page_for_agents_is_what_happens() {
    let world = World::new();
    set_up(&world);
    let text = std::fs::read_to_string(AGENTS).unwrap();
    let draft = text.split("```yaml\n").nth(1).unwrap();
    let draft = draft.split("```").next().unwrap();
    world.write(world.root(), "draft.yaml", draft);
    let steps = session(AGENTS);
    assert!(steps.len() >= 12, "the page has lost its session");
    play(&world, steps);
}

#[test]
fn every_command_that_agents_are_told_of_is_one() {
    let world = World::new();
    let text = std::fs::read_to_string(AGENTS).unwrap();
    let mut told: Vec<&str> = text
        .split("git handoff ")
        .skip(1)
        .filter_map(|rest| rest.split(|c: char| !c.is_ascii_lowercase()).next())
        .filter(|word| !word.is_empty())
        .collect();
    told.sort_unstable();
    told.dedup();
    assert!(told.len() > 10, "{told:?}");
    for command in told {
        world.handoff(world.root(), ["help", command]).ok();
    }
}

/// Types the commands of a session and compares what they print.
fn play(world: &World, steps: Vec<Step>) {
    for Step { command, expected } in steps {
        if let Some(variables) = command.strip_prefix("export ") {
            for variable in variables.split(' ') {
                let (name, value) = variable.split_once('=').unwrap();
                world.set(name, value);
            }
            continue;
        }
        let output = run(world, world.root(), &command);
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
