//! Connects to a `git://` server: `git-daemon(1)`, `core.gitProxy` in `git-config(1)`.

use std::{
    ffi::OsString,
    io::{self, Write},
    net::{Shutdown, TcpStream},
    process::Command,
};

use gix::bstr::{BStr, ByteSlice};

use crate::{
    connect::{ConnectError, Service, spawn},
    environment::Environment,
    pkt_line,
    process::{Process, os},
    settings::Settings,
    url::GitUrl,
};

/// Connects to the server of `url` and asks it for `program`.
///
/// # Errors
///
/// Where the server cannot be reached, or the program that connects in our place cannot be started.
pub(crate) fn connect(
    url: &GitUrl,
    program: &BStr,
    version: u8,
    settings: &Settings,
    environment: &Environment,
) -> Result<Service, ConnectError> {
    let mut service = match proxy(url, settings, environment) {
        Some(program) => {
            let mut command = Command::new(program);
            command.arg(&url.host).arg(url.port.to_string());
            spawn(command)?
        }
        None => connect_directly(url)?,
    };
    let host = environment.virtual_host.as_ref().unwrap_or(&url.authority);
    let mut request = [program.as_bytes(), b" ", &url.path, b"\0host=", host, b"\0"].concat();
    if version > 0 {
        request.extend_from_slice(format!("\0version={version}\0").as_bytes());
    }
    pkt_line::write_packet(&mut service.requests, &request)
        .and_then(|()| service.requests.flush())
        .map_err(|source| unreachable(url, source))?;
    Ok(service)
}

fn connect_directly(url: &GitUrl) -> Result<Service, ConnectError> {
    let open = || {
        let stream = TcpStream::connect((url.host.as_str(), url.port))?;
        stream.set_nodelay(true)?;
        Ok((stream.try_clone()?, stream))
    };
    let (answers, requests) = open().map_err(|source| unreachable(url, source))?;
    Ok(Service {
        answers: Box::new(answers),
        requests: Box::new(HalfClosed(requests)),
        process: Process::none(),
    })
}

/// Returns the program that connects in our place: `GIT_PROXY_COMMAND`, `core.gitProxy`.
fn proxy(url: &GitUrl, settings: &Settings, environment: &Environment) -> Option<OsString> {
    if let Some(program) = &environment.proxy_command {
        return Some(program.clone()).filter(|program| !program.is_empty());
    }
    let program = settings.values("core.gitproxy").find_map(|value| {
        let (program, domain) = match value.split_once_str(" for ") {
            Some((program, domain)) => (program, Some(domain)),
            None => (value.as_bytes(), None),
        };
        let applies = domain.is_none_or(|domain| is_within(url.host.as_bytes(), domain));
        applies.then_some(program)
    })?;
    let is_none = program.is_empty() || program == b"none";
    (!is_none).then(|| os(program).to_owned())
}

fn is_within(host: &[u8], domain: &[u8]) -> bool {
    host.strip_suffix(domain)
        .is_some_and(|before| before.is_empty() || before.ends_with(b"."))
}

fn unreachable(url: &GitUrl, source: io::Error) -> ConnectError {
    ConnectError::Unreachable {
        host: url.host.clone(),
        port: url.port,
        source,
    }
}

/// The writing side of a socket, closed when dropped while the other side stays open.
struct HalfClosed(TcpStream);

impl Write for HalfClosed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Drop for HalfClosed {
    fn drop(&mut self) {
        // Fails only where the connection is gone.
        let _ = self.0.shutdown(Shutdown::Write);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_serves_the_domain_it_is_for() {
        assert!(is_within(b"x.example.org", b"example.org"));
        assert!(is_within(b"example.org", b"example.org"));
        assert!(!is_within(b"x.example.org", b"ample.org"));
    }
}
