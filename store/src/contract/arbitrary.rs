//! Arbitrary documents, made from arbitrary bytes: fewer and smaller bytes make simpler documents.

use std::{collections::BTreeMap, str::FromStr};

use proptest::prelude::*;

use super::*;
use crate::{
    actor::{ActorGlob, ActorId, ActorKind},
    byte_text::ByteText,
    digest::Digest,
    entry_id::EntryId,
    generation::Generation,
    oid::Oid,
    repo_path::RepoPath,
    scope::ScopeName,
    timestamp::Timestamp,
};

/// Returns a strategy for documents of one kind.
pub(crate) fn documents<T: Make + std::fmt::Debug>() -> impl Strategy<Value = T> {
    proptest::collection::vec(any::<u8>(), 0..2_000).prop_map(|bytes| {
        T::make(&mut Source {
            bytes: &bytes,
            depth: 0,
        })
    })
}

/// Bytes that choices are read from; zeros once they are used up.
pub(crate) struct Source<'a> {
    bytes: &'a [u8],
    depth: usize,
}

impl Source<'_> {
    fn byte(&mut self) -> u8 {
        let (first, rest) = self.bytes.split_first().unwrap_or((&0, &[]));
        self.bytes = rest;
        *first
    }

    fn below(&mut self, count: usize) -> usize {
        usize::from(self.byte()) % count
    }

    fn number(&mut self) -> u64 {
        let length = self.below(9);
        (0..length).fold(0, |value, _| value << 8 | u64::from(self.byte()))
    }

    fn pick<T: FromStr<Err: std::fmt::Debug>>(&mut self, texts: &[&str]) -> T {
        texts[self.below(texts.len())].parse().unwrap()
    }
}

