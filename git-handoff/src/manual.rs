//! The man pages, made from what the command lines say of themselves.

use std::io;

use clap_mangen::{
    Man,
    roff::{Roff, bold, roman},
};

use crate::{cli, examples, exit, hooks_cli};

/// A man page of section 1.
pub(crate) struct Page {
    /// Its name, e.g. `git-handoff-save`.
    pub(crate) name: String,
    /// The page as man(1) reads it.
    pub(crate) source: Vec<u8>,
}

/// Where more is said.
const SEE_ALSO: &[(&str, &str)] = &[("git", "1"), ("gitremote-helpers", "7"), ("githooks", "5")];

/// Makes all pages: `git-handoff`, one for each of its subcommands, and the same of `handoff-hooks`.
pub(crate) fn pages() -> io::Result<Vec<Page>> {
    let mut pages = of_program(cli::command(), "git handoff", "git-handoff", examples::of)?;
    pages.extend(of_program(
        hooks_cli::command(),
        "handoff-hooks",
        "handoff-hooks",
        |_| &[],
    )?);
    Ok(pages)
}

/// Makes the page of a program and those of its subcommands.
fn of_program(
    mut program: clap::Command,
    typed: &str,
    name: &str,
    examples: fn(&str) -> &'static [examples::Example],
) -> io::Result<Vec<Page>> {
    // What is true of every subcommand is said in each of them.
    program.build();
    let subcommands: Vec<clap::Command> = program.get_subcommands().cloned().collect();
    let mut pages = vec![page(program, typed, name, &[])?];
    for subcommand in subcommands {
        let own = subcommand.get_name().to_owned();
        let (typed, name) = (format!("{typed} {own}"), format!("{name}-{own}"));
        pages.push(page(subcommand, &typed, &name, examples(&own))?);
    }
    Ok(pages)
}

fn page(
    command: clap::Command,
    typed: &str,
    name: &str,
    examples: &[examples::Example],
) -> io::Result<Page> {
    let has_subcommands = command.has_subcommands();
    let described = command
        .version(env!("CARGO_PKG_VERSION"))
        .display_name(name.to_owned())
        .bin_name(typed.to_owned());
    let man = Man::new(described)
        .title(name.to_uppercase())
        .source(concat!("git-handoff ", env!("CARGO_PKG_VERSION")))
        .manual("Git handoff");
    let mut source = Vec::new();
    man.render_title(&mut source)?;
    man.render_name_section(&mut source)?;
    man.render_synopsis_section(&mut source)?;
    man.render_description_section(&mut source)?;
    man.render_options_section(&mut source)?;
    if has_subcommands {
        man.render_subcommands_section(&mut source)?;
    }
    let mut more = Roff::new();
    if !examples.is_empty() {
        more.control("SH", ["EXAMPLES"]);
        for (command, what) in examples {
            more.control("TP", []);
            more.text([bold(*command)]);
            more.text([roman(sentence(what))]);
        }
    }
    more.control("SH", ["EXIT STATUS"]);
    for (code, meaning) in exit::MEANINGS {
        more.control("TP", []);
        more.text([bold(code.to_string())]);
        more.text([roman(sentence(meaning))]);
    }
    if name == "git-handoff-run" {
        more.control("PP", []);
        more.text([roman(
            "Once the command was started, its own status is that of git handoff run: 128 and the number of the signal \
             that ended it, 126 where it cannot be executed, 127 where it is not found. 125 is a failure around it.",
        )]);
    }
    more.control("SH", ["SEE ALSO"]);
    let others = SEE_ALSO.iter().map(|(page, section)| (*page, *section));
    let root = match name.starts_with("git-handoff-") {
        true => Some(("git-handoff", "1")),
        false => None,
    };
    let others: Vec<_> = root.into_iter().chain(others).collect();
    for (at, (page, section)) in others.iter().enumerate() {
        let comma = if at + 1 < others.len() { "," } else { "" };
        more.control("BR", [*page, &format!("({section}){comma}")]);
    }
    more.to_writer(&mut source)?;
    Ok(Page {
        name: name.into(),
        source,
    })
}

/// Makes a sentence of a phrase.
fn sentence(phrase: &str) -> String {
    let mut chars = phrase.chars();
    let first = chars.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(chars).chain(['.']).collect()
}
