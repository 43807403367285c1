//! Conversions between disk and repository: which apply to a path, and whether they can be undone.
//!
//! Two views of the attributes are kept apart. *Here* is what Git sees in this worktree, with `info/attributes` and
//! the user's own file: it says how a file is stored. *There* is what travels, the `.gitattributes` files of the
//! worktree tree alone: it says what a receiver would get back.

use std::{io::Read, path::PathBuf};

use gix::{
    ObjectId,
    attrs::{StateRef, search::Outcome},
    bstr::{BStr, BString, ByteSlice},
    filter::plumbing::{
        Pipeline,
        eol::{self, AutoCrlf},
        pipeline::{CrlfRoundTripCheck, Options},
    },
    objs::{Find, Kind},
    worktree::{Stack, stack::state::attributes::Source},
};

use super::{
    SnapshotError,
    attributes::{AttributeFiles, Others},
    disk::refuse_pipes,
    error::Cause,
    index::PrivateIndex,
};
use crate::conversion::{self, WorktreeConversion};

/// Attributes that say how content is converted, gitattributes(5).
const NAMES: [&str; 6] = [
    "text",
    "crlf",
    "eol",
    "ident",
    "working-tree-encoding",
    "filter",
];

/// Converts content both ways; one a thread.
#[derive(Clone)]
pub(super) struct Converter {
    here: View,
    there: View,
    /// What a restore does with the stored content.
    back: WorktreeConversion,
    /// Filter drivers that must not be passed by, and that have no command to clean with.
    unusable: Vec<BString>,
    /// Whether Git can read the attributes as well.
    is_gits_to_ask: bool,
    /// Whether nothing in force converts anything.
    inert: bool,
}

/// One view of the attributes.
#[derive(Clone)]
struct View {
    pipeline: Pipeline,
    stack: Stack,
    found: Outcome,
}

/// What happens to a path between disk and repository.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Plan {
    /// Nothing: the blob is the bytes on disk.
    Verbatim,
    /// Git's built-in conversions, of which some may not be undone.
    Converted {
        /// Whether a checkout would leave the blob as it is.
        identity_there: bool,
        /// Whether the text lies on disk in another encoding.
        encoded: bool,
    },
    /// A filter driver, by its name.
    Filtered(BString),
}

impl Converter {
    /// Prepares conversions as configuration and attributes ask for them.
    ///
    /// `files` are the attribute files that travel; without them, nothing can be converted back.
    pub(super) fn new(
        repo: &gix::Repository,
        index: &PrivateIndex,
        odd_attributes: bool,
        files: &AttributeFiles,
    ) -> Result<Self, SnapshotError> {
        let machine = files_of_this_machine(repo)?;
        refuse_pipes(&machine)?;
        let (options, unusable) = options(repo)?;
        let failed = |error: Cause| config("attributes", error);
        let odd = odd_attributes || files.has_unread;
        let stack = if odd {
            // Git and gix would open what is no file, and wait; what cannot be read says nothing.
            files.stack(repo, Others::OfThisMachine).map_err(failed)?
        } else {
            let stack = repo.attributes_only(index.state(), Source::WorktreeThenIdMapping);
            stack.map_err(|error| failed(error.into()))?.detach()
        };
        let there = files.stack(repo, Others::None).map_err(failed)?;
        let recorded = Options {
            drivers: Vec::new(),
            ..options.clone()
        };
        Ok(Converter {
            inert: !can_convert(repo, &options, files, &machine),
            here: View::new(repo, options, stack)?,
            there: View::new(repo, recorded, there)?,
            unusable,
            is_gits_to_ask: !odd,
            back: WorktreeConversion::new(
                files.entries(),
                &conversion::in_force(repo),
                repo.object_hash(),
            ),
        })
    }

    /// Tells whether every file is stored as it lies on disk.
    pub(super) fn is_inert(&self) -> bool {
        self.inert
    }

    /// Tells whether Git itself can be asked to convert: it would wait for attributes that are no file.
    pub(super) fn is_gits_to_ask(&self) -> bool {
        self.is_gits_to_ask
    }

    /// Says what happens to a path.
    pub(super) fn plan(
        &mut self,
        repo: &gix::Repository,
        files: &AttributeFiles,
        path: &BStr,
    ) -> Result<Plan, Cause> {
        if self.inert {
            return Ok(Plan::Verbatim);
        }
        let objects = files.objects(repo);
        let here = self.here.effect(path, &objects)?;
        if let Some(driver) = here.driver {
            if self.unusable.contains(&driver) {
                let text = format!("filter `{driver}` is required and has no clean command");
                return Err(text.into());
            }
            return Ok(Plan::Filtered(driver));
        }
        let there = self.there.effect(path, &objects)?;
        Ok(if here.converts || there.converts {
            Plan::Converted {
                identity_there: there.identity_out,
                encoded: here.encoded,
            }
        } else {
            Plan::Verbatim
        })
    }

    /// Converts bytes on disk to what the repository stores.
    ///
    /// `stored` is what the index has at the path: text with CRLF stays as it is under `text=auto`.
    pub(super) fn clean(
        &mut self,
        repo: &gix::Repository,
        files: &AttributeFiles,
        path: &BStr,
        bytes: &[u8],
        stored: Option<ObjectId>,
    ) -> Result<Vec<u8>, Cause> {
        let View {
            pipeline, stack, ..
        } = &mut self.here;
        let platform = stack.at_entry(path, None, &files.objects(repo))?;
        let mut converted = pipeline.convert_to_git(
            bytes,
            gix::path::from_bstr(path)?.as_ref(),
            &mut |_, found| {
                platform.matching_attributes(found);
            },
            &mut |buffer| {
                let Some(id) = stored else { return Ok(None) };
                let found = repo.objects.try_find(&id, buffer)?;
                Ok(found.filter(|found| found.kind == Kind::Blob).map(|_| ()))
            },
        )?;
        let mut blob = Vec::new();
        converted.read_to_end(&mut blob)?;
        Ok(blob)
    }