/// Something that can be made from any bytes.
pub(crate) trait Make {
    fn make(source: &mut Source<'_>) -> Self;
}

macro_rules! makes {
    ($($kind:ty => |$source:ident| $body:expr;)+) => {$(
        impl Make for $kind {
            fn make($source: &mut Source<'_>) -> Self {
                $body
            }
        }
    )+};
}

macro_rules! structs {
    ($($kind:ident { $($field:ident),+ })+) => {$(
        impl Make for $kind {
            fn make(source: &mut Source<'_>) -> Self {
                $kind { $($field: Make::make(source)),+ }
            }
        }
    )+};
}

macro_rules! enums {
    ($($kind:ident { $($variant:ident),+ })+) => {$(
        impl Make for $kind {
            fn make(source: &mut Source<'_>) -> Self {
                let all = [$($kind::$variant),+];
                all[source.below(all.len())]
            }
        }
    )+};
}

impl<T: Make> Make for Vec<T> {
    fn make(source: &mut Source<'_>) -> Self {
        (0..source.below(4)).map(|_| T::make(source)).collect()
    }
}

impl<T: Make> Make for Option<T> {
    fn make(source: &mut Source<'_>) -> Self {
        (source.below(2) == 1).then(|| T::make(source))
    }
}

impl<T: Make> Make for CapturedList<T> {
    fn make(source: &mut Source<'_>) -> Self {
        match source.below(4) {
            3 => CapturedList::Elsewhere(Make::make(source)),
            _ => CapturedList::Inline(Make::make(source)),
        }
    }
}

makes! {
    bool => |source| source.below(2) == 1;
    u8 => |source| source.byte();
    u64 => |source| source.number() >> 1;
    String => |source| {
        let bytes: Vec<u8> = (0..source.below(40)).map(|_| source.byte()).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    ByteText => |source| {
        let bytes: Vec<u8> = (0..source.below(20)).map(|_| source.byte()).collect();
        bytes.into()
    };
    RepoPath => |source| {
        let bytes: Vec<u8> = (0..source.below(20)).map(|_| source.byte()).collect();
        RepoPath::from_bytes(&bytes).or_else(|_| RepoPath::from_bytes(b"a/caf\xe9")).unwrap()
    };
    Digest => |source| Digest::of(&[source.byte()]);
    Oid => |source| {
        let length = [40, 64][source.below(2)];
        format!("{:x}", source.below(16)).repeat(length).parse().unwrap()
    };
    Generation => |source| Generation::try_from((source.number() >> 1).max(1)).unwrap();
    Timestamp => |source| {
        Timestamp::from_unix_seconds((source.number() % 253_402_207_201) as i64).unwrap()
    };
    ScopeName => |source| source.pick(&["a", "DEV-1842", "x.y_z", "0"]);
    EntryId => |source| source.pick(&["a", "AC-3", "R1", "x.y_z-", "0"]);
    ActorId => |source| source.pick(&["a", "agent:codex-3", "ann@example.com", "team/a+b"]);
    ActorGlob => |source| source.pick(&["a", "agent:codex-*", "team/*", "*a"]);
    Citation => |source| match source.below(8) {
        0 => Citation::Worktree,
        1 => Citation::Receipt(Make::make(source)),
        2 => Citation::Evidence(Make::make(source)),
        3 => Citation::Commit(Make::make(source)),
        4 => Citation::Bundle(Make::make(source)),
        5 => Citation::Checkpoint(Make::make(source), Make::make(source), Make::make(source)),
        6 => Citation::Url("https://example.com/ä#b".into()),
        _ => Citation::File(Make::make(source), Make::make(source)),
    };
    LineRange => |source| {
        let first = u32::from(source.byte()) + 1;
        LineRange { first, last: first + u32::from(source.byte()) }
    };
    DecisionDefault => |source| match source.below(2) {
        0 => DecisionDefault::Option(Make::make(source)),
        _ => DecisionDefault::Forbid(Make::make(source)),
    };
    Value => |source| {
        source.depth += 1;
        let value = match source.below(if source.depth < 20 { 7 } else { 5 }) {
            0 => Value::Null,
            1 => Value::Bool(Make::make(source)),
            2 => Value::Integer(source.number() as i64),
            3 => Value::Text(Make::make(source)),
            4 => Value::Bytes(Make::make(source)),
            5 => Value::List(Make::make(source)),
            _ => Value::Map(Make::make(source)),
        };
        source.depth -= 1;
        value
    };
    BTreeMap<String, Value> => |source| {
        (0..source.below(4)).map(|_| (Make::make(source), Make::make(source))).collect()
    };
}

enums! {
    ManifestSchema { V1 }
    PreparedSchema { V1 }
    AcceptSchema { V1 }
    ReleaseSchema { V1 }
    ReceiptSchema { V1 }
    ActorKind { Agent, Person, Service }
    BaseFrom { Previous, Given, Upstream, RemoteHead, Root }
    Disposition { Continuable, Completed, Blocked }
    ClaimState { Evidenced, Open, Failed }
    EffectKind { Migration, Generated, ExternalWrite }
    TaskRole { Engineer, Product }
    EvidenceKind { Receipt, Commit, File, Checkpoint, Bundle, Url, External }
    OmissionReason {
        TooLarge, SpecialFile, Unreadable, NestedRepository, SubmoduleDirty, OutOfScope, Secret, Filtered,
        ByRequest, OperationState, SparsePatterns, PathTooLong, RefusedByGit
    }
    BlockerKind {
        Generated, Environment, Access, LfsMissing, SubmoduleUnreachable, SubmoduleDirty, Operation
    }
    Conclusion { Pass, Fail }
    ReceiptRole { Before, After }
    ExcludedReason { Ignored }
    Reachable { Yes, No, Unknown }
    ObjectFormat { Sha1, Sha256 }
    OperationKind { Merge, CherryPick, Revert }
    AutoCrlf { True, False, Input }
    Eol { Lf, Crlf, Native }
    FileMode { Regular, Executable, Link, Gitlink }
}

structs! {
    Manifest { schema, scope, generation, previous, created_at, producer, content, observed }
    Previous { checkpoint, accept, release }
    Producer { id, kind, run_id, tool }
    Observed { last_edit_at, base_from, upstream, excluded, submodules, lfs }
    Content {
        task_id, objective, disposition, state, next, forbidden, claims, decisions, assumptions, effects, attempts,
        unexecuted, known_failures, untested, verification, changes, task, leases, evidence, allow, omissions,
        blockers, receipts, repository, worktree, artifacts, lifted, extensions
    }
    Statement { text, citations }
    NextStep { action, text, citations }
    Claim { id, text, state, receipt, reason, decision, owner, default }
    Decision { id, question, owner, options, citations, blocks, decide_by, default }
    DecisionOption { id, text }
    Assumption { id, text, citations, stale_when }
    Effect { id, text, kind, repeatable, receipt }
    Unexecuted { command, reason }
    Verification { id, command, claim, timeout_seconds }
    Change { path, why }
    Task {
        outcome, scope, inputs, reproduction, expected, fixtures, acceptance, stop_when, runner, acceptors
    }
    TaskScope { allowed, excluded }
    Runner { operator, setup, test, permissions }
    TaskAcceptor { role, id }
    PathLease { id, paths, reference }
    Evidence { id, kind, reference, digest }
    Allow { rule, fingerprint, reason, by }
    Omission { path, text, reason, detail, citation }
    Blocker { kind, path, detail }
    ReceiptReference { id, digest, tree, conclusion, role }
    Repository {
        id, object_format, base, depth, head, branch, worktree_tree, index_tree, operation
    }
    Operation { kind, heads, message }
    Worktree {
        conversions, intent_to_add, flags, empty_directories, untracked, submodules, lfs
    }
    Conversions { autocrlf, eol }
    IntentToAdd { path, mode }
    Flags { path, assume_unchanged, skip_worktree }
    Untracked { count, bytes, digest }
    Submodule { path, commit, url, dirty }
    LfsPointer { path, oid, size }
    Artifacts { raw, conflicts, attachments }
    Attachment { name, sha256, size }
    Lifted { action, reason, citations }
    ListDigest { count, sha256 }
    Exclusion { source, line, pattern, reason, entries }
    SubmoduleReach { path, reachable }
    LfsPresence { path, present }
    Accept {
        schema, scope, generation, checkpoint_digest, previous_accept, previous_release, acceptor, delegates,
        action, until, leases, acknowledged, accepted_at, note
    }
    Acceptor { id, kind }
    Acknowledged { kind, path }
    Release { schema, scope, generation, accept_digest, by, at, note }
    Prepared { schema, scope, observed_tip, content }
    Receipt {
        schema, id, argv, exit_code, signal, started_at, duration_ms, tree_before, tree_after, stdout, stderr,
        environment
    }
    OutputDigest { sha256, size }
    Environment { os, arch, tools }
    Tool { name, version }
}
