//! Reads refs and moves them by compare-and-swap.
//!
//! Which ref may move is judged in the crate `hooks`; here is only the swap. Refs move through Git's own
//! transaction: it is the one that knows every backend, and the one that makes a ref durable before it is seen.

use gix::{
    ObjectId,
    bstr::{BString, ByteSlice},
    refs::{FullName, TargetRef},
};

use crate::{git::GitError, repository::Repository};

/// How often a ref that another process has locked is tried.
const LOCK_ATTEMPTS: usize = 20;

/// One update of one ref; every form names the value it replaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefUpdate {
    /// The ref.
    pub name: FullName,
    /// What happens to it.
    pub change: RefChange,
}

/// What happens to a ref.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefChange {
    /// It must not exist, and then names `new`.
    Create {
        /// The value afterwards.
        new: ObjectId,
    },
    /// It must name `old`, and then names `new`.
    Advance {
        /// The value before.
        old: ObjectId,
        /// The value afterwards.
        new: ObjectId,
    },
    /// It must name `old`, and then is gone.
    Delete {
        /// The value before.
        old: ObjectId,
    },
}

impl RefChange {
    /// Makes the change from what a ref was seen to be to `new`.
    pub fn from_seen(seen: Option<ObjectId>, new: ObjectId) -> Self {
        seen.map_or(RefChange::Create { new }, |old| RefChange::Advance {
            old,
            new,
        })
    }

    /// Makes the change from Git's pair of ids, where null ids stand for absence; `None` for two null ids.
    pub fn from_ids(old: ObjectId, new: ObjectId) -> Option<Self> {
        match (old.is_null(), new.is_null()) {
            (true, true) => None,
            (true, false) => Some(RefChange::Create { new }),
            (false, true) => Some(RefChange::Delete { old }),
            (false, false) => Some(RefChange::Advance { old, new }),
        }
    }

    /// Returns the value that must be there, if one must.
    pub fn old(&self) -> Option<ObjectId> {
        match *self {
            RefChange::Create { .. } => None,
            RefChange::Advance { old, .. } | RefChange::Delete { old } => Some(old),
        }
    }

    /// Returns the value afterwards, if there is one.
    pub fn target(&self) -> Option<ObjectId> {
        match *self {
            RefChange::Create { new } | RefChange::Advance { new, .. } => Some(new),
            RefChange::Delete { .. } => None,
        }
    }
}

/// Where `HEAD` is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The branch it is on, or `None` where detached.
    pub branch: Option<FullName>,
    /// The commit it names, or `None` on an unborn branch.
    pub commit: Option<ObjectId>,
}

