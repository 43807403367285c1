//! Writes a record: its trees, then its commit.

use gix::{ObjectId, bstr::ByteSlice};

use crate::{
    actor::ActorId,
    contract::{Accept, Manifest, Release, codec},
    git::{self, GitError},
    repository::Repository,
    timestamp::Timestamp,
};

/// A record that is to be written; its tree and documents are in the repository.
#[derive(Clone, Debug)]
pub struct NewRecord {
    /// The root tree.
    pub tree: ObjectId,
    /// The parents, in order.
    pub parents: Vec<ObjectId>,
    /// The whole message.
    pub message: String,
    /// Time of the record's own document.
    pub at: Timestamp,
    /// Whether Git signs it, as far as it can.
    pub sign: bool,
}

/// Says why a record could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// Git knows no name and e-mail address for the commit.
    #[error("git knows no name and e-mail address to write the record with")]
    Identity,
    /// Git failed in another way.
    #[error(transparent)]
    Git(#[from] GitError),
    /// Git answered with something that is no object id.
    #[error("git commit-tree gave no object id")]
    Answer,
}

/// Writes the commit of a record, with Git's identity, and returns its id.
///
/// Where Git has none, the id of whoever the record's own document names stands in its place; where the signing
/// program fails, the record is written without a signature. Neither is a reason to lose work. No ref moves. The
/// commit object is durable when this returns.
///
/// # Errors
///
/// [`WriteError::Identity`] where there is no identity at all.
pub fn write(repository: &Repository, record: &NewRecord) -> Result<ObjectId, WriteError> {
    match commit(repository, record, None) {
        Err(WriteError::Identity) => {
            let actor = actor(repository, record.tree).ok_or(WriteError::Identity)?;
            commit_if_signed_or_not(repository, record, Some(&actor))
        }
        Err(WriteError::Git(_)) if record.sign => commit_if_signed_or_not(repository, record, None),
        result => result,
    }
}

fn commit_if_signed_or_not(
    repository: &Repository,
    record: &NewRecord,
    actor: Option<&ActorId>,
) -> Result<ObjectId, WriteError> {
    let signed = commit(repository, record, actor);
    if !record.sign || signed.is_ok() {
        return signed;
    }
    let unsigned = NewRecord {
        sign: false,
        ..record.clone()
    };
    commit(repository, &unsigned, actor)
}

/// Returns who wrote the record's own document.
fn actor(repository: &Repository, tree: ObjectId) -> Option<ActorId> {
    let repo = repository.gix();
    let tree = repo.find_tree(tree).ok()?;
    let document = |name: &str| {
        let entry = tree.find_entry(name)?;
        Some(entry.object().ok()?.detach().data)
    };
    if let Some(bytes) = document("release.cbor") {
        return Some(codec::decode::<Release>(&bytes).ok()?.by);
    }
    if let Some(bytes) = document("accept.cbor") {
        return Some(codec::decode::<Accept>(&bytes).ok()?.acceptor.id);
    }
    let bytes = document("manifest.cbor")?;
    Some(codec::decode::<Manifest>(&bytes).ok()?.producer.id)
}

fn commit(
    repository: &Repository,
    record: &NewRecord,
    actor: Option<&ActorId>,
) -> Result<ObjectId, WriteError> {
    let mut args: Vec<String> = [
        "-c",
        "core.fsync=loose-object",
        "-c",
        "core.fsyncMethod=fsync",
    ]
    .map(String::from)
    .into();
    args.extend(
        [
            "-c",
            "i18n.commitEncoding=UTF-8",
            "-c",
            "user.useConfigOnly=true",
            "commit-tree",
        ]
        .map(String::from),
    );
    args.push(if record.sign { "-S" } else { "--no-gpg-sign" }.into());
    for parent in &record.parents {
        args.extend(["-p".into(), parent.to_string()]);
    }
    args.extend(["-F".into(), "-".into(), record.tree.to_string()]);
    let date = format!("@{} +0000", record.at.unix_seconds());
    let mut command = repository.git().command(&args);
    command
        .env("GIT_AUTHOR_DATE", &date)
        .env("GIT_COMMITTER_DATE", &date);
    if let Some(actor) = actor {
        for name in [
            "AUTHOR_NAME",
            "AUTHOR_EMAIL",
            "COMMITTER_NAME",
            "COMMITTER_EMAIL",
        ] {
            command.env(format!("GIT_{name}"), actor.as_str());
        }
    }
    let output = git::run(command, record.message.as_bytes())?;
    if !output.status.success() {
        // What git-commit-tree(1) says where user.useConfigOnly finds neither name nor address.
        let said = output.stderr.as_bstr();
        let unknown = [
            "tell me who you are",
            "empty ident name",
            "no email was given",
            "no name was given",
        ];
        if unknown.iter().any(|text| said.contains_str(text)) {
            return Err(WriteError::Identity);
        }
        return Err(git::failure("commit-tree".into(), &output).into());
    }
    ObjectId::from_hex(output.stdout.trim()).map_err(|_| WriteError::Answer)
}
