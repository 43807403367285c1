//! One run of the hook in one repository.

use std::{
    cell::{Cell, OnceCell, RefCell},
    collections::BTreeSet,
    ffi::OsString,
    path::{Path, PathBuf},
    time::Duration,
};

use gix::{ObjectId, refs::FullName};
use store::{
    contract::{Document, Manifest, codec::DecodeError},
    error_code::ErrorCode,
    line,
    record::{Record, RecordError, RecordKind},
    ref_store::{RefChange, RefError},
    repository::Repository,
    scope::ScopeName,
    timestamp::Timestamp,
};

use super::{
    Settings, Update, content, guard,
    identity::{Authorship, Pusher},
    mark::Mark,
    namesakes, signature,
};
use crate::{
    judge::{Found, Judge, JudgedLine, Watch},
    mode::Mode,
    quarantine::{self, ObjectDirectories, View},
    rejection::Rejection,
    rules::namespace,
    secret_scan::{NewState, SecretNotes, SecretScan},
    server_dir::ServerDir,
    share::Seed,
};

/// How long a judgement may take where the operator has not said.
const DEADLINE: Duration = Duration::from_secs(60);
/// The same on GitHub Enterprise Server, which gives five seconds to all hooks together.
const DEADLINE_OF_GHES: Duration = Duration::from_secs(4);
/// What GitHub Enterprise Server, and nobody else, sets for a hook.
const VARIABLE_OF_GHES: &str = "GITHUB_VIA";

/// A repository that is pushed to, with what the operator has set.
pub struct Server {
    pub(super) repository: Repository,
    pub(super) settings: Settings,
    pub(super) pusher: Pusher,
    directories: ObjectDirectories,
    server_dir: ServerDir,
    deadline: Duration,
    now: Timestamp,
    relayed: Cell<bool>,
    secrets: OnceCell<SecretScan>,
    secret_notes: RefCell<SecretNotes>,
    _view: View,
}

/// What a server says of one ref change.
pub struct Decision {
    /// How strictly the change was judged.
    pub mode: Mode,
    /// What came of it.
    pub verdict: Verdict,
    /// Whether it holds other people's records.
    pub relayed: bool,
    /// What the scan for secrets has let through or not looked at.
    pub secrets: SecretNotes,
}

/// What comes of one ref change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Every rule was kept.
    Good,
    /// A rule was broken that is in shadow.
    WouldRefuse(Rejection),
    /// A rule was broken.
    Refused(Rejection),
    /// Nobody has looked: the mode is off.
    Unjudged,
}

impl Server {
    /// Opens the repository at `git_dir` and reads its settings; nobody is known to push.
    ///
    /// # Errors
    ///
    /// `IO` where the repository, its settings or its objects cannot be read: nothing may be judged then.
    pub fn open(
        git_dir: &Path,
        directories: &ObjectDirectories,
        now: Timestamp,
    ) -> Result<Self, Rejection> {
        let git_dir = std::path::absolute(git_dir).unwrap_or_else(|_| PathBuf::from(git_dir));
        let mut repository = Repository::at_git_dir(&git_dir).map_err(|error| failed(&error))?;
        let settings = Settings::read(repository.gix()).map_err(|error| {
            failed(&error).hint("the operator corrects it in the configuration of the repository")
        })?;
        // Nothing is read, and nothing made, where nothing is judged.
        let none = ObjectDirectories::default();
        let is_off = settings.modes.judge_nothing();
        let directories = if is_off { &none } else { directories };
        let view =
            quarantine::show(&mut repository, directories).map_err(|error| failed(&error))?;
        Ok(Server {
            directories: directories.clone(),
            server_dir: ServerDir::of(&git_dir),
            repository,
            deadline: settings.deadline.unwrap_or(DEADLINE),
            settings,
            pusher: Pusher::Unknown,
            now,
            relayed: Cell::new(false),
            secrets: OnceCell::new(),
            secret_notes: RefCell::default(),
            _view: view,
        })
    }

    /// Takes from the environment who pushes, where the operator has named a variable, and which server this is.
    pub fn with_environment(mut self, variable: impl Fn(&str) -> Option<OsString>) -> Self {
        self.pusher = Pusher::authenticated(&self.settings.identity, &variable);
        if self.settings.deadline.is_none() && variable(VARIABLE_OF_GHES).is_some() {
            self.deadline = DEADLINE_OF_GHES;
        }
        self
    }

    /// Returns the authenticated user, where one is known.
    pub fn user(&self) -> Option<&str> {
        self.pusher.user()
    }

