//! Ignore rules: which one keeps a path out, gitignore(5).
//!
//! The rules of directories are read here, by the walk that lists them, because a `.gitignore` that is no regular
//! file must never be opened. `info/exclude` and `core.excludesFile` are gix's to find.

use std::{collections::HashMap, path::Path, sync::Arc};

use gix::{
    bstr::{BStr, BString, ByteSlice},
    glob::{pattern::Case, search::pattern::List},
    ignore::search::{Ignore, pattern_matching_relative_path},
    worktree::stack::state::ignore::Source,
};

use super::{SnapshotError, disk::refuse_pipes, error::Cause};
use crate::contract::{ExcludedReason, Exclusion};

/// The rules that hold in a directory: its own, and those of the directories above.
pub(super) struct Rules {
    /// Those of its `.gitignore`, if it has one.
    own: Option<(BString, List<Ignore>)>,
    parent: Option<Arc<Rules>>,
}

/// A rule that keeps something out.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Rule {
    source: BString,
    line: u64,
    pattern: BString,
}

/// The rules that hold everywhere; one a thread.
#[derive(Clone)]
pub(super) struct GlobalRules {
    stack: gix::worktree::Stack,
    info_exclude: std::path::PathBuf,
    case: Case,
}

/// How many directory entries each rule kept out.
#[derive(Default)]
pub(super) struct Excluded(HashMap<Arc<Rule>, u64>);

impl Rules {
    pub(super) fn none() -> Arc<Self> {
        Arc::new(Rules {
            own: None,
            parent: None,
        })
    }

    /// Adds the `.gitignore` of the directory `prefix`, which ends in a slash or is empty.
    pub(super) fn with_file(
        self: &Arc<Self>,
        prefix: &BStr,
        bytes: &[u8],
    ) -> std::io::Result<Arc<Self>> {
        let mut source = BString::from(prefix);
        source.extend_from_slice(b".gitignore");
        let path = gix::path::from_bstr(source.as_bstr()).map_err(std::io::Error::other)?;
        let list = List::from_bytes(
            bytes,
            path.into_owned(),
            Some(Path::new("")),
            Ignore::default(),
        )?;
        Ok(Arc::new(Rules {
            own: Some((source, list)),
            parent: Some(self.clone()),
        }))
    }
}

impl GlobalRules {
    pub(super) fn new(repo: &gix::Repository) -> Result<Self, SnapshotError> {
        let config = |source: Cause| SnapshotError::Config {
            what: "info/exclude or core.excludesFile".into(),
            source,
        };
        let ignore_case = repo
            .filesystem_options()
            .map_err(|error| config(error.into()))?
            .ignore_case;
        let info_exclude = repo.common_dir().join("info/exclude");
        let own = repo.config_snapshot().trusted_path("core.excludesFile");
        let own = own.ok().flatten();
        refuse_pipes(own.iter().chain([&info_exclude]))?;
        // An empty index and no worktree: the rules of directories are not this stack's.
        let index = gix::index::State::new(repo.object_hash());
        let stack = repo
            .excludes(&index, None, Source::IdMapping)
            .map_err(|error| config(error.into()))?;
        Ok(GlobalRules {
            stack: stack.detach(),
            info_exclude,
            case: if ignore_case {
                Case::Fold
            } else {
                Case::Sensitive
            },
        })
    }

    /// Returns the rule that keeps `path` out, where no directory above it is kept out.
    pub(super) fn find(
        &mut self,
        rules: &Rules,
        path: &BStr,
        is_dir: bool,
    ) -> Result<Option<Rule>, std::io::Error> {
        let basename = path.rfind_byte(b'/').map(|at| at + 1);
        let mut next = Some(rules);
        while let Some(rules) = next {
            if let Some((source, list)) = &rules.own
                && let Some(found) =
                    pattern_matching_relative_path(list, path, basename, Some(is_dir), self.case)
            {
                let rule = || Rule {
                    source: source.clone(),
                    line: found.sequence_number as u64,
                    pattern: spelled(found.pattern),
                };
                return Ok((!found.pattern.is_negative()).then(rule));
            }
            next = rules.parent.as_deref();
        }
        let mode = if is_dir {
            gix::index::entry::Mode::DIR
        } else {
            gix::index::entry::Mode::FILE
        };
        let platform = self
            .stack
            .at_entry(path, Some(mode), &gix::objs::find::Never)?;
        let Some(found) = platform.matching_exclude_pattern() else {
            return Ok(None);
        };
        let source = if found.source == Some(&self.info_exclude) {
            "info/exclude"
        } else {
            "core.excludesFile"
        };
        Ok((!found.pattern.is_negative()).then(|| Rule {
            source: source.into(),
            line: found.sequence_number as u64,
            pattern: spelled(found.pattern),
        }))
    }
}

impl Excluded {
    pub(super) fn count(&mut self, rule: &Arc<Rule>) {
        match self.0.get_mut(rule) {
            Some(count) => *count += 1,
            None => drop(self.0.insert(rule.clone(), 1)),
        }
    }

    pub(super) fn merge(&mut self, other: Excluded) {
        for (rule, count) in other.0 {
            *self.0.entry(rule).or_default() += count;
        }
    }

    /// Returns the exclusions by source and line; the patterns of `core.excludesFile` are the user's own.
    pub(super) fn into_exclusions(self, carry_global_patterns: bool) -> Vec<Exclusion> {
        let mut exclusions: Vec<Exclusion> = self
            .0
            .into_iter()
            .map(|(rule, entries)| {
                let shown = carry_global_patterns || rule.source != "core.excludesFile";
                Exclusion {
                    source: rule.source.clone().into(),
                    line: rule.line,
                    pattern: shown.then(|| rule.pattern.clone().into()),
                    reason: ExcludedReason::Ignored,
                    entries,
                }
            })
            .collect();
        exclusions.sort_unstable();
        exclusions
    }
}

/// Writes a pattern as its file has it.
fn spelled(pattern: &gix::glob::Pattern) -> BString {
    use gix::glob::pattern::Mode;
    let mut text = BString::default();
    if pattern.mode.contains(Mode::ABSOLUTE) {
        text.push(b'/');
    }
    text.extend_from_slice(&pattern.text);
    if pattern.mode.contains(Mode::MUST_BE_DIR) {
        text.push(b'/');
    }
    text
}
