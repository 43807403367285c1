//! A server is connected to as often as by Git alone: a proxy in front of it counts.

use std::{
    io::{self, Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use crate::{
    pair::{Pair, write_program},
    world::ServerKind,
};

/// Hands every connection on to a server, and counts them.
struct CountingProxy {
    port: u16,
    count: Arc<AtomicUsize>,
}

impl CountingProxy {
    fn before(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let count = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&count);
        // Ends with the process of the tests.
        thread::spawn(move || {
            for client in listener.incoming() {
                counter.fetch_add(1, Ordering::SeqCst);
                let client = client.unwrap();
                let server = TcpStream::connect(("127.0.0.1", server)).unwrap();
                let back = (server.try_clone().unwrap(), client.try_clone().unwrap());
                thread::spawn(move || hand_on(client, server));
                thread::spawn(move || hand_on(back.0, back.1));
            }
        });
        CountingProxy { port, count }
    }

    /// Returns how many connections there were since the last call.
    fn taken(&self) -> usize {
        self.count.swap(0, Ordering::SeqCst)
    }
}

/// Copies one direction to its end, which the other side sees too.
fn hand_on(mut from: TcpStream, mut to: TcpStream) {
    let mut buffer = [0; 8 * 1024];
    loop {
        match from.read(&mut buffer) {
            Ok(read) if read > 0 && to.write_all(&buffer[..read]).is_ok() => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // A side that has gone away has said all it had to say.
            Ok(_) | Err(_) => break,
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}

/// Runs the same work by Git alone and through the helper, and compares how often each connected.
fn connects_as_often_as_git(kind: ServerKind) {
    let Some(pair) = Pair::at(kind) else {
        return;
    };
    pair.know_password();
    let port = pair.server().variable("HANDOFF_TEST_PORT").to_owned();
    let proxy = CountingProxy::before(port.parse().unwrap());
    let through = |url: &str| {
        let [from, to] = [&port, &proxy.port.to_string()].map(|port| format!("127.0.0.1:{port}"));
        url.replace(&from, &to)
    };
    let url = match kind.is_http() {
        true => through(pair.server().variable("HANDOFF_TEST_URL_PLAIN")),
        false => through(&pair.url()),
    };
    if kind == ServerKind::Ssh {
        // The host key belongs to the server's own port.
        let ssh = pair.server().variable("GIT_SSH");
        let alias = format!("exec {ssh} -o 'HostKeyAlias=[127.0.0.1]:{port}' \"$@\"");
        write_program(&pair.path("ssh"), &alias);
        pair.set("GIT_SSH", pair.path("ssh").to_str().unwrap());
    }
    pair.set_remote(&url);
    pair.fresh("reader");
    pair.set_remote_of("reader", &url);
    let refs = "refs/handoff/*:refs/handoff/*";
    let tracked = "+refs/handoff/*:refs/handoff-remote/handoff/*";
    let mut pushed = Vec::new();
    let mut fetched = Vec::new();
    let mut listed = Vec::new();
    // The first round creates the scope, the next ones move it on.
    for (text, is_ours) in [("1", false), ("2", true), ("3", false), ("4", true)] {
        let tip = pair.record("a", text);
        proxy.taken();
        let push = match is_ours {
            true => pair.git(["push", "handoff"]),
            false => pair.git(["push", &url, refs]),
        };
        push.ok();
        pushed.push(proxy.taken());
        assert_eq!(pair.server_ref("refs/handoff/a"), tip, "{kind}");
        let fetch = match is_ours {
            true => pair.git_in("reader", ["fetch", "handoff"]),
            false => pair.git_in("reader", ["fetch", "--no-tags", &url, tracked]),
        };
        fetch.ok();
        fetched.push(proxy.taken());
        let seen = ["rev-parse", "refs/handoff-remote/handoff/a"];
        assert_eq!(pair.git_in("reader", seen).line(), tip, "{kind}");
        let remote = if is_ours { "handoff" } else { &url };
        pair.git(["ls-remote", remote, "refs/handoff/*"]).ok();
        listed.push(proxy.taken());
    }
    for (what, counts) in [("push", pushed), ("fetch", fetched), ("list", listed)] {
        let [git, ours, again, ours_again] = counts[..] else {
            panic!("{counts:?}");
        };
        assert!(git > 0, "{kind}: {what} went past the proxy");
        assert_eq!((ours, ours_again), (git, again), "{kind}: {what}");
    }
}

#[test]
fn a_git_daemon_is_connected_to_as_often_as_by_git_alone() {
    connects_as_often_as_git(ServerKind::Daemon);
}

#[test]
fn an_ssh_server_is_connected_to_as_often_as_by_git_alone() {
    connects_as_often_as_git(ServerKind::Ssh);
}

#[test]
fn an_http_server_is_connected_to_as_often_as_by_git_alone() {
    connects_as_often_as_git(ServerKind::Nginx);
}
