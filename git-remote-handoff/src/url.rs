//! The inner URL of `handoff::<url>`: which transport it names, and what that is to be told.
//!
//! URLs are split as Git's `connect.c` does (“GIT URLS” in `git-fetch(1)`); what Git would hand to a program as an
//! option or to another helper is refused.

use gix::bstr::{BStr, BString, ByteSlice};
use store::git::without_credentials;

/// An inner URL that may be connected to.
///
/// Invariant: no host, user or path in it begins with `-`, and none is empty where a transport needs it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum InnerUrl {
    /// A path of this machine, written as such or as `file://…`.
    Local {
        /// The path, as it was written.
        path: BString,
    },
    /// `ssh://[user@]host[:port]/path` or `[user@]host:path`.
    Ssh(SshUrl),
    /// `git://host[:port]/path`.
    Git(GitUrl),
    /// `http://…` or `https://…`, left to Git's own helper.
    Http {
        /// The scheme.
        scheme: HttpScheme,
        /// The whole URL.
        url: BString,
    },
}

/// The parts of an ssh URL.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SshUrl {
    /// Host with the user before it, if there is one; without the brackets of an IPv6 address.
    pub host: BString,
    /// Port, as it was written.
    pub port: Option<String>,
    /// Path on the host.
    pub path: BString,
}

/// The parts of a `git://` URL.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GitUrl {
    /// Host and port as they were written, which is what the server is told.
    pub authority: BString,
    /// Host without the brackets of an IPv6 address.
    pub host: String,
    /// Port, 9418 where none was written.
    pub port: u16,
    /// Path on the host.
    pub path: BString,
}

/// The two schemes that `git remote-http` and `git remote-https` serve.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HttpScheme {
    /// `http`.
    Http,
    /// `https`.
    Https,
}

/// Says why a URL is not connected to. URLs in messages are without credentials.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum UrlError {
    /// There is nothing after `handoff::`.
    #[error("no URL follows `handoff::`")]
    Empty,
    /// The URL names another remote helper.
    #[error("`{helper}::` cannot be used within `handoff::`")]
    Helper {
        /// Name of the helper.
        helper: String,
    },
    /// The scheme is none that records travel over.
    #[error(
        "`{0}://` is not supported within `handoff::`: use a path, file, ssh, git, http or https"
    )]
    Scheme(String),
    /// The URL has no path.
    #[error("`{0}` has no path")]
    NoPath(String),
    /// The URL has no host.
    #[error("`{0}` has no host")]
    NoHost(String),
    /// A part would be taken for an option.
    #[error("{part} `{text}` begins with `-`")]
    LooksLikeOption {
        /// Which part of the URL.
        part: &'static str,
        /// The part.
        text: String,
    },
    /// Host or path holds a control character, which the protocol cannot carry.
    #[error("`{0}` holds a control character")]
    Control(String),
}

impl InnerUrl {
    /// Parses what follows `handoff::`.
    ///
    /// # Errors
    ///
    /// Where the URL names no transport of ours, or has a part that Git would take for an option.
    pub fn parse(url: &BStr) -> Result<Self, UrlError> {
        if url.is_empty() {
            return Err(UrlError::Empty);
        }
        if let Some(helper) = helper_name(url) {
            return Err(UrlError::Helper { helper });
        }
        let shown = || without_credentials(&url.to_str_lossy());
        if url.iter().any(u8::is_ascii_control) {
            return Err(UrlError::Control(shown().escape_debug().to_string()));
        }
        let Some((scheme, rest)) = split_scheme(url) else {
            return if is_local(url) {
                local(url)
            } else {
                ssh(url, b':', &shown)
            };
        };
        let decoded = percent_decoded(rest);
        if decoded.iter().any(u8::is_ascii_control) {
            return Err(UrlError::Control(shown()));
        }
        match scheme {
            "file" => match decoded.find_byte(b'/') {
                Some(at) => local(decoded[at..].as_bstr()),
                None => Err(UrlError::NoPath(shown())),
            },
            "ssh" | "git+ssh" | "ssh+git" => ssh(decoded.as_bstr(), b'/', &shown),
            "git" => git(decoded.as_bstr(), &shown),
            "http" => http(HttpScheme::Http, url, rest, &shown),
            "https" => http(HttpScheme::Https, url, rest, &shown),
            other => Err(UrlError::Scheme(other.into())),
        }
    }

    /// Returns the name under which `protocol.<name>.allow` speaks of the transport.
    pub fn protocol(&self) -> &'static str {
        match self {
            InnerUrl::Local { .. } => "file",
            InnerUrl::Ssh(_) => "ssh",
            InnerUrl::Git(_) => "git",
            InnerUrl::Http { scheme, .. } => scheme.as_str(),
        }
    }
}

impl HttpScheme {
    /// Returns the scheme as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            HttpScheme::Http => "http",
            HttpScheme::Https => "https",
        }
    }
}

/// Returns the helper that `<helper>::<address>` names: `gitremote-helpers(7)`.
fn helper_name(url: &BStr) -> Option<String> {
    let at = url.find("::")?;
    let name = &url[..at];
    let is_name = name.iter().all(|b| is_scheme_byte(*b));
    is_name.then(|| name.to_str_lossy().into_owned())
}

