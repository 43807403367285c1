//! A place in a draft, and the values that may stand there.
//!
//! Every way of reading takes down what is wrong and goes on, so that one run finds all errors.

use std::collections::{BTreeMap, BTreeSet};

use serde::de::{DeserializeOwned, IntoDeserializer, value::StrDeserializer};

use super::{
    DraftError,
    yaml::{Node, Value},
};
use crate::{contract, error_code::ErrorCode};

/// A field of a draft, whether anything stands there or not.
pub(super) struct Place<'a> {
    node: Option<&'a Node>,
    path: String,
    /// Line of the node, else of what it would be in.
    line: usize,
}

/// The fields of a map that nobody has asked for yet.
pub(super) struct Fields<'a> {
    left: Vec<(&'a str, &'a Node)>,
    path: String,
    line: usize,
}

/// The errors found so far.
#[derive(Debug, Default)]
pub(super) struct Errors {
    pub(super) found: Vec<DraftError>,
    /// Lists of which an entry could not be read at all.
    pub(super) incomplete: BTreeSet<String>,
}

impl Errors {
    pub(super) fn push(&mut self, error: DraftError) {
        self.found.push(error);
    }
}

impl<'a> Place<'a> {
    pub(super) fn top(node: &'a Node) -> Self {
        Place {
            node: Some(node),
            path: String::new(),
            line: node.line,
        }
    }

    pub(super) fn refuse(&self, message: impl Into<String>, errors: &mut Errors) {
        errors.push(DraftError {
            code: ErrorCode::MalformedManifest,
            field: self.path.clone(),
            line: Some(self.line),
            message: message.into(),
        });
    }

    /// Tells whether a value stands here that is not null.
    pub(super) fn is_given(&self) -> bool {
        self.node.is_some_and(|node| !node.is_null())
    }

    /// Tells whether anything stands here, be it null.
    pub(super) fn is_there(&self) -> bool {
        self.node.is_some()
    }

