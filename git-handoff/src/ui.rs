//! Everything that is printed: data on standard output, all else on standard error.

use std::io::{self, Write};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use store::{contract::codec, error_code::ErrorCode};

pub(crate) use crate::untrusted::terminal_safe;

use crate::{
    error::{CommandError, Detail},
    untrusted::Fence,
};

/// How results are printed.
pub(crate) struct Ui {
    json: bool,
    quiet: bool,
}

/// A result that a command prints, in one of two forms.
pub(crate) trait Report {
    /// Name in `format`: `handoff-cli.<name>.v1`.
    const NAME: &'static str;

    /// The document, without `format` and `nextCommands`.
    type Document<'a>: Serialize + JsonSchema
    where
        Self: 'a;

    /// Returns the document.
    fn document(&self) -> Self::Document<'_>;

    /// Returns the text form, lines that end in line feeds.
    fn text(&self) -> String;

    /// Returns commands that lead on.
    fn next_commands(&self) -> Vec<Vec<String>> {
        Vec::new()
    }
}

impl Ui {
    pub(crate) fn new(json: bool, quiet: bool) -> Self {
        Ui { json, quiet }
    }

    /// Tells whether documents are asked for.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Prints the result of a command.
    pub(crate) fn report<R: Report>(&self, report: &R) -> io::Result<()> {
        let next = report.next_commands();
        if self.json {
            return self.line(&document(R::NAME, &report.document(), Some(&next)));
        }
        let mut text = report.text();
        if !next.is_empty() && !self.quiet {
            text.push_str("next:\n");
            for command in &next {
                text.push_str(&format!("  {}\n", shell_line(command)));
            }
        }
        self.raw(text.as_bytes())
    }

    /// Prints one line of a result that has one document a line.
    pub(crate) fn row<R: Report>(&self, row: &R) -> io::Result<()> {
        if self.json {
            self.line(&document(R::NAME, &row.document(), None))
        } else {
            self.raw(row.text().as_bytes())
        }
    }

    /// Prints bytes as they are.
    pub(crate) fn raw(&self, bytes: &[u8]) -> io::Result<()> {
        let mut out = anstream::stdout().lock();
        let written = out.write_all(bytes).and_then(|()| out.flush());
        written.map_err(|error| unwritten(&error))
    }

    fn line(&self, value: &Value) -> io::Result<()> {
        self.raw(format!("{value}\n").as_bytes())
    }

    /// Tells something on standard error that no result holds.
    pub(crate) fn note(&self, text: &str) {
        if !self.quiet {
            text.lines().for_each(|line| self.say(&terminal_safe(line)));
        }
    }

    /// Warns, quiet or not.
    pub(crate) fn warn(&self, code: &str, text: &str) {
        self.say(&format!("warning: {code}: {}", terminal_safe(text)));
    }

    /// Asks a question about something that others have written; only `y` and `yes` are a yes.
    pub(crate) fn ask(&self, about: &Fence, question: &str) -> io::Result<bool> {
        let mut out = anstream::stderr().lock();
        write!(out, "{}{question} [y/N] ", about.to_text())?;
        out.flush()?;
        let mut answer = String::new();
        io::stdin().read_line(&mut answer)?;
        Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
    }

    fn say(&self, text: &str) {
        // Standard error may be closed; there is nobody left to tell.
        let _ = writeln!(anstream::stderr(), "{text}");
    }

    /// Prints an error: as a document on standard output, or in words on standard error.
    pub(crate) fn error(&self, error: &CommandError) {
        if self.json {
            let body = ErrorDocument {
                code: error.code,
                message: &error.message,
                hint: (!error.hints.is_empty()).then(|| error.hints.join("\n")),
                subject: error.subject.as_deref(),
                errors: &error.errors,
            };
            let next = Some(error.next_commands.as_slice());
            let printed = self.line(&document(ErrorDocument::NAME, &body, next));
            if printed.is_ok() {
                return;
            }
        }
        self.say(&format!(
            "error: {} [{}]",
            terminal_safe(&error.message),
            error.code
        ));
        // A single one is named by the message already.
        let single = error.errors.len() == 1;
        let details = error.errors.iter().filter(|_| !single);
        for detail in details.filter(|detail| !error.message.contains(&detail.message)) {
            self.say(&format!(
                "  {}: {}",
                detail.code,
                terminal_safe(&detail.message)
            ));
        }
        for hint in &error.hints {
            self.say(&format!("hint: {}", terminal_safe(hint)));
        }
        for command in &error.next_commands {
            self.say(&format!("  {}", shell_line(command)));
        }
    }
}

/// Says that it is standard output that an error speaks of.
pub(crate) fn unwritten(error: &io::Error) -> io::Error {
    let message = format!("standard output could not be written: {error}");
    io::Error::new(error.kind(), message)
}

/// The document of an error.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ErrorDocument<'a> {
    code: ErrorCode,
    message: &'a str,
    /// What to do next, a sentence a line.
    hint: Option<String>,
    /// The scope, ref, path or file that it concerns.
    subject: Option<&'a str>,
    /// The single errors, where several are reported at once.
    errors: &'a [Detail],
}

impl ErrorDocument<'_> {
    /// Name in `format`.
    pub(crate) const NAME: &'static str = "error";
}

/// Returns the value of the field `format`.
pub(crate) fn format_of(name: &str) -> String {
    format!("handoff-cli.{name}.v1")
}

fn document<D: Serialize>(name: &str, body: &D, next_commands: Option<&[Vec<String>]>) -> Value {
    let mut document = Map::new();
    document.insert("format".into(), format_of(name).into());
    if let Value::Object(fields) = codec::to_json(body) {
        document.extend(fields);
    }
    if let Some(next) = next_commands {
        document.insert("nextCommands".into(), next.into());
    }
    Value::Object(document)
}

/// Writes a number with the noun that it counts.
pub(crate) fn count(number: u64, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// Writes a command as one would type it.
pub(crate) fn shell_line(command: &[String]) -> String {
    let quote = |word: &String| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=@%+,^".contains(c);
        if !word.is_empty() && word.chars().all(plain) {
            word.clone()
        } else {
            format!("'{}'", terminal_safe(word).replace('\'', "'\\''"))
        }
    };
    command.iter().map(quote).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_quoted_as_one_types_them() {
        let words = ["git", "handoff", "save", "-m", "it's half done"].map(String::from);
        assert_eq!(
            shell_line(&words),
            r"git handoff save -m 'it'\''s half done'"
        );
    }
}
