//! Expressions, which are compiled when they are first needed.

use std::sync::OnceLock;

use gix::bstr::{BStr, ByteSlice};
use regex::bytes::Regex;
use regex_automata::meta;

use super::dialect;

/// An expression that is compiled when it is first needed.
pub(super) struct Lazy {
    pattern: String,
    compiled: OnceLock<Option<Regex>>,
}

impl Lazy {
    /// Takes an expression; one of others must be proved now.
    pub(super) fn new(origin: Origin, pattern: &str) -> Result<Self, String> {
        if origin == Origin::Others {
            // Compiled once more when it is used: most never are, and keep no memory.
            dialect::compile(pattern).map_err(|error| one_line(&error.to_string()))?;
        }
        Ok(Lazy {
            pattern: pattern.to_owned(),
            compiled: OnceLock::new(),
        })
    }

    /// Returns the expression; every one was proved to compile, ours by a test, others when they were read.
    pub(super) fn get(&self) -> Option<&Regex> {
        let compile = || dialect::compile(&self.pattern).ok();
        self.compiled.get_or_init(compile).as_ref()
    }
}

/// An expression for paths, which is compiled when it is first needed.
pub(super) struct PathPattern {
    pattern: String,
    compiled: OnceLock<Option<meta::Regex>>,
}

impl PathPattern {
    /// Takes an expression; one of others must be proved now.
    pub(super) fn new(origin: Origin, pattern: &str) -> Result<Self, String> {
        if origin == Origin::Others {
            // The first says more where it fails.
            dialect::compile(pattern).map_err(|error| one_line(&error.to_string()))?;
            dialect::compile_for_paths(pattern).map_err(|error| one_line(&error.to_string()))?;
        }
        Ok(PathPattern {
            pattern: pattern.to_owned(),
            compiled: OnceLock::new(),
        })
    }

    /// Returns the expression as it is written.
    pub(super) fn as_str(&self) -> &str {
        &self.pattern
    }

    /// Tells whether a path matches.
    pub(super) fn is_match(&self, path: &BStr) -> bool {
        let compile = || dialect::compile_for_paths(&self.pattern).ok();
        let compiled = self.compiled.get_or_init(compile).as_ref();
        compiled.is_some_and(|regex| regex.is_match(path.as_bytes()))
    }
}

/// Where rules come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Origin {
    Own,
    Others,
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
