//! Whether a record names whoever pushes it.

use std::ffi::OsString;

use store::{
    actor::{ActorGlob, ActorId, ActorKind},
    error_code::ErrorCode,
    record::{Record, RecordKind},
};

use crate::{
    config_files::{ConfigFiles, SettingError},
    rejection::Rejection,
};

/// What the operator says about users of the server and the ids of records.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct IdentityPolicy {
    /// `handoff.identityEnv`: the variable that holds the authenticated user.
    pub variable: Option<String>,
    /// `handoff.identityMap`: which ids a user writes as.
    pub map: Vec<MapLine>,
    /// `handoff.identityScope` is `off`: the user is logged, and nothing is compared.
    pub only_logged: bool,
    /// `handoff.relayer`: users who may push other people's records.
    pub relayers: Vec<String>,
}

/// A line of `handoff.identityMap`: `<user> <id glob>…`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MapLine {
    user: String,
    ids: Vec<ActorGlob>,
}

impl IdentityPolicy {
    pub(crate) fn read(files: &ConfigFiles<'_>) -> Result<Self, SettingError> {
        let (scope, expected) = ("handoff.identityScope", "`all` or `off`");
        let only_logged = files.read(scope, expected, |value| match value {
            "all" => Some(false),
            "off" => Some(true),
            _ => None,
        })?;
        let (variable, expected) = ("handoff.identityEnv", "the name of an environment variable");
        let variable = files.read(variable, expected, |value| {
            is_variable(value).then(|| value.to_owned())
        })?;
        let line = |value: String| match MapLine::parse(&value) {
            Some(line) => Ok(line),
            None => Err(SettingError::new(
                "handoff.identityMap",
                value,
                "a user and one or more ids or id patterns",
            )),
        };
        let map = files.all("handoff.identityMap").into_iter();
        Ok(IdentityPolicy {
            variable,
            map: map.map(line).collect::<Result<_, _>>()?,
            only_logged: only_logged.unwrap_or_default(),
            relayers: files.all("handoff.relayer"),
        })
    }

    /// Tells whether a user may write as an id.
    fn may_write_as(&self, user: &str, id: &ActorId) -> bool {
        let mut lines = self.lines_of(user).peekable();
        if lines.peek().is_none() {
            return is_own_id(user, id);
        }
        lines
            .flat_map(|line| &line.ids)
            .any(|glob| glob.matches(id))
    }

    fn lines_of<'s>(&'s self, user: &str) -> impl Iterator<Item = &'s MapLine> {
        self.map.iter().filter(move |line| line.user == user)
    }
}

impl MapLine {
    fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_ascii_whitespace();
        let user = words.next()?.to_owned();
        let ids: Vec<ActorGlob> = words.map(str::parse).collect::<Result<_, _>>().ok()?;
        (!ids.is_empty()).then_some(MapLine { user, ids })
    }
}

fn is_variable(name: &str) -> bool {
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    starts && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Who pushes, as the server has authenticated them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Pusher {
    /// Nobody has said: the operator named no variable.
    Unknown,
    /// The variable that the operator named holds nothing.
    Unauthenticated {
        /// Name of the variable.
        variable: String,
    },
    /// This user of the server.
    User(String),
}

/// What was seen of who wrote a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Authorship {
    /// Whoever pushes it, as far as can be said.
    Own,
    /// Somebody else: it is relayed.
    Relayed,
}

impl Pusher {
    /// Takes the user from the variable that the operator has named, if one.
    pub fn authenticated(
        policy: &IdentityPolicy,
        variable: impl FnOnce(&str) -> Option<OsString>,
    ) -> Self {
        let Some(name) = &policy.variable else {
            return Pusher::Unknown;
        };
        match variable(name).and_then(|value| value.into_string().ok()) {
            Some(user) if !user.is_empty() => Pusher::User(user),
            _ => Pusher::Unauthenticated {
                variable: name.clone(),
            },
        }
    }

    /// Returns the user, where one is known.
    pub fn user(&self) -> Option<&str> {
        match self {
            Pusher::User(user) => Some(user),
            Pusher::Unknown | Pusher::Unauthenticated { .. } => None,
        }
    }

    /// Sees that the server has authenticated whoever pushes, where the operator says that it does.
    ///
    /// # Errors
    ///
    /// `IDENTITY_MISMATCH` where it has not.
    pub fn is_known(&self, policy: &IdentityPolicy) -> Result<(), Rejection> {
        let Pusher::Unauthenticated { variable } = self else {
            return Ok(());
        };
        if policy.only_logged {
            return Ok(());
        }
        let detail = format!("the server names no authenticated user: {variable} holds nothing");
        Err(Rejection::new(ErrorCode::IdentityMismatch, detail).hint(
            "the operator sees to it that the server sets the variable of handoff.identityEnv",
        ))
    }

