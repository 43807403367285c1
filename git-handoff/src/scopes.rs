//! Which scope and record a command means, and how it is read.

use std::str::FromStr;

use gix::{ObjectId, bstr::ByteSlice};
use hooks::{
    judge::Judge,
    policy::Policy,
    reader::{ReadError, Reader, ScopeView},
    rejection::Rejection,
};
use store::{
    error_code::ErrorCode,
    generation::Generation,
    line,
    ref_store::Head,
    repository::Repository,
    scope::ScopeName,
    timestamp::Timestamp,
    verify::{self, Depth, VerifiedRecord},
};

use crate::{
    context::Context,
    error::CommandError,
    remote::Remote,
    state::{Read, State},
};

/// `<scope>`, `<scope>@<generation>` or `<scope>@prepared` on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ScopeArg {
    pub(crate) scope: ScopeName,
    pub(crate) generation: Option<Wanted>,
}

/// Which of a scope's generations is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// One of its line.
    Number(Generation),
    /// The next one, which is prepared and in no history yet.
    Prepared,
}

impl ScopeArg {
    /// Returns the scope whose prepared handoff is meant, if one is.
    pub(crate) fn prepared(&self) -> Option<&ScopeName> {
        (self.generation == Some(Wanted::Prepared)).then_some(&self.scope)
    }
}

impl FromStr for ScopeArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (scope, generation) = match text.split_once('@') {
            Some((scope, generation)) => (scope, Some(generation)),
            None => (text, None),
        };
        let scope = scope
            .parse()
            .map_err(|error: store::scope::ScopeNameError| error.to_string())?;
        let wanted = |text: &str| match text {
            "prepared" => Ok(Wanted::Prepared),
            text => text
                .parse()
                .map(Wanted::Number)
                .map_err(|error: store::generation::GenerationError| error.to_string()),
        };
        let generation = generation.map(wanted).transpose()?;
        Ok(ScopeArg { scope, generation })
    }
}

/// The scopes of one repository, as a command sees them.
pub(crate) struct Scopes<'a> {
    pub(crate) context: &'a Context,
    pub(crate) repository: &'a Repository,
    pub(crate) remote: Option<Remote>,
}

/// A record that was asked for.
pub(crate) struct Found {
    pub(crate) view: ScopeView,
    /// The record: the tip, or the newest one of the generation that was asked for.
    pub(crate) record: VerifiedRecord,
}

impl Found {
    /// Tells whether the record is of the scope's current generation.
    pub(crate) fn is_current(&self) -> bool {
        self.record.generation() == self.view.tip.generation()
    }
}

impl<'a> Scopes<'a> {
    pub(crate) fn new(context: &'a Context, repository: &'a Repository) -> Self {
        Scopes {
            context,
            repository,
            remote: Remote::find(repository, None),
        }
    }

