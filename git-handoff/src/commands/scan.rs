//! `git handoff scan`.

use std::{
    fs::{self, File},
    io::{self, Read},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use gix::bstr::{BStr, BString, ByteSlice};
use hooks::{
    rejection::Rejection,
    secret_scan::{Located, NewState, SecretScan},
};
use schemars::JsonSchema;
use serde::Serialize;
use store::{
    byte_text::ByteText,
    error_code::ErrorCode,
    line,
    repository::Repository,
    scope::ScopeName,
    secrets::{
        ConfigError, Finding, Fingerprint, IgnoreFile, Marks, RuleSet, Scanner, Severity, Subject,
    },
    verify::{self, Depth, VerifiedRecord},
};

use crate::{
    context::Context,
    error::CommandError,
    exit,
    scopes::{ScopeArg, Scopes},
    ui::{Report, terminal_safe},
};

/// Look for secrets, without ever showing one
///
/// Looks through files, directories, standard input or the index, by name and by content, also within base64, archives
/// and the like. Prints rule, path and line of each finding. Rules of a `.gitleaks.toml` and lines of a
/// `.gitleaksignore` at the top of the worktree are honoured. With --records it looks at what the records of a scope
/// brought along: files, commits, documents and messages. Exits with 5 where a finding blocks.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Files and directories; without one, the directory that the command runs in
    #[arg(value_name = "PATH", conflicts_with_all = ["stdin", "staged", "records"])]
    paths: Vec<PathBuf>,
    /// Look through standard input
    #[arg(long)]
    stdin: bool,
    /// What the path of standard input is, for rules that are bound to paths
    #[arg(long = "path", value_name = "NAME", requires = "stdin")]
    name: Option<PathBuf>,
    /// Look through what the index holds and `HEAD` does not
    #[arg(long, conflicts_with = "stdin")]
    staged: bool,
    /// Look through what the records of a scope brought along, or those of one generation
    #[arg(long, value_name = "SCOPE[@N]", conflicts_with_all = ["stdin", "staged", "scope"])]
    records: Option<ScopeArg>,
    /// Give findings the fingerprints that allow entries of this scope name
    #[arg(long, value_name = "SCOPE")]
    scope: Option<ScopeName>,
}

/// A finding, and what its path lies in where that is no file of the worktree.
pub(crate) struct Row<'a>(&'a Finding, Option<&'a Located>);

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Document<'a> {
    rule: &'a str,
    severity: Severity,
    path: ByteText,
    /// First line, from 1; 0 stands for the whole.
    line: u64,
    end_line: u64,
    /// What `allow` entries name; null for values that it would give away.
    fingerprint: Option<&'a str>,
    /// What of a record the path lies in, with --records.
    #[serde(rename = "in", skip_serializing_if = "Option::is_none")]
    site: Option<String>,
}

impl Report for Row<'_> {
    const NAME: &'static str = "scan";

    type Document<'a>
        = Document<'a>
    where
        Self: 'a;

    fn document(&self) -> Document<'_> {
        let finding = self.0;
        Document {
            rule: &finding.rule,
            severity: finding.severity,
            path: finding.path.as_bstr().into(),
            line: finding.line,
            end_line: finding.end_line,
            fingerprint: finding.fingerprint.as_ref().map(Fingerprint::as_str),
            site: self.1.map(|located| located.site.to_string()),
        }
    }

    fn text(&self) -> String {
        let finding = self.0;
        let place = terminal_safe(&finding.path.to_string());
        let mut text = format!("{} {} {place}", finding.severity.as_str(), finding.rule);
        if finding.line > 0 {
            text.push_str(&format!(":{}", finding.line));
        }
        if finding.end_line > finding.line {
            text.push_str(&format!("-{}", finding.end_line));
        }
        if let Some(located) = self.1 {
            text.push_str(&format!(" in {}", located.site));
        }
        if let Some(fingerprint) = &finding.fingerprint {
            text.push_str(&format!(" {}", fingerprint.as_str()));
        }
        text + "\n"
    }
}

struct Scan<'a> {
    context: &'a Context,
    scanner: Scanner<'a>,
    ignored: IgnoreFile,
    blocks: bool,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<u8, CommandError> {
    let repository = context.repository();
    if let Some(wanted) = &args.records {
        return records(context, &repository?, wanted);
    }
    let top = repository.as_ref().ok().and_then(Repository::worktree);
    let top = top.unwrap_or(&context.dir);
    let own = top.join(".gitleaks.toml");
    let rules = match own.exists() {
        true => RuleSet::with_file(&own),
        false => RuleSet::own(),
    };
    let rules = rules.map_err(|error| unusable(&error))?;
    let mut scan = Scan {
        context,
        scanner: Scanner::new(&rules, Marks::Honoured, args.scope.as_ref()),
        ignored: IgnoreFile::read(&top.join(".gitleaksignore"))?,
        blocks: false,
    };
    if args.stdin {
        let name = args.name.clone().unwrap_or_else(|| "-".into());
        scan.stream(&name, &mut io::stdin().lock())?;
    } else if args.staged {
        scan.staged(&repository?)?;
    } else if args.paths.is_empty() {
        scan.path(Path::new("."))?;
    } else {
        for path in &args.paths {
            scan.path(path)?;
        }
    }
    Ok(match scan.blocks {
        true => exit::REFUSED,
        false => exit::SUCCESS,
    })
}

