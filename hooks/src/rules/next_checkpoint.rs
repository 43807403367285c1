//! A content that is to become the next checkpoint of a scope, judged before it is in any record.
//!
//! The rules are those that judge the record afterwards; here all that is wrong is found at once.

use store::{actor::ActorId, contract::Content, record::Record, scope::ScopeName};

use super::{citations, continuity, ownership, widening};
use crate::rejection::Rejection;

/// A content that is to follow a record.
pub struct NextCheckpoint<'a> {
    /// The scope.
    pub scope: &'a ScopeName,
    /// The tip that it is to follow, if the scope has one.
    pub before: Option<&'a Record>,
    /// What it says, with all of its lists.
    pub content: &'a Content,
    /// Who writes it.
    pub producer: &'a ActorId,
}

impl NextCheckpoint<'_> {
    /// Finds everything that keeps the content from following the record, with the field paths; an empty one is none.
    pub fn find(&self, objects: &gix::Repository) -> Vec<(String, Rejection)> {
        let mut found = citations::of_line(objects, self.scope, self.before, self.content);
        if let Some(before) = self.before {
            let old = &before.manifest.value.content;
            let about_no_field =
                |result: Result<(), Rejection>| Some((String::new(), result.err()?));
            let continues = continuity::between(self.scope, old, self.content);
            let owns = ownership::next_checkpoint(self.scope, before, self.producer, false);
            found.extend(about_no_field(continues));
            found.extend(about_no_field(owns));
            found.extend(widening::find(self, before));
        }
        found
    }
}
