//! Servers to send to and fetch from: a directory, `git daemon`, and what the scripts in `shared/servers` start.

use std::{
    any::Any,
    collections::BTreeMap,
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command},
    time::{Duration, Instant},
};

use crate::stage::Stage;

/// Where bare repositories lie, and the URL that leads to them; a server ends when dropped.
pub(crate) struct Served {
    /// Name of the transport.
    pub(crate) transport: &'static str,
    /// The directory of the repositories.
    pub(crate) root: PathBuf,
    base: String,
    _server: Box<dyn Any>,
}

impl Served {
    /// Returns the URL of a repository.
    pub(crate) fn url(&self, name: &str) -> String {
        format!("{}/{name}", self.base)
    }

    /// Starts every server that runs here, and says which does not.
    pub(crate) fn all(stage: &Stage) -> Vec<Self> {
        let root = stage.path("served");
        std::fs::create_dir(&root).expect("it is new");
        let path = Served {
            transport: "path",
            base: root.display().to_string(),
            root: root.clone(),
            _server: Box::new(()),
        };
        let daemon = Daemon::start(stage, &root);
        let git = Served {
            transport: "git",
            base: format!("git://127.0.0.1:{}", daemon.port),
            root,
            _server: Box::new(daemon),
        };
        let scripted = ["ssh", "http"].map(|transport| {
            let started = Self::by_script(stage, transport);
            started
                .inspect_err(|why| eprintln!("  skipped: {transport}: {why}"))
                .ok()
        });
        [path, git]
            .into_iter()
            .chain(scripted.into_iter().flatten())
            .collect()
    }

    /// Starts the server of a script that stands beside the workspace, and leads Git to its keys and passwords.
    fn by_script(stage: &Stage, transport: &'static str) -> Result<Self, String> {
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR"))
            .ancestors()
            .map(|dir| dir.join("shared/servers"))
            .find(|dir| dir.join("_lib.sh").is_file())
            .ok_or("there is no shared/servers beside the workspace")?;
        let script = scripts.join(format!("{transport}.sh"));
        let dir = stage.path(&format!("server-{transport}"));
        let mut command = Command::new(&script);
        command
            .arg("start")
            .arg(&dir)
            .env("SERVERS_NO_INSTALL", "1");
        let output = command.output().map_err(|error| error.to_string())?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(said.lines().last().unwrap_or("it did not start").into());
        }
        let server = Box::new(Script { script, dir });
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let variables: BTreeMap<&str, &str> = said.lines().filter_map(exported).collect();
        let variable = |name: &str| {
            let value = variables.get(name).copied();
            value.ok_or_else(|| format!("the script does not say {name}"))
        };
        let set = |key: &str, value: &str| {
            stage.git(&stage.path(""), ["config", "--global", key, value]);
        };
        let base = match transport {
            "ssh" => {
                set("core.sshCommand", variable("GIT_SSH")?);
                set("ssh.variant", variable("GIT_SSH_VARIANT")?);
                variable("HANDOFF_TEST_BASE")?
            }
            _ => {
                let password = variable("HANDOFF_TEST_PASSWORD")?;
                let helper =
                    format!("!f() {{ echo username=writer1; echo password={password}; }}; f");
                set("credential.helper", &helper);
                let url = variable("HANDOFF_TEST_URL_PLAIN")?;
                url.strip_suffix("/test.git").unwrap_or(url)
            }
        };
        Ok(Served {
            transport,
            root: variable("HANDOFF_TEST_REPOS")?.into(),
            base: base.into(),
            _server: server,
        })
    }
}

/// Reads a line `export NAME='value'`.
fn exported(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.strip_prefix("export ")?.split_once('=')?;
    Some((name, value.strip_prefix('\'')?.strip_suffix('\'')?))
}

/// A `git daemon` that takes pushes.
struct Daemon {
    child: Child,
    port: u16,
}

impl Daemon {
    fn start(stage: &Stage, root: &Path) -> Self {
        let free = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
        let port = free.local_addr().expect("it is bound").port();
        drop(free);
        // `git` itself would start it as a child, which outlives a kill.
        let program = Path::new(&stage.git(root, ["--exec-path"])).join("git-daemon");
        let child = stage
            .command(program, root)
            .args(["--export-all", "--enable=receive-pack", "--reuseaddr"])
            .args(["--listen=127.0.0.1", &format!("--port={port}")])
            .arg(format!("--base-path={}", root.display()))
            .spawn()
            .expect("Git can be started");
        let start = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(
                start.elapsed() < Duration::from_secs(10),
                "git daemon does not answer"
            );
            std::thread::yield_now();
        }
        Daemon { child, port }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // It is gone already where this fails.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A server that a script has started and stops.
struct Script {
    script: PathBuf,
    dir: PathBuf,
}

impl Drop for Script {
    fn drop(&mut self) {
        let stopped = Command::new(&self.script)
            .arg("stop")
            .arg(&self.dir)
            .status();
        if !stopped.is_ok_and(|status| status.success()) {
            eprintln!("the server in {} did not stop", self.dir.display());
        }
    }
}