    /// Returns how long the judgement of a push may take.
    pub fn deadline(&self) -> Duration {
        self.deadline
    }

    /// Returns the settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Decides on one ref change, and asks `watch` after each record that was found good.
    ///
    /// `created` are the scopes that the same push has made so far.
    pub fn decide(
        &self,
        update: &Update,
        created: &BTreeSet<ScopeName>,
        watch: &mut Watch<'_>,
    ) -> Decision {
        self.relayed.set(false);
        let (mode, verdict) = match self.mode_of(update) {
            Err(rejection) => (Mode::Enforce, Verdict::Refused(rejection)),
            Ok(mode) => (mode, self.decide_in(mode, update, created, watch)),
        };
        Decision {
            mode,
            verdict,
            relayed: self.relayed.get(),
            secrets: self.secret_notes.take(),
        }
    }

    fn decide_in(
        &self,
        mode: Mode,
        update: &Update,
        created: &BTreeSet<ScopeName>,
        watch: &mut Watch<'_>,
    ) -> Verdict {
        if mode == Mode::Off && self.settings.modes.general == Mode::Off {
            return Verdict::Unjudged;
        }
        if !mode.refuses()
            && let Err(rejection) = self.guard(update, created)
        {
            return Verdict::Refused(rejection);
        }
        if mode == Mode::Off {
            return Verdict::Unjudged;
        }
        match self.judge(mode, update, created, watch) {
            Ok(_) => Verdict::Good,
            Err(rejection) if mode.refuses() => Verdict::Refused(rejection),
            Err(rejection) => Verdict::WouldRefuse(rejection),
        }
    }

    /// Returns how strictly a change is judged: as the strictest of the schemas that are on its line, and in shadow
    /// where its scope does not belong to the share that is enforced.
    fn mode_of(&self, update: &Update) -> Result<Mode, Rejection> {
        let modes = &self.settings.modes;
        let Ok(scope) = namespace::scope_of(update.name.as_ref()) else {
            return Ok(modes.general);
        };
        let mode = if modes.by_schema.is_empty() {
            modes.general
        } else {
            self.strictest(update, &scope)
        };
        if mode != Mode::Enforce || modes.percent == 100 {
            return Ok(mode);
        }
        let seed = Seed::of(&self.server_dir).map_err(|error| failed(&error))?;
        Ok(match seed.includes(&scope, modes.percent) {
            true => Mode::Enforce,
            false => Mode::Shadow,
        })
    }

    fn strictest(&self, update: &Update, scope: &ScopeName) -> Mode {
        let (modes, objects) = (&self.settings.modes, self.repository.gix());
        let current = self.current_tip(scope).ok().flatten();
        let mut strictest = current.map(|id| modes.of(&schema_of(objects, id)));
        let mut next = Some(update.new).filter(|new| !new.is_null());
        while let Some(id) = next.filter(|id| Some(*id) != current) {
            strictest = strictest.max(Some(modes.of(&schema_of(objects, id))));
            next = line::place(objects, id).ok().and_then(|place| place.before);
        }
        strictest.unwrap_or_else(|| modes.of_known())
    }

    /// Judges one ref change by every rule, whatever the mode of its scope.
    ///
    /// # Errors
    ///
    /// The first rejection.
    pub fn judge(
        &self,
        mode: Mode,
        update: &Update,
        created: &BTreeSet<ScopeName>,
        watch: &mut Watch<'_>,
    ) -> Result<JudgedLine, Rejection> {
        let name = update.name.as_ref();
        let scope = namespace::scope_of(name)?;
        let change = RefChange::from_ids(update.old, update.new);
        let Some(change) = change.filter(|change| change.target().is_some()) else {
            return Err(guard::deletion(&scope));
        };
        self.pusher.is_known(&self.settings.identity)?;
        let current = self.current(&scope, change)?;
        let objects = self.repository.gix();
        let trusted = Mark::read(&self.server_dir, &scope).trusted(objects, current);
        let judge = Judge {
            objects,
            policy: self.settings.policy.clone(),
            now: self.now,
        };
        let scopes = || self.namesakes(&scope, created);
        // Records that the ref already leads to were pushed before, by whom it was then.
        let is_new = Cell::new(current.is_none() || trusted == current);
        judge.change_watched(name, change, trusted, scopes, &mut |found| {
            if is_new.get() {
                self.judge_new(mode, &found)?;
            }
            is_new.set(is_new.get() || current == Some(found.record.id));
            watch(found)
        })
    }