    /// Tells whether a receiver gets `disk` back when it checks out `blob` at the path.
    pub(super) fn comes_back(
        &mut self,
        repo: &gix::Repository,
        files: &AttributeFiles,
        path: &BStr,
        blob: &[u8],
        disk: &[u8],
    ) -> bool {
        let back = self.back.to_worktree(path, blob, &files.objects(repo));
        // What cannot be converted back does not come back.
        back.is_ok_and(|back| *back == *disk)
    }
}

/// What the attributes of one view do to a path.
struct Effect {
    driver: Option<BString>,
    converts: bool,
    encoded: bool,
    /// Whether content that goes out is certainly left as it is.
    identity_out: bool,
}

impl View {
    fn new(repo: &gix::Repository, options: Options, stack: Stack) -> Result<Self, SnapshotError> {
        let context = repo
            .command_context()
            .map_err(|error| config("filters", error.into()))?;
        let mut found = Outcome::default();
        found.initialize_with_selection(&Default::default(), NAMES);
        Ok(View {
            pipeline: Pipeline::new(context, repo.object_hash(), options),
            stack,
            found,
        })
    }

    fn effect(&mut self, path: &BStr, objects: &dyn Find) -> Result<Effect, Cause> {
        let platform = self.stack.at_entry(path, None, objects)?;
        platform.matching_attributes(&mut self.found);
        let states: Vec<StateRef<'_>> = self
            .found
            .iter_selected()
            .map(|found| found.assignment.state)
            .collect();
        let [text, crlf, eol, ident, encoding, filter] = states[..] else {
            return Err("attributes were not found in full".into());
        };
        let options = self.pipeline.options_mut();
        let driver = match filter {
            StateRef::Value(name) => options
                .drivers
                .iter()
                .find(|driver| driver.name == name.as_bstr())
                .map(|driver| driver.name.clone()),
            _ => None,
        };
        let specified = |state: StateRef<'_>| state != StateRef::Unspecified;
        let binary = text == StateRef::Unset || (!specified(text) && crlf == StateRef::Unset);
        let is_text = !binary
            && (specified(text)
                || specified(crlf)
                || specified(eol)
                || options.eol_config.auto_crlf != AutoCrlf::Disabled);
        let encoded = specified(encoding);
        let other = ident.is_set() || encoded;
        let line_feeds = match eol {
            StateRef::Value(value) => value.as_bstr() == "lf",
            _ => {
                crlf == StateRef::Value("input".into())
                    || match options.eol_config.auto_crlf {
                        AutoCrlf::Enabled => false,
                        AutoCrlf::Input => true,
                        AutoCrlf::Disabled => options.eol_config.eol != Some(eol::Mode::CrLf),
                    }
            }
        };
        Ok(Effect {
            driver,
            converts: is_text || other,
            encoded,
            identity_out: !other && (!is_text || line_feeds),
        })
    }
}

/// Reads the filter configuration; unlike Git, a filter that fails always counts, and `core.safecrlf` never does.
///
/// Returned with it are the drivers that Git may not pass by, and cannot use either.
fn options(repo: &gix::Repository) -> Result<(Options, Vec<BString>), SnapshotError> {
    let mut options = gix::filter::Pipeline::options(repo)
        .map_err(|error| config("core.autocrlf, core.eol or a filter", error.into()))?;
    options.crlf_roundtrip_check = CrlfRoundTripCheck::Skip;
    let mut unusable = Vec::new();
    options.drivers.retain_mut(|driver| {
        // An empty command is none: `apply_filter` in convert.c.
        driver.clean.take_if(|command| command.is_empty());
        driver.process.take_if(|command| command.is_empty());
        let is_usable = driver.clean.is_some() || driver.process.is_some();
        if driver.required && !is_usable {
            unusable.push(driver.name.clone());
        }
        let counts = is_usable || driver.required;
        driver.required = true;
        counts
    });
    Ok((options, unusable))
}

/// Returns the attribute files that do not travel: of the system, the user, and the repository alone.
fn files_of_this_machine(repo: &gix::Repository) -> Result<Vec<PathBuf>, SnapshotError> {
    let mut files = repo
        .attribute_global_paths()
        .map_err(|error| config("core.attributesFile", error.into()))?;
    files.push(repo.common_dir().join("info/attributes"));
    Ok(files)
}

/// Tells whether any configuration or attribute file could lead to a conversion.
fn can_convert(
    repo: &gix::Repository,
    options: &Options,
    files: &AttributeFiles,
    machine: &[PathBuf],
) -> bool {
    let speaks_of_it = |content: &[u8]| {
        NAMES
            .iter()
            .any(|name| content.find(name.as_bytes()).is_some())
    };
    let of_this_machine = machine.iter().filter_map(|path| std::fs::read(path).ok());
    options.eol_config.auto_crlf != AutoCrlf::Disabled
        || of_this_machine
            .into_iter()
            .any(|content| speaks_of_it(&content))
        || files.any(repo, speaks_of_it)
}

fn config(what: &str, source: Cause) -> SnapshotError {
    SnapshotError::Config {
        what: what.into(),
        source,
    }
}
