//! The variables that Git's transports look at.

use std::ffi::{OsStr, OsString};

use gix::bstr::{BString, ByteSlice};

/// The environment as far as the helper depends on it, read once at start: `git(1)`.
#[derive(Clone, Default)]
pub struct Environment {
    /// `GIT_SSH_COMMAND`: the ssh program as a shell command.
    pub ssh_command: Option<OsString>,
    /// `GIT_SSH`: the ssh program as a path.
    pub ssh: Option<OsString>,
    /// `GIT_SSH_VARIANT`: which options the ssh program takes.
    pub ssh_variant: Option<String>,
    /// `GIT_PROXY_COMMAND`: the program that connects to a `git://` host.
    pub proxy_command: Option<OsString>,
    /// `GIT_OVERRIDE_VIRTUAL_HOST`: the host that a `git://` server is told.
    pub virtual_host: Option<BString>,
    /// `GIT_ALLOW_PROTOCOL`: the only protocols that may be used, separated by `:`.
    pub allow_protocol: Option<String>,
    /// `GIT_PROTOCOL_FROM_USER`: whether the URL comes from the user.
    pub protocol_from_user: Option<String>,
}

impl Environment {
    /// Takes the variables from `lookup`, which is `std::env::var_os` in an executable.
    pub fn from_lookup(lookup: impl Fn(&str) -> Option<OsString>) -> Self {
        let text = |name| lookup(name).map(|value| value.to_string_lossy().into_owned());
        let bytes = |value: &OsStr| BString::from(value.as_encoded_bytes().as_bstr());
        Environment {
            ssh_command: lookup("GIT_SSH_COMMAND"),
            ssh: lookup("GIT_SSH"),
            ssh_variant: text("GIT_SSH_VARIANT"),
            proxy_command: lookup("GIT_PROXY_COMMAND"),
            virtual_host: lookup("GIT_OVERRIDE_VIRTUAL_HOST").map(|value| bytes(&value)),
            allow_protocol: text("GIT_ALLOW_PROTOCOL"),
            protocol_from_user: text("GIT_PROTOCOL_FROM_USER"),
        }
    }
}
