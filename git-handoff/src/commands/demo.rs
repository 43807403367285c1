//! `git handoff demo`.

use std::{fs, path::PathBuf, process::Command};

use schemars::JsonSchema;
use serde::Serialize;
use store::error_code::ErrorCode;

use crate::{
    context::Context,
    error::CommandError,
    exit,
    ui::{Report, shell_line, terminal_safe},
};

/// Play a whole hand-over in a temporary directory
///
/// Two clones and a guarded bare repository: an agent stops in the middle of a change, a developer restores it byte for
/// byte and takes it over, and the agent's late write is refused. Every step is shown as one would type it.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Leave the directory behind and say where it is
    #[arg(long)]
    keep: bool,
}

pub(crate) struct Played {
    steps: usize,
    directory: Option<PathBuf>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Document {
    ok: bool,
    steps: usize,
    /// The directory that was left behind, if it was asked for.
    directory: Option<String>,
}

impl Report for Played {
    const NAME: &'static str = "demo";

    type Document<'a> = Document;

    fn document(&self) -> Document {
        let directory = self.directory.as_ref();
        Document {
            ok: true,
            steps: self.steps,
            directory: directory.map(|directory| directory.to_string_lossy().into_owned()),
        }
    }

    fn text(&self) -> String {
        match &self.directory {
            Some(directory) => format!("\nThe hand-over is in {}\n", directory.display()),
            None => "The hand-over went as it should; its directory is gone. `--keep` leaves it.\n"
                .into(),
        }
    }
}

/// How a step of the play must end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ends {
    Well,
    /// Refused; the code must be in what it prints.
    With(ErrorCode),
}

struct Stage<'a> {
    context: &'a Context,
    dir: PathBuf,
    steps: usize,
}

const BEFORE: &str = "def parse(text):\n    return text.split(',')\n";
const STAGED: &str = "def parse(text):\n    return [field.strip() for field in text.split(',')]\n";
const UNSTAGED: &str = "def parse(text):\n    fields = [field.strip() for field in text.split(',')]\n    return [field or None for field in fields]\n";
const TEST: &str = "from parser import parse\n\nassert parse('a, ,b') == ['a', None, 'b']\n";

pub(crate) fn run(args: &Args, context: &Context) -> Result<u8, CommandError> {
    let temporary = tempfile::Builder::new()
        .prefix("git-handoff-demo-")
        .tempdir()?;
    let mut stage = Stage {
        context,
        dir: temporary.path().canonicalize()?,
        steps: 0,
    };
    stage.play()?;
    let steps = stage.steps;
    let directory = args.keep.then(|| temporary.keep());
    context.ui.report(&Played { steps, directory })?;
    Ok(exit::SUCCESS)
}