fn is_scheme_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.')
}

fn split_scheme(url: &BStr) -> Option<(&str, &BStr)> {
    let at = url.find("://")?;
    let (scheme, rest) = (&url[..at], url[at + 3..].as_bstr());
    let is_scheme = scheme.first().is_some_and(u8::is_ascii_alphabetic)
        && scheme.iter().all(|b| is_scheme_byte(*b));
    match scheme.to_str() {
        Ok(scheme) if is_scheme => Some((scheme, rest)),
        _ => None,
    }
}

/// Tells a path from `host:path`: a path has no colon before its first slash.
fn is_local(url: &BStr) -> bool {
    match (url.find_byte(b':'), url.find_byte(b'/')) {
        (None, _) => true,
        (Some(colon), Some(slash)) => slash < colon,
        (Some(_), None) => false,
    }
}

fn local(path: &BStr) -> Result<InnerUrl, UrlError> {
    no_option("path", path)?;
    Ok(InnerUrl::Local { path: path.into() })
}

fn ssh(text: &BStr, separator: u8, shown: &dyn Fn() -> String) -> Result<InnerUrl, UrlError> {
    let (authority, path) = split_path(text, separator, shown)?;
    let (host, port) = split_port(authority);
    // `[host:port]:path` hides the port in the brackets.
    let (host, port) = match (port, host.find_byte(b':')) {
        (None, Some(at)) if is_port(&host[at + 1..]) => (
            BString::from(&host[..at]),
            Some(host[at + 1..].to_str_lossy().into_owned()),
        ),
        (port, _) => (host, port),
    };
    check_host(host.as_bstr(), shown)?;
    no_option("path", path)?;
    Ok(InnerUrl::Ssh(SshUrl {
        host,
        port,
        path: path.into(),
    }))
}

fn git(text: &BStr, shown: &dyn Fn() -> String) -> Result<InnerUrl, UrlError> {
    let (authority, path) = split_path(text, b'/', shown)?;
    let (host, port) = split_port(authority);
    check_host(host.as_bstr(), shown)?;
    no_option("path", path)?;
    Ok(InnerUrl::Git(GitUrl {
        authority: authority.into(),
        host: host.to_str_lossy().into_owned(),
        port: port.and_then(|port| port.parse().ok()).unwrap_or(9418),
        path: path.into(),
    }))
}

fn http(
    scheme: HttpScheme,
    url: &BStr,
    rest: &BStr,
    shown: &dyn Fn() -> String,
) -> Result<InnerUrl, UrlError> {
    let end = rest.find_byteset(b"/?#").unwrap_or(rest.len());
    check_host(rest[..end].as_bstr(), shown)?;
    Ok(InnerUrl::Http {
        scheme,
        url: url.into(),
    })
}

/// Splits host and path; the path of a URL keeps its slash, unless `~` follows it.
fn split_path<'a>(
    text: &'a BStr,
    separator: u8,
    shown: &dyn Fn() -> String,
) -> Result<(&'a BStr, &'a BStr), UrlError> {
    let after_brackets = brackets(text).map_or(0, |(_, end)| end);
    let at = text[after_brackets..].find_byte(separator);
    let Some(at) = at.map(|at| at + after_brackets) else {
        return Err(UrlError::NoPath(shown()));
    };
    let mut start = if separator == b':' { at + 1 } else { at };
    if text[start..].starts_with(b"/~") {
        start += 1;
    }
    match &text.as_bytes()[start..] {
        [] => Err(UrlError::NoPath(shown())),
        path => Ok((text[..at].as_bstr(), path.as_bstr())),
    }
}

/// Returns where the brackets of `[host]` or `user@[host]` begin, and where the text after them begins.
fn brackets(text: &BStr) -> Option<(usize, usize)> {
    let start = text.find("@[").map_or(0, |at| at + 1);
    if text.get(start) != Some(&b'[') {
        return None;
    }
    let end = text[start..].find_byte(b']')?;
    Some((start, start + end + 1))
}

/// Splits `host:port`; brackets are taken off, and a colon without a port after it too.
fn split_port(authority: &BStr) -> (BString, Option<String>) {
    let text = authority.as_bytes();
    let (host, rest) = match brackets(authority) {
        Some((start, end)) => {
            let host = [&text[..start], &text[start + 1..end - 1]].concat();
            (BString::from(host), &text[end..])
        }
        None => {
            let at = text.find_byte(b':').unwrap_or(text.len());
            (BString::from(&text[..at]), &text[at..])
        }
    };
    match rest.find_byte(b':').map(|at| &rest[at + 1..]) {
        Some(port) if is_port(port) => (host, Some(port.to_str_lossy().into_owned())),
        None | Some([]) => (host, None),
        // Git takes what is no port as part of the name.
        Some(_) if brackets(authority).is_none() => (authority.into(), None),
        Some(_) => (host, None),
    }
}