    /// Sees that a new record is by whoever pushes it; one of an unknown kind names nobody that can be read.
    ///
    /// # Errors
    ///
    /// `IDENTITY_MISMATCH` where it names somebody else, `FORBIDDEN_ACTION` where one person writes a checkpoint that
    /// others are to accept, and accepts it.
    pub fn judge(&self, policy: &IdentityPolicy, record: &Record) -> Result<Authorship, Rejection> {
        let Pusher::User(user) = self else {
            return Ok(Authorship::Own);
        };
        if policy.only_logged || matches!(record.kind, RecordKind::Unknown(_)) {
            return Ok(Authorship::Own);
        }
        if !policy.may_write_as(user, record.by()) {
            return if policy.relayers.contains(user) {
                Ok(Authorship::Relayed)
            } else {
                Err(mismatch(policy, user, record))
            };
        }
        let manifest = &record.manifest.value;
        let task = manifest.content.task.as_ref();
        let is_checked = task.is_some_and(|task| !task.acceptors.is_empty());
        let producer = &manifest.producer.id;
        if record.kind == RecordKind::Accept && is_checked && policy.may_write_as(user, producer) {
            let detail = format!(
                "{user} writes as {producer} too, who made the checkpoint that others are to accept"
            );
            return Err(Rejection::new(ErrorCode::ForbiddenAction, detail)
                .hint("another of those whom `task.acceptors` names accepts it"));
        }
        Ok(Authorship::Own)
    }
}

fn mismatch(policy: &IdentityPolicy, user: &str, record: &Record) -> Rejection {
    let detail = format!(
        "record {} is by {}, it was pushed by {user}",
        record.id,
        record.by()
    );
    let mapped: Vec<&str> = policy
        .lines_of(user)
        .flat_map(|line| line.ids.iter().map(ActorGlob::as_str))
        .take(8)
        .collect();
    let ids = if mapped.is_empty() {
        format!("{user}, or as agent:{user}/<name>")
    } else {
        mapped.join(" or ")
    };
    Rejection::new(ErrorCode::IdentityMismatch, detail)
        .hint(format!("write it as {ids}: git config handoff.id <id>"))
}

/// Tells whether an id is the user's without a map: `<user>`, `<kind>:<user>`, or anything below `<kind>:<user>/`.
fn is_own_id(user: &str, id: &ActorId) -> bool {
    // Such a name could be read as another user's id.
    if user.contains([':', '/']) {
        return false;
    }
    let name = match id.as_str().split_once(':') {
        None => return id.as_str() == user,
        Some((kind, name)) if kind.parse::<ActorKind>().is_ok() => name,
        Some(_) => return false,
    };
    let rest = name.strip_prefix(user);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_writes_as_themselves_and_as_what_they_run() {
        let may = |user, id: &str| is_own_id(user, &id.parse().unwrap());
        for id in ["ann", "person:ann", "agent:ann/codex-3", "service:ann/ci/7"] {
            assert!(may("ann", id), "{id}");
        }
        for id in [
            "bob",
            "annabel",
            "agent:bob",
            "agent:annabel",
            "ann/x",
            "team:ann",
            "agent:x/ann",
        ] {
            assert!(!may("ann", id), "{id}");
        }
        assert!(!may("agent:bob", "agent:bob"));
        assert!(!may("ann/bob", "agent:ann/bob"));
    }

    fn mapped(lines: &[&str]) -> IdentityPolicy {
        IdentityPolicy {
            map: lines
                .iter()
                .map(|line| MapLine::parse(line).unwrap())
                .collect(),
            ..IdentityPolicy::default()
        }
    }

    #[test]
    fn a_user_with_a_line_writes_as_what_it_names_alone() {
        let policy = mapped(&["ann agent:codex-*", "ann  person:ann.example", "eve e"]);
        let may = |user, id: &str| policy.may_write_as(user, &id.parse().unwrap());
        assert!(may("ann", "agent:codex-3") && may("ann", "person:ann.example"));
        assert!(!may("ann", "ann") && !may("ann", "agent:codex-3/x") && !may("ann", "e"));
        assert!(may("eve", "e") && !may("eve", "eve"));
        assert!(may("bob", "bob") && !may("bob", "agent:codex-3"));
    }

    #[test]
    fn a_line_without_ids_or_with_a_pattern_for_all_is_none() {
        for line in ["", " ", "ann", "ann *", "ann a ,b"] {
            assert_eq!(MapLine::parse(line), None, "{line}");
        }
    }

    #[test]
    fn an_empty_variable_names_nobody() {
        let policy = IdentityPolicy {
            variable: Some("REMOTE_USER".into()),
            ..IdentityPolicy::default()
        };
        for value in [None, Some("".into())] {
            let pusher = Pusher::authenticated(&policy, |_| value);
            assert_eq!(pusher.user(), None);
            let rejection = pusher.is_known(&policy).unwrap_err();
            assert_eq!(rejection.code, ErrorCode::IdentityMismatch);
        }
        let logged = IdentityPolicy {
            only_logged: true,
            ..policy
        };
        let pusher = Pusher::authenticated(&logged, |_| None);
        assert!(pusher.is_known(&logged).is_ok());
    }
}