impl Stage<'_> {
    fn play(&mut self) -> Result<(), CommandError> {
        self.server()?;
        self.agent()?;
        self.developer()?;
        self.late_writer()?;
        self.onward()
    }

    fn server(&mut self) -> Result<(), CommandError> {
        self.say(
            "A bare repository on a server, guarded by the hook; an agent has a clone of it.",
        )?;
        self.git(
            ".",
            &[
                "init",
                "--quiet",
                "--bare",
                "--initial-branch=main",
                "server.git",
            ],
            Ends::Well,
        )?;
        self.hooks(&["install", "--git-dir", "server.git"])?;
        self.git(
            ".",
            &["clone", "--quiet", "server.git", "agent"],
            Ends::Well,
        )?;
        self.identity("agent", "agent@demo.invalid")?;
        self.write("agent/parser.py", BEFORE)?;
        self.git("agent", &["add", "parser.py"], Ends::Well)?;
        self.git(
            "agent",
            &["commit", "--quiet", "-m", "Split fields at commas"],
            Ends::Well,
        )?;
        self.git("agent", &["push", "--quiet", "origin", "main"], Ends::Well)
    }

    fn agent(&mut self) -> Result<(), CommandError> {
        self.say("The agent works: a commit that is not pushed, a staged edit, an edit on top, a file Git does not track.")?;
        self.write("agent/README", "Fields are separated by commas.\n")?;
        self.git("agent", &["add", "README"], Ends::Well)?;
        self.git(
            "agent",
            &["commit", "--quiet", "-m", "Say what a field is"],
            Ends::Well,
        )?;
        self.write("agent/parser.py", STAGED)?;
        self.git("agent", &["add", "parser.py"], Ends::Well)?;
        self.write("agent/parser.py", UNSTAGED)?;
        self.write("agent/test_parser.py", TEST)?;
        self.say("It stops here, and freezes all of it.")?;
        let objective = "Treat empty fields as null";
        self.git(
            "agent",
            &["handoff", "save", "parser", "-m", objective, "--push"],
            Ends::Well,
        )
    }

    fn developer(&mut self) -> Result<(), CommandError> {
        self.say("A developer has the URL and nothing else.")?;
        self.git(
            ".",
            &[
                "handoff",
                "restore",
                "parser",
                "developer",
                "--from",
                "server.git",
            ],
            Ends::Well,
        )?;
        self.identity("developer", "developer@demo.invalid")?;
        self.git("developer", &["status", "--short", "--branch"], Ends::Well)?;
        self.git("developer", &["log", "--oneline", "-1"], Ends::Well)?;
        self.git(
            "developer",
            &["handoff", "verify", "parser", "--worktree"],
            Ends::Well,
        )?;
        self.say("What was restored is what was saved, to the byte. The developer takes it over.")?;
        self.same("agent/parser.py", "developer/parser.py")?;
        self.same("agent/test_parser.py", "developer/test_parser.py")?;
        self.git("developer", &["handoff", "accept", "parser"], Ends::Well)
    }

    fn late_writer(&mut self) -> Result<(), CommandError> {
        self.say("The agent did not notice, and goes on writing. Its late checkpoint is refused; its work stays with it.")?;
        self.write("agent/parser.py", "def parse(text):\n    return text\n")?;
        self.git("agent", &["handoff", "sync"], Ends::Well)?;
        self.git(
            "agent",
            &["handoff", "save", "parser", "--push"],
            Ends::With(ErrorCode::NotOwner),
        )?;
        self.say("Nor does it help to go past the tool: the server judges every push.")?;
        self.git(
            "agent",
            &["push", "origin", "+HEAD:refs/handoff/parser"],
            Ends::With(ErrorCode::MalformedManifest),
        )
    }

    fn onward(&mut self) -> Result<(), CommandError> {
        self.say("The developer finishes, and the line goes on.")?;
        self.git(
            "developer",
            &[
                "commit",
                "--quiet",
                "-a",
                "-m",
                "Treat empty fields as null",
            ],
            Ends::Well,
        )?;
        self.git(
            "developer",
            &[
                "handoff",
                "save",
                "parser",
                "-m",
                "Empty fields are null",
                "--push",
            ],
            Ends::Well,
        )?;
        self.git("developer", &["handoff", "log", "parser"], Ends::Well)
    }

    fn say(&self, text: &str) -> Result<(), CommandError> {
        self.show(&format!("\n# {text}"))
    }

    /// Shows a line of the play; where a document is asked for, beside it.
    fn show(&self, line: &str) -> Result<(), CommandError> {
        if self.context.ui.is_json() {
            self.context.ui.note(line);
            return Ok(());
        }
        Ok(self.context.ui.raw(format!("{line}\n").as_bytes())?)
    }

    fn identity(&mut self, clone: &str, address: &str) -> Result<(), CommandError> {
        self.git(clone, &["config", "user.name", clone], Ends::Well)?;
        self.git(clone, &["config", "user.email", address], Ends::Well)
    }

    fn write(&mut self, path: &str, text: &str) -> Result<(), CommandError> {
        self.show(&format!("$ cat > {path}"))?;
        for line in text.lines() {
            self.show(&format!("> {line}"))?;
        }
        fs::write(self.dir.join(path), text)?;
        Ok(())
    }

    fn same(&mut self, one: &str, other: &str) -> Result<(), CommandError> {
        self.show(&format!("$ cmp {one} {other}"))?;
        self.steps += 1;
        let equal = fs::read(self.dir.join(one))? == fs::read(self.dir.join(other))?;
        if equal {
            Ok(())
        } else {
            Err(CommandError::new(
                ErrorCode::Internal,
                format!("{one} and {other} differ"),
            ))
        }
    }

    fn git(&mut self, dir: &str, args: &[&str], ends: Ends) -> Result<(), CommandError> {
        let place = self.dir.join(dir);
        let command = self.context.git(&place).apart().command(args);
        let place: &[&str] = if dir == "." { &[] } else { &["-C", dir] };
        let words = ["git"].iter().chain(place).chain(args);
        let typed: Vec<String> = words.map(ToString::to_string).collect();
        self.run(command, &typed, ends)
    }

    fn hooks(&mut self, args: &[&str]) -> Result<(), CommandError> {
        let program = std::env::current_exe()?.with_file_name("handoff-hooks");
        let mut command = Command::new(program);
        command.current_dir(&self.dir).args(args);
        let typed: Vec<String> = std::iter::once("handoff-hooks")
            .chain(args.iter().copied())
            .map(String::from)
            .collect();
        self.run(command, &typed, Ends::Well)
    }

    /// Runs one step in the play's own configuration, and sees that it ends as it must.
    fn run(
        &mut self,
        mut command: Command,
        typed: &[String],
        ends: Ends,
    ) -> Result<(), CommandError> {
        self.show(&format!("$ {}", shell_line(typed)))?;
        self.steps += 1;
        command
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1");
        for variable in [
            "HANDOFF_ID",
            "HANDOFF_KIND",
            "HANDOFF_RUN_ID",
            "HANDOFF_JSON",
        ] {
            command.env_remove(variable);
        }
        let output = store::git::run(command, &[])?;
        let printed = [output.stdout, output.stderr].concat();
        let printed = String::from_utf8_lossy(&printed).into_owned();
        for line in printed.lines() {
            self.show(&format!("  {}", terminal_safe(line)))?;
        }
        let as_expected = match ends {
            Ends::Well => output.status.success(),
            Ends::With(code) => !output.status.success() && printed.contains(code.as_str()),
        };
        if as_expected {
            return Ok(());
        }
        let message = format!(
            "the step `{}` did not end as it must: {}",
            shell_line(typed),
            output.status
        );
        Err(CommandError::new(ErrorCode::Internal, message).hint(printed))
    }
}
