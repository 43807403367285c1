//! Which paths differ between two trees, and which of them patterns cover.
//!
//! Trees may be of anyone: what is read is bounded.

use std::{collections::BTreeMap, path::Path};

use gix::{
    ObjectId,
    bstr::{BString, ByteVec},
    objs::tree::EntryMode,
    pathspec::{Defaults, Search},
};

use crate::{
    error_code::ErrorCode,
    verify::{MAX_PATHS, Violation, entries},
};

/// Entries of a folder by name: mode and id.
type Folder = BTreeMap<BString, (EntryMode, ObjectId)>;

/// Returns the paths of files, links and submodules that differ between two trees, sorted; no older tree is an empty
/// one.
///
/// # Errors
///
/// Where a tree cannot be read, or more paths differ than a worktree may have.
pub fn between(
    objects: &gix::Repository,
    older: Option<ObjectId>,
    newer: Option<ObjectId>,
) -> Result<Vec<BString>, Violation> {
    let mut changed = Vec::new();
    let mut folders = vec![(older, newer, BString::default())];
    let mut looked_at = 0;
    while let Some((older, newer, prefix)) = folders.pop() {
        if older == newer {
            continue;
        }
        let read = |tree: Option<ObjectId>| -> Result<Folder, Violation> {
            let Some(tree) = tree else {
                return Ok(Folder::new());
            };
            let found = entries(objects, tree, &prefix)?.0.into_iter();
            Ok(found.map(|(name, mode, id)| (name, (mode, id))).collect())
        };
        let (mut before, after) = (read(older)?, read(newer)?);
        let pairs = after.into_iter().map(|(name, entry)| {
            let old = before.remove(&name);
            (name, old, Some(entry))
        });
        let mut pairs: Vec<_> = pairs.collect();
        pairs.extend(
            before
                .into_iter()
                .map(|(name, entry)| (name, Some(entry), None)),
        );
        looked_at += pairs.len() as u64;
        if looked_at > MAX_PATHS {
            let detail = format!("more than {MAX_PATHS} paths differ");
            return Err(Violation::new(
                ErrorCode::LimitExceeded,
                prefix.to_string(),
                detail,
            ));
        }
        for (name, old, new) in pairs.into_iter().filter(|(_, old, new)| old != new) {
            let mut path = prefix.clone();
            if !path.is_empty() {
                path.push_byte(b'/');
            }
            path.push_str(name);
            let folder = |entry: Option<(EntryMode, ObjectId)>| {
                entry.filter(|(mode, _)| mode.is_tree()).map(|(_, id)| id)
            };
            let is_file = |entry: Option<(EntryMode, ObjectId)>| {
                entry.is_some_and(|(mode, _)| !mode.is_tree())
            };
            if folder(old).is_some() || folder(new).is_some() {
                folders.push((folder(old), folder(new), path.clone()));
            }
            if is_file(old) || is_file(new) {
                changed.push(path);
            }
        }
    }
    changed.sort_unstable();
    Ok(changed)
}

/// Patterns for paths below the top of a worktree, `:(top,glob)<pattern>` of gitglossary(7); none match nothing.
pub struct PathPatterns(Option<Search>);

impl PathPatterns {
    /// Parses patterns.
    ///
    /// # Errors
    ///
    /// The first one that Git could not read.
    pub fn new<'a>(patterns: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        let mut parsed = Vec::new();
        for pattern in patterns {
            // With its magic in front, whatever the pattern begins with is no magic.
            let spec = format!(":(top,glob){pattern}");
            let one = gix::pathspec::parse(spec.as_bytes(), Defaults::default());
            parsed.push(one.map_err(|_| pattern.to_owned())?);
        }
        if parsed.is_empty() {
            return Ok(PathPatterns(None));
        }
        let search = Search::from_specs(parsed, None, Path::new("/"));
        search
            .map(|search| PathPatterns(Some(search)))
            .map_err(|error| error.to_string())
    }

    /// Tells whether one of the patterns covers a path.
    pub fn cover(&mut self, path: &BString) -> bool {
        self.0.as_mut().is_some_and(|search| {
            search
                .pattern_matching_relative_path(path.as_ref(), Some(false), &mut |_, _, _, _| false)
                .is_some_and(|found| !found.is_excluded())
        })
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, process::Command};

    use super::*;

    #[test]
    fn patterns_cover_what_git_lists_for_them() {
        let dir = tempfile::tempdir().unwrap();
        let git = |args: &[&str]| {
            let output = Command::new("git")
                .args(args)
                .current_dir(dir.path())
                .output();
            let output = output.unwrap();
            assert!(output.status.success(), "{args:?}: {output:?}");
            String::from_utf8(output.stdout).unwrap()
        };
        git(&["init", "-q"]);
        let paths = [
            "a",
            "src/a",
            "src/b.rs",
            "src/deep/b.rs",
            "src/deep/er/c.rs",
            "srcs/a",
            "x/src/a",
            "we ird/[x]",
            "Src/a",
            ":(top)a",
            "-a",
            "a*b",
        ];
        for path in paths {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        git(&["add", "-A"]);
        for pattern in [
            "src",
            "src/",
            "src/*",
            "src/**",
            "**/*.rs",
            "*.rs",
            "src/*/b.rs",
            "src/**/b.rs",
            "a",
            "*",
            "**",
            "x/**/a",
            "we ird/\\[x\\]",
            "we ird",
            "src/deep/er/",
            "s?c/a",
            "[st]rc/a",
            ":(top)a",
            "-a",
            "a\\*b",
            "src/a/",
            "sr",
        ] {
            let listed = git(&["ls-files", "-z", "--", &format!(":(top,glob){pattern}")]);
            let expected: Vec<&str> = listed.split_terminator('\0').collect();
            let mut patterns = PathPatterns::new([pattern]).unwrap();
            let mut covered: Vec<&str> = paths.into_iter().collect();
            covered.retain(|path| patterns.cover(&BString::from(*path)));
            covered.sort_unstable();
            assert_eq!(covered, expected, "{pattern}");
        }
        assert!(!PathPatterns::new([]).unwrap().cover(&"a".into()));
    }
}