/// Says why a ref could not be read or moved.
#[derive(Debug, thiserror::Error)]
pub enum RefError {
    /// Another writer was faster.
    #[error("{name} is at {}, not at {}", shown(.found), shown(.expected))]
    Moved {
        /// The ref.
        name: FullName,
        /// The value that was to be replaced.
        expected: Option<ObjectId>,
        /// The value that is there.
        found: Option<ObjectId>,
    },
    /// The ref points at another ref.
    #[error("{name} is a symbolic ref")]
    Symbolic {
        /// The ref.
        name: FullName,
    },
    /// The ref could not be read.
    #[error("{name} could not be read")]
    Unreadable {
        /// The ref, or the namespace that was listed.
        name: BString,
        /// What went wrong.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Git answered with something unexpected.
    #[error("git gave an answer about refs that cannot be read: {0}")]
    Answer(BString),
    /// Git could not move the refs.
    #[error(transparent)]
    Git(#[from] GitError),
}

fn shown(id: &Option<ObjectId>) -> String {
    id.map_or_else(|| "nothing".into(), |id| id.to_string())
}

impl Repository {
    /// Returns what a ref names, or `None` where it does not exist.
    ///
    /// # Errors
    ///
    /// [`RefError::Symbolic`] where it names another ref.
    pub fn find_ref(&self, name: &FullName) -> Result<Option<ObjectId>, RefError> {
        if !self.has_ref_files() {
            let listed = self.list_refs_by_git(&name.as_bstr().to_str_lossy())?;
            return Ok(listed
                .into_iter()
                .find(|(found, _)| found == name)
                .map(|(_, id)| id));
        }
        let unreadable = |source| RefError::Unreadable {
            name: name.as_bstr().into(),
            source,
        };
        match self
            .gix()
            .refs
            .try_find(name.as_ref())
            .map_err(|error| unreadable(error.into()))?
        {
            None => Ok(None),
            Some(found) => match found.target {
                gix::refs::Target::Object(id) => Ok(Some(id)),
                gix::refs::Target::Symbolic(_) => Err(RefError::Symbolic { name: name.clone() }),
            },
        }
    }

    /// Returns all refs below a namespace that ends in `/`, by name.
    ///
    /// # Errors
    ///
    /// Where one of them cannot be read, or is a symbolic ref.
    pub fn list_refs(&self, namespace: &str) -> Result<Vec<(FullName, ObjectId)>, RefError> {
        if !self.has_ref_files() {
            return self.list_refs_by_git(namespace);
        }
        let unreadable = |source| RefError::Unreadable {
            name: namespace.into(),
            source,
        };
        let platform = self
            .gix()
            .references()
            .map_err(|error| unreadable(error.into()))?;
        let refs = platform
            .prefixed(namespace)
            .map_err(|error| unreadable(error.into()))?;
        let mut listed = Vec::new();
        for found in refs {
            let found = found.map_err(|error| unreadable(error.into()))?;
            let name = found.name().to_owned();
            match found.target() {
                TargetRef::Object(id) => listed.push((name, id.to_owned())),
                TargetRef::Symbolic(_) => return Err(RefError::Symbolic { name }),
            }
        }
        Ok(listed)
    }

    fn list_refs_by_git(&self, namespace: &str) -> Result<Vec<(FullName, ObjectId)>, RefError> {
        let format = "--format=%(objectname) %(refname) %(symref)";
        let answer =
            self.git()
                .output(["for-each-ref", format, namespace.trim_end_matches('/')])?;
        let mut listed = Vec::new();
        for line in answer.lines() {
            let unexpected = || RefError::Answer(line.into());
            let mut parts = line.splitn(3, |b| *b == b' ');
            let (id, name, target) = (parts.next(), parts.next(), parts.next());
            let id = id
                .and_then(|id| ObjectId::from_hex(id).ok())
                .ok_or_else(unexpected)?;
            let name = name
                .and_then(|name| FullName::try_from(name.as_bstr()).ok())
                .ok_or_else(unexpected)?;
            if target.is_some_and(|target| !target.is_empty()) {
                return Err(RefError::Symbolic { name });
            }
            listed.push((name, id));
        }
        Ok(listed)
    }

    /// Returns where `HEAD` is.
    ///
    /// # Errors
    ///
    /// Where it cannot be read.
    pub fn head(&self) -> Result<Head, RefError> {
        if !self.has_ref_files() {
            return self.head_by_git();
        }
        let unreadable = |source| RefError::Unreadable {
            name: "HEAD".into(),
            source,
        };
        let head = self
            .gix()
            .head()
            .map_err(|error| unreadable(error.into()))?;
        let branch = head.referent_name().map(ToOwned::to_owned);
        let commit = match head.kind {
            gix::head::Kind::Unborn(_) => None,
            gix::head::Kind::Detached { target, .. } => Some(target),
            gix::head::Kind::Symbolic(reference) => {
                let found = self
                    .gix()
                    .find_reference(&reference.name)
                    .map_err(|error| unreadable(error.into()))?;
                Some(
                    found
                        .into_fully_peeled_id()
                        .map_err(|error| unreadable(error.into()))?
                        .detach(),
                )
            }
        };
        Ok(Head { branch, commit })
    }

    fn head_by_git(&self) -> Result<Head, RefError> {
        let quiet = |args: &[&str]| match self.git().line(args) {
            Ok(line) => Ok(Some(line)),
            Err(GitError::Failed { code: Some(1), .. }) => Ok(None),
            Err(error) => Err(error),
        };
        let branch = match quiet(&["symbolic-ref", "-q", "HEAD"])? {
            Some(name) => {
                Some(FullName::try_from(name.as_str()).map_err(|_| RefError::Answer(name.into()))?)
            }
            None => None,
        };
        let commit = match quiet(&["rev-parse", "-q", "--verify", "HEAD^{commit}"])? {
            Some(id) => {
                Some(ObjectId::from_hex(id.as_bytes()).map_err(|_| RefError::Answer(id.into()))?)
            }
            None => None,
        };
        Ok(Head { branch, commit })
    }

    /// Makes all updates or none; on success they are durable.
    ///
    /// # Errors
    ///
    /// [`RefError::Moved`] where a ref is not what its update replaces.
    pub fn update_refs(&self, updates: &[RefUpdate]) -> Result<(), RefError> {
        let mut input = Vec::from(&b"start\0"[..]);
        for RefUpdate { name, change } in updates {
            let name = name.as_bstr();
            // Ref names are bytes: nothing of them goes through text.
            let (verb, ids) = match change {
                RefChange::Create { new } => ("create ", format!("\0{new}\0")),
                RefChange::Advance { old, new } => ("update ", format!("\0{new}\0{old}\0")),
                RefChange::Delete { old } => ("delete ", format!("\0{old}\0")),
            };
            input.extend([verb.as_bytes(), name.as_bstr().as_bytes(), ids.as_bytes()].concat());
        }
        input.extend(b"prepare\0commit\0");
        // Hooks of the repository are for the user's own commands, reference-transaction too.
        let args = [
            "-c",
            "core.hooksPath=/dev/null",
            "-c",
            "core.fsync=reference",
            "update-ref",
            "--no-deref",
            "--stdin",
            "-z",
        ];
        for attempt in 1.. {
            let error = match self.git().output_with_input(args, &input) {
                Ok(_) => return Ok(()),
                Err(error) => error,
            };
            for RefUpdate { name, change } in updates {
                let found = self.find_ref(name)?;
                if found != change.old() {
                    return Err(RefError::Moved {
                        name: name.clone(),
                        expected: change.old(),
                        found,
                    });
                }
            }
            let locked = matches!(&error, GitError::Failed { message, .. } if message.contains(".lock': File exists"));
            if !locked || attempt == LOCK_ATTEMPTS {
                return Err(error.into());
            }
        }
        unreachable!("the loop ends by returning")
    }
}
