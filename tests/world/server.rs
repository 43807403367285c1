//! Real Git servers, started by the scripts in `shared/servers`.

use std::{
    collections::BTreeMap,
    fmt,
    io::{self, Write},
    path::{Path, PathBuf},
    process::Command,
};

use super::World;

/// The servers there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ServerKind {
    /// `git daemon`, without login.
    Daemon,
    /// An SSH server of its own, keys for each user.
    Ssh,
    /// `git-http-backend` behind nginx, with basic authentication.
    Nginx,
    /// The same behind lighttpd.
    Lighttpd,
    /// The same behind Apache, as a user of its own.
    Apache,
    /// gitolite over an SSH server of its own.
    Gitolite,
}

impl ServerKind {
    /// All of them, the quickest first.
    pub(crate) const ALL: [ServerKind; 6] = [
        ServerKind::Daemon,
        ServerKind::Ssh,
        ServerKind::Nginx,
        ServerKind::Lighttpd,
        ServerKind::Apache,
        ServerKind::Gitolite,
    ];

    /// Tells whether it speaks http.
    pub(crate) fn is_http(self) -> bool {
        self.http_server().is_some()
    }

    /// Returns the name of the script that starts it.
    pub(super) fn script(self) -> &'static str {
        match self {
            ServerKind::Daemon => "daemon.sh",
            ServerKind::Ssh => "ssh.sh",
            ServerKind::Nginx | ServerKind::Lighttpd | ServerKind::Apache => "http.sh",
            ServerKind::Gitolite => "gitolite.sh",
        }
    }

    fn http_server(self) -> Option<&'static str> {
        match self {
            ServerKind::Nginx => Some("nginx"),
            ServerKind::Lighttpd => Some("lighttpd"),
            ServerKind::Apache => Some("apache2"),
            ServerKind::Daemon | ServerKind::Ssh | ServerKind::Gitolite => None,
        }
    }
}

impl fmt::Display for ServerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ServerKind::Daemon => "daemon",
            ServerKind::Ssh => "ssh",
            ServerKind::Nginx => "nginx",
            ServerKind::Lighttpd => "lighttpd",
            ServerKind::Apache => "apache",
            ServerKind::Gitolite => "gitolite",
        })
    }
}

/// A server that runs until it is dropped.
pub(crate) struct Server {
    script: PathBuf,
    directory: PathBuf,
    variables: BTreeMap<String, String>,
}

impl Server {
    /// Starts a server below the world's directory; `None`, with one line printed, where it cannot run.
    pub(super) fn start(world: &World, kind: ServerKind) -> Option<Self> {
        let Some(scripts) = scripts() else {
            skip(&format!(
                "no {kind} server: there is no shared/servers beside the workspace"
            ));
            return None;
        };
        let script = scripts.join(kind.script());
        let directory = world.root().join(format!("server-{kind}"));
        let mut command = Command::new(&script);
        command.arg("start").arg(&directory);
        if let Some(http_server) = kind.http_server() {
            command.env("HTTP_SERVER", http_server);
        }
        let output = command
            .output()
            .unwrap_or_else(|error| panic!("{}: {error}", script.display()));
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let last = said.lines().last().unwrap_or_default();
            skip(&format!("no {kind} server: {last}"));
            return None;
        }
        let variables = String::from_utf8_lossy(&output.stdout)
            .lines()
            .filter_map(exported)
            .collect();
        Some(Server {
            script,
            directory,
            variables,
        })
    }

    /// Returns the directory that holds everything of the server.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the URL of the repository `test`, as somebody who may write.
    pub(crate) fn url(&self) -> &str {
        self.variable("HANDOFF_TEST_URL")
    }

    /// Returns the URL of a further repository.
    pub(crate) fn url_of(&self, name: &str) -> String {
        format!("{}/{name}.git", self.variable("HANDOFF_TEST_BASE"))
    }

    /// Returns the directory of the repository `<name>.git` on the server.
    pub(crate) fn repository(&self, name: &str) -> PathBuf {
        Path::new(self.variable("HANDOFF_TEST_REPOS")).join(format!("{name}.git"))
    }

    /// Returns a variable that the script printed.
    pub(crate) fn variable(&self, name: &str) -> &str {
        self.variables
            .get(name)
            .unwrap_or_else(|| panic!("the server has no {name}"))
    }

    /// Returns all variables that the script printed.
    pub(crate) fn variables(&self) -> &BTreeMap<String, String> {
        &self.variables
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let stopped = Command::new(&self.script)
            .arg("stop")
            .arg(&self.directory)
            .status();
        if !stopped.is_ok_and(|status| status.success()) {
            eprintln!("the server in {} did not stop", self.directory.display());
        }
    }
}

/// Says in one line, past the capture of the test harness, what cannot be tested here.
pub(super) fn skip(why: &str) {
    // Nothing depends on whether anybody reads it.
    let _ = writeln!(io::stderr(), "skipped: {why}");
}

/// Reads a line `export NAME='value'`.
fn exported(line: &str) -> Option<(String, String)> {
    let (name, value) = line.strip_prefix("export ")?.split_once('=')?;
    let value = value.strip_prefix('\'')?.strip_suffix('\'')?;
    Some((name.into(), value.into()))
}

/// Finds `shared/servers` beside the workspace, or beside a directory above it.
pub(super) fn scripts() -> Option<PathBuf> {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .map(|dir| dir.join("shared/servers"))
        .find(|dir| dir.join("_lib.sh").is_file())
}
