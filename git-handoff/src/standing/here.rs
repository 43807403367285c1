//! The worktree here, beside what was handed over.

use gix::{ObjectId, bstr::BStr};
use store::oid::Oid;

use super::HandedOver;
use crate::{
    authoring,
    context::Context,
    error::CommandError,
    scopes::Scopes,
    worktree_check::{self, Difference, DiffersIn},
};

/// What is here of what was handed over.
pub(crate) enum Here {
    /// No worktree at all.
    Nowhere,
    /// A worktree of something else: the scope was not restored or saved on what is checked out.
    Elsewhere,
    /// A worktree that could not be captured, for this reason.
    Unknown(String),
    /// The state handed over, or what it has become.
    Worktree(Found),
}

/// The worktree as it is now.
pub(crate) struct Found {
    pub(crate) tree: Oid,
    pub(crate) head: Option<ObjectId>,
    pub(crate) differences: Vec<Difference>,
}

impl Here {
    /// Looks at the worktree that the command runs in.
    pub(super) fn find(context: &Context, handed_over: &HandedOver<'_>, is_of_here: bool) -> Self {
        Self::look(context, handed_over, is_of_here)
            .unwrap_or_else(|error| Here::Unknown(error.message))
    }

    fn look(
        context: &Context,
        handed_over: &HandedOver<'_>,
        is_of_here: bool,
    ) -> Result<Self, CommandError> {
        let Ok(here) = context.repository() else {
            return Ok(Here::Nowhere);
        };
        if here.worktree().is_none() || here.hash_kind() != handed_over.repository.hash_kind() {
            return Ok(Here::Nowhere);
        }
        let (content, scope) = (handed_over.content, handed_over.scope);
        let head = here.head()?;
        let is_of_here =
            is_of_here || Scopes::new(context, &here).remembered(&head).as_ref() == Some(scope);
        let found = worktree_check::compare(context, &here, handed_over.repository, content)?;
        if !is_of_here && found.tree != content.repository.worktree_tree {
            return Ok(Here::Elsewhere);
        }
        Ok(Here::Worktree(Found {
            tree: found.tree,
            head: head.commit,
            differences: found.differences,
        }))
    }
}

impl Found {
    /// Returns what differs in the worktree itself.
    fn in_worktree(&self) -> impl Iterator<Item = &Difference> {
        let all = self.differences.iter();
        all.filter(|difference| difference.place == DiffersIn::Worktree)
    }

    pub(super) fn is_as_handed_over(&self) -> bool {
        self.in_worktree().next().is_none()
    }

    pub(super) fn of_path(&self, path: &BStr) -> Option<&Difference> {
        self.in_worktree()
            .find(|difference| difference.path == path)
    }

    pub(super) fn what_differs(&self) -> String {
        let paths: Vec<_> = self.in_worktree().map(|found| found.path.clone()).collect();
        format!("changed since here: {}", authoring::names(&paths))
    }

    /// Tells whether `HEAD` reaches a commit.
    pub(super) fn reaches(&self, objects: &gix::Repository, commit: ObjectId) -> bool {
        let Some(head) = self.head else { return false };
        let base = || objects.merge_base(commit, head).ok().flatten();
        head == commit || base().is_some_and(|base| base == commit)
    }
}
