//! What a run of the helper can fail with.

use std::io;

use store::git::GitError;

use crate::{
    connect::ConnectError, fetch::FetchError, http::HttpError, protocol::ProtocolError,
    push::PushError, report::AnswerError, settings::PermissionError, url::UrlError,
};

/// Says why the helper gave up.
#[derive(Debug, thiserror::Error)]
pub enum HelperError {
    /// The URL leads nowhere.
    #[error(transparent)]
    Url(#[from] UrlError),
    /// The transport may not be used.
    #[error(transparent)]
    Permission(#[from] PermissionError),
    /// The configuration cannot be read.
    #[error(transparent)]
    Settings(#[from] GitError),
    /// Git said what makes no sense.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
    /// The service could not be started.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// A push broke off.
    #[error(transparent)]
    Push(#[from] PushError),
    /// A fetch broke off.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// The exchange with `git remote-http(s)` broke off.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// Git does not listen any more.
    #[error("git went away")]
    Output(#[source] io::Error),
}

impl HelperError {
    /// Tells whether there is nobody left to be told: Git itself went away.
    pub fn is_closed_pipe(&self) -> bool {
        let error = match self {
            HelperError::Output(error)
            | HelperError::Http(HttpError::Output(error))
            | HelperError::Http(HttpError::Fetch(FetchError::Answer(AnswerError::Client(error))))
            | HelperError::Push(PushError::Answer(AnswerError::Client(error)))
            | HelperError::Fetch(FetchError::Answer(AnswerError::Client(error))) => error,
            _ => return false,
        };
        error.kind() == io::ErrorKind::BrokenPipe
    }
}
