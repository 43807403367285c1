//! Writes a record: its trees, then its commit.

use gix::{ObjectId, bstr::ByteSlice};

use crate::{
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
    /// Whether Git signs it.
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
/// No ref moves. The commit object is durable when this returns.
///
/// # Errors
///
/// [`WriteError::Identity`] where Git has none.
pub fn write(repository: &Repository, record: &NewRecord) -> Result<ObjectId, WriteError> {
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
