//! User name and password of a URL, which reach Git without standing in a file or on a command line.

use std::{fmt, process::Command};

use gix::bstr::BStr;

/// Answers Git's question for a user name and a password from the environment, gitcredentials(7).
const HELPER: &str = r#"!f() { test "$1" = get || exit 0; printf 'username=%s\npassword=%s\n' "$HANDOFF_URL_USER" "$HANDOFF_URL_PASSWORD"; }; f"#;

/// What a URL says of who asks, for the server that it names.
///
/// Invariant: nothing in it breaks a line, and what is a secret is shown by nothing.
#[derive(Clone)]
pub struct Credentials {
    /// Scheme, host and port.
    server: String,
    user: String,
    password: Option<String>,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").finish_non_exhaustive()
    }
}

impl Credentials {
    /// Takes them out of an http URL; there are none for other transports, or where the URL has no user name.
    pub fn of(url: &BStr) -> Option<Self> {
        let url = gix::url::parse(url).ok()?;
        let scheme = url.scheme.as_str();
        let (user, host) = (url.user()?, url.host()?);
        let breaks_lines = |text: &str| text.contains(['\n', '\r', '\0']);
        if !matches!(scheme, "http" | "https")
            || breaks_lines(user)
            || url.password().is_some_and(breaks_lines)
        {
            return None;
        }
        let port = url.port.map(|port| format!(":{port}")).unwrap_or_default();
        Some(Credentials {
            server: format!("{scheme}://{host}{port}"),
            user: user.into(),
            password: url.password().map(String::from),
        })
    }

    /// Has a run of Git use them for their server, and no helper that would keep them.
    pub(crate) fn give_to(&self, command: &mut Command) {
        let server = &self.server;
        let mut set = |key: &str, value: &str| {
            command.args(["-c", &format!("credential.{server}.{key}={value}")]);
        };
        let Some(password) = &self.password else {
            return set("username", &self.user);
        };
        set("helper", "");
        set("helper", HELPER);
        command
            .env("HANDOFF_URL_USER", &self.user)
            .env("HANDOFF_URL_PASSWORD", password);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_http_urls_with_a_user_have_any() {
        let of = |url: &str| Credentials::of(url.into());
        let found = of("https://me:to%40ken@host.example:8443/a/b").unwrap();
        assert_eq!(
            (found.server.as_str(), found.user.as_str()),
            ("https://host.example:8443", "me")
        );
        assert_eq!(found.password.as_deref(), Some("to@ken"));
        assert_eq!(of("http://me@host/a").unwrap().password, None);
        for url in [
            "https://host/a@b",
            "ssh://me:word@host/a",
            "https://me:wo%0Ard@host/a",
            "/a:b@c",
            "me@host:a",
        ] {
            assert!(of(url).is_none(), "{url}");
        }
    }

    #[test]
    fn a_password_is_in_no_argument_and_not_in_what_is_printed_for_debugging() {
        let found = Credentials::of("https://me:word-of-mine@host/a".into()).unwrap();
        assert!(!format!("{found:?}").contains("word-of-mine"));
        let mut command = Command::new("git");
        found.give_to(&mut command);
        let args: Vec<_> = command
            .get_args()
            .map(|arg| arg.to_string_lossy().into_owned())
            .collect();
        assert!(!args.concat().contains("word-of-mine"), "{args:?}");
    }
}