fn is_port(text: &[u8]) -> bool {
    !text.is_empty()
        && text.iter().all(u8::is_ascii_digit)
        && text.to_str().is_ok_and(|text| text.parse::<u16>().is_ok())
}

fn check_host(authority: &BStr, shown: &dyn Fn() -> String) -> Result<(), UrlError> {
    no_option("host", authority)?;
    let at = authority.rfind_byte(b'@').map_or(0, |at| at + 1);
    let host = authority[at..].as_bstr();
    if host.is_empty() {
        return Err(UrlError::NoHost(shown()));
    }
    no_option("host", host)
}

fn no_option(part: &'static str, text: &BStr) -> Result<(), UrlError> {
    if !text.starts_with(b"-") {
        return Ok(());
    }
    Err(UrlError::LooksLikeOption {
        part,
        text: text.chars().take(80).collect(),
    })
}

/// Decodes `%41` and its like; `%00` and what is no escape stay, as in Git.
fn percent_decoded(text: &BStr) -> BString {
    let mut decoded = BString::default();
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let escape = match (first, after) {
            (b'%', [high, low, ..]) => hex(*high).zip(hex(*low)).map(|(h, l)| h * 16 + l),
            _ => None,
        };
        match escape {
            Some(byte) if byte != 0 => {
                decoded.push(byte);
                rest = &after[2..];
            }
            _ => {
                decoded.push(*first);
                rest = after;
            }
        }
    }
    decoded
}

fn hex(digit: u8) -> Option<u8> {
    let value = char::from(digit).to_digit(16)?;
    u8::try_from(value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> InnerUrl {
        InnerUrl::parse(url.into()).unwrap()
    }

    fn refusal(url: &str) -> String {
        InnerUrl::parse(url.into()).unwrap_err().to_string()
    }

    fn ssh_parts(url: &str) -> (String, Option<String>, String) {
        match parse(url) {
            InnerUrl::Ssh(url) => (url.host.to_string(), url.port, url.path.to_string()),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn paths_and_file_urls_are_local() {
        let path = |url| match parse(url) {
            InnerUrl::Local { path } => path.to_string(),
            other => panic!("{other:?}"),
        };
        assert_eq!(path("/a/b%20c"), "/a/b%20c");
        assert_eq!(path("../x:y"), "../x:y");
        assert_eq!(path("file:///a/b%20c"), "/a/b c");
        assert_eq!(path("file://localhost/a"), "/a");
    }

    #[test]
    fn credentials_do_not_show_in_refusals() {
        assert_eq!(refusal("ftp://me:secret@h/x").find("secret"), None);
        assert_eq!(
            refusal("https://me:secret@/x"),
            "`https://***@/x` has no host"
        );
    }

    #[test]
    fn ssh_urls_are_split_as_git_does() {
        let expect = |url: &str, host: &str, port: Option<&str>, path: &str| {
            let port = port.map(String::from);
            assert_eq!(ssh_parts(url), (host.into(), port, path.into()), "{url}");
        };
        expect(
            "ssh://u@h.example:22/a%20b",
            "u@h.example",
            Some("22"),
            "/a b",
        );
        expect("h.example:a b", "h.example", None, "a b");
        expect("[h.example:2222]:p", "h.example", Some("2222"), "p");
        expect("[::1]:p", "::1", None, "p");
        expect("ssh://[::1]:33/~u/x", "::1", Some("33"), "~u/x");
        expect("ssh://u@[::1]/p", "u@::1", None, "/p");
        expect("ssh://h:/p", "h", None, "/p");
        expect("ssh://h:abc/p", "h:abc", None, "/p");
        expect("ssh://[u@h]:44/p", "u@h", Some("44"), "/p");
        expect("git+ssh://h/~x", "h", None, "~x");
    }

    #[test]
    fn git_urls_have_a_port_of_their_own() {
        let InnerUrl::Git(url) = parse("git://[::1]:7/a.git") else {
            panic!("not a git URL")
        };
        assert_eq!((url.host.as_str(), url.port), ("::1", 7));
        assert_eq!(url.authority, "[::1]:7");
        let InnerUrl::Git(url) = parse("git://host/~u/a.git") else {
            panic!("not a git URL")
        };
        assert_eq!((url.port, url.path.to_string()), (9418, "~u/a.git".into()));
    }

    #[test]
    fn urls_that_start_other_things_are_refused() {
        for url in [
            "",
            "ext::sh -c id",
            "fd::3",
            "handoff::/a",
            "::/a",
            "foo://h/x",
            "FILE:///a",
            "-x",
            "--upload-pack=id",
            "-oProxyCommand=id:x",
            "ssh://-oProxyCommand=id/x",
            "ssh://u@-oProxyCommand=id/x",
            "ssh://%2doProxyCommand=id/x",
            "ssh://[-oProxyCommand=id]/x",
            "h:-x",
            "h:",
            ":x",
            "ssh://h",
            "ssh:///x",
            "git://-h/x",
            "git://h/a%0ahost=other",
            "http://-h/x",
            "https://u@-h/x",
            "https:///x",
            "a\nb",
        ] {
            assert!(InnerUrl::parse(url.into()).is_err(), "{url}");
        }
    }
}
