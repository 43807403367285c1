//! Git's built-in conversions from a stored blob to the bytes on disk, under the settings of a checkpoint.
//!
//! Capture and restore both use them, so that `raw/` holds exactly what they do not bring back. Attributes come
//! from the `.gitattributes` of the tree alone: what a system, a user or `info/attributes` says is not part of a
//! checkpoint. No filter driver is ever run.

mod encoding;
mod ident;

use std::{borrow::Cow, io::Read, os::unix::ffi::OsStrExt};

use gix::{
    ObjectId,
    attrs::{
        Search, StateRef,
        search::{MetadataCollection, Outcome},
    },
    bstr::{BStr, BString},
    filter::plumbing::{Pipeline, eol, pipeline, pipeline::convert::to_worktree},
    glob::pattern::Case,
    worktree::{
        Stack,
        stack::{State, state::Attributes, state::attributes::Source},
    },
};

use self::encoding::WideEncoding;
use crate::contract::{AutoCrlf, Conversions, Eol};

/// Cause of an error, boxed at the edge to gix.
type Cause = Box<dyn std::error::Error + Send + Sync>;

/// Attributes that convert without a driver, and the one that names a driver, gitattributes(5).
const ATTRIBUTES: [&str; 6] = [
    "text",
    "crlf",
    "eol",
    "ident",
    "working-tree-encoding",
    "filter",
];

/// Converts blobs of one tree.
///
/// Paths are best asked for in the order of the tree: the attributes of a folder are kept while it is the current one.
#[derive(Clone)]
pub struct WorktreeConversion {
    attributes: Option<Stack>,
    selected: Outcome,
    pipeline: Pipeline,
    auto_crlf: bool,
    hash: gix::hash::Kind,
}

/// What happens to the content of a path on its way to disk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PathConversion {
    /// Whether a built-in conversion can change its bytes.
    pub converts: bool,
    /// Whether `$Id$` is expanded.
    expands_id: bool,
    /// The encoding on disk, where it is one that gix does not write.
    encoding: Option<WideEncoding>,
    /// The filter driver that the attributes name, which is not run.
    pub driver: Option<BString>,
}

/// Says why a blob could not be converted.
#[derive(Debug, thiserror::Error)]
#[error("the content of `{path}` could not be converted for the worktree")]
pub struct ConversionError {
    /// The path.
    pub path: BString,
    /// What went wrong.
    #[source]
    pub source: Cause,
}

impl WorktreeConversion {
    /// Makes the conversions of a tree.
    ///
    /// `attribute_files` are the regular files of the tree that are named `.gitattributes`, with their blobs.
    pub fn new(
        attribute_files: impl IntoIterator<Item = (BString, ObjectId)>,
        settings: &Conversions,
        hash: gix::hash::Kind,
    ) -> Self {
        let mut files: Vec<(BString, ObjectId)> = attribute_files.into_iter().collect();
        files.sort();
        let mut collection = MetadataCollection::default();
        let globals = Search::new_globals(
            std::iter::empty::<std::path::PathBuf>(),
            &mut Vec::new(),
            &mut collection,
        )
        .unwrap_or_default();
        let mut selected = Outcome::default();
        selected.initialize_with_selection(&collection, ATTRIBUTES);
        let attributes = (!files.is_empty()).then(|| {
            let state = Attributes::new(globals, None, Source::IdMapping, collection);
            let state = State::AttributesStack(state);
            Stack::new("", state, Case::Sensitive, Vec::new(), files)
        });
        let options = pipeline::Options {
            drivers: Vec::new(),
            eol_config: eol_configuration(settings),
            crlf_roundtrip_check: pipeline::CrlfRoundTripCheck::Skip,
            encodings_with_roundtrip_check: Vec::new(),
        };
        WorktreeConversion {
            attributes,
            selected,
            pipeline: Pipeline::new(gix::command::Context::default(), hash, options),
            auto_crlf: settings.autocrlf == AutoCrlf::True,
            hash,
        }
    }

    /// Tells whether no path of the tree can be changed by a conversion, nor names a driver.
    pub fn is_identity(&self) -> bool {
        self.attributes.is_none() && !self.auto_crlf
    }

    /// Tells what happens to the content of a regular file.
    ///
    /// # Errors
    ///
    /// Where a `.gitattributes` of the tree cannot be read from `objects`.
    pub fn at(
        &mut self,
        path: &BStr,
        objects: &dyn gix::objs::Find,
    ) -> Result<PathConversion, ConversionError> {
        let mut found = PathConversion {
            converts: self.auto_crlf,
            expands_id: false,
            encoding: None,
            driver: None,
        };
        let Some(attributes) = &mut self.attributes else {
            return Ok(found);
        };
        let platform = attributes
            .at_entry(path, None, objects)
            .map_err(|source| failed(path, source))?;
        self.selected.reset();
        platform.matching_attributes(&mut self.selected);
        for (name, attribute) in ATTRIBUTES.iter().zip(self.selected.iter_selected()) {
            match (attribute.assignment.state, *name) {
                (StateRef::Value(driver), "filter") => {
                    found.driver = Some(driver.as_bstr().into());
                }
                (StateRef::Unspecified | StateRef::Unset, _) | (_, "filter") => {}
                (state, name) => {
                    found.converts = true;
                    match (name, state) {
                        ("ident", StateRef::Set) => found.expands_id = true,
                        ("working-tree-encoding", StateRef::Value(name)) => {
                            found.encoding = WideEncoding::named(name.as_bstr());
                        }
                        _ => {}
                    }
                }
            }
        }
        Ok(found)
    }

