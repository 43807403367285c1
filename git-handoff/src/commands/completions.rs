//! `git handoff completions`.

use clap_complete::Shell;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{cli, context::Context, error::CommandError, exit, ui::Report};

/// Print what completes commands in a shell
///
/// What is printed completes `git-handoff`, and in bash, zsh and fish `git handoff` too, beside Git's own completions.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

pub(crate) struct Completions {
    shell: Shell,
    script: String,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Document<'a> {
    shell: String,
    script: &'a str,
}

impl Report for Completions {
    const NAME: &'static str = "completions";

    type Document<'a> = Document<'a>;

    fn document(&self) -> Document<'_> {
        Document {
            shell: self.shell.to_string(),
            script: &self.script,
        }
    }

    fn text(&self) -> String {
        self.script.clone()
    }
}

/// Returns what Git's completion calls for `git handoff`, with what was typed in `words`; the words before the
/// subcommand are taken off, so that the rest reads as a line that begins with `git-handoff`. `__git_cmd_idx` is there
/// since Git 2.31.
fn called_by_git(function: &str) -> String {
    format!(
        r#"
_git_handoff() {{
    local at="${{__git_cmd_idx:-1}}"
    local COMP_CWORD="$((cword - at))"
    local COMP_WORDS=("git-handoff" "${{words[@]:$((at + 1))}}")
    {function} git-handoff "${{COMP_WORDS[COMP_CWORD]}}" "${{COMP_WORDS[COMP_CWORD - 1]}}"
}}
"#
    )
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<u8, CommandError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut cli::command(), "git-handoff", &mut script);
    let mut script = String::from_utf8_lossy(&script).into_owned();
    if args.shell == Shell::Bash {
        // clap_complete 4.6 spells the hyphen of a program's name in two ways, and its cases do not meet.
        script = script.replace("git__subcmd__handoff", "git__handoff");
        if let Some((function, _)) = script.split_once("()") {
            let by_git = called_by_git(function);
            script += &by_git;
        }
    }
    let shell = args.shell;
    context.ui.report(&Completions { shell, script })?;
    Ok(exit::SUCCESS)
}