/// Looks through what records brought along: all of a scope, or those of one generation.
fn records(
    context: &Context,
    repository: &Repository,
    wanted: &ScopeArg,
) -> Result<u8, CommandError> {
    let scopes = Scopes::new(context, repository);
    let newest = ScopeArg {
        generation: None,
        ..wanted.clone()
    };
    let one = scopes.find(Some(wanted))?.record.generation();
    let one = wanted.generation.is_some().then_some(one);
    let tip = scopes.find(Some(&newest))?.record.id;
    let scan = SecretScan::of_worktree(repository)?;
    let objects = repository.gix();
    let walk = line::back_to(objects, tip, |_| false).map_err(Rejection::from)?;
    let mut before: Option<VerifiedRecord> = None;
    let mut blocks = false;
    for id in walk.records.into_iter().rev() {
        let scope = Some(&wanted.scope);
        let record = verify::record(objects, id, scope, before.as_ref(), Depth::Documents);
        let record = record.into_result().map_err(Rejection::from)?;
        if one.is_none_or(|one| one == record.generation()) {
            let found = scan.scan(repository, before.as_ref(), &NewState::of_record(&record))?;
            for located in found.blocking().chain(found.warnings()) {
                blocks |= located.finding.severity == Severity::Block;
                context.ui.row(&Row(&located.finding, Some(located)))?;
            }
        }
        before = Some(record);
    }
    Ok(match blocks {
        true => exit::REFUSED,
        false => exit::SUCCESS,
    })
}

fn unusable(error: &ConfigError) -> CommandError {
    CommandError::from_error(ErrorCode::Usage, error)
        .hint("a rule that cannot be used is never passed over: mend it, or take it out")
}

impl Scan<'_> {
    /// Looks through a file, what a link says, or all that is below a directory but Git's own.
    fn path(&mut self, path: &Path) -> Result<(), CommandError> {
        let place = self.context.dir.join(path);
        let unreadable = |error: io::Error| {
            let name = path.display();
            CommandError::new(ErrorCode::Io, format!("`{name}` cannot be read: {error}"))
        };
        let found = place.symlink_metadata().map_err(unreadable)?;
        let shown = path.strip_prefix("./").unwrap_or(path);
        if found.is_dir() {
            let entries = fs::read_dir(&place).and_then(Iterator::collect::<io::Result<Vec<_>>>);
            let mut entries = entries.map_err(unreadable)?;
            entries.sort_by_key(fs::DirEntry::file_name);
            let entries = entries.iter().filter(|entry| entry.file_name() != ".git");
            for entry in entries {
                self.path(&path.join(entry.file_name()))?;
            }
        } else if found.is_symlink() {
            let target = fs::read_link(&place).map_err(unreadable)?;
            let name = shown.as_os_str().as_bytes().as_bstr();
            self.bytes(name, target.as_os_str().as_bytes())?;
        } else if found.is_file() {
            let mut file = File::open(&place).map_err(unreadable)?;
            self.stream(shown, &mut file)?;
        }
        Ok(())
    }

    fn stream(&mut self, path: &Path, reader: &mut dyn Read) -> Result<(), CommandError> {
        let name = path.as_os_str().as_bytes().as_bstr();
        let findings = self.scanner.scan_stream(Subject::at(name), reader)?;
        self.tell(name, findings)
    }

    fn bytes(&mut self, name: &BStr, bytes: &[u8]) -> Result<(), CommandError> {
        let findings = self.scanner.scan(Subject::at(name), bytes);
        self.tell(name, findings)
    }

    fn tell(&mut self, name: &BStr, findings: Vec<Finding>) -> Result<(), CommandError> {
        for finding in self.scanner.scan_name(name).iter().chain(&findings) {
            if self.ignored.names(finding) {
                continue;
            }
            self.blocks |= finding.severity == Severity::Block;
            self.context.ui.row(&Row(finding, None))?;
        }
        Ok(())
    }

    /// Looks through the blobs that the index has and `HEAD` has not, git-diff-index(1).
    fn staged(&mut self, repository: &Repository) -> Result<(), CommandError> {
        let args = [
            "diff",
            "--cached",
            "--raw",
            "-z",
            "--no-renames",
            "--no-abbrev",
            "--diff-filter=AMT",
        ];
        let listed = repository.git().output(args)?;
        let mut fields = listed.split(|b| *b == 0);
        while let (Some(entry), Some(path)) = (fields.next(), fields.next()) {
            let id = entry.split(|b| *b == b' ').nth(3).unwrap_or_default();
            let gitlink = entry.split(|b| *b == b' ').nth(1) == Some(b"160000");
            let Ok(id) = gix::ObjectId::from_hex(id) else {
                continue;
            };
            if gitlink {
                continue;
            }
            let blob = repository.gix().find_object(id).map_err(|error| {
                CommandError::new(
                    ErrorCode::MissingObject,
                    format!("blob {id} cannot be read: {error}"),
                )
            })?;
            let path: BString = path.into();
            self.bytes(path.as_bstr(), &blob.data)?;
        }
        Ok(())
    }
}