    fn found(&self) -> &'static str {
        self.node.map_or("nothing", Node::kind)
    }

    fn written(&self) -> Option<&'a str> {
        match &self.node?.value {
            Value::Plain(text) | Value::Text(text) => Some(text),
            Value::List(_) | Value::Map(_) => None,
        }
    }

    /// Reads what must be there and is written as one word or text.
    pub(super) fn word<T: DeserializeOwned>(&self, errors: &mut Errors) -> Option<T> {
        let Some(text) = self.written().filter(|_| self.is_given()) else {
            let found = self.found();
            self.refuse(format!("text is needed here, not {found}"), errors);
            return None;
        };
        let deserializer: StrDeserializer<'_, serde::de::value::Error> = text.into_deserializer();
        match T::deserialize(deserializer) {
            Ok(value) => Some(value),
            Err(error) => {
                self.refuse(error.to_string(), errors);
                None
            }
        }
    }

    /// Reads a word or text that may be left out or null.
    pub(super) fn optional<T: DeserializeOwned>(&self, errors: &mut Errors) -> Option<T> {
        if self.is_given() {
            self.word(errors)
        } else {
            None
        }
    }

    /// Reads text that must be there; what is wrong leaves it empty.
    pub(super) fn text(&self, errors: &mut Errors) -> String {
        self.word(errors).unwrap_or_default()
    }

    pub(super) fn truth(&self, errors: &mut Errors) -> bool {
        match self.written() {
            Some("true") => return true,
            Some("false") => {}
            _ => self.refuse("true or false is needed here", errors),
        }
        false
    }

    pub(super) fn number(&self, errors: &mut Errors) -> Option<u64> {
        if !self.is_given() {
            return None;
        }
        let number = self.written().and_then(|text| text.parse().ok());
        if number.is_none() {
            self.refuse("a whole number is needed here", errors);
        }
        number
    }

    /// Reads a list; left out or null, it is empty.
    pub(super) fn list<T>(
        &self,
        errors: &mut Errors,
        mut read: impl FnMut(&Place<'a>, &mut Errors) -> Option<T>,
    ) -> Vec<T> {
        let entries = match self.node.map(|node| &node.value) {
            Some(Value::List(entries)) => entries.as_slice(),
            _ if !self.is_given() => &[],
            _ => {
                let found = self.found();
                self.refuse(format!("a list is needed here, not {found}"), errors);
                &[]
            }
        };
        let place = |(at, node): (usize, &'a Node)| Place {
            node: Some(node),
            path: format!("{}[{at}]", self.path),
            line: node.line,
        };
        let mut values = Vec::new();
        for place in entries.iter().enumerate().map(place) {
            match read(&place, errors) {
                Some(value) => values.push(value),
                None => _ = errors.incomplete.insert(self.path.clone()),
            }
        }
        values
    }

    /// Reads a list of words.
    pub(super) fn words<T: DeserializeOwned>(&self, errors: &mut Errors) -> Vec<T> {
        self.list(errors, |place, errors| place.word(errors))
    }

    /// Takes a map apart; `None`, with an error, where there is something else.
    pub(super) fn fields(&self, errors: &mut Errors) -> Option<Fields<'a>> {
        let Some(Value::Map(entries)) = self.node.map(|node| &node.value) else {
            let found = self.found();
            self.refuse(format!("a map is needed here, not {found}"), errors);
            return None;
        };
        let left = entries.iter().map(|(key, node)| (key.as_str(), node));
        Some(Fields {
            left: left.collect(),
            path: self.path.clone(),
            line: self.line,
        })
    }

    /// Reads a map whose keys and values are somebody else's.
    pub(super) fn extensions(&self, errors: &mut Errors) -> BTreeMap<String, contract::Value> {
        let Some(node) = self.node.filter(|node| !node.is_null()) else {
            return BTreeMap::new();
        };
        match self.any(node, errors) {
            contract::Value::Map(values) => values,
            _ => {
                self.refuse("a map is needed here", errors);
                BTreeMap::new()
            }
        }
    }

    /// Reads a value of no kind in particular, plain words by the core schema of YAML 1.2.
    fn any(&self, node: &Node, errors: &mut Errors) -> contract::Value {
        match &node.value {
            _ if node.is_null() => contract::Value::Null,
            Value::Text(text) => contract::Value::Text(text.clone()),
            Value::Plain(text) => match text.as_str() {
                "true" | "True" | "TRUE" => contract::Value::Bool(true),
                "false" | "False" | "FALSE" => contract::Value::Bool(false),
                text => match text.parse::<i64>() {
                    Ok(number) => contract::Value::Integer(number),
                    Err(_) => {
                        let place = Place {
                            node: None,
                            path: self.path.clone(),
                            line: node.line,
                        };
                        if text.parse::<f64>().is_ok() {
                            place.refuse(
                                format!(
                                    "`{text}` is no whole number of 64 bits; write it in quotes"
                                ),
                                errors,
                            );
                        }
                        contract::Value::Text(text.into())
                    }
                },
            },
            Value::List(entries) => {
                contract::Value::List(entries.iter().map(|node| self.any(node, errors)).collect())
            }
            Value::Map(entries) => contract::Value::Map(
                entries
                    .iter()
                    .map(|(key, node)| (key.clone(), self.any(node, errors)))
                    .collect(),
            ),
        }
    }
}

impl<'a> Fields<'a> {
    /// Takes the field of a key.
    pub(super) fn take(&mut self, key: &str) -> Place<'a> {
        let at = self.left.iter().position(|(name, _)| *name == key);
        let node = at.map(|at| self.left.remove(at).1);
        let separator = if self.path.is_empty() { "" } else { "." };
        Place {
            node,
            path: format!("{}{separator}{key}", self.path),
            line: node.map_or(self.line, |node| node.line),
        }
    }

    /// Refuses the fields that nobody has asked for; `captured` are those that only a capture writes.
    pub(super) fn end(self, captured: &[&str], errors: &mut Errors) {
        for (key, node) in &self.left {
            let separator = if self.path.is_empty() { "" } else { "." };
            let known: String = key.chars().take(100).collect();
            let message = match captured.contains(key) {
                true => "this is captured, and not for a draft to say".to_owned(),
                false => "there is no such field".to_owned(),
            };
            errors.push(DraftError {
                code: ErrorCode::MalformedManifest,
                field: format!("{}{separator}{known}", self.path),
                line: Some(node.line),
                message,
            });
        }
    }
}