    /// Judges what is the server's alone to judge, of a record that is pushed now: the cheapest first.
    fn judge_new(&self, mode: Mode, found: &Found<'_>) -> Result<(), Rejection> {
        let record = found.record;
        self.judge_author(record)?;
        let is_frozen = matches!(record.kind, RecordKind::Checkpoint | RecordKind::Accept);
        if mode == Mode::Freeze && is_frozen {
            let detail = "the server takes no new generation or accept for now";
            return Err(Rejection::new(ErrorCode::Frozen, detail)
                .hint("keep the work: what is saved here can be pushed later"));
        }
        if self.settings.require_signed {
            signature::judge(&self.repository, &self.directories, record.id)?;
        }
        let objects = self.repository.gix();
        content::judge(objects, found.before, record, &self.settings.limits)?;
        let found =
            self.secrets()?
                .scan(&self.repository, found.before, &NewState::of_record(record))?;
        self.secret_notes.borrow_mut().take_in(&found);
        match found.rejection() {
            Some(rejection) => Err(rejection),
            None => Ok(()),
        }
    }

    /// Returns what secrets are looked for by, which is read when the first record is.
    fn secrets(&self) -> Result<&SecretScan, Rejection> {
        if let Some(known) = self.secrets.get() {
            return Ok(known);
        }
        let read =
            SecretScan::of_server(&self.settings.secrets, &self.server_dir, self.pusher.user())?;
        Ok(self.secrets.get_or_init(|| read))
    }

    pub(super) fn judge_author(&self, record: &Record) -> Result<(), Rejection> {
        let authorship = self.pusher.judge(&self.settings.identity, record)?;
        if authorship == Authorship::Relayed {
            self.relayed.set(true);
        }
        Ok(())
    }

    /// Remembers that a scope's line was judged good.
    pub fn remember(&self, update: &Update) {
        if let Ok(scope) = namespace::scope_of(update.name.as_ref()) {
            let before = Some(update.old).filter(|old| !old.is_null());
            Mark::write(&self.server_dir, &scope, before, update.new);
        }
        if let Some(secrets) = self.secrets.get() {
            secrets.remember();
        }
    }

    pub(super) fn namesakes(
        &self,
        scope: &ScopeName,
        created: &BTreeSet<ScopeName>,
    ) -> Result<Vec<ScopeName>, Rejection> {
        let mut scopes = namesakes::of(&self.repository, scope).map_err(|error| failed(&error))?;
        scopes.extend(created.iter().cloned());
        Ok(scopes)
    }

    /// Returns what the ref of a scope is.
    pub(super) fn current_tip(&self, scope: &ScopeName) -> Result<Option<ObjectId>, Rejection> {
        let name: FullName = scope.to_ref();
        self.repository
            .find_ref(&name)
            .map_err(|error| match error {
                RefError::Symbolic { .. } => {
                    Rejection::new(ErrorCode::RefOutsideNamespace, error.to_string())
                        .hint("refs under refs/handoff point at commits; the operator deletes it")
                }
                error => failed(&error),
            })
    }

    /// Returns what the ref of a scope is, which must be what the change replaces.
    fn current(&self, scope: &ScopeName, change: RefChange) -> Result<Option<ObjectId>, Rejection> {
        let found = self.current_tip(scope)?;
        if found == change.old() {
            return Ok(found);
        }
        let shown = |id: Option<ObjectId>| id.map_or_else(|| "nothing".into(), |id| id.to_string());
        let detail = format!(
            "the ref is at {}, the push replaces {}",
            shown(found),
            shown(change.old())
        );
        Err(Rejection::new(ErrorCode::CasConflict, detail)
            .hint("another writer was faster, and what was sent follows a STALE_CHECKPOINT: git handoff sync"))
    }
}

/// Returns the schema that the manifest of a commit names; what cannot be read is judged as what this program knows.
fn schema_of(objects: &gix::Repository, id: ObjectId) -> String {
    match Record::read(objects, id) {
        Err(RecordError::Document {
            source: DecodeError::UnsupportedVersion { found, .. },
            name: "manifest.cbor",
            ..
        }) => found,
        _ => Manifest::SCHEMA.into(),
    }
}

/// Makes the rejection of something that the hook itself cannot do.
pub(super) fn failed(error: &dyn std::error::Error) -> Rejection {
    let mut detail = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        detail.push_str(": ");
        detail.push_str(&error.to_string());
        cause = error.source();
    }
    Rejection::new(ErrorCode::Io, detail)
}
