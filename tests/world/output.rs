//! What a program that ran has left behind.

use std::{
    io::{Seek, Write},
    process::Command,
};

use serde_json::Value;

/// The output of a program that has ended.
#[derive(Debug)]
pub(crate) struct Output {
    command: String,
    code: Option<i32>,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

impl Output {
    /// Runs a command to its end.
    #[track_caller]
    pub(crate) fn of(command: &mut Command) -> Self {
        let name = format!("{command:?}");
        let output = command
            .output()
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        Output {
            command: name,
            code: output.status.code(),
            stdout: output.stdout,
            stderr: output.stderr,
        }
    }

    /// Runs a command to its end with `input` as its standard input.
    #[track_caller]
    pub(crate) fn with_input(command: &mut Command, input: impl AsRef<[u8]>) -> Self {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(input.as_ref()).unwrap();
        file.rewind().unwrap();
        Self::of(command.stdin(file))
    }

    /// Asserts that it succeeded.
    #[track_caller]
    pub(crate) fn ok(self) -> Self {
        self.code(0)
    }

    /// Asserts its exit code.
    #[track_caller]
    pub(crate) fn code(self, code: i32) -> Self {
        assert_eq!(
            self.code,
            Some(code),
            "{}\n--- stdout\n{}--- stderr\n{}",
            self.command,
            self.stdout(),
            self.stderr()
        );
        self
    }

    /// Returns its exit code; `None` where a signal ended it.
    pub(crate) fn exit_code(&self) -> Option<i32> {
        self.code
    }

    /// Returns its standard output as text.
    pub(crate) fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Returns the bytes of its standard output.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.stdout
    }

    /// Returns its standard error as text.
    pub(crate) fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }

    /// Returns its standard output without the line feed at the end.
    pub(crate) fn line(&self) -> String {
        self.stdout().trim_end_matches('\n').into()
    }

    /// Returns its standard output as one JSON document.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", self.stdout()))
    }

    /// Returns its standard output as JSON documents, one a line.
    #[track_caller]
    pub(crate) fn json_lines(&self) -> Vec<Value> {
        let document = |line: &str| {
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
        };
        self.stdout().lines().map(document).collect()
    }
}