    pub(crate) fn reader(&self) -> Reader<'_> {
        let remote = self.remote.as_ref().map(|remote| remote.name.as_str());
        Reader {
            repository: self.repository,
            remote,
            now: Timestamp::now(),
        }
    }

    /// Reads a scope.
    pub(crate) fn view(&self, scope: &ScopeName) -> Result<ScopeView, CommandError> {
        self.reader()
            .read(scope)
            .map_err(|error| self.explain(error))
    }

    /// Reads a scope that may not exist yet.
    pub(crate) fn view_if_any(&self, scope: &ScopeName) -> Result<Option<ScopeView>, CommandError> {
        match self.reader().read(scope) {
            Ok(view) => Ok(Some(view)),
            Err(ReadError::NotFound(_)) => Ok(None),
            Err(error) => Err(self.explain(error)),
        }
    }

    /// Reads the record that an argument names; without one, that of the scope in use here.
    pub(crate) fn find(&self, arg: Option<&ScopeArg>) -> Result<Found, CommandError> {
        let scope = match arg {
            Some(arg) => arg.scope.clone(),
            None => self.in_use()?,
        };
        let view = self.view(&scope)?;
        let record = match arg.and_then(|arg| arg.generation) {
            None => view.tip.clone(),
            Some(Wanted::Number(generation)) => self.generation(&view, generation)?,
            Some(Wanted::Prepared) => {
                let message = format!("`{scope}@prepared` is in no history yet");
                return Err(CommandError::new(ErrorCode::Usage, message)
                    .subject(scope.as_str())
                    .hint("`show`, `continue`, `verify`, `restore` and `export` take it; `commit` appends it"));
            }
        };
        Ok(Found { view, record })
    }

    fn generation(
        &self,
        view: &ScopeView,
        generation: Generation,
    ) -> Result<VerifiedRecord, CommandError> {
        let objects = self.repository.gix();
        let scope = &view.scope;
        let found =
            line::find_generation(objects, view.tip.id, generation).map_err(Rejection::from)?;
        let Some(id) = found else {
            let message = format!(
                "scope `{scope}` has no generation {generation}; its newest is {}",
                view.tip.generation()
            );
            return Err(CommandError::new(ErrorCode::NotFound, message)
                .subject(scope.as_str())
                .next(&["git", "handoff", "log", scope.as_str()]));
        };
        // The line up to the tip was judged, trees and all, before the tip was believed.
        let record = verify::record(objects, id, Some(scope), None, Depth::Documents).into_result();
        Ok(record.map_err(Rejection::from)?)
    }

    /// Returns what the local ref names, and what the remote was last seen to hold.
    pub(crate) fn tips(
        &self,
        scope: &ScopeName,
    ) -> Result<(Option<ObjectId>, Option<ObjectId>), CommandError> {
        let local = self.repository.find_ref(&scope.to_ref())?;
        let remote = self
            .reader()
            .remote_tip(scope)
            .map_err(|error| self.explain(error))?;
        Ok((local, remote))
    }

    /// Returns the newer tip of a scope without judging it; the local one where the two have diverged.
    pub(crate) fn newest_unjudged(&self, scope: &ScopeName) -> Result<ObjectId, CommandError> {
        let newest = match self.tips(scope)? {
            (Some(local), Some(remote)) => {
                let relation =
                    line::compare(self.repository.gix(), local, remote).map_err(Rejection::from)?;
                Some(if relation == line::Relation::Behind {
                    remote
                } else {
                    local
                })
            }
            (local, remote) => local.or(remote),
        };
        newest.ok_or_else(|| self.explain(ReadError::NotFound(scope.clone())))
    }

    /// Judges a whole line, whatever was judged before.
    pub(crate) fn judge_from_start(
        &self,
        scope: &ScopeName,
        tip: ObjectId,
    ) -> Result<VerifiedRecord, CommandError> {
        let judge = Judge {
            objects: self.repository.gix(),
            policy: Policy::default(),
            now: Timestamp::now(),
        };
        Ok(judge.line(scope, tip, None, None)?.tip)
    }

    /// Returns the scope in use: the one last restored or saved here on this branch, else the only one whose head
    /// is behind `HEAD`.
    pub(crate) fn in_use(&self) -> Result<ScopeName, CommandError> {
        let head = self.repository.head()?;
        if let Some(scope) = self.remembered(&head) {
            return Ok(scope);
        }
        let reader = self.reader();
        let looks = reader.look_at_all().map_err(|error| self.explain(error))?;
        let mut fitting = Vec::new();
        for (scope, view) in looks {
            let Ok(view) = view else { continue };
            let scope_head = view.tip.head_commit_id();
            if self.is_behind(&head, scope_head) {
                fitting.push(scope);
            }
        }
        match fitting.as_slice() {
            [only] => Ok(only.clone()),
            [] => {
                let error = CommandError::new(
                    ErrorCode::NotFound,
                    "no scope belongs to what is checked out here",
                );
                Err(error.hint("name one").next(&["git", "handoff", "list"]))
            }
            several => Err(ambiguous(several)),
        }
    }

    /// Returns the scope that a save without a name goes to: the one in use on this branch, else
    /// `<local part of the e-mail address>.<branch>`.
    pub(crate) fn to_save(&self, head: &Head) -> ScopeName {
        self.remembered(head).unwrap_or_else(|| self.own(head))
    }

    /// Returns `<local part of the e-mail address>.<branch>`.
    pub(crate) fn own(&self, head: &Head) -> ScopeName {
        let address = self
            .repository
            .config("user.email")
            .or(self.context.environment.id.clone());
        let address = address.unwrap_or_default();
        let local = address.split('@').next().unwrap_or_default();
        let branch = head
            .branch
            .as_ref()
            .map_or_else(|| "detached".into(), |branch| branch.shorten().to_string());
        ScopeName::from_task_id(&format!("{local}.{branch}"))
    }

    /// Returns the scope remembered for a branch, if the head of its tip is behind `HEAD`.
    pub(crate) fn remembered(&self, head: &Head) -> Option<ScopeName> {
        let scope = State::load(self.repository)
            .scopes
            .get(&branch_key(head))?
            .clone();
        let view = self.reader().look(&scope).ok()?;
        self.is_behind(head, view.tip.head_commit_id())
            .then_some(scope)
    }

    fn is_behind(&self, head: &Head, scope_head: Option<ObjectId>) -> bool {
        match (scope_head, head.commit) {
            (None, _) => true,
            (Some(scope_head), Some(head)) if scope_head == head => true,
            (Some(scope_head), Some(head)) => {
                let base = self.repository.gix().merge_base(scope_head, head);
                base.ok().flatten().is_some_and(|base| base == scope_head)
            }
            (Some(_), None) => false,
        }
    }

    /// Remembers that a scope is in use on a branch, and what was read of it.
    pub(crate) fn remember(&self, head: &Head, record: &VerifiedRecord) {
        let read = Read {
            generation: record.generation(),
            digest: record.manifest.digest,
        };
        State::update(self.context, self.repository, |state| {
            state
                .scopes
                .insert(branch_key(head), record.scope().clone());
            state.read.insert(record.scope().clone(), read);
            state.prepared = None;
        });
    }

    /// Remembers what was read of a scope.
    pub(crate) fn remember_read(&self, record: &VerifiedRecord) {
        let read = Read {
            generation: record.generation(),
            digest: record.manifest.digest,
        };
        State::update(self.context, self.repository, |state| {
            state.read.insert(record.scope().clone(), read);
        });
    }

    /// Says that a line was judged from where a shallow history cuts it, and not from its beginning.
    pub(crate) fn warn_where_cut(&self, scope: &ScopeName, tip: ObjectId) {
        // A line that cannot be walked is refused where it is judged.
        let Ok(walk) = line::back_to(self.repository.gix(), tip, |_| false) else {
            return;
        };
        if let Some(oldest) = walk.records.last().filter(|_| walk.is_cut) {
            let how = format!("git fetch --unshallow origin refs/handoff/{scope}");
            let text = format!(
                "the records before {oldest} are not here and were not judged; `{how}` brings them"
            );
            self.context.ui.warn("SHALLOW", &text);
        }
    }

    /// Turns an error of reading into one that says what to do.
    pub(crate) fn explain(&self, error: ReadError) -> CommandError {
        match error {
            ReadError::NotFound(scope) => {
                let made = CommandError::new(
                    ErrorCode::NotFound,
                    format!("there is no scope `{scope}` here"),
                )
                .subject(scope.as_str());
                match &self.remote {
                    Some(remote) => made
                        .hint(format!(
                            "if it is at the remote, fetch it: git fetch {}",
                            remote.name
                        ))
                        .next(&["git", "handoff", "list"]),
                    None => made
                        .hint("no handoff remote is set up yet")
                        .next(&["git", "handoff", "init"]),
                }
            }
            ReadError::Rejected(rejection) => rejection.into(),
            ReadError::Ref(error) => error.into(),
        }
    }
}

fn branch_key(head: &Head) -> String {
    head.branch.as_ref().map_or_else(
        || "HEAD".into(),
        |branch| branch.as_bstr().to_str_lossy().into_owned(),
    )
}

/// Says that several scopes could be meant.
pub(crate) fn ambiguous(scopes: &[ScopeName]) -> CommandError {
    let names = scopes
        .iter()
        .take(20)
        .map(ScopeName::as_str)
        .collect::<Vec<_>>()
        .join(", ");
    let message = match scopes {
        [_] => format!("nothing says which scope is meant; there is `{names}`"),
        _ => format!("several scopes could be meant: {names}"),
    };
    CommandError::new(ErrorCode::AmbiguousScope, message)
        .hint("name one")
        .next(&["git", "handoff", "list"])
}