    /// Converts the content of a regular file on disk to what Git would store of it.
    ///
    /// `staged` is the blob that the index has for the path: Git keeps CRLF where that has some, gitattributes(5).
    ///
    /// # Errors
    ///
    /// Where the content cannot be converted, or a `.gitattributes` of the tree cannot be read from `objects`.
    pub fn to_git(
        &mut self,
        path: &BStr,
        content: &[u8],
        staged: ObjectId,
        objects: &dyn gix::objs::Find,
    ) -> Result<Vec<u8>, ConversionError> {
        let attributes = &mut self.attributes;
        let mut unread = None;
        let mut lookup = |path: &BStr, out: &mut Outcome| {
            let Some(attributes) = attributes else { return };
            match attributes.at_entry(path, None, objects) {
                Ok(platform) => drop(platform.matching_attributes(out)),
                Err(error) => unread = Some(error),
            }
        };
        let mut index_object = |buffer: &mut Vec<u8>| {
            let found = objects.try_find(&staged, buffer)?;
            Ok(found.map(|_| ()))
        };
        let relative = std::path::Path::new(std::ffi::OsStr::from_bytes(path));
        let mut converted = Vec::new();
        self.pipeline
            .convert_to_git(content, relative, &mut lookup, &mut index_object)
            .map_err(Cause::from)
            .and_then(|mut outcome| Ok(outcome.read_to_end(&mut converted)?))
            .map_err(|source| failed(path, source))?;
        match unread {
            Some(error) => Err(failed(path, error)),
            None => Ok(converted),
        }
    }

    /// Converts the content of a regular file.
    ///
    /// An encoding that is not known, or cannot hold the content, leaves the bytes as they are: Git does so too.
    ///
    /// # Errors
    ///
    /// Where a `.gitattributes` of the tree cannot be read from `objects`.
    pub fn to_worktree<'a>(
        &mut self,
        path: &BStr,
        content: &'a [u8],
        objects: &dyn gix::objs::Find,
    ) -> Result<Cow<'a, [u8]>, ConversionError> {
        let treatment = self.at(path, objects)?;
        let content = if treatment.expands_id {
            ident::expand(content, self.hash).map_err(|source| failed(path, source))?
        } else {
            Cow::Borrowed(content)
        };
        let attributes = &mut self.attributes;
        let mut unread = None;
        let mut lookup = |path: &BStr, out: &mut Outcome| {
            let Some(attributes) = attributes else { return };
            match attributes.at_entry(path, None, objects) {
                Ok(platform) => drop(platform.matching_attributes(out)),
                Err(error) => unread = Some(error),
            }
        };
        let options = to_worktree::Options {
            can_delay: gix::filter::plumbing::driver::apply::Delay::Forbid,
            unknown_encoding: to_worktree::UnknownEncoding::Ignore,
        };
        let converted = self
            .pipeline
            .convert_to_worktree(&content, path, &mut lookup, options)
            .map_err(|source| failed(path, source))?;
        let changed = converted
            .is_changed()
            .then(|| converted.as_bytes().map(<[u8]>::to_vec));
        if let Some(error) = unread {
            return Err(failed(path, error));
        }
        let converted = match changed.flatten() {
            Some(bytes) => Cow::Owned(bytes),
            None => content,
        };
        let encoded = treatment
            .encoding
            .and_then(|encoding| encoding.encode(&converted));
        Ok(encoded.map_or(converted, Cow::Owned))
    }
}

fn failed(path: &BStr, source: impl Into<Cause>) -> ConversionError {
    ConversionError {
        path: path.into(),
        source: source.into(),
    }
}

fn eol_configuration(settings: &Conversions) -> eol::Configuration {
    eol::Configuration {
        auto_crlf: match settings.autocrlf {
            AutoCrlf::True => eol::AutoCrlf::Enabled,
            AutoCrlf::Input => eol::AutoCrlf::Input,
            AutoCrlf::False => eol::AutoCrlf::Disabled,
        },
        eol: match settings.eol {
            Eol::Lf => Some(eol::Mode::Lf),
            Eol::Crlf => Some(eol::Mode::CrLf),
            Eol::Native => None,
        },
    }
}

/// Returns the conversions that the configuration of a repository puts in force.
pub fn in_force(repository: &gix::Repository) -> Conversions {
    let config = repository.config_snapshot();
    let autocrlf = match config.string("core.autocrlf") {
        Some(value) if value.eq_ignore_ascii_case(b"input") => AutoCrlf::Input,
        _ if config.boolean("core.autocrlf") == Some(true) => AutoCrlf::True,
        _ => AutoCrlf::False,
    };
    let eol = match config.string("core.eol") {
        Some(value) if value.eq_ignore_ascii_case(b"lf") => Eol::Lf,
        Some(value) if value.eq_ignore_ascii_case(b"crlf") => Eol::Crlf,
        _ => Eol::Native,
    };
    Conversions { autocrlf, eol }
}
