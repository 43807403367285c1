//! Reads YAML, and JSON with it, into nodes that know their lines.
//!
//! Only what a draft needs: one document, text keys, no anchors, aliases or tags. So nothing grows while it is read,
//! and no text becomes another type by its look: what a field is for decides that.

use std::borrow::Cow;

use granit_parser::{Event, Parser, ScalarStyle};

use super::{DraftError, place::Errors};

/// Most bytes that a draft may have: those of the document that it becomes.
const MAX_BYTES: usize = crate::contract::codec::MAX_BYTES;
/// Deepest nesting, that of documents.
const MAX_DEPTH: usize = 32;

/// A value with the line that it begins on, counted from 1.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) line: usize,
    pub(super) value: Value,
}

/// What a node holds.
#[derive(Debug)]
pub(super) enum Value {
    /// Text without quotes, which may stand for null, a truth value or a number.
    Plain(String),
    /// Text in quotes, or a block of text.
    Text(String),
    List(Vec<Node>),
    Map(Vec<(String, Node)>),
}

impl Node {
    pub(super) fn is_null(&self) -> bool {
        matches!(&self.value, Value::Plain(text) if matches!(text.as_str(), "" | "~" | "null" | "Null" | "NULL"))
    }

    /// Says what is there, in the place of what is wanted.
    pub(super) fn kind(&self) -> &'static str {
        match &self.value {
            _ if self.is_null() => "null",
            Value::Plain(_) | Value::Text(_) => "text",
            Value::List(_) => "a list",
            Value::Map(_) => "a map",
        }
    }

    /// Returns the entry of a list or map by the next step of a field path: `[2]` or a key.
    pub(super) fn step(&self, step: &str) -> Option<&Node> {
        match &self.value {
            Value::List(entries) => {
                let at = step.strip_prefix('[')?.strip_suffix(']')?;
                entries.get(at.parse::<usize>().ok()?)
            }
            Value::Map(entries) => entries
                .iter()
                .find(|(key, _)| key == step)
                .map(|(_, node)| node),
            Value::Plain(_) | Value::Text(_) => None,
        }
    }
}

/// A list or map that is not at its end yet.
enum Open {
    List(usize, Vec<Node>),
    Map(usize, Vec<(String, Node)>, Option<String>),
}

/// Reads the one document of a text; keys that stand twice are added to `errors`.
pub(super) fn read(bytes: &[u8], errors: &mut Errors) -> Result<Node, DraftError> {
    if bytes.len() > MAX_BYTES {
        return Err(at(1, format!("a draft has {MAX_BYTES} bytes at most")));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let good = &bytes[..error.valid_up_to()];
        let line = 1 + good.iter().filter(|b| **b == b'\n').count();
        at(line, "it is not UTF-8".into())
    })?;
    let mut building = Building {
        open: Vec::new(),
        root: None,
        errors,
    };
    for next in Parser::new_from_str(text) {
        let (event, span) = next.map_err(|error| at(error.marker().line(), error.info()))?;
        building.take(event, span.start.line())?;
    }
    let nothing = Node {
        line: 1,
        value: Value::Map(Vec::new()),
    };
    Ok(building.root.unwrap_or(nothing))
}

fn at(line: usize, message: String) -> DraftError {
    DraftError {
        code: crate::error_code::ErrorCode::MalformedManifest,
        field: String::new(),
        line: Some(line),
        message,
    }
}

struct Building<'a> {
    open: Vec<Open>,
    root: Option<Node>,
    errors: &'a mut Errors,
}

impl Building<'_> {
    fn take(&mut self, event: Event<'_>, line: usize) -> Result<(), DraftError> {
        let tagged = |tag: bool| match tag {
            true => Err(at(line, "a draft has no tags (`!…`)".into())),
            false => Ok(()),
        };
        match event {
            Event::Alias(_) | Event::UnresolvedAlias(_) => Err(at(
                line,
                "a draft has no aliases (`*…`): write it out".into(),
            )),
            Event::DocumentStart(..) if self.root.is_some() => {
                Err(at(line, "a draft is one document".into()))
            }
            Event::Scalar(text, style, _, tag) => {
                tagged(tag.is_some())?;
                self.scalar(text, style, line)
            }
            Event::SequenceStart(_, _, tag) => {
                tagged(tag.is_some())?;
                self.enter(Open::List(line, Vec::new()), line)
            }
            Event::MappingStart(_, _, tag) => {
                tagged(tag.is_some())?;
                self.enter(Open::Map(line, Vec::new(), None), line)
            }
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(Open::List(line, entries)) => self.add(Node {
                    line,
                    value: Value::List(entries),
                }),
                Some(Open::Map(line, entries, _)) => self.add(Node {
                    line,
                    value: Value::Map(entries),
                }),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    fn enter(&mut self, open: Open, line: usize) -> Result<(), DraftError> {
        if self.open.len() == MAX_DEPTH {
            return Err(at(line, format!("it nests more than {MAX_DEPTH} deep")));
        }
        if let Some(Open::Map(_, _, None)) = self.open.last() {
            return Err(at(line, "a key is text".into()));
        }
        self.open.push(open);
        Ok(())
    }

    fn scalar(
        &mut self,
        text: Cow<'_, str>,
        style: ScalarStyle,
        line: usize,
    ) -> Result<(), DraftError> {
        let text = text.into_owned();
        if let Some(Open::Map(_, entries, key @ None)) = self.open.last_mut() {
            if entries.iter().any(|(known, _)| *known == text) {
                self.errors
                    .push(at(line, format!("the key `{text}` stands twice")));
            }
            *key = Some(text);
            return Ok(());
        }
        let value = match style {
            ScalarStyle::Plain => Value::Plain(text),
            _ => Value::Text(text),
        };
        self.add(Node { line, value })
    }

    fn add(&mut self, node: Node) -> Result<(), DraftError> {
        match self.open.last_mut() {
            None => self.root = Some(node),
            Some(Open::List(_, entries)) => entries.push(node),
            Some(Open::Map(_, entries, key)) => {
                if let Some(key) = key.take()
                    && entries.iter().all(|(known, _)| *known != key)
                {
                    entries.push((key, node));
                }
            }
        }
        Ok(())
    }
}
